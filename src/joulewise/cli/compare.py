"""`joulewise compare`: hold studies against each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from joulewise.cli.output import AsJson, print_json, print_table, say, working

if TYPE_CHECKING:
    from joulewise.present.comparison.view import Row, View

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
        for path in written:
            print(path)


def _show(view: View) -> None:
    """Print what differs, what was paired, and every difference."""
    from joulewise.errors import printable
    from joulewise.units import count

    comparison = view.comparison
    print_table(f"What differs, {view.base} being the base", _setting_rows(view))
    if comparison.settings.is_empty():
        say("Nothing.\n")
    for note in comparison.notes:
        say(printable(note))
    print()
    tables = [(_title(view), _only_rows(view))] if comparison.pairs.height == 1 else _tables(view)
    for title, rows in tables:
        print_table(title, rows[:_MOST_ROWS], numbers=_NUMBERS)
        if len(rows) > _MOST_ROWS:
            print(f"... and {count(len(rows) - _MOST_ROWS, 'more row')}.")
    say(_meaning(comparison.n_corrected))


def _title(view: View) -> str:
    """What stands over the metrics of the only pair of points."""
    study, point = view.comparison.labels[1], view.point(view.comparison.pairs.row(0, named=True))
    return ", ".join(part for part in (f"{study} against {view.base}", point) if part)


def _tables(view: View) -> list[tuple[str, list[dict[str, str]]]]:
    """A table for each metric."""
    return [
        (view.amount(metric).title, [_told(view, row, view.name(row)) for row in view.rows(metric).rows(named=True)])
        for metric in view.comparison.metrics
    ]


def _only_rows(view: View) -> list[dict[str, str]]:
    """A row for each metric."""
    return [_told(view, row, view.amount(row["metric"]).title) for row in view.comparison.differences.rows(named=True)]


_NUMBERS = ("base", "study", "difference", "percent", "effect", "p", "trials")


def _meaning(n: int) -> str:
    """How to read differences, where there are tests."""
    if not n:
        return "Nothing could be tested: that needs two trials at least whose differences are not all the same."
    together = f"p is corrected for all {n:,} differences (Holm)" if n > 1 else "p is of one difference alone"
    return f"± is half of a 95 % interval of each difference alone; {together}. Trials do not tell apart what is tied."


def _setting_rows(view: View) -> list[dict[str, str]]:
    from joulewise.present.comparison.tables import settings_table

    table = settings_table(view)
    labels = table.columns
    return [
        {"setting": name, **{label: cell.text for label, cell in zip(labels, cells, strict=True)}}
        for name, cells in table.rows
    ]


def _told(view: View, row: Row, name: str) -> dict[str, str]:
    """A row of the table, under a name."""
    from joulewise.present.comparison.tables import WHAT, difference_cells

    cells = zip(WHAT, difference_cells(view, row), strict=True)
    return {"what": name, **{column: text for column, text in cells if column != "p alone"}}


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
