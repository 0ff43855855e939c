"""Rules on the tasks that ran, whoever decided: times follow from choices, a machine runs one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from joulewise.check.findings import RELATIVE_TOLERANCE, findings, rounding_s
from joulewise.check.rows import etc_of_choice_s
from joulewise.model import Allocation, World
from joulewise.model.arrays import Bools, Counts, Floats, Ints


@dataclass(frozen=True, eq=False)
class Runs:
    """The tasks that ran by a possible choice, as columns."""

    task: Counts
    machine: Ints
    arrival_s: Floats
    exec_s: Floats
    start_s: Floats
    end_s: Floats

    def by_machine(self, then: Floats | Counts) -> Runs:
        """The same rows sorted by machine, and on each machine by this column."""
        order = np.lexsort((then, self.machine))
        return Runs(*(column[order] for column in vars(self).values()))

    @property
    def freed_at_s(self) -> Floats:
        """When the machine was done with the row before; -inf in the first row of each machine."""
        freed = np.full(self.task.size, -np.inf)
        follows = np.flatnonzero(self.machine[1:] == self.machine[:-1]) + 1
        freed[follows] = self.end_s[follows - 1]
        return freed

    @property
    def right_after_another(self) -> Bools:
        """Whether each row starts when its machine is done with the row before."""
        return np.asarray(np.abs(self.start_s - self.freed_at_s) <= rounding_s(self.start_s))


def sound_runs(world: World, allocation: Allocation) -> Runs:
    """The runs that the row rules leave nothing to say about, in order of the tasks."""
    exec_s = etc_of_choice_s(world, allocation)
    task = np.flatnonzero(np.isfinite(exec_s) & np.isfinite(allocation.start_s) & np.isfinite(allocation.end_s))
    arrival_s = world.workload.arrival_s[task]
    start_s, end_s = allocation.start_s[task], allocation.end_s[task]
    return Runs(task, allocation.machine[task], arrival_s, exec_s[task], start_s, end_s)


def _start_after_arrival(runs: Runs) -> Iterator[str]:
    wrong = runs.start_s < runs.arrival_s
    why = " (its arrival) or later"
    yield from findings("start_s", runs.task[wrong], runs.start_s[wrong], runs.arrival_s[wrong], why)


def _end_after_the_etc(runs: Runs) -> Iterator[str]:
    due_s = runs.start_s + runs.exec_s
    slack_s = RELATIVE_TOLERANCE * runs.exec_s + rounding_s(due_s)
    wrong = np.abs(runs.end_s - due_s) > slack_s
    yield from findings("end_s", runs.task[wrong], runs.end_s[wrong], due_s[wrong], " (start plus ETC)")


def _one_at_a_time(runs: Runs) -> Iterator[str]:
    queue = runs.by_machine(then=runs.start_s)
    freed_at_s = queue.freed_at_s
    wrong = queue.start_s < freed_at_s - rounding_s(queue.start_s)
    why = " or later, when its machine is done with the task before"
    yield from findings("start_s", queue.task[wrong], queue.start_s[wrong], freed_at_s[wrong], why)


RUN_RULES = (_start_after_arrival, _end_after_the_etc, _one_at_a_time)
