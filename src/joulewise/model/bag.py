"""A bag of tasks, all there at once, and the allocations of it: whole counts by machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.model.arrays import Counts, Floats, freeze_fields, frozen
from joulewise.model.system import System
from joulewise.visible import Visible

MOST_TASKS = 2**53
"""Counts beyond this are no longer exact as floats; a bag has fewer tasks."""


@dataclass(frozen=True, eq=False)
class Bag(Visible, looks="bags"):
    """How many tasks of each task type are to be run on a system.

    Every machine draws its idle power until the last one is done, or, with `is_off_when_done`, is switched off when
    it has done its own tasks. Raises InputError with every problem found.
    """

    system: System
    counts: Counts
    is_off_when_done: bool = False

    def __post_init__(self) -> None:
        raise_if_any(_count_problems(self.system, self.counts))
        freeze_fields(self, {"counts": np.int64})

    @property
    def n_tasks(self) -> int:
        return int(self.counts.sum())

    @cached_property
    def idle_w(self) -> Floats:
        """What a machine of each type draws while it waits for the last one to be done."""
        standby = None if self.is_off_when_done else self.system.standby
        return frozen(np.zeros(self.system.n_machine_types) if standby is None else standby.idle_w, np.float64)

    @cached_property
    def total_idle_w(self) -> float:
        """What all machines together draw while they do nothing."""
        return float(self.system.counts @ self.idle_w)

    @cached_property
    def exec_s(self) -> Floats:
        """Execution time of each choice; +inf where there is no machine that could run it."""
        has_machines = (self.system.counts > 0)[None, :, None]
        return frozen(np.where(has_machines, self.system.etc_s, np.inf), np.float64)

    @cached_property
    def extra_j(self) -> Floats:
        """Energy of each choice above what the machine would have drawn idle; +inf where it cannot be made."""
        assert self.system.power_w is not None
        possible = np.isfinite(self.exec_s)
        extra_w = self.system.power_w - self.idle_w[None, :, None]
        extra_j = np.full(self.exec_s.shape, np.inf)
        np.multiply(self.exec_s, extra_w, out=extra_j, where=possible)
        return frozen(extra_j, np.float64)


def _count_problems(system: System, counts: Counts) -> Iterator[Problem]:
    given = np.asarray(counts)
    if given.shape != (system.n_task_types,):
        n_types = system.n_task_types
        yield Problem(
            "bag.counts", f"found the shape {given.shape}", f"must be one for each of the {n_types} task types"
        )
    elif not np.isfinite(given).all() or (given < 0).any() or (given != np.floor(given)).any():
        yield Problem("bag.counts", f"found {given.tolist()}", "must be whole numbers, 0 or more")
    elif not 0 < sum(map(int, given)) < MOST_TASKS:
        total = sum(map(int, given))
        yield Problem(
            "bag.counts", f"found {total:,} tasks in all", f"must be at least 1 and below 2^53 ({MOST_TASKS:,})"
        )
    if system.power_w is None:
        yield Problem("system.power_w", "found none", "a bag needs the power of every choice")


def _shape_problems(system: System, counts: Counts) -> Iterator[Problem]:
    shape = (system.n_machines, system.n_task_types, system.n_pstates)
    if counts.shape != shape:
        yield Problem("allocation.counts", f"found the shape {counts.shape}", f"must be {shape}")
    if counts.dtype.kind not in "iu" and not (counts == np.floor(counts)).all():
        yield Problem("allocation.counts", "found parts of tasks", "must be whole numbers")


@dataclass(frozen=True, eq=False)
class BagAllocation(Visible, looks="bags"):
    """Which machine runs how many tasks of each type, in which P-state: `counts[machine, task type, P-state]`.

    Raises InputError where counts are not whole numbers or have another shape; whether they run the bag is for
    `check_bag` to say.
    """

    bag: Bag
    counts: Counts

    def __post_init__(self) -> None:
        raise_if_any(_shape_problems(self.bag.system, np.asarray(self.counts)))
        freeze_fields(self, {"counts": np.int64})

    @cached_property
    def busy_s(self) -> Floats:
        """How long each machine computes; it does so without a break from the start."""
        return frozen(self._summed(self.bag.exec_s), np.float64)

    @cached_property
    def makespan_s(self) -> float:
        """When the last machine is done."""
        return float(self.busy_s.max())

    @cached_property
    def energy_j(self) -> float:
        """Energy of all machines, idle power included."""
        return float(self.machine_energy_j.sum())

    @cached_property
    def machine_energy_j(self) -> Floats:
        """Energy of each machine, its idle power until the makespan included."""
        idle_w = self.bag.idle_w[self.bag.system.machine_type]
        return frozen(self._summed(self.bag.extra_j) + idle_w * self.makespan_s, np.float64)

    @cached_property
    def split(self) -> Counts:
        """How many tasks each choice has, over all machines of a type."""
        system = self.bag.system
        split = np.zeros((system.n_machine_types, *self.counts.shape[1:]), np.int64)
        np.add.at(split, system.machine_type, self.counts)
        return frozen(split.transpose(1, 0, 2), np.int64)

    def tasks(self) -> tuple[Counts, Counts, Counts]:
        """Task type, machine and P-state of every single task, machine by machine."""
        machine, task_type, pstate = np.nonzero(self.counts)
        n_tasks = self.counts[machine, task_type, pstate]
        return np.repeat(task_type, n_tasks), np.repeat(machine, n_tasks), np.repeat(pstate, n_tasks)

    def _summed(self, by_choice: Floats) -> Floats:
        """The sum over its tasks, by machine, of what each choice takes."""
        per_task = np.where(np.isfinite(by_choice), by_choice, 0.0)
        by_machine = per_task.transpose(1, 0, 2)[self.bag.system.machine_type]
        return np.asarray(np.einsum("mtp,mtp->m", self.counts.astype(np.float64), by_machine))
