"""The second evaluation of assignments and of what prices prove of them: by hand, and against the first."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from joulewise.check.assignments.assignment import certified_utility_front, check_assignment, recompute_assignment
from joulewise.errors import InputError
from joulewise.model import Supply, World, linear, step
from joulewise.model.assignment import Assignment
from joulewise.optimise.assignments.problem import allocation_of, assignment_facts, evaluated
from tests.strategies.cases import each_seed
from tests.strategies.random_assignments import KINDS, later, random_assignment, random_world
from tests.strategies.simple_worlds import simple_system, simple_workload


def two_machines() -> World:
    """Tasks of 2 s at 10 W on one machine and of 4 s at 3 W on the other, worth 1 less what 10 s take away."""
    system = simple_system([[2.0, 4.0]], [1, 1], [[10.0, 3.0]])
    return World(system, simple_workload([0.0, 1.0, 1.0], shape=linear(10.0)), Supply(pue=2.0))


def assignment_of(machine: list[int], order: list[int]) -> Assignment:
    return Assignment(np.array(machine), np.zeros(len(machine), np.int8), np.array(order))


def test_by_hand() -> None:
    """The last task goes first on the fast machine, so that the first one runs from 3 to 5 s."""
    outcome = recompute_assignment(two_machines(), assignment_of([0, 1, 0], [1, 0, 0]))
    np.testing.assert_array_equal(outcome.start_s, [3.0, 1.0, 1.0])
    np.testing.assert_array_equal(outcome.end_s, [5.0, 5.0, 3.0])
    assert outcome.energy_j == 2 * (20.0 + 12.0 + 20.0)
    assert outcome.utility == pytest.approx(0.5 + 0.6 + 0.8)


def test_what_earns_too_little_is_dropped_when_its_turn_comes() -> None:
    outcome = recompute_assignment(two_machines(), assignment_of([0, 0, 0], [2, 1, 0]), drop_below=0.6)
    np.testing.assert_array_equal(outcome.end_s, [np.nan, 5.0, 3.0])
    assert outcome.energy_j == 80.0
    assert outcome.utility == pytest.approx(0.8 + 0.6)


@pytest.mark.parametrize("drop_below", [0.0, 0.5])
@each_seed(12)
def test_both_evaluations_agree(seed: int, drop_below: float) -> None:
    world = later(random_world(seed, KINDS[seed % len(KINDS)]), (seed % 3) * 1e9)
    assignment = random_assignment(world, seed, is_complete=drop_below == 0)
    facts = assignment_facts(world, drop_below)
    ((energy_j, loss),) = evaluated(facts, [assignment])
    said = {"energy_j": energy_j, "utility": -loss, "allocation": allocation_of(facts, assignment)}
    assert check_assignment(world, assignment, drop_below, **said) == []


def test_what_is_wrong_is_named() -> None:
    world, assignment = two_machines(), assignment_of([0, 1, 0], [1, 0, 0])
    facts = assignment_facts(world)
    ((energy_j, loss),) = evaluated(facts, [assignment])
    assert check_assignment(world, assignment, energy_j=energy_j, utility=-loss) == []
    assert check_assignment(world, assignment, energy_j=energy_j + 1) == ["energy_j: found 105.0; expected 104.0"]
    assert "utility" in check_assignment(world, assignment, utility=loss)[0]
    done, later_s = allocation_of(facts, assignment), np.array([0.0, 1.0, 0.0])
    late = dataclasses.replace(done, start_s=done.start_s + later_s, end_s=done.end_s + later_s)
    lines = check_assignment(world, assignment, allocation=late)
    assert [line.split(": found")[0] for line in lines] == ["task 1: start_s", "task 1: end_s"]


def test_places_that_are_none_are_named() -> None:
    world = two_machines()
    left_out = assignment_of([-1, 0, 0], [0, 1, 2])
    assert "every task must run" in check_assignment(world, left_out)[0]
    assert check_assignment(world, left_out, drop_below=0.1) == []
    assert "that exist" in check_assignment(world, assignment_of([0, 2, 0], [0, 1, 2]))[0]
    assert "3 of the workload" in check_assignment(world, assignment_of([0], [0]))[0]
    special = World(simple_system([[1.0, np.inf]], [1, 1], [[1.0, 1.0]]), world.workload)
    assert "can run its task type" in check_assignment(special, assignment_of([0, 1, 0], [0, 1, 2]))[0]


def test_prices_by_hand() -> None:
    """One slot of 3 s at 0.1 and 0.2 a second: tasks wait for it to be over, or run at once on the slow machine.

    At 0.001 a joule the first task gains 0.8 - 0.2 - 0.04 on arrival, 0.6 - 0.6 - 0.024 on the slow one; the others
    gain 0.8 - 0.2 - 0.04 too. Machine time costs 0.3 + 0.6.
    """
    world, prices = two_machines(), np.array([[[0.1], [0.2]]])
    assert certified_utility_front(world, 0.001, prices, 3.0) == pytest.approx([0.9 + 3 * 0.56])
    assert certified_utility_front(world, 0.001, 10 * prices, 3.0) == pytest.approx([9.0 + (0.5 - 0.04) + 2 * 0.56])
    both = certified_utility_front(world, [0.001, 1.0], np.zeros((2, 2, 1)), 3.0)
    assert both == pytest.approx([3 * (0.8 - 0.04), 3 * (0.6 - 24.0)])
    assert certified_utility_front(world, 1.0, prices, 3.0, drop_below=0.1) == pytest.approx([0.9])


def test_a_run_may_complete_just_before_a_jump_and_no_later_than_counts() -> None:
    """Dear until 4 s: a run from then on costs nothing, one that must end by 4.7 s or 4.5 s does."""
    system = simple_system([[1.0]], [1], [[0.0]])
    prices = np.array([[[1.0]]])
    jump = World(system, simple_workload([0.0], shape=step(4.7)))
    assert certified_utility_front(jump, 0.0, prices, 4.0) == pytest.approx([4.0 + 1.0 - 0.3])
    falling = World(system, simple_workload([0.0], shape=linear(10.0)))
    assert certified_utility_front(falling, 0.0, prices, 4.0, 0.1) == pytest.approx([4.0 + 0.5])
    assert certified_utility_front(falling, 0.0, prices, 4.0, 0.55) == pytest.approx([4.0 + 0.55 - 0.5])


def test_prices_that_do_not_fit_are_refused() -> None:
    for wrong in (np.zeros((1, 3, 2)), np.zeros((2, 2, 2)), np.zeros((2, 2)), -np.ones((1, 2, 2))):
        with pytest.raises(InputError, match="prices"):
            certified_utility_front(two_machines(), 0.1, wrong, 1.0)
    with pytest.raises(InputError, match="prices"):
        certified_utility_front(two_machines(), 0.1, np.zeros((1, 2, 2)), 0.0)
