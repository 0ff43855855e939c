"""The simulator against its slow twin: the same machine, P-state, instants and fate of every task."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.check.tasks.allocation import check_allocation
from joulewise.model import World
from joulewise.model.allocation import Status
from joulewise.policies.tasks.compile import compiled
from joulewise.policies.tasks.policy import Policy
from joulewise.policies.tasks.table import POLICIES
from joulewise.rng import generator
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.serial import simulate
from tests.strategies import heuristics
from tests.strategies.cases import cases
from tests.strategies.random_worlds import Scenario, rising, scenarios
from tests.strategies.simple_worlds import simple_system, simple_workload
from tests.twins.tasks import serial as twin

Run = Callable[..., twin.Plan]

COMPILED: dict[Run, Any] = {
    run: numba.njit(run, error_model="numpy", cache=True)
    for run in (twin.run_immediate, twin.run_as_told, twin.run_batch, twin.run_sufferage)
}

Model = tuple[float, float, float]

IMMEDIATE = [policy for policy in POLICIES.values() if policy.mode == "immediate"]
BATCH_RULES = {"greedy": twin.run_batch, "sufferage": twin.run_sufferage}


def twin_plan(world: World, manager: Manager, compile_it: bool) -> twin.Plan:
    """What the twin does with the world, as compiled code or as the Python it is written in."""
    urgency = 0.0 if manager.policy.objective is None else manager.policy.objective.urgency
    work, machines = twin.work_and_machines(world, manager.n_types, urgency, manager.policy.is_patient)
    run, decider, clock = _entrance(world, manager, compile_it)
    limits = (manager.dropping_threshold, *clock, world.workload.end_s)
    return (COMPILED[run] if compile_it else run)(decider, work, machines, *limits)


def _entrance(world: World, manager: Manager, compile_it: bool) -> tuple[Run, Any, tuple[float, ...]]:
    policy, each_s = manager.policy, sum(manager.mapping_model) if manager.mapping_time == "given" else 0.0
    if policy.picks is not None:
        allowed = np.isfinite(twin.on_best_types(world.system, manager.n_types)[:, :, 0])
        return twin.run_as_told, policy.picks(world, allowed, generator(0, 0, "policy", policy.name)), (each_s,)
    assert policy.objective is not None
    value = compiled(policy.objective)
    value = value if compile_it else value.ctypes
    if policy.mode == "immediate":
        return twin.run_immediate, value, (each_s,)
    return BATCH_RULES[policy.rule], value, (manager.mapping_interval_s,)


def assert_same(world: World, manager: Manager, compile_it: bool = True) -> None:
    allocation = simulate(world, manager).allocation
    expected = twin_plan(world, manager, compile_it)
    for column in twin.Plan._fields:
        found, wanted = getattr(allocation, column), getattr(expected, column)
        np.testing.assert_array_equal(found, wanted, f"{manager.policy.title}: {column}", strict=True)


def with_power(world: World) -> World:
    """The world with power figures, of 0 W if it has none: a heuristic that looks at energy needs some."""
    if world.system.power_w is not None:
        return world
    return replace(world, system=replace(world.system, power_w=np.zeros(world.system.etc_s.shape)))


every_table = pytest.mark.parametrize(
    "policies",
    [
        heuristics.PLAIN_POLICIES,
        heuristics.FALLING_POLICIES,
        heuristics.BY_TYPE_POLICIES,
        heuristics.RISING_POLICIES,
        heuristics.URGENT_POLICIES,
    ],
    ids=["rows of the table", "users' own that fall", "by task type", "users' own that may rise", "urgent"],
)


@every_table
@given(scenario=scenarios(most_tasks=12))
def test_simulator_equals_interpreted_twin(policies: Sequence[Policy], scenario: Scenario) -> None:
    for policy in policies:
        assert_same(with_power(scenario.world), scenario.manager(policy), compile_it=False)


@given(scenario=scenarios(most_tasks=12), best_types=st.integers(1, 3))
def test_simulator_equals_twin_on_the_best_machine_types(scenario: Scenario, best_types: int) -> None:
    for policy in (*heuristics.PLAIN_POLICIES, *heuristics.OWN_POLICIES):
        manager = dataclasses.replace(scenario.manager(policy), best_types=best_types)
        assert_same(with_power(scenario.world), manager, compile_it=False)


@pytest.mark.thorough("takes seconds; others look at less of it")
@every_table
@given(scenario=scenarios(most_tasks=12), data=st.data())
def test_simulator_equals_twin_where_utilities_rise_first(
    policies: Sequence[Policy], scenario: Scenario, data: st.DataObject
) -> None:
    world = with_power(replace(scenario.world, workload=data.draw(rising(scenario.world.workload))))
    for policy in policies:
        if policy.rule != "sufferage":
            manager = scenario.manager(policy)
            assert_same(world, manager, compile_it=False)
            assert check_allocation(world, simulate(world, manager).allocation, manager) == []


@pytest.mark.thorough("takes seconds; others look at less of it")
@cases(divided_by=4)
@given(scenario=scenarios(most_tasks=12), parts=st.tuples(*[st.sampled_from([0.0, 0.1, 1.0, 7.0])] * 3))
def test_immediate_mode_with_a_mapper_that_takes_time_equals_its_twin(scenario: Scenario, parts: Model) -> None:
    for policy in (*IMMEDIATE, *heuristics.OWN_POLICIES):
        if policy.mode == "immediate":
            manager = dataclasses.replace(scenario.manager(policy), mapping_time="given", mapping_model=parts)
            world = with_power(scenario.world)
            assert check_allocation(world, simulate(world, manager).allocation, manager) == []
            assert_same(with_power(scenario.world), manager, compile_it=False)


def test_who_arrives_while_the_mapper_is_busy_waits_for_its_turn() -> None:
    """Of arrivals at 1, 1.5, 3 and 9 s two come while the mapper, which takes 2 s for each, is busy."""
    world = World(simple_system([[1.0]], [4]), simple_workload([1.0, 1.5, 3.0, 9.0], end_s=9.0))
    manager = Manager(POLICIES["max-util"], mapping_time="given", mapping_model=(0.5, 1.0, 0.5))
    done = simulate(world, manager)
    assert done.allocation.start_s.tolist() == [3.0, 5.0, 7.0, 11.0]
    assert (done.n_counted_events, done.n_late_events) == (4, 2)
    assert check_allocation(world, done.allocation, manager) == []
    assert check_allocation(world, done.allocation, Manager(manager.policy)) != []
    free = simulate(world, Manager(POLICIES["max-util"]))
    assert (free.n_counted_events, free.n_late_events) == (4, 0)


def test_a_turn_that_comes_after_the_window_is_none() -> None:
    world = World(simple_system([[1.0]], [4]), simple_workload([1.0, 1.5, 3.0], end_s=4.0))
    manager = Manager(POLICIES["max-util"], mapping_time="given", mapping_model=(2.0, 0.0, 0.0))
    done = simulate(world, manager)
    assert done.allocation.status.tolist() == [Status.RAN, Status.RAN, Status.WAITING]
    assert (done.n_mapping_events, done.n_counted_events, done.n_late_events) == (2, 2, 1)
    assert check_allocation(world, done.allocation, manager) == []


@pytest.mark.thorough("compiling the twins takes a minute")
@every_table
@given(scenario=scenarios())
def test_simulator_equals_compiled_twin(policies: Sequence[Policy], scenario: Scenario) -> None:
    for policy in policies:
        assert_same(with_power(scenario.world), scenario.manager(policy))
