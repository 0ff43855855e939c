"""Search under uncertain times, evaluation on fresh samples, and what knowing more is worth."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.check.assignments.chances import SampleDraws, fresh_draws, run_samples
from joulewise.errors import InputError
from joulewise.kernels.draws import draws_of
from joulewise.model import World
from joulewise.model.assignment import Assignment
from joulewise.model.chances import Chances
from joulewise.optimise.assignments.fuzzy import (
    MOST_DRAWS,
    FuzzyFront,
    fuzzy,
    least_variance_within,
    price_at,
    value_of_perfect_information,
    value_of_stochastic_solution,
)
from joulewise.optimise.assignments.problem import ENERGY_UTILITY, AssignmentProblem
from joulewise.optimise.assignments.stochastic import ChanceChromosomes, StochasticProblem, evaluated_chances, rank_of
from joulewise.optimise.evolution import evolve
from joulewise.optimise.front import Front, front_of
from joulewise.rng import generator
from joulewise.worlds.assignments.chances import ChanceParameters, gamma_chances
from tests.strategies.cases import cases
from tests.strategies.random_assignments import random_assignment, random_world, tiny_world
from tests.twins.assignments.evaluation import all_genes, assignment_of

pytestmark = pytest.mark.thorough("compiles the kernels of uncertain times")


def _chances(world: World, points: int = 8, cov: tuple[float, float] = (0.1, 1.0)) -> Chances:
    return gamma_chances(world.system, ChanceParameters(cov, cov, points), 0, 0)


def _problem(world: World, **options: Any) -> StochasticProblem:
    return StochasticProblem(world, _chances(world), **{"n_samples": 20, **options})


def _front(problem: Any, generations: int = 10, population: int = 10) -> Front:
    return evolve(problem, generations=generations, population=population).front


def test_percentiles_have_these_ranks() -> None:
    assert [rank_of(percent, 100) for percent in (1, 20, 50, 100)] == [1, 20, 50, 100]
    assert [rank_of(percent, 7) for percent in (1, 14, 15, 50, 100)] == [1, 1, 2, 4, 7]
    assert rank_of(1, 1) == 1


def test_threads_change_nothing() -> None:
    world = random_world(3)
    fronts = [_front(_problem(world, threads=threads)) for threads in (1, 3)]
    assert fronts[0].points.tolist() == fronts[1].points.tolist()


@pytest.mark.parametrize("objective", ["mean-completions", "percentile"])
def test_children_are_evaluated_as_if_nothing_were_known_of_their_parents(objective: Any) -> None:
    problem = _problem(random_world(9), objective=objective)
    home = problem.chromosomes(np.repeat(problem.random_genes(generator(0, "tests"), 4), 4, axis=1))
    home.evaluate(8)
    state = draws_of(generator(1, "tests"))
    for _ in range(5):
        home.breed(state, np.arange(8), np.arange(8, 16), 0.5)
        fresh = ChanceChromosomes(home.facts, home.genes.copy(), most_bytes=0)
        fresh.evaluate(16)
        assert fresh.points.tolist() == home.points.tolist()


def test_mean_times_are_the_deterministic_problem() -> None:
    world = random_world(4)
    stochastic, certain = _problem(world, objective="mean-times"), AssignmentProblem(world, 0.5)
    assert stochastic.fingerprint == certain.fingerprint
    assert _front(stochastic).points.tolist() == _front(certain).points.tolist()


def test_other_samples_are_another_problem() -> None:
    world = random_world(4)
    prints = {
        _problem(world, seed=seed, objective=o).fingerprint for seed in (0, 1) for o in ("expected", "percentile")
    }
    assert len(prints) == 4


@pytest.mark.parametrize("objective", ["mean-completions", "expected", "percentile"])
def test_evolution_finds_the_front_of_all_assignments(objective: Any) -> None:
    world = tiny_world(8)
    problem = _problem(world, objective=objective, percentile=(75, 25), drop_below=0.0)
    assert problem.chance_facts is not None
    everything = list(map(assignment_of, all_genes(world)))
    exact = front_of(evaluated_chances(problem.chance_facts, everything), (), ENERGY_UTILITY)
    assert _front(problem, 200, 40).points == pytest.approx(exact.points, rel=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"objective": "percentil"}, "did you mean 'percentile'"),
        ({"drop_by": "expect"}, "drop_by"),
        ({"percentile": (0, 50)}, "percentile_utility"),
        ({"percentile": (50, 101)}, "percentile_energy"),
        ({"n_samples": 0}, "n_samples"),
        ({"threads": 0}, "threads"),
        ({"drop_below": -1.0}, "drop_below"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        _problem(random_world(1), **options)


def test_chances_of_another_system_are_refused() -> None:
    world, other = random_world(1), random_world(2)
    with pytest.raises(InputError, match="chances"):
        StochasticProblem(world, _chances(other))
    doubled = Chances(2 * _chances(world).time_s, _chances(world).power_w)
    with pytest.raises(InputError, match="other means"):
        fuzzy(world, doubled, [random_assignment(world, 0)])


def _exact_means(world: World, chances: Chances, assignment: Assignment) -> tuple[float, float]:
    """Mean energy and utility over all combinations of points of two tasks' times, and of mean powers."""
    kind, n = world.workload.task_type, chances.n_points
    machine = world.system.machine_type[assignment.machine]
    points = chances.time_s[kind, machine, assignment.pstate]
    combined = np.array([points[range(len(points)), each] for each in product(range(n), repeat=len(points))]).T
    power_w = np.asarray(world.system.power_w)[kind, machine, assignment.pstate][:, None] + 0 * combined
    totals = run_samples(world, assignment, SampleDraws(combined, power_w), 0.5, by_mean=False)
    return float(np.mean(totals.energy_j)), float(np.mean(totals.utility))


