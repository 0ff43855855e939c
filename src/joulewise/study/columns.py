"""Every column of every table that a study writes, with unit and meaning."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from joulewise.study.column import (
    ASSIGNMENTS,
    BAGS,
    BOTH_FRONTS,
    CLOUDS,
    COUNTS,
    FRONT,
    FRONTS,
    LOSSES,
    MACHINES,
    PROFIT,
    RECORDS,
    RUNS,
    SEARCHES,
    TRACES,
    UTILITY,
    Column,
    metric,
)
from joulewise.study.facility.columns import FACILITY_COLUMNS
from joulewise.study.jobs.columns import JOB_COLUMNS

COLUMNS = (
    Column(RUNS, "run", "", "key of the run: a hash of its world, decisions, seed, trial and files", kinds=""),
    Column(RUNS, "world", "", "key of the world; runs with the same one met the same machines and tasks", kinds=""),
    Column(RUNS, "variant", "", "name of the variant, null in a study without variants", kinds=""),
    Column(RUNS, "trial", "", "number of the trial, from 0", kinds=""),
    Column(RUNS, "seed", "", "seed of the study", kinds=""),
    Column(
        RUNS, "bound", "",
        "how bounds are proven: of utility by prices, or trivially (each task alone), of jobs that may be suspended by "
        "preemptive-prices; of bags by the duals of an lp; "
        "of fronts of utility by prices at a drop_below, none for objectives of chance; of facilities by "
        "facility-prices",
        kinds="",
    ),
    Column(RUNS, "status", "", "done or failed", kinds=""),
    Column(RUNS, "error", "", "why the run failed, null if it did not", kinds=""),
    metric(
        "utility", "utility",
        "sum of the utility of the tasks that completed in the counted window; in a workload that is prorated, of each "
        "completed task by the share of its run that lies in the window",
    ),
    metric("maximum_utility", "utility", "the same sum if every task started on arrival where it is fastest"),
    metric("utility_percent", "%", "100 x utility / maximum_utility"),
    metric("utility_bound", "utility", "proven: no policy, even one that knows the future, can earn more"),
    metric(
        "possible_percent", "%", "100 x utility / utility_bound: how much of what is possible was earned, at least"
    ),
    metric(
        "system_tma", "",
        "task-machine affinity of the general-purpose machine types in P-state 0: 0 if all task types see the same "
        "ratios between them, up to 1; this and the next two are null where it does not exist",
    ),
    metric("system_tdh", "", "task difficulty homogeneity of the same: 1 if all task types are equally hard"),
    metric("system_mph", "", "machine performance homogeneity of the same: 1 if all machine types are equally fast"),
    metric("tasks_arrived", "tasks", "tasks that arrived in the counted window"),
    metric("tasks_completed", "tasks", "tasks that completed in the counted window, whenever they arrived"),
    metric("tasks_dropped", "tasks", "tasks that arrived in the counted window and were dropped"),
    metric("tasks_killed", "tasks", "tasks that arrived in the counted window and were killed for running too long"),
    metric("tasks_waiting", "tasks", "tasks that arrived in the counted window and were left unmapped"),
    metric("runs_lost", "runs", "runs that an outage of their machine ended inside the counted window"),
    metric(
        "energy_j", "J",
        "energy at the meter in the counted window, of all runs and of machines without one, times the PUE; this and "
        "all that follows from it is null without power figures",
    ),
    metric("standby_energy_j", "J", "the part of energy_j that machines used while idle, asleep or booting"),
    metric("energy_peak_w", "W", "highest power at the meter at any instant of the counted window"),
    metric("energy_cost", "", "energy x tariff of its hour, in the tariff's unit; null without a tariff"),
    metric("budget_j", "J", "energy budget of all days of the counted window together; null without one"),
    metric("budget_percent", "%", "100 x energy_j / budget_j"),
    metric(
        "exhausted_s", "s",
        "instant at which the first counted day had used 99 % of its energy budget; null if it never had",
    ),
    metric("busy_percent", "%", "100 x time of runs inside the counted window / (machines x its length)"),
    metric("idle_percent", "%", "100 x time without a run, on machines that are not down / (machines x its length)"),
    metric("mapping_events", "events", "mapping events in the counted window"),
    metric("late_events", "events", "those of them that had to wait until the mapping before them was over"),
    metric("mapping_s", "s", "wall-clock time that the policy took for the whole run", is_measured=True),
    metric("run_s", "s", "wall-clock time of a run: checks, files and compiling too", is_measured=True, kinds=""),
    *(
        metric(f"{name}:*", "tasks", f"{name}, of a priority level; a column for each level")
        for name in ("tasks_arrived", "tasks_completed", "tasks_dropped", "tasks_killed", "tasks_waiting")
    ),
    metric(
        "priority_percent:*", "%",
        "100 x utility of the tasks of a priority level / what those that arrived in the counted window are worth at "
        "their start; a column for each level",
    ),
    metric(
        "group_percent:*", "%",
        "100 x utility earned on the machines of a group / utility; a column for each machine group",
    ),
    metric("tasks", "tasks", "tasks of the bag, or known in advance", kinds=SEARCHES),
    metric("tasks_per_machine", "tasks", "tasks / machines", kinds=SEARCHES),
    metric("points", "points", "points of the front that was found", kinds=BOTH_FRONTS),
    metric(
        "hypervolume_percent", "%",
        "100 x area that the front dominates up to the reference point / area that the proven bound dominates; null "
        "for objectives of chance",
        kinds=BOTH_FRONTS,
    ),
    metric(
        "hypervolume_percent:*", "%",
        "the same after so many generations; a column for each snapshot", kinds=BOTH_FRONTS,
    ),
    metric(
        "normalised_percent", "%",
        "100 x area that the front dominates up to 1.8 x the least energy of all tasks / area that it would dominate "
        "if all earned what they are worth at most with the least energy (no energy, where they may be dropped); above "
        "100 only where few samples happen to use less than they would in the mean",
        kinds=UTILITY,
    ),
    metric("normalised_percent:*", "%", "the same after so many generations", kinds=UTILITY),
    metric(
        "fresh_percent", "%",
        "the same of the objectives of the search, taken from fresh samples; null at mean times, which have none; this "
        "and all of fresh samples null without chances",
        kinds=UTILITY,
    ),
    metric(
        "fresh_mean_percent", "%",
        "the same of the points at the means over fresh samples, whatever the objective: what compares objectives",
        kinds=UTILITY,
    ),
    metric("reference_energy_j", "J", "energy of the reference point: 1.8 x the least of all tasks", kinds=UTILITY),
    metric("utility_ceiling", "utility", "the sum of what tasks are worth at most", kinds=UTILITY),
    metric("utility_bound", "utility", "proven: nothing earns more, whatever its energy", kinds=UTILITY),
    metric("most_utility", "utility", "most utility of a point of the front", kinds=UTILITY),
    metric("most_utility_energy_j", "J", "energy of that point", kinds=UTILITY),
    metric("least_energy_utility", "utility", "utility of the point of least energy", kinds=UTILITY),
    metric("knee_utility", "utility", "utility at the knee of the front", kinds=UTILITY),
    metric("peak_energy_j", "J", "energy of the point with the most utility per energy", kinds=UTILITY),
    metric("peak_utility", "utility", "its utility", kinds=UTILITY),
    metric("peak_utility_per_mj", "utility/MJ", "its utility per energy", kinds=UTILITY),
    metric(
        "gap_percent", "%",
        "mean over the points of 100 x (1 - utility / most that is proven for the energy); null for chance",
        kinds=UTILITY,
    ),
    metric(
        "marker_sds", "",
        "mean over the points of how far objectives are from their means over fresh samples, in standard deviations",
        kinds=UTILITY,
    ),
    metric(
        "energy_sd_percent", "%",
        "100 x standard deviation of the energy over fresh samples / its mean, mean over the points", kinds=UTILITY,
    ),
    metric("utility_sd_percent", "%", "the same of the utility", kinds=UTILITY),
    metric("tasks_dropped", "tasks", "tasks dropped or left out, mean over points and samples", kinds=UTILITY),
    metric(
        "dropped_sd_correlation", "",
        "rank correlation over the points of the tasks dropped and the standard deviation of the utility",
        kinds=UTILITY,
    ),
    metric(
        "energy_price_per_mj", "utility/MJ", "what a megajoule more brings at the knee, by means over fresh samples",
        kinds=UTILITY,
    ),
    metric(
        "solution_value", "utility",
        "how much more the point that is best by samples earns, less energy at that price, than the one that is best "
        "by mean times and powers: chosen on one half of the fresh samples, mean over the other; may be below 0",
        kinds=UTILITY,
    ),
    metric("solution_value_error", "utility", "half width of its 95 % interval", kinds=UTILITY),
    metric(
        "information_value", "utility",
        "how much more than that point could be earned by choosing once all times and powers are known, on the same "
        "half of the samples",
        kinds=UTILITY,
    ),
    metric("information_value_error", "utility", "half width of its 95 % interval", kinds=UTILITY),
    metric(
        "cautious_energy_j", "J",
        "mean energy of the cautious choice: the point whose utility varies least over fresh samples, of those that "
        "earn the most on average but for the tolerance",
        kinds=UTILITY,
    ),
    metric("cautious_utility", "utility", "its mean utility", kinds=UTILITY),
    metric("cautious_sd_utility", "utility", "standard deviation of its utility", kinds=UTILITY),
    Column(RUNS, "engine", "", "what searched: one core, several, or a GPU by name", kinds=UTILITY),
    metric("reference_energy_j", "J", "energy of the reference point: 1.1 x the most on the bound front", kinds=FRONT),
    metric("reference_makespan_s", "s", "makespan of the reference point: 1.1 x the most on it", kinds=FRONT),
    metric("least_energy_j", "J", "least energy of a point of the front", kinds=BOTH_FRONTS),
    metric("least_makespan_s", "s", "least makespan of a point of the front", kinds=FRONT),
    metric("energy_bound_j", "J", "proven: no allocation uses less energy", kinds=BAGS),
    metric("makespan_bound_s", "s", "proven: no allocation has a shorter makespan", kinds=BAGS),
    metric(
        "gap_percent", "%",
        "mean over the points of 100 x (energy / least energy that is proven for the makespan - 1)", kinds=FRONT,
    ),
    metric("knee_energy_j", "J", "energy at the knee of the front; for profit, of the bound", kinds=SEARCHES),
    metric("knee_makespan_s", "s", "makespan at the same knee", kinds=BAGS),
    metric("mean_power_w", "W", "energy / makespan: of the allocation, or at the knee of a front", kinds=BAGS),
    metric("vertices", "vertices", "vertices of the proven bound that none beats in both objectives", kinds=BAGS),
    metric("unused_types", "types", "machine types that have machines but no task at any point", kinds=FRONT),
    metric(
        "unused_types:*", "types",
        "machine types without a task at the point of least energy, the knee and the point of least makespan",
        kinds=FRONT,
    ),
    metric(
        "task_percent:*", "%",
        "100 x tasks on machines of a type / all tasks, mean over the points; a column for each machine type",
        kinds=FRONT,
    ),
    metric(
        "busy_cov:*", "",
        "standard deviation / mean over machines of the time they compute, at the point of least energy, the knee and "
        "the point of least makespan",
        kinds=FRONT,
    ),
    metric("energy_cov:*", "", "the same of the energy of machines", kinds=FRONT),
    metric("generations_per_s", "1/s", "generations per second (nsga2)", is_measured=True, kinds=BOTH_FRONTS),
    metric("price", "", "price of the bag", kinds=PROFIT),
    metric("profit_ratio", "", "price / cost of the least energy; null where that costs nothing", kinds=PROFIT),
    metric("cost_per_kwh", "", "what a kWh costs, the mean over the hours of the bag where it changes", kinds=PROFIT),
    metric(
        "profit_per_s", "",
        "(price - all costs) / makespan of the allocation; if nothing runs, what depreciation takes away alone",
        kinds=PROFIT,
    ),
    metric("profit_bound_per_s", "", "proven: no allocation earns more per second", kinds=PROFIT),
    metric(
        "gap_percent", "%",
        "100 x (profit_bound_per_s - profit_per_s) / |profit_bound_per_s|; null where the bound is 0",
        kinds=PROFIT,
    ),
    metric("profit", "", "profit_per_s x makespan_s", kinds=PROFIT),
    metric("energy_j", "J", "energy of the allocation at the meter; null if nothing runs", kinds=PROFIT),
    metric("makespan_s", "s", "time from one bag to the next; null if nothing runs", kinds=PROFIT),
    metric("wait_s", "s", "the part of makespan_s in which all machines wait on purpose", kinds=PROFIT),
    metric("optimum_energy_j", "J", "energy where the bound of the profit lies, at the meter", kinds=PROFIT),
    metric("optimum_makespan_s", "s", "makespan where the bound of the profit lies", kinds=PROFIT),
    metric(
        "on_front_percent", "%",
        "100 if no divided schedule beats that place in both energy and makespan, else 0", kinds=PROFIT,
    ),
    metric(
        "pareto_profit_per_s", "", "the most profit per second on the bound front of energy and makespan", kinds=PROFIT
    ),
    Column(
        RUNS, "verdict", "",
        "what comes out for the bag: profit, covers part of the depreciation, loss under agreement, better not to run, "
        "deadline missed (by every allocation found) or infeasible",
        kinds=PROFIT,
    ),
    Column(RUNS, "reason", "", "why, in words, where nothing runs or a loss needs explaining; else null", kinds=PROFIT),
    metric("solve_s", "s", "wall-clock time of bound and search", is_measured=True, kinds=SEARCHES),
    Column(RECORDS, "task", "", "number of the task in order of arrival, from 0"),
    Column(RECORDS, "task_type", "", "name of the task type"),
    Column(RECORDS, "priority", "", "priority level of the task, where the workload has them"),
    Column(RECORDS, "urgency", "", "urgency level of the task, where the workload has them"),
    Column(RECORDS, "utility_class", "", "utility class of the task, where the workload has them"),
    Column(RECORDS, "arrival_s", "s", "instant of arrival"),
    Column(RECORDS, "fate", "", "ran, killed (ran too long), dropped or waiting (unmapped when the window ended)"),
    Column(RECORDS, "machine", "", "number of the machine, from 0 by machine type; null if not run"),
    Column(RECORDS, "machine_type", "", "name of the machine type; null if not run"),
    Column(RECORDS, "pstate", "", "P-state in which it ran, 0 the fastest; null if not run"),
    Column(RECORDS, "start_s", "s", "instant at which execution started; null if not run"),
    Column(RECORDS, "end_s", "s", "instant at which execution ended; null if not run"),
    Column(RECORDS, "utility", "utility", "utility earned, 0 outside the counted window; null if not run"),
    Column(
        RECORDS, "energy_j", "J",
        "energy of its run in the counted window, at the meter; null if not run, or without power figures",
    ),
    Column(TRACES, "at_s", "s", "instant, from the start of the counted window to its end"),
    Column(
        TRACES, "utility_cumulative", "utility",
        "utility earned in the window up to that instant, that of a prorated run from its end in the window on",
    ),
    Column(
        TRACES, "energy_cumulative_j", "J",
        "energy used in the window up to that instant, at the meter; null without power figures",
    ),
    Column(
        TRACES, "budget_cumulative_j", "J",
        "energy budget of the counted days up to that instant's; null without one",
    ),
    Column(LOSSES, "task", "", "number of the task whose run was lost; the file is there only if one was"),
    Column(LOSSES, "machine", "", "number of the machine that failed"),
    Column(LOSSES, "pstate", "", "P-state in which the task ran"),
    Column(LOSSES, "start_s", "s", "instant at which the run started"),
    Column(LOSSES, "end_s", "s", "instant at which the machine failed"),
    Column(FRONTS, "curve", "",
           "what the point is of: front (found), bound (vertices of the proven bound), snapshot (front after so many "
           "generations), region (the corners of all that divided tasks can reach), optimum (of the proven bound of "
           "profit), allocation (found for it)", kinds=BAGS),
    Column(FRONTS, "point", "", "number of the point on its curve, from 0, by rising energy or around", kinds=BAGS),
    Column(FRONTS, "generation", "", "number of generations of a snapshot; null on other curves", kinds=BAGS),
    Column(FRONTS, "energy_j", "J", "energy, idle power until the makespan included; at the meter", kinds=BAGS),
    Column(FRONTS, "makespan_s", "s", "when the last machine is done", kinds=BAGS),
    Column(FRONTS, "mean_power_w", "W", "energy_j / makespan_s", kinds=BAGS),
    Column(FRONTS, "energy_bound_j", "J", "proven: nothing done by then uses less; null on bounds", kinds=BAGS),
    Column(FRONTS, "gap_percent", "%", "100 x (energy_j / energy_bound_j - 1)", kinds=BAGS),
    Column(FRONTS, "profit_per_s", "", "profit per second; null in studies of fronts", kinds=BAGS),
    Column(FRONTS, "is_knee", "", "whether it is the knee of the curve", kinds=BAGS),
    Column(
        FRONTS, "chosen", "",
        "a to e, from least energy to least makespan, on the points that figures show machine by machine; else null",
        kinds=FRONT,
    ),
    Column(FRONTS, "curve", "", "front (found), bound (vertices of the proven bound) or snapshot", kinds=UTILITY),
    Column(FRONTS, "point", "", "number of the point on its curve, from 0, by rising energy", kinds=UTILITY),
    Column(FRONTS, "generation", "", "number of generations of a snapshot; null on other curves", kinds=UTILITY),
    Column(FRONTS, "energy_j", "J", "energy at the meter, as the objective has it", kinds=UTILITY),
    Column(FRONTS, "utility", "utility", "utility, as the objective has it", kinds=UTILITY),
    Column(FRONTS, "utility_per_mj", "utility/MJ", "utility / energy", kinds=UTILITY),
    Column(FRONTS, "utility_bound", "utility", "proven: nothing earns more with that energy", kinds=UTILITY),
    Column(FRONTS, "gap_percent", "%", "100 x (1 - utility / utility_bound)", kinds=UTILITY),
    Column(FRONTS, "is_knee", "", "whether it is the knee of the curve", kinds=UTILITY),
    Column(FRONTS, "is_peak", "", "whether it has the most utility per energy of the curve", kinds=UTILITY),
    Column(FRONTS, "is_cautious", "", "whether it is the cautious choice of the front", kinds=UTILITY),
    Column(FRONTS, "mean_energy_j", "J", "mean over fresh samples; this and what follows is null on other curves than "
           "front, and without chances", kinds=UTILITY),
    Column(FRONTS, "mean_utility", "utility", "mean over fresh samples", kinds=UTILITY),
    Column(FRONTS, "sd_energy_j", "J", "standard deviation over fresh samples", kinds=UTILITY),
    Column(FRONTS, "sd_utility", "utility", "standard deviation over fresh samples", kinds=UTILITY),
    Column(FRONTS, "correlation", "", "of energy and utility over fresh samples", kinds=UTILITY),
    Column(FRONTS, "tasks_dropped", "tasks", "tasks dropped or left out, mean over samples if any", kinds=UTILITY),
    Column(MACHINES, "point", "", "number of the point, as in fronts", kinds=BAGS),
    Column(MACHINES, "machine", "", "number of the machine, from 0 by machine type", kinds=BAGS),
    Column(MACHINES, "machine_type", "", "name of the machine type", kinds=BAGS),
    Column(MACHINES, "group", "", "group of the machine type", kinds=BAGS),
    Column(MACHINES, "tasks", "tasks", "tasks that it runs", kinds=BAGS),
    Column(MACHINES, "busy_s", "s", "when it is done: it computes without a break", kinds=BAGS),
    Column(MACHINES, "energy_j", "J", "its energy, idle power until the makespan included", kinds=BAGS),
    Column(COUNTS, "point", "", "number of the point, as in fronts", kinds=BAGS),
    Column(COUNTS, "machine", "", "number of the machine", kinds=BAGS),
    Column(COUNTS, "task_type", "", "name of the task type", kinds=BAGS),
    Column(COUNTS, "pstate", "", "P-state, 0 the fastest", kinds=BAGS),
    Column(COUNTS, "tasks", "tasks", "how many of these tasks the machine runs in that P-state", kinds=BAGS),
    Column(CLOUDS, "point", "", "number of the point, as in fronts; only with chances", kinds=UTILITY),
    Column(CLOUDS, "sample", "", "number of the fresh sample of all times and powers, from 0", kinds=UTILITY),
    Column(CLOUDS, "energy_j", "J", "energy at the meter if they turn out so", kinds=UTILITY),
    Column(CLOUDS, "utility", "utility", "utility if they turn out so", kinds=UTILITY),
    Column(CLOUDS, "tasks_dropped", "tasks", "tasks dropped or left out if they turn out so", kinds=UTILITY),
    Column(ASSIGNMENTS, "point", "", "number of the point, as in fronts", kinds=UTILITY),
    Column(ASSIGNMENTS, "task", "", "number of the task in order of arrival, from 0", kinds=UTILITY),
    Column(ASSIGNMENTS, "machine", "", "number of the machine, from 0 by machine type; -1: not to run", kinds=UTILITY),
    Column(ASSIGNMENTS, "pstate", "", "P-state, 0 the fastest", kinds=UTILITY),
    Column(ASSIGNMENTS, "order", "", "place in the global order by which machines take their tasks", kinds=UTILITY),
    *JOB_COLUMNS,
    *FACILITY_COLUMNS,
)  # fmt: skip


def metrics(found: Sequence[str]) -> list[str]:
    """Those of the columns found that are averaged over trials, in the order of the table above."""
    wanted = dict.fromkeys(column.name for column in COLUMNS if column.is_metric)
    return [name for pattern in wanted for name in found if fnmatchcase(name, pattern)]
