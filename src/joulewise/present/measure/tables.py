"""Tables of a laboratory's report, from those of the analysis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from joulewise.measure.analysis.additive import RULE
from joulewise.measure.analysis.claims import findings
from joulewise.present.formats import MISSING, fixed, number
from joulewise.present.measure.view import misses_pm, percent_pm, pm
from joulewise.present.tables import MAX_ROWS, WORDS, Cell, Table

if TYPE_CHECKING:
    from joulewise.measure.analysis.analysis import Analysis

Row = Mapping[str, Any]


class _LabColumn(NamedTuple):
    """A column of a page's table: its heading, what stands in it, which half widths it shows, and what it means."""

    title: str
    show: Callable[[Row], str]
    kind: str = ""
    half: str = ""
    note: str = ""


def _text(name: str, title: str) -> _LabColumn:
    return _LabColumn(title, lambda row: MISSING if row[name] is None else str(row[name]), WORDS)


def _share(name: str, half: str, title: str) -> _LabColumn:
    return _LabColumn(title, lambda row: percent_pm(row[name], row[half] if half else None), half=half)


def _value(name: str, half: str, title: str) -> _LabColumn:
    return _LabColumn(title, lambda row: pm(row[name], row[half]), half=half)


def _plain(name: str, title: str) -> _LabColumn:
    return _LabColumn(title, lambda row: number(row[name]))


def _count(name: str, title: str) -> _LabColumn:
    return _LabColumn(title, lambda row: fixed(row[name], 0))


class _LabTable(NamedTuple):
    """A table of the page: which table of the analysis it shows, under which caption, its columns and a remark."""

    source: str
    caption: str
    columns: Sequence[_LabColumn]
    note: str = ""


_CLOCK = _text("clock", "Clock")
_PROGRAM = _text("program", "Program")
_GROUP = _text("group", "Programs")
_RUNS = _count("n", "Runs")
_TIMED = "Runs: those whose times were read; energy and misses may have been read in fewer."
_MISSES = _LabColumn(
    "Misses per 1,000 instructions", lambda row: misses_pm(row["intensity"], row["intensity_ci"]), half="intensity_ci"
)
_CLASS = _text("class", "Class")._replace(note="Class: I is the lightest; what it is made by differs least within one.")
_SUFFERS = _share("sensitivity", "", "Suffers (%)")._replace(
    note="Suffers (sensitivity): how much longer the program takes beside one other than alone, a mean over its pairs."
)
_CAUSES = _share("pressure", "", "Causes (%)")._replace(
    note="Causes (pressure): how much longer others take beside it than alone."
)

MAIN = (
    _LabTable("programs", "Programs", (
        _PROGRAM, _CLASS, _MISSES, _SUFFERS, _CAUSES, _text("basis", "Classes by"),
    )),
    _LabTable("by_class", "Slowdowns by class", (
        _text("class", "Class"), _text("beside", "Beside"), _share("slowdown", "slowdown_ci", "Takes longer (%)"),
        _count("n", "Pairs"),
    ), "How much longer than alone programs of a class take beside one of another, as the mean of such pairs."),
    _LabTable("scaling", "Time and clock", (
        _PROGRAM, _share("share_scaled", "share_ci", "Follows the clock (%)"), _plain("fixed_s", "Fixed (s)"),
        _plain("scaled_s", "Scaled (s)"), _share("worst_error", "", "Worst error (%)"), _count("n_clocks", "Clocks"),
    ), "Time at the highest clock is fixed and scaled; at another one the scaled part is longer in proportion. Worst "
       "error: how far that is from a mean time at most."),
    _LabTable("powers", "Static and dynamic power", (
        _PROGRAM, _CLOCK, _plain("power_w", "Power (W)"), _value("static_w", "static_ci_w", "Static (W)"),
        _value("dynamic_w", "dynamic_ci_w", "Dynamic (W)"), _text("basis", "Static power by"),
    ), "Mean power with the program alone. Static power: read with nothing running (idle), or as it follows from "
       "groups; dynamic power is the rest."),
    _LabTable("together", "Energy together and alone", (
        _GROUP, _CLOCK, _text("way", "Way"), _plain("alone_j", "One after the other (J)"),
        _value("together_j", "together_ci_j", "Together (J)"), _share("saved_share", "saved_ci", "Saved (%)"), _RUNS,
    ), "Saved: share of the energy of one after the other; below 0, running together costs more."),
)  # fmt: skip
DETAILS = (
    _LabTable("alone", "Every program alone", (
        _PROGRAM, _CLOCK, _value("wall_s", "wall_ci_s", "Time (s)"), _plain("cpu_s", "CPU time (s)"),
        _value("energy_j", "energy_ci_j", "Energy (J)"), _plain("power_w", "Power (W)"), _MISSES,
        _RUNS,
    ), f"Time: from beginning to end. CPU time: of all its processes, set-up included. {_TIMED}"),
    _LabTable("pairs", "Every pair", (
        _PROGRAM, _text("beside", "Beside"), _CLOCK, _share("slowdown", "slowdown_ci", "Takes longer (%)"), _RUNS,
    ), "How much longer than alone it takes if the other one is there all the time."),
    _LabTable("members", "Every member of every group", (
        _PROGRAM, _GROUP, _CLOCK, _text("way", "Way"), _value("wall_s", "wall_ci_s", "Time (s)"),
        _share("slowdown", "slowdown_ci", "Takes longer (%)"), _value("energy_j", "energy_ci_j", "Energy (J)"),
        _MISSES, _share("company_share", "", "In company (%)"), _RUNS,
    ), "As measured. Energy: of all that ran until its end. In company: share of its time in which others were there. "
       f"{_TIMED}"),
    _LabTable("additive", "Sums of slowdowns", (
        _PROGRAM, _GROUP, _CLOCK, _share("measured", "measured_ci", "Measured (%)"),
        _share("predicted", "predicted_ci", "Sum of pairs (%)"),
        _share("error", "error_ci", "Sum less measured (points)"),
    ), f"Slowdowns as measured in groups, and as the sum of those in pairs with each of the others. They are {RULE}."),
    _LabTable("fitted", "Slowdowns by one neighbour that fit pairs and groups best", (
        _PROGRAM, _text("beside", "Beside"), _CLOCK, _share("slowdown", "slowdown_ci", "Takes longer (%)"),
        _count("n", "Means"),
    ), "If slowdowns add up. Means: how many means of pairs and groups the two meet in."),
    _LabTable("best_clock", "Energy by clock", (
        _GROUP, _text("program", "Until the end of"), _plain("clock_mhz", "Clock (MHz)"),
        _value("energy_j", "energy_ci_j", "Energy (J)"), _plain("dynamic_j", "Above static power (J)"),
        _plain("least_energy_mhz", "Least energy at (MHz)"), _plain("least_dynamic_mhz", "Least above static at (MHz)"),
    ), "Where no program is named, energy is that of the whole group."),
)  # fmt: skip
"""Tables that are folded away."""


