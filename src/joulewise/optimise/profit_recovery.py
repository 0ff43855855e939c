"""Full allocations that earn most, near the divided schedule that does: from one point, or the best of many."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from joulewise.kernels.bag_repair import Books, Costs, Deal, tighten
from joulewise.model.arrays import Counts, Floats
from joulewise.model.bag import BagAllocation
from joulewise.optimise.bag_bound import BoundFront
from joulewise.optimise.bag_recovery import Recovery, places_along
from joulewise.optimise.profit_bound import Optimum, Terms, split_at

_tighten: Any = tighten
_MOST_RETRIES = 12
_N_PLACES = 60
_N_STARTS = 6
_MOST_MOVES = 4000


class Outcome(NamedTuple):
    """What an allocation comes to: how late it is, what it earns, and from one bag to the next in what time."""

    late_s: float
    profit_per_s: float
    period_s: float
    makespan_s: float
    extra_j: float
    allocation: BagAllocation


def _rank(outcome: Outcome) -> tuple[float, float]:
    """In time first, then by what is earned."""
    return outcome.late_s, -outcome.profit_per_s


class Maker:
    """Makes allocations near divided schedules and tells what they come to."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.recovery = Recovery(terms.bag)

    def from_one(self, optimum: Optimum) -> Outcome:
        """The allocation at the optimum; if it is late, at shorter makespans until one is in time."""
        deadline_s, target_s = self.terms.market.deadline_s, optimum.makespan_s
        best = self._at(optimum.split)
        for _ in range(_MOST_RETRIES):
            if best.late_s == 0.0 or target_s <= self.terms.front.least_makespan_s:
                break
            target_s = min(target_s, best.makespan_s) * deadline_s / best.period_s
            best = min(best, self._at(split_at(optimum.points[0][0], target_s)), key=_rank)
        return best

    def from_many(self, optimum: Optimum, joule_cost: float) -> Outcome:
        """The best allocation of those at all vertices and between, the most promising made shorter and cheaper."""
        curve = self.terms.curve(joule_cost)
        costs, deal = self._costs(optimum, joule_cost), self._deal()
        starts = [optimum.split, *self._most_promising(curve.front, joule_cost)]
        return min((self._tightened(self._at(split), costs, deal) for split in starts), key=_rank)

    def _at(self, split: Floats) -> Outcome:
        """The allocation by rounding and longest tasks first."""
        allocation, made = self.recovery.allocation(split), self.recovery.bench
        makespan_s = float(made.ready.max()) * self.recovery.tick_s
        whole = made.whole.reshape(split.shape)
        return self._outcome(allocation, makespan_s, self.terms.extra_j(whole), self.terms.worn(whole))

    def _outcome(self, allocation: BagAllocation, makespan_s: float, extra_j: float, worn: float) -> Outcome:
        """Machines wait on purpose for the power cap and, at a loss, until the deadline."""
        soonest_s, deadline_s = max(makespan_s, extra_j / self.terms.extra_limit_w), self.terms.market.deadline_s
        late_s = max(soonest_s - deadline_s, 0.0)
        periods = (soonest_s, deadline_s) if soonest_s < deadline_s < math.inf else (soonest_s,)
        profit_per_s, period_s = max((self.terms.profit(at, extra_j, worn), at) for at in periods)
        return Outcome(late_s, profit_per_s, period_s, makespan_s, extra_j, allocation)

    def _most_promising(self, front: BoundFront, joule_cost: float) -> Iterator[Floats]:
        """Splits whose allocations earn most as they are."""
        places = places_along(front, _N_PLACES)
        scores = self.recovery.scores(front, places)
        extra_j = scores.energy_j - self.terms.bag.total_idle_w * scores.makespan_s
        period_s = np.maximum(scores.makespan_s, extra_j / self.terms.extra_limit_w)
        earned = (self.terms.market.income - joule_cost * extra_j) / period_s
        earned[period_s > self.terms.market.deadline_s] = -np.inf
        for k in np.argsort(-earned, kind="stable")[:_N_STARTS]:
            yield front.split(int(places.vertex[k]), float(places.share[k]))

    def _deal(self) -> Deal:
        market = self.terms.market
        return Deal(market.income, self.terms.extra_limit_w, market.deadline_s, self.terms.front.least_makespan_s)

    def _costs(self, optimum: Optimum, joule_cost: float) -> Costs:
        bag = self.terms.bag
        shape = self.recovery.bench.split.shape
        cost = np.where(np.isfinite(bag.extra_j), joule_cost * bag.extra_j + self.terms.wear, np.inf)
        front = self.terms.curve(joule_cost).front
        time_price = (joule_cost or 1.0) * _machine_prices(front, optimum, joule_cost)
        exec_s = np.where(np.isfinite(bag.exec_s), bag.exec_s, 0.0)
        priced = cost + time_price[None, :, None] * exec_s
        first = self.recovery.lengths.first_machine
        arrays = (np.ascontiguousarray(a).reshape(shape) for a in (bag.exec_s, bag.extra_j, cost, priced))
        return Costs(*arrays, bag.system.machine_type, first, bag.system.n_pstates)

    def _tightened(self, start: Outcome, costs: Costs, deal: Deal) -> Outcome:
        """The allocation made shorter and cheaper."""
        system = self.terms.bag.system
        counts: Counts = start.allocation.counts.reshape(system.n_machines, -1).copy()
        first_ready, log = np.empty(system.n_machine_types, np.int64), np.empty((_MOST_MOVES, 5), np.int64)
        books = Books(counts, np.empty(system.n_machines), first_ready, log, np.empty(2))
        _tighten(costs, books, deal)
        allocation = BagAllocation(self.terms.bag, counts.reshape(start.allocation.counts.shape))
        worn = self.terms.worn(allocation.split) if self.terms.market.has_wear else 0.0
        return self._outcome(allocation, float(books.busy_s.max()), float(books.sums[0]), worn)


def _machine_prices(front: BoundFront, optimum: Optimum, joule_cost: float) -> Floats:
    """What a second of a machine of each type is worth at the optimum, in joules."""
    k = min(max(int(np.searchsorted(-front.makespan_s, -optimum.makespan_s, side="right")) - 1, 0), len(front) - 1)
    weight_w = max(optimum.gain_per_s / (joule_cost or 1.0), 0.0)
    low, high = front.weight_w[k], front.weight_w[k + 1]
    weight_w = min(max(weight_w, low), high)
    if k + 1 == len(front):
        return np.asarray(front.price_per_s[k] + (weight_w - low) * front.price_per_s[k + 1])
    share = (weight_w - low) / (high - low) if high > low else 0.0
    return np.asarray((1 - share) * front.price_per_s[k] + share * front.price_per_s[k + 1])
