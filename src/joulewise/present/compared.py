"""Measures of what is compared: lines over a number that is swept, such as the load, and bars over all else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import polars as pl

from joulewise.present.bars import Measure, draw_bars, earned, limit_of
from joulewise.present.layout import Layout, Panel, assemble, hold, panels_of, scaled
from joulewise.present.lines import LIMIT_LOOK, LineAxis, LinePoint, Plot, draw_lines
from joulewise.present.records import Records, is_of_world
from joulewise.present.views import dash_note, looks_of

_LEAST_VALUES = 3  # of a number, for lines
_WIDTHS_PX = (520, 290)  # of one panel, of several
_ROOM = 0.04
_MOST_TICKS = 24
"""So many values have a tick each."""


class Compared(NamedTuple):
    """A chart, a note on panels left out, and what a caption calls its marks."""

    chart: Any
    note: str
    marks: str


def draw_compared(records: Records, layout: Layout, *measures: Measure) -> Compared:
    """Measures, by default the share of utility, by the main key: a group that is a swept number runs along the axis.

    A number is swept if it is of the world, like loads and budgets, and has three values or more.
    """
    chosen = measures or (earned(records),)
    if layout.group is None or not is_swept(records, layout.group):
        return Compared(*draw_bars(records, layout, *chosen), "Bars")
    made = [_line_parts(records, layout, layout.group, measure) for measure in chosen]
    note = dash_note(records, layout.main) + made[0][1]
    return Compared(assemble([part for parts, _ in made for part in parts], 2), note, "Points")


def is_swept(records: Records, key: str) -> bool:
    """Whether a key is a number of the world with enough values for a line."""
    return is_of_world(key) and records.is_number(key) and len(records.values(key)) >= _LEAST_VALUES


def _line_parts(records: Records, layout: Layout, along: str, measure: Measure) -> tuple[list[Any], str]:
    summary = records.summary.filter(pl.col("metric") == measure.metric)
    panels, note = panels_of(records, hold(summary, layout.held).drop_nulls("mean"), layout.panels)
    limits = [limit_of(records, measure, panel) for panel in panels]
    values = [v / measure.size for panel in panels for name in ("mean", "low", "high") for v in panel.rows[name]]
    top = max([v for v in values if v <= measure.most] + [limit for limit in limits if limit is not None])
    y = LineAxis(measure.title, min(0.0, *values), (1 + _ROOM) * top)
    x = number_axis(records, along)
    width_px = _WIDTHS_PX[len(panels) > 1]
    plots = [
        Plot(
            {**_lines(records, layout.main, along, panel, measure), **_limit(x, limit, measure)},
            {**looks_of(records, layout.main), measure.limit_name: LIMIT_LOOK},
            x,
            y,
            panel.title,
            width_px,
        )
        for panel, limit in zip(panels, limits, strict=True)
    ]
    return [draw_lines(plot) for plot in plots], note


def number_axis(records: Records, along: str) -> LineAxis:
    """The axis along which a swept number runs."""
    labels = {float(str(value)): label for value, label in records.labels(along).items()}
    room = _ROOM * (max(labels) - min(labels))
    ticks = thinned(labels) if len(labels) <= _MOST_TICKS else None
    return LineAxis(records.title(along), min(labels) - room, max(labels) + room, ticks)


def thinned(ticks: dict[float, str], part: float = 0.09) -> dict[float, str]:
    """The ticks without the labels for which there is no room left of the next one that is kept."""
    kept: dict[float, str] = {}
    least = part * (max(ticks) - min(ticks))
    for place, name in sorted(ticks.items(), reverse=True):
        fits = not kept or min((at for at, text in kept.items() if text), default=place) - place >= least
        kept[place] = name if fits else ""
    return kept


def _lines(records: Records, main: str, along: str, panel: Panel, measure: Measure) -> dict[str, Sequence[LinePoint]]:
    parts = {part[main][0]: part.sort(along) for part in panel.rows.partition_by(main)}
    return {
        label: [_point(row, along, measure.size) for row in parts[value].iter_rows(named=True)]
        for value, label in records.labels(main).items()
        if value in parts
    }


def _point(row: dict[str, Any], along: str, size: float) -> LinePoint:
    return LinePoint(float(row[along]), row["mean"] / size, scaled(row["low"], size), scaled(row["high"], size))


def _limit(x: LineAxis, limit: float | None, measure: Measure) -> dict[str, Sequence[LinePoint]]:
    """The limit from one end of the axis to the other."""
    return {} if limit is None else {measure.limit_name: [LinePoint(end, limit) for end in (x.low, x.high)]}
