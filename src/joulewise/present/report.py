"""The report: one page that says what was studied, what came out, how sure it is and how to do it again."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from joulewise.files import write_atomic
from joulewise.present.export import render, spec_of
from joulewise.present.gallery import MOST_OPEN, figures_of, hung
from joulewise.present.html import filled, libraries
from joulewise.present.kept import REPORT
from joulewise.present.layout import Drawing, sentence
from joulewise.present.overview import findings, tables
from joulewise.present.page import Figure, page_of
from joulewise.present.records import Records
from joulewise.present.tables import difference_tables, full_table, tuned_tables
from joulewise.processes import give_back_memory
from joulewise.study.answers.overview import Overview
from joulewise.units import count, duration

_MOST_VALUES = 100
"""So many values of a key are listed."""


@dataclass(frozen=True)
class Plate:
    """A figure as the page shows it: a still picture that an interactive one replaces where scripts run.

    One that is `folded` is seen, and drawn, when its fold is opened.
    """

    name: str
    title: str
    caption: str
    spec: dict[str, Any]
    picture: str = ""
    folded: bool = False


@dataclass(frozen=True)
class Draft:
    """A report without its still pictures. What draws them takes much memory; the records are needed no longer."""

    plates: tuple[Plate, ...]
    values: Mapping[str, object]
    template: str = "report.html"

    def html(self) -> str:
        """The whole report as one HTML document that loads nothing; whatever a user wrote in it is escaped."""
        give_back_memory()
        plates = [replace(plate, picture=picture_of(plate.spec)) for plate in self.plates]
        return filled(self.template, plates=plates, **self.values)

    def write(self, folder: Path, mark: str = "") -> Path:
        """Write `report.html` into a folder and return its path; `mark` is a comment at its end."""
        path = folder / REPORT
        write_atomic(path, self.html() + mark)
        return path


def render_report(records: Records) -> str:
    """The whole report of the records, as `Draft.html` gives it."""
    return draft_of(records).html()


def draft_of(records: Records, names: Sequence[str] = ()) -> Draft:
    """The report of the records but for its pictures, with the figures of these names, if any are given."""
    page = page_of(records.study.kind)
    values = {
        "findings": page.findings(records),
        "main_tables": page.tables(records),
        "tuned_tables": tuned_tables(records),
        "difference_tables": difference_tables(records, page.across) if records.tells_utility else [],
        "full_table": full_table(records),
    }
    return _draft(records, figures_of(records, names), records.n_runs, values, folds=not names)


def overview_draft(overview: Overview, records: Records, names: Sequence[str] = ()) -> Draft:
    """The report of very many runs but for its pictures; the records are those of their values."""
    values = {
        "findings": findings(overview, records),
        "main_tables": tables(overview, records),
        "tuned_tables": tuned_tables(records),
        "difference_tables": [],
        "full_table": None,
    }
    n_runs = overview.results.n_runs - records.study.n_failed
    return _draft(records, figures_of(records, names, overview), n_runs, values, folds=not names)


def _draft(
    records: Records, figures: Sequence[Figure], n_runs: int, values: Mapping[str, object], *, folds: bool
) -> Draft:
    """A report with these figures; where it `folds`, those after the first dozen are behind a fold."""
    looked = list(hung(records, figures))
    drawn = [(figure, drawing) for figure, drawing in looked if isinstance(drawing, Drawing)]
    left_out = [f"{figure.title}: {why}." for figure, why in looked if isinstance(why, str)]
    plates = tuple(
        replace(plate_of(figure.name, figure.title, drawing), folded=folds and place >= MOST_OPEN)
        for place, (figure, drawing) in enumerate(drawn)
    )
    return Draft(plates, {**_about(records, n_runs, has_figures=bool(plates)), **values, "left_out": left_out})


def _about(records: Records, n_runs: int, *, has_figures: bool) -> dict[str, object]:
    """What every report says of its study, of which so many runs have a result."""
    return {
        "libraries": libraries() if has_figures else "",
        "study": records.study,
        "facts": _facts(records, n_runs),
        "axes": [(sentence(records.words(key).name), key, _values(records, key)) for key in records.study.axes],
        "glossary": page_of(records.study.kind).glossary,
        "particulars": _particulars(records, n_runs),
        "citation": _citation(records),
    }


def plate_of(name: str, title: str, drawing: Drawing) -> Plate:
    """A figure for a page, but for its still picture."""
    return Plate(name, title, drawing.caption, spec_of(drawing.chart))


def picture_of(spec: dict[str, Any]) -> str:
    """The figure as an SVG in a data address: an image, so that nothing inside it can run."""
    svg = str(render(spec, "svg"))
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode("ascii")


def _facts(records: Records, n_runs: int) -> list[str]:
    study = records.study
    facts = [count(n_runs, "run"), count(study.trials, "trial"), f"seed {study.seed}"]
    return [*facts, duration(study.seconds)] if study.seconds is not None else facts


def _values(records: Records, key: str) -> str:
    unit, labels = records.words(key).unit, list(records.labels(key).values())
    left = f"; and {len(labels) - _MOST_VALUES:,} more" if len(labels) > _MOST_VALUES else ""
    return "; ".join(labels[:_MOST_VALUES]) + left + (f" {unit}" if unit else "")


def _particulars(records: Records, n_runs: int) -> list[tuple[str, str]]:
    """How the report was made, as pairs of a name and a value; what is not known is left out."""
    study = records.study
    n_missing = f", {study.n_failed:,} more without a result" if study.n_failed else ""
    again = "yes" if study.deterministic else "no: a run depends on measured time"
    pairs = [
        ("Software", f"Joulewise {study.version}"),
        ("Study file", study.file_name),
        ("Study hash", study.study_hash),
        ("Seed", str(study.seed)),
        ("Runs", f"{n_runs:,} with results{n_missing}"),
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
