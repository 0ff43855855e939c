"""Tables of a comparison: what differs, what was paired, and every difference."""

from __future__ import annotations

from collections.abc import Sequence

from joulewise.present.comparison.view import (
    PAIRINGS,
    Row,
    View,
    difference_text,
    effect_text,
    mean_text,
    n_text,
    p_text,
    percent_text,
    verdict_text,
)
from joulewise.present.tables import ALIKE, MAX_ROWS, WORDS, Cell, Table
from joulewise.study.answers.sides import Side
from joulewise.study.answers.statistics import TIED
from joulewise.units import count

_COLUMNS = ("Base", "Study", "Difference", "Percent", "Effect", "p alone", "p", "Trials", "Verdict")
"""What is told of a difference; `p` is corrected for all of them."""


def difference_tables(view: View, most: int = MAX_ROWS) -> list[Table]:
    """A table for each metric with a row for each pair of points; one with a row for each metric where all are of one.

    The tables have so many rows at most.
    """
    if view.comparison.pairs.height == 1:
        rows = [(view.amount(row["metric"]).title, row) for row in view.comparison.differences.iter_rows(named=True)]
        return [_difference_table(view, _of_only_pair(view), rows, most)]
    return [
        _difference_table(
            view,
            view.amount(metric).title,
            [(view.name(row), row) for row in view.rows(metric).iter_rows(named=True)],
            most,
        )
        for metric in view.comparison.metrics
    ]


def _of_only_pair(view: View) -> str:
    """What stands over the metrics of the only pair of points."""
    study, point = view.comparison.labels[1], view.point(view.comparison.pairs.row(0, named=True))
    return ", ".join(part for part in (f"{study} against {view.base}", point) if part)


def _difference_table(view: View, caption: str, rows: Sequence[tuple[str, Row]], most: int) -> Table:
    note = f"The first {most} of {count(len(rows), 'row')}." if len(rows) > most else ""
    return Table(caption, "What", _COLUMNS, tuple((name, _cells(view, row)) for name, row in rows[:most]), note)


def _cells(view: View, row: Row) -> tuple[Cell, ...]:
    """What is told of a difference."""
    size = view.amount(row["metric"]).size
    means = [mean_text(row, name, size) for name in ("base_mean", "mean")]
    chances = [p_text(row[name]) for name in ("p", "holm_p")]
    numbers = [*means, difference_text(row, size), percent_text(row), effect_text(row["effect"]), *chances, n_text(row)]
    kind = ALIKE if row["verdict"] == TIED else ""
    return (*(Cell(text, kind) for text in numbers), Cell(verdict_text(row), WORDS))


def settings_table(view: View) -> Table:
    """Every setting in which not all studies are alike, a column for each study."""
    labels, settings = view.comparison.labels, view.comparison.settings
    cells: dict[str, list[Cell]] = {}
    for setting, text in settings.select("setting", "values").iter_rows():
        cells.setdefault(setting, []).append(Cell(text))
    rows = tuple((setting, tuple(values)) for setting, values in cells.items())
    return Table("What differs", "Setting", tuple(labels), rows)


def made_table(view: View) -> Table:
    """Where each study is, and what it was made with."""
    rows = tuple(
        (side.label, tuple(Cell(text) for text in (str(side.results.folder), *_facts(side))))
        for side in view.comparison.sides
    )
    return Table("How it was made", "Study", ("Folder", "Seed", "Study hash", "Joulewise", "Machine", "Run at"), rows)


def _facts(side: Side) -> tuple[str, ...]:
    about = side.results.about
    seed = str(side.results.study.heading.seed)
    return (seed, *(str(about[name]) for name in ("study_hash", "joulewise", "machine", "run_at")))


def pairs_table(view: View) -> Table:
    """How the runs of each pair of points meet."""
    rows = tuple(
        (view.name(row), (Cell(PAIRINGS[row["pairing"]]), *(Cell(f"{row[name]:,}") for name in _COUNTS)))
        for row in view.comparison.pairs.head(MAX_ROWS).iter_rows(named=True)
    )
    return Table("What was paired", "What", ("How", *_COUNTS.values()), rows)


_COUNTS = {"n_pairs": "Pairs", "n_same_world": "In one world", "n_base_runs": "Runs of the base", "n_runs": "Runs"}
