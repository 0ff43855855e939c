"""Flows of tasks from tables: task types, their speeds and powers, and how they slow each other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from joulewise.errors import InputError, Problem, attempt, raise_if_any
from joulewise.model.arrays import Codes, Counts, Floats
from joulewise.model.facility import NodeTypes, TaskFlows
from joulewise.worlds.facility.colocation import Colocation, class_problems, read_colocation
from joulewise.worlds.facility.site import CLASS_NAMES, DEADLINES_ALONE, TABLE_I, Site
from joulewise.worlds.facility.site_tables import distinct_names
from joulewise.worlds.frames import MAX_LISTED, InputColumn, InputTable, read_table
from joulewise.worlds.parameters import Rule, broken_rules, explained

_TASK = InputColumn("task_type", "", "name of the task type", True)
_RATE = InputColumn("rate_per_s", "1/s", "how many tasks arrive a second", True)
_REWARD = InputColumn("reward", "", "what a task is worth that ends by its deadline; 1 if empty")
_DEADLINE = InputColumn("deadline_s", "s", "time from arrival to deadline; none if empty")
_CLASS = InputColumn("class", "", "memory class: heavy, medium, light, or a class of the table of slowdowns")
_STEPS = InputColumn("steps", "", "steps of a task, with throughputs of pairs in steps per second; 1 if empty")

TASK_COLUMNS = (_TASK, _RATE, _REWARD, _DEADLINE, _CLASS, _STEPS)

_OF_TYPE = InputColumn("node_type", "", "node type, as in the system", True)
_PSTATE = InputColumn("pstate", "", "number of the P-state, 0 for the fastest; 0 if empty")
_SPEED = InputColumn("speed_per_s", "1/s", "tasks that a core runs a second if nothing slows it", True)
_POWER = InputColumn("power_w", "W", "power of the core meanwhile", True)

SPEED_COLUMNS = (_TASK, _OF_TYPE, _PSTATE, _SPEED, _POWER)

_TASK_A = InputColumn("task_a", "", "task type that is slowed", True)
_TASK_B = InputColumn("task_b", "", "task type beside it, on another core of the processor", True)
_ON_TYPE = InputColumn("node_type", "", "node type; all if empty")
_SLOWDOWN = InputColumn("slowdown", "", "by how much longer it takes: 0.3 is 30 % longer", True)

PAIR_COLUMNS = (_TASK_A, _TASK_B, _ON_TYPE, _SLOWDOWN)


@dataclass(frozen=True, kw_only=True)
class FlowTables:
    """The files that describe the tasks which flow in; names are relative to the folder they are read from.

    Either `speeds`, with or without `slowdowns`, or `colocation` must be given. Raises InputError with every problem.
    """

    task_list: str = field(metadata={"help": "table of task types, one row each", "file": True})
    speeds: str | None = explained(None, "table of speeds and powers by task type, node type and P-state", file=True)
    slowdowns: str | None = explained(
        None, "slowdowns by memory class, a row for each, or by task_a and task_b; the published ones if left out",
        file=True,
    )  # fmt: skip
    colocation: str | None = explained(
        None, "throughputs of jobs alone and in pairs on one GPU, in place of speeds and slowdowns", file=True
    )
    deadlines_alone: bool = explained(False, DEADLINES_ALONE)

    def __post_init__(self) -> None:
        raise_if_any(broken_rules("workload", self, _flow_rules(self)))


def _flow_rules(p: FlowTables) -> Iterator[Rule]:
    yield "speeds", (p.speeds is None) != (p.colocation is None), "one of speeds and colocation must be given, not both"
    yield "slowdowns", p.slowdowns is None or p.colocation is None, "must be left out with colocation, which tells them"


class _FlowTasks(NamedTuple):
    table: InputTable
    names: tuple[str, ...]
    rate_per_s: Floats
    reward: Floats
    deadline_s: Floats
    steps: Floats


class _Slowing(NamedTuple):
    """To which class each task type belongs, and what they do to each other, [node type, class, class]."""

    memory_class: Codes
    class_names: tuple[str, ...]
    slowdown: Floats


def read_flows(tables: FlowTables, site: Site, folder: Path = Path()) -> TaskFlows:
    """The tasks that tables in this folder describe, on the node types of a site; InputError with every problem."""
    problems: list[Problem] = []
    tasks = attempt(problems, _tasks, tables.task_list, folder)
    if tasks is None:
        attempt(problems, _check_others, tables, folder)
        raise InputError(*problems)
    if tables.colocation is not None:
        speed, power, slowing = _of_colocation(read_colocation(tables.colocation, folder), tasks, site, tables)
    else:
        speeds = attempt(problems, _speeds, str(tables.speeds), folder, tasks, site)
        slowed = attempt(problems, _slowing, tables, folder, tasks, site.node_types.names)
        if speeds is None or slowed is None:
            raise InputError(*problems)
        (speed, power), slowing = speeds, slowed
    listed = (tasks.names, tasks.rate_per_s, tasks.reward, tasks.deadline_s)
    return TaskFlows(*listed, speed, power, *slowing, deadlines_alone=tables.deadlines_alone)


def check_flows(tables: FlowTables, folder: Path) -> None:
    """InputError with what is wrong in tables of tasks, whatever the site is."""
    problems: list[Problem] = []
    attempt(problems, _tasks, tables.task_list, folder)
    attempt(problems, _check_others, tables, folder)
    raise_if_any(problems)


def _check_others(tables: FlowTables, folder: Path) -> None:
    """InputError with what is wrong in tables of speeds and slowdowns, whatever task types and node types there are."""
    problems: list[Problem] = []
    if tables.colocation is not None:
        attempt(problems, read_colocation, tables.colocation, folder)
    if tables.speeds is not None:
        attempt(problems, _speed_rows, tables.speeds, folder)
    if tables.slowdowns is not None:
        attempt(problems, read_table, tables.slowdowns, folder)
    raise_if_any(problems)


def _tasks(name: str, folder: Path) -> _FlowTasks:
    table = read_table(name, folder)
    table.check_columns(TASK_COLUMNS)
    raise_if_any(table.problems)
    names = distinct_names(table, _TASK)
    rate, reward = table.quantity(_RATE), table.quantity(_REWARD, 1.0)
    deadline, steps = (
        table.quantity(_DEADLINE, math.inf, positive=True),
        table.quantity(_STEPS, 1.0, positive=True),
    )
    if not (table.problems or rate.any()):
        table.add("found no task that arrives", "one rate at least must be above 0", column=_RATE.name)
    raise_if_any(table.problems)
    return _FlowTasks(table, names, rate, reward, deadline, steps)


class _SpeedRows(NamedTuple):
    """A table of speeds and powers, row by row."""

    table: InputTable
    pstate: Counts
    speed_per_s: Floats
    power_w: Floats


def _speed_rows(name: str, folder: Path) -> _SpeedRows:
    """The rows of a table of speeds; InputError with what is wrong in it, whatever task types and node types are."""
    table = read_table(name, folder)
    table.check_columns(SPEED_COLUMNS)
    raise_if_any(table.problems)
    rows = _SpeedRows(table, table.whole(_PSTATE, 0, 0.0), table.quantity(_SPEED), table.quantity(_POWER))
    raise_if_any(table.problems)
    return rows


def _speeds(name: str, folder: Path, tasks: _FlowTasks, site: Site) -> tuple[Floats, Floats]:
    """Speeds and powers as [task type, node type, P-state]; what is not listed cannot run."""
    table, pstate, speed_per_s, power_w = _speed_rows(name, folder)
    types = site.node_types
    task = table.codes(_TASK.name, tasks.names, "task type")
    node_type = table.codes(_OF_TYPE.name, types.names, "node type")
    raise_if_any(table.problems)
    if _PSTATE.name in table.columns:
        table.report_rows(
            _PSTATE.name, pstate >= types.n_pstates[node_type], "must be below the node type's number of P-states"
        )
    key = np.stack((task, node_type, pstate), axis=1)
    repeated = np.ones(len(key), bool)
    repeated[np.unique(key, axis=0, return_index=True)[1]] = False
    table.report_rows(_SPEED.name, repeated, "each task type, node type and P-state may have one row")
    raise_if_any(table.problems)
    shape = (len(tasks.names), types.n_types, int(types.n_pstates.max()))
    row_of, speed, power = np.full(shape, -1), np.zeros(shape), np.zeros(shape)
    at = (task, node_type, pstate)
    row_of[at], speed[at], power[at] = np.arange(task.size), speed_per_s, power_w
    for column, values in ((_SPEED, speed), (_POWER, power)):
        _report_rising(table, column, values, row_of)
    _report_gaps(table, tasks.names, types, row_of)
    raise_if_any(table.problems)
    return speed, power


def _report_gaps(table: InputTable, tasks: tuple[str, ...], types: NodeTypes, row_of: Counts) -> None:
    """Note P-states without a row, of task types that have one for others of the node type."""
    is_there = np.arange(row_of.shape[2]) < types.n_pstates[:, None]
    gaps = np.argwhere((row_of < 0) & is_there & (row_of >= 0).any(axis=2, keepdims=True))
    allowed = "a task type needs a row for each P-state of a node type, or none where it cannot run"
    for task, kind, pstate in gaps[:MAX_LISTED]:
        table.add(f"has no row for {tasks[task]!r} on {types.names[kind]!r} in P-state {pstate}", allowed)
    if len(gaps) > MAX_LISTED:
        table.add(f"{len(gaps) - MAX_LISTED} more rows are missing", allowed)


def _report_rising(table: InputTable, column: InputColumn, values: Floats, row_of: Counts) -> None:
    """Note slower P-states that are faster, or draw more, than the one before."""
    both = (row_of[:, :, 1:] >= 0) & (row_of[:, :, :-1] >= 0)
    rising = np.argwhere(both & (np.diff(values, axis=2) > 1e-9 * values[:, :, :-1]))
    rows = [int(row_of[t, n, p + 1]) for t, n, p in rising]
    table.report([(row, column.name) for row in sorted(rows)], "must not be above that of the P-state before")


def _slowing(tables: FlowTables, folder: Path, tasks: _FlowTasks, types: tuple[str, ...]) -> _Slowing:
    if tables.slowdowns is None:
        return _by_class(tasks.table, CLASS_NAMES, np.array(TABLE_I), len(types))
    table = read_table(tables.slowdowns, folder)
    if _TASK_A.name in table.columns:
        return _by_pair(table, tasks.names, types)
    return _by_class(tasks.table, *_class_table(table), len(types))


def _class_table(table: InputTable) -> tuple[tuple[str, ...], Floats]:
    """A table whose first column names the class that is slowed, and the others that of the neighbour."""
    first, *others = table.columns
    names = distinct_names(table, InputColumn(first, "", "memory class"))
    if list(names) != others:
        table.add(f"found rows {list(names)} and columns {others}", "must be the same classes in one order")
    values = [table.quantity(InputColumn(name, "", "slowdown")) for name in others]
    raise_if_any(table.problems)
    return names, np.column_stack(values)


def _by_class(table: InputTable, names: tuple[str, ...], slowdown: Floats, n_types: int) -> _Slowing:
    if _CLASS.name not in table.columns:
        advice = "or give slowdowns by task_a and task_b"
        table.add(f"has no column {_CLASS.name!r}", f"it holds the {_CLASS.meaning}", advice, column="header")
        raise_if_any(table.problems)
    memory_class = table.codes(_CLASS.name, names, "memory class")
    raise_if_any(table.problems)
    return _Slowing(memory_class.astype(np.int8), names, np.broadcast_to(slowdown, (n_types, *slowdown.shape)))


def _by_pair(table: InputTable, tasks: tuple[str, ...], types: tuple[str, ...]) -> _Slowing:
    """Each task type is a class of its own; every pair must be listed."""
    table.check_columns(PAIR_COLUMNS)
    raise_if_any(table.problems)
    a, b = (table.codes(column.name, tasks, "task type") for column in (_TASK_A, _TASK_B))
    has_types = _ON_TYPE.name in table.columns
    on = table.codes(_ON_TYPE.name, types, "node type", -1) if has_types else np.full(a.size, -1)
    slowdown = table.quantity(_SLOWDOWN)
    raise_if_any(table.problems)
    values = np.full((len(types), len(tasks), len(tasks)), np.nan)
    for is_general in (True, False):
        rows = np.flatnonzero((on < 0) == is_general)
        values[slice(None) if is_general else on[rows], a[rows], b[rows]] = slowdown[rows]
    missing = np.argwhere(np.isnan(values))
    for kind, first, second in missing[:MAX_LISTED]:
        table.add(
            f"has no row for {tasks[first]!r} beside {tasks[second]!r} on {types[kind]!r}", "every pair must be given"
        )
    raise_if_any((*table.problems, *class_problems(table.name, len(tasks))))
    return _Slowing(np.arange(len(tasks), dtype=np.int8), tasks, values)


def _of_colocation(
    colocation: Colocation, tasks: _FlowTasks, site: Site, tables: FlowTables
) -> tuple[Floats, Floats, _Slowing]:
    """Speeds, powers and slowdowns of the tasks on the GPUs that are node types of the site, in P-state 0."""
    types = site.node_types
    raise_if_any(_unknown_in(colocation, tasks, site, tables))
    job = [colocation.jobs.index(name) for name in tasks.names]
    gpu = [colocation.gpus.index(name) for name in types.names]
    shape = (len(tasks.names), types.n_types, int(types.n_pstates.max()))
    speed, power = np.zeros(shape), np.zeros(shape)
    speed[:, :, 0] = colocation.steps_per_s[np.ix_(job, gpu)] / tasks.steps[:, None]
    power[:, :, 0] = site.core_w[:, 0]
    return (
        speed,
        power,
        _Slowing(np.arange(len(job), dtype=np.int8), tasks.names, colocation.slowdown[np.ix_(gpu, job, job)]),
    )


def _unknown_in(colocation: Colocation, tasks: _FlowTasks, site: Site, tables: FlowTables) -> Iterator[Problem]:
    types = site.node_types
    sides = ((tasks.names, colocation.jobs, tables.task_list), (types.names, colocation.gpus, "system"))
    for names, allowed, where in sides:
        for name in [name for name in names if name not in allowed][:MAX_LISTED]:
            yield Problem(
                f"{where}: {name}", f"found no such name in {tables.colocation}", f"there are {', '.join(allowed)}"
            )
    for at in np.flatnonzero(~np.isfinite(site.core_w[:, 0])):
        yield Problem(f"system: {types.names[at]}", "found no core_w", "the power of a busy core must be given")
