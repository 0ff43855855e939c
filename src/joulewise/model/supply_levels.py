"""CRAC units that are raised and lowered together, and the hottest that they can blow then.

What each unit blows is its base and one level for all, as far as it can. With a base of 0, that is one supply
temperature for all units.
"""

from __future__ import annotations

import math

import numpy as np

from joulewise.model.air import Air
from joulewise.model.arrays import Floats


class SupplyLevels:
    """The levels of one base; what nodes that draw nothing take in at the ends of units' ranges is computed once."""

    def __init__(self, air: Air, base_c: Floats | None = None) -> None:
        self.air, self.room = air, air.room
        self.base_c = np.zeros(self.room.n_cracs) if base_c is None else base_c.copy()
        self._lowest_c, self._highest_c = self.room.coldest_c - self.base_c, self.room.hottest_c - self.base_c
        self.ends_c = np.unique(np.concatenate((self._lowest_c, self._highest_c)))
        self.within_all_c = float(self._highest_c.min())
        self._base_inlet_c = self._inlets_c(self.base_c)
        self._end_inlet_c: dict[int, Floats] = {}

    def supply_c(self, level_c: Floats | float) -> Floats:
        """What each unit blows at a level, or, as [level, unit], at some."""
        level_c = np.asarray(level_c)[..., None]
        return np.asarray(np.clip(self.base_c + level_c, self.room.coldest_c, self.room.hottest_c))

    def hottest_supply_c(self, node_w: Floats) -> Floats:
        """The hottest supply at which no node that draws this much is above its redline; the coldest where none is."""
        return self.supply_c(self.hottest_c(self.rise_k(node_w)))

    def rise_k(self, node_w: Floats) -> Floats:
        """How far each node's inlet is above what comes of the supply alone."""
        return self.air.inlets_c(node_w, np.zeros(self.room.n_cracs))[0]

    def most_spare_k(self, rise_k: Floats) -> Floats:
        """How far inlets that rise this much are below their redlines with all units as cold as they can blow."""
        return np.asarray(self.room.redline_c - rise_k - self._inlet_c(0))

    def hottest_c(self, rise_k: Floats) -> float:
        """The highest level at which no inlet that rises this much is above its redline: -inf if none, inf if all.

        While all units are within their ranges inlets rise as levels do. Between levels at which some unit comes to the
        end of its range, they rise in straight lines.
        """
        slack_c = self.room.redline_c - rise_k
        level_c = float((slack_c - self._base_inlet_c).min())
        if self._lowest_c.max() <= level_c < self.within_all_c:
            return level_c
        low, high = -1, self.ends_c.size
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if (self._inlet_c(middle) <= slack_c).all() else (low, middle)
        if low < 0:
            return -math.inf
        if high == self.ends_c.size:
            return math.inf
        cooler_c, warmer_c = self._inlet_c(low), self._inlet_c(high)
        rising = warmer_c > cooler_c
        part = ((slack_c - cooler_c)[rising] / (warmer_c - cooler_c)[rising]).min()
        return float(self.ends_c[low] + part * (self.ends_c[high] - self.ends_c[low]))

    def _inlet_c(self, end: int) -> Floats:
        if end not in self._end_inlet_c:
            self._end_inlet_c[end] = self._inlets_c(self.supply_c(float(self.ends_c[end])))
        return self._end_inlet_c[end]

    def _inlets_c(self, supply_c: Floats) -> Floats:
        """What nodes that draw nothing take in."""
        return self.air.inlets_c(np.zeros(self.room.n_nodes), supply_c)[0]
