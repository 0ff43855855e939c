"""What is seen at a mapping event, as columns, and the assignments that are made in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from joulewise.errors import InputError, Problem
from joulewise.kernels.layout import NOBODY, Tasks, Utilities
from joulewise.kernels.tasks import assigned
from joulewise.kernels.tasks.state import EFFECT, HORIZON, LAST, ManagedState, ManagedWorld
from joulewise.model.arrays import Bools, Codes, Counts, Floats, Ints, seen
from joulewise.model.world import World
from joulewise.simulate.event import MappingEvent

ASSIGNMENT = ("task", "machine", "pstate")
"""The columns of what is assigned."""

_ADVICE = {
    assigned.NOT_OFFERED: ("does not wait, or was assigned already", "assign tasks of event.task, each once"),
    assigned.NO_MACHINE: ("is on no machine that there is", "machines are numbers from 0 to {last_machine}"),
    assigned.CANNOT_RUN: ("cannot run there so", "event.exec_s is infinite for what a machine type cannot run"),
}
"""Why an assignment is impossible, and what to do, by what became of it."""


@dataclass(frozen=True, eq=False)
class Event(MappingEvent):
    """A mapping event while it is open.

    Columns of tasks have a row for each of `task`, those that wait; columns of machines one for each machine. Tables
    are by [task type, machine type, P-state]. Times to come are those that are believed. What is drawn from `rng`
    belongs to the run's seed and trial.
    """

    world: World
    _setting: ManagedWorld
    _state: ManagedState
    _place_all: Callable[..., None]
    number: int
    rng: np.random.Generator

    # The instant

    @property
    def now_s(self) -> float:
        """When the event happens."""
        return float(self._state.clock.instants[LAST])

    @property
    def effect_s(self) -> float:
        """When what is assigned can start."""
        return float(self._state.clock.instants[EFFECT])

    @property
    def next_s(self) -> float:
        """When the next event has effect: what would start later is mapped again."""
        return float(self._state.clock.instants[HORIZON])

    # Tasks that wait

    @cached_property
    def task(self) -> Counts:
        """The numbers of those that wait, in order of arrival."""
        heap = self._state.batch.waiting
        return seen(np.sort(heap.items[: heap.size[0]]))

    @cached_property
    def task_type(self) -> Ints:
        """The type of each."""
        return seen(self.world.workload.task_type[self.task])

    @cached_property
    def arrival_s(self) -> Floats:
        """When each came."""
        return seen(self.world.workload.arrival_s[self.task])

    @property
    def waited_s(self) -> Floats:
        """How long each has waited."""
        return seen(np.asarray(self.now_s - self.arrival_s))

    @property
    def worthless_at_s(self) -> Floats:
        """From when on each is worth nothing."""
        return seen(self.world.workload.worthless_at_s[self.task])

    def utility(self, completion_s: ArrayLike, task: ArrayLike | None = None) -> Floats:
        """What tasks (those that wait, row by row) earn when completed at these instants."""
        return self._earned(self.task if task is None else task, completion_s)

    @property
    def _worth(self) -> tuple[Tasks, Utilities]:
        return self._setting.tasks, self._setting.utilities

    # Machines

    @cached_property
    def machine_type(self) -> Counts:
        """The type of each."""
        return seen(self._state.machines.type_of)

    @property
    def free_s(self) -> Floats:
        """When each could start another task, behind what is assigned to it."""
        return seen(self._state.machines.free_s)

    @property
    def n_queued(self) -> Counts:
        """How many tasks were assigned to each in this event."""
        return seen(self._state.machines.n_queued)

    @property
    def running(self) -> Counts:
        """The task that each runs or has pending, or -1."""
        machines = self._state.machines
        return seen(np.asarray(np.where(machines.ready_s > self.now_s, self._state.last_task, NOBODY)))

    @property
    def is_open(self) -> Bools:
        """Whether each takes a task now: it is up and, where machines are polled, idle."""
        return seen(self._state.machines.is_there)

    @property
    def is_polled(self) -> bool:
        """Whether a machine takes one task at an event at most."""
        return bool(self._setting.rules.is_polled)

    @property
    def is_filled(self) -> Bools:
        """Whether nothing more that is assigned to each would be fixed before the next event, as far as is certain."""
        return seen(filled_of(self._setting, self._state))

    # Options

    @cached_property
    def exec_s(self) -> Floats:
        """How long a run takes; infinite where there is no such option."""
        return seen(np.asarray(np.where(self._setting.option_at == NOBODY, np.inf, self.world.system.etc_s)))

    @property
    def power_w(self) -> Floats | None:
        """What a run draws, where that is known."""
        return self.world.system.power_w

    @property
    def energy_j(self) -> Floats:
        """What a run uses."""
        return self.world.system.eec_j

    # What was seen

    @cached_property
    def past(self) -> Past:
        """What has run to its end by now."""
        plan = self._state.plan
        task = np.flatnonzero(plan.end_s <= self.now_s)
        return Past(task, plan.machine[task], plan.pstate[task], plan.start_s[task], plan.end_s[task], self.world)

    # Assigning

    def assign(self, task: ArrayLike, machine: ArrayLike, pstate: ArrayLike = 0) -> Bools:
        """Assign tasks to machines in P-states, in this order, each behind what is assigned there.

        Returns which were assigned: the others are against a limit of energy or power, or on a machine that takes no
        task now, and wait on. Raises InputError for the first that is impossible; those before it are assigned.
        """
        columns = np.broadcast_arrays(*(np.asarray(part) for part in (task, machine, pstate)))
        rows = np.stack([np.ravel(column) for column in columns], axis=1).astype(np.int64)
        fates = np.empty(len(rows), np.int64)
        self._place_all(self._setting, self._state, rows, fates)
        impossible = np.flatnonzero(fates > assigned.REFUSED)
        if impossible.size:
            row, fate = rows[impossible[0]].tolist(), int(fates[impossible[0]])
            raise InputError(impossible_problem(self.place, row, fate, self.machine_type.size))
        return np.asarray(fates == assigned.PLACED)


def impossible_problem(where: str, row: Sequence[int], fate: int, n_machines: int) -> Problem:
    """What is said of an assignment that cannot be made."""
    why, advice = _ADVICE[fate]
    found = "found task {} on machine {} in P-state {}, which {why}".format(*row, why=why)
    return Problem(where, found, advice=advice.format(last_machine=n_machines - 1))


@dataclass(frozen=True, eq=False)
class Past:
    """What has run to its end, a row for each task."""

    task: Counts
    machine: Ints
    pstate: Codes
    start_s: Floats
    end_s: Floats
    _world: World

    @property
    def utility(self) -> Floats:
        """What each has earned."""
        return self._world.workload.utility(self.task, self.end_s)

    @property
    def energy_j(self) -> Floats | None:
        """What each has used, where powers are known."""
        system = self._world.system
        if system.power_w is None:
            return None
        kind = (self._world.workload.task_type[self.task], system.machine_type[self.machine], self.pstate)
        return np.asarray(system.power_w[kind] * (self.end_s - self.start_s))


def filled_of(setting: ManagedWorld, state: ManagedState) -> Bools:
    """Which machines will take nothing more before the next event; none, where only the truth could say."""
    filled = state.machines.filled
    return filled if setting.rules.is_certain else np.zeros(filled.size, np.bool_)
