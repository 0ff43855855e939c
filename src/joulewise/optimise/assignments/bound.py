"""A proven bound on the front of energy and utility of tasks known in advance: no assignment is above it.

For each of some prices of energy, prices of machine time prove how much utility less energy at that price there can
be; each is a straight line that the front cannot cross, and the lowest of the lines is the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.model.arrays import Floats, freeze_fields
from joulewise.model.world import World
from joulewise.optimise.assignments.prices import Auction
from joulewise.optimise.assignments.problem import assignment_facts
from joulewise.optimise.assignments.utility_measure import UtilityMeasure, measure_of
from joulewise.optimise.front import Front, hypervolume_of_line
from joulewise.visible import Visible

N_SLOTS = 200
"""Slots of machine prices: more would prove little more."""

_FIRST, _NEXT = (450, 0.6), (40, 0.15)
_MOST_PER_J = 25.0
_MOST_LINES = 16
_ENOUGH = 5e-5
_DIGITS = 5


@dataclass(frozen=True, eq=False)
class UtilityBound(UtilityMeasure, Visible, looks="assignments"):
    """Lines that no assignment is above: `utility <= value + per_j * energy`, one for each price of energy.

    `per_s` proves them: prices of machine time by [line, machine type, slot], of slots of `slot_s` seconds from
    the first arrival on; time is free of charge after the last. Tasks may be left out where `drop_below` is above 0.
    `least_j` is the energy of all tasks on their cheapest choices, `most_utility` what they are worth in all. Raises
    InputError.
    """

    per_j: Floats
    slot_s: float
    per_s: Floats
    value: Floats

    def __post_init__(self) -> None:
        freeze_fields(self, dict.fromkeys(("per_j", "per_s", "value"), np.float64))
        fits = self.per_s.ndim == 3 and self.per_j.shape == self.value.shape == self.per_s.shape[:1]
        if not (fits and self.per_j.size and self.slot_s > 0 and np.isfinite(self.value).all()):
            raise InputError(Problem("bound", "found lines and prices of different numbers", "must be one per price"))
        if not all(((p >= 0) & np.isfinite(p)).all() for p in (self.per_s, self.per_j)):
            raise InputError(Problem("bound", "found prices below 0 or not finite", "must be 0 or more"))

    def utility_at(self, energy_j: float) -> float:
        """What no assignment of that energy earns more than."""
        paid = np.multiply(self.per_j, energy_j, out=np.zeros_like(self.per_j), where=self.per_j > 0)
        return max(float((self.value + paid).min()), 0.0)

    @cached_property
    def points(self) -> Floats:
        """The bound as points (energy in J, minus utility) to be joined by straight lines, up to the reference."""
        at_j = np.sort(np.append(self._crossings_j(), (self.from_j, self.reference[0])))
        at_j = at_j[(at_j >= self.from_j) & (at_j <= self.reference[0])]
        return np.array([(energy_j, -self.utility_at(energy_j)) for energy_j in at_j])

    def _crossings_j(self) -> Floats:
        """Where the lowest line changes, from the steepest to the flattest."""
        crossings_j: list[float] = []
        line = int(np.lexsort((self.value, -self.per_j))[0])
        while (flatter := np.flatnonzero(self.per_j < self.per_j[line])).size:
            at_j = (self.value[flatter] - self.value[line]) / (self.per_j[line] - self.per_j[flatter])
            next_ = np.lexsort((self.per_j[flatter], at_j))[0]
            crossings_j.append(float(at_j[next_]))
            line = int(flatter[next_])
        return np.array(crossings_j)

    @property
    def hypervolume(self) -> float:
        """The area below the bound, in joules times utility: no front has more."""
        return hypervolume_of_line(self.points, self.reference)

    def share(self, front: Front) -> float:
        """The hypervolume of a front as a share of the bound's."""
        return front.share_of(self.points, self.reference)

    def as_json(self) -> dict[str, Any]:
        """The bound as JSON values."""
        columns = {name: getattr(self, name).tolist() for name in ("per_j", "per_s", "value")}
        names = ("least_j", "most_utility", "drop_below", "slot_s")
        return {name: getattr(self, name) for name in names} | columns

    @staticmethod
    def from_json(stored: dict[str, Any]) -> UtilityBound:
        """The bound that JSON values hold. Raises InputError where it is none."""
        return UtilityBound(**stored)


