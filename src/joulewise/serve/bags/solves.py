"""The most profit of a bag solved again under other terms; runs in a worker of the desk, where bounds are kept."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.serve import solving

if TYPE_CHECKING:
    from joulewise.model.bag import Bag
    from joulewise.optimise.bags.bound import BoundFront
    from joulewise.optimise.bags.market import Market
    from joulewise.study.bags.profit import ProfitParameters
    from joulewise.study.bags.world import BagWorld

_KWH_J = 3.6e6
_MOST_VERTICES = 120
"""So many vertices of a bound are drawn."""


@dataclass(frozen=True)
class Terms:
    """Terms in place of those of a study: what is None stays.

    `cost` is that of a kWh, or, with a tariff, the part of it; `idle` the part of the idle power; `counts` the machines
    by type.
    """

    price: float | None = None
    cost: float | None = None
    cap_w: float | None = None
    pue: float | None = None
    idle: float | None = None
    counts: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Usual:
    """The terms of a study's own point, and what sliders need to know of it."""

    terms: Terms
    machine_types: tuple[str, ...]
    has_tariff: bool
    has_idle: bool
    full_w: float
    unit: str


@dataclass(frozen=True)
class Earned:
    """What a bag earns at most under terms, with its bound, and what it takes."""

    verdict: str
    sentence: str
    profit_per_s: float
    bound_per_s: float
    gap: float
    income_per_s: float
    energy_cost_per_s: float
    energy_j: float
    makespan_s: float
    wait_s: float
    mean_power_w: float
    cap_w: float
    tasks: tuple[int, ...]
    busy: tuple[float, ...]
    front: tuple[tuple[float, float], ...]
    optimum: tuple[float, float]

    @property
    def runs(self) -> bool:
        """Whether the bag is run."""
        return self.makespan_s > 0


def usual(asked: solving.Question) -> Usual:
    """The terms of a point of a study."""
    world = _world(asked)[0]
    system, market = world.bag.system, _market(asked)
    assert system.power_w is not None
    cap_w = market.power_cap_w if math.isfinite(market.power_cap_w) else None
    has_tariff = market.cost_by_hour is not None
    cost = 1.0 if has_tariff else float(market.cost_per_j or 0.0) * _KWH_J
    has_idle = system.standby is not None and bool((system.standby.idle_w > 0).any())
    terms = Terms(market.price, cost, cap_w, market.pue, 1.0 if has_idle else None, tuple(system.counts.tolist()))
    possible = np.isfinite(system.etc_s)
    most_w = np.where(possible, system.power_w, 0.0).max(axis=(0, 2))
    return Usual(
        terms, system.machine_types, has_tariff, has_idle, float(system.counts @ most_w), world.supply.tariff_unit
    )


def earned_by(asked: solving.Question, every: tuple[Terms, ...]) -> tuple[Earned | InputError, ...]:
    """The most profit under each of several terms, or why there is none; asked at once, to wait once."""
    return tuple(_tried(asked, terms) for terms in every)


def _tried(asked: solving.Question, terms: Terms) -> Earned | InputError:
    try:
        return earned(asked, terms)
    except InputError as error:
        return error


@lru_cache(maxsize=256)
def earned(asked: solving.Question, terms: Terms) -> Earned:
    """The most profit of a point of a study under other terms; InputError where there is no such bag or market."""
    from joulewise.optimise.bags.profit import most_profit, profit_sweep

    _, p = _world(asked)
    bag, front = _front(asked, terms.counts, 1.0 if terms.idle is None else terms.idle)
    market = _changed(_market(asked), terms)
    profit = most_profit(bag, market, p.recovery, front)  # type: ignore[arg-type]
    runs = profit.allocation is not None
    try:
        swept = profit_sweep(front, market, [market.price])
        optimum = (float(swept.energy_j[0]), float(swept.makespan_s[0]))
    except InputError:
        optimum = (math.nan, math.nan)
    n_types = bag.system.n_machine_types
    income = market.income / profit.makespan_s if runs else 0.0
    cost = market.joule_cost(profit.makespan_s) / market.pue * profit.mean_power_w if runs else 0.0
    tasks = profit.allocation.split.sum(axis=(0, 2)) if profit.allocation else np.zeros(n_types)
    return Earned(
        profit.verdict, profit.sentence(), profit.profit_per_s, profit.bound_per_s, profit.gap, income, cost,
        profit.energy_j, profit.makespan_s, profit.wait_s, profit.mean_power_w, market.power_cap_w,
        tuple(int(n) for n in tasks), _busy(bag, profit.allocation), _drawn(front, market.pue), optimum,
    )  # fmt: skip


def _busy(bag: Bag, allocation: Any) -> tuple[float, ...]:
    """Which part of the makespan the machines of each type compute, on average."""
    if allocation is None:
        return (0.0,) * bag.system.n_machine_types
    by_type = np.bincount(bag.system.machine_type, allocation.busy_s, bag.system.n_machine_types)
    return tuple((by_type / np.maximum(bag.system.counts, 1) / allocation.makespan_s).tolist())


def _drawn(front: BoundFront, pue: float) -> tuple[tuple[float, float], ...]:
    """The bound of energy at the meter and makespan, as points of a line."""
    energy_j, makespan_s = pue * front.energy_j[front.pareto], front.makespan_s[front.pareto]
    step = max(1, -(-energy_j.size // _MOST_VERTICES))
    chosen = np.unique(np.append(np.arange(0, energy_j.size, step), energy_j.size - 1))
    return tuple(zip(energy_j[chosen].tolist(), makespan_s[chosen].tolist(), strict=True))


def _changed(market: Market, terms: Terms) -> Market:
    new: dict[str, Any] = {"price": terms.price, "power_cap_w": terms.cap_w, "pue": terms.pue}
    if terms.cost is not None and market.cost_by_hour is not None:
        new["cost_by_hour"] = market.cost_by_hour * terms.cost
    elif terms.cost is not None:
        new["cost_per_j"] = terms.cost / _KWH_J
    return dataclasses.replace(market, **{name: value for name, value in new.items() if value is not None})


def _world(asked: solving.Question) -> tuple[BagWorld, ProfitParameters]:
    _, point = solving.point_of(asked)
    return solving.world_of(asked, point.world), point.decision.parameters


@lru_cache(maxsize=32)
def _market(asked: solving.Question) -> Market:
    from joulewise.study.bags.profit import market_of

    world, p = _world(asked)
    return market_of(world, p, _front(asked, None, 1.0)[1])


@lru_cache(maxsize=64)
def _front(asked: solving.Question, counts: tuple[int, ...] | None, idle: float) -> tuple[Bag, BoundFront]:
    """The bag with other machines, and its bound."""
    from joulewise.optimise.bags.bound import bound_front

    bag = _world(asked)[0].bag
    system = bag.system
    if counts is not None:
        if not sum(counts):
            raise InputError(Problem("machines", "found none", "there must be one at least"))
        system = dataclasses.replace(system, counts=np.array(counts))
    if idle != 1.0 and system.standby is not None:
        idle_w = system.standby.idle_w * idle
        standby = dataclasses.replace(system.standby, idle_w=idle_w, sleep_w=np.minimum(system.standby.sleep_w, idle_w))
        system = dataclasses.replace(system, standby=standby)
    bag = dataclasses.replace(bag, system=system)
    return bag, bound_front(bag)