def measure_tables(
    analysis: Analysis, shown: Sequence[_LabTable], remarks: Mapping[str, str] = MappingProxyType({})
) -> list[Table]:
    """Those of these tables that tell anything, with a remark on those of a source that is named."""
    return list(_tables(analysis, shown, remarks))


def _tables(analysis: Analysis, shown: Sequence[_LabTable], remarks: Mapping[str, str]) -> Iterator[Table]:
    for table in shown:
        frame: pl.DataFrame = getattr(analysis, table.source)
        first, *rest = columns = _filled(frame, table.columns)
        if not rest:
            continue
        rows = tuple(
            (first.show(row), tuple(Cell(column.show(row), column.kind) for column in rest))
            for row in frame.head(MAX_ROWS).iter_rows(named=True)
        )
        more = f"The first {MAX_ROWS} of {frame.height:,} rows." if frame.height > MAX_ROWS else ""
        meanings = [column.note for column in columns]
        notes = (table.note, *meanings, _intervals(frame, columns), remarks.get(table.source, ""), more)
        titles = tuple(column.title for column in rest)
        yield Table(table.caption, first.title, titles, rows, " ".join(filter(None, notes)))


def _intervals(frame: pl.DataFrame, columns: Sequence[_LabColumn]) -> str:
    """What is to be known of the intervals that columns show."""
    halves = [frame[column.half] for column in columns if column.half]
    if not halves:
        return ""
    if all(half.is_null().all() for half in halves):
        return "There are no intervals, which need repetitions."
    gaps = "; where none does, too little was read to tell" if any(half.is_null().any() for half in halves) else ""
    return f"Half of the 95 % interval stands after ±{gaps}."


def claims_table(analysis: Analysis) -> Table:
    """The claims of Friese (2015), chapter 8, judged on the measurements."""
    rows = tuple(
        (finding.claim, tuple(Cell(text, WORDS) for text in (finding.says, finding.ours, finding.verdict)))
        for finding in findings(analysis)
    )
    note = (
        "By the rule of joulewise explain verdict; numbers that hold for the machine of the authors are not testable."
    )
    return Table(
        "Claims of Friese, chapter 8, on these programs and this machine",
        "Claim",
        ("What it says", "Here", "Verdict"),
        rows,
        note,
    )


def _filled(frame: pl.DataFrame, columns: Sequence[_LabColumn]) -> list[_LabColumn]:
    """The columns in which anything stands, and the first."""
    rows = list(frame.head(MAX_ROWS).iter_rows(named=True))
    return [column for i, column in enumerate(columns) if i == 0 or any(column.show(row) != MISSING for row in rows)]
