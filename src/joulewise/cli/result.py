"""Results of a study as verbs show them: the table and the failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joulewise.cli.output import note, print_table
from joulewise.errors import as_written
from joulewise.units import duration

if TYPE_CHECKING:
    import polars as pl

    from joulewise.study import Results
    from joulewise.study.column import Column

_MOST_ROWS = 60
_MOST_FAILURES = 5


def show_summary(results: Results, page: Path | None) -> None:
    """Print what matters most at every point, what was found, and where everything is."""
    from joulewise.study.statistics import best
    from joulewise.units import count

    summary, kind = results.summary(), results.study.kind
    headline, *others = _ranked(kind.shown(), summary)
    rows = [row for row in summary.iter_rows(named=True) if row["metric"] == headline.name]
    is_whole = results.failed.is_empty()  # on fewer trials nobody is the best
    differ = len({row["mean"] for row in rows}) > 1 or len(rows) == 1
    winner = best(summary, headline.name) if kind.has_best and is_whole and differ else None
    means = {(row["metric"], *_place(row, results.study.axes)): row["mean"] for row in summary.iter_rows(named=True)}
    shown = [
        {**_line(row, results.study.axes, headline), **_others(row, results.study.axes, others, means),
         "": "best" if row == winner else ""}
        for row in rows[:_MOST_ROWS]
    ]  # fmt: skip
    title = f"{results.study.name}: {kind.title}, mean and 95 % interval over trials"
    print_table(title, shown, numbers=(headline.title, "±", "trials", *(other.title for other in others)))
    if len(rows) > len(shown):
        print(f"... and {count(len(rows) - len(shown), 'more point')}.")
    for sentence in kind.sentences(results.runs, results.study.axes):
        print(sentence)
    n_runs = count(results.runs.height, "run")
    print(f"{n_runs}, {duration(results.seconds)} of computing. Results: {results.folder}")
    if page is not None:
        print(f"Report:  {page}")


def _ranked(shown: Sequence[Column], summary: pl.DataFrame) -> list[Column]:
    """The metrics that some point has, after the first of those that all points have."""
    n_points = dict(summary.group_by("metric").len().iter_rows())
    there = [each for each in shown if n_points.get(each.name)] or list(shown)
    most = max(n_points.get(each.name, 0) for each in there)
    headline = next(each for each in there if n_points.get(each.name, 0) == most)
    return [headline, *(each for each in there if each != headline)]


def show_failures(results: Results) -> None:
    """Say how many runs failed and why, the most frequent reasons first."""
    from joulewise.units import count

    failed, n_runs = results.failed, count(results.runs.height, "run")
    note(f"{failed.height:,} of {n_runs} failed. To do only what failed again, run the study again. Why:")
    reasons = failed.group_by("error", maintain_order=True).len().sort("len", descending=True, maintain_order=True)
    for reason, n in reasons.head(_MOST_FAILURES).iter_rows():
        note(f"  {n:,} x {reason}")
    others = reasons.slice(_MOST_FAILURES)
    if others.height:
        n_others = count(others.height, "other reason")
        note(f"  {others['len'].sum():,} x {n_others}: the column error of {results.folder / 'runs.parquet'} has all")


def _place(row: dict[str, Any], axes: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(row[axis] for axis in axes)


def _cell(value: object) -> object:
    """A swept value as the study file has it."""
    return as_written(value) if isinstance(value, bool | list) else value


def _line(row: dict[str, Any], axes: tuple[str, ...], headline: Column) -> dict[str, Any]:
    """The axes of a point and its headline."""
    half = None if row["high"] is None else headline.form(row["high"] - row["mean"])
    cells = {axis.rpartition(".")[2]: _cell(row[axis]) for axis in axes}
    return {**cells, headline.title: headline.form(row["mean"]), "±": half, "trials": row["n"]}


def _others(
    row: dict[str, Any], axes: tuple[str, ...], others: Sequence[Column], means: Mapping[tuple[Any, ...], float]
) -> dict[str, str | None]:
    """The other metrics of a point, None where it has none."""
    values = {other: means.get((other.name, *_place(row, axes))) for other in others}
    return {other.title: None if mean is None else other.form(mean) for other, mean in values.items()}
