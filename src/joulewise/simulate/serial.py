"""A day of serial tasks: the world and a manager go in, an allocation comes out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from joulewise.errors import Problem, raise_if_any
from joulewise.kernels.by_type import empty_queues, map_by_type
from joulewise.kernels.fleet import Fleet, idle_fleet
from joulewise.kernels.immediate import map_as_told, map_on_arrival
from joulewise.kernels.jit import mark_kernels_compiled
from joulewise.kernels.layout import Plan, empty_plan
from joulewise.kernels.lazy import empty_pool, map_lazily
from joulewise.kernels.plain import map_on_arrival_plainly, map_plainly, no_candidates
from joulewise.kernels.sufferage import empty_crowd, map_by_sufferage
from joulewise.model.allocation import Allocation
from joulewise.model.world import World
from joulewise.policies.compile import compiled
from joulewise.policies.layout import Layout, layout_of
from joulewise.policies.policy import Policy
from joulewise.rng import generator

SHORTEST_INTERVAL_S = 1e-3
_BEFORE_ALL_S = -1.0


@dataclass(frozen=True)
class Manager:
    """How the resource manager works: its policy, when it drops tasks, how often batch mode maps.

    A task whose best possible utility is below `dropping_threshold` is dropped; 0 drops nothing. Mapping events
    of batch mode happen at 0, 1, 2, ... times `mapping_interval_s`. Tasks go only to the `best_types` machine
    types that run them fastest; None leaves that to the policy. Raises InputError with every problem.
    """

    policy: Policy
    dropping_threshold: float = 0.0
    mapping_interval_s: float = 60.0
    best_types: int | None = None

    def __post_init__(self) -> None:
        for name in ("dropping_threshold", "mapping_interval_s"):
            object.__setattr__(self, name, float(getattr(self, name)))
        raise_if_any(_manager_problems(self))

    @property
    def n_types(self) -> int | None:
        """How many machine types a task may go to, the fastest first; None means all."""
        return self.policy.best_types if self.best_types is None else self.best_types


def _manager_problems(manager: Manager) -> Iterator[Problem]:
    threshold, interval_s = manager.dropping_threshold, manager.mapping_interval_s
    if not (threshold >= 0 and math.isfinite(threshold)):
        found = f"found {threshold}"
        yield Problem("manager.dropping_threshold", found, "must be 0 (drop nothing) or more, and finite")
    if not (interval_s >= SHORTEST_INTERVAL_S and math.isfinite(interval_s)):
        found = f"found {interval_s} s"
        yield Problem("manager.mapping_interval", found, f"must be {SHORTEST_INTERVAL_S:g} s or more, and finite")
    if manager.best_types is not None and manager.best_types < 1:
        found = f"found {manager.best_types}"
        yield Problem("manager.best_types", found, "must be 1 or more", "leave it out to allow what the policy does")


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a manager did with a world, how many mapping events had work, and the seconds they took."""

    allocation: Allocation
    n_mapping_events: int
    mapping_s: float


def simulate(world: World, manager: Manager, seed: int = 0, trial: int = 0) -> Outcome:
    """Run the manager over the world's whole workload, until its window ends or all work is done.

    Deterministic: `seed` and `trial` only feed policies that draw at random. Raises InputError when the
    policy's function cannot be used.
    """
    layout = layout_of(world, manager.n_types)
    plan = empty_plan(world.workload.n_tasks)
    fleet = idle_fleet(world.system.counts)
    run_until = _runner(world, manager, layout, fleet, plan, seed, trial)
    run_until(_BEFORE_ALL_S)  # compiles, or loads what was compiled, without simulating anything
    began = time.perf_counter()
    n_events = run_until(world.workload.end_s)
    mapping_s = time.perf_counter() - began
    mark_kernels_compiled()
    return Outcome(Allocation(*plan), n_events, mapping_s)


def _runner(
    world: World, manager: Manager, layout: Layout, fleet: Fleet, plan: Plan, seed: int, trial: int
) -> Callable[[float], int]:
    """The kernel for the manager's policy as a function of the instant to run to; it returns mapping events."""
    policy = manager.policy
    threshold = manager.dropping_threshold or -math.inf  # a utility of 0 may be rounded to just below it
    if policy.picks is not None:
        allowed = world.system.best_types(manager.n_types)
        machine = policy.picks(world, allowed, generator(seed, trial, "policy", policy.name))
        exec_s = world.system.etc_s[layout.tasks.task_type, world.system.machine_type[machine], 0]
        return lambda end_s: int(
            _AS_TOLD(machine, layout.tasks, layout.utilities, exec_s, fleet, plan, threshold, end_s)
        )
    assert policy.objective is not None
    objective = policy.objective
    engine = _ENGINES[policy.rule, policy.mode, objective.falls_with_time, objective.by_type]
    sizes = (world.workload.n_tasks, world.system.n_task_types, world.system.n_machine_types)
    room = (engine.make_room(*sizes),) if engine.make_room else ()
    is_batch = policy.mode == "batch"
    everywhere = (layout_of(world).options,) if is_batch else ()  # batch mode drops by what any machine offers
    clock = (manager.mapping_interval_s,) if is_batch else ()
    value = (compiled(objective),) if engine.takes_value else ()
    arguments = (*room, *value, *layout, *everywhere, fleet, plan, threshold, *clock)
    return lambda end_s: int(engine.kernel(*arguments, end_s))


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
