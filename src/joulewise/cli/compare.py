"""`joulewise compare`: hold studies against each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from joulewise.cli.output import AsJson, print_json, print_table, say, working

if TYPE_CHECKING:
    from joulewise.present.comparison.view import View

_MOST_ROWS = 60


def compare(
    studies: Annotated[
        list[str],
        typer.Argument(
            metavar="FOLDER[:KEY=VALUE,...]",
            help="Results folders, or points of them; the first is what the others are compared with.",
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
        for path in written:
            print(path)


def _show(view: View) -> None:
    """Print what differs, what was paired, and every difference."""
    from joulewise.units import count

    comparison = view.comparison
    print_table(f"What differs, {view.base} being the base", _setting_rows(view))
    if comparison.settings.is_empty():
        say("Nothing.\n")
    for note in comparison.notes:
        say(note)
    print()
    for metric in comparison.metrics:
        rows = _difference_rows(view, metric)
        print_table(view.amount(metric).title, rows[:_MOST_ROWS], numbers=_NUMBERS)
        if len(rows) > _MOST_ROWS:
            print(f"... and {count(len(rows) - _MOST_ROWS, 'more row')}.")
    say(_meaning(comparison.n_corrected))


_NUMBERS = ("base", "study", "difference", "percent", "effect", "p, corrected", "trials")


def _meaning(n: int) -> str:
    """How to read differences, where there are tests."""
    if not n:
        return "Nothing could be tested: that needs two trials at least whose differences are not all the same."
    together = f"p is corrected for all {n:,} differences (Holm)" if n > 1 else "p is of one difference alone"
    return f"± is half of a 95 % interval of each difference alone; {together}. Tied are those that the trials do not tell apart."


def _setting_rows(view: View) -> list[dict[str, str]]:
    from joulewise.present.comparison.tables import settings_table

    table = settings_table(view)
    labels = table.columns
    return [
        {"setting": name, **{label: cell.text for label, cell in zip(labels, cells, strict=True)}}
        for name, cells in table.rows
    ]


def _difference_rows(view: View, metric: str) -> list[dict[str, str]]:
    from joulewise.present.comparison.tables import WHAT, difference_cells

    return [
        {"what": view.name(row)}
        | {name: text for name, text in zip(WHAT, difference_cells(view, row), strict=True) if name != "p"}
        for row in view.rows(metric).iter_rows(named=True)
    ]


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
