"""Our plan of a facility: configurations of processors by linear programs, rounded to cores, with a proven bound."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.model.air import Air
from joulewise.model.arrays import Bools, Floats
from joulewise.model.facility import Facility, FacilityPlan, FacilityPrices
from joulewise.optimise.facility.bound import bound_per_s
from joulewise.optimise.facility.cooling import RoomCooling, within_limits
from joulewise.optimise.facility.dive import decided, mixes_much
from joulewise.optimise.facility.greedy import plan_greedily
from joulewise.optimise.facility.market import Effort, FacilityMarket
from joulewise.optimise.facility.mixture import (
    Mixture,
    Processors,
    drawn_by,
    handed_out,
    made_plan,
    processors_of,
    regrets,
    single_groups,
    with_patterns,
)
from joulewise.optimise.facility.polish import is_small, polished, rested
from joulewise.optimise.facility.pool import Allowed
from joulewise.optimise.facility.program import LinearisedProgram, NoSolutionError, Solution
from joulewise.optimise.facility.search import FoundPlan, History
from joulewise.units import count, power

_LEVELS = (math.inf, 0.3, 0.1, 0.03, 0.01, 0.003)
_FIRST = Effort(reaches_k=(3.0, 0.5), width=0.05, n_best=8, enough=2e-3, over_k=1e-2, primal=True)
_LATER = Effort(reaches_k=(0.5, 0.2), width=0.01, n_best=7, enough=1e-3, over_k=1e-2, primal=True)
_LAST = Effort(reaches_k=(0.2, 0.0), width=math.inf, n_best=4, enough=math.inf, over_k=1e-7)
_FREE, _FEW = 400, 16
_ROUGH, _EXACT = 1e-3, 1e-7
_NONE = 1e-9
_QUICK = "apart"
_LIGHT = 0.05


@dataclass(frozen=True, eq=False)
class Proven(FoundPlan):
    """A plan with the prices that prove the bound on every plan's co-located reward rate, and that bound."""

    prices: FacilityPrices
    bound_per_s: float


def plan_facility(
    facility: Facility,
    air: Air,
    *,
    gap: float = 0.002,
    seconds: float = math.inf,
    on_plan: Callable[[float, float], None] | None = None,
) -> Proven:
    """The plan of most co-located reward that is found before its gap to the bound is small enough, or time is up.

    `on_plan` gets the rate of each better plan and the bound. Raises InputError where the limits leave no plan.
    """
    planner = _Planner(facility, air, time.perf_counter(), seconds, on_plan)
    try:
        return planner.planned(gap)
    except NoSolutionError:
        raise InputError(*_no_plan(facility, air)) from None


