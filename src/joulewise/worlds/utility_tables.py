"""Columns of tables of tasks and jobs that say when each arrives and what it is worth, by level or by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import polars as pl

from joulewise.errors import InputError, raise_if_any
from joulewise.model import Shape, UtilityShapes, constant, linear, piecewise, step
from joulewise.model.arrays import Floats, Ints
from joulewise.worlds.frames import InputColumn, InputTable
from joulewise.worlds.utilities import PRIORITIES, URGENCIES, Levels, UtilityParameters

ARRIVAL = InputColumn("arrival_s", "s", "instant of arrival, in rising order", True)

LEVELS = (
    InputColumn("priority", "", f"one of {', '.join(PRIORITIES)}; goes with urgency and utility_class"),
    InputColumn("urgency", "", f"one of {', '.join(URGENCIES)}"),
    InputColumn("utility_class", "", "one of the study's utility classes, such as A"),
)

_UTILITY = InputColumn("utility", "", "shape by hand: constant, linear, step or piecewise; constant if empty")

_MAX_UTILITY = InputColumn("max_utility", "", "multiplies the utility; 1 if empty")

_HOLD = InputColumn("hold_s", "s", "time after arrival before the utility begins to change; 0 if empty")

_DURATION = InputColumn(
    "duration_s",
    "s",
    "after the hold; linear: time in which the utility falls to 0; step: deadline, at which it is already 0",
)

_POINTS = InputColumn(
    "utility_points", "", 'piecewise: "seconds:value" pairs after the hold, such as "0:1 600:0.5 900:0"'
)

BY_HAND = (_UTILITY, _MAX_UTILITY, _HOLD, _DURATION, _POINTS)

STRETCH = InputColumn("stretch", "", "how long the task really runs over its estimated time; 1 if empty")


class _HandWritten(NamedTuple):
    """A shape that people write by hand: the column it needs, and how to make it from duration and points."""

    needs: InputColumn | None
    shape: Callable[[float, str], Shape]


KINDS: dict[str, _HandWritten] = {
    "constant": _HandWritten(None, lambda _duration_s, _points: constant()),
    "linear": _HandWritten(_DURATION, lambda duration_s, _points: linear(duration_s)),
    "step": _HandWritten(_DURATION, lambda duration_s, _points: step(duration_s)),
    "piecewise": _HandWritten(_POINTS, lambda _duration_s, points: piecewise(parse_points(points), points)),
}


def parse_points(text: str) -> list[tuple[float, float]]:
    """The points of "seconds:value" pairs between spaces or semicolons; ValueError for anything else."""
    pairs = [pair.split(":") for pair in text.replace(";", " ").split()]
    if not pairs or any(len(pair) != 2 for pair in pairs):
        raise ValueError(text)
    return [(float(at_s), float(value)) for at_s, value in pairs]


def check_utilities(table: InputTable) -> None:
    """One way of giving utilities, not both, and all columns of it."""
    levels = [column.name for column in LEVELS if column.name in table.columns]
    by_hand = [column.name for column in BY_HAND if column.name in table.columns]
    if levels and by_hand:
        found = f"found utilities both by level ({', '.join(levels)}) and by hand ({', '.join(by_hand)})"
        table.add(found, "must be exactly one of the two", column="header")
    if levels and len(levels) < len(LEVELS):
        wanted = ", ".join(column.name for column in LEVELS)
        table.add(f"found only {', '.join(levels)}", f"utilities by level need {wanted}", column="header")


def check_order(table: InputTable, arrival_s: Floats) -> None:
    """Note every arrival before the one in the row above."""
    falls = np.concatenate(([False], np.diff(arrival_s) < 0))
    if falls.any():
        advice = f"sort the table by {ARRIVAL.name}"
        table.report_rows(ARRIVAL.name, falls, "must not be before the arrival in the row above", advice)


def read_codes(table: InputTable, column: InputColumn, choices: tuple[str, ...], what: str) -> Ints:
    """The position of each cell among the choices, -1 for what is none of them; unknown names are noted."""
    if column.name not in table.columns:
        return np.full(table.frame.height, -1, dtype=np.int32)
    return table.codes(column.name, choices, what)


def read_levels(table: InputTable, parameters: UtilityParameters) -> Levels:
    """The levels of each task; what is wrong with them is noted."""
    choices = (PRIORITIES, URGENCIES, tuple(parameters.intervals))
    whats = ("priority", "urgency", "utility class")
    return Levels(
        *(
            read_codes(table, column, names, what).astype(np.int8)
            for column, names, what in zip(LEVELS, choices, whats, strict=True)
        )
    )


def read_by_hand(table: InputTable) -> tuple[UtilityShapes, Ints, Floats, Floats]:
    """Shapes, and the shape, scale and hold of each task; InputError with every problem of the table."""
    kind = _kinds(table)
    scale = table.quantity(_MAX_UTILITY, 1.0)
    hold_s = table.quantity(_HOLD, 0.0)
    duration_s = table.quantity(_DURATION, 0.0, positive=True)
    points = _texts(table, _POINTS)
    _check_needs(table, kind)
    _check_points(table, points)
    raise_if_any(table.problems)
    return (*_shapes(kind, duration_s, points), scale, hold_s)


def _code(kind: str) -> int:
    return list(KINDS).index(kind)


def _texts(table: InputTable, column: InputColumn) -> pl.Series:
    """A column as text; all null where it is absent."""
    if column.name in table.columns:
        return table.texts(column.name)
    return pl.Series([None] * table.frame.height, dtype=pl.String)


def _kinds(table: InputTable) -> Ints:
    """The position of each task's kind in `KINDS`; an empty one is constant, an unknown one is reported."""
    if _UTILITY.name not in table.columns:
        return np.full(table.frame.height, _code("constant"), dtype=np.int32)
    return table.codes(_UTILITY.name, tuple(KINDS), "utility shape", default=_code("constant"))


