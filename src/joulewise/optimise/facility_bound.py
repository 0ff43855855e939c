"""An upper bound on what any plan of a facility can earn, in closed form for any prices.

At prices of tasks done, of watts of the cap and of degrees at redlines, whatever a plan earns is at most what its tasks
are worth above their price, plus what the limits are worth, plus what nodes earn above the price of their power. What
a watt costs depends on the supplies; the share of each CRAC unit in that is bounded by itself over all supplies that
the unit can blow. `check/facility_bound.py` has the proof, and other code for the same bound.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from joulewise.model.air import Air
from joulewise.model.arrays import Counts, Floats
from joulewise.model.facility import Facility, FacilityPrices
from joulewise.model.room import Room
from joulewise.optimise.configurations import Curve

_CELLS, _FINER, _CHUNK, _DEPTH = 64, 16, 64, 4
_CLOSE = 2e-5


def bound_per_s(facility: Facility, air: Air, curves: Sequence[Curve], prices: FacilityPrices) -> float:
    """The co-located reward rate that no plan exceeds; `curves` are those of the node types at the task prices."""
    flows = facility.tasks
    fixed = float(np.maximum(flows.reward - prices.task, 0.0) @ flows.rate_per_s)
    fixed += prices.cap * facility.cap_w + float(prices.redline @ facility.room.redline_c)
    units = _Units(facility, air, curves, prices)
    return fixed + units.most(_CLOSE * flows.most_reward_per_s)


class _Units:
    """What the nodes earn above the price of their power, in parts by CRAC unit and supply temperature."""

    def __init__(self, facility: Facility, air: Air, curves: Sequence[Curve], prices: FacilityPrices) -> None:
        self.facility, self.air, self.curves, self.prices = facility, air, curves, prices
        self.rise_price = air.rise_prices(prices.redline)
        self.supply_price = air.supply_share.T @ prices.redline
        self.is_even = facility.room.has_one_curve and _never_rises(facility.room)
        self.kinds = [np.flatnonzero(facility.node_type == k) for k in range(len(curves))]

    def most(self, close: float) -> float:
        """The most that all units can have together, within so much."""
        return sum(self._most_of(units, close) for units in _alike(self.facility.room))

    def _most_of(self, units: Counts, close: float) -> float:
        """The most of units of one curve and one range: cells of supplies, ever finer where the most may be."""
        room, unit = self.facility.room, int(units[0])
        ends_c = np.linspace(room.coldest_c[unit], room.hottest_c[unit], _CELLS + 1)
        cells = np.stack((ends_c[:-1], ends_c[1:]), axis=1)
        ruled_out = np.full(units.size, -np.inf)
        for depth in range(_DEPTH):
            upper, reached = self._cells(units, cells)
            slack = upper.max(axis=1) - reached
            if slack.sum() <= close * units.size / room.n_cracs or depth == _DEPTH - 1:
                break
            is_open = np.asarray(upper > reached[:, None] + close / room.n_cracs)
            is_open = np.asarray(is_open.any(axis=0))
            closed = np.where(is_open[None, :], -np.inf, upper)
            ruled_out = np.maximum(ruled_out, closed.max(axis=1))
            cells = _split(cells[is_open])
        return float(np.maximum(upper.max(axis=1), ruled_out).sum())

    def _cells(self, units: Counts, cells: Floats) -> tuple[Floats, Floats]:
        """[unit, cell]: what no supply in a cell exceeds; [unit]: what is reached at some end of a cell.

        Nodes earn no less where cooling is cheaper, and the price of supplies rises with them.
        """
        upper, reached = np.empty((units.size, len(cells))), np.full(units.size, -np.inf)
        for at in range(0, len(cells), _CHUNK):
            low_c, high_c = cells[at : at + _CHUNK].T
            cost_low, cost_high = self._cost(units, low_c), self._cost(units, high_c)
            earned = self._earned(units, np.minimum(cost_low, cost_high))
            heated = [self._exchanged(units, supply_c) for supply_c in (low_c, high_c)]
            price = self.supply_price[units][:, None]
            upper[:, at : at + _CHUNK] = earned - price * low_c - np.minimum(*heated)
            at_high = np.where(cost_high <= cost_low, earned - price * high_c - heated[1], -np.inf)
            reached = np.maximum(reached, at_high.max(axis=1))
        return upper, reached

    def _cost(self, units: Counts, supply_c: Floats) -> Floats:
        """What a watt of heat costs at supplies."""
        return np.asarray(1.0 / self.facility.room.cop[int(units[0])](supply_c))

    def _earned(self, units: Counts, cost: Floats) -> Floats:
        """[unit, supply]: the part of units in what all nodes earn above the price of their power."""
        types = self.facility.node_types
        net = np.empty((self.facility.n_nodes, cost.size))
        for k, nodes in enumerate(self.kinds):
            price = self.prices.cap * (1.0 + cost)[None, :] + self.rise_price[nodes][:, None]
            net[nodes] = types.processors[k] * self.curves[k].net(price) - price * types.overhead_w[k]
        return np.asarray(self.air.heat_share[units] @ net)

    def _exchanged(self, units: Counts, supply_c: Floats) -> Floats:
        """[unit, supply]: the least cost of the heat that units take from others, which is none where all are alike.

        With one curve that never rises the exchange of heat costs nothing less than 0, all units together.
        """
        room = self.facility.room
        if self.is_even:
            return np.zeros((units.size, supply_c.size))
        exchange = self.air.exchange_w_per_k[units].copy()
        own = exchange[np.arange(units.size), units].copy()
        exchange[np.arange(units.size), units] = 0.0
        least_w = (exchange @ room.coldest_c)[:, None] + own[:, None] * supply_c[None, :]
        return np.asarray(self.prices.cap * least_w * self._cost(units, supply_c)[None, :])


def _split(cells: Floats) -> Floats:
    """Each cell in equal parts."""
    parts = np.linspace(0.0, 1.0, _FINER + 1)
    ends = cells[:, :1] + (cells[:, 1:] - cells[:, :1]) * parts[None, :]
    return np.stack((ends[:, :-1].ravel(), ends[:, 1:].ravel()), axis=1)


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


def _never_rises(room: Room) -> bool:
    """Whether cooling never gets dearer with a hotter supply, by a look at many supplies."""
    grid_c = np.linspace(room.coldest_c.min(), room.hottest_c.max(), 1001)
    return bool((np.diff(room.cop[0](grid_c)) >= 0).all())
