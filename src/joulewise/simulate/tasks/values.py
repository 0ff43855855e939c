"""A policy's objective as the engines use it, and what is said when it does not fit."""

from __future__ import annotations

from typing import Any

from joulewise.errors import InputError, Problem
from joulewise.model.world import World
from joulewise.policies.tasks.compile import compiled, looks_at_energy
from joulewise.policies.tasks.objectives import UTILITY
from joulewise.policies.tasks.policy import Policy


def usable_value(world: World, policy: Policy) -> Any:
    """The policy's compiled objective; InputError when it needs what the system lacks.

    Policies without an objective get one that nobody asks, so that all worlds look alike to the compiler.
    """
    objective = policy.objective or UTILITY
    if world.system.power_w is None and looks_at_energy(objective):
        found = "looks at energy, but the system has no power figures"
        raise InputError(Problem(f"policy {policy.name}", found, advice="give the system's powers (power_w)"))
    return compiled(UTILITY if objective.sees else objective)


def rising_value(policy: Policy) -> InputError:
    """The error of an objective that rose with time in a run that counted on its fall."""
    found = "its value rose with waiting in this run, although it was declared falls_with_time"
    return InputError(Problem(f"policy {policy.name}", found, advice="leave falls_with_time out"))


def unsolved_program(policy: Policy, reason: str) -> InputError:
    """The error of a policy whose linear program could not be solved at some event."""
    found = f"the linear program of an event could not be solved: {reason}"
    allowed = "times, powers and utilities must not be too many orders of magnitude apart"
    return InputError(Problem(f"policy {policy.name}", found, allowed, "use a policy without a linear program"))
