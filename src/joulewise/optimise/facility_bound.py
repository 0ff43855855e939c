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
        self.is_even = self.fall > 0.0
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
        ends_c = np.linspace(room.coldest_c[first], room.hottest_c[first], _CELLS + 1)
        earned = self._chords(units, ends_c)
        share = close / room.n_cracs
        of_unit = np.repeat(np.arange(units.size), _CELLS)
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

    def _chords(self, units: Counts, ends_c: Floats) -> _Chords:
        """What units earn at the costs of some supplies: a convex function of the cost, so below its chords."""
        between_c = np.linspace(ends_c[0], ends_c[-1], _CELLS * _FINER + 1)
        cost, between = self._cost(units, ends_c), self._cost(units, between_c)
        cost = np.unique(np.concatenate((cost, [between.min(), between.max()])))
        return _Chords(cost, self._earned(units, cost))

    def _cells(
        self, units: Counts, earned: _Chords, of_unit: Counts, low_c: Floats, high_c: Floats
    ) -> tuple[Floats, Floats]:
        """What no supply in a cell of a unit exceeds, and what is reached at its upper end, as far as chords say.

        Nodes earn no less where cooling is cheaper.
        """
        cost_low, cost_high = self._cost(units, low_c), self._cost(units, high_c)
        most = earned.at(of_unit, np.minimum(cost_low, cost_high))
        heated_low, heated_high = (
            self._exchanged(units, of_unit, supply_c, cost)
            for supply_c, cost in ((low_c, cost_low), (high_c, cost_high))
        )
        price = self.supply_price[units][of_unit]
        upper = most - np.minimum(price * low_c, price * high_c) - np.minimum(heated_low, heated_high)
        lower = np.where(cost_high <= cost_low, most - price * high_c - heated_high, -np.inf)
        return upper, lower

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

    def _exchanged(self, units: Counts, of_unit: Counts, supply_c: Floats, cost: Floats) -> Floats:
        """The least cost of the heat that units take from others, which is none where all are alike.

        With one curve that never rises the exchange of heat costs nothing less than 0, all units together.
        """
        if self.is_even:
            return np.zeros(of_unit.size)
        exchange = self.air.exchange_w_per_k[units].copy()
        own = exchange[np.arange(units.size), units].copy()
        exchange[np.arange(units.size), units] = 0.0
        least_w = (exchange @ self.facility.room.coldest_c)[of_unit] + own[of_unit] * supply_c
        return np.asarray(self.prices.cap * least_w * cost)


class _Chords(NamedTuple):
    """[unit, cost]: values at some costs, in rising order, and straight lines between them."""

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
