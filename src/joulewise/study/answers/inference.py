"""How sure differences of means are: Student's and Welch's tests, standardised effects, and Holm's correction.

Everything is computed from means and how they spread, so that runs need not be at hand. What has no answer is NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from joulewise.confidence import CONFIDENCE

Floats: TypeAlias = npt.NDArray[np.float64]

ALPHA = 1 - CONFIDENCE


class Spread(NamedTuple):
    """How sure some means are: standard errors with their degrees of freedom, and deviations of single values.

    Where single values say nothing of how large an effect is, as those of resamples do not, their deviation is NaN.
    """

    error: Floats
    freedom: Floats
    deviation: Floats

    @staticmethod
    def of_draws(n: Floats, deviation: Floats) -> Spread:
        """That of means of so many independent values."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return Spread(deviation / np.sqrt(n), n - 1, deviation)


@dataclass(frozen=True)
class Estimates:
    """Differences with their standard errors, degrees of freedom and standardised effects; arrays of one length.

    Where trials stop by themselves, each gets a `share` of the error, so that it holds at all looks together.
    """

    difference: Floats
    error: Floats
    freedom: Floats
    effect: Floats
    share: Floats | float = 1.0

    def p(self) -> Floats:
        """The chance of a difference at least so large, to either side, where there is none."""
        from scipy.special import stdtr  # scipy.stats would cost a second of every start

        with np.errstate(divide="ignore", invalid="ignore"):
            p = 2 * stdtr(self.freedom, -np.abs(self.difference / self.error))
        return np.asarray(np.minimum(p / self.share, 1.0))

    def half(self, confidence: float) -> Floats:
        """Half of the interval that holds each difference with this probability."""
        from scipy.special import stdtrit

        return np.asarray(stdtrit(self.freedom, 1 - (1 - confidence) * self.share / 2) * self.error)

    def half_of_all(self) -> Floats:
        """Half of the intervals that hold all differences together with 95 %, after Bonferroni."""
        n = int(np.isfinite(self.p()).sum())
        return self.half(1 - ALPHA / max(n, 1))


def paired(difference: Floats, spread: Spread) -> Estimates:
    """Of mean differences; the effect is Cohen's d_z, corrected for small n.

    There is none below two differences, nor where all of them are the same.
    """
    knows = (spread.freedom > 0) & (spread.error > 0)
    error, freedom, deviation = (np.where(knows, each, np.nan) for each in spread)
    return Estimates(difference, error, freedom, small_sample(freedom) * difference / deviation)


def welch(difference: Floats, spread: Spread, base: Spread) -> Estimates:
    """Of two means of independent values, whose spreads may differ; the effect is Hedges' g.

    There is none where one side has fewer than two values, nor where neither spreads.
    """
    knows = (spread.freedom > 0) & (base.freedom > 0) & (spread.error + base.error > 0)
    n_free, n_base_free = (np.where(knows, each.freedom, np.nan) for each in (spread, base))
    squared, base_squared = spread.error**2, base.error**2
    error = np.sqrt(squared + base_squared)
    freedom = error**4 / (squared**2 / n_free + base_squared**2 / n_base_free)
    both = n_free + n_base_free
    pooled = np.sqrt((n_free * spread.deviation**2 + n_base_free * base.deviation**2) / both)
    return Estimates(difference, error, freedom, small_sample(both) * difference / pooled)


def small_sample(freedom: Floats) -> Floats:
    """By how much a standardised effect is too large on the mean, as a factor (Hedges 1981); NaN below two degrees."""
    from scipy.special import gammaln

    knows = np.where(freedom >= 2, freedom, np.nan)
    return np.asarray(np.exp(gammaln(knows / 2) - gammaln((knows - 1) / 2)) / np.sqrt(knows / 2))


def holm(p: Floats) -> Floats:
    """The chances after Holm's correction for all that are there; NaN stays and does not count."""
    there = np.flatnonzero(np.isfinite(p))
    order = there[np.argsort(p[there], kind="stable")]
    factors = np.arange(order.size, 0, -1)
    corrected = np.full(p.shape, np.nan)
    corrected[order] = np.minimum(np.maximum.accumulate(factors * p[order]), 1.0)
    return corrected
