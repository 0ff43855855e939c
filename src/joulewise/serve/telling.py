"""What `present` finds, draws and tabulates, as blocks of an answer: the same words and numbers as in a report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from joulewise.serve.answer import Block, Cell, Facts, Link, Plot, Said, Sentences, Source, Table

if TYPE_CHECKING:
    from joulewise.present.findings import Finding
    from joulewise.present.page import Figure
    from joulewise.present.records import Records
    from joulewise.present.report import Draft, Plate
    from joulewise.present.tables import Table as Tabulated

PICTURES = {"png": "image/png", "svg": "image/svg+xml"}
"""The formats in which figures can be downloaded, with their types."""


def findings_told(findings: Iterable[Finding], title: str = "What came out") -> Sentences:
    """Findings, the first one first of all."""
    return Sentences([Said(finding.lead, finding.support) for finding in findings], title)


def table_told(table: Tabulated, *, folded: bool = False) -> Table:
    """A table of a report."""
    rows = [[Cell(name), *(Cell(cell.text, kind=cell.kind) for cell in cells)] for name, cells in table.rows]
    return Table(table.caption, [table.corner, *table.columns], rows, table.note, folded)


def plate_told(plate: Plate, address: str = "") -> Plot:
    """A figure of a report, with the pictures that there are of it at the address of a study."""
    pictures = [Link(kind.upper(), f"{address}/figures/{plate.name}.{kind}") for kind in PICTURES] if address else ()
    return Plot(plate.name, plate.title, plate.caption, plate.spec, folded=plate.folded, pictures=pictures)


def figure_told(figure: Figure, records: Records, **more: Any) -> Plot:
    """A figure of a page, drawn of records."""
    from joulewise.present.export import spec_of

    drawing = figure.draw(records)
    return Plot(figure.name, figure.title, drawing.caption, spec_of(drawing.chart), **more)


def draft_told(draft: Draft, address: str) -> list[Block]:
    """The report of the study at an address: what came out, figures and tables, what was studied, how it was made."""
    values: Any = draft.values
    tables = [*values["tuned_tables"], *values["main_tables"], *values["difference_tables"]]
    full = [table_told(values["full_table"], folded=True)] if values["full_table"] else []
    return [
        findings_told(values["findings"]),
        *(plate_told(plate, address) for plate in draft.plates),
        *map(table_told, tables),
        *full,
        *([Sentences([Said("", text) for text in values["left_out"]], "Left out")] if values["left_out"] else []),
        Source("The study file, complete", values["study"].source),
        Facts(values["particulars"], "How it was made"),
        words_told(values["glossary"]),
    ]


def words_told(glossary: Any) -> Table:
    """What words mean."""
    rows = [[Cell(word), Cell(meaning, kind="words")] for word, meaning in glossary.items()]
    return Table("What the words mean", ["Word", "Meaning"], rows, folded=True)


def comparison_told(draft: Draft) -> Sequence[Block]:
    """The page of a comparison."""
    values: Any = draft.values
    settings = values["settings"]
    return [
        findings_told(values["findings"]),
        *map(plate_told, draft.plates),
        *map(table_told, values["difference_tables"]),
        *([table_told(settings)] if settings.rows else []),
        Sentences([Said("", note) for note in values["notes"]], "What was paired"),
        table_told(values["pairs"]),
        table_told(values["made"], folded=True),
        words_told(values["glossary"]),
    ]
