"""Tables of a laboratory's report, from those of the analysis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from joulewise.measure.claims import findings
from joulewise.present.formats import MISSING, fixed, number
from joulewise.present.measure_view import percent_pm, pm
from joulewise.present.tables import MAX_ROWS, Cell, Table

if TYPE_CHECKING:
    from joulewise.measure.analysis import Analysis

Row = Mapping[str, Any]
_WORDS = "words"


class _Column(NamedTuple):
    """A column of a page's table: its heading and what stands in it."""

    title: str
    show: Callable[[Row], str]
    kind: str = ""


def _text(name: str, title: str) -> _Column:
    return _Column(title, lambda row: MISSING if row[name] is None else str(row[name]), _WORDS)


def _share(name: str, half: str, title: str) -> _Column:
    return _Column(title, lambda row: percent_pm(row[name], row[half] if half else None))


def _value(name: str, half: str, title: str) -> _Column:
    return _Column(title, lambda row: pm(row[name], row[half] if half else None))


def _plain(name: str, title: str) -> _Column:
    return _Column(title, lambda row: number(row[name]))


def _count(name: str, title: str) -> _Column:
    return _Column(title, lambda row: fixed(row[name], 0))


def _misses(row: Row) -> str:
    if row["intensity"] is None:
        return MISSING
    half = "" if row["intensity_ci"] is None else f" ± {number(1e3 * row['intensity_ci'], 2)}"
    return f"{number(1e3 * row['intensity'])}{half}"


class _Page(NamedTuple):
    """A table of the page: which table of the analysis it shows, under which caption, its columns and a remark."""

    source: str
    caption: str
    columns: Sequence[_Column]
    note: str = ""


_CLOCK = _text("clock", "Clock")
_PROGRAM = _text("program", "Program")
_GROUP = _text("group", "Programs")
_RUNS = _count("n", "Runs")
_INTERVALS = "Half of the 95 % interval stands after ±; without it, there was one repetition only."

MAIN = (
    _Page("programs", "Programs", (
        _PROGRAM, _text("class", "Class"), _Column("Misses per 1,000 instructions", _misses),
        _share("sensitivity", "", "Suffers (%)"), _share("pressure", "", "Causes (%)"), _text("basis", "Classes by"),
    ), "Suffers, causes: mean slowdown in pairs."),
    _Page("by_class", "Slowdowns by class", (
        _text("class", "Class"), _text("beside", "Beside"), _share("slowdown", "slowdown_ci", "Takes longer (%)"),
        _count("n", "Pairs"),
    )),
    _Page("scaling", "Time and clock", (
        _PROGRAM, _share("share_scaled", "share_ci", "Follows the clock (%)"), _plain("fixed_s", "Fixed (s)"),
        _plain("scaled_s", "Scaled (s)"), _share("worst_error", "", "Worst error (%)"), _count("n_clocks", "Clocks"),
    ), "Time at the highest clock is fixed and scaled; at another one the scaled part is longer in proportion."),
    _Page("powers", "Static and dynamic power", (
        _PROGRAM, _CLOCK, _plain("power_w", "Power (W)"), _value("static_w", "static_ci_w", "Static (W)"),
        _value("dynamic_w", "dynamic_ci_w", "Dynamic (W)"), _text("basis", "Static power by"),
    )),
    _Page("together", "Energy together and alone", (
        _GROUP, _CLOCK, _text("way", "Way"), _plain("alone_j", "One after the other (J)"),
        _value("together_j", "together_ci_j", "Together (J)"), _share("saved_share", "saved_ci", "Saved (%)"), _RUNS,
    )),
)  # fmt: skip
DETAILS = (
    _Page("alone", "Every program alone", (
        _PROGRAM, _CLOCK, _value("wall_s", "wall_ci_s", "Time (s)"), _plain("cpu_s", "CPU time (s)"),
        _value("energy_j", "energy_ci_j", "Energy (J)"), _plain("power_w", "Power (W)"),
        _Column("Misses per 1,000 instructions", _misses), _RUNS,
    ), _INTERVALS),
    _Page("pairs", "Every pair", (
        _PROGRAM, _text("beside", "Beside"), _CLOCK, _share("slowdown", "slowdown_ci", "Takes longer (%)"), _RUNS,
    ), _INTERVALS),
    _Page("members", "Every member of every group", (
        _PROGRAM, _GROUP, _CLOCK, _text("way", "Way"), _value("wall_s", "wall_ci_s", "Time (s)"),
        _share("slowdown", "slowdown_ci", "Takes longer (%)"), _value("energy_j", "energy_ci_j", "Energy (J)"),
        _Column("Misses per 1,000 instructions", _misses), _share("company_share", "", "In company (%)"), _RUNS,
    ), _INTERVALS),
    _Page("additive", "Sums of slowdowns", (
        _PROGRAM, _GROUP, _CLOCK, _share("measured", "measured_ci", "Measured (%)"),
        _share("predicted", "predicted_ci", "Sum of pairs (%)"), _share("error", "error_ci", "Sum less measured"),
    )),
    _Page("fitted", "Slowdowns by one neighbour that fit pairs and groups best", (
        _PROGRAM, _text("beside", "Beside"), _share("slowdown", "slowdown_ci", "Takes longer (%)"),
        _count("n", "Means"),
    )),
    _Page("best_clock", "Energy by clock", (
        _GROUP, _text("program", "Until the end of"), _plain("clock_mhz", "Clock (MHz)"),
        _value("energy_j", "energy_ci_j", "Energy (J)"), _plain("dynamic_j", "Above static power (J)"),
        _plain("least_energy_mhz", "Least energy at (MHz)"), _plain("least_dynamic_mhz", "Least above static at (MHz)"),
    ), "Where no program is named, energy is that of the whole group."),
)  # fmt: skip
"""Tables that are folded away."""


def measure_tables(analysis: Analysis, pages: Sequence[_Page]) -> list[Table]:
    """The tables of these pages that have rows."""
    return list(_tables(analysis, pages))


def _tables(analysis: Analysis, pages: Sequence[_Page]) -> Iterator[Table]:
    for page in pages:
        frame: pl.DataFrame = getattr(analysis, page.source)
        if frame.is_empty():
            continue
        first, *rest = _filled(frame, page.columns)
        rows = tuple(
            (first.show(row), tuple(Cell(column.show(row), column.kind) for column in rest))
            for row in frame.head(MAX_ROWS).iter_rows(named=True)
        )
        more = f" The first {MAX_ROWS} of {frame.height:,} rows." if frame.height > MAX_ROWS else ""
        yield Table(page.caption, first.title, tuple(column.title for column in rest), rows, (page.note + more).strip())


def claims_table(analysis: Analysis) -> Table:
    """The claims of chapter 8, judged on the measurements."""
    rows = tuple(
        (found.claim, tuple(Cell(text, _WORDS) for text in (found.says, found.ours, found.verdict)))
        for found in findings(analysis)
    )
    note = (
        "By the rule of `joulewise explain verdict`; numbers that hold for the machine of the authors are not testable."
    )
    return Table(
        "Claims of Friese, chapter 8, on these programs and this machine",
        "Claim",
        ("What it says", "Here", "Verdict"),
        rows,
        note,
    )


def _filled(frame: pl.DataFrame, columns: Sequence[_Column]) -> list[_Column]:
    """The columns in which anything stands, and the first."""
    rows = list(frame.head(MAX_ROWS).iter_rows(named=True))
    return [column for i, column in enumerate(columns) if i == 0 or any(column.show(row) != MISSING for row in rows)]
