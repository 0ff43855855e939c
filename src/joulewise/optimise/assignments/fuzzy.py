"""What assignments earn and use when times and powers are drawn again, and what knowing more would be worth (Friese "
"7.4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial.chebyshev import chebvander
from scipy.special import gammainccinv, gammaincinv, gammaln, log_ndtr, ndtr, stdtrit

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.kernels.assignments.clouds import Clouds, Quantiles, SamplingRoom, sample_assignment
from joulewise.kernels.assignments.evaluation import NOWHERE, AssignmentFacts, room_to_evaluate
from joulewise.model.arrays import Counts, Floats, Ints, freeze_fields
from joulewise.model.assignment import Assignment
from joulewise.model.chances import Chances
from joulewise.model.world import World
from joulewise.optimise.assignments.choices import DropBy
from joulewise.optimise.assignments.problem import assignment_facts, evaluated, genes_of
from joulewise.optimise.assignments.stochastic import Floats32, chance_problems, rank_of
from joulewise.optimise.front import front_of
from joulewise.rng import generator
from joulewise.visible import Visible

CONFIDENCE = 0.95
"""How probable it is that a true mean lies within the errors given here."""

MOST_DRAWS = 50_000_000
"""Tasks times samples that are drawn at once."""

_LEAST_COV = 1e-3
_FAR, _N_NODES, _N_EXACT, _TINY = 6.0, 1024, 48, 1e-20
_sample: Any = sample_assignment


class Ellipses(NamedTuple):
    """By assignment: semi-axes, the longer first, in standard deviations, and its angle to the energy axis."""

    semi_axes: Floats
    angle_rad: Floats


@dataclass(frozen=True, eq=False)
class FuzzyFront(Visible, looks="assignments"):
    """Energies, utilities and numbers of dropped tasks of assignments, by [assignment, sample].

    `planned`, by assignment, is (energy in J, utility) if everything takes its mean time and power. `at_means` is the
    utility at mean completions, None where tasks are dropped by the completions of each sample.
    """

    assignments: tuple[Assignment, ...]
    planned: Floats
    energy_j: Floats
    utility: Floats
    dropped: Counts
    at_means: Floats | None = None

    def __post_init__(self) -> None:
        floats = dict.fromkeys(("planned", "energy_j", "utility", "at_means"), np.float64)
        freeze_fields(self, {**floats, "dropped": np.int64})

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
        variances = np.diagonal(self.covariance, axis1=1, axis2=2)
        return _half_widths(self.n_samples) * np.sqrt(variances / self.n_samples)

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

    def percentiles(self, percentile: tuple[int, int]) -> Floats:
        """By assignment: the energy that this many percent of the samples use at most, and the utility that this many
        earn at least; given as (percent of utility, percent of energy).
        """
        utility, energy = (rank_of(percent, self.n_samples) for percent in percentile)
        return np.column_stack((np.sort(self.energy_j)[:, energy - 1], np.sort(self.utility)[:, -utility]))

    def quantiles(self, percents: Sequence[float]) -> Floats:
        """Energy and utility that this many percent of the samples do not exceed, [percent, assignment, 2]."""
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
    raise_if_any((*chance_problems(world, chances), *draw_problems(world.workload.n_tasks, n_samples)))
    facts, by_mean = assignment_facts(world, drop_below), drop_by == "expected"
    genes = [genes_of(facts, each) for each in assignments]
    pairs, rows = _pairs(facts, np.stack([place for place, _ in genes]))
    normals = generator(seed, "chances.fresh").standard_normal((2, world.workload.n_tasks, n_samples), np.float32)
    quantiles = _quantiles(world, chances, pairs, normals, exact)
    clouds = [_cloud(facts, both, row, quantiles, by_mean) for both, row in zip(genes, rows, strict=True)]
    energy_j, utility, n_ran, at_means = (np.stack(column) for column in zip(*clouds, strict=True))
    return FuzzyFront(
        tuple(assignments),
        evaluated(facts, list(assignments)) * [1.0, -1.0],
        energy_j,
        utility,
        world.workload.n_tasks - n_ran,
        at_means[:, 0] if by_mean else None,
    )


def _cloud(facts: AssignmentFacts, genes: Ints, row: Counts, quantiles: Quantiles, by_mean: bool) -> Clouds:
    """What one assignment comes to in each sample."""
    (place, order), n_machines, n = genes, int(facts.machine[-1]) + 1, quantiles.time_node.shape[1]
    clouds = Clouds(np.zeros(n), np.zeros(n), np.zeros(n, np.int64), np.zeros(1))
    sorting = room_to_evaluate(place.size, n_machines)
    room = SamplingRoom(sorting, np.zeros(n), np.zeros(n), np.zeros((n_machines, n)))
    _sample(facts, room, place, order, row, quantiles, by_mean, clouds)
    return clouds


def _pairs(facts: AssignmentFacts, places: Ints) -> tuple[Counts, Counts]:
    """The pairs of task type and choice that occur, and which of them each task has, by [assignment, task].

    Pairs are numbered type by type; tasks that are left out have any of them.
    """
    n_choices = facts.energy_j.shape[1]
    pair = np.where(places == NOWHERE, -1, facts.tasks.task_type * n_choices + facts.choice[places]).astype(np.int64)
    distinct = np.unique(pair[pair >= 0])
    return distinct, np.searchsorted(distinct, pair)


def _quantiles(world: World, chances: Chances, pairs: Counts, normals: Floats32, exact: bool) -> Quantiles:
    """What pairs of task type and choice take, and where in it standard normal draws are."""
    covs = (chances.time_cov, chances.power_cov) if exact else (None, None)
    points = (chances.time_s, world.supply.pue * chances.power_w)
    tables, nodes = [], []
    for all_points, cov, normal in zip(points, covs, normals, strict=True):
        own = all_points.reshape(-1, chances.n_points)[pairs]
        if cov is None:
            tables.append(np.cbrt(np.hstack((own, own[:, -1:]))))
            nodes.append(np.minimum(np.floor(chances.n_points * ndtr(normal)), chances.n_points - 1))
        else:
            tables.append(_gamma_roots(own.mean(axis=1), cov.ravel()[pairs]))
            nodes.append(np.clip((normal + _FAR) * (_N_NODES / (2 * _FAR)), 0, _N_NODES))
    return Quantiles(*tables, *(node.astype(np.float32) for node in nodes))


def _gamma_roots(mean: Floats, cov: Floats) -> Floats:
    """Cube roots of quantiles of gamma distributions `[distribution, node]`, at equidistant standard normal ones.

    They are exact at a few places; their logarithms are smooth in between.
    """
    exact, all_ = np.cos(np.pi * (np.arange(_N_EXACT) + 0.5) / _N_EXACT), np.linspace(-1.0, 1.0, _N_NODES + 1)
    exact_terms, all_terms = (chebvander(places, _N_EXACT - 1).T for places in (exact, all_))
    shape = 1.0 / np.maximum(cov, _LEAST_COV)[:, None] ** 2
    logs = _log_quantiles(shape, _FAR * exact) @ np.linalg.solve(exact_terms, all_terms)
    return np.cbrt(mean)[:, None] * np.where(cov[:, None] < _LEAST_COV, 1.0, np.exp(logs / 3.0) / np.cbrt(shape))


def _log_quantiles(shape: Floats, normal: Floats) -> Floats:
    """Logarithms of quantiles of gamma distributions of scale 1; where these are tiny, by the series around 0."""
    tail = ndtr(-np.abs(normal))
    quantile = np.where(normal > 0, gammainccinv(shape, tail), gammaincinv(shape, tail))
    near_0 = (log_ndtr(normal) + gammaln(shape + 1)) / shape
    return np.asarray(np.where(quantile < _TINY, near_0, np.log(np.maximum(quantile, _TINY))))


def draw_problems(n_tasks: int, n_samples: int, where: str = "n_samples") -> Iterator[Problem]:
    """Why this many samples of this many tasks cannot be drawn."""
    if n_samples < 1:
        yield Problem(where, f"found {n_samples}", "must be 1 or more")
    elif n_tasks * n_samples > MOST_DRAWS:
        found, allowed = f"found {n_samples:,} of {n_tasks:,} tasks", f"must be {MOST_DRAWS // n_tasks:,} or less"
        yield Problem(where, found, allowed, f"tasks times samples may be {MOST_DRAWS:,}")


class SolutionValue(NamedTuple):
    """What planning with the chances gains over planning with mean times, on one set of candidates and samples.

    Values are utility less the price of energy. `planned` is the candidate that looks best when everything takes its
    mean time and power, `stochastic` the one with the best mean over the first half of the samples. Both are read
    off on the other half, so that luck in the choice does not count: `difference` may be below 0, and `error` is the
    half width of its 95 % confidence interval.
    """

    stochastic: int
    planned: int
    stochastic_value: float
    planned_value: float
    difference: float
    error: float


class InformationValue(NamedTuple):
    """What knowing all times and powers beforehand would gain: the mean of the best value in each sample, less the
    mean value of the candidate chosen without, and the half width of its 95 % confidence interval.

    That candidate is chosen on the first half of the samples; all is read off on the other half. The best in a sample
    is that of the candidates looked at; a better one would make the difference larger.
    """

    informed_value: float
    stochastic_value: float
    difference: float
    error: float


def value_of_stochastic_solution(front: FuzzyFront, per_j: float) -> SolutionValue:
    """What choosing by samples gains over choosing by mean times and powers, when a joule costs this much utility.

    Raises InputError where there is one sample only.
    """
    planned = int(np.argmax(front.planned[:, 1] - per_j * front.planned[:, 0]))
    best, read = _chosen(front, per_j)
    gain = read[best] - read[planned]
    means = float(read[best].mean()), float(read[planned].mean())
    return SolutionValue(best, planned, *means, float(gain.mean()), _half_width(gain))


def value_of_perfect_information(
    front: FuzzyFront, per_j: float, search: Callable[[int], FuzzyFront] | None = None
) -> InformationValue:
    """What knowing the sample before choosing gains, when a joule costs this much utility.

    `search` may find further assignments for a sample: what it returns has that sample only. Raises InputError where
    there is one sample only.
    """
    best, read = _chosen(front, per_j)
    informed = read.max(axis=0)
    if search is not None:
        samples = range(front.n_samples - informed.size, front.n_samples)
        informed = np.maximum(informed, [float(_values(search(sample), per_j).max()) for sample in samples])
    gain = informed - read[best]
    return InformationValue(float(informed.mean()), float(read[best].mean()), float(gain.mean()), _half_width(gain))


def _chosen(front: FuzzyFront, per_j: float) -> tuple[int, Floats]:
    """The best assignment in the first half of the samples, and all values in the other half."""
    if not 0 <= per_j < math.inf:
        raise InputError(Problem("per_j", f"found {per_j:g}", "must be 0 or more: the utility that a joule costs"))
    if front.n_samples < 2:
        raise InputError(Problem("n_samples", "found 1", "must be 2 or more: some to choose by, some to read"))
    first, second = np.split(_values(front, per_j), [front.n_samples // 2], axis=1)
    return int(np.argmax(first.mean(axis=1))), second


def _values(front: FuzzyFront, per_j: float) -> Floats:
    return front.utility - per_j * front.energy_j


def _half_width(values: Floats) -> float:
    n = values.size
    return _half_widths(n) * float(values.std(ddof=1)) / math.sqrt(n) if n > 1 else math.inf


def _half_widths(n: int) -> float:
    """This many standard errors of a mean of n values hold the true mean with the probability of `CONFIDENCE`."""
    return float(stdtrit(n - 1, 0.5 + CONFIDENCE / 2))


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
    if not 0 <= tolerance <= 1:
        raise InputError(Problem("tolerance", f"found {tolerance:g}", "must be from 0 to 1"))
    if not affordable.any():
        raise InputError(Problem("budget", f"found {budget_j:g} J", f"must be {energy_j.min():g} J or more"))
    good = affordable & (utility >= (1.0 - tolerance) * utility[affordable].max())
    return int(np.argmin(np.where(good, front.utility.var(axis=1), np.inf)))
