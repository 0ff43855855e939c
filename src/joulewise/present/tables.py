"""Tables of the report: means with intervals and paired differences, ready to be set in HTML."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from joulewise.present.formats import (
    MISSING,
    OF_TUNING,
    UNITS_OF,
    decimals_for,
    fixed,
    is_degrees,
    metric_form,
    metric_title,
    metric_value,
    signed,
    small,
)
from joulewise.present.intervals import named_best
from joulewise.present.layout import Panel, panels_of, sentence
from joulewise.present.records import TARIFF_UNIT, Records
from joulewise.units import count, power

MAX_ROWS = 500
_MAX_COLUMNS = 10
_NEAR_ZERO = 1e-3  # what is nearer is written with a power of ten
_ROUNDING = 1e-12  # a half-width that is a smaller share of its mean is rounding
_LEAST_W, _LEAST_K, _DEGREE_DECIMALS = 1e-3, 5e-3, 2  # what is less is rounding
BEST, WORDS, ALIKE, _PLAIN = "best", "words", "alike", ""


@dataclass(frozen=True)
class Cell:
    """One cell's text and what it is: "best", "alike", "words" or a plain number."""

    text: str
    kind: str = _PLAIN


@dataclass(frozen=True)
class Table:
    """A table with a heading for every column and every row; `corner` heads the column of row headings."""

    caption: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    note: str = ""


def cost_tables(records: Records, across: str = "") -> list[Table]:
    """What the energy cost by the tariff, one table per setting; none without a tariff."""
    if not records.measures("energy_cost"):
        return []
    units = {str(unit) for unit in records.values(TARIFF_UNIT)} - {""}
    unit = f", in {units.pop()}" if len(units) == 1 else ""
    rows = records.summary.filter(pl.col("metric") == "energy_cost", pl.col("mean").is_not_null())
    note = f"Energy times the tariff of its hour{unit}{spread_note(records, rows)}."
    return pivots(records, rows, lambda row: Cell(plus_minus(row)), note, "Cost of energy", across)


def spread_note(records: Records, rows: pl.DataFrame) -> str:
    """What a note says of the intervals of cells."""
    shown = f": {records.error.sampling.figures.format('trials')} ± half of the 95 % interval"
    return shown if rows["low"].count() else "; one trial: no intervals"


def difference_tables(records: Records, across: str = "") -> list[Table]:
    """Paired differences in percentage points to the best at the same setting, one table per setting."""
    if records.behind_best.is_empty():
        return []
    spread = spread_note(records, records.behind_best)
    tied = "; italics: differences whose interval reaches zero" if records.behind_best["low"].count() else ""
    note = (
        f"To {named_best(records)}, in percentage points of {records.whole}, on the same trials{spread}; 0 marks the "
        f"best itself{tied}."
    )
    reference = records.best.select(*records.study.axes, mean=pl.lit(0.0), low=pl.lit(0.0), high=pl.lit(0.0))
    columns = [*records.study.axes, "mean", "low", "high"]
    rows = pl.concat([reference.select(columns), records.behind_best.select(columns)])
    return pivots(records, rows, _difference_cell, note, "Difference to the best", across)


def _difference_cell(row: Mapping[str, Any]) -> Cell:
    if row["mean"] == row["low"] == row["high"] == 0.0:
        return Cell("0", BEST)
    alike = row["high"] is not None and row["low"] <= 0 <= row["high"]
    return Cell(plus_minus(row, show=signed), ALIKE if alike else _PLAIN)


def plus_minus(row: Mapping[str, Any], show: Callable[[float | None, int], str] = fixed) -> str:
    """A mean with half of its interval, both to the half's second digit; or the mean alone."""
    if row["mean"] is None:
        return MISSING
    if row["low"] is None or row["high"] is None:
        return show(row["mean"], 1)
    half = (row["high"] - row["low"]) / 2
    if 0 < max(abs(row["mean"]), half) < _NEAR_ZERO:
        return small(row["mean"], half)
    decimals = decimals_for(half, fallback=_decimals_of(row["mean"]))
    return f"{show(row['mean'], decimals)} ± {fixed(half, decimals)}"


def _decimals_of(mean: float) -> int:
    """Decimals of a mean without a spread: three significant digits, at least one decimal, none for whole numbers."""
    return 0 if float(mean).is_integer() else max(1, 2 - math.floor(math.log10(abs(mean))))


def pivots(
    records: Records,
    frame: pl.DataFrame,
    cell: Callable[[Mapping[str, Any]], Cell],
    note: str,
    subject: str,
    across: str = "",
) -> list[Table]:
    """One table per setting: the main key down, across the given one or another that has few values."""
    few = [key for key in records.others if len(records.values(key)) <= _MAX_COLUMNS]
    columns = across if across in few else next(iter(few), None)
    keys = [key for key in records.others if key != columns]
    panels, left_out = panels_of(records, frame, keys)
    return [_pivot(records, panel, columns, cell, note + left_out, subject) for panel in panels]