class _Planner:
    """Finer and finer groups of nodes; after each level a plan and a bound, of which the best are kept."""

    def __init__(
        self,
        facility: Facility,
        air: Air,
        start_s: float,
        seconds: float,
        on_plan: Callable[[float, float], None] | None,
    ) -> None:
        self.facility, self.air, self.seconds, self.history = facility, air, seconds, History(start_s)
        self.on_plan = on_plan or (lambda _rate, _bound: None)
        self.processors: Processors = processors_of(facility)
        self.market = FacilityMarket(facility, air, self.is_late)
        self.bound_per_s, self.prices = facility.tasks.most_reward_per_s, _no_prices(facility)
        self.best: FacilityPlan | None = None

    def is_late(self) -> bool:
        """Whether time is up."""
        return time.perf_counter() - self.history.start_s > self.seconds

    def planned(self, gap: float) -> Proven:
        """A quick plan first, and then level by level until the gap is small enough."""
        with suppress(InputError):  # the limits may leave no plan with one supply for all
            self._keep(plan_greedily(self.facility, self.air, _QUICK).plan)
        self._keep(_at_rest(self.facility, self.market.common_supply_c(self.facility.overhead_w)))
        why = "gap"
        try:
            if not self._is_near(gap):
                why = self._refined(gap)
        except NoSolutionError:
            why = "done"
            if self.best is None:
                raise
        assert self.best is not None
        return Proven(self.best, tuple(self.history.rows), why, self.prices, self.bound_per_s)

    def _refined(self, gap: float) -> str:
        """Level by level; why it ended."""
        solution = self.market.first_look()
        for by in _LEVELS:
            groups = self.market.grouped(solution, by)
            program = LinearisedProgram(self.facility, self.air, groups, self.market.at_rest, _ROUGH)
            solution = self.market.settle(program, solution, _LATER if math.isfinite(by) else _FIRST)
            self._prove(solution.prices)
            for plan in self._plans(program, solution):
                self._keep(plan)
                if self._is_near(gap):
                    return "gap"
            if self.is_late():
                return "time"
        if self.best is None:
            raise NoSolutionError("no plan keeps the limits")
        if is_small(self.facility):
            self._polish(self.best, gap)
        return "gap" if self._is_near(gap) else "done"

    def _polish(self, plan: FacilityPlan, gap: float) -> None:
        """Polish the best plan of all levels, and then what it becomes with each core at rest, one after the other."""
        self._keep(polished(self.market.cooling, plan, self.is_late))
        assert self.best is not None
        for start in rested(self.best):
            if self._is_near(gap) or self.is_late():
                break
            self._keep(polished(self.market.cooling, start, self.is_late))

    def _is_near(self, gap: float) -> bool:
        """Whether the best plan is near enough to the bound."""
        return self.history.highest >= self.bound_per_s * (1.0 - gap)

    def _prove(self, prices: FacilityPrices) -> None:
        """Keep the prices if they prove a lower bound."""
        bound = bound_per_s(self.facility, self.air, self.market.pool.curves(prices.task), prices)
        if bound < self.bound_per_s:
            self.bound_per_s, self.prices = bound, prices

    def _keep(self, plan: FacilityPlan) -> None:
        """Keep a plan if it earns more and keeps the limits."""
        kept = within_limits(self.market.cooling, plan)
        if kept is None:
            return
        earned = kept[1].slowed_reward_per_s
        if earned > self.history.highest:
            self.best = kept[0]
            self.history.note(earned)
            self.on_plan(earned, self.bound_per_s)

    def _plans(self, program: LinearisedProgram, solution: Solution) -> Iterator[FacilityPlan]:
        """Cores for the shares of groups, in several ways of which any may win.

        In a small room processors may blend patterns; where many would mix them, they are decided step by step too.
        """
        price = self.market.watt_price(solution.prices, solution.supply_c)
        mixture = handed_out(self.market.pool, self.processors, program, solution, price)
        yield self._plan(mixture, solution, solution.prices, price)
        if len(self.processors) <= _FEW:
            yield made_plan(self.facility, self.market.pool, self.processors, mixture, solution.supply_c, blends=True)
        if mixes_much(self.market, self.processors, mixture) and not self.is_late():
            with suppress(NoSolutionError):
                yield self._plan(*decided(self.market, self.processors, mixture, solution), solution.prices, price)

    def _plan(self, mixture: Mixture, solution: Solution, prices: FacilityPrices, price: Floats) -> FacilityPlan:
        """A pattern for each processor, and then the best with those patterns; `price` is that of a watt by node."""
        pool, processors = self.market.pool, self.processors
        is_light = prices.cap * self.facility.cap_w < _LIGHT * self.facility.tasks.most_reward_per_s
        mixture, allowed = with_patterns(pool, processors, mixture, prices.task, is_light)
        with suppress(NoSolutionError):  # with the others as they are, no choice may keep the limits: then none is made
            is_free = self._free(mixture, prices.task, price)
            mixture, solution = self._chosen_again(mixture, is_free, solution, allowed)
        return made_plan(self.facility, pool, processors, mixture, solution.supply_c)

    def _free(self, mixture: Mixture, task_price: Floats, watt_price: Floats) -> Bools:
        """The processors that may choose again: mixed ones, those that lose most, and those that lose least by it."""
        lost, to_lose = regrets(self.market.pool, self.processors, mixture, task_price, watt_price)
        is_free = mixture.is_mixed(len(self.processors))
        more = max(_FREE - int(is_free.sum()), _FREE // 2) // 2
        is_free[np.argsort(-lost, kind="stable")[:more]] = True
        is_free[np.argsort(to_lose, kind="stable")[:more]] = True
        return is_free

    def _chosen_again(
        self, mixture: Mixture, is_free: Bools, start: Solution, allowed: Allowed
    ) -> tuple[Mixture, Solution]:
        """The best for free processors, within their patterns and with all the others as they are."""
        pool, free = self.market.pool, np.flatnonzero(is_free)
        fixed = mixture.taken(~is_free[mixture.processor])
        background = drawn_by(self.facility, pool, self.processors, fixed)
        groups = single_groups(self.facility, self.processors, free)
        program = LinearisedProgram(self.facility, self.air, groups, background, _EXACT)
        start = replace(start, node_w=drawn_by(self.facility, pool, self.processors, mixture).node_w)
        solution = self.market.settle(program, start, _LAST, lambda k, asked: allowed(k, free[asked]))
        used = solution.x > _NONE
        chosen = Mixture(free[program.pairs[0, used]], program.pairs[1, used], solution.x[used])
        columns = (np.concatenate(pair) for pair in zip(vars(fixed).values(), vars(chosen).values()))
        return Mixture(*columns), solution


def _no_prices(facility: Facility) -> FacilityPrices:
    """Prices that prove no more than that no more tasks can be done than arrive."""
    return FacilityPrices(np.zeros(facility.tasks.n_types), 0.0, np.zeros(facility.n_nodes), facility.room.hottest_c)


def _at_rest(facility: Facility, supply_c: Floats) -> FacilityPlan:
    shape = facility.n_cores, facility.tasks.n_types
    return FacilityPlan(np.zeros(shape), np.zeros(shape, np.int8), supply_c)


def _no_plan(facility: Facility, air: Air) -> list[Problem]:
    """Why there is no plan: nodes too hot, or the cap too low, even with all cores at rest."""
    room, at_rest_w = facility.room, facility.overhead_w
    inlet_c, _ = air.inlets_c(at_rest_w, room.coldest_c)
    hot = np.flatnonzero(inlet_c > room.redline_c)
    if hot.size:
        worst = int(hot[np.argmax((inlet_c - room.redline_c)[hot])])
        name, too_hot = room.node_names[worst], count(hot.size, "node")
        found = f"found {room.redline_c[worst]:.4g} °C at node {name}, one of {too_hot} that are too hot"
        allowed = f"must be {inlet_c[worst]:.4g} °C or more: its inlet with all cores at rest and the coldest supplies"
        return [Problem("redlines", found, allowed, "raise the redline, let CRAC units blow colder, or remove nodes")]
    least_w = least_cap_w(facility, air)
    found = f"found {power(facility.cap_w)}"
    allowed = f"must be {power(least_w)} or more: all nodes with their cores at rest, and their cooling with one supply"
    return [Problem("power cap", found, allowed, "raise the cap, or remove nodes")]


def least_cap_w(facility: Facility, air: Air) -> float:
    """What nodes with all cores at rest and their cooling draw, with the cheapest supply for all units."""
    return RoomCooling(facility, air).cool(facility.overhead_w).total_w
