"""Every column of the tables that a study of tasks under a manager writes."""

from __future__ import annotations

from joulewise.study.searches.meter_columns import METER_COLUMNS
from joulewise.study.spec.column import BOUNDS, LOSSES, PIECES, RECORDS, TRACES, Column, label, metric, one_digit

MANAGED_COLUMNS = (
    metric(
        "utility", "utility",
        "sum of the utility of the tasks that completed in the counted window; in a workload that is prorated, of each "
        "completed task by the share of its run that lies in the window",
        heading="utility earned",
    ),
    metric(
        "maximum_utility", "utility",
        "the same sum if nothing had to wait: every task starts on arrival where it is fastest (Friese 2015, section "
        "2.7.1, calls it the maximum utility)",
        heading="utility if nothing had to wait",
    ),
    metric(
        "utility_percent", "%", "100 x utility / maximum_utility", title="% without waiting", form=one_digit, rank=20,
        heading="utility (% of that without waiting)",
    ),
    metric(
        "utility_bound", "utility", "proven: no policy, even one that knows the future, can earn more",
        heading="proven bound",
    ),
    metric(
        "possible_percent", "%", "100 x utility / utility_bound: how much of what is possible was earned, at least",
        title="% of possible", rank=10, heading="utility (% of what is possible)",
    ),
    metric(
        "system_tma", "",
        "task-machine affinity of the general-purpose machine types in P-state 0: 0 if all task types see the same "
        "ratios between them, up to 1; this and the next two are null where it does not exist",
        heading="task-machine affinity",
    ),
    metric(
        "system_tdh", "", "task difficulty homogeneity of the same: 1 if all task types are equally hard",
        heading="task difficulty homogeneity",
    ),
    metric(
        "system_mph", "", "machine performance homogeneity of the same: 1 if all machine types are equally fast",
        heading="machine performance homogeneity",
    ),
    metric(
        "system_tasks_per_day", "tasks",
        "tasks that the machines can run in 24 h, each at its mean time over the task types and P-states that it can "
        "run",
        heading="tasks a day that machines can run",
    ),
    metric("tasks_arrived", "tasks", "tasks that arrived in the counted window"),
    metric("tasks_completed", "tasks", "tasks that completed in the counted window, whenever they arrived"),
    metric("tasks_dropped", "tasks", "tasks that arrived in the counted window and were dropped"),
    metric("tasks_killed", "tasks", "tasks that arrived in the counted window and were killed for running too long"),
    metric(
        "tasks_waiting", "tasks", "tasks that arrived in the counted window and were left unmapped",
        heading="tasks left waiting",
    ),
    metric(
        "runs_lost", "runs", "runs that an outage of their machine ended inside the counted window",
        heading="runs lost to outages",
    ),
    metric(
        "runs_preempted", "runs",
        "stretches of running in it that ended because another task took the machine; null if there were none",
        is_optional=True,
    ),
    metric(
        "energy_j", "J",
        "energy at the meter in the counted window, of all runs and of machines without one, times the PUE; this and "
        "all that follows from it is null without power figures",
    ),
    metric(
        "standby_energy_j", "J", "the part of energy_j that machines used while idle, asleep or booting",
        heading="energy without a run",
    ),
    *METER_COLUMNS,
    metric(
        "busy_percent", "%", "100 x time of runs inside the counted window / (machines x its length)",
        heading="machines busy (%)",
    ),
    metric(
        "idle_percent", "%", "100 x time without a run, on machines that are not down / (machines x its length)",
        heading="machines idle (%)",
    ),
    metric(
        "idle_with_energy_percent", "%",
        "the same from the start of the counted window to exhausted_s only, or to its end where that is null",
        heading="machines idle until energy is used up (%)",
    ),
    metric("mapping_events", "events", "mapping events in the counted window"),
    metric(
        "late_events", "events", "those of them that had to wait until the mapping before them was over",
        heading="late mapping events",
    ),
    metric(
        "mapping_s", "s", "wall-clock time that the policy took for the whole run", is_measured=True,
        heading="time spent mapping",
    ),
    *(
        metric(f"{name}:*", "tasks", f"{name}, of a priority level; a column for each level")
        for name in ("tasks_arrived", "tasks_completed", "tasks_dropped", "tasks_killed", "tasks_waiting")
    ),
    metric(
        "priority_percent:*", "%",
        "100 x utility of the tasks of a priority level / what those that arrived in the counted window are worth on "
        "arrival; a column for each level",
        heading="utility (% of the level's worth)",
    ),
    metric(
        "group_percent:*", "%",
        "100 x utility earned on the machines of a group / utility; a column for each machine group",
        heading="utility (% of what was earned)",
    ),
    Column(RECORDS, "task", "", "number of the task in order of arrival, from 0"),
    label(RECORDS, "task_type", "name of the task type"),
    label(RECORDS, "priority", "priority level of the task, where the workload has them", is_optional=True),
    label(RECORDS, "urgency", "urgency level of the task, where the workload has them", is_optional=True),
    label(RECORDS, "utility_class", "utility class of the task, where the workload has them", is_optional=True),
    Column(RECORDS, "arrival_s", "s", "instant of arrival"),
    label(RECORDS, "fate", "ran, killed (ran too long), dropped or waiting (unmapped when the window ended)"),
    Column(RECORDS, "machine", "", "number of the machine, from 0 by machine type; null if not run"),
    label(RECORDS, "machine_type", "name of the machine type; null if not run"),
    Column(RECORDS, "pstate", "", "P-state in which it ran, 0 the fastest; null if not run"),
    Column(RECORDS, "start_s", "s", "instant at which execution started, the last time; null if not run"),
    Column(RECORDS, "end_s", "s", "instant at which execution ended; null if not run"),
    Column(RECORDS, "utility", "utility", "utility earned, 0 outside the counted window; null if not run"),
    Column(
        RECORDS, "energy_j", "J",
        "energy of its running in the counted window, at the meter, without runs that were lost; null if not run, or "
        "without power figures",
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
    label(LOSSES, "task_type", "name of its task type"),
    Column(LOSSES, "machine", "", "number of the machine that failed"),
    label(LOSSES, "machine_type", "name of the machine type"),
    Column(LOSSES, "pstate", "", "P-state in which the task ran"),
    Column(LOSSES, "start_s", "s", "instant at which the run started"),
    Column(LOSSES, "end_s", "s", "instant at which the machine failed"),
    Column(PIECES, "task", "", "number of the task that was suspended; the file is there only if one was"),
    label(PIECES, "task_type", "name of its task type"),
    Column(PIECES, "machine", "", "number of the machine that another task took"),
    label(PIECES, "machine_type", "name of the machine type"),
    Column(PIECES, "pstate", "", "P-state in which the task ran, and goes on"),
    Column(PIECES, "start_s", "s", "instant at which the stretch started"),
    Column(PIECES, "end_s", "s", "instant at which its checkpoint was written"),
    Column(BOUNDS, "maximum_utility", "utility", "what would be earned if nothing had to wait"),
)  # fmt: skip
