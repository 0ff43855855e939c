"""Every column of every table that a study writes, with unit and meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

RUNS, RECORDS, TRACES, LOSSES = "runs", "records", "traces", "losses"


@dataclass(frozen=True)
class Column:
    """One column; `is_metric`: averaged over trials; `is_measured`: a time of the machine.

    A `*` in its name stands for any text: there is a column for each level or group that the world has.
    """

    table: str
    name: str
    unit: str
    meaning: str
    is_metric: bool = False
    is_measured: bool = False


def _metric(name: str, unit: str, meaning: str, *, is_measured: bool = False) -> Column:
    return Column(RUNS, name, unit, meaning, is_metric=True, is_measured=is_measured)


COLUMNS = (
    Column(RUNS, "run", "", "key of the run: a hash of its world, manager, seed, trial and files"),
    Column(RUNS, "world", "", "key of the world; runs with the same one met the same machines and tasks"),
    Column(RUNS, "variant", "", "name of the variant, null in a study without variants"),
    Column(RUNS, "trial", "", "number of the trial, from 0"),
    Column(RUNS, "seed", "", "seed of the study"),
    Column(RUNS, "bound", "", "how utility_bound is proven: prices, or trivial (each task alone)"),
    Column(RUNS, "status", "", "done or failed"),
    Column(RUNS, "error", "", "why the run failed, null if it did not"),
    _metric(
        "utility", "utility",
        "sum of the utility of the tasks that completed in the counted window; in a workload that is prorated, of each "
        "completed task by the share of its run that lies in the window",
    ),
    _metric("maximum_utility", "utility", "the same sum if every task started on arrival where it is fastest"),
    _metric("utility_percent", "%", "100 x utility / maximum_utility"),
    _metric("utility_bound", "utility", "proven: no policy, even one that knows the future, can earn more"),
    _metric(
        "possible_percent", "%", "100 x utility / utility_bound: how much of what is possible was earned, at least"
    ),
    _metric(
        "system_tma", "",
        "task-machine affinity of the general-purpose machine types in P-state 0: 0 if all task types see the same "
        "ratios between them, up to 1; this and the next two are null where it does not exist",
    ),
    _metric("system_tdh", "", "task difficulty homogeneity of the same: 1 if all task types are equally hard"),
    _metric("system_mph", "", "machine performance homogeneity of the same: 1 if all machine types are equally fast"),
    _metric("tasks_arrived", "tasks", "tasks that arrived in the counted window"),
    _metric("tasks_completed", "tasks", "tasks that completed in the counted window, whenever they arrived"),
    _metric("tasks_dropped", "tasks", "tasks that arrived in the counted window and were dropped"),
    _metric("tasks_killed", "tasks", "tasks that arrived in the counted window and were killed for running too long"),
    _metric("tasks_waiting", "tasks", "tasks that arrived in the counted window and were left unmapped"),
    _metric("runs_lost", "runs", "runs that an outage of their machine ended inside the counted window"),
    _metric(
        "energy_j", "J",
        "energy at the meter in the counted window, of all runs and of machines without one, times the PUE; this and "
        "all that follows from it is null without power figures",
    ),
    _metric("standby_energy_j", "J", "the part of energy_j that machines used while idle, asleep or booting"),
    _metric("energy_peak_w", "W", "highest power at the meter at any instant of the counted window"),
    _metric("energy_cost", "", "energy x tariff of its hour, in the tariff's unit; null without a tariff"),
    _metric("budget_j", "J", "energy budget of all days of the counted window together; null without one"),
    _metric("budget_percent", "%", "100 x energy_j / budget_j"),
    _metric(
        "exhausted_s", "s",
        "instant at which the first counted day had used 99 % of its energy budget; null if it never had",
    ),
    _metric("busy_percent", "%", "100 x time of runs inside the counted window / (machines x its length)"),
    _metric("idle_percent", "%", "100 x time without a run, on machines that are not down / (machines x its length)"),
    _metric("mapping_events", "events", "mapping events in the counted window"),
    _metric("late_events", "events", "those of them that had to wait until the mapping before them was over"),
    _metric("mapping_s", "s", "wall-clock time that the policy took for the whole run", is_measured=True),
    _metric("run_s", "s", "wall-clock time of the run with its checks and files", is_measured=True),
    *(
        _metric(f"{name}:*", "tasks", f"{name}, of a priority level; a column for each level")
        for name in ("tasks_arrived", "tasks_completed", "tasks_dropped", "tasks_killed", "tasks_waiting")
    ),
    _metric(
        "priority_percent:*", "%",
        "100 x utility of the tasks of a priority level / what those that arrived in the counted window are worth at "
        "their start; a column for each level",
    ),
    _metric(
        "group_percent:*", "%",
        "100 x utility earned on the machines of a group / utility; a column for each machine group",
    ),
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
)  # fmt: skip


def metrics(found: Sequence[str]) -> list[str]:
    """Those of the columns found that are averaged over trials, in the order of the table above."""
    wanted = [column.name for column in COLUMNS if column.is_metric]
    return [name for pattern in wanted for name in found if fnmatchcase(name, pattern)]
