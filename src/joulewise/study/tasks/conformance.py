"""The conformance suite for policies of tasks, built in or of a stranger: `joulewise check-policy`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joulewise.check.tasks.allocation import check_allocation
from joulewise.model.allocation import Allocation, Status
from joulewise.model.supply import Supply
from joulewise.model.system import System
from joulewise.model.utility import UtilityShapes, constant, linear, step
from joulewise.model.workload import Workload
from joulewise.model.world import Outages, World
from joulewise.policies.tasks.heuristic import find_policy
from joulewise.rng import generator
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.serial import Outcome, simulate
from joulewise.study.kinds.conformance import PolicyCheck, Trial, held_against_all, other_names
from joulewise.study.tasks.foresight import foresight

_SIZES = (1, 2, 5, 20, 100)
_LARGEST = 400
_CROWD_S = 120.0


# Worlds, from small to large


def small_world(n_tasks: int, supply: Supply = Supply(), outages: int = 0) -> World:  # noqa: B008 - it is frozen
    """Tasks of three types on six machines of three types, two P-states each; one type cannot run everywhere."""
    rng = generator(n_tasks, "study.tasks.conformance")
    fast_s = rng.integers(20, 200, (3, 3, 1)).astype(float)
    fast_s[0, 1] = math.inf
    power_w = rng.integers(50, 200, (3, 3, 1)) * np.array([1.0, 0.5])
    system = System(("a", "b", "c"), ("x", "y", "z"), np.array([1, 2, 3]), fast_s * [1.0, 1.5], power_w)
    arrival_s = np.sort(rng.integers(0, 10 * n_tasks + 1, n_tasks)).astype(float)
    shapes = UtilityShapes.of([constant(), linear(600.0), step(300.0)])
    kinds = (rng.integers(0, 3, n_tasks, np.int32), rng.integers(0, 3, n_tasks, np.int32))
    scale, hold_s = rng.choice([1.0, 2.0, 4.0], n_tasks), np.zeros(n_tasks)
    work = Workload(arrival_s, *kinds, scale, hold_s, shapes, 0.0, 10.0 * n_tasks + 1000.0)
    machines = np.arange(outages, dtype=np.int32)
    return World(system, work, supply, Outages(machines, np.full(outages, 100.0), np.full(outages, 400.0)))


class TaskTrial(Trial):
    """A policy on a world, with some switches of its manager; in a world of immediate mode there are no limits."""

    work = "task"
    columns = ("machine", "pstate", "start_s", "end_s", "status")

    def run(self) -> Outcome:
        """The outcome of a run."""
        return simulate(replace(self.world), self.manager, seed=1, trial=2)

    def findings(self) -> list[str]:
        """What is wrong with the allocation."""
        return check_allocation(self.world, self.outcome.allocation, self.manager)

    def elsewhere(self) -> TaskTrial:
        """The policy in another world."""
        return replace(self, world=small_world(7), manager=Manager(self.policy))

    def renamed(self) -> TaskTrial:
        """The policy in the same world with other names."""
        return replace(self, world=renamed(self.world))

    def gathered(self) -> TaskTrial:
        """The policy in a like world, in which tasks arrive in crowds and are worth differently much."""
        work, rng = self.world.workload, generator(0, "study.tasks.conformance", "worth")
        scale = work.scale * rng.uniform(1.0, 1.5, work.n_tasks)
        return self._with(replace(work, arrival_s=work.arrival_s // _CROWD_S * _CROWD_S, scale=scale))

    def listed(self, order: NDArray[Any]) -> TaskTrial:
        """The policy in the same world with its tasks in another order."""
        return self._with(self.world.workload.some(order))

    def foresight(self, part: float) -> str:
        """What starts otherwise if another future comes after a part of the tasks, or nothing."""

        def decide(world: World) -> Allocation:
            allocation: Allocation = replace(self, world=world).again().allocation
            return allocation

        return foresight(self.world, self.outcome.allocation, part, decide)

    def arrival_s(self) -> NDArray[Any]:
        """When the tasks arrive."""
        return np.asarray(self.world.workload.arrival_s)

    def _with(self, work: Workload) -> TaskTrial:
        return replace(self, world=replace(self.world, workload=work))

    def parts(self) -> Iterable[Any]:
        """The parts of the world."""
        return parts_of(self.world)

    def has_run(self) -> bool:
        """Whether any task ran."""
        return bool((self.outcome.allocation.status == Status.RAN).any())


def uncertain(world: World) -> World:
    """The same world, where tasks take half to twice as long as they are estimated to."""
    stretch = generator(0, "study.tasks.conformance", "stretch").uniform(0.5, 2.0, world.workload.n_tasks)
    return replace(world, workload=replace(world.workload, stretch=stretch))


def trials(spec: str, folder: Path) -> Iterator[TaskTrial]:
    """The trials of a policy, from small to large; InputError when there is no such policy."""
    policy = find_policy(spec, "check-policy", folder)
    for n_tasks in _SIZES:
        yield TaskTrial(f"{n_tasks} tasks", policy, small_world(n_tasks), Manager(policy, 0.5))
    if policy.mode == "batch":
        budget = Supply(budget_j=20 * 8000.0, day_s=600.0)
        polled = Manager(policy, environment="polled")
        yield TaskTrial("20 polled tasks", policy, small_world(20), polled)
        yield TaskTrial("20 tasks, a budget", policy, small_world(20, budget), Manager(policy))
        capped = Supply(cap_w=np.array([400.0]))
        yield TaskTrial("20 tasks, a power cap", policy, small_world(20, capped), Manager(policy))
        yield TaskTrial("20 tasks, machines that fail", policy, small_world(20, outages=4), Manager(policy))
        yield TaskTrial("20 tasks, times uncertain", policy, uncertain(small_world(20)), Manager(policy))
        given = Manager(policy, mapping_time="given", mapping_model=(5.0, 0.0, 0.0))
        yield TaskTrial("5 tasks, events with nobody waiting", policy, small_world(5), given)
    yield TaskTrial(f"{_LARGEST} tasks", policy, small_world(_LARGEST), Manager(policy, 0.5))


def check_policy(spec: str, folder: Path) -> Iterator[PolicyCheck]:
    """Hold a policy against every check; InputError when there is no such policy."""
    return held_against_all(partial(trials, spec, folder))


def renamed(world: World) -> World:
    """The same world with other names, their order turned round."""
    system, shapes = world.system, world.workload.shapes
    names = {part: other_names(getattr(system, part)) for part in ("task_types", "machine_types")}
    work = replace(world.workload, shapes=replace(shapes, names=other_names(shapes.names)))
    return replace(world, system=replace(system, **names), workload=work)  # type: ignore[arg-type]


def parts_of(world: World) -> tuple[Any, ...]:
    """The parts of a world that hold arrays."""
    system, work = world.system, world.workload
    return (system, system.standby, work, work.shapes, *work.tags.values(), world.supply, world.outages)
