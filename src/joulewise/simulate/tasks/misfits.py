"""Worlds and managers that do not go together, listed without simulating anything."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.model.arrays import Floats
from joulewise.model.groups import divided
from joulewise.model.world import World
from joulewise.policies.tasks.compile import looks_at_energy
from joulewise.policies.tasks.objectives import UTILITY_PER_ENERGY
from joulewise.policies.tasks.weights import least_energy_j
from joulewise.simulate.tasks.dropping import thresholds
from joulewise.simulate.tasks.manager import Manager, group_problems, rising_problems, uses_managed_engine


def misfits(world: World, manager: Manager) -> list[Problem]:
    """Every reason for which `simulate` would refuse to let the manager work in the world."""
    if manager.groups > 1:
        problems = list(group_problems(world.system, manager))
        groups = [] if problems else divided(world, manager.groups, manager.dealing)
        found = (problem for group in groups for problem in misfits(group.world, replace(manager, groups=1)))
        return [*problems, *dict.fromkeys(found)]
    problems = list(_raised(lambda: thresholds(world, manager)))
    if uses_managed_engine(manager) or needs_managing(world):
        problems += managed_problems(world, manager)
    places = {problem.where for problem in problems}
    return [*problems, *(problem for problem in _energy_problems(world, manager) if problem.where not in places)]


def needs_managing(world: World) -> bool:
    """Whether a world has something that only the managed engine knows."""
    has_standby, is_uncertain = world.system.standby is not None, world.workload.stretch is not None
    return world.supply.is_limited or has_standby or is_uncertain or world.outages.machine.size > 0


def _energy_problems(world: World, manager: Manager) -> Iterator[Problem]:
    """A heuristic that looks at energy needs to know it."""
    objective = manager.policy.objective
    if objective is not None and world.system.power_w is None and looks_at_energy(objective):
        found = f"the policy {manager.policy.name} looks at energy, but the system has no power figures"
        yield Problem("manager.policy", found, advice="give the system's powers (power_w)")


def _raised(attempt: Callable[[], Any]) -> Iterator[Problem]:
    try:
        attempt()
    except InputError as error:
        yield from error.problems


# The managed engine


def managed_problems(world: World, manager: Manager) -> Iterator[Problem]:
    """Where world and manager do not fit for the managed engine."""
    supply, work, policy = world.supply, world.workload, manager.policy
    if policy.mode == "immediate":
        found = (
            f"found the policy {policy.name} day by day, or with limits of energy, standby, failures, uncertain times"
        )
        yield Problem("manager.policy", found, "must be a batch policy", "use one such as max-max-upt")
    if work.rise_s is not None:
        yield from rising_problems(policy)
    may_wait = supply.is_limited or manager.only_worthwhile or policy.holds_back
    if may_wait and not math.isfinite(work.end_s):
        found = "found a counted window without an end"
        why = "must end where a budget, a cap, declined choices or a policy of your own may keep tasks waiting"
        yield Problem("workload", found, why, "set its end")
    if supply.cap_w is not None and (work.stretch is not None or world.outages.machine.size):
        found = "found a power cap in a world with uncertain times or failures"
        yield Problem("supply.power_cap", found, "a cap is kept by planned times, which must be certain")
    if supply.cap_w is not None and world.system.standby is not None:
        yield from _cap_problems(world, supply.cap_w)
    if world.outages.machine.size and manager.mapping_time != "free":
        found = f"found {manager.mapping_time} in a world with failures"
        yield Problem("manager.mapping_time", found, 'must be "free" where machines fail')
    if manager.permuted > 1 and supply.is_limited:
        found = f"found {manager.permuted} in a world with limits of energy or power"
        yield Problem("manager.permuted", found, "permuted queues keep no limits", "leave it out")
    if manager.energy_filter != "none" and not math.isfinite(supply.budget_j):
        found = f"found {manager.energy_filter} without a budget"
        yield Problem("manager.energy_filter", found, "shares out a budget", "give supply.budget")
    yield from _postponing_problems(world, manager)
    yield from _preempting_problems(world, manager)
    needs_power = manager.policy.is_weighted or (manager.policy.is_priced and math.isfinite(supply.budget_j))
    if needs_power and world.system.power_w is None:
        found = f"the policy {manager.policy.name} looks at energy, but the system has no power figures"
        yield Problem("manager.policy", found, advice="give the system's powers (power_w)")
    divides = manager.policy.is_weighted and manager.policy.objective is UTILITY_PER_ENERGY
    if divides and world.system.power_w is not None and not least_energy_j(world) > 0:
        found = f"the policy {manager.policy.name} divides by energy, but a choice of the system uses none"
        yield Problem("manager.policy", found, advice="give powers above 0 W")


def _postponing_problems(world: World, manager: Manager) -> Iterator[Problem]:
    """Where tasks cannot be postponed to the next day: it is the budget alone that does so."""
    if manager.postponing == "each-event":
        return
    if not math.isfinite(world.supply.budget_j):
        found = f"found {manager.postponing} without a budget"
        yield Problem("manager.postponing", found, "a budget makes days", "give supply.budget")
    if world.supply.cap_w is not None or world.outages.machine.size:
        found = f"found {manager.postponing} in a world with a power cap or failures"
        allowed = "what a cap or a repair allows later in the day would be postponed as well"
        yield Problem("manager.postponing", found, allowed, 'use "each-event"')


def _preempting_problems(world: World, manager: Manager) -> Iterator[Problem]:
    """Where tasks cannot be suspended: a suspended task uses time and energy that nobody planned."""
    standby, has_limits = world.system.standby, world.supply.is_limited
    sleeps = standby is not None and bool(np.isfinite(standby.sleep_after_s).any())
    is_uncertain = world.workload.stretch is not None or world.outages.machine.size > 0
    reasons = {
        "limits of energy or power": has_limits,
        "uncertain times or failures": is_uncertain,
        "machines that sleep": sleeps,
        "utilities that rise first": world.workload.rise_s is not None,
    }
    if manager.preempts and any(reasons.values()):
        found = f"found true in a world with {' and '.join(reason for reason, holds in reasons.items() if holds)}"
        allowed = "what suspended tasks take in addition is not planned there"
        yield Problem("manager.preempts", found, allowed, "leave preempts out")


def _cap_problems(world: World, cap_w: Floats) -> Iterator[Problem]:
    """Where standby alone could break a cap."""
    standby = world.system.standby
    assert standby is not None
    idle_w = world.supply.pue * float(world.system.counts @ standby.idle_w)
    if idle_w > cap_w.min():
        found = f"found {cap_w.min():g} W, but idle machines alone draw {idle_w:g} W"
        yield Problem("supply.power_cap", found, "must be above what idle machines draw")
    if ((standby.boot_w > standby.idle_w) & (standby.boot_s > 0)).any():
        found = "found a power cap and machines that draw more when they boot than when idle"
        advice = "set boot_w to idle_w at most, or boot_s to 0"
        yield Problem("supply.power_cap", found, "a cap is kept by what runs draw on top of idle machines", advice)
