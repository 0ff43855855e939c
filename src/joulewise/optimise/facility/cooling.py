"""How CRAC units blow at some powers of the nodes, what nodes and cooling then draw, and how much cores may do at most.

Units are raised and lowered together, as Oxley et al. have it: `SupplyLevels` says how hot they can blow.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.model.air import Air
from joulewise.model.arrays import Bools, Counts, Floats
from joulewise.model.facility import Facility, FacilityPlan
from joulewise.model.supply_levels import SupplyLevels
from joulewise.optimise.facility.evaluation import Steady, keeps_limits, steady

_HEAT_TOLERANCE, _CAP_TOLERANCE = 1e-9, 1e-12
_TRIED = 129
_MOST_CUTS, _CLOSE, _MOST_AT_ONCE = 60, 1e-9, 0.999
_LEAST_W = 1e-9


class Cooled(NamedTuple):
    """Supply temperatures, and what comes of them.

    `w_per_w` is the power, its cooling counted, of each watt at each node while the supply stays as it is.
    """

    supply_c: Floats
    total_w: float
    w_per_w: Floats
    keeps_redlines: bool
    removes_heat: bool


class RoomCooling:
    """The cooling of a facility, with all that depends on the room alone computed once.

    `by_degree` sets supply temperatures as published: from the redline downwards, a whole degree at a time, until all
    redlines are kept. Otherwise they are the hottest that keep them, or the cheapest where hotter air may cost more: if
    CoP curves differ or fall, or units that can blow no hotter would take on the heat of others.
    """

    def __init__(self, facility: Facility, air: Air, *, by_degree: bool = False) -> None:
        self.facility, self.air, self.room, self.by_degree = facility, air, facility.room, by_degree
        self.common_c = np.zeros(self.room.n_cracs)
        self._has_one_curve = self.room.has_one_curve
        self._has_one_rising_curve = self.room.has_one_rising_curve
        self._levels_of: dict[bytes, SupplyLevels] = {}

    def rise_k(self, node_w: Floats) -> Floats:
        """How far each node's inlet is above what comes of the supply alone."""
        return self._levels(self.common_c).rise_k(node_w)

    def cool(self, node_w: Floats, rise_k: Floats | None = None, base_c: Floats | None = None) -> Cooled:
        """The best supply at these powers that keeps all redlines, or the coldest there is if none does.

        Where units at the end of their range would make one of them heat, none is raised that far.
        """
        levels = self._levels(self.common_c if base_c is None else base_c)
        hottest_c = levels.hottest_c(self.rise_k(node_w) if rise_k is None else rise_k)
        is_best = self._has_one_rising_curve and min(hottest_c, levels.ends_c[-1]) <= levels.within_all_c
        best_c = hottest_c if is_best or self.by_degree else self._cheapest_c(node_w, levels, hottest_c)
        cooled = self._at_level(node_w, levels, best_c)
        if not cooled.removes_heat and hottest_c > levels.within_all_c:
            cooled = self._at_level(node_w, levels, levels.within_all_c)
        return cooled

    def _cheapest_c(self, node_w: Floats, levels: SupplyLevels, hottest_c: float) -> float:
        """Of some levels up to the hottest, the one at which cooling draws least without a unit that heats."""
        unit, turn_c = self._turns
        even_c = np.linspace(levels.ends_c[0], levels.ends_c[-1], _TRIED)
        tried_c = np.concatenate(([hottest_c], even_c, turn_c - levels.base_c[unit]))
        tried_c = tried_c[tried_c <= hottest_c]
        supplies_c = levels.supply_c(tried_c)
        heat_w = self.air.heat_share @ node_w + supplies_c @ self.air.exchange_w_per_k.T
        cooling_w = (heat_w / self._cop_at(supplies_c)).sum(axis=1)
        return float(tried_c[np.where(self._removes(heat_w), cooling_w, math.inf).argmin()])

    @cached_property
    def _turns(self) -> tuple[Counts, Floats]:
        """The units and temperatures at which CoP curves turn."""
        turns_c = [curve.turns_c() for curve in self.room.cop]
        return np.repeat(np.arange(len(turns_c)), [turns.size for turns in turns_c]), np.concatenate(turns_c)

    def _removes(self, heat_w: Floats) -> Bools:
        """Whether no unit heats that must not."""
        least_w = -math.inf if self.room.may_heat else -_HEAT_TOLERANCE * self.facility.cap_w
        return np.asarray((heat_w >= least_w).all(axis=-1))

    def _at_level(self, node_w: Floats, levels: SupplyLevels, level_c: float) -> Cooled:
        keeps_redlines = level_c > -math.inf
        if self.by_degree and keeps_redlines:
            level_c = _whole_degrees_below(float(self.room.redline_c.min()), level_c)
        return self._at(node_w, levels.supply_c(level_c), keeps_redlines)

    def _at(self, node_w: Floats, supply_c: Floats, keeps_redlines: bool) -> Cooled:
        per_heat = 1.0 / self._cop_at(supply_c)
        w_per_w = 1.0 + per_heat @ self.air.heat_share
        exchanged_w = self.air.exchange_w_per_k @ supply_c
        removes_heat = bool(self._removes(self.air.heat_share @ node_w + exchanged_w))
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

    @cached_property
    def _rest_rise_k(self) -> Floats:
        return self.rise_k(self.facility.overhead_w)

    def cut(self, node_w: Floats, base_c: Floats | None = None) -> tuple[float, Cooled] | None:
        """The largest part of what cores draw that keeps the limits, and how it is cooled; None if rest does not.

        How much redlines allow is known at once. What else does is found by lines between a part that fits and one that
        fails, or half-way where one fails by a unit that heats. An end that stays twice counts half, so that it does
        not stay for ever.
        """
        rest_w = self.facility.overhead_w
        cores_w, cores_k = node_w - rest_w, self.rise_k(node_w) - self._rest_rise_k

        def cut_to(part: float) -> Cooled:
            return self.cool(rest_w + part * cores_w, self._rest_rise_k + part * cores_k, base_c)

        fits, fails, fitted = 0.0, self._within_redlines(cores_k), None
        whole, best = cut_to(fails), cut_to(fits)
        if self.fits(whole):
            return fails, whole
        if not self.fits(best):
            return None
        spare_w, excess_w = -self.excess_w(best), self._only_excess_w(whole)
        for _ in range(_MOST_CUTS):
            at = spare_w / (spare_w + excess_w)
            part = fits + (0.5 if math.isnan(at) else min(at, _MOST_AT_ONCE)) * (fails - fits)
            cooled = cut_to(part)
            half = 0.5 if fitted == self.fits(cooled) else 1.0
            fitted = self.fits(cooled)
            if fitted:
                fits, best, spare_w, excess_w = part, cooled, -self.excess_w(cooled), half * excess_w
            else:
                fails, spare_w, excess_w = part, half * spare_w, self._only_excess_w(cooled)
            if fails - fits < _CLOSE or (fitted and spare_w < _CLOSE * self.facility.cap_w):
                break
        return fits, best

    def _within_redlines(self, cores_k: Floats) -> float:
        """The part of what cores heat inlets with that redlines allow, with all units as cold as they can blow."""
        spare_k = self._levels(self.common_c).most_spare_k(self._rest_rise_k)
        over = np.flatnonzero((cores_k > spare_k) & (cores_k > 0.0))
        return max(float((spare_k[over] / cores_k[over]).min()) * (1.0 - _CLOSE), 0.0) if over.size else 1.0

    def _only_excess_w(self, cooled: Cooled) -> float:
        """How far the power is above the cap where no other limit is broken; else NaN."""
        return self.excess_w(cooled) if cooled.keeps_redlines and cooled.removes_heat else math.nan

    def part_within_cap(self, node_w: Floats, supply_c: Floats) -> float:
        """The part of what cores draw that the cap allows at these supplies, whatever redlines say."""
        cooled, cores_w = self._at(node_w, supply_c, True), node_w - self.facility.overhead_w
        return min(1.0, max(0.0, 1.0 - self.excess_w(cooled) / max(float(cooled.w_per_w @ cores_w), _LEAST_W)))

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

    def _levels(self, base_c: Floats) -> SupplyLevels:
        key = base_c.tobytes()
        if key not in self._levels_of:
            self._levels_of[key] = SupplyLevels(self.air, base_c)
        return self._levels_of[key]


def within_limits(cooling: RoomCooling, plan: FacilityPlan) -> tuple[FacilityPlan, Steady] | None:
    """A plan with its steady state, changed as little as its limits need: other supplies, then cores less busy.

    Supplies are raised and lowered together, or, where that does not help, are made one for all units. None where even
    cores at rest break a limit.
    """
    facility, air = cooling.facility, cooling.air
    state = steady(facility, air, plan)
    if keeps_limits(facility, plan, state, _CAP_TOLERANCE):
        return plan, state
    for base_c in (plan.supply_c, cooling.common_c):
        kept = cooling.cut(state.node_w, base_c)
        if kept is not None:
            part, cooled = kept
            less = FacilityPlan(plan.share * part, plan.pstate, cooled.supply_c)
            return less, steady(facility, air, less)
    return None


def _whole_degrees_below(start_c: float, level_c: float) -> float:
    """The first level, by whole degrees from the start downwards, that is not above this one."""
    return start_c if level_c >= start_c else start_c - math.ceil(start_c - level_c)
