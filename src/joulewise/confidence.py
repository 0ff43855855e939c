"""Intervals that hold a mean with a probability of 95 %."""

from __future__ import annotations

CONFIDENCE = 0.95


def student_quantile(n: int) -> float | None:
    """Half widths of a 95 % interval in standard errors of a mean of n values; None below two values."""
    if n < 2:
        return None
    from scipy.special import stdtrit  # scipy.stats would cost a second of every start

    return float(stdtrit(n - 1, 0.5 + CONFIDENCE / 2))
