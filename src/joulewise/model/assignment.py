"""What is to be done with tasks that are all known in advance: which task runs where, in which P-state, in which "
"order."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.model.allocation import Allocation
from joulewise.model.arrays import Bools, Codes, Ints, freeze_fields
from joulewise.model.workload import Workload
from joulewise.model.world import World
from joulewise.visible import Visible

NOT_RUN = -1
"""The machine of a task that is not to run."""


@dataclass(frozen=True, eq=False)
class Assignment(Visible, looks="assignments"):
    """One row per task, in order of arrival; when each task starts follows from all rows together (Friese 5.4.4).

    A machine takes its tasks by `order`, those of equal order as they arrive; each starts as soon as the machine is
    free and it has arrived. The machine is NOT_RUN for tasks that are left out. Raises InputError with every problem.
    """

    machine: Ints
    pstate: Codes
    order: Ints

    def __post_init__(self) -> None:
        freeze_fields(self, {"machine": np.int32, "pstate": np.int8, "order": np.int32})
        raise_if_any(_problems(self))

    @property
    def n_tasks(self) -> int:
        return self.machine.size

    @property
    def runs(self) -> Bools:
        """Which tasks are to run."""
        return np.asarray(self.machine != NOT_RUN)

    @staticmethod
    def of(allocation: Allocation) -> Assignment:
        """What an allocation did, as an assignment: the order is that of the starts; the others are not to run."""
        ran = allocation.ran
        order = np.empty(allocation.n_tasks, np.int32)
        order[np.argsort(np.where(ran, allocation.start_s, np.inf), kind="stable")] = np.arange(order.size)
        return Assignment(np.where(ran, allocation.machine, NOT_RUN), np.where(ran, allocation.pstate, 0), order)


def begin_s(work: Workload) -> float:
    """From when on times are counted: the first arrival, rounded down so that no arrival loses a digit."""
    first_s, last_s = float(work.arrival_s[0]), float(work.arrival_s[-1])
    return first_s - math.fmod(first_s, math.ulp(last_s))


def from_begin(world: World) -> World:
    """The same world with arrivals counted from `begin_s`: what assignments earn is as exact as at instant 0."""
    work = world.workload
    return replace(world, workload=replace(work, arrival_s=work.arrival_s - begin_s(work)))


def _problems(assignment: Assignment) -> Iterator[Problem]:
    sizes = {assignment.machine.shape, assignment.pstate.shape, assignment.order.shape}
    if len(sizes) != 1 or assignment.machine.ndim != 1:
        yield Problem("assignment", f"found columns of the shapes {sorted(sizes)}", "all must have one row per task")
        return
    n = assignment.n_tasks
    checks = (
        ("machine", assignment.machine < NOT_RUN, "must be the number of a machine, or -1: not to run"),
        ("pstate", assignment.pstate < 0, "must be the number of a P-state, from 0"),
        ("order", (assignment.order < 0) | (assignment.order >= n), f"must be from 0 to {n - 1}"),
    )
    for name, wrong, allowed in checks:
        if wrong.any():
            row = int(np.argmax(wrong))
            yield Problem(f"assignment.{name}: task {row}", f"found {getattr(assignment, name)[row]}", allowed)
