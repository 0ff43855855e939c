"""Full allocations that earn most, near the divided schedule that does: from one point, or the best of many."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from joulewise.kernels.bags.repair import Books, Costs, Deal, tighten
from joulewise.model.arrays import Counts, Floats
from joulewise.model.bag import BagAllocation
from joulewise.optimise.bags.bound import BoundFront
from joulewise.optimise.bags.profit_bound import Optimum, ProfitTerms, split_at
from joulewise.optimise.bags.recovery import Recovery

_tighten: Any = tighten
_MOST_RETRIES = 12
_NEAR = np.array([0.99, 0.995, 1.005, 1.01, 1.015])
_MOST_MOVES = 4000
_PATIENCE = 100


class ProfitOutcome(NamedTuple):
    """What an allocation comes to: how late it is, what it earns, and from one bag to the next in what time."""

    late_s: float
    profit_per_s: float
    period_s: float
    makespan_s: float
    extra_j: float
    allocation: BagAllocation


def _rank(outcome: ProfitOutcome) -> tuple[float, float]:
    """In time first, then by what is earned."""
    return outcome.late_s, -outcome.profit_per_s


class Maker:
    """Makes allocations near divided schedules and tells what they come to."""

    def __init__(self, terms: ProfitTerms) -> None:
        self.terms = terms
        self.recovery = Recovery(terms.bag)

    def from_one(self, optimum: Optimum) -> ProfitOutcome:
        """The allocation at the optimum; if it is late, at shorter makespans until one is in time."""
        deadline_s, target_s = self.terms.market.deadline_s, optimum.makespan_s
        best = self._at(optimum.split)
        for _ in range(_MOST_RETRIES):
            if best.late_s == 0.0 or target_s <= self.terms.front.least_makespan_s:
                break
            target_s = min(target_s, best.makespan_s) * deadline_s / best.period_s
            best = min(best, self._at(split_at(optimum.points[0][0], target_s)), key=_rank)
        return best

    def from_many(self, optimum: Optimum, joule_cost: float) -> ProfitOutcome:
        """The best allocation of those at and near the optimum, each made shorter and cheaper task by task."""
        costs, deal = self._costs(optimum, joule_cost), self._deal()
        starts = [self._at(split) for split in self._near(optimum, self.terms.curve(joule_cost).front)]
        best = min(starts + [self._tightened(start, costs, deal) for start in starts], key=_rank)
        return best if best.late_s == 0.0 else min(best, self.from_one(optimum), key=_rank)

    def _near(self, optimum: Optimum, front: BoundFront) -> Iterator[Floats]:
        """The split of the optimum, and those of makespans a little shorter and longer."""
        yield optimum.split
        center_s = min(optimum.makespan_s, float(front.makespan_s[0]))
        targets_s = np.clip(center_s * _NEAR, front.least_makespan_s, front.makespan_s[0])
        for target_s in np.unique(targets_s[targets_s != center_s]):
            yield split_at(front, float(target_s))

    def made(self, allocation: BagAllocation) -> ProfitOutcome:
        """What a given allocation comes to."""
        split = allocation.split
        return self._outcome(allocation, allocation.makespan_s, self.terms.extra_j(split), self.terms.worn(split))

    def _at(self, split: Floats) -> ProfitOutcome:
        """The allocation by rounding and longest tasks first."""
        allocation, made = self.recovery.allocation(split), self.recovery.bench
        makespan_s = float(made.busy_s.max())
        whole = made.whole.reshape(split.shape)
        return self._outcome(allocation, makespan_s, self.terms.extra_j(whole), self.terms.worn(whole))

    def _outcome(self, allocation: BagAllocation, makespan_s: float, extra_j: float, worn: float) -> ProfitOutcome:
        """Machines wait on purpose for the power cap and, at a loss, for as long as that makes it less."""
        soonest_s = max(makespan_s, extra_j / self.terms.extra_limit_w)
        profit_per_s, period_s = max(
            (self.terms.profit(at, extra_j, worn, makespan_s), at) for at in self._periods(soonest_s)
        )
        late_s = max(soonest_s - self.terms.market.deadline_s, 0.0)
        return ProfitOutcome(late_s, profit_per_s, period_s, makespan_s, extra_j, allocation)

    def _periods(self, soonest_s: float) -> list[float]:
        """The times to the next bag that may be best."""
        market = self.terms.market
        periods = [soonest_s]
        if soonest_s < market.deadline_s and market.must_run:
            periods += market.ends_of_hours(soonest_s, market.deadline_s)
        if soonest_s < market.deadline_s < math.inf:
            periods.append(market.deadline_s)
        return periods

    def _deal(self) -> Deal:
        market = self.terms.market
        return Deal(
            market.income, self.terms.extra_limit_w, market.deadline_s, self.terms.front.least_makespan_s, _PATIENCE
        )

    def _costs(self, optimum: Optimum, joule_cost: float) -> Costs:
        """What tasks cost by choice, and what they cost with machine time paid for as it is worth at the optimum."""
        bag, shape = self.terms.bag, self.recovery.bench.split.shape
        cost = self.terms.cost(joule_cost)
        price_per_s = (joule_cost or 1.0) * _machine_prices(self.terms.curve(joule_cost).front, optimum, joule_cost)
        exec_s = np.where(np.isfinite(bag.exec_s), bag.exec_s, 0.0)
        priced = cost + price_per_s[None, :, None] * exec_s
        return Costs(
            bag.exec_s.reshape(shape),
            bag.extra_j.reshape(shape),
            cost.reshape(shape),
            priced.reshape(shape),
            bag.system.machine_type,
            self.recovery.lengths.first_machine,
            bag.system.n_pstates,
        )

    def _tightened(self, start: ProfitOutcome, costs: Costs, deal: Deal) -> ProfitOutcome:
        """The allocation made shorter and cheaper."""
        system = self.terms.bag.system
        counts: Counts = start.allocation.counts.reshape(system.n_machines, -1).copy()
        held, n_held = np.empty_like(counts), np.empty(system.n_machines, np.int64)
        first_ready, moves = np.empty(system.n_machine_types, np.int64), np.empty((_MOST_MOVES, 5), np.int64)
        books = Books(counts, held, n_held, np.empty(system.n_machines), first_ready, moves, np.empty(2))
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
