"""Results of a study as verbs show them: the table and the failures."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joulewise.cli.output import note, print_table, say
from joulewise.errors import as_written
from joulewise.present.formats import OF_TUNING, key_name, key_value
from joulewise.study.answers.statistics import TIED
from joulewise.units import count, duration

if TYPE_CHECKING:
    import polars as pl

    from joulewise.study import Results
    from joulewise.study.spec.column import Column

_MOST_ROWS = 60
_MOST_FAILURES = 5
_WIDE = 10.0
_QUANTITY = re.compile(r"(-?[\d.]+) (\w+)")
_TOO_FEW = (
    "An interval that reaches below 0 % or above 100 % shows that its trials are too few or too different: "
    "more `trials` in the study narrow it."
)
_TOO_SHORT = (
    "An interval that reaches below 0 % or above 100 % shows that the log is too short, or its days too different."
)
_TIES = "Best has the {} mean of its world; the trials do not tell those that are tied from it."


def show_summary(results: Results, page: Path | None) -> None:
    """Print what matters most at every point, what was found, and where everything is."""
    from joulewise.study.answers.overview import Overview, is_large

    kind, axes, large = results.study.kind, results.axes, is_large(results)
    shown = results.study.first_columns
    summary = Overview(results).best() if large else results.summary([column.name for column in shown])
    headline, *others = _ranked(shown, summary)
    rows = [row for row in summary.iter_rows(named=True) if row["metric"] == headline.name]
    standing = {} if large else _standings(results, headline.name)
    means = {(row["metric"], *_place(row, axes)): row["mean"] for row in summary.iter_rows(named=True)}
    lines = [
        {**_line(row, axes, headline), **_others(row, axes, others, means), "": standing.get(_place(row, axes), "")}
        for row in rows[:_MOST_ROWS]
    ]
    what = kind.title if shown == kind.shown() else headline.title
    title = f"{results.study.name}: {what}, {'the best points, ' if large else ''}{_spread(rows, results)}"
    print_table(title, lines, numbers=(headline.title, "±", "trials", *(other.title for other in others)))
    if len(rows) > len(lines):
        print(f"... and {count(len(rows) - len(lines), 'more point')}.")
    if TIED in standing.values():
        say(_TIES.format("highest" if kind.sense_of(headline.name) > 0 else "lowest"))
    if headline.unit == "%" and any(map(_is_beyond, rows)):
        say(_TOO_SHORT if results.study.resamples else _TOO_FEW)
    _show_tuned(results)
    for sentence in results.notes:
        say(sentence)
    for sentence in () if large else kind.sentences(results.judged, axes):
        say(sentence)
    n_runs = count(results.n_runs, "run")
    print(f"{n_runs}, {duration(results.seconds)} of computing. Results: {results.folder}")
    if page is not None:
        print(f"Report:  {page}")


def _show_tuned(results: Results) -> None:
    """Print what was chosen, by the trials that tuned and by those that judge."""
    tuning, found = results.study.tuning, results.tuned()
    if tuning is None or found.is_empty():
        return
    headings = _headings(tuple(name for name in found.columns if name in results.study.axes)) | OF_TUNING
    rows = [
        {headings[key]: _number(value) if key in OF_TUNING else cell_of(key, value) for key, value in row.items()}
        for row in found.head(_MOST_ROWS).iter_rows(named=True)
    ]
    print_table(f"What was tuned: {', '.join(map(key_name, tuning.keys))}", rows, numbers=tuple(OF_TUNING.values()))


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:.4g}"


def _spread(rows: Sequence[Mapping[str, Any]], results: Results) -> str:
    """What a table says of the spread over trials."""
    if not any(row["high"] is not None for row in rows):
        return "one trial: no intervals"
    return (
        "the log itself, 95 % interval by resamples"
        if results.study.resamples
        else "mean and 95 % interval over trials"
    )


def _is_beyond(row: Mapping[str, Any]) -> bool:
    """Whether the interval of a share is wide, and holds what no share can be."""
    return row["high"] is not None and row["high"] - row["low"] > _WIDE and not (row["low"] >= 0 and row["high"] <= 100)


def _standings(results: Results, metric: str) -> dict[tuple[Any, ...], str]:
    """Which points are the best of their world, and which are tied with them."""
    if not results.study.kind.has_best or metric not in results.columns:
        return {}
    return {place: standing for *axes, standing in results.leaders(metric).iter_rows() for place in [tuple(axes)]}


def _ranked(shown: Sequence[Column], summary: pl.DataFrame) -> list[Column]:
    """The metrics that some point has, after the first of those that all points have."""
    n_points = dict(summary.group_by("metric").len().iter_rows())
    there = [each for each in shown if n_points.get(each.name)] or list(shown)
    most = max(n_points.get(each.name, 0) for each in there)
    headline = next(each for each in there if n_points.get(each.name, 0) == most)
    return [headline, *(each for each in there if each != headline)]


def show_failures(results: Results) -> None:
    """Say how many runs failed and why, the most frequent reasons first."""
    failed, n_runs = results.failed, count(results.n_runs, "run")
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


def cell_of(axis: str, value: object) -> str:
    """A swept value as people write it."""
    if value is None:
        return ""
    return as_written(value) if isinstance(value, bool | list) else key_value(axis, value)


def _headings(axes: tuple[str, ...]) -> dict[str, str]:
    """What stands over the axes: their names, with those of their sections where names alone would be the same."""
    names = [key_name(axis) for axis in axes]
    return {axis: name if names.count(name) == 1 else axis for axis, name in zip(axes, names, strict=True)}


def _half(row: dict[str, Any], form: Callable[[float], str]) -> str | None:
    """Half of an interval, in the unit of its mean."""
    if row["high"] is None:
        return None
    half, quantity = row["high"] - row["mean"], _QUANTITY.fullmatch(form(row["mean"]))
    return f"{half * float(quantity[1]) / row['mean']:.2g} {quantity[2]}" if quantity and row["mean"] else form(half)


def _line(row: dict[str, Any], axes: tuple[str, ...], headline: Column) -> dict[str, Any]:
    """The axes of a point and its headline."""
    cells = {name: cell_of(axis, row[axis]) for axis, name in _headings(axes).items()}
    mean, half = headline.form(row["mean"]), _half(row, headline.form)
    return {**cells, headline.title: mean, "±": half, "trials": row["n"]}


def _others(
    row: dict[str, Any], axes: tuple[str, ...], others: Sequence[Column], means: Mapping[tuple[Any, ...], float]
) -> dict[str, str | None]:
    """The other metrics of a point, None where it has none."""
    values = {other: means.get((other.name, *_place(row, axes))) for other in others}
    return {other.title: None if mean is None else other.form(mean) for other, mean in values.items()}
