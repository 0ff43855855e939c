"""Made-up studies of parallel jobs with plausible answers for the tests of figures and reports."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from joulewise.present.jobs.keys import COMMITMENT, FILTER, LENIENCY, PLANNED, POLICY
from joulewise.present.page import page_of
from joulewise.present.records import VARIANT, Records, StudyInfo
from joulewise.study.answers import statistics
from joulewise.study.kinds.systems import all_kinds
from tests.strategies.made import INFO

TITLES = {
    "random": "Random", "conservative": "Conservative", "easy": "EASY", "fcfs-multiple-queues": "Multiple Queues",
    "max-util": "Max Util", "max-upt": "Max UPT", "max-upr": "Max UPR", "max-upe": "Max UPE",
}  # fmt: skip
MODES = {name: "greedy" if name.startswith("max") else "in-order" for name in TITLES}
NODES = {"general": 64, "special": 24}
BUDGET_J = 1.2e9
_LEVEL = dict(zip(TITLES, (20.0, 48.0, 57.0, 50.0, 66.0, 68.0, 74.0, 75.0), strict=True))
_FILTER_GAIN = {"none": 0.0, "per-task": 4.0, "per-resource": 7.0}
_BEST_LENIENCY = {"none": 1.0, "per-task": 2.0, "per-resource": 4.0}
FIG_9: tuple[dict[str, Any], ...] = tuple(
    {POLICY: name, COMMITMENT: commitment, FILTER: filter_}
    for name in TITLES
    for commitment in (("reservations", "place-holders") if MODES[name] == "greedy" else ("reservations",))
    for filter_ in (tuple(_FILTER_GAIN) if name in ("max-util", "max-upt", "max-upr") else ("none",))
)
FIG_7: tuple[dict[str, Any], ...] = tuple(
    {POLICY: "max-upr", COMMITMENT: "place-holders", FILTER: filter_, LENIENCY: leniency}
    for filter_, most in (("per-task", 4.0), ("per-resource", 8.0))
    for leniency in (np.arange(1, 9) * most / 8).tolist()
)

MAPPED = [
    {VARIANT: f"{share} the nodes, {cores} cores", **{key: point[key] for key in (POLICY, FILTER, LENIENCY)}}
    for share, cores in product(("half", "4 times"), (24, 48, 96, 192))
    for point in FIG_7
]
"""Eight settings with both filters."""
TRACE: tuple[dict[str, Any], ...] = tuple({POLICY: name} for name in ("conservative", "easy"))


def job_records(
    points: Sequence[Mapping[str, Any]] = TRACE,
    *,
    n_trials: int = 1,
    n_jobs: int = 300,
    details: bool = True,
    **info: Any,
) -> Records:
    """Runs at these points of a study; those of the first trial keep all tables where details are asked for."""
    runs = [{**point, "trial": trial, "world": _world(point, trial)} for point in points for trial in range(n_trials)]
    tables = {
        i: _simulated(row, n_jobs) for i, row in enumerate(runs) if details and row["trial"] == 0
    }  # fmt: skip
    frame = pl.DataFrame([{**row, "run": str(i), **_metrics(row, i)} for i, row in enumerate(runs)])
    axes = tuple(points[0])
    kind = all_kinds()["jobs"]
    study = StudyInfo(axes=axes, trials=n_trials, kind="jobs", **{**INFO, **info})
    summary = statistics.summary(frame, axes, kind.metrics(frame.columns))
    differences = statistics.differences(frame, axes, ["utility_percent"], axes[0])
    kept = {name: pl.concat([_named(i, made[name]) for i, made in tables.items()]) for name in _NAMES} if tables else {}
    return Records(study, frame, summary, differences, TITLES, MODES, kept, page_of("jobs").keys, kind.headings())


_NAMES = ("jobs", "job_traces", "users", "queues", "clusters", "job_types", "findings", "waits")


def _world(point: Mapping[str, Any], trial: int) -> str:
    return " ".join(str(value) for key, value in {**point, "": trial}.items() if not key.startswith("scheduler."))


def _named(run: int, table: pl.DataFrame) -> pl.DataFrame:
    return table.select(pl.lit(str(run)).alias("run"), pl.all())


def _metrics(row: Mapping[str, Any], i: int) -> dict[str, float | int]:
    noise = 0.3 * math.sin(7 * i + 3 * row["trial"])
    filter_ = row.get(FILTER, "none")
    off = math.log2(row.get(LENIENCY, _BEST_LENIENCY[filter_]) / _BEST_LENIENCY[filter_])
    held = 20.0 if row.get(COMMITMENT) == "reservations" and row[POLICY].startswith("max") else 0.0
    percent = _LEVEL[row[POLICY]] + _FILTER_GAIN[filter_] - 4 * off**2 - held + noise
    wait_s = 5000.0 * 50 / percent + 100 * noise
    return {
        "utility_percent": percent, "utility": 90 * percent, "maximum_utility": 9000.0, "utility_bound": 90 * 92.0,
        "possible_percent": 100 * percent / 92, "energy_j": BUDGET_J * (0.7 + 0.003 * percent), "budget_j": BUDGET_J,
        "jobs_arrived": 300, "jobs_completed": round(3 * percent), "jobs_dropped": 12, "jobs_killed": 0,
        "jobs_ran": round(3 * percent) + 3, "jobs_running": 3, "jobs_waiting": 285 - round(3 * percent),
        "jobs_impossible": 0, "mean_wait_s": wait_s,
        "median_wait_s": wait_s / 9, "p95_wait_s": 6 * wait_s, "max_wait_s": 11 * wait_s,
        "mean_bounded_slowdown": wait_s / 160,
        "median_bounded_slowdown": 1.5, "busy_percent": 80.0, "makespan_s": 90_000.0, "mean_queue_length": wait_s / 500,
        "max_queue_length": wait_s / 100, "users": 9, "fairness": 0.6, "mean_turnaround_s": wait_s + 3000,
    }  # fmt: skip


# --- a day of jobs, run in the order of a policy as soon as they fit -------------------------------------


def _simulated(row: Mapping[str, Any], n_jobs: int) -> dict[str, pl.DataFrame]:
    jobs = _planned(_drawn(n_jobs), row)
    key = {"easy": "true_s", "conservative": "arrival_s"}.get(row[POLICY], "nodes")
    starts = {name: _started(part.sort(key, "job"), NODES[name]) for (name,), part in jobs.group_by("cluster")}
    table = jobs.join(pl.concat(list(starts.values())), on="job", maintain_order="left")
    table = table.with_columns(
        end_s=pl.col("start_s") + pl.col("true_s"), wait_s=pl.col("start_s") - pl.col("arrival_s")
    )
    run_s = pl.max_horizontal(pl.col("true_s"), 10.0)
    slowdown = ((pl.col("wait_s") + pl.col("true_s")) / run_s).clip(1)
    table = table.with_columns(
        ready_s="arrival_s", fate=pl.lit("ran"), bounded_slowdown=slowdown, energy_j=200 * pl.col("nodes") * run_s
    )
    kinds = np.arange(100)
    sway = 1 + 0.15 * np.sin(7 * kinds)
    return {
        "jobs": table, "job_traces": _traces(table),
        "users": _summary(table, "user"), "queues": _summary(table, "queue"),
        "clusters": pl.DataFrame({"cluster": list(NODES), "n_nodes": list(NODES.values())}),
        "job_types": pl.DataFrame({"starting_utility": 1 + 0.07 * kinds, "single_s": 3600 * (1 + 0.17 * kinds * sway)}),
        "waits": _waits(table),
        "findings": pl.DataFrame({"key": ["no_run_time"], "n": [3], "reason": ["no run time"], "done": ["left out"]}),
    }  # fmt: skip


def _drawn(n: int) -> pl.DataFrame:
    random = np.random.default_rng(5)
    cluster = random.choice(list(NODES), n, p=[0.75, 0.25])
    true_s = np.round(np.exp(random.normal(7.6, 1.3, n))).clip(5, 80_000)
    kinds = random.integers(0, 12, n)
    return pl.DataFrame(
        {
            "job": np.arange(n), "job_type": [f"type {kind}" for kind in kinds], "cluster": cluster,
            "user": [f"user {i}" for i in random.integers(0, 9, n) ** 2 // 9],
            "queue": [("short", "long")[int(t > 3600)] for t in true_s],
            "arrival_s": np.sort(np.round(random.uniform(0, 72_000, n))),
            "nodes": np.minimum(2 ** random.integers(0, 6, n), [NODES[name] for name in cluster]),
            "cores": 4, "pstate": 0, "true_s": true_s,
            "requested_s": np.ceil(true_s * random.uniform(1, 9, n) / 900) * 900,
            "starting_utility": 1.0 + 0.55 * kinds,
        }
    )  # fmt: skip


def _planned(jobs: pl.DataFrame, row: Mapping[str, Any]) -> pl.DataFrame:
    recent = pl.col("true_s").rolling_mean(2).shift(1).over("user").fill_null(pl.col("requested_s"))
    planned = {"true": pl.col("true_s"), "recent": pl.min_horizontal(recent, "requested_s")}
    return jobs.with_columns(planned_s=planned.get(row.get(PLANNED, ""), pl.col("requested_s")))


def _started(queue: pl.DataFrame, n_nodes: int) -> pl.DataFrame:
    """When each job starts: at every end or arrival whatever fits does, in the order of the queue."""
    waiting = list(queue.select("job", "arrival_s", "nodes", "true_s").iter_rows())
    running: list[tuple[float, int]] = []
    starts: dict[int, float] = {}
    now_s, free = 0.0, n_nodes
    while waiting:
        free += sum(nodes for end_s, nodes in running if end_s <= now_s)
        running = [each for each in running if each[0] > now_s]
        for job, arrival_s, nodes, true_s in list(waiting):
            if arrival_s <= now_s and nodes <= free:
                starts[job], free = now_s, free - nodes
                running.append((now_s + true_s, nodes))
                waiting.remove((job, arrival_s, nodes, true_s))
        later = [end_s for end_s, _ in running] + [each[1] for each in waiting if each[1] > now_s]
        now_s = min(later, default=now_s)
    return pl.DataFrame({"job": list(starts), "start_s": list(starts.values())})


def _traces(table: pl.DataFrame) -> pl.DataFrame:
    at_s = np.arange(0.0, 90_000.0, 600.0)
    start_s, end_s, arrival_s = (table[name].to_numpy() for name in ("start_s", "end_s", "arrival_s"))
    runs = (start_s <= at_s[:, None]) & (at_s[:, None] < end_s)
    busy = (runs * table["nodes"].to_numpy()).sum(axis=1)
    waits = ((arrival_s <= at_s[:, None]) & (at_s[:, None] < start_s)).sum(axis=1)
    columns = {"at_s": at_s, "step_s": 600.0, "nodes_busy": busy, "busy_percent": 100 * busy / sum(NODES.values())}
    return pl.DataFrame(columns).with_columns(
        queue_length=pl.Series(waits.astype(float)), power_w=pl.Series(200.0 * busy),
        utility_cumulative=pl.Series((end_s <= at_s[:, None]).sum(axis=1).astype(float)),
        energy_cumulative_j=pl.Series(200.0 * 600.0 * np.cumsum(busy)), budget_cumulative_j=pl.lit(BUDGET_J),
    )  # fmt: skip


def _waits(table: pl.DataFrame) -> pl.DataFrame:
    """Waits beside those of a log in which every third job waited for an hour longer."""
    more_s = pl.when(pl.col("job") % 3 == 0).then(-3600.0).otherwise(0.0)
    return table.select(
        "job", "queue", "user", "wait_s", pl.col("job").cast(pl.String).alias("job_id"),
        processors="nodes", size=pl.when(pl.col("nodes") > 1).then(pl.lit("2 or more")).otherwise(pl.lit("1")),
        logged_wait_s=pl.col("wait_s") - more_s, difference_s=more_s, first_start_s="start_s",
        reason=pl.when(more_s < 0).then(pl.lit("waited in the log: room")),
    )  # fmt: skip


def _summary(table: pl.DataFrame, key: str) -> pl.DataFrame:
    means = [pl.col(name).mean().alias(f"mean_{name}") for name in ("wait_s", "bounded_slowdown")]
    node_s = (pl.col("nodes") * pl.col("true_s")).sum().alias("node_s")
    return table.group_by(key, maintain_order=True).agg(pl.len().alias("jobs"), *means, node_s)
