"""A lively window of schedules that have more runs than can be seen at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from joulewise.present.layout import AXIS_FORMAT, Panel
from joulewise.present.records import Records

_LENGTHS_S = tuple(3600.0 * hours for hours in (0.25, 0.5, 1, 2, 4, 6, 8, 12, 24, 48, 96, 168, 336, 720, 2160, 8760))
_MOST_TRIED = 40


@dataclass(frozen=True)
class Window:
    """A stretch of time, in seconds."""

    start_s: float
    end_s: float


@dataclass(frozen=True)
class Limits:
    """How many runs of a schedule may be, and how many may start, in a window."""

    most_runs: int
    most_starts: int


def chosen(records: Records, panels: Sequence[Panel], most: int) -> list[Panel]:
    """As many schedules as there is room for: the first, with the best of the first setting among them."""
    best = next((i for i, panel in enumerate(panels) if _is_best(records, panel.rows.row(0, named=True))), 0)
    first = [i for i in range(len(panels)) if i != best][: most - 1]
    return [panels[i] for i in sorted([best, *first])]


def _is_best(records: Records, point: Mapping[str, Any]) -> bool:
    """Whether a schedule is of a point that earned most at its setting."""
    return any(all(point[key] == row[key] for key in records.varying) for row in records.best.iter_rows(named=True))


def lively(schedules: Sequence[pl.DataFrame], limits: Limits) -> Window:
    """A window as long as most of its length have few enough runs, and of those that have the one where most come.

    Schedules have the columns `ready_s`, `start_s` and `end_s`.
    """
    ends = [(float(runs["start_s"].min()), float(runs["end_s"].max())) for runs in schedules]  # type: ignore[arg-type]
    start_s, end_s = min(first for first, _ in ends), max(last for _, last in ends)
    if all(runs.height <= limits.most_starts for runs in schedules):
        return Window(start_s, max(end_s, start_s + 1.0))
    lengths_s = [length_s for length_s in _LENGTHS_S if length_s < end_s - start_s] or [end_s - start_s]
    windows = (
        window for length_s in reversed(lengths_s) for window in _windows(schedules[0], start_s, length_s, limits)
    )
    fitting = (window for window in windows if all(_fits(runs, window, limits) for runs in schedules))
    return next(fitting, Window(start_s, start_s + lengths_s[0]))


def inside(runs: pl.DataFrame, window: Window) -> pl.DataFrame:
    """The runs that are, at least in part, in a window."""
    return runs.filter((pl.col("end_s") > window.start_s) & (pl.col("start_s") < window.end_s))


def _windows(runs: pl.DataFrame, first_s: float, length_s: float, limits: Limits) -> Iterator[Window]:
    """Windows of a length, one after the other, those where most come first; none if most have too many."""
    slot = ((pl.col("ready_s") - first_s) // length_s).cast(pl.Int64).clip(0)
    counts = runs.drop_nulls("ready_s").group_by(slot.alias("slot")).len()
    if float(counts["len"].median() or 0.0) <= limits.most_starts:  # type: ignore[arg-type]
        few = counts.filter(pl.col("len") <= limits.most_starts).sort("len", "slot", descending=[True, False])
        for place in few["slot"].head(_MOST_TRIED):
            yield Window(first_s + place * length_s, first_s + (place + 1) * length_s)


def _fits(runs: pl.DataFrame, window: Window, limits: Limits) -> bool:
    """Whether few enough runs of a schedule are, and start, in a window."""
    shown = inside(runs, window)
    return shown.height <= limits.most_runs and (shown["start_s"] >= window.start_s).sum() <= limits.most_starts


def time_axis(window: Window, *, named: bool) -> Any:
    """The hours of a window along a chart, with their numbers where it is `named`."""
    import altair as alt

    looks = alt.Axis(grid=False, labels=named, ticks=named, format=AXIS_FORMAT, tickCount=6, labelFlush=False)
    scale = alt.Scale(domain=[window.start_s / 3600, window.end_s / 3600], nice=False, zero=False)
    return alt.X("x:Q", title="simulated time (h)" if named else None, scale=scale, axis=looks)
