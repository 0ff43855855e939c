"""Assignments: evaluation against its slow twin, genes and back, what evolution finds, and worlds that are refused."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.model import World
from joulewise.model.assignment import Assignment
from joulewise.optimise.assignments.problem import (
    AssignmentProblem,
    allocation_of,
    assignment_facts,
    assignment_of,
    evaluated,
    genes_of,
)
from joulewise.optimise.evolution import evolve
from tests.strategies.cases import cases
from tests.strategies.random_assignments import KINDS, later, random_assignment, random_world, tiny_world
from tests.twins.assignments import evaluation as twin

NUMBERS = st.integers(0, 10**6)
DROPS = st.sampled_from([0.0, 0.0, 0.5, 1.0])


@given(NUMBERS, st.sampled_from(KINDS), DROPS)
def test_points_and_times_are_those_of_the_twin(seed: int, kind: str, drop_below: float) -> None:
    world = random_world(seed, kind)
    facts, assignment = assignment_facts(world, drop_below), random_assignment(world, seed, is_complete=drop_below == 0)
    genes = twin.genes_of(assignment)
    assert evaluated(facts, [assignment])[0] == pytest.approx(twin.evaluate(world, genes, drop_below), rel=1e-12)
    allocation, times = allocation_of(facts, assignment), twin.times_of(world, genes, drop_below)
    assert allocation.ran.tolist() == [task in times for task in range(len(genes))]
    for task, (start_s, end_s) in times.items():
        assert (allocation.start_s[task], allocation.end_s[task]) == pytest.approx((start_s, end_s), rel=1e-14)


@pytest.mark.parametrize("by_s", [1e-3, 86_400.0, 2.0**31])
def test_times_are_counted_from_the_first_arrival(by_s: float) -> None:
    """Whatever the clock says, points are the same; times tell it, and no task starts before it arrives."""
    world = later(random_world(4, most_tasks=30), 0.0)
    assignment, late = random_assignment(world, 4), later(world, by_s)
    facts, late_facts = assignment_facts(world, 0.5), assignment_facts(late, 0.5)
    assert evaluated(late_facts, [assignment])[0] == pytest.approx(evaluated(facts, [assignment])[0], rel=1e-12)
    begun, late_begun = allocation_of(facts, assignment), allocation_of(late_facts, assignment)
    np.testing.assert_allclose(late_begun.start_s - by_s, begun.start_s, rtol=1e-9, atol=np.spacing(2 * by_s))
    assert (late_begun.start_s >= late.workload.arrival_s)[late_begun.ran].all()


@given(NUMBERS, DROPS)
def test_genes_and_assignments_stand_for_each_other(seed: int, drop_below: float) -> None:
    world = random_world(seed)
    facts, assignment = assignment_facts(world, drop_below), random_assignment(world, seed, is_complete=False)
    genes = genes_of(facts, assignment)
    assert genes_of(facts, assignment_of(facts, genes)).tolist() == genes.tolist()
    assert assignment_of(facts, genes).machine.tolist() == assignment.machine.tolist()


@given(NUMBERS, st.sampled_from(KINDS), DROPS)
def test_what_an_allocation_did_can_be_done_again(seed: int, kind: str, drop_below: float) -> None:
    world = random_world(seed, kind)
    facts = assignment_facts(world, drop_below)
    first = allocation_of(facts, random_assignment(world, seed))
    again = allocation_of(facts, Assignment.of(first))
    assert again.ran.tolist() == first.ran.tolist()
    assert (again.start_s[again.ran] == first.start_s[first.ran]).all()


@pytest.mark.parametrize("drop_below", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(4, 7))
def test_evolution_finds_the_exact_front(seed: int, drop_below: float) -> None:
    world = tiny_world(seed)
    exact = twin.exact_front(world, drop_below)
    problem = AssignmentProblem(world, drop_below, leaves_out=drop_below > 0)
    found = evolve(problem, generations=300, population=20, seed=seed).front
    assert found.points == pytest.approx(exact.points, rel=1e-12)


@cases(divided_by=10)
@given(NUMBERS)
def test_points_of_a_front_are_those_of_its_assignments(seed: int) -> None:
    world = random_world(seed, most_tasks=30)
    problem = AssignmentProblem(world)
    front = evolve(problem, [random_assignment(world, seed)], generations=20, population=10).front
    assert evaluated(problem.facts, list(front.payload)).tolist() == front.points.tolist()


def test_the_fingerprint_tells_problems_apart() -> None:
    world = random_world(1)
    work = world.workload
    delayed = World(world.system, dataclasses.replace(work, hold_s=work.hold_s + 1.0), world.supply)
    problems = ((world, 0.0), (world, 0.5), (world, 0.5, True), (delayed, 0.0))
    prints = [AssignmentProblem(*problem).fingerprint for problem in problems]
    assert len(set(prints)) == 4
    assert prints[0] == AssignmentProblem(random_world(1)).fingerprint


def test_too_many_tasks_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joulewise.optimise.assignments.problem.MOST_TASKS", 0)
    with pytest.raises(InputError, match="at most"):
        AssignmentProblem(random_world(0))


def test_leaving_out_needs_a_limit_of_what_is_dropped() -> None:
    with pytest.raises(InputError, match="leaves_out"):
        AssignmentProblem(random_world(0), leaves_out=True)


def test_worlds_that_assignments_do_not_know_are_refused() -> None:
    world = random_world(0)
    windowed = World(world.system, dataclasses.replace(world.workload, end_s=5.0))
    powerless = World(dataclasses.replace(world.system, power_w=None), world.workload)
    rising = World(world.system, dataclasses.replace(world.workload, rise_s=world.workload.hold_s))
    wrongs = (
        (windowed, 0.0, "window"),
        (powerless, 0.0, "power"),
        (world, -1.0, "drop_below"),
        (rising, 0.0, "rise_s"),
    )
    for wrong, drop_below, word in wrongs:
        with pytest.raises(InputError, match=word):
            AssignmentProblem(wrong, drop_below)


@pytest.mark.parametrize("seed", ["min-energy", Assignment(*np.zeros((3, 1), np.int32))])
def test_what_is_no_assignment_of_these_tasks_is_refused_as_a_seed(seed: object) -> None:
    with pytest.raises(InputError, match="must be an Assignment"):
        evolve(AssignmentProblem(random_world(3)), [seed], generations=1, population=4)
