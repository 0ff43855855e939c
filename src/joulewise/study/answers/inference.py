"""How sure differences of means are: Student's and Welch's tests, standardised effects, and Holm's correction.

Everything is computed from counts, means and deviations, so that runs need not be at hand. What has no answer is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from joulewise.confidence import CONFIDENCE

Floats: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]

ALPHA = 1 - CONFIDENCE


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


def paired(n: Floats, difference: Floats, deviation: Floats, narrows: Bools | bool = True) -> Estimates:
    """Of n differences with this mean and deviation; the effect is Cohen's d_z, corrected for small n.

    There is none below two differences, nor where all of them are the same. Where more of them do not narrow the mean,
    as they are of resamples, its error is their deviation.
    """
    knows = (n >= 2) & (deviation > 0)
    n, spread = np.where(knows, n, np.nan), np.where(knows, deviation, np.nan)
    error = spread / np.where(narrows, np.sqrt(n), 1)
    return Estimates(difference, error, n - 1, small_sample(n - 1) * difference / spread)


def welch(
    n: Floats,
    deviation: Floats,
    n_base: Floats,
    base_deviation: Floats,
    difference: Floats,
    narrows: Sequence[Bools | bool] = (True, True),
) -> Estimates:
    """Of two means of independent values, whose spreads may differ; the effect is Hedges' g.

    There is none where one side has fewer than two values, nor where neither spreads. `narrows` is that of `paired`,
    of each side.
    """
    knows = (n >= 2) & (n_base >= 2) & (deviation + base_deviation > 0)
    n, n_base = np.where(knows, n, np.nan), np.where(knows, n_base, np.nan)
    squared = deviation**2 / np.where(narrows[0], n, 1)
    base_squared = base_deviation**2 / np.where(narrows[1], n_base, 1)
    error = np.sqrt(squared + base_squared)
    freedom = error**4 / (squared**2 / (n - 1) + base_squared**2 / (n_base - 1))
    both = n + n_base - 2
    pooled = np.sqrt(((n - 1) * deviation**2 + (n_base - 1) * base_deviation**2) / both)
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
