"""The managed day: a world and a manager with any of its switches, as the managed engine sees them."""

from __future__ import annotations

import copy
import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from joulewise.errors import raise_if_any
from joulewise.kernels.jit import prepared
from joulewise.kernels.linear import REASONS, SOLVED
from joulewise.kernels.outside import Outside
from joulewise.kernels.tasks import assigned, state
from joulewise.kernels.tasks.managed import close_last_event, finish_run, map_managed, open_next_event
from joulewise.kernels.tasks.outside import map_asked
from joulewise.model.allocation import Allocation, BrokenRuns
from joulewise.model.arrays import Counts, Floats
from joulewise.model.world import World
from joulewise.policies.own import Asking
from joulewise.simulate.outside import outside_of
from joulewise.simulate.tasks.arrays import managed_world, new_state
from joulewise.simulate.tasks.event import ASSIGNMENT, Event
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.misfits import managed_problems
from joulewise.simulate.tasks.outside import raise_fault, sight_of
from joulewise.simulate.tasks.values import rising_value, unsolved_program

_map_asked: Any = map_asked
_map_managed: Any = map_managed
_open_next_event: Any = open_next_event
_close_last_event: Any = close_last_event
_finish_run: Any = finish_run
_place_all: Any = assigned.place_all

_ALL_EVENTS = 2**62
_BEFORE_ALL_S = -1.0


@dataclass(frozen=True, eq=False)
class Managed:
    """What the managed engine did: the allocation, events with work, wall-clock seconds.

    Of the events in the counted window it may have skipped some without work, if they are at multiples of an interval;
    those are late that had to wait until the mapping before them was over.
    Of each recorded event with work, `prices` has a row: per second of each machine type, then per joule; and `quotas`
    how many tasks a split lets go to [task type, machine type, P-state].
    """

    allocation: Allocation
    n_mapping_events: int
    n_counted_events: int
    n_late_events: int
    mapping_s: float
    prices: Floats
    quotas: Counts


def manage(world: World, manager: Manager, seed: int = 0, trial: int = 0, n_recorded: int = 0) -> Managed:
    """Let the manager work through the world; InputError when the two do not fit.

    The prices and quotas of the first `n_recorded` events with work are kept.
    """
    engine = start(world, manager, seed, trial, n_recorded)
    began = time.perf_counter()
    engine.run(world.workload.end_s)
    mapping_s = time.perf_counter() - began
    return engine.managed(mapping_s)


def start(world: World, manager: Manager, seed: int = 0, trial: int = 0, n_recorded: int = 0) -> Engine:
    """An engine that has simulated nothing yet; InputError when world and manager do not fit."""
    raise_if_any(managed_problems(world, manager))
    engine = Engine(world, manager, _seed64(seed, trial, manager), n_recorded)
    engine.warm_up()
    return engine


def _seed64(seed: int, trial: int, manager: Manager) -> int:
    text = f"{seed} {trial} policy {manager.policy.name}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


