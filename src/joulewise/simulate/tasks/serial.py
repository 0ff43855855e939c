"""A day of serial tasks: the world and a manager go in, an allocation comes out."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from joulewise.errors import check_kinds, raise_if_any
from joulewise.kernels.layout import TaskPlan, Tasks, empty_plan
from joulewise.kernels.tasks.by_type import empty_lines
from joulewise.kernels.tasks.fleet import idle_fleet
from joulewise.kernels.tasks.immediate import Falling, Picked, run_on_arrival
from joulewise.kernels.tasks.lazy import empty_pool
from joulewise.kernels.tasks.loop import run_batch
from joulewise.kernels.tasks.plain import no_candidates
from joulewise.kernels.tasks.world import TaskWorld
from joulewise.model.allocation import Allocation
from joulewise.model.arrays import Floats
from joulewise.model.groups import divided, together
from joulewise.model.world import World
from joulewise.policies.layout import layout_of
from joulewise.policies.tasks.objectives import UTILITY
from joulewise.policies.tasks.policy import Policy
from joulewise.rng import generator
from joulewise.simulate.tasks.dropping import thresholds
from joulewise.simulate.tasks.managed import Managed, manage
from joulewise.simulate.tasks.manager import Manager, group_problems, uses_managed_engine
from joulewise.simulate.tasks.misfits import needs_managing
from joulewise.simulate.tasks.values import rising_value, usable_value
from joulewise.visible import Visible

_BEFORE_ALL_S = -1.0


@dataclass(frozen=True, eq=False)
class Outcome(Visible, looks="tasks"):
    """What a manager did with a world.

    `n_mapping_events` are those of the whole run that had work, `n_counted_events` those that fell into the
    counted window, with work or without; `mapping_s` is the wall-clock time that mapping took. Of the counted events,
    `n_late_events` had to wait until the mapping before them was over. Managers of groups count together.
    """

    world: World
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
    check_kinds(
        ("world", world, World, "jw.jobs.simulate takes a world of parallel jobs"),
        ("manager", manager, Manager, 'write jw.Manager(jw.find_policy("max-max-upt"))'),
    )
    if manager.groups > 1:
        return _simulate_groups(world, manager, seed, trial)
    if uses_managed_engine(manager) or needs_managing(world):
        return outcome_of(world, manager, manage(world, manager, seed, trial))
    plan = empty_plan(world.workload.n_tasks)
    run_until = _runner(world, manager, plan, seed, trial)
    run_until(_BEFORE_ALL_S)  # compiles, or loads what was compiled, without simulating anything
    began = time.perf_counter()
    n_events = run_until(world.workload.end_s)
    mapping_s = time.perf_counter() - began
    allocation = Allocation(*plan)
    n_late = late_events(world, manager)
    return Outcome(world, allocation, n_events, counted_events(world, manager, allocation), mapping_s, n_late)


def outcome_of(world: World, manager: Manager, done: Managed) -> Outcome:
    """What the managed engine did, with the events that it skipped."""
    has_grid = manager.mapping_arrivals is None and manager.mapping_time == "free"
    n_counted = counted_events(world, manager, done.allocation) if has_grid else done.n_counted_events
    return Outcome(world, done.allocation, done.n_mapping_events, n_counted, done.mapping_s, done.n_late_events)


def _simulate_groups(world: World, manager: Manager, seed: int, trial: int) -> Outcome:
    """What managers of groups do, each in its own world; events and mapping times are of all of them together."""
    raise_if_any(group_problems(world.system, manager))
    groups = divided(world, manager.groups, manager.dealing)
    outcomes = [simulate(group.world, replace(manager, groups=1), seed, trial) for group in groups]
    allocation = together(world.workload.n_tasks, groups, [outcome.allocation for outcome in outcomes])
    return Outcome(
        world,
        allocation,
        sum(outcome.n_mapping_events for outcome in outcomes),
        sum(outcome.n_counted_events for outcome in outcomes),
        sum(outcome.mapping_s for outcome in outcomes),
        sum(outcome.n_late_events for outcome in outcomes),
    )


def counted_events(world: World, manager: Manager, allocation: Allocation) -> int:
    """How many mapping events fall into the counted window; one without an end is over with the last start."""
    work = world.workload
    if manager.policy.mode == "immediate":
        return int(work.in_window(mapper_turns(world, manager)[0]).sum())
    last_s = float(np.nanmax(allocation.start_s, initial=work.start_s))
    end_s = work.end_s if math.isfinite(work.end_s) else last_s
    return math.floor(end_s / manager.mapping_interval_s) - math.floor(work.start_s / manager.mapping_interval_s)


def late_events(world: World, manager: Manager) -> int:
    """How many of the counted events of a plain engine find the mapper busy: in batch mode its mapping is free."""
    if manager.policy.mode == "batch":
        return 0
    event_s, _ = mapper_turns(world, manager)
    return int((world.workload.in_window(event_s) & (event_s > world.workload.arrival_s)).sum())


def mapper_turns(world: World, manager: Manager) -> tuple[Floats, Floats]:
    """When the mapper of immediate mode turns to each task, and when what it decides has effect."""
    arrival_s, each_s = world.workload.arrival_s, sum(manager.mapping_model)
    if manager.mapping_time == "free" or each_s == 0:
        return arrival_s, arrival_s
    before_all = (-math.inf, -math.inf)
    turns = itertools.accumulate(
        arrival_s.tolist(), lambda before, at_s: _turn(before[1], at_s, each_s), initial=before_all
    )
    event_s, effect_s = np.array(list(turns)[1:]).reshape(-1, 2).T
    return event_s.copy(), effect_s.copy()


def _turn(free_s: float, arrival_s: float, each_s: float) -> tuple[float, float]:
    """When the mapper turns to a task and is done with it, after it was busy up to an instant."""
    event_s = max(free_s, arrival_s)
    return event_s, event_s + each_s


def _runner(world: World, manager: Manager, plan: TaskPlan, seed: int, trial: int) -> Callable[[float], int]:
    """The kernel for the manager's policy as a function of the instant to run to; it returns mapping events."""
    policy, layout = manager.policy, layout_of(world, manager.n_types)
    everywhere, value = layout_of(world).options, usable_value(world, policy)
    turns, interval_s, threshold = mapper_turns(world, manager), manager.mapping_interval_s, thresholds(world, manager)
    seen = policy.objective or UTILITY
    tasks = TaskWorld(
        *layout, everywhere, threshold, value, interval_s, *turns, seen.urgency, seen.is_patient, seen.falls_with_time
    )
    room = None if policy.picks else _engine(world, policy, layout.tasks)
    run: Any = run_batch if policy.mode == "batch" else run_on_arrival
    fleet = idle_fleet(world.system.counts)

    def run_until(end_s: float) -> int:
        engine = _picked(world, manager, seed, trial) if policy.picks else room
        n_events = int(run(engine, tasks, fleet, plan, end_s))
        if getattr(engine, "n_rises", (0,))[0]:
            raise rising_value(policy)
        return n_events

    return run_until


