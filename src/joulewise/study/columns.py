"""Every column of every table that a study writes, with unit and meaning."""

from __future__ import annotations

from dataclasses import dataclass

RUNS, RECORDS, TRACES = "runs", "records", "traces"


@dataclass(frozen=True)
class Column:
    """One column; `is_metric`: averaged over trials; `is_measured`: a time of the machine."""

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
    _metric("utility", "utility", "sum of the utility of the tasks that completed in the counted window"),
    _metric("maximum_utility", "utility", "the same sum if every task started on arrival where it is fastest"),
    _metric("utility_percent", "%", "100 x utility / maximum_utility"),
    _metric("utility_bound", "utility", "proven: no policy, even one that knows the future, can earn more"),
    _metric(
        "possible_percent", "%", "100 x utility / utility_bound: how much of what is possible was earned, at least"
    ),
    _metric("tasks_arrived", "tasks", "tasks that arrived in the counted window"),
    _metric("tasks_completed", "tasks", "tasks that completed in the counted window, whenever they arrived"),
    _metric("tasks_dropped", "tasks", "tasks that arrived in the counted window and were dropped"),
    _metric("tasks_waiting", "tasks", "tasks that arrived in the counted window and were never mapped"),
    _metric("energy_j", "J", "power x execution time inside the counted window, over all tasks"),
    _metric("busy_percent", "%", "100 x execution time inside the counted window / (machines x its length)"),
    _metric("mapping_events", "events", "mapping events at which there was a task to map"),
    _metric("mapping_s", "s", "wall-clock time that the policy took for the whole run", is_measured=True),
    _metric("run_s", "s", "wall-clock time of the run with its checks and files", is_measured=True),
    Column(RECORDS, "task", "", "number of the task in order of arrival, from 0"),
    Column(RECORDS, "task_type", "", "name of the task type"),
    Column(RECORDS, "priority", "", "priority level of the task, where the workload has them"),
    Column(RECORDS, "urgency", "", "urgency level of the task, where the workload has them"),
    Column(RECORDS, "utility_class", "", "utility class of the task, where the workload has them"),
    Column(RECORDS, "arrival_s", "s", "instant of arrival"),
    Column(RECORDS, "fate", "", "ran, dropped or waiting (still unmapped when the window ended)"),
    Column(RECORDS, "machine", "", "number of the machine, from 0 by machine type; null if not run"),
    Column(RECORDS, "machine_type", "", "name of the machine type; null if not run"),
    Column(RECORDS, "pstate", "", "P-state in which it ran, 0 the fastest; null if not run"),
    Column(RECORDS, "start_s", "s", "instant at which execution started; null if not run"),
    Column(RECORDS, "end_s", "s", "instant at which execution ended; null if not run"),
    Column(RECORDS, "utility", "utility", "utility earned, 0 outside the counted window; null if not run"),
    Column(TRACES, "at_s", "s", "instant, from the start of the counted window to its end"),
    Column(TRACES, "utility_cumulative", "utility", "utility earned in the window up to that instant"),
)


def metrics() -> list[str]:
    """The columns of a run that are averaged over trials."""
    return [column.name for column in COLUMNS if column.is_metric]
