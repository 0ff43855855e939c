"""What becomes of a front when times and powers turn out one way or another, and which of its points to choose then."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from joulewise.study.optimising import UtilityFrontParameters
from joulewise.study.uncertain import KnownWorld

if TYPE_CHECKING:
    from joulewise.model.assignment import Assignment
    from joulewise.optimise.fuzzy import FuzzyFront
    from joulewise.study.planning import Run

_MJ = 1e6
_VALUES = (
    "energy_price_per_mj", "solution_value", "solution_value_error", "information_value", "information_value_error",
)  # fmt: skip
_CAUTIOUS = ("cautious_energy_j", "cautious_utility", "cautious_sd_utility")


def fresh_seed(run: Run) -> int:
    """The seed of the samples in which the fronts of one trial are evaluated again, whatever found them."""
    from joulewise.rng import generator

    return int(generator(run.seed, run.trial, "fresh").integers(2**63))


def spread_of(known: KnownWorld, p: UtilityFrontParameters, assignments: Sequence[Assignment], seed: int) -> FuzzyFront:
    """What assignments come to in fresh samples."""
    from joulewise.optimise.fuzzy import fuzzy

    assert known.chances is not None, "there is chance in this world"
    facts = (known.world, known.chances, assignments, p.fresh_samples, seed)
    return fuzzy(*facts, drop_below=p.drop_below, drop_by=p.drop_by)


def cautious_choice(spread: FuzzyFront, p: UtilityFrontParameters) -> int:
    """The point that varies least in utility, of those that earn nearly the most."""
    from joulewise.optimise.fuzzy import least_variance_within

    return least_variance_within(spread, p.tolerance)


def decision_columns(
    known: KnownWorld, p: UtilityFrontParameters, spread: FuzzyFront | None, assignments: Sequence[Assignment]
) -> dict[str, float]:
    """What choosing by samples and what knowing all is worth, and the cautious choice; NaN without chances."""
    from joulewise.optimise.front import front_of
    from joulewise.optimise.fuzzy import price_at, value_of_perfect_information, value_of_stochastic_solution

    if spread is None:
        return dict.fromkeys((*_VALUES, *_CAUTIOUS), math.nan)
    means = front_of(spread.mean * [1.0, -1.0])
    per_j = price_at(spread, float(means.points[means.knee(), 0]))
    solution = value_of_stochastic_solution(known.world, spread, assignments, per_j, p.drop_below)
    information = value_of_perfect_information(spread, per_j)
    chosen = cautious_choice(spread, p)
    values = (_MJ * per_j, solution.difference, solution.error, information.difference, information.error)
    cautious = (*spread.mean[chosen].tolist(), float(spread.utility[chosen].std(ddof=1)))
    return dict(zip((*_VALUES, *_CAUTIOUS), (*values, *cautious), strict=True))
