"""What holds of every batch policy in worlds with limits, clocks, standby, caps and uncertainty."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from joulewise.optimise.tasks.proof import prove
from joulewise.policies.tasks.policy import Policy
from joulewise.simulate.tasks.measures import measures
from tests.conformance.tasks.test_every_policy import ROUNDING, conforming_run
from tests.strategies.cases import cases
from tests.strategies.heuristics import EVERY_POLICY
from tests.strategies.managed_worlds import KINDS, ManagedScenario


def can_be_managed(policy: Policy) -> bool:
    """Whether a policy knows limits and switches at all."""
    falls = policy.objective is None or policy.objective.falls_with_time
    return policy.mode == "batch" and falls


MANAGED_POLICIES = [policy for policy in EVERY_POLICY if can_be_managed(policy)]


@st.composite
def scenarios_of(draw: st.DrawFn, kind: str) -> ManagedScenario:
    """A scenario of a kind, with utility counted whole or by share; limits and permuted queues exclude each other."""
    world, switches = draw(KINDS[kind]())
    work = replace(world.workload, is_prorated=draw(st.booleans()))
    permuted = {"permuted": 1} if world.supply.is_limited else {}
    return ManagedScenario(replace(world, workload=work), switches | permuted)


@pytest.mark.thorough("takes seconds; others look at less of it")
@pytest.mark.parametrize("kind", KINDS)
@cases(divided_by=len(MANAGED_POLICIES))
@given(data=st.data())
def test_every_run_conforms_and_stays_within_the_bound(kind: str, data: st.DataObject) -> None:
    """Budgets and caps are kept as well, and none earns more than the bound.

    Tasks that stretch may use more than a budget, and the bound is for those who keep to it."""
    scenario: ManagedScenario = data.draw(scenarios_of(kind))
    world = scenario.world
    is_bounded = world.workload.stretch is None or math.isinf(world.supply.budget_j)
    preempts = scenario.settings.get("preempts", False)
    bound = prove(world, "prices", preempts=preempts).utility_bound if is_bounded else math.inf
    for policy in MANAGED_POLICIES:
        note(policy.title)
        outcome = conforming_run(world, scenario.manager(policy))
        assert measures(world, outcome)["utility"] <= bound * (1 + ROUNDING) + ROUNDING
