"""A day of serial tasks: the world and a manager go in, an allocation comes out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.kernels.jit import mark_kernels_compiled
from joulewise.kernels.layout import Plan, empty_plan
from joulewise.kernels.tasks.by_type import empty_queues, map_by_type
from joulewise.kernels.tasks.fleet import Fleet, idle_fleet
from joulewise.kernels.tasks.immediate import map_as_told, map_on_arrival
from joulewise.kernels.tasks.lazy import empty_pool, map_lazily
from joulewise.kernels.tasks.plain import map_on_arrival_plainly, map_plainly, no_candidates
from joulewise.kernels.tasks.sufferage import empty_crowd, map_by_sufferage
from joulewise.model.allocation import Allocation
from joulewise.model.arrays import Floats
from joulewise.model.world import World
from joulewise.policies.layout import Layout, layout_of
from joulewise.policies.tasks.compile import compiled, looks_at_energy
from joulewise.policies.tasks.policy import Policy
from joulewise.rng import generator
from joulewise.simulate.tasks.dropping import thresholds
from joulewise.simulate.tasks.managed import manage, needs_managing
from joulewise.simulate.tasks.manager import Manager, uses_managed_engine

_BEFORE_ALL_S = -1.0


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a manager did with a world.

    `n_mapping_events` are those of the whole run that had work, `n_counted_events` those that fell into the
    counted window, with work or without; `mapping_s` is the wall-clock time that mapping took. Of the counted events,
    `n_late_events` had to wait until the mapping before them was over.
    """

    allocation: Allocation
    n_mapping_events: int
    n_counted_events: int
    mapping_s: float
    n_late_events: int = 0


def simulate(world: World, manager: Manager, seed: int = 0, trial: int = 0) -> Outcome:
    """Run the manager over the world's whole workload, until its window ends or all work is done.

    Deterministic: `seed` and `trial` only feed policies that draw at random. Raises InputError when the
    policy's function cannot be used.
    """
    if uses_managed_engine(manager) or needs_managing(world):
        done = manage(world, manager, seed, trial)
        mark_kernels_compiled()
        has_grid = manager.mapping_arrivals is None and manager.mapping_time == "free"
        n_counted = counted_events(world, manager, done.allocation) if has_grid else done.n_counted_events
        return Outcome(done.allocation, done.n_mapping_events, n_counted, done.mapping_s, done.n_late_events)
    plan = empty_plan(world.workload.n_tasks)
    run_until = _runner(world, manager, plan, seed, trial)
    run_until(_BEFORE_ALL_S)  # compiles, or loads what was compiled, without simulating anything
    began = time.perf_counter()
    n_events = run_until(world.workload.end_s)
    mapping_s = time.perf_counter() - began
    mark_kernels_compiled()
    allocation = Allocation(*plan)
    return Outcome(allocation, n_events, counted_events(world, manager, allocation), mapping_s)


def counted_events(world: World, manager: Manager, allocation: Allocation) -> int:
    """How many mapping events fall into the counted window; one without an end is over with the last start."""
    work = world.workload
    if manager.policy.mode == "immediate":
        return int(work.in_window(work.arrival_s).sum())
    last_s = float(np.nanmax(allocation.start_s, initial=work.start_s))
    end_s = work.end_s if math.isfinite(work.end_s) else last_s
    return math.floor(end_s / manager.mapping_interval_s) - math.floor(work.start_s / manager.mapping_interval_s)


def _runner(world: World, manager: Manager, plan: Plan, seed: int, trial: int) -> Callable[[float], int]:
    """The kernel for the manager's policy as a function of the instant to run to; it returns mapping events."""
    policy, layout = manager.policy, layout_of(world, manager.n_types)
    fleet = idle_fleet(world.system.counts)
    threshold = thresholds(world, manager)
    if policy.objective is None:
        return _follower(world, manager, layout, fleet, plan, threshold, seed, trial)
    engine = _ENGINES[policy.rule, policy.mode, policy.objective.falls_with_time, policy.objective.by_type]
    sizes = (world.workload.n_tasks, world.system.n_task_types, world.system.n_machine_types)
    room = (engine.make_room(*sizes),) if engine.make_room else ()
    value = (_usable(policy, world),) if engine.takes_value else ()
    is_batch = policy.mode == "batch"
    everywhere = (layout_of(world).options,) if is_batch else ()  # batch mode drops by what any machine offers
    clock = (manager.mapping_interval_s,) if is_batch else ()
    arguments = (*room, *value, *layout, *everywhere, fleet, plan, threshold, *clock)

    def run_until(end_s: float) -> int:
        n_events = int(engine.kernel(*arguments, end_s))
        if any(getattr(arrays, "n_rises", (0,))[0] for arrays in room):
            found = "its value rose with waiting in this run, although it was declared falls_with_time"
            raise InputError(Problem(f"policy {policy.name}", found, advice="leave falls_with_time out"))
        return n_events

    return run_until


def _usable(policy: Policy, world: World) -> Any:
    """The policy's compiled objective; InputError when it needs what the system lacks."""
    assert policy.objective is not None
    value = compiled(policy.objective)
    if world.system.power_w is None and looks_at_energy(value):
        found = "looks at energy, but the system has no power figures"
        raise InputError(Problem(f"policy {policy.name}", found, advice="give the system's powers (power_w)"))
    return value


def _follower(
    world: World, manager: Manager, layout: Layout, fleet: Fleet, plan: Plan, threshold: Floats, seed: int, trial: int
) -> Callable[[float], int]:
    """The same for a policy that picks machines without a look at their state."""
    policy, pick = manager.policy, manager.policy.picks
    assert pick is not None

    def run_until(end_s: float) -> int:
        allowed = world.system.best_types(manager.n_types)
        machine = pick(world, allowed, generator(seed, trial, "policy", policy.name))
        exec_s = world.system.etc_s[layout.tasks.task_type, world.system.machine_type[machine], 0]
        return int(_AS_TOLD(machine, layout.tasks, layout.utilities, exec_s, fleet, plan, threshold, end_s))

    return run_until


_AS_TOLD: Any = map_as_told


class _Engine(NamedTuple):
    """A kernel, what makes the arrays it works in, and whether it takes an objective or knows its own."""

    kernel: Any
    make_room: Callable[[int, int, int], Any] | None = None
    takes_value: bool = True


_ENGINES = {  # (rule, mode, falls with time, by type)
    ("greedy", "immediate", True, False): _Engine(map_on_arrival),
    ("greedy", "immediate", True, True): _Engine(map_on_arrival),
    ("greedy", "immediate", False, False): _Engine(map_on_arrival_plainly, no_candidates),
    ("greedy", "batch", True, False): _Engine(map_lazily, empty_pool),
    ("greedy", "batch", True, True): _Engine(map_by_type, empty_queues),
    ("greedy", "batch", False, False): _Engine(map_plainly, no_candidates),
    ("sufferage", "batch", True, False): _Engine(map_by_sufferage, empty_crowd, takes_value=False),
}