@pytest.mark.parametrize("seed", [2, 5])
def test_means_of_samples_are_within_their_confidence_of_the_exact_ones(seed: int) -> None:
    world = random_world(seed, most_tasks=3)
    chances, assignment = _chances(world, points=5), random_assignment(world, seed)
    exact = np.array(_exact_means(world, chances, assignment))
    found = fuzzy(world, chances, [assignment], 4000, seed=1, exact=False)
    assert (np.abs(found.mean[0] - exact) <= 1.5 * found.mean_error[0] + 1e-9).all()
    points = evaluated_chances(_facts(world, chances, 4000), [assignment])[0]
    assert (np.abs(points * [1, -1] - exact) <= 1.5 * found.mean_error[0] + 1e-4).all()


def _facts(world: World, chances: Chances, n_samples: int) -> Any:
    return StochasticProblem(world, chances, objective="expected", n_samples=n_samples).chance_facts


@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(["sampled", "expected"]))
@cases(divided_by=10)
def test_fresh_samples_are_those_that_the_check_draws(seed: int, is_gamma: bool, drop_by: Any) -> None:
    world, chances = random_world(seed), _chances(random_world(seed), points=5)
    chances = chances if is_gamma else Chances(chances.time_s, chances.power_w)
    assignment = random_assignment(world, seed, is_complete=False)
    found = fuzzy(world, chances, [assignment], 12, seed, drop_by=drop_by)
    totals = run_samples(
        world, assignment, fresh_draws(world, chances, assignment, 12, seed), 0.5, drop_by == "expected"
    )
    assert found.energy_j[0] == pytest.approx(totals.energy_j, rel=1e-4)
    assert found.utility[0] == pytest.approx(totals.utility, rel=1e-4, abs=1e-4)
    assert found.dropped[0].tolist() == (world.workload.n_tasks - totals.n_ran).tolist()
    assert (None if found.at_means is None else found.at_means[0]) == (
        pytest.approx(totals.at_means[1], rel=1e-4, abs=1e-4) if drop_by == "expected" else None
    )


def test_too_many_draws_are_refused() -> None:
    world = random_world(1)
    with pytest.raises(InputError, match=r"n_samples: found 50,000,000 of \d+ tasks; must be .* or less"):
        fuzzy(world, _chances(world), [random_assignment(world, 0)], MOST_DRAWS)


def test_exact_draws_have_the_variance_that_points_lose() -> None:
    world = random_world(6)
    chances, assignment = _chances(world, points=2, cov=(1.0, 1.0)), random_assignment(world, 6)
    spread = [
        fuzzy(world, chances, [assignment], 2000, exact=exact, drop_below=0.0).energy_j.var() for exact in (True, False)
    ]
    assert spread[0] > 1.2 * spread[1]


def _hand_made() -> FuzzyFront:
    energy_j = np.array([[1.0, 3.0], [4.0, 4.0], [6.0, 10.0]])
    utility, dropped = np.array([[1.0, 1.0], [4.0, 6.0], [5.0, 6.0]]), np.array([[2, 2], [1, 0], [0, 0]])
    return FuzzyFront((), np.array([[2.0, 1.0], [4.0, 7.0], [8.0, 6.0]]), energy_j, utility, dropped)


