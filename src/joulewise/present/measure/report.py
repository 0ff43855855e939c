"""The report of a laboratory: one page with what was measured, what follows, how sure it is, and what is missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from joulewise._version import __version__
from joulewise.files import write_atomic
from joulewise.measure.analysis.claims import is_made_up
from joulewise.measure.analysis.hosts import host_of
from joulewise.measure.analysis.outliers import RULE
from joulewise.present.export import export, spec_of
from joulewise.present.html import filled, libraries
from joulewise.present.kept import REPORT
from joulewise.present.layout import Drawing, sentence
from joulewise.present.measure.clocks import clocks_title, has_times, over_clocks
from joulewise.present.measure.energy import energy_together, has_energies, has_powers, power_split
from joulewise.present.measure.findings import measure_findings
from joulewise.present.measure.glossary import LABORATORY
from joulewise.present.measure.programs import has_programs, programs_compared
from joulewise.present.measure.runs import RunCounts, idle_doubts, left_out, run_counts, runs_made
from joulewise.present.measure.slowdowns import additive_model, has_groups, has_pairs, slowdowns_by_pair
from joulewise.present.measure.tables import DETAILS, MAIN, claims_table, measure_tables
from joulewise.present.parts import unchecked
from joulewise.present.report import Plate, picture_of
from joulewise.units import count, roughly

if TYPE_CHECKING:
    from joulewise.measure.analysis.analysis import Analysis
    from joulewise.measure.machine.availability import Availability
    from joulewise.measure.machine.machine import Machine

_MEBI, _GIBI = 1024**2, 1024**3
_GO_ON = "To make the others, run the same command again; what counts is kept."


@dataclass(frozen=True)
class MeasureInfo:
    """What a report says of the laboratory itself: its plan, its machine, what it could read, and how long it took.

    `n_planned` is how many runs the plan asks for (0: as many as were made); `idle_notes` are the remarks on readings
    of the idle machine, one for each, of which most are empty.
    """

    name: str = "laboratory"
    description: str = ""
    plan: str = ""
    plan_name: str = "measure.toml"
    machine: Machine | None = None
    probes: Sequence[Availability] = ()
    seconds: float | None = None
    made_at: str = ""
    n_planned: int = 0
    idle_notes: Sequence[str] = ()
    version: str = __version__


@dataclass(frozen=True)
class _LabFigure:
    """A figure of the laboratory: its name and title, when it can be drawn, and how."""

    name: str
    title: Callable[[Analysis], str]
    is_there: Callable[[Analysis], bool]
    drawer: Callable[[Analysis], Drawing]

    def draw(self, analysis: Analysis) -> Drawing:
        """The figure of what was measured."""
        with unchecked():
            return self.drawer(analysis)


def _always(title: str) -> Callable[[Analysis], str]:
    return lambda _: title


FIGURES = (
    _LabFigure("programs", _always("What programs are like"), has_programs, programs_compared),
    _LabFigure("slowdowns", _always("Slowdowns in pairs"), has_pairs, slowdowns_by_pair),
    _LabFigure("sums", _always("Whether slowdowns add up"), has_groups, additive_model),
    _LabFigure("clocks", clocks_title, has_times, over_clocks),
    _LabFigure("energy-together", _always("Energy of running together"), has_energies, energy_together),
    _LabFigure("powers", _always("Static and dynamic power"), has_powers, power_split),
)


def drawable(analysis: Analysis) -> list[_LabFigure]:
    """The figures for which enough was measured."""
    return [figure for figure in FIGURES if figure.is_there(analysis)]


def write_measure_report(folder: Path, analysis: Analysis, info: MeasureInfo | None = None, mark: str = "") -> Path:
    """Write `report.html` into a folder of results and return its path; `mark` is a comment at its end."""
    path = folder / REPORT
    write_atomic(path, render_measure_report(analysis, info or MeasureInfo()) + mark)
    return path


def write_measure_figures(folder: Path, analysis: Analysis, formats: Sequence[str] = ("png",)) -> list[Path]:
    """Write every figure as `folder/NAME.FORMAT` in each of these formats and return the paths."""
    charts = {figure.name: figure.draw(analysis).chart for figure in drawable(analysis)}
    return [export(chart, folder / f"{name}.{kind}") for name, chart in charts.items() for kind in formats]


def render_measure_report(analysis: Analysis, info: MeasureInfo) -> str:
    """The whole report as one HTML document that loads nothing; whatever a user wrote in it is escaped."""
    plates = [_plate(figure, analysis) for figure in drawable(analysis)]
    runs = run_counts(analysis, info.n_planned)
    return filled(
        "measure.html",
        info=info,
        measured_on=_measured_on(analysis, info),
        facts=_facts(analysis, info, runs),
        unfinished="" if runs.is_finished else f"{runs.words()}. {_GO_ON}",
        findings=measure_findings(analysis, info.idle_notes),
        missing=[sentence(f"{text}.") for text in analysis.missing],
        plates=plates,
        main_tables=measure_tables(analysis, MAIN, {"powers": idle_doubts(analysis, info.idle_notes)}),
        detail_tables=measure_tables(analysis, DETAILS),
        claims=claims_table(analysis),
        machine=_machine(info.machine, analysis) if info.machine else [],
        runs=runs.words(),
        left_out=list(left_out(analysis)),
        rule=RULE,
        glossary=LABORATORY,
        libraries=libraries() if plates else "",
    )


def _measured_on(analysis: Analysis, info: MeasureInfo) -> str:
    """The machine in the head of the page, where it is known."""
    if is_made_up(analysis):
        return "a made-up machine, whose readings are no evidence of real ones"
    return info.machine.model if info.machine else ""


def _plate(figure: _LabFigure, analysis: Analysis) -> Plate:
    drawing = figure.draw(analysis)
    spec = spec_of(drawing.chart)
    return Plate(figure.name, figure.title(analysis), drawing.caption, spec, picture_of(spec))


def _facts(analysis: Analysis, info: MeasureInfo, runs: RunCounts) -> list[str]:
    rows = runs_made(analysis)
    groups = rows.filter(pl.col("size") > 1)["group"].n_unique()
    facts = [
        runs.words(),
        count(rows["program"].n_unique(), "program"),
        count(groups, "group") if groups else "",
        count(rows["clock"].n_unique(), "clock"),
        f"all runs took {roughly(info.seconds)}" if info.seconds is not None else "",
    ]
    return list(filter(None, facts))


def _machine(machine: Machine, analysis: Analysis) -> list[tuple[str, str]]:
    """The machine in words; what is not known is left out."""
    sizes = [(cache.size_bytes / _MEBI, count(len(cache.cores), "core")) for cache in machine.last_level]
    caches = [f"{size:.3g} MiB shared by {cores}" for size, cores in sizes]
    clocks = [f"{mhz:g}" for mhz in machine.frequencies_mhz]
    pairs = [
        ("Processor", machine.model),
        ("Cores", f"{len(machine.cores)} that programs may use, on {count(len(machine.siblings), 'physical one')}"),
        ("Pinning", " ".join(host_of(machine, analysis).notes)),
        ("Last-level caches", "; ".join(caches)),
        ("Memory nodes", str(len(machine.nodes)) if machine.nodes else ""),
        ("Memory", f"{machine.memory_bytes / _GIBI:.3g} GiB" if machine.memory_bytes else ""),
        ("Frequencies", f"{', '.join(clocks)} MHz" if clocks else ""),
        ("Governors", ", ".join(machine.governors)),
    ]
    return [(name, value) for name, value in pairs if value]
