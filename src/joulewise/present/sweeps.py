"""Any metric against any number that is swept: a line with its band for each value of another key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from joulewise.present import theme
from joulewise.present.compared import number_axis
from joulewise.present.formats import UNITS_OF, metric_form, metric_title
from joulewise.present.layout import Drawing, Panel, all_panels, assemble, roomy, scaled, sentence
from joulewise.present.lines import LineAxis, LinePoint, Plot, draw_lines
from joulewise.present.records import Records
from joulewise.present.views import beside, dash_note, looks_of
from joulewise.study.answers.overview import Overview

_BY = "-by-"
_LEAST_VALUES, _MOST_LINES, _MOST_PANELS = 3, 12, 6
_WIDTHS_PX = (480, 270)  # of one panel, of several
_ALL = "all runs"


@dataclass(frozen=True)
class Sweep:
    """A metric and the swept number against which it is drawn."""

    metric: str
    along: str

    @property
    def name(self) -> str:
        """What the figure is called."""
        return f"{self.metric}{_BY}{self.along}"


def sweep_of(name: str) -> Sweep | None:
    """The metric and the number in the name of a figure, whatever they are; None where it names none."""
    metric, by, along = name.partition(_BY)
    return Sweep(metric, along) if by else None


def sweep_names(metrics: Iterable[str], keys: Iterable[str]) -> list[str]:
    """What figures of these metrics against these keys are called."""
    there = list(keys)
    return [Sweep(metric, key).name for metric in metrics for key in there]


def sweep_title(records: Records, sweep: Sweep) -> str:
    """What stands over a figure."""
    return f"{_heading(records, sweep.metric)} by {records.words(sweep.along).name}"


def headline_sweeps(records: Records) -> list[Sweep]:
    """What people see first, against each swept number that has enough values for a line."""
    keys = [key for key in records.study.axes if records.is_number(key) and len(records.values(key)) >= _LEAST_VALUES]
    return [Sweep(records.headline, key) for key in keys] if records.headline else []


def draw_sweep(records: Records, sweep: Sweep, overview: Overview | None = None) -> Drawing:
    """The mean of a metric over a swept number, a line for what is compared, a panel for each setting of the rest.

    Where there are many settings, as there are in an `overview`, lines are means over all of them.
    """
    lines = _lines_key(records, sweep.along)
    rest = [] if overview else [key for key in beside(records, [sweep.along]) if key != lines]
    rest = rest if rest and records.runs.n_unique(rest) <= _MOST_PANELS else []
    keys = [*rest, *([lines] if lines else []), sweep.along]
    found = (overview or records).means_over_trials(keys, sweep.metric).drop_nulls(["mean", sweep.along])
    panels = all_panels(records, found.sort(sweep.along, maintain_order=True), rest)
    y, size = _axis(records, sweep.metric, found)
    looks = looks_of(records, lines) if lines else {_ALL: theme.line_style(0)}
    parts = [
        draw_lines(
            Plot(
                _lines(records, panel, lines, sweep.along, size),
                looks,
                number_axis(records, sweep.along),
                y,
                panel.title,
                _WIDTHS_PX[len(panels) > 1],
                has_bands=True,
            )
        )
        for panel in panels
    ]
    dashes = dash_note(records, lines) if lines else ""
    return Drawing(assemble(parts, across=2), f"{_said(records, found, keys)}{dashes}")


def _lines_key(records: Records, along: str) -> str | None:
    """The key whose values get a line each: what is compared, else the first other that varies, if they are few."""
    others = [key for key in (records.main, *records.varying) if key not in (None, along)]
    return next((key for key in others if key and len(records.values(key)) <= _MOST_LINES), None)


def _lines(records: Records, panel: Panel, key: str | None, along: str, size: float) -> dict[str, list[LinePoint]]:
    """The points of a panel by the label of their line."""
    parts: Mapping[Any, pl.DataFrame] = {_ALL: panel.rows}
    labels: Mapping[Any, str] = {_ALL: _ALL}
    if key:
        parts, labels = {part[key][0]: part for part in panel.rows.partition_by(key)}, records.labels(key)
    return {
        label: [
            LinePoint(float(row[along]), row["mean"] / size, scaled(row["low"], size), scaled(row["high"], size))
            for row in parts[value].iter_rows(named=True)
        ]
        for value, label in labels.items()
        if value in parts
    }


def _axis(records: Records, metric: str, found: pl.DataFrame) -> tuple[LineAxis, float]:
    """The axis of a metric in the unit that suits it, and the size of that unit."""
    values = found.select("mean", "low", "high").unpivot()["value"].drop_nulls()
    form = metric_form(metric)
    unit, size = UNITS_OF[form](float(values.abs().max() or 0.0)) if form else ("", 1.0)  # type: ignore[arg-type]
    low, high = roomy(value / size for value in values)
    heading = _heading(records, metric)
    return LineAxis(f"{heading} ({unit})" if unit else heading, low, high), size


def _heading(records: Records, metric: str) -> str:
    return sentence(metric_title(metric, records.headings))


def _said(records: Records, found: pl.DataFrame, keys: Sequence[str]) -> str:
    """What points are, and what bands."""
    others = [records.words(key).name for key in beside(records, keys)]
    over = f", over all values of {', '.join(others)}" if others else ""
    if int(found["n"].max() or 0) < 2:  # type: ignore[arg-type]
        return f"Points are those of the only trial{over}, so there are no intervals."
    sampling = records.error.sampling
    return f"Lines join {sampling.figures.format('trials')}{over}; bands are {sampling.intervals}."
