"""The report: one page that says what was studied, what came out, how sure it is and how to do it again."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from joulewise.files import write_atomic
from joulewise.present.export import render, spec_of
from joulewise.present.facility.outcomes import facility_findings
from joulewise.present.figures import drawable, drawings
from joulewise.present.findings import Finding, findings
from joulewise.present.formats import key_words
from joulewise.present.glossary import GLOSSARIES
from joulewise.present.jobs.outcomes import job_findings, job_tables
from joulewise.present.layout import sentence
from joulewise.present.outcomes import front_findings, profit_findings, utility_findings
from joulewise.present.pages import libraries, page
from joulewise.present.records import FACILITY, FRONT, JOBS, KNOWN, MANAGED, PROFIT, Records
from joulewise.present.tables import (
    Table,
    cost_tables,
    difference_tables,
    facility_tables,
    full_table,
    search_tables,
    utility_tables,
)
from joulewise.processes import give_back_memory
from joulewise.units import count, duration


@dataclass(frozen=True)
class Plate:
    """A figure as the page shows it: a still picture that an interactive one replaces where scripts run."""

    name: str
    title: str
    caption: str
    spec: dict[str, Any]
    picture: str = ""


@dataclass(frozen=True)
class Draft:
    """A report without its still pictures. What draws them takes much memory; the records are needed no longer."""

    plates: tuple[Plate, ...]
    values: Mapping[str, object]

    def html(self) -> str:
        """The whole report as one HTML document that loads nothing; whatever a user wrote in it is escaped."""
        give_back_memory()
        plates = [replace(plate, picture=picture_of(plate.spec)) for plate in self.plates]
        return page("report.html", plates=plates, **self.values)

    def write(self, folder: Path) -> Path:
        """Write `report.html` into a folder and return its path."""
        path = folder / "report.html"
        write_atomic(path, self.html())
        return path


@dataclass(frozen=True)
class _Content:
    """What a page says of one kind of study."""

    findings: Callable[[Records], list[Finding]]
    tables: Callable[[Records], list[Table]]


_CONTENT = {
    MANAGED: _Content(findings, lambda records: [*utility_tables(records), *cost_tables(records)]),
    FRONT: _Content(front_findings, search_tables),
    PROFIT: _Content(profit_findings, search_tables),
    KNOWN: _Content(utility_findings, search_tables),
    JOBS: _Content(job_findings, job_tables),
    FACILITY: _Content(facility_findings, facility_tables),
}


def render_report(records: Records) -> str:
    """The whole report of the records, as `Draft.html` gives it."""
    return draft_of(records).html()


def draft_of(records: Records) -> Draft:
    """The report of the records but for its pictures."""
    content = _CONTENT[records.study.kind]
    values = {
        "libraries": libraries() if drawable(records) else "",
        "study": records.study,
        "facts": _facts(records),
        "findings": content.findings(records),
        "axes": [(sentence(key_words(key).name), key, _values(records, key)) for key in records.study.axes],
        "main_tables": content.tables(records),
        "difference_tables": difference_tables(records),
        "full_table": full_table(records),
        "glossary": GLOSSARIES[records.study.kind],
        "particulars": _particulars(records),
        "citation": _citation(records),
    }
    return Draft(tuple(_plates(records)), values)


def _plates(records: Records) -> Iterator[Plate]:
    for figure, drawing in drawings(records):
        yield Plate(figure.name, figure.title, drawing.caption, spec_of(drawing.chart))


def picture_of(spec: dict[str, Any]) -> str:
    """The figure as an SVG in a data address: an image, so that nothing inside it can run."""
    svg = str(render(spec, "svg"))
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode("ascii")


def _facts(records: Records) -> list[str]:
    study = records.study
    facts = [count(records.n_runs, "run"), count(study.trials, "trial"), f"seed {study.seed}"]
    return [*facts, duration(study.seconds)] if study.seconds is not None else facts


def _values(records: Records, key: str) -> str:
    unit = key_words(key).unit
    return "; ".join(records.labels(key).values()) + (f" {unit}" if unit else "")


def _particulars(records: Records) -> list[tuple[str, str]]:
    """How the report was made, as pairs of a name and a value; what is not known is left out."""
    study = records.study
    n_missing = f", {study.n_failed:,} more without a result" if study.n_failed else ""
    again = "yes" if study.deterministic else "no: a run depends on measured time"
    pairs = [
        ("Software", f"Joulewise {study.version}"),
        ("Study file", study.file_name),
        ("Study hash", study.study_hash),
        ("Seed", str(study.seed)),
        ("Runs", f"{records.n_runs:,} with results{n_missing}"),
        ("Same seed, same result", again),
        ("Time of the runs", duration(study.seconds) if study.seconds is not None else ""),
        ("Machine", study.machine),
        ("Written", study.made_at),
    ]
    return [(name, value) for name, value in pairs if value]


def _citation(records: Records) -> str:
    study = records.study
    mark = f", study hash {study.study_hash[:16]}" if study.study_hash else ""
    return (
        f"Joulewise, version {study.version}: study \N{LEFT DOUBLE QUOTATION MARK}{study.name}"
        f"\N{RIGHT DOUBLE QUOTATION MARK}, {count(study.trials, 'trial')}, seed {study.seed}{mark}."
    )