def _picked(world: World, manager: Manager, seed: int, trial: int) -> Picked:
    """The machines of a policy that picks them without a look at their state."""
    policy, system = manager.policy, world.system
    assert policy.picks is not None
    machine = policy.picks(world, system.best_types(manager.n_types), generator(seed, trial, "policy", policy.name))
    return Picked(machine, system.etc_s[world.workload.task_type, system.machine_type[machine], 0])


def _engine(world: World, policy: Policy, tasks: Tasks) -> Any:
    """The arrays that the policy's engine works in; their class says which it is."""
    assert policy.objective is not None
    make = _ENGINES[policy.mode, policy.objective.falls_in(world), policy.objective.by_type]
    return make(tasks, world.system.n_task_types, world.system.n_machine_types)


def _falling(_tasks: Tasks, _n_task_types: int, _n_machine_types: int) -> Falling:
    return Falling()


_ENGINES: dict[tuple[str, bool, bool], Callable[[Tasks, int, int], Any]] = {
    # (mode, falls with time, by type)
    ("immediate", True, False): _falling,
    ("immediate", True, True): _falling,
    ("immediate", False, False): no_candidates,
    ("batch", True, False): empty_pool,
    ("batch", True, True): empty_lines,
    ("batch", False, False): no_candidates,
}
