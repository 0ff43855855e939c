"""Prices for bags that customers bring one after the other: fixed, for each alone, or by backlog (Tarplee, VII)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from joulewise.model.arrays import Floats, freeze_fields
from joulewise.model.bag import BagAllocation
from joulewise.model.customers import LAWS, Demand, Law, Quoting
from joulewise.model.supply import HOUR_S, summed_until
from joulewise.optimise.bags.bound import BoundFront
from joulewise.optimise.bags.recovery import Recovery
from joulewise.optimise.front import non_dominated

_STEPS_OF_A_BAG = 8
_MOST_STEPS = 2000
"""Time and backlog go by steps of a part of the shortest makespan, or by longer ones where there would be more."""


@dataclass(frozen=True, eq=False)
class Trade:
    """What a provider knows of customers and of bags, all of which are alike.

    A bag is worth `mean_value` on average. Whole schedules of it take `makespan_s` and use `extra_j` above idle, evenly
    over that time. A joule of the machines costs `cost_per_j` by the hour, starting again at its end.
    """

    demand: Demand
    mean_value: float
    cost_per_j: Floats
    extra_j: Floats
    makespan_s: Floats

    def __post_init__(self) -> None:
        freeze_fields(self, dict.fromkeys(("cost_per_j", "extra_j", "makespan_s"), np.float64))

    @property
    def law(self) -> Law:
        return LAWS[self.demand.law]

    @property
    def loss_per_s(self) -> float:
        """What every second until a bag is done takes of its worth."""
        return self.mean_value / self.demand.patience_s

    def energy_costs(self, start_s: Floats) -> Floats:
        """What the energy above idle costs by [schedule, instant at which it starts]."""
        paid = summed_until(self.cost_per_j, start_s + self.makespan_s[:, None]) - summed_until(
            self.cost_per_j, start_s
        )
        return np.asarray(self.extra_j[:, None] * HOUR_S * paid / self.makespan_s[:, None])

    def losses(self, backlog_s: Floats) -> Floats:
        """What waiting and running take of the worth by [schedule, backlog]."""
        return self.loss_per_s * (backlog_s + self.makespan_s[:, None])


def schedules_of(front: BoundFront) -> list[BagAllocation]:
    """Whole allocations at the vertices of the bound, of which none is beaten in both extra energy and makespan."""
    recovery = Recovery(front.bag)
    made = [recovery.allocation(front.split(vertex)) for vertex in range(len(front))]
    points = np.array([(extra_j_of(allocation), allocation.makespan_s) for allocation in made])
    return [made[i] for i in non_dominated(points)]


def extra_j_of(allocation: BagAllocation) -> float:
    """The energy of an allocation above what all machines would have drawn idle."""
    return allocation.energy_j - allocation.bag.total_idle_w * allocation.makespan_s


def fixed_price(trade: Trade, price: float) -> Quoting:
    """The same price for all, and the schedule that earns most per second with it (Tarplee, IV); none at a loss."""

    def quoted(at_s: float, backlog_s: float) -> tuple[float, int]:
        per_s = (price - trade.energy_costs(np.array([at_s + backlog_s]))[:, 0]) / trade.makespan_s
        best = int(per_s.argmax())
        return (price if per_s[best] >= 0 else math.inf), best

    return quoted


def price_alone(trade: Trade) -> Quoting:
    """The price and schedule of most expected profit from this customer, as if no other came."""
    return _by_cost(trade, lambda _at_s, _backlog_s: np.zeros(trade.makespan_s.size))


def price_by_backlog(trade: Trade) -> Quoting:
    """The same with what the bag keeps later customers from being worth, on average, taken for a cost."""
    values = place_values(trade)
    return _by_cost(trade, lambda at_s, backlog_s: values.taken(at_s, backlog_s, trade.makespan_s))


def _by_cost(trade: Trade, taken: Callable[[float, float], Floats]) -> Quoting:
    """The least of energy, waiting and what is taken from others, and the best price for a sale of that cost."""

    def quoted(at_s: float, backlog_s: float) -> tuple[float, int]:
        loss = trade.losses(np.array([backlog_s]))[:, 0]
        cost = trade.energy_costs(np.array([at_s + backlog_s]))[:, 0] + loss + taken(at_s, backlog_s)
        best = int(cost.argmin())
        asked = trade.mean_value * float(trade.law.asked(cost[best] / trade.mean_value))
        return asked - float(loss[best]), best

    return quoted


class PlaceValues(NamedTuple):
    """What is earned on average from a step of time on, by the backlog in steps, if prices are the best."""

    step_s: float
    profit: Floats

    def taken(self, at_s: float, backlog_s: float, makespan_s: Floats) -> Floats:
        """What work of these lengths takes of it, sold at this instant with this backlog."""
        row = self.profit[min(int(at_s / self.step_s), len(self.profit) - 1)]
        backlogs_s = self.step_s * np.arange(row.size)
        return np.asarray(np.interp(backlog_s, backlogs_s, row) - np.interp(backlog_s + makespan_s, backlogs_s, row))


def place_values(trade: Trade) -> PlaceValues:
    """Backwards over time: in each step a customer comes or does not, and a step of the backlog is worked off."""
    demand, n_times, n_backlogs, step_s = trade.demand, *_grid(trade)
    chance, now = -math.expm1(-demand.per_s * step_s), np.arange(n_backlogs)
    steps_s = np.asarray(step_s * np.arange(n_times + n_backlogs), np.float64)
    energy, losses = trade.energy_costs(steps_s), trade.losses(steps_s[:n_backlogs])
    after = _Between.of(now + trade.makespan_s[:, None] / step_s, n_backlogs)
    profit = np.zeros((n_times + 1, n_backlogs))
    for time in range(n_times - 1, -1, -1):
        later = profit[time + 1, np.maximum(now - 1, 0)]
        cost = (energy[:, time : time + n_backlogs] + losses + later - after.read(later)).min(axis=0)
        profit[time] = later + chance * trade.mean_value * trade.law.gain(cost / trade.mean_value)
    return PlaceValues(step_s, profit)


class _Between(NamedTuple):
    """Places between the entries of a row: this share of the way from one to the next, the last one beyond its end."""

    first: Floats
    share: Floats

    @staticmethod
    def of(place: Floats, n: int) -> _Between:
        within = np.minimum(place, n - 1)
        first = np.minimum(within.astype(np.int64), n - 2)
        return _Between(first, within - first)

    def read(self, row: Floats) -> Floats:
        return np.asarray(row[self.first] + self.share * np.diff(row)[self.first])


def _grid(trade: Trade) -> tuple[int, int, float]:
    """Steps of time and of backlog, and how long each is.

    Hardly a customer buys at the last backlog, or it is twice the time in which customers come: what lies beyond it
    is taken for it.
    """
    until_s = trade.demand.until_s
    longest_s = min(trade.law.reach * trade.demand.patience_s, 2 * until_s)
    step_s = max(float(trade.makespan_s.min()) / _STEPS_OF_A_BAG, max(until_s, longest_s) / _MOST_STEPS)
    return math.ceil(until_s / step_s), math.ceil(longest_s / step_s) + 2, step_s
