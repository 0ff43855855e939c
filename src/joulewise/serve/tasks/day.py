"""A day of serial tasks as arrays, and what happened in a window of it, by the bin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from joulewise.model.arrays import Floats
from joulewise.present.curves import BUDGET_TRACE, ENERGY_TRACE
from joulewise.present.tasks.gantt import BROKEN, stretches
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

FATES = ("ran", "killed", "dropped", "waiting")
"""What becomes of tasks, in reading order."""


@dataclass(frozen=True, eq=False)
class TaskDay:
    """A run of tasks under a manager as its detail tables have it.

    `runs` are all stretches of running, with the power that they drew where that is known. `whole` is the counted
    window; what waits does so until `until_s`, when it completed, and `stays` from when it arrived.
    """

    runs: pl.DataFrame
    whole: Window
    n_machines: int
    arrival_s: Mapping[str, Floats]
    ends_s: Floats
    earned: Sums
    trace: Trace
    stays: tuple[Floats, Floats]


def day_of(tables: Mapping[str, pl.DataFrame]) -> TaskDay:
    """The day that detail tables of a run describe."""
    tasks, traces = tables["records"], tables["traces"]
    whole = Window(float(traces["at_s"][0]), float(traces["at_s"][-1]))
    runs = _powered(stretches(tasks, {name: tables[name] for name in BROKEN if name in tables}), tasks, whole)
    fate = tasks["fate"].cast(pl.String)
    arrival_s, end_s = column(tasks, "arrival_s"), column(tasks, "end_s")
    done = (fate == "ran").to_numpy()
    here = (fate != "dropped").to_numpy()
    until_s = np.where(np.isnan(end_s), np.maximum(whole.end_s, arrival_s), end_s)
    return TaskDay(
        runs,
        whole,
        1 + max(runs["machine"].to_list(), default=0),
        {name: arrival_s[(fate == name).to_numpy()] for name in FATES},
        end_s[done],
        sums_of(np.minimum(end_s[done], whole.end_s), column(tasks, "utility")[done]),
        Trace(column(traces, "at_s"), column(traces, ENERGY_TRACE), column(traces, BUDGET_TRACE)),
        (arrival_s[here], until_s[here]),
    )


def _powered(runs: pl.DataFrame, tasks: pl.DataFrame, whole: Window) -> pl.DataFrame:
    """The stretches with the mean power of their task in the counted window, in watts; null where it is not known."""
    end_s, start_s = pl.col("end_s").clip(upper_bound=whole.end_s), pl.col("start_s").clip(whole.start_s)
    kept = runs.filter(~pl.col("is_lost"))
    inside = kept.group_by("task").agg(inside_s=(end_s - start_s).clip(0.0).sum())
    power_w = pl.col("energy_j") / pl.col("inside_s")
    powers = inside.join(tasks.select("task", "energy_j"), on="task")
    powers = powers.select("task", power_w=pl.when(power_w.is_finite()).then(power_w))
    joined = runs.join(powers, on="task", how="left", maintain_order="left")
    return joined.with_columns(pl.when(~pl.col("is_lost")).then("power_w"))


@dataclass(frozen=True, eq=False)
class TaskFrame:
    """What happened in a window of a day, by the bin.

    `arrived` and `completed` are numbers of tasks, the first by what became of them; `waiting` and `busy` are means
    over a bin: of tasks, and of machines.
    """

    bins: Bins
    curves: Curves
    arrived: Mapping[str, Floats]
    completed: Floats
    waiting: Floats
    busy: Floats


def frame_of(day: TaskDay, bins: Bins) -> TaskFrame:
    """What happened in bins of a day."""
    spans = column(day.runs, "start_s"), column(day.runs, "end_s")
    return TaskFrame(
        bins,
        day.trace.curves(day.earned, bins),
        {name: counted(bins, at_s) for name, at_s in day.arrival_s.items()},
        counted(bins, day.ends_s),
        waiting(bins, *day.stays, spans),
        held(bins, *spans),
    )


def busy_share(day: TaskDay, bins: Bins, rows: Bins) -> Floats:
    """The part of the machine time of each row of machines and each bin that had a run."""
    return np.asarray(covered(bins, rows, _boxes(day)) / bins.width / sizes(rows, day.n_machines)[:, None])


def power_w(day: TaskDay, bins: Bins, rows: Bins) -> Floats:
    """The power of the runs on each row of machines, mean over each bin."""
    height = np.nan_to_num(column(day.runs, "power_w"))
    return np.asarray(covered(bins, rows, _boxes(day)._replace(height=height)) / bins.width)


def _boxes(day: TaskDay) -> Boxes:
    start_s, end_s, machine = (column(day.runs, name) for name in ("start_s", "end_s", "machine"))
    return Boxes(start_s, end_s, machine, machine + 1)
