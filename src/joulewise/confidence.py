"""Intervals that hold a mean with a probability of 95 %, looked at once or again and again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

CONFIDENCE = 0.95

LEAST_LOOKED_AT = 5
_GROWTH = 1.5


def student_quantile(n: int, error: float = 1 - CONFIDENCE) -> float | None:
    """Half widths of an interval, in standard errors of a mean of n values, that misses it with a chance of `error`.

    None below two values.
    """
    if n < 2:
        return None
    from scipy.special import stdtrit  # scipy.stats would cost a second of every start

    return float(stdtrit(n - 1, 1 - error / 2))


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