def _pivot(
    records: Records,
    panel: Panel,
    across: str | None,
    cell: Callable[[Mapping[str, Any]], Cell],
    note: str,
    subject: str,
) -> Table:
    down = records.labels(records.main) if records.main else {None: "all runs"}
    columns = records.labels(across) if across else {None: subject}
    cells = {
        (row[records.main] if records.main else None, row[across] if across else None): cell(row)
        for row in panel.rows.iter_rows(named=True)
    }
    rows = tuple(
        (label, tuple(cells.get((value, column), Cell(MISSING)) for column in columns))
        for value, label in down.items()
        if any((value, column) in cells for column in columns)
    )
    by = f" by {records.words(across).name}" if across else ""
    caption = f"{subject}{by}" + (f", {panel.title}" if panel.title else "")
    corner = sentence(records.title(records.main)) if records.main else "Study"
    return Table(caption, corner, tuple(columns.values()), rows, note)


def full_table(records: Records) -> Table:
    """Every metric at every point of the study, at most MAX_ROWS points."""
    metrics = records.summary["metric"].unique(maintain_order=True).to_list()
    return points_table(records, metrics, "All metrics at every point")


def tuned_tables(records: Records) -> list[Table]:
    """The values that were chosen, by the trials that chose them and by those that judge them; none without any."""
    if records.tuned.is_empty():
        return []
    means = [name for name in records.tuned.columns if name in OF_TUNING]
    first, *rest = [name for name in records.tuned.columns if name not in OF_TUNING]
    columns = (*(sentence(records.title(key)) for key in rest), *(sentence(OF_TUNING[name]) for name in means))
    rows = tuple(
        (
            records.label(first, row[first]),
            tuple(Cell(records.label(key, row[key]), WORDS) for key in rest)
            + tuple(Cell(MISSING if row[name] is None else f"{row[name]:.4g}") for name in means),
        )
        for row in records.tuned.head(MAX_ROWS).iter_rows(named=True)
    )
    note = "A mean by the trials that chose a value is likely too good; all else on this page is of those that judge."
    return [Table("What was tuned", sentence(records.title(first)), columns, rows, note)]


def measured_table(records: Records, metrics: Sequence[str], caption: str) -> list[Table]:
    """Those of the metrics that some run has, at every point of the study; none where no run has any."""
    present = set(records.summary["metric"])
    measured = [name for name in metrics if name in present and records.measures(name)]
    return [points_table(records, measured, caption)] if measured else []


def search_tables(records: Records, metrics: Sequence[str]) -> list[Table]:
    """What a search reached at every point of the study beside what is proven; none without results."""
    return measured_table(records, metrics, "What was reached, and what is proven")


def points_table(records: Records, metrics: Sequence[str], caption: str) -> Table:
    """These metrics at every point of the study, at most MAX_ROWS points."""
    keys = list(records.varying)
    points: dict[tuple[object, ...], dict[str, Mapping[str, Any]]] = {}
    for row in records.summary.filter(pl.col("metric").is_in(metrics)).iter_rows(named=True):
        points.setdefault(tuple(row[key] for key in keys), {})[row["metric"]] = row
    rows = tuple(_full_row(records, keys, metrics, point, means) for point, means in list(points.items())[:MAX_ROWS])
    note = f"The first {MAX_ROWS} of {count(len(points), 'point')}." if len(points) > MAX_ROWS else ""
    first, *rest = keys or ["point"]
    columns = (
        *(sentence(records.title(key)) for key in rest),
        *(sentence(metric_title(m, records.headings)) for m in metrics),
        "Trials",
    )
    return Table(caption, sentence(records.title(first)), columns, rows, note)


def _full_row(
    records: Records,
    keys: Sequence[str],
    metrics: Sequence[str],
    point: tuple[object, ...],
    means: Mapping[str, Mapping[str, Any]],
) -> tuple[str, tuple[Cell, ...]]:
    labels = [records.label(key, value) for key, value in zip(keys, point, strict=True)] or ["all runs"]
    values = [metric_text(metric, means.get(metric)) for metric in metrics]
    n = max(int(row["n"]) for row in means.values())
    return labels[0], (*(Cell(text, WORDS) for text in labels[1:]), *map(Cell, [*values, fixed(n, 0)]))


def metric_text(metric: str, row: Mapping[str, Any] | None) -> str:
    """Mean and half-width of a metric with the unit that its formatter gives."""
    if row is None or row["mean"] is None:
        return MISSING
    form = metric_form(metric)
    least = _LEAST_K if is_degrees(metric) else _LEAST_W if form is power else 0.0
    mean = 0.0 if abs(row["mean"]) < least else row["mean"]
    half = 0.0 if row["low"] is None or row["high"] is None else (row["high"] - row["low"]) / 2
    is_spread = half > max(_ROUNDING * abs(mean), least)
    if is_degrees(metric):
        texts = [fixed(value, _DEGREE_DECIMALS) for value in (mean, half)]
    elif is_spread:
        return _in_one_unit(form, mean, half) if form else plus_minus(row)
    else:
        texts = [metric_value(metric, value) for value in (mean, half)]
    return " ± ".join(texts if is_spread else texts[:1])


def _in_one_unit(form: Callable[[float], str], mean: float, half: float) -> str:
    """A mean and half of its interval in the unit of the larger, with as many decimals: "49 ± 102 min"."""
    unit, size = UNITS_OF[form](max(abs(mean), half))
    decimals = decimals_for(half / size)
    return f"{fixed(mean / size, decimals)} ± {fixed(half / size, decimals)}\N{NO-BREAK SPACE}{unit}"
