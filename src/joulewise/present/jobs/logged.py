"""Figures of logged waits beside those of a replay: by size, partition and user, and how far they are apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from joulewise.present import theme
from joulewise.present.jobs.agreement import more
from joulewise.present.jobs.keys import SCHEDULER
from joulewise.present.jobs.logs import log_of, time_axis
from joulewise.present.jobs.view import WAITS, job_view, kept
from joulewise.present.layout import Drawing, Panel, assemble, inline, panels_of, sentence
from joulewise.present.lines import LineAxis, LinePoint, Plot, draw_lines, encoded
from joulewise.present.parts import layer
from joulewise.present.records import Records
from joulewise.present.views import looks_of
from joulewise.units import duration

_LOGGED, _WAIT, _MORE = "logged_wait_s", "wait_s", "difference_s"
_IN_LOG = "logged"
_LEAST_S = 1.0
_PARTS = {"p10": 0.1, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p90": 0.9}
_ALL, _UNKNOWN = "all jobs", "not known"
_BAR_PX, _ROW_PX, _GAP_PX = 5, 9, 12
_LEVELS = np.linspace(0.0, 1.0, 401)
_EVEN_S = 10.0
_WIDTH_PX = 560
_NEAR_S = (60.0, 600.0, 3600.0)
_TICKS_S = (*_NEAR_S, *(10.0**power * 86_400.0 for power in range(4)))


class _Sort(NamedTuple):
    """A column by which jobs are told apart, what it is called, and how many of its values have a row of their own."""

    column: str
    words: str
    most: int


_SIZE, _PARTITION, _QUEUE, _USER = (
    _Sort("size", "processors", 10), _Sort("partition", "partition", 10), _Sort("queue", "queue", 10),
    _Sort("user", "user", 6),
)  # fmt: skip


def has_logged_waits(records: Records) -> bool:
    """Whether there are jobs whose waits a log tells."""
    told = (_LOGGED, _WAIT, _MORE)
    return records.keeps(WAITS, *told) and not records.frame(WAITS).drop_nulls(told).is_empty()


# --- side by side ---------------------------------------------------------------------------------------


def logged_waits(records: Records) -> Drawing:
    """Logged and simulated waits side by side, by size, by partition or queue, and by user."""
    seen, best = job_view(records)
    sorts = _sorts(records.frame(WAITS))
    frame = kept(seen, WAITS, [_LOGGED, _WAIT, "processors", *(sort.column for sort in sorts)])
    frame = frame.drop_nulls([_LOGGED, _WAIT])
    panels, note = panels_of(seen, frame, [key for key in seen.varying if key != SCHEDULER])
    parts = [_boxes(seen, panel, sort) for panel in panels for sort in sorts]
    caption = (
        "Waits as the log tells them and as they came out in the replay. Thick bars hold the middle half of the jobs, "
        "thin lines all but the shortest and the longest tenth, and dots are medians. Scales are logarithmic; waits "
        "under 1 s are drawn as 1 s. Numbers of jobs are in brackets. First kept trial."
        f"{best}{note}"
    )
    return Drawing(assemble(parts, across=2), caption)


def _sorts(jobs: pl.DataFrame) -> list[_Sort]:
    """By size in any case; by partition, or else by queue, and by user where there are several."""
    several = [s for s in (_PARTITION, _QUEUE, _USER) if s.column in jobs.columns and jobs[s.column].n_unique() > 1]
    return [_SIZE, *(sort for sort in several if sort is not _QUEUE or _PARTITION not in several)]


def _boxes(seen: Records, panel: Panel, sort: _Sort) -> Any:
    """The waits of each group of jobs: a mark for the log, and below it one for each scheduler."""
    import altair as alt

    labels, looks = seen.labels(SCHEDULER), looks_of(seen, SCHEDULER)
    grouped = _grouped(panel.rows, sort)
    runs = {run[SCHEDULER][0]: run for run in grouped.partition_by(SCHEDULER)}
    shown = [value for value in labels if value in runs]
    sides = [(_IN_LOG, runs[shown[0]], _LOGGED), *((labels[value], runs[value], _WAIT) for value in shown)]
    rows = [row for side in sides for row in _quantiles(*side)]
    order = grouped["group"].unique(maintain_order=True).to_list()
    names = [_IN_LOG, *labels.values()]
    colours = [theme.INK, *(looks[label][0] for label in labels.values())]
    legend = alt.Legend(symbolType="square", symbolOpacity=1, columns=4)
    base = alt.Chart(inline(rows)).encode(
        y=alt.Y("group:N", sort=order, title=None, axis=alt.Axis(labelLimit=180, domain=False)),
        yOffset=alt.YOffset("name:N", sort=[name for name, *_ in sides]),
        color=alt.Color(
            "name:N", sort=None, scale=alt.Scale(domain=names, range=colours), title="Waits", legend=legend
        ),
        tooltip=["group:N", "name:N", alt.Tooltip("median:N")],
    )
    x = time_axis("wait", [row[part] for row in rows for part in ("p10", "p90")])
    spans = (
        base.mark_rule(strokeWidth=width, opacity=opacity).encode(x=encoded(alt.X, f"{low}:Q", x), x2=f"{high}:Q")
        for low, high, width, opacity in (("p10", "p90", 1.2, 1.0), ("p25", "p75", _BAR_PX, 0.55))
    )
    dots = base.mark_point(filled=True, size=34, opacity=1).encode(x=encoded(alt.X, "p50:Q", x))
    height = len(order) * (_ROW_PX * len(sides) + _GAP_PX)
    title = ", ".join(filter(None, (panel.title, f"by {sort.words}")))
    return layer(*spans, dots, width=270, height=height, title=sentence(title))


def _grouped(rows: pl.DataFrame, sort: _Sort) -> pl.DataFrame:
    """The rows with the group of each, in reading order: sizes as they rise after all jobs, others by their number."""
    name = pl.col(sort.column).cast(pl.String).fill_null(_UNKNOWN)
    named = rows.with_columns(group=name)
    sizes = named.group_by("group").agg(jobs=pl.len(), least=pl.col("processors").min())
    if sort is _SIZE:
        named = pl.concat([named.with_columns(group=pl.lit(_ALL)), named])
        return _counted(named, [_ALL, *sizes.sort("least")["group"]])
    names = sizes.sort("jobs", "group", descending=[True, False])["group"].to_list()
    if len(names) > sort.most + 1:
        rest = f"{len(names) - sort.most} others"
        named = named.with_columns(
            group=pl.when(pl.col("group").is_in(names[: sort.most])).then("group").otherwise(pl.lit(rest))
        )
        names = [*names[: sort.most], rest]
    return _counted(named, names)


def _counted(named: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """The rows in the order of these groups, whose names tell how many jobs they have."""
    n_runs = named[SCHEDULER].n_unique()
    n_jobs = dict(named.group_by("group").len().iter_rows())
    titles = {name: f"{name} ({n_jobs[name] // n_runs:,})" for name in names}
    place = pl.col("group").cast(pl.Enum(names))
    return named.sort(place, maintain_order=True).with_columns(pl.col("group").replace_strict(titles))


def _quantiles(name: str, jobs: pl.DataFrame, column: str) -> list[dict[str, Any]]:
    """By group how long jobs wait, as places on the axis."""
    parts = jobs.group_by("group", maintain_order=True).agg(
        pl.col(column).quantile(part, "linear").alias(key) for key, part in _PARTS.items()
    )
    return [
        {
            "name": name, "group": row["group"], "median": duration(row["p50"]),
            **{key: log_of(row[key], _LEAST_S) for key in _PARTS},
        }
        for row in parts.iter_rows(named=True)
    ]  # fmt: skip


# --- apart ----------------------------------------------------------------------------------------------


def wait_differences(records: Records) -> Drawing:
    """How many jobs wait how much longer, or shorter, in the replay than in the log, a line for each scheduler."""
    seen, best = job_view(records)
    frame = kept(seen, WAITS, [_MORE]).drop_nulls(_MORE)
    panels, note = panels_of(seen, frame, [key for key in seen.varying if key != SCHEDULER])
    parts = [_apart(seen, panel) for panel in panels]
    caption = (
        "The share of jobs whose simulated wait exceeds the logged one by no more than what stands below; left of 0 "
        "jobs wait less in the replay. Marks are at a minute, ten minutes and an hour on both sides. The scale is even "
        "near 0 and logarithmic far from it: a difference d stands at log(1 + d / 10 s). First kept trial."
        f"{best}{note}"
    )
    return Drawing(assemble(parts), caption)


def _apart(seen: Records, panel: Panel) -> Any:
    import altair as alt

    labels = seen.labels(SCHEDULER)
    parts = {part[SCHEDULER][0]: part[_MORE].to_numpy() for part in panel.rows.partition_by(SCHEDULER)}
    lines = {label: _shares(parts[value]) for value, label in labels.items() if value in parts}
    x = _difference_axis([point.x for points in lines.values() for point in points])
    y = LineAxis("jobs (%)", 0.0, 100.0, {tick: f"{tick:g}" for tick in (0.0, 25.0, 50.0, 75.0, 100.0)})
    legend = sentence(seen.title(SCHEDULER))
    plot = Plot(lines, looks_of(seen, SCHEDULER), x, y, panel.title, _WIDTH_PX, has_bands=True, legend=legend)
    marks = [{"x": _place(sign * near_s)} for near_s in _NEAR_S for sign in (-1, 1)]
    rules = alt.Chart(inline(marks)).mark_rule(color=theme.MUTED, strokeDash=[2, 3]).encode(x=encoded(alt.X, "x:Q", x))
    return layer(rules, draw_lines(plot), width=plot.width_px, height=plot.height_px)


def _shares(more_s: Any) -> list[LinePoint]:
    levels = np.quantile(more_s, _LEVELS)
    return [LinePoint(_place(float(x)), 100 * float(part)) for part, x in zip(_LEVELS, levels, strict=True)]


def _place(more_s: float) -> float:
    """Where a difference stands on its axis."""
    return math.copysign(math.log10(1 + abs(more_s) / _EVEN_S), more_s)


def _difference_axis(places: Sequence[float]) -> LineAxis:
    """From the least to the largest difference, an hour at least on both sides."""
    hour = _place(_NEAR_S[-1])
    low, high = min(*places, -hour), max(*places, hour)
    room = 0.03 * (high - low)
    ticks = {_place(sign * tick_s): more(sign * tick_s) for tick_s in _TICKS_S for sign in (-1, 1)}
    inside = {place: text for place, text in ticks.items() if low - room <= place <= high + room}
    return LineAxis(
        "simulated wait less logged wait", low - room, high + room, dict(sorted({0.0: "0", **inside}.items()))
    )
