"""Worlds and managers that do not go together, listed without simulating anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from joulewise.errors import InputError, Problem
from joulewise.model.groups import divided
from joulewise.model.world import World
from joulewise.policies.tasks.compile import looks_at_energy
from joulewise.simulate.tasks.dropping import thresholds
from joulewise.simulate.tasks.managed import managed_problems, needs_managing
from joulewise.simulate.tasks.manager import Manager, group_problems, uses_managed_engine


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
