"""`joulewise compare`: hold studies against each other."""

from __future__ import annotations

from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from joulewise.cli.output import AsJson, print_cells, print_json, print_paths, say, working
from joulewise.units import all_of

if TYPE_CHECKING:
    from joulewise.present.comparison.view import View
    from joulewise.present.tables import Table

_MOST_ROWS = 60


def compare(
    studies: Annotated[
        list[str],
        typer.Argument(
            metavar="RESULTS",
            help="Results folders, or points of them, such as results/day:policy=easy; the first is the base.",
            show_default=False,
        ),
    ],
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metric", help='A metric, or a pattern such as "tasks_*"; may be repeated.'),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Compare every metric.")] = False,
    out: Annotated[Path | None, typer.Option(help="Also write a page, a file that ends in .html.")] = None,
    formats: Annotated[
        list[str] | None,
        typer.Option("--format", help="Beside the page, also write figures as png, svg, pdf or html; may be repeated."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare studies, or points of them, on common trials.

    Tells which settings differ, which runs are a pair, and the difference in each metric with its 95 % interval. Where
    no trials are common, means are compared as of independent samples. Tests are corrected for all that is compared.
    """
    from joulewise.errors import InputError, Problem
    from joulewise.present.comparison.page import write_comparison
    from joulewise.present.comparison.view import View
    from joulewise.study import compare as compared

    if formats and not out:
        raise InputError(Problem("--format", "found no page", "figures are written beside one", "give --out PAGE.html"))
    with working("Comparing", quiet=as_json):
        comparison = compared(*studies, metrics=["*"] if every else metrics or ())
    written = []
    if out:
        with working("Writing the page", quiet=as_json):
            written = write_comparison(comparison, out, formats or ())
    if as_json:
        print_json(_as_json(View(comparison), written))
    else:
        _show(View(comparison))
        print_paths(written, as_json=False)


def _show(view: View) -> None:
    """Print what differs, what was paired, and every difference."""
    from joulewise.errors import printable
    from joulewise.present.comparison.tables import difference_tables, settings_table

    comparison, settings = view.comparison, settings_table(view)
    headings = ["setting", *settings.columns] if settings.rows else []
    title = f"What differs, {view.base} being the base"
    print_cells(title, headings, _texts(settings), are_numbers=[False] * len(headings))
    if not settings.rows:
        say("Nothing.\n")
    for note in comparison.notes:
        say(printable(note))
    print()
    for table in difference_tables(view, _MOST_ROWS):
        _show_differences(table)
    say(_meaning(comparison.n_corrected))


def _show_differences(table: Table) -> None:
    headings = [heading.lower() for heading in (table.corner, *table.columns)]
    is_shown = [heading != "p alone" for heading in headings]
    headings, *rows = [[*compress(row, is_shown)] for row in (headings, *_texts(table))]
    print_cells(table.caption, headings, rows, are_numbers=[h not in ("what", "verdict") for h in headings])
    if table.note:
        print(table.note)


def _texts(table: Table) -> list[list[str]]:
    """The rows of a table, the first cell being what heads the row."""
    return [[name, *(cell.text for cell in cells)] for name, cells in table.rows]


def _meaning(n: int) -> str:
    """How to read differences, where there are tests."""
    if not n:
        return "Nothing could be tested: that needs two trials at least whose differences are not all the same."
    together = f"p is corrected for {all_of(n, 'differences')} (Holm)" if n > 1 else "p is of one difference alone"
    return f"± is half of a 95 % interval of each difference alone; {together}. Trials do not tell apart what is tied."


def _as_json(view: View, written: list[Path]) -> dict[str, object]:
    """All that was found, for programs."""
    comparison = view.comparison
    studies = [
        {
            "study": side.label,
            "folder": str(side.results.folder),
            "name": side.results.study.name,
            "chosen": side.chosen,
        }
        for side in comparison.sides
    ]
    tables = {name: getattr(comparison, name).to_dicts() for name in ("settings", "pairs", "differences")}
    facts = {"notes": comparison.notes, "n_corrected": comparison.n_corrected}
    return {"studies": studies, **tables, **facts, "written": [str(path) for path in written]}
