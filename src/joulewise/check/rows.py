"""Rules on each row by itself, of a task or of a run that did not complete one: what its columns may hold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from joulewise.check.findings import findings
from joulewise.model import Allocation, Status, World
from joulewise.model.allocation import BrokenRuns
from joulewise.model.arrays import Bools, Codes, Counts, Floats, Ints

_PLACE = ("machine", "pstate", "start_s", "end_s")


@dataclass(frozen=True, eq=False)
class Placed:
    """Rows that say where and when a task ran; `what` names them."""

    what: str
    task: Counts
    machine: Ints
    pstate: Codes
    start_s: Floats
    end_s: Floats


def placed_rows(world: World, allocation: Allocation) -> tuple[Placed, Placed, Placed]:
    """The tasks that ran or were killed, and the lost runs and pieces of tasks that exist."""
    task = np.flatnonzero(allocation.used)
    return (
        Placed("a task that ran", task, *(getattr(allocation, name)[task] for name in _PLACE)),
        _broken_rows(world, "a lost run", allocation.lost),
        _broken_rows(world, "a piece", allocation.pieces),
    )


def _broken_rows(world: World, what: str, broken: BrokenRuns) -> Placed:
    known = _exists(broken.task, world.workload.n_tasks)
    return Placed(what, broken.task[known].astype(np.int64), *(getattr(broken, name)[known] for name in _PLACE))


def etc_of_choice_s(world: World, rows: Placed) -> Floats:
    """How long tasks are expected to take where they were put: inf where they cannot run, NaN where nothing is."""
    exec_s = np.full(rows.task.size, np.nan)
    exists = _exists(rows.machine, world.system.n_machines) & _exists(rows.pstate, world.system.n_pstates)
    machine_type = world.system.machine_type[rows.machine[exists]]
    choice = (world.workload.task_type[rows.task[exists]], machine_type, rows.pstate[exists])
    exec_s[exists] = world.system.etc_s[choice]
    return exec_s


def _exists(number: Ints | Codes, n: int) -> Bools:
    return np.asarray((number >= 0) & (number < n))


def _statuses_are_known(_world: World, allocation: Allocation) -> Iterator[str]:
    wrong = np.flatnonzero(~np.isin(allocation.status, [int(status) for status in Status]))
    expected = " or ".join(f"{int(status)} ({status.name})" for status in Status)
    yield from findings("status", wrong, allocation.status[wrong], expected)


def _broken_tasks_exist(world: World, allocation: Allocation) -> Iterator[str]:
    n_tasks = world.workload.n_tasks
    for what, broken in (("a lost run", allocation.lost), ("a piece", allocation.pieces)):
        wrong = broken.task[~_exists(broken.task, n_tasks)]
        yield from findings(f"task of {what}", wrong, wrong, f"a number from 0 to {n_tasks - 1}")


def _only_what_ran_has_a_choice(_world: World, allocation: Allocation) -> Iterator[str]:
    for name, missing in (("machine", -1), ("pstate", -1), ("start_s", math.nan), ("end_s", math.nan)):
        column = getattr(allocation, name)
        empty = np.isnan(column) if math.isnan(missing) else column == missing
        wrong = np.flatnonzero(~allocation.used & ~empty)
        yield from findings(f"{name} of a task that did not run", wrong, column[wrong], missing)


def _machines_and_pstates_exist(world: World, allocation: Allocation) -> Iterator[str]:
    for rows in placed_rows(world, allocation):
        for name, n in (("machine", world.system.n_machines), ("pstate", world.system.n_pstates)):
            column = getattr(rows, name)
            wrong = ~_exists(column, n)
            yield from findings(name, rows.task[wrong], column[wrong], f"a number from 0 to {n - 1}")


def _choices_can_run(world: World, allocation: Allocation) -> Iterator[str]:
    for rows in placed_rows(world, allocation):
        exec_s = etc_of_choice_s(world, rows)
        wrong = np.isinf(exec_s)
        what = "ETC on its machine in its P-state"
        yield from findings(what, rows.task[wrong], exec_s[wrong], "a choice that can run its task type")


def _instants_are_finite(world: World, allocation: Allocation) -> Iterator[str]:
    for rows in placed_rows(world, allocation):
        for name in ("start_s", "end_s"):
            column = getattr(rows, name)
            wrong = ~np.isfinite(column)
            yield from findings(f"{name} of {rows.what}", rows.task[wrong], column[wrong], "a finite instant")


ROW_RULES = (
    _statuses_are_known,
    _broken_tasks_exist,
    _only_what_ran_has_a_choice,
    _machines_and_pstates_exist,
    _choices_can_run,
    _instants_are_finite,
)
