"""Intervals that hold a mean with a probability of 95 %, looked at once or again and again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

CONFIDENCE = 0.95

LEAST_LOOKED_AT = 5
_GROWTH = 1.5

_NEAR, _LEAST = 1e-9, 2.0**-52
_LARGE, _SERIES = 32, (1, -1 / 8, 1 / 128, 5 / 1024, -21 / 32768, -399 / 262144, 869 / 4194304, 39325 / 33554432)


def student_quantile(n: int, error: float = 1 - CONFIDENCE) -> float | None:
    """Half widths of an interval, in standard errors of a mean of n values, that misses it with a chance of `error`.

    None below two values. An error of at most a half is met to the last digits.
    """
    return student_quantile_of(n - 1, error)


def student_quantile_of(freedom: float | None, error: float = 1 - CONFIDENCE) -> float | None:
    """The same by the degrees of freedom of the standard error; None where it has none."""
    return None if freedom is None or not 0 < freedom < math.inf else _student_quantile(freedom, error)


@cache
def _student_quantile(freedom: float, error: float) -> float:
    """What the size of Student's t with these degrees of freedom exceeds with a chance of `error`.

    Newton's steps on logarithms, between which the chance falls ever faster, so from 2 they go there. SciPy has the
    same, but takes a quarter of a second to load, a quarter of what telling of a finished study may take.
    """
    half = freedom / 2
    sought, quantile, step = math.log(error * half * math.sqrt(math.pi) / _gamma_ratio(half)), 2.0, math.inf
    while abs(step) > _NEAR:  # the next step would be its square
        squared = quantile * quantile
        fraction = _beta_fraction(half, squared / (freedom + squared))
        chance = math.log(fraction) - half * math.log1p(squared / freedom) - 0.5 * math.log1p(freedom / squared)
        step = (chance - sought) * fraction / freedom
        quantile *= math.exp(step)
    return quantile


def _beta_fraction(a: float, y: float) -> float:
    """What x^a y^(1/2) / (a B(a, 1/2)) is to be multiplied by for the incomplete beta function, where y is 1 - x.

    The continued fraction of Didonato and Morris 1992, equation 9, from its first part on (Lentz's method).
    """
    x, n = 1 - y, 0
    value = upper = a * ((a + 0.5) * y + 0.5) / (a + 1)
    lower, factor = 0.0, 0.0
    while abs(factor - 1) > _LEAST:
        n += 1
        above = (a + n - 1) * (a + n - 0.5) * n * (0.5 - n) * (x / (a + 2 * n - 1)) ** 2
        within = (a + 0.5) * y + 0.5 + n * (1 + y)
        below = n + n * (0.5 - n) * x / (a + 2 * n - 1) + (a + n) * within / (a + 2 * n + 1)
        lower, upper = 1 / (below + above * lower), below + above / upper
        factor = upper * lower
        value *= factor
    return a / value


def _gamma_ratio(a: float) -> float:
    """Gamma(a + 1/2) / Gamma(a): by its series for large a, which smaller ones are taken up to."""
    factor = 1.0
    while a < _LARGE:
        factor, a = factor * a / (a + 0.5), a + 1
    return factor * math.sqrt(a) * sum(term / a**power for power, term in enumerate(_SERIES))


def looks() -> Iterator[int]:
    """After how many values it is looked whether they suffice: each time after half as many more."""
    n = LEAST_LOOKED_AT
    while True:
        yield n
        n = math.ceil(_GROWTH * n)


@cache
def share_at_look(n: int) -> float:
    """The share of the error that an interval after n values gets, so that those at all looks together get all of it.

    The look with number k gets 6 / (pi k)^2, which sum to one. So it does not matter by which rule one stops at a look:
    the chance that any of the intervals misses is bounded by the sum.
    """
    number = next(number for number, size in enumerate(looks(), 1) if size >= n)
    return 6 / (math.pi * number) ** 2


def error_at_look(n: int) -> float:
    """What an interval after n values may miss by, so that those at all looks together miss with a chance of 5 %."""
    return (1 - CONFIDENCE) * share_at_look(n)
