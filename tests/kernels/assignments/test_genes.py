"""Breeding of assignments against its slow twin, and seeds against what they say of themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.kernels.assignments.evaluation import evaluate_assignments, room_to_evaluate
from joulewise.kernels.assignments.genes import cross_and_mutate
from joulewise.model import World
from joulewise.model.arrays import Ints
from joulewise.model.assignment import from_begin
from joulewise.optimise.assignments.problem import AssignmentProblem
from joulewise.optimise.assignments.seeds import (
    SEEDS,
    max_utility,
    max_utility_per_energy,
    min_energy,
    min_min_completion_time,
)
from joulewise.rng import generator
from tests.strategies.random_assignments import KINDS, random_assignment, random_world
from tests.twins.assignments import evaluation as twin
from tests.twins.draws import Draws

_cross_and_mutate: Any = cross_and_mutate
_evaluate: Any = evaluate_assignments
NUMBERS = st.integers(0, 10**6)
DROPS = st.sampled_from([0.0, 0.0, 0.5, 1.0])
Key = Callable[[float, float], float]
"""What a choice is worth, of the utility it earns and the energy it takes."""


def herd_of(problem: AssignmentProblem, genes: Ints) -> list[list[twin.Gene]]:
    return [twin.genes_of(problem.payload(genes[:, row])) for row in range(genes.shape[1])]


@given(NUMBERS, st.sampled_from([2, 6, 10]), st.sampled_from([0.0, 0.5, 1.0]), st.booleans())
def test_children_are_those_of_the_twin(seed: int, n: int, mutation: float, leaves_out: bool) -> None:
    problem = AssignmentProblem(random_world(seed, most_tasks=20), 0.5, leaves_out)
    rng = generator(seed, "tests.assignment_genes")
    genes = problem.random_genes(rng, 2 * n)
    herd, rows = herd_of(problem, genes), rng.permutation(2 * n)
    parents, children = np.sort(rows[:n]), rows[n:]
    _cross_and_mutate(np.array([seed], np.uint64), problem.chromosomes(genes).facts, genes, parents, children, mutation)
    twin.breed(problem.world, herd, parents.tolist(), children.tolist(), Draws(seed), mutation, leaves_out)
    assert herd_of(problem, genes) == herd


@given(NUMBERS, DROPS, st.sampled_from([0.0, 0.5, 1.0]))
def test_bred_points_are_exactly_those_of_all_genes(seed: int, drop_below: float, mutation: float) -> None:
    problem, n = AssignmentProblem(random_world(seed, most_tasks=60), drop_below, leaves_out=drop_below == 0.5), 8
    rng = generator(seed, "tests.assignment_genes")
    genes = problem.random_genes(rng, 2 * n)
    genes[:, 0] = problem.genes_of(random_assignment(problem.world, seed, is_complete=drop_below == 0))
    home, state = problem.chromosomes(genes), np.array([seed], np.uint64)
    home.evaluate(2 * n)
    rows, room = np.arange(2 * n), room_to_evaluate(problem.n_genes, problem.world.system.n_machines)
    for _ in range(6):
        home.breed(state, rows[:n], rows[n:], mutation)
        fresh = problem.chromosomes(home.genes.copy())
        fresh.evaluate(2 * n)
        assert fresh.points.tolist() == home.points.tolist()
        _evaluate(problem.facts, room, home.genes, np.arange(2 * n), fresh.points)
        assert fresh.points.tolist() == home.points.tolist()
        rng.shuffle(rows)


# --- seeds ------------------------------------------------------------------------------------------------


def by_arrival(world: World, drop_below: float, key: Key) -> list[twin.Gene]:
    """Tasks by arrival, each at the place of the greatest key, then of the earliest end."""
    genes: list[twin.Gene] = []
    for task in range(world.workload.n_tasks):
        free_s = dict.fromkeys(range(world.system.n_machines), 0.0)
        for done, (_, end_s) in twin.times_of(world, genes, drop_below).items():
            machine = genes[done][0][0]
            free_s[machine] = max(free_s[machine], end_s)
        choices = []
        for place in twin.places_of(world, task):
            end_s = max(free_s[place[0]], float(world.workload.arrival_s[task])) + twin.exec_s(world, task, place)
            value = key(twin.utility_of(world, task, end_s), twin.energy_j(world, task, place))
            choices.append((-value, end_s, place))
        genes.append((min(choices)[-1], task))
    return genes


KEYS: dict[Any, Key] = {
    min_energy: lambda _, used_j: -used_j,
    max_utility: lambda earned, _: earned,
    max_utility_per_energy: lambda earned, used_j: earned / used_j if earned else 0.0,
}


@given(NUMBERS, DROPS, st.sampled_from(list(KEYS)))
def test_seeds_by_arrival_take_the_best_place_of_each_task(seed: int, drop_below: float, made_by: Any) -> None:
    world = from_begin(random_world(seed, "wide"))  # as the engine reads it: else ends that are equal may round apart
    assert twin.genes_of(made_by(world, drop_below)) == by_arrival(world, drop_below, KEYS[made_by])


def slow_min_min(world: World, drop_below: float) -> list[twin.Gene]:
    """Task by task, the one that can be done first."""
    waiting, free_s = set(range(world.workload.n_tasks)), [0.0] * world.system.n_machines
    genes: dict[int, twin.Gene] = {}
    while waiting:
        end_s, task, place = min(
            (max(free_s[place[0]], float(world.workload.arrival_s[i])) + twin.exec_s(world, i, place), i, place)
            for i in waiting
            for place in twin.places_of(world, i)
        )
        waiting.remove(task)
        genes[task] = place, len(genes)
        if twin.utility_of(world, task, end_s) >= drop_below:
            free_s[place[0]] = end_s
    return [genes[task] for task in range(len(genes))]


@given(NUMBERS, DROPS, st.sampled_from(KINDS))
def test_min_min_maps_task_by_task(seed: int, drop_below: float, kind: str) -> None:
    world = from_begin(random_world(seed, kind))
    assert twin.genes_of(min_min_completion_time(world, drop_below)) == slow_min_min(world, drop_below)


@pytest.mark.parametrize("name", SEEDS)
def test_seeds_are_assignments_that_run_every_task(name: str) -> None:
    world = random_world(3, most_tasks=40)
    found = SEEDS[name](world, 0.0)
    assert found.runs.all()
    least_j = sum(min(twin.energy_j(world, i, p) for p in twin.places_of(world, i)) for i in range(found.n_tasks))
    used_j = twin.evaluate(world, twin.genes_of(found))[0]
    assert used_j == pytest.approx(least_j) if name == "min-energy" else used_j >= least_j * (1 - 1e-12)
