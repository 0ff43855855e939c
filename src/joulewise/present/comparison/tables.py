"""Tables of a comparison: what differs, what was paired, and every difference."""

from __future__ import annotations

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
from joulewise.present.layout import sentence
from joulewise.present.tables import ALIKE, MAX_ROWS, WORDS, Cell, Table
from joulewise.study.answers.sides import Side
from joulewise.study.answers.statistics import TIED
from joulewise.units import count

WHAT = ("base", "study", "difference", "percent", "effect", "p alone", "p", "trials", "verdict")
"""What is told of a difference; `p` is corrected for all of them."""


_COLUMNS = tuple(name if name.startswith("p ") or name == "p" else sentence(name) for name in WHAT)


def difference_cells(view: View, row: Row) -> list[str]:
    """What is told of a difference, as text."""
    size = view.amount(row["metric"]).size
    means = [mean_text(row, name, size) for name in ("base_mean", "mean")]
    chances = [p_text(row[name]) for name in ("p", "holm_p")]
    told = [difference_text(row, size), percent_text(row), effect_text(row["effect"]), *chances]
    return [*means, *told, n_text(row), verdict_text(row)]


def difference_tables(view: View) -> list[Table]:
    """A table for each metric with a row for each pair of points."""
    return [_difference_table(view, metric) for metric in view.comparison.metrics]


def _difference_table(view: View, metric: str) -> Table:
    found = view.rows(metric)
    rows = [(view.name(row), _marked(view, row)) for row in found.head(MAX_ROWS).iter_rows(named=True)]
    note = f"The first {MAX_ROWS} of {count(found.height, 'row')}." if found.height > MAX_ROWS else ""
    return Table(view.amount(metric).title, "What", _COLUMNS, tuple(rows), note)


def _marked(view: View, row: Row) -> tuple[Cell, ...]:
    *numbers, verdict = difference_cells(view, row)
    kind = ALIKE if row["verdict"] == TIED else ""
    return (*(Cell(text, kind) for text in numbers), Cell(verdict, WORDS))


def settings_table(view: View) -> Table:
    """Every setting in which not all studies are alike, a column for each study."""
    labels, settings = view.comparison.labels, view.comparison.settings
    wide = settings.pivot("study", index="setting", values="values") if settings.height else settings
    rows = tuple(
        (str(row["setting"]), tuple(Cell(row[label]) for label in labels)) for row in wide.iter_rows(named=True)
    )
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
