"""An upper bound on what any plan of a facility can earn, in closed form for any prices.

At prices of tasks done, of watts of the cap and of degrees at redlines, whatever a plan earns is at most what its tasks
are worth above their price, plus what the limits are worth, plus what nodes earn above the price of their power. What
a watt costs depends on the supplies; the share of each CRAC unit in that is bounded by itself over all supplies that
the unit can blow. `check/facility_bound.py` has the proof, and other code for the same bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from joulewise.model.air import Air
from joulewise.model.arrays import Counts, Floats
from joulewise.model.facility import Facility, FacilityPrices
from joulewise.model.room import Room
from joulewise.optimise.configurations import Curve

_CELLS, _FINER, _CHUNK, _DEPTH = 128, 16, 4096, 4
_CLOSE = 2e-5


def bound_per_s(facility: Facility, air: Air, curves: Sequence[Curve], prices: FacilityPrices) -> float:
    """The co-located reward rate that no plan exceeds; `curves` are those of the node types at the task prices."""
    flows = facility.tasks
    fixed = float(np.maximum(flows.reward - prices.task, 0.0) @ flows.rate_per_s)
    fixed += prices.cap * facility.cap_w + float(prices.redline @ facility.room.redline_c)
    units = _Units(facility, air, curves, prices)
    return fixed + units.exchange_value + units.most(_CLOSE * flows.most_reward_per_s)


class _Units:
    """What the nodes earn above the price of their power, in parts by CRAC unit and supply temperature."""

    def __init__(self, facility: Facility, air: Air, curves: Sequence[Curve], prices: FacilityPrices) -> None:
        self.facility, self.air, self.curves, self.prices = facility, air, curves, prices
        self.rise_price = air.rise_prices(prices.redline)
        self.supply_price = air.supply_share.T @ prices.redline
        self.fall = facility.room.least_fall()
        self.is_even = facility.room.has_one_rising_curve
        self.exchange_value = 0.0
        if self.is_even:
            self._price_exchange()
        self.kinds = [np.flatnonzero(facility.node_type == k) for k in range(len(curves))]

    def _price_exchange(self) -> None:
        """Count what the exchange of heat between units costs at least, by the supplies that the prices come with.

        With one curve the exchange costs sum M_cc' D(tau_c, tau_c'), where D(a, b) is the integral of g(a) - g(s) over
        s from a to b, and so k / 2 (b - a)^2 or more, if g falls by k per degree or more. A square is above its
        tangents: (b - a)^2 >= 2 d (b - a) - d^2, which has no product of two supplies.
        """
        flow, supply_c = self.air.exchange_w_per_k, self.prices.supply_c
        worth = self.prices.cap * self.fall * flow
        apart_k = supply_c[None, :] - supply_c[:, None]
        self.supply_price = self.supply_price + (worth * apart_k).sum(axis=0) - (worth * apart_k).sum(axis=1)
        self.exchange_value = float((worth * apart_k**2).sum()) / 2

    def most(self, close: float) -> float:
        """The most that all units can have together, within so much."""
        return sum(self._most_of(units, close) for units in _alike(self.facility.room))

    def _most_of(self, units: Counts, close: float) -> float:
        """The most of units of one curve and one range: cells of supplies, ever finer where the most may be."""
        room, first = self.facility.room, int(units[0])
        ends_c = _ends_c(room, first)
        cost = np.unique(self._cost(units, ends_c))
        earned = _Chords(cost, self._earned(units, cost))
        share = close / room.n_cracs
        of_unit = np.repeat(np.arange(units.size), ends_c.size - 1)
        low_c, high_c = np.tile(ends_c[:-1], units.size), np.tile(ends_c[1:], units.size)
        most, reached = np.full(units.size, -np.inf), np.full(units.size, -np.inf)
        for depth in range(_DEPTH):
            upper, lower = self._cells(units, earned, of_unit, low_c, high_c)
            np.maximum.at(reached, of_unit, lower)
            is_open = np.asarray(upper > reached[of_unit] + share) & (depth < _DEPTH - 1)
            np.maximum.at(most, of_unit[~is_open], upper[~is_open])
            of_unit = np.repeat(of_unit[is_open], _FINER)
            low_c, high_c = _split(low_c[is_open], high_c[is_open])
        return float(most.sum())

    def _cells(
        self, units: Counts, earned: _Chords, of_unit: Counts, low_c: Floats, high_c: Floats
    ) -> tuple[Floats, Floats]:
        """What no supply in a cell of a unit exceeds, and what is reached at its upper end, as far as chords say.

        Nodes earn no less where cooling is cheaper, and in a cell it gets cheaper all the way, or dearer.
        """
        costs = self._cost(units, low_c), self._cost(units, high_c)
        most = earned.at(of_unit, np.minimum(*costs))
        taken_w = [self._taken_w(units, of_unit, supply_c) for supply_c in (low_c, high_c)]
        heated = np.min([heat_w * cost for heat_w in taken_w for cost in costs], axis=0)
        price = self.supply_price[units][of_unit]
        upper = most - np.minimum(price * low_c, price * high_c) - self.prices.cap * heated
        at_high = most - price * high_c - self.prices.cap * taken_w[1] * costs[1]
        return upper, np.where(costs[1] <= costs[0], at_high, -np.inf)

    def _cost(self, units: Counts, supply_c: Floats) -> Floats:
        """What a watt of heat costs at supplies."""
        return np.asarray(1.0 / self.facility.room.cop[int(units[0])](supply_c))

    def _earned(self, units: Counts, cost: Floats) -> Floats:
        """[unit, cost]: the part of units in what all nodes earn above the price of their power."""
        types = self.facility.node_types
        share = self.air.heat_share if units.size == self.facility.room.n_cracs else self.air.heat_share[units]
        earned = np.zeros((units.size, cost.size))
        for k, nodes in enumerate(self.kinds):
            for at in range(0, nodes.size, _CHUNK):
                some = nodes[at : at + _CHUNK]
                price = self.prices.cap * (1.0 + cost)[None, :] + self.rise_price[some][:, None]
                net = types.processors[k] * self.curves[k].net(price) - price * types.overhead_w[k]
                earned += share[:, some] @ net
        return earned

    def _taken_w(self, units: Counts, of_unit: Counts, supply_c: Floats) -> Floats:
        """The least heat that units at these supplies take from others; none where all are alike.

        With one curve that never falls the exchange of heat costs no less than 0, all units together.
        """
        if self.is_even:
            return np.zeros(of_unit.size)
        exchange = self.air.exchange_w_per_k[units].copy()
        own = exchange[np.arange(units.size), units].copy()
        exchange[np.arange(units.size), units] = 0.0
        return np.asarray((exchange @ self.facility.room.coldest_c)[of_unit] + own[of_unit] * supply_c)


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


def _ends_c(room: Room, unit: int) -> Floats:
    """The ends of the first cells of a unit's supplies; its curve turns at ends only."""
    low_c, high_c = float(room.coldest_c[unit]), float(room.hottest_c[unit])
    turns_c = room.cop[unit].turns_c()
    inside = turns_c[(turns_c > low_c) & (turns_c < high_c)]
    ends_c = np.unique(np.concatenate((np.linspace(low_c, high_c, _CELLS + 1), inside)))
    return ends_c if ends_c.size > 1 else np.array([low_c, high_c])


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
