"""What assignments come to when times and powers are drawn anew, and what knowing more would be worth (Friese 7.4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaincinv

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.kernels.assignment import NOWHERE, AssignmentFacts, room_to_evaluate
from joulewise.kernels.chances import Clouds, sample_assignment
from joulewise.model.arrays import Counts, Floats, Ints, freeze_fields
from joulewise.model.assignment import Assignment
from joulewise.model.chances import Chances
from joulewise.model.world import World
from joulewise.optimise.assignments import assignment_facts, evaluated, genes_of
from joulewise.optimise.front import front_of
from joulewise.optimise.stochastic import DropBy, chance_problems
from joulewise.rng import generator

CONFIDENCE = 1.96
"""So many standard errors to both sides of a mean hold the true mean with 95 % probability."""

_LEAST_COV = 1e-3
_sample: Any = sample_assignment


class Ellipses(NamedTuple):
    """By assignment: semi-axes, the longer first, in standard deviations, and its angle to the energy axis."""

    semi_axes: Floats
    angle_rad: Floats


@dataclass(frozen=True, eq=False)
class FuzzyFront:
    """Energies, utilities and numbers of dropped tasks of assignments, by [assignment, sample]."""

    energy_j: Floats
    utility: Floats
    dropped: Counts

    def __post_init__(self) -> None:
        freeze_fields(self, {"energy_j": np.float64, "utility": np.float64, "dropped": np.int64})

    def __len__(self) -> int:
        return int(self.energy_j.shape[0])

    @property
    def n_samples(self) -> int:
        return int(self.energy_j.shape[1])

    @property
    def clouds(self) -> Floats:
        """All points [assignment, sample, (energy in J, utility)]."""
        return np.stack([self.energy_j, self.utility], axis=-1)

    @property
    def mean(self) -> Floats:
        """Mean energy and utility by assignment."""
        return np.asarray(self.clouds.mean(axis=1))

    @property
    def covariance(self) -> Floats:
        """Covariances of energy and utility, a matrix for each assignment; zeros where there is one sample."""
        deviation = self.clouds - self.mean[:, None]
        return np.asarray(np.einsum("ani,anj->aij", deviation, deviation) / max(self.n_samples - 1, 1))

    @property
    def mean_error(self) -> Floats:
        """How far the true means may be from `mean`, with 95 % confidence; infinite where there is one sample."""
        if self.n_samples == 1:
            return np.full((len(self), 2), np.inf)
        return CONFIDENCE * np.sqrt(np.diagonal(self.covariance, axis1=1, axis2=2) / self.n_samples)

    @property
    def mean_dropped(self) -> Floats:
        """Mean number of tasks that do not run, by assignment."""
        return np.asarray(self.dropped.mean(axis=1))

    def ellipses(self, unit_j: float = 1.0, unit_utility: float = 1.0) -> Ellipses:
        """Each cloud as the ellipse of its covariances, on axes in these units."""
        units = np.array([unit_j, unit_utility])
        variances, directions = np.linalg.eigh(self.covariance / np.outer(units, units))
        longer = directions[:, :, 1]
        angle_rad = np.arctan2(longer[:, 1], longer[:, 0])
        return Ellipses(np.sqrt(np.maximum(variances[:, ::-1], 0.0)), np.mod(angle_rad, math.pi))

    def quantiles(self, percents: Sequence[float]) -> Floats:
        """Energy and utility that so many percent of the samples do not exceed, [percent, assignment, 2]."""
        return np.asarray(np.percentile(self.clouds, percents, axis=1))


def fuzzy(
    world: World,
    chances: Chances,
    assignments: Sequence[Assignment],
    n_samples: int = 100,
    seed: int = 0,
    exact: bool = True,
    *,
    drop_below: float = 0.5,
    drop_by: DropBy = "sampled",
) -> FuzzyFront:
    """Evaluate assignments on fresh samples, the same for all of them, that no search has seen.

    Times and powers are drawn from the gamma distributions themselves where the chances have them, else, or if not
    `exact`, from their points. Raises InputError.
    """
    if not assignments:
        raise InputError(Problem("assignments", "found none", "must be one at least"))
    draws = _Draws(world, chances, n_samples, seed, exact)
    facts = assignment_facts(world, drop_below)
    clouds = [_cloud(facts, draws, each, drop_by == "expected") for each in assignments]
    energy_j, utility, n_ran = (np.stack(column) for column in zip(*clouds, strict=True))
    return FuzzyFront(energy_j, utility, world.workload.n_tasks - n_ran)


def _cloud(facts: AssignmentFacts, draws: _Draws, assignment: Assignment, by_mean: bool) -> Clouds:
    """What one assignment comes to in each sample."""
    place, order = genes_of(facts, assignment)
    n_machines, n = int(facts.machine[-1]) + 1, draws.n_samples
    row, time_s, power_w = draws.of(np.where(place == NOWHERE, NOWHERE, facts.choice[place]))
    found = Clouds(np.zeros(n), np.zeros(n), np.zeros(n, np.int64))
    room, free_s = room_to_evaluate(place.size, n_machines), np.zeros((n_machines, n))
    _sample(facts, room, place, order, row, time_s, power_w, by_mean, free_s, np.zeros(n), found)
    return found


class _Draws:
    """Times and powers of (task, choice) pairs in all samples, drawn when first asked for and then kept."""

    def __init__(self, world: World, chances: Chances, n_samples: int, seed: int, exact: bool) -> None:
        raise_if_any((*chance_problems(world, chances), *_sample_problems(n_samples)))
        self.n_samples, self.task_type, n = n_samples, world.workload.task_type, world.workload.n_tasks
        self.share = generator(seed, "chances.fresh").random((2, n, n_samples))
        covs = (chances.time_cov, chances.power_cov) if exact else (None, None)
        points = (chances.time_s, world.supply.pue * chances.power_w)
        self.chances = [_Spread(*pair) for pair in zip(points, covs, strict=True)]
        self.row = np.full((n, math.prod(chances.time_s.shape[1:3])), -1, np.int64)
        self.drawn = np.zeros((2, 0, n_samples))

    def of(self, choice: Ints) -> tuple[Counts, Floats, Floats]:
        """The row of each task's choice, and times and powers by [row, sample]; tasks without a choice have row -1."""
        task = np.flatnonzero(choice != NOWHERE)
        new = task[self.row[task, choice[task]] == -1]
        if new.size:
            kind, picked = self.task_type[new], choice[new]
            more = [each.at(kind, picked, share[new]) for each, share in zip(self.chances, self.share, strict=True)]
            self.row[new, picked] = self.drawn.shape[1] + np.arange(new.size)
            self.drawn = np.concatenate([self.drawn, np.stack(more)], axis=1)
        row = np.where(choice == NOWHERE, -1, self.row[np.arange(choice.size), choice])
        return row, self.drawn[0], self.drawn[1]


