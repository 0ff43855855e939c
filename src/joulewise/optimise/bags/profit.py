"""The schedule of a bag that earns most per second, with a proven bound and a plain verdict (Tarplee, IV-VI)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from joulewise import units
from joulewise.errors import InputError, Problem, unknown_name
from joulewise.model.arrays import Floats, freeze_fields
from joulewise.model.bag import Bag, BagAllocation
from joulewise.optimise.bags.bound import BoundFront
from joulewise.optimise.bags.drawn_out import least_loss
from joulewise.optimise.bags.market import Market
from joulewise.optimise.bags.profit_bound import Optimum, ProfitTerms
from joulewise.optimise.bags.profit_prices import ProfitPrices, profit_prices
from joulewise.optimise.bags.profit_recovery import Maker, ProfitOutcome
from joulewise.optimise.gap import ROUNDING, gap_of
from joulewise.visible import Visible

_SAME = 1e-12
_MOST_TRIED = 400

RecoveryKind: TypeAlias = Literal["one", "best"]
Verdict: TypeAlias = Literal[
    "profit",
    "break-even",
    "covers part of the depreciation",
    "loss under agreement",
    "better not to run",
    "deadline missed",
    "infeasible",
]


@dataclass(frozen=True, eq=False)
class Profit(Visible, looks="bags"):
    """What a bag earns at most: the allocation found, what it earns per second, and a bound that none exceeds.

    Energy is the facility's, and `makespan_s` the time from one bag to the next: `wait_s` of it all machines wait on
    purpose after the last task, to keep the power cap or, at a loss, because waiting loses less. Without an allocation
    nothing runs, and `bound_per_s` tells what running would have earned at most (-inf where nothing is feasible). A
    bag that must run although no allocation found keeps the deadline is `late_s` after it, which the bound is not.
    Profits are what is left of `income_per_s`: a billionth of that is rounding.
    """

    verdict: Verdict
    allocation: BagAllocation | None
    profit_per_s: float
    bound_per_s: float
    energy_j: float = 0.0
    makespan_s: float = 0.0
    wait_s: float = 0.0
    late_s: float = 0.0
    income_per_s: float = 0.0
    why: str = ""
    prove: Callable[[], ProfitPrices | None] = field(default=lambda: None, repr=False)

    @cached_property
    def certificate(self) -> ProfitPrices | None:
        """Prices that prove the bound, made when they are asked for.

        There are none with costs by hour, where each span of makespans would have its own, nor where a bag at a loss
        ends with its last machine, nor where nothing is feasible.
        """
        return self.prove()

    @property
    def gap(self) -> float:
        """How far, as a share of the bound, the profit is from it; NaN where nothing runs in time or the bound is 0."""
        if self.allocation is None or self.late_s > 0:
            return math.nan
        return float(gap_of(self.bound_per_s - self.profit_per_s, self.bound_per_s, self.income_per_s))

    @property
    def mean_power_w(self) -> float:
        return self.energy_j / self.makespan_s if self.makespan_s > 0 else 0.0

    def sentence(self) -> str:
        """The verdict in words."""
        return _SENTENCES[self.verdict](self)


def _ran(profit: Profit) -> str:
    waits = f", {units.duration(profit.wait_s)} of it waiting on purpose" if profit.wait_s > 0 else ""
    most = "" if profit.late_s > 0 else f" (at most {profit.bound_per_s:.6g})"
    return (
        f"{profit.profit_per_s:.6g} per second{most} with "
        f"{units.energy(profit.energy_j)} in {units.duration(profit.makespan_s)}{waits}"
    )


def _missed(profit: Profit) -> str:
    run = "" if profit.allocation is None else f" It runs late because an agreement requires it: {_ran(profit)}."
    return f"No allocation found keeps the deadline: {profit.why}.{run}"


_SENTENCES: dict[str, Callable[[Profit], str]] = {
    "profit": lambda p: f"The bag earns {_ran(p)}.",
    "break-even": lambda p: f"The bag breaks even: {_ran(p)}.",
    "covers part of the depreciation": lambda p: (
        f"The bag earns {_ran(p)}: less than the depreciation, which is lost in any case, so it pays to run."
    ),
    "loss under agreement": lambda p: f"The bag runs at a loss because an agreement requires it: {_ran(p)}.{p.why}",
    "better not to run": lambda p: f"Better not to run: {p.why}.",
    "deadline missed": _missed,
    "infeasible": lambda p: f"Infeasible: {p.why}.",
}


def most_profit(bag: Bag, market: Market, recovery: RecoveryKind = "one", front: BoundFront | None = None) -> Profit:
    """The allocation of a bag that earns most per second under a market, and the proven bound.

    With recovery "one" it comes from the best divided schedule alone, with "best" from many near it, improved task by
    task. `front` is the bag's bound front, where it is known already. Raises InputError where the market does not fit
    the bag, and for a power cap that idle machines alone exceed.
    """
    if recovery not in get_args(RecoveryKind):
        raise InputError(unknown_name("recovery", recovery, get_args(RecoveryKind)))
    terms = ProfitTerms(bag, market, front)
    bound = terms.bound()
    profit = _most_profit(terms, bound, recovery)
    if bound is None or (bound[1].rate == 0 and market.must_run):
        return profit
    return replace(profit, prove=partial(profit_prices, terms, bound[1]))


def _most_profit(terms: ProfitTerms, bound: tuple[float, Optimum] | None, recovery: RecoveryKind) -> Profit:
    market = terms.market
    if bound is None and not market.must_run:
        return _stands("infeasible", market, -math.inf, _what_is_infeasible(terms))
    bound_per_s, optimum = bound or (-math.inf, terms.soonest())
    least_per_s = -market.depreciation_per_s - ROUNDING * market.price / optimum.makespan_s
    if bound_per_s <= least_per_s and not market.must_run:
        return _stands("better not to run", market, bound_per_s, _why_not(bound_per_s, market))
    maker, joule_cost = Maker(terms), market.joule_cost(optimum.makespan_s)
    if optimum.rate == 0:
        return _drawn_out(maker, joule_cost)
    best = maker.from_one(optimum) if recovery == "one" else maker.from_many(optimum, joule_cost)
    return _missing(terms, bound_per_s, best) if best.late_s > 0 else _judged(terms, bound_per_s, best)


def _drawn_out(maker: Maker, joule_cost: float) -> Profit:
    """The least loss of a bag that loses the less, the longer it takes, and so ends with its last machine."""
    terms = maker.terms
    if terms.market.cost_by_hour is not None:
        raise InputError(_without_end(terms))
    gain_per_s, allocations = least_loss(terms, joule_cost)
    best = max(map(maker.made, allocations), key=lambda outcome: outcome.profit_per_s)
    return replace(_judged(terms, gain_per_s - terms.standing_per_s(joule_cost), best), why=_DRAWN_OUT)


_DRAWN_OUT = (
    " The price is below the cost above idle, so the longer the bag takes the less is lost per second: without a"
    " deadline it ends when its last machine is done, and one machine is kept busy for as long as that helps."
)


def _judged(terms: ProfitTerms, bound_per_s: float, outcome: ProfitOutcome) -> Profit:
    """The verdict on an allocation that is in time."""
    market, rounding = terms.market, ROUNDING * terms.market.price / outcome.period_s
    verdict: Verdict = "loss under agreement"
    if abs(outcome.profit_per_s) <= rounding:
        verdict = "break-even"
    elif outcome.profit_per_s > 0:
        verdict = "profit"
    elif outcome.profit_per_s > -market.depreciation_per_s:
        verdict = "covers part of the depreciation"
    elif not market.must_run:
        why = f"no allocation found pays, though tasks divided at will could earn {bound_per_s:.6g} per second"
        return _stands("better not to run", market, bound_per_s, why)
    return _runs(verdict, terms, bound_per_s, outcome)


def _missing(terms: ProfitTerms, bound_per_s: float, outcome: ProfitOutcome) -> Profit:
    """What happens to a bag whose best allocation is late: it runs only if it must."""
    could = "though tasks divided at will could be in time"
    why = f"the best one is {units.duration(outcome.late_s)} late, "
    why += could if bound_per_s > -math.inf else _what_is_infeasible(terms)
    if not terms.market.must_run:
        return _stands("deadline missed", terms.market, bound_per_s, why)
    return replace(_runs("deadline missed", terms, bound_per_s, outcome), why=why)


def _runs(verdict: Verdict, terms: ProfitTerms, bound_per_s: float, outcome: ProfitOutcome) -> Profit:
    """The bag runs as found."""
    period_s, wait_s = outcome.period_s, outcome.period_s - outcome.makespan_s
    energy_j = terms.market.pue * (outcome.extra_j + terms.bag.total_idle_w * period_s)
    found = (outcome.allocation, outcome.profit_per_s, bound_per_s)
    return Profit(verdict, *found, energy_j, period_s, wait_s, outcome.late_s, terms.market.price / period_s)


def _stands(verdict: Verdict, market: Market, bound_per_s: float, why: str) -> Profit:
    """Nothing runs; machines are switched off and lose nothing but their depreciation."""
    return Profit(verdict, None, 0.0 - market.depreciation_per_s, bound_per_s, why=why)


def _why_not(bound_per_s: float, market: Market) -> str:
    lost = -bound_per_s - market.depreciation_per_s
    return f"every schedule loses at least {lost:.6g} per second more than machines that are switched off"


def _what_is_infeasible(terms: ProfitTerms) -> str:
    """By how much the deadline is too early, and whether the power cap has a part in it."""
    soonest_s, deadline_s = terms.soonest_s, terms.market.deadline_s
    why = " under the power cap" if soonest_s > terms.front.least_makespan_s * (1 + 1e-9) else ""
    late = units.duration(soonest_s - deadline_s)
    return f"no schedule{why} is done in less than {units.duration(soonest_s)}, {late} after the deadline"


def _without_end(terms: ProfitTerms) -> Problem:
    price = f"at the price {terms.market.price:g} a bag that must run loses the less per second, the longer it takes"
    return Problem("market.deadline_s", f"found none, and {price}", "must be finite with costs by hour")


@dataclass(frozen=True, eq=False)
class ProfitSweep(Visible, looks="bags"):
    """The best divided schedule for each price: a bound on the profit, and where it lies.

    `pareto_per_s` is the most that schedules earn which nothing beats in both energy and makespan. Where a price is
    so low that nothing is best to be done, the makespan is infinite and the energy that of idle machines: infinite
    too, or 0 where they draw none. Energy is the facility's.
    """

    price: Floats
    profit_per_s: Floats
    makespan_s: Floats
    energy_j: Floats
    pareto_per_s: Floats

    def __post_init__(self) -> None:
        freeze_fields(self, dict.fromkeys(self.__dataclass_fields__, np.float64))


def profit_sweep(front: BoundFront, market: Market, prices: ArrayLike) -> ProfitSweep:
    """The best divided schedule for each of many prices, from one bound front; the market's own price is not used.

    Every price is taken as if the bag must run. Raises InputError where the market leaves no schedule at all.
    """
    wanted = np.atleast_1d(np.asarray(prices, np.float64))
    terms = ProfitTerms(front.bag, replace(market, price=1.0, must_run=True), front)
    rows = [_swept(terms.at(float(price))) for price in wanted]
    return ProfitSweep(wanted, *np.array(rows).T)


def _swept(terms: ProfitTerms) -> tuple[float, float, float, float]:
    bound = terms.bound()
    if bound is None:
        raise InputError(Problem("market.deadline_s", _what_is_infeasible(terms), advice="give it more time"))
    bound_per_s, optimum = bound
    power_w = terms.market.pue * (optimum.extra_w + terms.bag.total_idle_w)
    energy_j = power_w * optimum.makespan_s if power_w > 0 else 0.0
    return bound_per_s, optimum.makespan_s, energy_j, _best_on_pareto(terms)


def _best_on_pareto(terms: ProfitTerms) -> float:
    """The most that the energy/makespan front earns within the limits; -inf where nothing on it keeps them.

    It is at a vertex, or where the power cap or the deadline crosses the front; with costs by hour it may be
    anywhere, and is looked for at many makespans.
    """
    front, market = terms.front, terms.market
    spans, extra_j = front.makespan_s[front.pareto], front.extra_j[front.pareto]
    least_s, most_s = max(float(spans[-1]), terms.soonest_s), min(float(spans[0]), market.deadline_s)
    if least_s > most_s * (1 + _SAME):
        return -math.inf
    tried = spans if market.cost_by_hour is None else np.append(spans, np.geomspace(least_s, most_s, _MOST_TRIED))
    at_s = np.unique(np.clip(tried, min(least_s, most_s), most_s))
    worn = np.array([terms.worn(front.split(k)) for k in range(len(front))])[front.pareto] if market.has_wear else 0.0
    rows = (np.interp(at_s, spans[::-1], np.broadcast_to(of, spans.shape)[::-1]) for of in (extra_j, worn))
    return max(map(terms.profit, at_s.tolist(), *(row.tolist() for row in rows)))


def price_at_ratio(front: BoundFront, market: Market, ratio: float) -> float:
    """The price that is this many times what the least energy of the bag costs (Tarplee's profit ratio)."""
    joule_cost = market.joule_cost(float(front.makespan_s[front.pareto.start]))
    return ratio * joule_cost * front.least_energy_j
