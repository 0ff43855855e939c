"""How a cost grows: a straight line through the logarithms of sizes and costs, and what it says of other sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from joulewise.confidence import student_quantile


class Estimate(NamedTuple):
    """A value with its 95 % interval, were the scatter about the line chance.

    Costs that are the fastest of repeats scatter little by chance, so that the interval tells of bends above all.
    """

    value: float
    low: float
    high: float


class Line(NamedTuple):
    """Least squares through n points: log cost = middle + slope * (log size - centre)."""

    slope: float
    middle: float
    centre: float
    n: int
    spread: float
    """Squares of log sizes about their centre, in all."""
    scatter: float
    """The standard deviation of log costs about the line."""

    @property
    def growth(self) -> Estimate:
        """The slope: 1 where twice the size costs twice as much, 2 where it costs four times as much."""
        half = self._quantile * self.scatter / self.spread**0.5
        return Estimate(self.slope, self.slope - half, self.slope + half)

    def at(self, size: float) -> Estimate:
        """What one more measurement at a size would give, if the line goes on."""
        away = float(np.log(size)) - self.centre
        found = self.middle + self.slope * away
        half = self._quantile * self.scatter * (1 + 1 / self.n + away**2 / self.spread) ** 0.5
        return Estimate(*(float(np.exp(log)) for log in (found, found - half, found + half)))

    @property
    def _quantile(self) -> float:
        quantile = student_quantile(self.n - 1)  # a line takes two from n, a mean one
        assert quantile is not None
        return quantile


def last_slope(costs: Mapping[int, float]) -> float:
    """The slope between the two largest sizes, where a line that bends is nearest to what comes after."""
    before, last = sorted(costs)[-2:]
    return float(np.log(costs[last] / costs[before]) / np.log(last / before))


def line_through(costs: Mapping[int, float]) -> Line:
    """The line through three or more costs, all above 0, by size."""
    size, cost = (np.log(np.array(list(each), dtype=float)) for each in (costs, costs.values()))
    spread = float(((size - size.mean()) ** 2).sum())
    slope = float(((size - size.mean()) * cost).sum()) / spread
    rest = cost - cost.mean() - slope * (size - size.mean())
    return Line(
        slope=slope,
        middle=float(cost.mean()),
        centre=float(size.mean()),
        n=len(costs),
        spread=spread,
        scatter=float((rest**2).sum() / (len(costs) - 2)) ** 0.5,
    )
