"""What a front turns into when times and powers are uncertain, and which of its points to choose then."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from joulewise.study.assignments.parameters import (
    EXPECTED,
    MEAN_COMPLETIONS,
    PERCENTILE,
    UtilityFrontParameters,
)
from joulewise.study.assignments.world import KnownWorld
from joulewise.study.kinds.case import Case, Note
from joulewise.study.searches.seeds import search_seed
from joulewise.study.spec.column import CLOUDS, FRONTS
from joulewise.study.spec.run import Run
from joulewise.study.store.store import Tables

if TYPE_CHECKING:
    from joulewise.model.arrays import Floats
    from joulewise.model.assignment import Assignment
    from joulewise.optimise.assignments.fuzzy import FuzzyFront

_MJ = 1e6
_VALUES = (
    "energy_price_per_mj", "solution_value", "solution_value_error", "information_value", "information_value_error",
)  # fmt: skip
_MOST_CHECKED = 2_000_000
"""Tasks times samples that are drawn a second time for a run; beyond it some points are left out."""
_SAMPLE_S = 8e-6
"""What each of them takes on an ordinary processor of 2024."""

_CAUTIOUS = ("cautious_energy_j", "cautious_utility", "cautious_sd_utility")


def fresh_seed(run: Run) -> int:
    """The seed of the samples in which the fronts of one trial are evaluated again, whatever found them."""
    from joulewise.rng import generator

    return int(generator(run.seed, run.trial, "fresh").integers(2**63))


def spread_of(known: KnownWorld, p: UtilityFrontParameters, assignments: Sequence[Assignment], seed: int) -> FuzzyFront:
    """What assignments come to in fresh samples."""
    from joulewise.optimise.assignments.fuzzy import fuzzy

    assert known.chances is not None, "there is chance in this world"
    facts = (known.world, known.chances, assignments, p.fresh_samples, seed)
    return fuzzy(*facts, drop_below=p.drop_below, drop_by=p.drop_by)


def fresh_points(known: KnownWorld, p: UtilityFrontParameters, spread: FuzzyFront, seed: int) -> Floats | None:
    """What a search optimises, as (energy in J, minus utility), taken from fresh samples; None at mean times."""
    sign = [1.0, -1.0]
    if p.is_certain:
        return None
    if p.objective == EXPECTED:
        return spread.mean * sign
    if p.objective == PERCENTILE:
        return spread.percentiles((p.percentile_utility, p.percentile_energy)) * sign
    by_mean = replace(p, drop_by="expected")
    same = spread if p.drop_by == by_mean.drop_by else spread_of(known, by_mean, spread.assignments, seed)
    assert same.at_means is not None, "tasks are dropped by their mean completions"
    return np.column_stack((same.mean[:, 0], -same.at_means))


def cautious_choice(spread: FuzzyFront, p: UtilityFrontParameters) -> int:
    """The point that varies least in utility, of those that earn nearly the most."""
    from joulewise.optimise.assignments.fuzzy import least_variance_within

    return least_variance_within(spread, p.tolerance)


def decision_columns(p: UtilityFrontParameters, spread: FuzzyFront | None) -> dict[str, float]:
    """What choosing by samples and what knowing all is worth, and the cautious choice; NaN without chances."""
    from joulewise.optimise.assignments.fuzzy import (
        price_at,
        value_of_perfect_information,
        value_of_stochastic_solution,
    )
    from joulewise.optimise.front import front_of

    if spread is None:
        return dict.fromkeys((*_VALUES, *_CAUTIOUS), math.nan)
    means = front_of(spread.mean * [1.0, -1.0])
    per_j = price_at(spread, float(means.points[means.knee(), 0]))
    solution = value_of_stochastic_solution(spread, per_j)
    information = value_of_perfect_information(spread, per_j)
    chosen = cautious_choice(spread, p)
    values = (_MJ * per_j, solution.difference, solution.error, information.difference, information.error)
    cautious = (*spread.mean[chosen].tolist(), float(spread.utility[chosen].std(ddof=1)))
    return dict(zip((*_VALUES, *_CAUTIOUS), (*values, *cautious), strict=True))


# --- judging -----------------------------------------------------------------------------------------------------


def judging_s(n_drawn: float) -> float:
    """About how long samples take to be judged, of so many tasks times samples."""
    return _SAMPLE_S * min(n_drawn, _MOST_CHECKED)


def judge_samples(case: Case, assignments: Sequence[Assignment], tables: Tables) -> Iterator[str]:
    """What does not hold of points in the samples of the search, and of clouds in fresh ones.

    Samples are drawn and run a second time, for as many points as takes a few seconds; a note tells if not for all.
    """
    p, known = case.decision, case.world
    n_drawn = len(assignments) * known.world.workload.n_tasks * max(p.n_samples, p.fresh_samples)
    points = range(0, len(assignments), -(-n_drawn // _MOST_CHECKED))
    fronts = tables[FRONTS].filter(tables[FRONTS]["curve"] == "front")
    objectives = fronts.select("energy_j", "utility").to_numpy()
    for point in () if p.is_certain else points:
        found = _judge_objective(case, assignments[point], *objectives[point])
        yield from (f"point {point}: {finding}" for finding in found)
    clouds = tables[CLOUDS].select("energy_j", "utility", "tasks_dropped").to_numpy()
    for point in points:
        found = _judge_cloud(case, assignments[point], clouds.reshape(len(assignments), -1, 3)[point].T)
        yield from (f"point {point}: {finding}" for finding in found)
    if len(points) < len(assignments):
        yield Note(f"samples were drawn again for {len(points)} of {len(assignments)} points")


def _judge_objective(case: Case, assignment: Assignment, energy_j: float, utility: float) -> Iterator[str]:
    from joulewise.check.assignments.chances import check_objective, objective_of, run_samples, search_draws

    p, known = case.decision, case.world
    draws = search_draws(known.world, known.chances, assignment, p.n_samples, search_seed(case.run))
    by_mean = p.drop_by == "expected" or p.objective == MEAN_COMPLETIONS
    totals = run_samples(known.world, assignment, draws, p.drop_below, by_mean)
    expected = objective_of(totals, p.objective, (p.percentile_utility, p.percentile_energy))
    yield from check_objective(expected, p.drop_below, energy_j=float(energy_j), utility=float(utility))


def _judge_cloud(case: Case, assignment: Assignment, cloud: Floats) -> Iterator[str]:
    from joulewise.check.assignments.chances import check_cloud, fresh_draws, run_samples

    p, known, (energy_j, utility, dropped) = case.decision, case.world, cloud
    draws = fresh_draws(known.world, known.chances, assignment, p.fresh_samples, fresh_seed(case.run))
    totals = run_samples(known.world, assignment, draws, p.drop_below, p.drop_by == "expected")
    n_ran = known.world.workload.n_tasks - dropped
    yield from check_cloud(totals, p.drop_below, energy_j=energy_j, utility=utility, n_ran=n_ran)
