"""What the rules of managers look at: an allocation and the manager that is said to have made it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np

from joulewise.check.runs import SoundRuns
from joulewise.check.tasks.clocks import EventClock, EveryInterval, Unknown, by_arrivals
from joulewise.model import Allocation, World
from joulewise.model.arrays import Bools, Floats
from joulewise.model.groups import Dealing


class PolicyLike(Protocol):
    """Of a policy the validator needs the mode, and whether tasks wait until their utility has risen or for longer."""

    @property
    def mode(self) -> str: ...
    @property
    def is_patient(self) -> bool: ...
    @property
    def holds_back(self) -> bool: ...


class ManagerLike(Protocol):
    """The settings of a manager that an allocation must respect."""

    @property
    def policy(self) -> PolicyLike: ...
    @property
    def dropping_threshold(self) -> float: ...
    @property
    def class_thresholds(self) -> Mapping[str, float]: ...
    @property
    def mapping_interval_s(self) -> float: ...
    @property
    def mapping_arrivals(self) -> int | None: ...
    @property
    def mapping_time(self) -> str: ...
    @property
    def mapping_model(self) -> tuple[float, float, float]: ...
    @property
    def environment(self) -> str: ...
    @property
    def permuted(self) -> int: ...
    @property
    def kill_factor(self) -> float: ...
    @property
    def dropping_by(self) -> str: ...
    @property
    def follows_load(self) -> bool: ...
    @property
    def preempts(self) -> bool: ...
    @property
    def checkpoint_s(self) -> float: ...
    @property
    def restart_s(self) -> float: ...
    @property
    def groups(self) -> int: ...
    @property
    def dealing(self) -> Dealing: ...
    @property
    def n_types(self) -> int | None: ...
    @property
    def only_worthwhile(self) -> bool: ...


@dataclass(frozen=True, eq=False)
class ManagedCase:
    """An allocation and the manager that is said to have made it."""

    world: World
    allocation: Allocation
    runs: SoundRuns
    manager: ManagerLike

    @cached_property
    def clock(self) -> EventClock:
        """The mapping events of batch mode."""
        manager, work = self.manager, self.world.workload
        if manager.mapping_time != "free":
            return Unknown()
        if manager.mapping_arrivals is None:
            return EveryInterval(manager.mapping_interval_s)
        last_s = float(self.runs.end_s.max(initial=work.arrival_s[-1]))
        until_s = work.end_s if math.isfinite(work.end_s) else last_s + manager.mapping_interval_s
        return by_arrivals(work.arrival_s, manager.mapping_arrivals, manager.mapping_interval_s, until_s)

    @cached_property
    def turns(self) -> tuple[Floats, Floats]:
        """In immediate mode, when the mapper turns to each task, one after the other, and when it is done with it."""
        arrival_s = self.world.workload.arrival_s
        each_s = sum(self.manager.mapping_model) if self.manager.mapping_time == "given" else 0.0
        before_s: Floats = each_s * np.arange(arrival_s.size, dtype=float)
        turn_s: Floats = np.maximum.accumulate(arrival_s - before_s) + before_s
        return turn_s, turn_s + each_s

    @cached_property
    def threshold(self) -> Floats:
        """The dropping threshold of each task: the least of those of its classes, or else that of all."""
        classed = np.full(self.world.workload.n_tasks, math.inf)
        for name, threshold in self.manager.class_thresholds.items():
            classed = np.where(_is_in_class(self.world, name), np.minimum(classed, threshold), classed)
        return np.where(np.isfinite(classed), classed, self.manager.dropping_threshold)

    @property
    def boot_s(self) -> Floats:
        """How long a machine type takes to wake up."""
        standby = self.world.system.standby
        return np.zeros(self.world.system.n_machine_types) if standby is None else standby.boot_s

    @property
    def is_as_planned(self) -> bool:
        """Whether machines do what the manager expects: tasks take the estimated time and no machine fails."""
        return self.world.workload.stretch is None and not self.world.outages.machine.size

    @property
    def may_hold_back(self) -> bool:
        """Whether the manager may leave a task waiting although a machine is free for it."""
        policy = self.manager.policy
        waits = policy.holds_back or (policy.is_patient and self.world.workload.rise_s is not None)
        return self.world.supply.is_limited or self.manager.only_worthwhile or waits


def _is_in_class(world: World, name: str) -> Bools:
    """Whether each task belongs to a class: a level of a tag, or else the group of its fastest machine type."""
    system, work = world.system, world.workload
    for tag in work.tags.values():
        if name in tag.names:
            return np.array([level == name for level in tag.names])[tag.codes]
    in_group = np.array([group == name for group in system.machine_group])
    return np.asarray((system.best_types(1) & in_group).any(axis=1)[work.task_type])


Rule: TypeAlias = Callable[[ManagedCase], Iterator[str]]