def _check_needs(table: InputTable, kind: Ints) -> None:
    """A column is filled where the kind needs it, and only there."""
    for column in (_DURATION, _POINTS):
        users = [name for name, row in KINDS.items() if row.needs is column]
        names = " or ".join(users)
        is_needed = np.isin(kind, [_code(name) for name in users])
        is_filled = _texts(table, column).is_not_null().to_numpy()
        if column.name not in table.columns:
            if is_needed.any():
                table.add(f"has no column {column.name!r}", f"{names} utilities need it", column="header")
            continue
        table.report_rows(column.name, is_needed & ~is_filled, f"must be filled for {names} utilities")
        spare = is_filled & ~is_needed & (kind >= 0)
        table.report_rows(column.name, spare, f"must be empty but for {names} utilities")


def _check_points(table: InputTable, points: pl.Series) -> None:
    """Report every distinct list of points that makes no utility, where it first stands."""
    distinct = pl.DataFrame({"points": points}).with_row_index("row").drop_nulls()
    first = distinct.unique("points", keep="first", maintain_order=True)
    wrong = [(row, _POINTS.name) for row, text in first.iter_rows() if not _is_utility(text)]
    allowed = 'must be "seconds:value" pairs, seconds rising from 0, values falling to 0 or more'
    table.report(wrong, allowed, 'for example "0:1 600:0.5 900:0"')


def _is_utility(points: str) -> bool:
    try:
        UtilityShapes.of([piecewise(parse_points(points))])
    except (ValueError, InputError):
        return False
    return True


def _shapes(kind: Ints, duration_s: Floats, points: pl.Series) -> tuple[UtilityShapes, Ints]:
    """The distinct shapes, and which one each task has."""
    tasks = pl.DataFrame({"kind": kind, "duration_s": duration_s, "points": points.fill_null("")})
    distinct = tasks.unique(maintain_order=True)
    names = list(KINDS)
    shapes = [KINDS[names[code]].shape(length_s, text) for code, length_s, text in distinct.iter_rows()]
    numbered = distinct.with_row_index("shape")
    joined = tasks.join(numbered, on=tasks.columns, how="left", maintain_order="left")
    return UtilityShapes.of(shapes), joined["shape"].cast(pl.Int32).to_numpy()