def test_clouds_have_means_covariances_and_ellipses() -> None:
    front = _hand_made()
    assert front.mean.tolist() == [[2.0, 1.0], [4.0, 5.0], [8.0, 5.5]]
    assert front.covariance[0].tolist() == [[2.0, 0.0], [0.0, 0.0]]
    assert front.mean_dropped.tolist() == [2.0, 0.5, 0.0]
    ellipses = front.ellipses()
    assert ellipses.semi_axes[:2] == pytest.approx(np.array([[2**0.5, 0.0], [2**0.5, 0.0]]))
    assert ellipses.angle_rad[:2] == pytest.approx([0.0, np.pi / 2])
    assert ellipses.semi_axes[2] == pytest.approx([8.5**0.5, 0.0])
    assert front.quantiles([0, 100])[:, 1].tolist() == [[4.0, 4.0], [4.0, 6.0]]
    assert front.mean_error[0].tolist() == pytest.approx([12.7062047, 0.0])  # Student's t of two samples
    assert np.isinf(_of_samples(front, slice(1)).mean_error).all()


def _of_samples(front: FuzzyFront, which: slice) -> FuzzyFront:
    return FuzzyFront((), front.planned, front.energy_j[:, which], front.utility[:, which], front.dropped[:, which])


def test_the_price_of_energy_falls_along_the_hull() -> None:
    assert [price_at(_hand_made(), budget_j) for budget_j in (0.0, 3.0, 5.0, 9.0)] == [2.0, 2.0, 0.125, 0.0]


def test_the_cautious_choice_varies_least() -> None:
    front = _hand_made()
    assert least_variance_within(front, 0.0) == 2
    assert least_variance_within(front, 1.0) == 0
    assert least_variance_within(front, 0.1, budget_j=5.0) == 1
    for tolerance, budget_j, words in ((0.1, 1.0, "budget: found 1 J"), (-1.0, 9.0, "tolerance: found -1")):
        with pytest.raises(InputError, match=words):
            least_variance_within(front, tolerance, budget_j)


def test_choices_are_made_on_one_half_and_read_on_the_other() -> None:
    front = _hand_made()
    solution = value_of_stochastic_solution(front, per_j=0.5)
    assert (solution.stochastic, solution.planned) == (1, 1)
    lucky = _of_samples(front, slice(None, None, -1))
    solution = value_of_stochastic_solution(lucky, per_j=0.0)
    assert (solution.stochastic, solution.planned) == (1, 1)
    unlucky = FuzzyFront((), front.planned, front.energy_j, np.array([[1, 1], [4, 6], [5, 4]]), front.dropped)
    solution = value_of_stochastic_solution(unlucky, per_j=0.0)
    assert (solution.stochastic, solution.planned, solution.difference) == (2, 1, -2.0)
    for few, per_j, words in ((_of_samples(front, slice(1)), 0.0, "2 or more"), (front, float("nan"), "per_j")):
        with pytest.raises(InputError, match=words):
            value_of_stochastic_solution(few, per_j)


def test_information_is_worth_the_best_of_each_sample() -> None:
    front = _hand_made()
    found = value_of_perfect_information(front, per_j=0.0)
    assert (found.informed_value, found.stochastic_value, found.difference) == (6.0, 6.0, 0.0)
    better = _of_samples(front, slice(1))
    better = FuzzyFront((), better.planned, better.energy_j, better.utility + 2.5, better.dropped)
    found = value_of_perfect_information(front, 0.0, {1: better}.__getitem__)  # sample 0 is for choosing
    assert found.difference == 1.5


def test_expectations_hold_on_fresh_samples() -> None:
    front, fresh = _searched_and_fresh("expected")
    assert (np.abs(fresh.mean - front.shown) <= 3 * fresh.mean_error).all()


def test_percentiles_hold_on_fresh_samples() -> None:
    """They lie between the fresh percentiles a few standard errors below and above."""
    front, fresh = _searched_and_fresh("percentile", percentile=(90, 80))
    assert (fresh.percentiles((94, 75)) <= front.shown).all()
    assert (front.shown <= fresh.percentiles((86, 85))).all()


def _searched_and_fresh(objective: Any, **options: Any) -> tuple[Front, FuzzyFront]:
    world, n = random_world(11), 2000
    problem = StochasticProblem(world, _chances(world, points=64), objective=objective, n_samples=n, **options)
    front = _front(problem, generations=3)
    return front, fuzzy(world, problem.chances, front.payload, n, seed=7)


def test_percentiles_of_clouds_have_their_ranks() -> None:
    assert _hand_made().percentiles((50, 50)).tolist() == [[1.0, 1.0], [4.0, 6.0], [6.0, 6.0]]
    assert _hand_made().percentiles((100, 51)).tolist() == [[3.0, 1.0], [4.0, 4.0], [10.0, 5.0]]