class _Spread:
    """Quantiles of times or of powers by [task type, choice]."""

    def __init__(self, points: Floats, cov: Floats | None) -> None:
        n_task_types, _, _, n_points = points.shape
        self.points = points.reshape(n_task_types, -1, n_points)
        self.cov = None if cov is None else cov.reshape(n_task_types, -1)

    def at(self, kind: Ints, choice: Ints, share: Floats) -> Floats:
        """The quantiles at these shares, [row, sample], of these pairs."""
        points = self.points[kind, choice]
        if self.cov is None:
            return np.take_along_axis(points, (share * points.shape[-1]).astype(np.int64), axis=1)
        mean, cov = points.mean(axis=-1)[:, None], self.cov[kind, choice][:, None]
        shape = 1.0 / np.maximum(cov, _LEAST_COV) ** 2
        return np.asarray(np.where(cov < _LEAST_COV, mean, mean / shape * gammaincinv(shape, share)))


def _sample_problems(n_samples: int) -> list[Problem]:
    return [] if n_samples >= 1 else [Problem("n_samples", f"found {n_samples}", "must be 1 or more")]


class SolutionValue(NamedTuple):
    """What planning with the chances gains over planning with mean times, on one set of candidates and samples.

    Values are utility less the price of energy. `planned` is the candidate that looks best when everything takes its
    mean time and power, `stochastic` the one with the best mean; `difference` is never below 0, and `error` is the
    half width of its 95 % confidence interval. The best mean is chosen and read off on the same samples: with few of
    them it is too high by about the error.
    """

    stochastic: int
    planned: int
    stochastic_value: float
    planned_value: float
    difference: float
    error: float


