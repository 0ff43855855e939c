"""A workload from a table of tasks, with utilities by level or by hand, and back."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.model import System, Workload
from joulewise.model.arrays import Floats
from joulewise.worlds.frames import InputColumn, InputTable, read_table
from joulewise.worlds.parameters import explained, is_not_negative
from joulewise.worlds.tasks.truth import TruthParameters, truth_problems
from joulewise.worlds.utilities import (
    UtilityParameters,
    utility_problems,
    with_rise,
    workload_of_levels,
)
from joulewise.worlds.utility_tables import (
    ARRIVAL,
    BY_HAND,
    LEVELS,
    STRETCH,
    check_order,
    check_utilities,
    read_by_hand,
    read_codes,
    read_levels,
)

_TASK_TYPE = InputColumn("task_type", "", "name of the task type, as in etc_s", True)

_RISE = InputColumn("rise_s", "s", "time after arrival in which the utility rises evenly from 0; 0 if empty")

TASK_COLUMNS = (ARRIVAL, _TASK_TYPE, *LEVELS, *BY_HAND, _RISE, STRETCH)


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


def read_workload(parameters: WorkloadTable, system: System, folder: Path = Path()) -> Workload:
    """The workload that a table in this folder lists; InputError with every problem of it and of the window.

    True times are those of the table: what spreads is drawn by `with_truth`.
    """
    table, arrival_s, stretch, rise_s = _columns(parameters, folder)
    task_type = read_codes(table, _TASK_TYPE, system.task_types, "task type")
    if any(column.name in table.columns for column in LEVELS):
        levels = read_levels(table, parameters)
        raise_if_any(table.problems)
        work = workload_of_levels(arrival_s, task_type, levels, system, parameters, *parameters.window_s)
    else:
        shapes, shape, scale, hold_s = read_by_hand(table)
        work = Workload(arrival_s, task_type, shape, scale, hold_s, shapes, *parameters.window_s)
    work = with_rise(work, rise_s) if rise_s.any() else work
    return replace(work, stretch=stretch, is_prorated=parameters.prorated)


def check_tasks(parameters: WorkloadTable, folder: Path) -> None:
    """InputError with what is wrong in a table of tasks, whatever the task types of the system are."""
    table, *_ = _columns(parameters, folder)
    if any(column.name in table.columns for column in LEVELS):
        read_levels(table, parameters)
        raise_if_any(table.problems)
    else:
        read_by_hand(table)


def _columns(parameters: WorkloadTable, folder: Path) -> tuple[InputTable, Floats, Floats | None, Floats]:
    """The table of tasks, when they arrive, how long they really run and rise; problems are noted in the table."""
    table = _read_tasks(parameters, folder)
    table.check_columns(TASK_COLUMNS)
    check_utilities(table)
    stretch = _stretch(table, parameters)
    arrival_s = table.quantity(ARRIVAL)
    check_order(table, arrival_s)
    return table, arrival_s, stretch, table.quantity(_RISE, 0.0)


def workload_frame(workload: Workload, system: System) -> pl.DataFrame:
    """The table of a workload that was described by levels; InputError for any other."""
    names = [column.name for column in LEVELS]
    if not all(name in workload.tags for name in names):
        found = "found tasks without priority, urgency and utility class"
        raise InputError(Problem("workload", found, "only workloads described by these levels have a table"))
    tags = {name: np.array(workload.tags[name].names)[workload.tags[name].codes] for name in names}
    task_types = np.array(system.task_types)[workload.task_type]
    more = {name: workload.columns[name] for name in (_RISE.name, STRETCH.name) if name in workload.columns}
    return pl.DataFrame({ARRIVAL.name: workload.arrival_s, _TASK_TYPE.name: task_types, **tags, **more})


def _read_tasks(parameters: WorkloadTable, folder: Path) -> InputTable:
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


def _stretch(table: InputTable, parameters: WorkloadTable) -> Floats | None:
    """The column of true over estimated times, None where there is none; it may not be there twice."""
    if STRETCH.name not in table.columns:
        return None
    if parameters.time_spread > 0:
        found = f"found a column of true times, and workload.time_spread = {parameters.time_spread:g}"
        table.add(found, "must be exactly one of the two", "leave time_spread or the column out", column=STRETCH.name)
    return table.quantity(STRETCH, 1.0, positive=True)
