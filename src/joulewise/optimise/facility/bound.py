"""An upper bound on what any plan of a facility can earn, in closed form for any prices.

At prices of tasks done, of watts of the cap and of degrees at redlines, whatever a plan earns is at most what its tasks
are worth above their price, plus what the limits are worth, plus what nodes earn above the price of their power. What
a watt costs depends on all supplies. Around the supplies that come with the prices this falls apart into shares of the
CRAC units, each of which is bounded by itself over all supplies that the unit can blow; there, nothing is lost.
`check/facility/bound.py` has the proof, and other code for the same bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from joulewise.model.air import Air
from joulewise.model.arrays import Counts, Floats
from joulewise.model.facility import Facility, FacilityPrices
from joulewise.model.room import Room
from joulewise.optimise.facility.configurations import RewardCurve

_CELLS, _FINER, _CHUNK, _DEPTH = 128, 16, 4096, 4
_COSTS = 64
_CLOSE = 2e-5


def bound_per_s(facility: Facility, air: Air, curves: Sequence[RewardCurve], prices: FacilityPrices) -> float:
    """The co-located reward rate that no plan exceeds; `curves` are those of the node types at the task prices."""
    flows = facility.tasks
    fixed = float(np.maximum(flows.reward - prices.task, 0.0) @ flows.rate_per_s)
    fixed += prices.cap * facility.cap_w + float(prices.redline @ facility.room.redline_c)
    units = _UnitSums(facility, air, curves, prices)
    return fixed + units.at_known + units.most(_CLOSE * flows.most_reward_per_s)


class _Alike(NamedTuple):
    """CRAC units of one curve and range: the ends of the first cells of their supplies, and what a watt costs there.

    The curve turns at ends only.
    """

    units: Counts
    ends_c: Floats
    cost: Floats


class _UnitSums:
    """What the nodes earn above the price of their power, in parts by CRAC unit.

    A part is a function of how much warmer a unit blows than it does in the supplies that are known, and of how much
    more a watt of heat costs there, which follows. It is convex in each of the two.
    """

    def __init__(self, facility: Facility, air: Air, curves: Sequence[RewardCurve], prices: FacilityPrices) -> None:
        room, flow_w = facility.room, air.exchange_w_per_k
        self.facility, self.air, self.curves, self.cap_price = facility, air, curves, prices.cap
        self.groups = [_Alike(units, *_cells(room, int(units[0]))) for units in _alike(room)]
        self.supply_c = np.clip(prices.supply_c, room.coldest_c, room.hottest_c)
        self.cost = 1.0 / room.cop_at(self.supply_c)
        warmth = air.supply_share.T @ prices.redline
        self.at_known = -float(warmth @ self.supply_c + self.cap_price * self.cost @ flow_w @ self.supply_c)
        self.per_k = -warmth - self.cap_price * (self.cost @ flow_w)
        self.per_cost = -self.cap_price * (flow_w @ self.supply_c)
        self.exchanged = -self.cap_price * np.diagonal(flow_w)
        self.colder_fall, self.warmer_fall = room.falls(self.supply_c, self.exchanged)
        self.watt_price = self.cap_price * (1.0 + self.cost @ air.heat_share) + air.rise_prices(prices.redline)
        dearer = self._dearer()
        self.earned = _Chords(dearer, self._earned(dearer))

    def _dearer(self) -> Floats:
        """By how much a watt of heat may cost more than is known, at any unit: values that are close around 0."""
        least = min(float(cost.min() - self.cost[units].max()) for units, _, cost in self.groups)
        most = max(float(cost.max() - self.cost[units].min()) for units, _, cost in self.groups)
        steps = (np.arange(_COSTS + 1) / _COSTS) ** 2
        return np.unique(np.concatenate((least * steps, most * steps)))

    def _earned(self, dearer: Floats) -> Floats:
        """[unit, cost]: the part of each unit in what all nodes earn above the price of their power."""
        types = self.facility.node_types
        earned = np.zeros((self.facility.room.n_cracs, dearer.size))
        for k, curve in enumerate(self.curves):
            nodes = np.flatnonzero(self.facility.node_type == k)
            for at in range(0, nodes.size, _CHUNK):
                some = nodes[at : at + _CHUNK]
                price = self.watt_price[some][:, None] + self.cap_price * dearer[None, :]
                net = types.processors[k] * curve.net(price) - price * types.overhead_w[k]
                earned += self.air.heat_share[:, some] @ net
        return earned

    def most(self, close: float) -> float:
        """The most that all units can have together, within this much."""
        return sum(self._most_of(group, close / self.facility.room.n_cracs) for group in self.groups)

    def _most_of(self, group: _Alike, close: float) -> float:
        """The most of units that are alike: cells of supplies, ever finer where the most may be."""
        units, ends_c, _ = group
        of_unit = np.repeat(np.arange(units.size), ends_c.size - 1)
        low_c, high_c = np.tile(ends_c[:-1], units.size), np.tile(ends_c[1:], units.size)
        most, reached = np.full(units.size, -np.inf), np.full(units.size, -np.inf)
        for depth in range(_DEPTH):
            upper, lower = self._bounds(units, of_unit, low_c, high_c)
            np.maximum.at(reached, of_unit, lower)
            is_open = np.asarray(upper > reached[of_unit] + close) & (depth < _DEPTH - 1)
            np.maximum.at(most, of_unit[~is_open], upper[~is_open])
            of_unit = np.repeat(of_unit[is_open], _FINER)
            low_c, high_c = _split(low_c[is_open], high_c[is_open])
        return float(most.sum())

    def _bounds(self, units: Counts, of_unit: Counts, low_c: Floats, high_c: Floats) -> tuple[Floats, Floats]:
        """What no supply in a cell of a unit exceeds, and what is reached at its ends, as far as chords say.

        In a cell the price of a watt only falls or only rises. What is convex in each of two is highest in a corner.
        """
        unit, curve = units[of_unit], self.facility.room.cop[int(units[0])]
        warmer = [ends_c - self.supply_c[unit] for ends_c in (low_c, high_c)]
        dearer = [1.0 / curve(ends_c) - self.cost[unit] for ends_c in (low_c, high_c)]
        corner = [[self._part(unit, more, by) for by in warmer] for more in dearer]
        return np.max(corner, axis=(0, 1)), np.maximum(corner[0][0], corner[1][1])

    def _part(self, unit: Counts, dearer: Floats, warmer: Floats) -> Floats:
        """The part of a unit where a watt of heat costs so much more than is known, and supply is this much warmer.

        A unit takes heat from others, and they from it: dearer x warmer, of two units. With a falling line of the one
        against the other this is no less than minus the two areas beside that line, each of which has one unit only.
        """
        falls = np.where(dearer > 0.0, self.colder_fall, self.warmer_fall)
        by_side = np.where(warmer < 0.0, self.colder_fall, self.warmer_fall)
        lost = dearer * warmer + dearer**2 / (2.0 * falls) + by_side * warmer**2 / 2.0
        paid = self.per_k[unit] * warmer + self.per_cost[unit] * dearer
        return np.asarray(self.earned.at(unit, dearer) + paid + self.exchanged[unit] * lost)


class _Chords(NamedTuple):
    """[unit, cost]: values at some costs, in rising order; what is convex in the cost lies below the lines between."""

    cost: Floats
    value: Floats

    def at(self, unit: Counts, cost: Floats) -> Floats:
        """The values of units at costs between the first and the last."""
        if self.cost.size == 1:
            return np.asarray(self.value[unit, 0])
        left = np.clip(np.searchsorted(self.cost, cost, side="right") - 1, 0, self.cost.size - 2)
        part = (cost - self.cost[left]) / (self.cost[left + 1] - self.cost[left])
        return np.asarray(self.value[unit, left] * (1.0 - part) + self.value[unit, left + 1] * part)


def _split(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Each cell in equal parts: their lower and upper ends."""
    ends = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, _FINER + 1)[None, :]
    return ends[:, :-1].ravel(), ends[:, 1:].ravel()


def _cells(room: Room, unit: int) -> tuple[Floats, Floats]:
    """The ends of the first cells of a unit's supplies, and what a watt costs there."""
    low_c, high_c = float(room.coldest_c[unit]), float(room.hottest_c[unit])
    turns_c = room.cop[unit].turns_c()
    inside = turns_c[(turns_c > low_c) & (turns_c < high_c)]
    ends_c = np.unique(np.concatenate((np.linspace(low_c, high_c, _CELLS + 1), inside)))
    ends_c = ends_c if ends_c.size > 1 else np.array([low_c, high_c])
    return ends_c, np.asarray(1.0 / room.cop[unit](ends_c))


def _alike(room: Room) -> list[Counts]:
    """The CRAC units in groups of one curve and one range."""
    groups: list[list[int]] = []
    for unit in range(room.n_cracs):
        for group in groups:
            first = group[0]
            same_range = room.coldest_c[unit] == room.coldest_c[first] and room.hottest_c[unit] == room.hottest_c[first]
            if same_range and room.cop[unit].is_same(room.cop[first]):
                group.append(unit)
                break
        else:
            groups.append([unit])
    return [np.array(group) for group in groups]