class InformationValue(NamedTuple):
    """What knowing all times and powers beforehand would gain: the mean of the best value in each sample, less the
    best mean value, and the half width of its 95 % confidence interval.

    The best in a sample is that of the candidates looked at; a better one would make the difference larger.
    """

    informed_value: float
    stochastic_value: float
    difference: float
    error: float


def value_of_stochastic_solution(
    world: World, front: FuzzyFront, assignments: Sequence[Assignment], per_j: float, drop_below: float = 0.5
) -> SolutionValue:
    """What choosing by samples gains over choosing by mean times and powers, when a joule costs so much utility."""
    planned_points = evaluated(assignment_facts(world, drop_below), list(assignments))
    planned = int(np.argmin(planned_points[:, 1] + per_j * planned_points[:, 0]))
    values = _values(front, per_j)
    best = int(np.argmax(values.mean(axis=1)))
    gain = values[best] - values[planned]
    means = float(values[best].mean()), float(values[planned].mean())
    return SolutionValue(best, planned, *means, means[0] - means[1], _half_width(gain))


def value_of_perfect_information(
    front: FuzzyFront, per_j: float, search: Callable[[int], FuzzyFront] | None = None
) -> InformationValue:
    """What knowing the sample before choosing gains, when a joule costs so much utility.

    `search` may find further assignments for a sample: what it returns has that sample only.
    """
    values = _values(front, per_j)
    stochastic, informed = values[np.argmax(values.mean(axis=1))], values.max(axis=0)
    if search is not None:
        found = [float(_values(search(sample), per_j).max()) for sample in range(front.n_samples)]
        informed = np.maximum(informed, found)
    means = float(informed.mean()), float(stochastic.mean())
    return InformationValue(*means, means[0] - means[1], _half_width(informed - stochastic))


def _values(front: FuzzyFront, per_j: float) -> Floats:
    return front.utility - per_j * front.energy_j


def _half_width(values: Floats) -> float:
    return CONFIDENCE * float(values.std(ddof=1)) / math.sqrt(values.size) if values.size > 1 else math.inf


def price_at(front: FuzzyFront, budget_j: float) -> float:
    """The utility that one more joule brings at a mean energy, along the upper hull of the mean points."""
    points = front_of(front.mean * [1.0, -1.0]).points * [1.0, -1.0]
    hull = [points[0]]
    for point in points[1:]:
        while len(hull) > 1 and _slope(hull[-1], point) >= _slope(hull[-2], hull[-1]):
            hull.pop()
        hull.append(point)
    return next((_slope(a, b) for a, b in pairwise(hull) if b[0] > budget_j), 0.0)


def _slope(before: Floats, after: Floats) -> float:
    return float((after[1] - before[1]) / (after[0] - before[0]))


def least_variance_within(front: FuzzyFront, tolerance: float, budget_j: float = math.inf) -> int:
    """The assignment whose utility varies least of those that use no more than a budget in the mean and earn at least
    a share of 1 - tolerance of the most mean utility among them. Raises InputError where none is within the budget.
    """
    energy_j, utility = front.mean.T
    affordable = energy_j <= budget_j
    if not affordable.any() or not 0 <= tolerance <= 1:
        found = f"found {budget_j:g} J and the tolerance {tolerance:g}"
        raise InputError(Problem("budget", found, f"must be {energy_j.min():g} J or more, the tolerance from 0 to 1"))
    good = affordable & (utility >= (1.0 - tolerance) * utility[affordable].max())
    return int(np.argmin(np.where(good, front.utility.var(axis=1), np.inf)))
