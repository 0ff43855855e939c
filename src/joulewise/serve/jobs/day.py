"""A day of parallel jobs as arrays, and what happened in a window of it, by the bin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from joulewise.model.arrays import Floats
from joulewise.present.curves import BUDGET_TRACE, ENERGY_TRACE
from joulewise.present.jobs.gantt import stretches, with_nodes
from joulewise.present.jobs.view import CLUSTERS, JOB_TRACES, JOBS, PIECES
from joulewise.present.windows import Window
from joulewise.serve.day import (
    Bins,
    Boxes,
    Curves,
    Sums,
    Trace,
    column,
    counted,
    covered,
    held,
    sizes,
    sums_of,
    waiting,
)

FATES = ("ran", "killed", "cancelled", "dropped", "waiting", "impossible")
"""What becomes of jobs, in reading order."""
_USED = ("ran", "killed", "cancelled")


@dataclass(frozen=True, eq=False)
class JobDay:
    """A run of parallel jobs as its detail tables have it.

    `runs` are all stretches of running with the nodes that they may have had, and `boxes` these nodes over time, by
    cluster; `clusters` has a row for each cluster.
    `whole` is the counted window. A job waits for as long as it `stays` and does not run: from when it could start
    until it was done; `running` are the stretches of those that ever wait. `slowdowns` are instants of arrival, waits
    and bounded slowdowns of the jobs that had nodes.
    """

    runs: pl.DataFrame
    boxes: Mapping[str, Boxes]
    clusters: pl.DataFrame
    whole: Window
    arrival_s: Mapping[str, Floats]
    ends_s: Floats
    earned: Sums
    trace: Trace
    stays: tuple[Floats, Floats]
    slowdowns: tuple[Floats, Floats, Floats]

    @property
    def n_cores(self) -> int:
        """The cores of all clusters."""
        return int((self.clusters["n_nodes"] * self.clusters["cores_per_node"]).sum())


def day_of(tables: Mapping[str, pl.DataFrame]) -> JobDay:
    """The day that detail tables of a run describe."""
    jobs, clusters = tables[JOBS], tables[CLUSTERS].with_columns(pl.col("cluster").cast(pl.String))
    trace = _trace(tables[JOB_TRACES])
    whole = Window(float(trace.at_s[0]), float(trace.at_s[-1]))
    cores = clusters.select("cluster", "cores_per_node")
    runs = _powered(with_nodes(stretches(jobs, tables.get(PIECES, pl.DataFrame()))), jobs, whole)
    fate = jobs["fate"].cast(pl.String)
    arrival_s, ready_s, end_s = (column(jobs, name) for name in ("arrival_s", "ready_s", "end_s"))
    done, used = (fate == "ran").to_numpy(), fate.is_in(_USED).to_numpy()
    here = (used | (fate == "waiting").to_numpy()) & np.isfinite(ready_s)
    until_s = np.where(used, end_s, np.maximum(whole.end_s, ready_s))
    return JobDay(
        runs.join(cores, on="cluster", how="left", maintain_order="left"),
        {name: _boxes(runs, name) for name in clusters["cluster"]},
        clusters,
        whole,
        {name: arrival_s[(fate == name).to_numpy()] for name in FATES},
        end_s[done],
        sums_of(np.minimum(end_s[done], whole.end_s), column(jobs, "utility")[done]),
        trace,
        (ready_s[here], until_s[here]),
        (arrival_s[used], column(jobs, "wait_s")[used], column(jobs, "bounded_slowdown")[used]),
    )


def _trace(steps: pl.DataFrame) -> Trace:
    """Energy and budget at the edges of the steps of a table, which has them at their ends."""
    at_s = np.concatenate((column(steps, "at_s"), [steps["at_s"][-1] + steps["step_s"][-1]]))
    energy_j, budget_j = column(steps, ENERGY_TRACE), column(steps, BUDGET_TRACE)
    return Trace(at_s, np.concatenate(([0.0 * energy_j[0]], energy_j)), np.concatenate((budget_j[:1], budget_j)))


def _powered(runs: pl.DataFrame, jobs: pl.DataFrame, whole: Window) -> pl.DataFrame:
    """The stretches with the mean power of a node of their job in the counted window, in watts; null if not known."""
    end_s, start_s = pl.col("end_s").clip(upper_bound=whole.end_s), pl.col("start_s").clip(whole.start_s)
    inside = runs.group_by("job").agg(node_s=(pl.col("nodes") * (end_s - start_s).clip(0.0)).sum())
    node_w = pl.col("energy_j") / pl.col("node_s")
    powers = inside.join(jobs.select("job", "energy_j"), on="job")
    powers = powers.select("job", node_w=pl.when(node_w.is_finite()).then(node_w))
    return runs.join(powers, on="job", how="left", maintain_order="left")


@dataclass(frozen=True, eq=False)
class JobFrame:
    """What happened in a window of a day, by the bin.

    `arrived` and `completed` are numbers of jobs, the first by what became of them; `waiting`, `running`, `nodes` and
    `cores` (of all, in percent) are means over a bin. `slowdown` is the mean bounded slowdown of the jobs that arrived
    in a bin and had nodes, NaN where none did.
    """

    bins: Bins
    curves: Curves
    arrived: Mapping[str, Floats]
    completed: Floats
    waiting: Floats
    running: Floats
    nodes: Floats
    busy_percent: Floats
    slowdown: Floats


def frame_of(day: JobDay, bins: Bins) -> JobFrame:
    """What happened in bins of a day."""
    spans = column(day.runs, "start_s"), column(day.runs, "end_s")
    nodes, per_node = column(day.runs, "nodes"), column(day.runs, "cores_per_node")
    arrival_s, _, slowdown = day.slowdowns
    with np.errstate(invalid="ignore"):
        mean_slowdown = counted(bins, arrival_s, slowdown) / counted(bins, arrival_s)
    return JobFrame(
        bins,
        day.trace.curves(day.earned, bins),
        {name: counted(bins, at_s) for name, at_s in day.arrival_s.items()},
        counted(bins, day.ends_s),
        waiting(bins, *day.stays, spans),
        held(bins, *spans),
        held(bins, *spans, nodes),
        100 * held(bins, *spans, nodes * per_node) / day.n_cores,
        mean_slowdown,
    )


def busy_share(day: JobDay, cluster: str, bins: Bins, rows: Bins) -> Floats:
    """The busy part of the node time of each row of nodes of a cluster and each bin."""
    return _by_node(day, cluster, bins, rows, day.boxes[cluster]._replace(height=1.0))


def power_w(day: JobDay, cluster: str, bins: Bins, rows: Bins) -> Floats:
    """The power of jobs by node, mean over the nodes of each row of a cluster and over each bin."""
    return _by_node(day, cluster, bins, rows, day.boxes[cluster])


def _by_node(day: JobDay, cluster: str, bins: Bins, rows: Bins, boxes: Boxes) -> Floats:
    n_nodes = int(day.clusters.filter(pl.col("cluster") == cluster)["n_nodes"][0])
    return np.asarray(covered(bins, rows, boxes) / bins.width / sizes(rows, n_nodes)[:, None])


def _boxes(runs: pl.DataFrame, cluster: str) -> Boxes:
    """The nodes that runs of a cluster had, over time, with the power of each."""
    here = runs.filter(pl.col("cluster") == cluster).select("start_s", "end_s", "node_w", "ranges").explode("ranges")
    first, end = (here["ranges"].list.get(i).cast(pl.Float64).to_numpy() for i in (0, 1))
    return Boxes(column(here, "start_s"), column(here, "end_s"), first, end, np.nan_to_num(column(here, "node_w")))


def slowed(day: JobDay, window: Window) -> tuple[float, float]:
    """The mean wait, in seconds, and the mean bounded slowdown of the jobs that arrived in a window and had nodes."""
    arrival_s, wait_s, slowdown = day.slowdowns
    inside = (arrival_s >= window.start_s) & (arrival_s <= window.end_s)
    if not inside.any():
        return float("nan"), float("nan")
    return float(wait_s[inside].mean()), float(slowdown[inside].mean())
