"""Rules on each task's row by itself: what its columns may hold."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from joulewise.check.findings import findings
from joulewise.model import Allocation, Status, World
from joulewise.model.arrays import Bools, Floats


def choice_exists(world: World, allocation: Allocation) -> Bools:
    """Which tasks ran on a machine and in a P-state that exist."""
    machine, pstate = allocation.machine, allocation.pstate
    exists = (machine >= 0) & (machine < world.system.n_machines)
    return np.asarray(allocation.ran & exists & (pstate >= 0) & (pstate < world.system.n_pstates))


def etc_of_choice_s(world: World, allocation: Allocation) -> Floats:
    """How long each task takes where it was put: inf where it cannot run, NaN without an existing choice."""
    exec_s = np.full(allocation.n_tasks, np.nan)
    placed = choice_exists(world, allocation)
    machine_type = world.system.machine_type[allocation.machine[placed]]
    choice = (world.workload.task_type[placed], machine_type, allocation.pstate[placed])
    exec_s[placed] = world.system.etc_s[choice]
    return exec_s


def _statuses_are_known(_world: World, allocation: Allocation) -> Iterator[str]:
    wrong = np.flatnonzero(~np.isin(allocation.status, [int(status) for status in Status]))
    expected = " or ".join(f"{int(status)} ({status.name})" for status in Status)
    yield from findings("status", wrong, allocation.status[wrong], expected)


def _only_what_ran_has_a_choice(_world: World, allocation: Allocation) -> Iterator[str]:
    for name, missing in (("machine", -1), ("pstate", -1), ("start_s", math.nan), ("end_s", math.nan)):
        column = getattr(allocation, name)
        empty = np.isnan(column) if math.isnan(missing) else column == missing
        wrong = np.flatnonzero(~allocation.ran & ~empty)
        yield from findings(f"{name} of a task that did not run", wrong, column[wrong], missing)


def _machines_and_pstates_exist(world: World, allocation: Allocation) -> Iterator[str]:
    for name, n in (("machine", world.system.n_machines), ("pstate", world.system.n_pstates)):
        column = getattr(allocation, name)
        wrong = np.flatnonzero(allocation.ran & ~((column >= 0) & (column < n)))
        yield from findings(name, wrong, column[wrong], f"a number from 0 to {n - 1}")


def _choices_can_run(world: World, allocation: Allocation) -> Iterator[str]:
    exec_s = etc_of_choice_s(world, allocation)
    wrong = np.flatnonzero(np.isinf(exec_s))
    what = "ETC on its machine in its P-state"
    yield from findings(what, wrong, exec_s[wrong], "a choice that can run its task type")


def _instants_are_finite(_world: World, allocation: Allocation) -> Iterator[str]:
    for name in ("start_s", "end_s"):
        column = getattr(allocation, name)
        wrong = np.flatnonzero(allocation.ran & ~np.isfinite(column))
        yield from findings(f"{name} of a task that ran", wrong, column[wrong], "a finite instant")


ROW_RULES = (
    _statuses_are_known,
    _only_what_ran_has_a_choice,
    _machines_and_pstates_exist,
    _choices_can_run,
    _instants_are_finite,
)
