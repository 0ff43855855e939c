"""What holds of every policy, whatever it decides: runs over each row of the table and over users' own."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note

from joulewise.check.tasks.allocation import check_allocation
from joulewise.check.tasks.recompute import recompute
from joulewise.errors import InputError
from joulewise.model import Allocation, Status, UtilityShapes, World, piecewise
from joulewise.model.allocation import BrokenRuns
from joulewise.optimise.bounds import utility_ceiling
from joulewise.policies.tasks.policy import Policy
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.measures import measures
from joulewise.simulate.tasks.serial import Outcome, simulate
from joulewise.study.kinds.conformance import arrays_of
from joulewise.study.tasks.conformance import parts_of, renamed
from tests.strategies.cases import cases
from tests.strategies.heuristics import EVERY_POLICY
from tests.strategies.meter import meter_of
from tests.strategies.needs import fit_for
from tests.strategies.random_worlds import EXACT_INTERVALS, EXACT_UNITS_S, Scenario, scenarios
from tests.strategies.simple_worlds import busy_world, simple_system, simple_workload

BROKEN = ("lost", "pieces")
COLUMNS = [field.name for field in dataclasses.fields(Allocation) if field.name not in BROKEN]
BROKEN_COLUMNS = [field.name for field in dataclasses.fields(BrokenRuns)]
ROUNDING = 1e-9

every_policy = pytest.mark.parametrize("policy", EVERY_POLICY, ids=lambda policy: policy.title)
a_few = cases(divided_by=len(EVERY_POLICY))


def assert_equal(found: Allocation, expected: Allocation) -> None:
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)
    for part, name in itertools.product(BROKEN, BROKEN_COLUMNS):
        here, there = (getattr(getattr(allocation, part), name) for allocation in (found, expected))
        np.testing.assert_array_equal(here, there, f"{part}: {name}")


def shifted(world: World, by_s: float) -> World:
    """The same world with all instants, and the window, later."""
    work = world.workload
    instants = {name: getattr(work, name) + by_s for name in ("arrival_s", "start_s", "end_s")}
    return World(world.system, dataclasses.replace(work, **instants))


def conforming_run(world: World, manager: Manager) -> Outcome:
    """A run that is valid, the same when repeated, leaves its inputs alone, and whose numbers are right."""
    arrays = arrays_of(parts_of(world))
    before = [array.tobytes() for array in arrays]
    outcome, again = (simulate(dataclasses.replace(world), manager, seed=7, trial=3) for _ in range(2))
    assert check_allocation(world, outcome.allocation, manager) == []
    assert_measures_hold(world, outcome)
    assert_equal(again.allocation, outcome.allocation)
    assert again.n_mapping_events == outcome.n_mapping_events
    assert [array.tobytes() for array in arrays] == before
    assert not any(array.flags.writeable for array in arrays)
    return outcome


def assert_measures_hold(world: World, outcome: Outcome) -> None:
    """Utility, counts and energy are those of the definition, and energy is the integral of power."""
    measured = measures(world, outcome)
    for name, expected in recompute(world, outcome.allocation).items():
        assert measured[name] == pytest.approx(expected, rel=ROUNDING, abs=ROUNDING, nan_ok=True), name
    energy_j = meter_of(world, outcome.allocation).energy_j()
    assert measured["energy_j"] == pytest.approx(energy_j, rel=ROUNDING, abs=ROUNDING, nan_ok=True)
    assert measured["utility"] <= utility_ceiling(world) * (1 + ROUNDING) + ROUNDING
    assert 0 <= measured["busy_percent"] <= 100 * (1 + ROUNDING)


def fate_of_the_worthless(policy: Policy) -> Status:
    """What becomes of a task that earns nothing and is not dropped."""
    return Status.WAITING if policy.declines else Status.RAN


@pytest.mark.thorough("takes seconds; others look at less of it")
@a_few
@given(scenario=scenarios())
def test_every_run_conforms_and_names_do_not_matter(scenario: Scenario) -> None:
    """No task is lost or run twice, no machine has two at once, drops and mapping events follow the manager."""
    for policy in EVERY_POLICY:
        note(policy.title)
        world, manager = fit_for(policy, scenario.world), scenario.manager(policy)
        outcome = conforming_run(world, manager)
        assert_equal(simulate(renamed(world), manager, seed=7, trial=3).allocation, outcome.allocation)


@pytest.mark.thorough("takes seconds; others look at less of it")
@a_few
@given(scenario=scenarios(EXACT_UNITS_S, EXACT_INTERVALS))
def test_shifting_all_instants_changes_nothing(scenario: Scenario) -> None:
    by_s = 64 * scenario.mapping_interval_s
    for policy in EVERY_POLICY:
        note(policy.title)
        world, manager = fit_for(policy, scenario.world), scenario.manager(policy)
        here, there = simulate(world, manager), simulate(shifted(world, by_s), manager)
        times = {name: getattr(here.allocation, name) + by_s for name in ("start_s", "end_s")}
        assert_equal(there.allocation, dataclasses.replace(here.allocation, **times))
        assert there.n_mapping_events == here.n_mapping_events


@every_policy
@pytest.mark.parametrize("threshold", [0.0, 1.5])
def test_a_busy_day_conforms(policy: Policy, threshold: float) -> None:
    conforming_run(busy_world(400), Manager(policy, threshold))


@every_policy
def test_who_arrives_after_the_window_waits(policy: Policy) -> None:
    world = fit_for(policy, World(simple_system(), simple_workload([5.0, 6.0], end_s=4.0)))
    outcome = simulate(world, Manager(policy, 0.5, 1.0))
    assert outcome.allocation.status.tolist() == [Status.WAITING, Status.WAITING]
    assert_measures_hold(world, outcome)


@every_policy
def test_long_silence_costs_no_events(policy: Policy) -> None:
    world = fit_for(policy, World(simple_system(), simple_workload([0.0, 1e9])))
    outcome = simulate(world, Manager(policy, 0.0, 0.5))
    assert outcome.n_mapping_events == 2
    assert outcome.allocation.start_s.tolist() == [0.0, 1e9]


@every_policy
def test_worthless_tasks_run_without_a_threshold_and_are_dropped_with_one(policy: Policy) -> None:
    """Where a choice may be declined, they wait."""
    world = fit_for(policy, World(simple_system(), simple_workload([0.0, 0.0, 3.0], scale=0.0)))
    for threshold, fate in ((0.0, fate_of_the_worthless(policy)), (0.1, Status.DROPPED)):
        status = simulate(world, Manager(policy, threshold, 1.0)).allocation.status
        assert status.tolist() == [fate] * 3


@every_policy
def test_a_utility_that_rounding_would_take_below_zero_drops_nobody(policy: Policy) -> None:
    """Just before it reaches 0, the last line of this shape would be at -1.1e-16."""
    points = [(0.0, 1.0), (13.654341430088612, 0.7159178469254943), (31.259564710117125, 0.0)]
    exec_s = math.nextafter(points[-1][0], 0.0)
    world = fit_for(policy, World(simple_system([[exec_s]]), simple_workload([0.0], shape=piecewise(points))))
    assert world.workload.utility(0, exec_s) == 0
    assert simulate(world, Manager(policy)).allocation.status.tolist() == [fate_of_the_worthless(policy)]


@every_policy
def test_special_machines_get_only_what_they_can_run(policy: Policy) -> None:
    system = simple_system([[1.0, math.inf], [math.inf, 1.0]], [1, 2])
    world = fit_for(policy, World(system, simple_workload([0.0] * 6, [0, 1] * 3)))
    kind = system.machine_type[simulate(world, Manager(policy)).allocation.machine]
    assert kind.tolist() == [0, 1] * 3


@pytest.mark.parametrize(
    "settings_of_manager",
    [
        {"dropping_threshold": -1.0},
        {"dropping_threshold": math.nan},
        {"dropping_threshold": math.inf},
        {"mapping_interval_s": 0.0},
        {"mapping_interval_s": -60.0},
        {"mapping_interval_s": math.nan},
        {"mapping_interval_s": math.inf},
        {"best_types": 0},
    ],
    ids=str,
)
def test_impossible_managers_are_refused(settings_of_manager: dict[str, Any]) -> None:
    for policy in EVERY_POLICY:
        with pytest.raises(InputError, match="manager") as caught:
            Manager(policy, **settings_of_manager)
        assert len(caught.value.problems) == 1, policy.title


def test_empty_work_is_refused() -> None:
    with pytest.raises(InputError, match="no tasks"):
        simple_workload([])


def test_work_that_no_machine_can_run_is_refused() -> None:
    with pytest.raises(InputError, match="no machine can run"):
        simple_system([[1.0, math.inf], [math.inf, math.inf]])
    with pytest.raises(InputError, match="no machine can run"):
        simple_system([[math.inf, 1.0]], [1, 0])
    with pytest.raises(InputError, match="task type number 1"):
        World(simple_system(), simple_workload([0.0], [1]))


def test_no_machines_and_no_shapes_are_refused() -> None:
    with pytest.raises(InputError, match="one machine at least"):
        simple_system([[1.0]], [0])
    with pytest.raises(InputError):
        dataclasses.replace(simple_workload(), shapes=UtilityShapes.of([]))
