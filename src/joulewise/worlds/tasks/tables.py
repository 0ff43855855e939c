"""A workload from a table of tasks, with utilities by level or by hand, and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.model import Shape, System, UtilityShapes, Workload, constant, linear, piecewise, step
from joulewise.model.arrays import Floats, Ints
from joulewise.worlds.frames import Column, Table, read_table
from joulewise.worlds.parameters import explained, is_not_negative
from joulewise.worlds.tasks.truth import TruthParameters, truth_problems
from joulewise.worlds.utilities import (
    PRIORITIES,
    URGENCIES,
    Levels,
    UtilityParameters,
    utility_problems,
    workload_of_levels,
)

ARRIVAL = Column("arrival_s", "s", "instant of arrival, in rising order", True)
_TASK_TYPE = Column("task_type", "", "name of the task type, as in etc_s", True)
LEVELS = (
    Column("priority", "", f"one of {', '.join(PRIORITIES)}; goes with urgency and utility_class"),
    Column("urgency", "", f"one of {', '.join(URGENCIES)}"),
    Column("utility_class", "", "one of the study's utility classes, such as A"),
)
_UTILITY = Column("utility", "", "shape by hand: constant, linear, step or piecewise; constant if empty")
_MAX_UTILITY = Column("max_utility", "", "multiplies the utility; 1 if empty")
_HOLD = Column("hold_s", "s", "time after arrival before the utility begins to change; 0 if empty")
_DURATION = Column(
    "duration_s",
    "s",
    "after the hold; linear: time in which the utility falls to 0; step: deadline, at which it is already 0",
)
_POINTS = Column("utility_points", "", 'piecewise: "seconds:value" pairs after the hold, such as "0:1 600:0.5 900:0"')
BY_HAND = (_UTILITY, _MAX_UTILITY, _HOLD, _DURATION, _POINTS)

STRETCH = Column("stretch", "", "how long the task really runs over its estimated time; 1 if empty")

TASK_COLUMNS = (ARRIVAL, _TASK_TYPE, *LEVELS, *BY_HAND, STRETCH)


@dataclass(frozen=True, kw_only=True)
class WorkloadTable(TruthParameters, UtilityParameters):
    """The file that lists the tasks, the window in which completions count, and what the levels mean.

    Raises InputError with every problem of the levels; the window is checked together with the tasks.
    """

    tasks: str = field(metadata={"help": "table of tasks, one row each, in order of arrival", "file": True})
    start_s: float = explained(0.0, "completions after this instant count")
    end_s: float | None = explained(None, "completions up to this instant count; there is no end if left out")

    def __post_init__(self) -> None:
        raise_if_any((*utility_problems(self), *truth_problems(self)))

    @property
    def window_s(self) -> tuple[float, float]:
        """Completions after the first instant and up to the second count."""
        return self.start_s, math.inf if self.end_s is None else self.end_s


class _Kind(NamedTuple):
    """A shape that people write by hand: the column it needs, and how to make it from duration and points."""

    needs: Column | None
    shape: Callable[[float, str], Shape]


KINDS: dict[str, _Kind] = {
    "constant": _Kind(None, lambda _duration_s, _points: constant()),
    "linear": _Kind(_DURATION, lambda duration_s, _points: linear(duration_s)),
    "step": _Kind(_DURATION, lambda duration_s, _points: step(duration_s)),
    "piecewise": _Kind(_POINTS, lambda _duration_s, points: piecewise(parse_points(points), points)),
}


def read_workload(parameters: WorkloadTable, system: System, folder: Path = Path()) -> Workload:
    """The workload that a table in this folder lists; InputError with every problem of it and of the window.

    True times are those of the table: what spreads is drawn by `with_truth`.
    """
    table = _read_tasks(parameters, folder)
    table.check_columns(TASK_COLUMNS)
    check_utilities(table)
    stretch = _stretch(table, parameters)
    arrival_s = table.quantity(ARRIVAL)
    check_order(table, arrival_s)
    task_type = _codes(table, _TASK_TYPE, system.task_types, "task type")
    if any(column.name in table.columns for column in LEVELS):
        levels = read_levels(table, parameters)
        raise_if_any(table.problems)
        work = workload_of_levels(arrival_s, task_type, levels, system, parameters, *parameters.window_s)
    else:
        shapes, shape, scale, hold_s = read_by_hand(table)
        work = Workload(arrival_s, task_type, shape, scale, hold_s, shapes, *parameters.window_s)
    return replace(work, stretch=stretch, is_prorated=parameters.prorated)


def workload_frame(workload: Workload, system: System) -> pl.DataFrame:
    """The table of a workload that was described by levels; InputError for any other."""
    names = [column.name for column in LEVELS]
    if not all(name in workload.tags for name in names):
        found = "found tasks without priority, urgency and utility class"
        raise InputError(Problem("workload", found, "only workloads described by these levels have a table"))
    tags = {name: np.array(workload.tags[name].names)[workload.tags[name].codes] for name in names}
    task_types = np.array(system.task_types)[workload.task_type]
    true = {} if workload.stretch is None else {STRETCH.name: workload.stretch}
    return pl.DataFrame({ARRIVAL.name: workload.arrival_s, _TASK_TYPE.name: task_types, **tags, **true})


def parse_points(text: str) -> list[tuple[float, float]]:
    """The points of "seconds:value" pairs between spaces or semicolons; ValueError for anything else."""
    pairs = [pair.split(":") for pair in text.replace(";", " ").split()]
    if not pairs or any(len(pair) != 2 for pair in pairs):
        raise ValueError(text)
    return [(float(at_s), float(value)) for at_s, value in pairs]


def _read_tasks(parameters: WorkloadTable, folder: Path) -> Table:
    """The table of tasks, with the problems of the window noted; InputError when it cannot be read."""
    problems = tuple(_window_problems(*parameters.window_s))
    try:
        table = read_table(parameters.tasks, folder)
    except InputError as error:
        raise InputError(*problems, *error.problems) from error
    table.problems.extend(problems)
    return table


def _window_problems(start_s: float, end_s: float) -> Iterator[Problem]:
    """What is wrong with the counted window, under the names that a study file has for its ends."""
    if not is_not_negative(start_s):
        yield Problem("workload.start", f"found {start_s:g} s", "must be 0 s or later")
    if not start_s < end_s:
        yield Problem("workload.end", f"found {end_s:g} s", f"must be after the start, {start_s:g} s")


def check_utilities(table: Table) -> None:
    """One way of giving utilities, not both, and all columns of it."""
    levels = [column.name for column in LEVELS if column.name in table.columns]
    by_hand = [column.name for column in BY_HAND if column.name in table.columns]
    if levels and by_hand:
        found = f"found utilities both by level ({', '.join(levels)}) and by hand ({', '.join(by_hand)})"
        table.add(found, "must be exactly one of the two", column="header")
    if levels and len(levels) < len(LEVELS):
        wanted = ", ".join(column.name for column in LEVELS)
        table.add(f"found only {', '.join(levels)}", f"utilities by level need {wanted}", column="header")


def check_order(table: Table, arrival_s: Floats) -> None:
    """Note every arrival before the one in the row above."""
    falls = np.concatenate(([False], np.diff(arrival_s) < 0))
    if falls.any():
        advice = f"sort the table by {ARRIVAL.name}"
        table.report_rows(ARRIVAL.name, falls, "must not be before the arrival in the row above", advice)


def _stretch(table: Table, parameters: WorkloadTable) -> Floats | None:
    """The column of true over estimated times, None where there is none; it may not be there twice."""
    if STRETCH.name not in table.columns:
        return None
    if parameters.time_spread > 0:
        found = f"found a column of true times, and workload.time_spread = {parameters.time_spread:g}"
        table.add(found, "must be exactly one of the two", "leave time_spread or the column out", column=STRETCH.name)
    return table.quantity(STRETCH, 1.0, positive=True)


def _codes(table: Table, column: Column, choices: tuple[str, ...], what: str) -> Ints:
    if column.name not in table.columns:
        return np.full(table.frame.height, -1, dtype=np.int32)
    return table.codes(column.name, choices, what)


def read_levels(table: Table, parameters: UtilityParameters) -> Levels:
    """The levels of each task; what is wrong with them is noted."""
    choices = (PRIORITIES, URGENCIES, tuple(parameters.intervals))
    whats = ("priority", "urgency", "utility class")
    return Levels(
        *(
            _codes(table, column, names, what).astype(np.int8)
            for column, names, what in zip(LEVELS, choices, whats, strict=True)
        )
    )


def read_by_hand(table: Table) -> tuple[UtilityShapes, Ints, Floats, Floats]:
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


def _texts(table: Table, column: Column) -> pl.Series:
    """A column as text; all null where it is absent."""
    if column.name in table.columns:
        return table.texts(column.name)
    return pl.Series([None] * table.frame.height, dtype=pl.String)


def _kinds(table: Table) -> Ints:
    """The position of each task's kind in `KINDS`; an empty one is constant, an unknown one is reported."""
    if _UTILITY.name not in table.columns:
        return np.full(table.frame.height, _code("constant"), dtype=np.int32)
    return table.codes(_UTILITY.name, tuple(KINDS), "utility shape", default=_code("constant"))


def _check_needs(table: Table, kind: Ints) -> None:
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


def _check_points(table: Table, points: pl.Series) -> None:
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
