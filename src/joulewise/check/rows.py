"""Rules on each row by itself, of a task or of a lost run: what its columns may hold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from joulewise.check.findings import findings
from joulewise.model import Allocation, Status, World
from joulewise.model.arrays import Bools, Codes, Counts, Floats, Ints


@dataclass(frozen=True, eq=False)
class Placed:
    """Rows that say where and when a task ran; `what` names them."""

    what: str
    task: Counts
    machine: Ints
    pstate: Codes
    start_s: Floats
    end_s: Floats


def placed_rows(world: World, allocation: Allocation) -> tuple[Placed, Placed]:
    """The tasks that ran or were killed, and the lost runs of tasks that exist."""
    task, lost = np.flatnonzero(allocation.used), allocation.lost
    is_known = (lost.task >= 0) & (lost.task < world.workload.n_tasks)
    names = ("machine", "pstate", "start_s", "end_s")
    return (
        Placed("a task that ran", task, *(getattr(allocation, name)[task] for name in names)),
        Placed("a lost run", lost.task[is_known].astype(np.int64), *(getattr(lost, name)[is_known] for name in names)),
    )


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


def _lost_tasks_exist(world: World, allocation: Allocation) -> Iterator[str]:
    task, n_tasks = allocation.lost.task, world.workload.n_tasks
    wrong = task[~_exists(task, n_tasks)]
    yield from findings("task of a lost run", wrong, wrong, f"a number from 0 to {n_tasks - 1}")


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
    _lost_tasks_exist,
    _only_what_ran_has_a_choice,
    _machines_and_pstates_exist,
    _choices_can_run,
    _instants_are_finite,
)
