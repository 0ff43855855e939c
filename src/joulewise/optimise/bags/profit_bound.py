"""The most that a bag whose tasks can be divided earns per second: a bound on what any allocation earns.

In bags per second and costs per second everything is linear. The vertices of the bound front are the corners of a
convex curve there that starts at "nothing runs"; the power cap is a largest rate on it and the deadline a least one.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from joulewise.model.arrays import Counts, Floats
from joulewise.model.bag import Bag
from joulewise.model.supply import HOUR_S
from joulewise.optimise.bags.bound import BoundFront, bound_front
from joulewise.optimise.bags.market import Market

_ROUNDING = 1e-12
_MOST_CUTS = 100
_MOST_SPANS = 96
_MOST_ROUNDS, _LONGER = 8, 20

Rates: TypeAlias = tuple[float, float]


@dataclass(frozen=True, eq=False)
class ProfitCurve:
    """A bound front per second: rate of bags, cost and extra power of its vertices, "nothing runs" before them."""

    front: BoundFront
    rate: Floats
    cost_per_s: Floats
    extra_w: Floats


@dataclass(frozen=True, eq=False)
class Optimum:
    """A divided schedule: bags per second, what running them costs, and the points of fronts that it mixes.

    Each point is (front, makespan, weight). `gain_per_s` is income less cost, before what idle machines cost;
    `cap_price` is what a joule is worth on top of its cost where wear counts and the power cap is reached.
    """

    rate: float
    cost_per_s: float
    extra_w: float
    gain_per_s: float
    points: tuple[tuple[BoundFront, float, float], ...]
    cap_price: float = 0.0

    @property
    def makespan_s(self) -> float:
        return 1.0 / self.rate if self.rate > 0 else math.inf

    @property
    def split(self) -> Floats:
        """How many tasks of each choice there are, as real numbers."""
        if len(self.points) == 1:
            return split_at(*self.points[0][:2])
        total = sum(weight for _, _, weight in self.points)
        return np.asarray(sum(split_at(front, makespan_s) * (w / total) for front, makespan_s, w in self.points))


def split_at(front: BoundFront, makespan_s: float) -> Floats:
    """The split on the front that takes at most this long."""
    spans = front.makespan_s
    k = min(max(int(np.searchsorted(-spans, -makespan_s, side="right")) - 1, 0), spans.size - 1)
    if k + 1 == spans.size or makespan_s >= spans[k]:
        return front.split(k)
    return front.split(k, float((spans[k] - makespan_s) / (spans[k] - spans[k + 1])))


class ProfitTerms:
    """A bag under a market: its curves by the cost of a joule, and the optimum on them."""

    def __init__(self, bag: Bag, market: Market, front: BoundFront | None = None) -> None:
        self.bag, self.market = bag, market
        self.extra_limit_w = market.extra_power_w(bag)
        self.wear_per_s = market.wear_of(bag)
        if front is not None:
            front.raise_if_not_of(bag)
        self.front = bound_front(bag) if front is None else front
        self._curves: dict[float, ProfitCurve] = {}

    def at(self, price: float) -> ProfitTerms:
        """The same terms at another price; what is known of the curves is shared."""
        terms = copy.copy(self)
        terms.market = replace(self.market, price=price)
        return terms

    @cached_property
    def wear(self) -> Floats:
        """What each choice costs by wear; 0 where it cannot be made."""
        exec_s = np.where(np.isfinite(self.bag.exec_s), self.bag.exec_s, 0.0)
        return np.asarray(exec_s * self.wear_per_s[None, :, None])

    def cost(self, joule_cost: float) -> Floats:
        """What each choice costs, above what an idle machine does; +inf where it cannot be made."""
        return np.where(np.isfinite(self.bag.extra_j), joule_cost * self._extra_j + self.wear, np.inf)

    def worn(self, split: Floats | Counts) -> float:
        """What a split costs by wear."""
        return float(np.vdot(split, self.wear)) if self.market.has_wear else 0.0

    @cached_property
    def _extra_j(self) -> Floats:
        return np.where(np.isfinite(self.bag.extra_j), self.bag.extra_j, 0.0)

    def extra_j(self, split: Floats | Counts) -> float:
        """The energy above idle of a split."""
        return float(np.vdot(split, self._extra_j))

    def profit(self, period_s: float, extra_j: float, worn: float, makespan_s: float | None = None) -> float:
        """What bags earn per second that take this long, this much energy above idle and this much wear each.

        Machines that compute for `makespan_s` only, and then wait, pay what a joule costs in that time.
        """
        standing_per_s = self.standing_per_s(self.market.joule_cost(period_s))
        joule_cost = self.market.joule_cost(period_s if makespan_s is None else makespan_s)
        return (self.market.income - worn - joule_cost * extra_j) / period_s - standing_per_s

    def standing_per_s(self, joule_cost: float) -> float:
        """What machines cost that stand idle."""
        return joule_cost * self.bag.total_idle_w + self.market.depreciation_per_s

    @property
    def soonest_s(self) -> float:
        """The least makespan of a divided schedule under the power cap."""
        curve = self._plain_curve(0.0)
        return 1.0 / min(float(curve.rate[-1]), _rate_within(curve, self.extra_limit_w))

    def curve(self, joule_cost: float) -> ProfitCurve:
        """All divided schedules that are worth a thought when a joule costs this much."""
        if joule_cost not in self._curves:
            make = self._worn_curve if self.market.has_wear else self._plain_curve
            self._curves[joule_cost] = make(joule_cost)
        return self._curves[joule_cost]

    def _plain_curve(self, joule_cost: float) -> ProfitCurve:
        rate = _after_nothing(1.0 / self.front.makespan_s)
        extra_w = _after_nothing(self.front.extra_j) * rate
        return ProfitCurve(self.front, rate, joule_cost * extra_w, extra_w)

    def _worn_curve(self, joule_cost: float) -> ProfitCurve:
        """With wear, what is cheap depends on the cost of a joule: a sweep of its own, in joules' worth."""
        scale = joule_cost or 1.0
        front = bound_front(self.bag, cost_j=self.cost(joule_cost) / scale)
        energies = np.array([self.extra_j(front.split(k)) for k in range(len(front))])
        rate = _after_nothing(1.0 / front.makespan_s)
        return ProfitCurve(front, rate, _after_nothing(scale * front.extra_j) * rate, _after_nothing(energies) * rate)

    def best(self, joule_cost: float, rates: Rates) -> Optimum | None:
        """The best divided schedule with a rate in this range, under the cap; None when there is none."""
        curve = self.curve(joule_cost)
        if not self.market.has_wear:
            return self._best_on(curve, (rates[0], min(rates[1], _rate_within(curve, self.extra_limit_w))))
        optimum = self._best_on(curve, rates)
        if optimum is None or optimum.extra_w <= self.extra_limit_w * (1 + _ROUNDING):
            return optimum
        return self._best_mix(optimum, joule_cost, rates)

    def _best_on(self, curve: ProfitCurve, rates: Rates) -> Optimum | None:
        """The best point of a curve between two rates: one of its corners, or an end."""
        most = min(rates[1], float(curve.rate[-1]))
        if rates[0] > most * (1 + _ROUNDING):
            return None
        within = np.clip(curve.rate, rates[0], most)
        gains = self.market.income * within - np.interp(within, curve.rate, curve.cost_per_s)
        rate = float(within[gains.argmax()])
        cost_per_s, extra_w = (float(np.interp(rate, curve.rate, of)) for of in (curve.cost_per_s, curve.extra_w))
        makespan_s = 1.0 / rate if rate > 0 else math.inf
        return self._optimum(rate, cost_per_s, extra_w, ((curve.front, makespan_s, 1.0),))

    def _optimum(
        self, rate: float, cost_per_s: float, extra_w: float, points: tuple[tuple[BoundFront, float, float], ...]
    ) -> Optimum:
        return Optimum(rate, cost_per_s, extra_w, self.market.income * rate - cost_per_s, points)

    def _best_mix(self, over: Optimum, joule_cost: float, rates: Rates) -> Optimum | None:
        """The best schedule under the cap, where wear counts too: a mix of two that have it between them.

        More expensive joules lead away from power. At each price on top of the joule's, the gain of a schedule is a
        line; the lowest point of the upper envelope of all these lines is the answer, and two of them meet there.
        """
        under, on_top = self._least_power(joule_cost, rates[0]), 0.0
        for _ in range(_MOST_CUTS):
            if under is None or over.extra_w <= under.extra_w:
                return None if under is None else replace(under, cap_price=on_top)
            on_top = max((over.gain_per_s - under.gain_per_s) / (over.extra_w - under.extra_w), 0.0)
            dearer = self._best_on(self.curve(joule_cost + on_top), rates)
            assert dearer is not None
            cost_per_s = dearer.cost_per_s - on_top * dearer.extra_w
            cut = self._optimum(dearer.rate, cost_per_s, dearer.extra_w, dearer.points)
            above = cut.gain_per_s - over.gain_per_s - on_top * (cut.extra_w - over.extra_w)
            if above <= _ROUNDING * (abs(over.gain_per_s) + on_top * over.extra_w):
                break
            over, under = (cut, under) if cut.extra_w > self.extra_limit_w else (over, cut)
        return replace(self._mix(over, under), cap_price=on_top)

    def _least_power(self, joule_cost: float, rate: float) -> Optimum | None:
        """The schedule of this rate that draws least; None when even that is above the cap."""
        plain = self._plain_curve(joule_cost)
        extra_w = float(np.interp(rate, plain.rate, plain.extra_w))
        if extra_w > self.extra_limit_w * (1 + _ROUNDING) or rate > plain.rate[-1] * (1 + _ROUNDING):
            return None
        makespan_s = 1.0 / rate if rate > 0 else math.inf
        worn = self.worn(split_at(plain.front, makespan_s)) * rate
        return self._optimum(rate, joule_cost * extra_w + worn, extra_w, ((plain.front, makespan_s, 1.0),))

    def _mix(self, over: Optimum, under: Optimum | None) -> Optimum:
        """The mix of two schedules, by their rates, that draws what the cap allows."""
        assert under is not None
        share = (self.extra_limit_w - under.extra_w) / (over.extra_w - under.extra_w)
        parts = ((over, share), (under, 1 - share))
        rate, cost_per_s, extra_w = (
            sum(w * getattr(part, name) for part, w in parts) for name in ("rate", "cost_per_s", "extra_w")
        )
        points = ((front, makespan_s, w * part.rate) for part, w in parts for front, makespan_s, _ in part.points)
        return self._optimum(rate, cost_per_s, extra_w, tuple(point for point in points if point[2] > 0))

    def bound(self) -> tuple[float, Optimum] | None:
        """A profit per second that nothing exceeds, and the best divided schedule; None when nothing is feasible."""
        market = self.market
        if market.cost_per_j is None:
            return self._bound_by_hour()
        joule_cost = market.cost_per_j * market.pue
        optimum = self.best(joule_cost, (1.0 / market.deadline_s, math.inf))
        return None if optimum is None else (optimum.gain_per_s - self.standing_per_s(joule_cost), optimum)

    def _bound_by_hour(self) -> tuple[float, Optimum] | None:
        """The best of short spans of makespans, each with the least mean cost that a makespan in it can have."""
        market, spans = self.market, list(self._spans())
        costs = np.array([market.least_mean_cost(*span) for span in spans]) * market.pue
        does_wait = market.must_run or self.extra_limit_w < math.inf
        bound, best = -math.inf, None
        for at, (first_s, last_s) in enumerate(spans):
            optimum = self.best(float(costs[at]), (1.0 / last_s, 1.0 / first_s))
            if optimum is not None:
                bound = max(bound, optimum.gain_per_s - self.standing_per_s(float(costs[at])))
                if best is None or self._true_profit(optimum) > self._true_profit(best):
                    best = optimum
            if does_wait and at + 1 < len(spans):
                bound = max(bound, self._bound_of_waiting(last_s, float(costs[at]), spans[at + 1 :], costs[at + 1 :]))
        return None if best is None else (bound, best)

    def _bound_of_waiting(self, done_s: float, joule_cost: float, spans: list[Rates], costs: Floats) -> float:
        """A profit that nothing exceeds which is done by then, at this cost of a joule, and waits for a later span.

        Waiting never turns a loss into a profit: it is for the power cap or, under an agreement, to lose less.
        """
        curve = self.curve(joule_cost)
        gain = self.market.income - done_s * float(np.interp(1.0 / done_s, curve.rate, curve.cost_per_s))
        least_j = float(np.interp(done_s, self.front.makespan_s[::-1], self.front.extra_j[::-1]))
        begin_s, end_s = np.array(spans).T
        begin_s = np.maximum(begin_s, least_j / self.extra_limit_w)
        earned = gain / (begin_s if gain > 0 else end_s) - self.standing_per_s(0.0) - costs * self.bag.total_idle_w
        return float(earned.max(where=begin_s <= end_s, initial=-math.inf))

    def _true_profit(self, optimum: Optimum) -> float:
        """What a divided schedule earns at the mean cost of the hours it takes."""
        worn = self.worn(optimum.split) if optimum.rate > 0 and self.market.has_wear else 0.0
        return self.profit(optimum.makespan_s, optimum.extra_w / optimum.rate if optimum.rate > 0 else 0.0, worn)

    def _spans(self) -> Iterator[Rates]:
        """Neighbouring ranges that together hold every makespan from the least to the deadline."""
        front, deadline_s = self.front, self.market.deadline_s
        assert self.market.cost_by_hour is not None
        longest_s = max(float(front.makespan_s[0]), float(front.extra_j[0]) / self.extra_limit_w)
        rounds_s = _MOST_ROUNDS * HOUR_S * self.market.cost_by_hour.size
        last_s = front.least_makespan_s
        for until_s in (longest_s, max(rounds_s, _LONGER * longest_s)):
            first_s, last_s = last_s, max(min(until_s, deadline_s), last_s)
            if last_s > first_s:
                yield from pairwise(np.geomspace(first_s, last_s, _MOST_SPANS).tolist())
        yield last_s, deadline_s

    def soonest(self) -> Optimum:
        """The divided schedule of the least makespan under the power cap."""
        curve, makespan_s = self._plain_curve(self.market.joule_cost(self.soonest_s)), self.soonest_s
        rate = 1.0 / makespan_s
        cost_per_s, extra_w = (float(np.interp(rate, curve.rate, of)) for of in (curve.cost_per_s, curve.extra_w))
        return self._optimum(rate, cost_per_s, extra_w, ((curve.front, makespan_s, 1.0),))


def _after_nothing(values: Floats) -> Floats:
    """The values at "nothing runs", which are 0, and at the vertices."""
    out = np.zeros(values.size + 1)
    out[1:] = values
    return out


def _rate_within(curve: ProfitCurve, extra_limit_w: float) -> float:
    """The largest rate on the curve that draws no more than the limit."""
    if curve.extra_w[-1] <= extra_limit_w:
        return math.inf
    return float(np.interp(extra_limit_w, curve.extra_w, curve.rate))
