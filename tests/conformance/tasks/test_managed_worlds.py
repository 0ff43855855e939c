"""What holds of every batch policy in worlds with limits, clocks, standby, caps and uncertainty."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joulewise.check.tasks.allocation import check_allocation
from joulewise.check.tasks.recompute import recompute
from joulewise.model import World
from joulewise.optimise.tasks.proof import prove
from joulewise.policies.tasks.policy import Policy
from joulewise.simulate.tasks.measures import measures
from joulewise.simulate.tasks.serial import simulate
from tests.conformance.tasks.test_every_policy import ROUNDING, assert_equal
from tests.strategies.heuristics import EVERY_POLICY
from tests.strategies.managed_worlds import KINDS, ManagedScenario
from tests.strategies.meter import meter_of


def can_be_managed(policy: Policy) -> bool:
    """Whether a policy knows limits and switches at all."""
    falls = policy.objective is None or policy.objective.falls_with_time
    return policy.mode == "batch" and policy.rule != "sufferage" and falls


MANAGED_POLICIES = [policy for policy in EVERY_POLICY if can_be_managed(policy)]
every_managed_policy = pytest.mark.parametrize("policy", MANAGED_POLICIES, ids=lambda policy: policy.title)
every_kind = pytest.mark.parametrize("kind", KINDS)


@st.composite
def scenarios_of(draw: st.DrawFn, kind: str) -> ManagedScenario:
    """A scenario of a kind, with utility counted whole or by share; limits and permuted queues exclude each other."""
    world, switches = draw(KINDS[kind]())
    work = replace(world.workload, is_prorated=draw(st.booleans()))
    permuted = {"permuted": 1} if world.supply.is_limited else {}
    return ManagedScenario(replace(world, workload=work), switches | permuted)


@every_kind
@every_managed_policy
@settings(max_examples=8)
@given(data=st.data())
def test_allocation_and_measures_hold(policy: Policy, kind: str, data: st.DataObject) -> None:
    """No task is lost or run twice, no machine has two at once, budgets and caps are kept; every number is that of
    its definition, energy the integral of power, and none earns more than the bound.

    Tasks that stretch may use more than a budget, and the bound is for those who keep to it."""
    scenario: ManagedScenario = data.draw(scenarios_of(kind))
    world, manager = scenario.world, scenario.manager(policy)
    outcome = simulate(world, manager)
    assert check_allocation(world, outcome.allocation, manager) == []
    found = measures(world, outcome)
    for name, expected in recompute(world, outcome.allocation).items():
        assert found[name] == pytest.approx(expected, rel=ROUNDING, abs=ROUNDING, nan_ok=True), name
    energy_j = meter_of(world, outcome.allocation).energy_j()
    assert found["energy_j"] == pytest.approx(energy_j, rel=ROUNDING, abs=ROUNDING)
    if world.workload.stretch is None or math.isinf(world.supply.budget_j):
        assert found["utility"] <= prove(world, "prices").utility_bound * (1 + ROUNDING) + ROUNDING


@every_kind
@every_managed_policy
@settings(max_examples=4)
@given(data=st.data())
def test_same_seed_same_answer_and_inputs_unchanged(policy: Policy, kind: str, data: st.DataObject) -> None:
    scenario: ManagedScenario = data.draw(scenarios_of(kind))
    manager, arrays = scenario.manager(policy), arrays_of(scenario.world)
    before = [array.tobytes() for array in arrays]
    first, second = (simulate(replace(scenario.world), manager, seed=7, trial=3) for _ in range(2))
    assert_equal(first.allocation, second.allocation)
    assert first.n_mapping_events == second.n_mapping_events
    assert [array.tobytes() for array in arrays] == before
    assert not any(array.flags.writeable for array in arrays)


def arrays_of(world: World) -> list[np.ndarray]:
    """Every array of a world."""
    system, work = world.system, world.workload
    parts = (system, system.standby, work, work.shapes, *work.tags.values(), world.supply, world.outages)
    values = [value for part in parts if part is not None for value in vars(part).values()]
    return [value for value in values if isinstance(value, np.ndarray)]