def front_bound(world: World, drop_below: float = 0.0) -> UtilityBound:
    """Search prices for a tight bound on utility at every energy.

    Raises InputError for worlds with what assignments do not know.
    """
    assignment_facts(world, drop_below)
    measure = measure_of(world, drop_below)
    least_j, most_utility = measure.least_j, measure.most_utility
    search = _PriceSearch(
        Auction(world, drop_below, N_SLOTS), most_utility / least_j if least_j > 0 < most_utility else 1.0
    )
    search.refine(from_j=measure.from_j, to_j=measure.reference[0])
    per_j, per_s, value = search.lines()
    return UtilityBound(least_j, most_utility, drop_below, per_j, search.auction.slot_s, per_s, value)


class _BoundLine(NamedTuple):
    """Prices, the value they prove, and the energy of what tasks choose at them."""

    per_j: float
    per_s: Floats
    value: float
    used_j: float

    def utility_at(self, energy_j: float) -> float:
        return self.value + self.per_j * energy_j


class _PriceSearch:
    """The search for lines: first the two extreme prices of energy, then where the bound may be lowered most."""

    def __init__(self, auction: Auction, unit: float) -> None:
        self.auction = auction
        flat = self._line(0.0, auction.first_guess, *_FIRST)
        self.found = [flat, self._line(_MOST_PER_J * unit, flat.per_s, *_NEXT)]

    def _line(self, per_j: float, per_s: Floats, evaluations: int, step: float) -> _BoundLine:
        """The best line of a price of energy; with machine time for nothing if that proves more."""
        per_s = _short(self.auction.descend(per_s, per_j, evaluations, step))
        value, for_nothing = (self.auction.proven(prices, per_j) for prices in (per_s, 0 * per_s))
        if for_nothing <= value:
            per_s, value = 0 * per_s, for_nothing
        self.auction.proven(per_s, per_j)
        return _BoundLine(per_j, per_s, value, self.auction.used_j())

    def refine(self, from_j: float, to_j: float) -> None:
        """Add lines between neighbours, where tasks chose points far below the crossing of both lines."""
        enough = _ENOUGH * (to_j - from_j) * self.found[0].utility_at(to_j)
        while len(self.found) < _MOST_LINES:
            corners = [_corner(flat, steep, from_j, to_j) for flat, steep in pairwise(self.found)]
            k = int(np.argmax([area for area, _ in corners]))
            area, per_j = corners[k]
            if area <= enough:
                return
            flat, steep = self.found[k : k + 2]
            share = (per_j - flat.per_j) / (steep.per_j - flat.per_j)
            start = (1 - share) * flat.per_s + share * steep.per_s
            self.found.insert(k + 1, self._line(per_j, start, *_NEXT))

    def lines(self) -> tuple[Floats, Floats, Floats]:
        """Prices of energy, prices of machine time and values, by line."""
        per_j, per_s, value, _ = zip(*self.found, strict=True)
        return np.array(per_j), np.stack(per_s), np.array(value)


def _corner(flat: _BoundLine, steep: _BoundLine, from_j: float, to_j: float) -> tuple[float, float]:
    """The area between two lines and the chord of the points that tasks chose on them, and the chord's slope."""
    left_j, right_j = steep.used_j, flat.used_j
    cross_j = (flat.value - steep.value) / (steep.per_j - flat.per_j)
    if not left_j < cross_j < right_j:
        return 0.0, flat.per_j
    low, high = steep.utility_at(left_j), flat.utility_at(right_j)
    slope = (high - low) / (right_j - left_j)
    above = flat.utility_at(cross_j) - low - slope * (cross_j - left_j)
    at_j = np.clip((left_j, cross_j, right_j), from_j, to_j)
    return float(np.trapezoid(np.interp(at_j, (left_j, cross_j, right_j), (0.0, above, 0.0)), at_j)), slope


def _short(prices: Floats) -> Floats:
    """Prices of few digits, which are quick to store; what they prove is computed with these."""
    return np.array([float(f"{price:.{_DIGITS}g}") for price in prices.ravel()]).reshape(prices.shape)
