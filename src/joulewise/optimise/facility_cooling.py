"""The hottest that CRAC units can blow at some powers of the nodes, and what nodes and cooling then draw together.

Units are raised and lowered together, as Oxley et al. have it: what each blows is its base and one level for all,
within what it can blow. With a base of 0, that is one supply temperature for all units.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.model.air import Air
from joulewise.model.arrays import Floats
from joulewise.model.facility import Facility

_HEAT_TOLERANCE, _CAP_TOLERANCE = 1e-9, 1e-12


class Cooled(NamedTuple):
    """Supply temperatures, and what comes of them.

    `w_per_w` is the power, its cooling counted, of each watt at each node while the supply stays as it is.
    """

    supply_c: Floats
    total_w: float
    w_per_w: Floats
    keeps_redlines: bool
    removes_heat: bool


class Cooling:
    """The cooling of a facility, with all that depends on the room alone computed once.

    `by_degree` sets supply temperatures as published: from the redline downwards, a whole degree at a time, until all
    redlines are kept; otherwise they are the hottest that keep them.
    """

    def __init__(self, facility: Facility, air: Air, *, by_degree: bool = False) -> None:
        self.facility, self.air, self.room, self.by_degree = facility, air, facility.room, by_degree
        self.common_c = np.zeros(self.room.n_cracs)
        self._has_one_curve = self.room.has_one_curve
        self._levels_of: dict[bytes, _Levels] = {}

    def rise_k(self, node_w: Floats) -> Floats:
        """How far each node's inlet is above what comes of the supply alone."""
        return self.air.inlets_c(node_w, self.common_c)[0]

    def cool(self, node_w: Floats, rise_k: Floats | None = None, base_c: Floats | None = None) -> Cooled:
        """The hottest supply at these powers that keeps all redlines, or the coldest there is if none does.

        Where units at the end of their range would make one of them heat, none is raised that far.
        """
        levels = self._levels(self.common_c if base_c is None else base_c)
        hottest_c = levels.hottest_c(self.rise_k(node_w) if rise_k is None else rise_k)
        cooled = self._at_level(node_w, levels, hottest_c)
        if not cooled.removes_heat and hottest_c > levels.within_all_c:
            cooled = self._at_level(node_w, levels, levels.within_all_c)
        return cooled

    def _at_level(self, node_w: Floats, levels: _Levels, level_c: float) -> Cooled:
        keeps_redlines = level_c > -math.inf
        if self.by_degree and keeps_redlines:
            level_c = _whole_degrees_below(float(self.room.redline_c.min()), level_c)
        return self._at(node_w, levels.supply_c(level_c), keeps_redlines)

    def _at(self, node_w: Floats, supply_c: Floats, keeps_redlines: bool) -> Cooled:
        per_heat = 1.0 / self._cop_at(supply_c)
        w_per_w = 1.0 + per_heat @ self.air.heat_share
        exchanged_w = self.air.exchange_w_per_k @ supply_c
        heat_w = self.air.heat_share @ node_w + exchanged_w
        removes_heat = bool((heat_w >= -_HEAT_TOLERANCE * self.facility.cap_w).all())
        total_w = float(w_per_w @ node_w + per_heat @ exchanged_w)
        return Cooled(supply_c, total_w, w_per_w, keeps_redlines, removes_heat)

    def _cop_at(self, supply_c: Floats) -> Floats:
        return self.room.cop[0](supply_c) if self._has_one_curve else self.room.cop_at(supply_c)

    def fits(self, cooled: Cooled) -> bool:
        """Whether the redlines and the cap are kept, and no unit heats."""
        return cooled.keeps_redlines and cooled.removes_heat and self.excess_w(cooled) <= 0.0

    def excess_w(self, cooled: Cooled) -> float:
        """How far the power is above the cap, but for rounding."""
        return cooled.total_w - self.facility.cap_w * (1.0 - _CAP_TOLERANCE)

    def raise_if_never_fits(self) -> None:
        """Raise InputError unless the limits are kept with all cores at rest."""
        idle = self.cool(self.facility.overhead_w)
        if not idle.keeps_redlines:
            hottest = int(np.argmax(self.rise_k(self.facility.overhead_w) - self.room.redline_c))
            found = f"found a node, {hottest}, that is above it with all cores at rest and the coldest supply"
            raise InputError(Problem("redline", found, "", "raise its redline, or let CRAC units blow colder"))
        if not idle.removes_heat:
            found = "found one that would heat, with all cores at rest and one supply for all units as far as they can"
            raise InputError(Problem("CRAC units", found, "", "bring their ranges of supply temperatures together"))
        if not self.fits(idle):
            found = f"found {self.facility.cap_w:.6g} W"
            allowed = f"must be {idle.total_w:.6g} W or more, what nodes at rest and their cooling draw"
            raise InputError(Problem("cap_w", found, allowed))

    def _levels(self, base_c: Floats) -> _Levels:
        key = base_c.tobytes()
        if key not in self._levels_of:
            self._levels_of[key] = _Levels(self.air, base_c)
        return self._levels_of[key]


class _Levels:
    """Levels of one base; what nodes that draw nothing take in at the ends of units' ranges is computed once."""

    def __init__(self, air: Air, base_c: Floats) -> None:
        self.air, self.room, self.base_c = air, air.room, base_c.copy()
        self.ends_c = np.unique(np.concatenate((self.room.coldest_c - base_c, self.room.hottest_c - base_c)))
        self.within_all_c = float((self.room.hottest_c - base_c).min())
        self._inlets_c: dict[int, Floats] = {}

    def supply_c(self, level_c: float) -> Floats:
        """What each unit blows at a level."""
        return np.clip(self.base_c + level_c, self.room.coldest_c, self.room.hottest_c)

    def hottest_c(self, rise_k: Floats) -> float:
        """The highest level at which no inlet that rises so much is above its redline: -inf if none, inf if all.

        Between levels at which some unit comes to the end of its range, inlets rise in a straight line.
        """
        slack_c = self.room.redline_c - rise_k
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
        if end not in self._inlets_c:
            self._inlets_c[end] = self.air.supply_share @ self.supply_c(float(self.ends_c[end]))
        return self._inlets_c[end]


def _whole_degrees_below(start_c: float, level_c: float) -> float:
    """The first level, by whole degrees from the start downwards, that is not above this one."""
    return start_c if level_c >= start_c else start_c - math.ceil(start_c - level_c)