class Engine:
    """The arrays of one run, and the kernels that work on them."""

    def __init__(self, world: World, manager: Manager, seed64: int, n_recorded: int = 0) -> None:
        self.day, self.policy, self.is_measured = world, manager.policy, manager.mapping_time == "measured"
        self.rng, self.n_opened = np.random.default_rng(seed64), 0
        self.world = managed_world(world, manager, seed64)
        self.state = new_state(world, manager, self.world, n_recorded)
        self.asking = None if manager.policy.own is None else Asking(manager.policy.own)

    @cached_property
    def outside(self) -> Outside | None:
        """The user's compiled policy with what it sees of this run, where there is one."""
        own = self.policy.own
        return outside_of(own, sight_of(self.day, self.world, self.state)) if own and own.is_compiled else None

    def run(self, end_s: float, *, is_last: bool = True) -> None:
        """Let events happen up to an instant; after the last ones the machines work off what is planned."""
        if self.asking is not None:
            self._ask(self.asking, end_s, is_last=is_last)
            return
        self._go(end_s, is_last=is_last)
        if self.state.batch.n_rises[0]:
            raise rising_value(self.policy)
        if (status := int(self.state.rolling.program.status[0])) != SOLVED:
            raise unsolved_program(self.policy, REASONS[status])

    def _go(self, end_s: float, *, is_last: bool) -> None:
        """Let the kernel go on; where mapping is measured, event by event."""
        if self.is_measured:
            while self._call(end_s, 1, is_last=False):
                pass
        self._call(end_s, _ALL_EVENTS, is_last=is_last)

    def _ask(self, asking: Asking, end_s: float, *, is_last: bool) -> None:
        """Let a user's own policy assign at all events."""
        with asking.begun(self.day):
            if self.outside is not None:
                self._go(end_s, is_last=is_last)
                raise_fault(self.outside, asking.own, self.day.system.n_machines)
                return
            for event in self.events(end_s, is_last=is_last):
                asking.carry_out(event, ASSIGNMENT, event.assign)

    def _call(self, end_s: float, n_events: int, *, is_last: bool) -> int:
        """Let this many events happen, and remember how long that took."""
        began, how = time.perf_counter(), (end_s, n_events, is_last)
        if self.outside is None:
            happened = _map_managed(self.world, self.state, *how)
        else:
            happened = _map_asked(self.world, self.state, self.outside, *how)
        self.state.clock.instants[state.MAPPING] = time.perf_counter() - began
        return int(happened)

    def looked_ahead(self) -> Engine:
        """This engine as it would be if no event came any more; it stays as it is itself."""
        ahead = copy.copy(self)
        ahead.state = copy.deepcopy(self.state)
        if self.policy.rule == "assigned":
            _finish_run(ahead.world, ahead.state)
        else:
            ahead._call(_BEFORE_ALL_S, 0, is_last=True)
        return ahead

    def warm_up(self) -> None:
        """Compile, or load what was compiled, without simulating anything."""
        if self.policy.rule == "assigned" and self.outside is None:
            self._steps()
        else:
            self._call(_BEFORE_ALL_S, 0, is_last=False)

    def _steps(self) -> tuple[Callable[..., Any], ...]:
        """The kernels that open an event, place rows in it, close it, and finish the run."""
        setting, now = self.world, self.state
        rows, fates = np.empty((0, len(ASSIGNMENT)), np.int64), np.empty(0, np.int64)
        return (
            prepared(_open_next_event, setting, now, _BEFORE_ALL_S),
            prepared(_place_all, setting, now, rows, fates),
            prepared(_close_last_event, setting, now),
            prepared(_finish_run, setting, now),
        )

    def events(self, end_s: float, *, is_last: bool = True) -> Iterator[Event]:
        """The events up to an instant, one after the other; each is open until the next one is asked for."""
        setting, now, (open_event, place_all, close_event, finish) = self.world, self.state, self._steps()
        while open_event(setting, now, end_s):
            began = time.perf_counter()
            yield Event(self.day, setting, now, place_all, self.n_opened, self.rng)
            now.clock.instants[state.MAPPING] = time.perf_counter() - began
            close_event(setting, now)
            self.n_opened += 1
        if is_last:
            finish(setting, now)

    def managed(self, mapping_s: float) -> Managed:
        """What was done, which took so long."""
        worked, counted, late = self.state.clock.counts[[state.WORKED, state.COUNTED, state.LATE]].tolist()
        prices = self.state.prices.path[:worked]
        return Managed(self.allocation(), worked, counted, late, mapping_s, prices, self.quotas())

    def quotas(self) -> Counts:
        """How many tasks were to go where at each recorded event, as [event, task type, machine type, P-state]."""
        option_at, path = self.world.option_at, self.state.rolling.path
        recorded = path[: self.state.clock.counts[state.WORKED], option_at]
        return np.asarray(np.where(option_at == -1, 0, recorded))

    def allocation(self) -> Allocation:
        """What was decided so far."""
        return Allocation(*self.state.plan, _broken_runs(self.state.losses), _broken_runs(self.state.pieces))


def _broken_runs(broken: state.Broken) -> BrokenRuns:
    columns: Any = (column[: broken.size[0]] for column in broken[1:])
    return BrokenRuns(*columns)
