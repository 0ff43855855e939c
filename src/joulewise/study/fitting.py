"""Worlds and managers that do not go together, told from a study's sections before anything is made of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from joulewise.errors import Problem
from joulewise.study.spec import WorldParts

if TYPE_CHECKING:
    from joulewise.simulate import Manager


def fit_problems(parts: WorldParts, manager: Manager) -> Iterator[Problem]:
    """What the sections of a world ask for that the manager, or each other, cannot have."""
    supply, policy = parts.supply.parameters, manager.policy
    has_budget = supply.budget_j is not None or supply.budget_total_j is not None
    has_cap = supply.power_cap_w is not None or supply.power_cap_by_hour is not None
    if manager.energy_filter != "none" and not has_budget:
        found = f"found {manager.energy_filter!r} without a budget"
        yield Problem("manager.energy_filter", found, "shares out a budget", "give supply.budget")
    uncertain = list(_uncertainties(parts))
    needs = [*(["a budget"] if has_budget else []), *(["a power cap"] if has_cap else []), *uncertain]
    if needs and (policy.mode == "immediate" or policy.rule == "sufferage"):
        found = f"found {policy.name!r} in a world with {' and '.join(needs)}"
        allowed = "policies of immediate mode and Sufferage know none of these"
        yield Problem("manager.policy", found, allowed, "use a batch policy such as max-max-upt")
    if has_cap and uncertain:
        found = f"found a power cap in a world with {' and '.join(uncertain)}"
        yield Problem("supply.power_cap", found, "a cap is kept by planned times, which must be certain")


def _uncertainties(parts: WorldParts) -> Iterator[str]:
    """Why tasks may end at other instants than planned."""
    if parts.system.parameters.mtbf_s is not None:
        yield "failures"
    if parts.workload.parameters.time_spread > 0:
        yield "uncertain times"
