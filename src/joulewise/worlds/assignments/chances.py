"""How uncertain execution times and powers are: gamma distributions (Friese 7.3.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import gammainc, gammaincinv

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.model import System
from joulewise.model.arrays import Floats
from joulewise.model.chances import Chances
from joulewise.rng import generator
from joulewise.worlds.cov import MAX_COV
from joulewise.worlds.parameters import broken_rules, explained

MOST_POINTS = 256
LEAST_COV = 1e-3
"""Below this, times and powers are taken as certain: the points would differ by rounding alone."""


@dataclass(frozen=True)
class ChanceParameters:
    """How far times and powers vary around their means. Raises InputError with every problem found."""

    time_cov: tuple[float, float] = explained(
        (0.1, 1.5), "range from which the COV of each choice's execution time is drawn; 0: certain"
    )
    power_cov: tuple[float, float] = explained(
        (0.1, 1.5), "range from which the COV of each choice's power is drawn; 0: certain"
    )
    points: int = explained(64, "number of equally likely points that stand for each distribution in a search")

    def __post_init__(self) -> None:
        raise_if_any(_value_problems(self))


def _value_problems(p: ChanceParameters) -> Iterator[Problem]:
    allowed = f"must be two coefficients of variation from 0 to {MAX_COV:g}, the lower first"
    rules = [(name, _is_range(getattr(p, name)), allowed) for name in ("time_cov", "power_cov")]
    rules.append(("points", 1 <= p.points <= MOST_POINTS, f"must be from 1 to {MOST_POINTS}"))
    yield from broken_rules("system", p, rules)


def _is_range(covs: tuple[float, ...]) -> bool:
    return len(covs) == 2 and 0 <= covs[0] <= covs[1] <= MAX_COV


def gamma_chances(system: System, parameters: ChanceParameters, seed: int, trial: int) -> Chances:
    """Gamma distributions around the system's times and powers, each with a COV of its own."""
    power_w, n = powers_of(system), parameters.points
    time_cov, power_cov = (
        generator(seed, trial, "chances", name).uniform(low, high, system.etc_s.shape)
        for name, (low, high) in (("time", parameters.time_cov), ("power", parameters.power_cov))
    )
    return Chances(spread(system.etc_s, time_cov, n), spread(power_w, power_cov, n), time_cov, power_cov)


def powers_of(system: System) -> Floats:
    """The powers of a system, +inf where a choice cannot be made."""
    if system.power_w is None:
        raise InputError(Problem("system.power_w", "found no powers", "must be given: they vary as the times do"))
    return np.where(np.isfinite(system.etc_s), system.power_w, np.inf)


def spread(mean: Floats, cov: Floats, n_points: int) -> Floats:
    """Points `[..., point]` of gamma distributions: the means of slices of equal probability, +inf where those are."""
    uncertain = np.isfinite(mean) & (cov >= LEAST_COV)
    points = np.repeat(mean[..., None], n_points, axis=-1)
    shape = 1.0 / cov[uncertain][:, None] ** 2
    edges = gammaincinv(shape, np.linspace(0.0, 1.0, n_points + 1))
    slices = np.diff(gammainc(shape + 1.0, edges), axis=-1) * n_points
    points[uncertain] = mean[uncertain][:, None] * np.maximum.accumulate(slices, axis=-1)
    return points
