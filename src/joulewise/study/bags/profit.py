"""Studies of the most profit that a bag earns: the market of a study, what comes out of it, and how it is judged."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import numpy as np
from pydantic import Field

from joulewise import units
from joulewise.errors import InputError, Problem, raise_if_any, unknown_name
from joulewise.study.bags import tables as bag_tables
from joulewise.study.bags.columns import PROFIT_COLUMNS
from joulewise.study.bags.templates import PROFIT_TEMPLATE
from joulewise.study.bags.world import (
    BagKind,
    BagWorld,
    bag_columns,
    cost_problems,
    raise_if_broken,
    tiny_bag,
    write_certificate,
)
from joulewise.study.kinds.case import Case, Outcome
from joulewise.study.searches.agreement import differs
from joulewise.study.searches.judging import place_of
from joulewise.study.spec.column import COUNTS, FRONTS, MACHINES
from joulewise.study.spec.parameters import OneOf, Thresholds
from joulewise.study.spec.parts import Part
from joulewise.study.spec.run import Run
from joulewise.study.spec.source import Source
from joulewise.study.store.store import Store, Tables
from joulewise.worlds.parameters import explained

if TYPE_CHECKING:
    import polars as pl

    from joulewise.model.bag import Bag, BagAllocation
    from joulewise.optimise.bags.bound import BoundFront
    from joulewise.optimise.bags.market import Market
    from joulewise.optimise.bags.profit import Profit, RecoveryKind

_KWH_J, _HOUR_S = 3.6e6, 3600.0
_SAME = 1e-9
_BEYOND = 1.25
"""How much longer than its optimum and its front the region of a bag is drawn."""
_RUN_S = 0.035
_WAIT_S = 1e-3
"""Waits that are worth telling of are longer than rounding makes them."""

RECOVERIES = {"one": "From the optimum", "best": "Best of many"}
"""Every value of `optimise.recovery` with its title."""

_PLACES = {
    "market.power_cap": "supply.power_cap",
    "market.power_cap_w": "supply.power_cap",
    "market.pue": "supply.pue",
    "market.cost_by_hour": "supply.tariff",
    "market.cost_per_j": "optimise.cost_per_kwh",
    "market.deadline_s": "optimise.deadline",
    "market.price": "optimise.price",
    "market.overhead": "optimise.overhead",
    "market.wear": "optimise.wear_per_hour",
    "market.wear_per_s": "optimise.wear_per_hour",
    "market.depreciation_per_s": "optimise.depreciation_per_hour",
}
"""Where a study file has what the market calls otherwise."""


@dataclass(frozen=True)
class ProfitParameters:
    """What a bag earns and costs, and how its allocation is made."""

    price: Annotated[float | None, Field(gt=0)] = explained(None, "what the customer pays for the bag")
    profit_ratio: Annotated[float | None, Field(gt=0)] = explained(
        None, "the price over the least cost of the bag's energy, in place of price"
    )
    cost_per_kwh: Annotated[float | None, Field(gt=0)] = explained(
        None, "what a kWh costs; left out: supply.tariff says it by the hour"
    )
    recovery: Annotated[str, OneOf(tuple(RECOVERIES))] = explained(
        "best", "whole allocations are made at the optimum of the bound alone, or at many points to keep the best"
    )
    deadline_s: Annotated[float | None, Field(gt=0)] = explained(
        None, "time by which the bag must be done; left out: none"
    )
    overhead: Annotated[float, Field(ge=0)] = explained(0.0, "what it costs to handle the bag, however it is run")
    wear_per_hour: Thresholds = explained((), "what an hour of computing wears off a machine, by machine type")
    depreciation_per_hour: Annotated[float, Field(ge=0)] = explained(
        0.0, "what all machines together lose in an hour, computing or not"
    )
    must_run: bool = explained(False, "whether an agreement requires the bag to be run even at a loss")

    def __post_init__(self) -> None:
        raise_if_any(_profit_problems(self))


def _profit_problems(p: ProfitParameters) -> Iterator[Problem]:
    if (p.price is None) == (p.profit_ratio is None):
        found = "found neither price nor profit_ratio" if p.price is None else "found profit_ratio as well"
        yield Problem("optimise.price", found, "must be exactly one of the two")


class ProfitKind(BagKind):
    """The most profit per second."""

    name = "profit"
    summary = "a bag of tasks, and the most profit per second that it can earn"
    decision = Source("profit", "the most profit per second (Tarplee IV)", ProfitParameters)
    main = "recovery"
    title = "profit per second"
    columns = PROFIT_COLUMNS
    template = PROFIT_TEMPLATE
    has_best = False
    supply_keys = ("power_cap_w", "pue", "tariff", "tariff_column", "tariff_unit", "begins_at")

    def check_world(self, world: BagWorld, sought: Sequence[ProfitParameters]) -> None:
        """InputError when one of the markets is none, or its power cap leaves nothing to compute with."""
        from joulewise.optimise.bags.bound import bound_front

        problems: list[Problem] = []
        for p in sought:
            try:
                with _at_study_keys():
                    market = _market(world, p)
                    market.extra_power_w(world.bag)
                    if p.profit_ratio is not None and world.supply.tariff is not None and not world.supply.tariff.all():
                        _priced(market, p.profit_ratio, bound_front(world.bag))
            except InputError as error:
                problems += error.problems
        raise_if_any(dict.fromkeys(problems))

    def titles(self, decisions: Sequence[Part], _folder: Path) -> dict[str, dict[str, str]]:
        """How reports are to call the ways of recovery."""
        names = dict.fromkeys(decision.parameters.recovery for decision in decisions)
        return {name: {"title": RECOVERIES[name], "mode": ""} for name in names}

    def seconds(self, missing: Sequence[Run], _store: Store, _folder: Path) -> float:
        """The time of one process for the runs."""
        return _RUN_S * len(missing)

    def judging(self, runs: Sequence[Run], _folder: Path) -> float:
        """The time of one process to judge runs: each is solved once more for its prices."""
        return _RUN_S * len(runs)

    def compute(self, case: Case) -> Outcome:
        """Find the schedule that earns most; JoulewiseError when its allocation is none of the bag."""
        from joulewise.optimise.bags.bound import bound_front

        _warm_up(case.decision.recovery)
        began_s = time.perf_counter()
        bound = bound_front(case.world.bag)
        market, profit = _solved(case.world, case.decision, bound)
        solve_s = time.perf_counter() - began_s
        raise_if_broken(_allocations(profit))
        write_certificate(case, bound)
        columns = {**_columns(market, bound, profit), "reason": profit.why.strip() or None, "solve_s": solve_s}
        return Outcome(columns, lambda: _tables(market, bound, profit))

    def judge(self, case: Case, row: Mapping[str, Any], tables: Tables) -> Iterator[str]:
        """What does not hold of what the allocation earns, and of the prices that prove that no other earns more."""
        from joulewise.check.bags.allocation import certified_profit
        from joulewise.optimise.bags.bound import bound_front

        bag, bound = case.world.bag, bound_front(case.world.bag)
        market, profit = _solved(case.world, case.decision, bound)
        unit = abs(market.price) / bound.least_makespan_s or 1.0  # profits may be tiny in the currency of a study
        for allocation in bag_tables.allocations_of(bag, tables[COUNTS]):
            earned = _earned(market, allocation, row["makespan_s"])
            yield from differs("runs: profit_per_s, of the price", row["profit_per_s"] / unit, earned / unit)
            yield from differs("runs: makespan_s - wait_s", row["makespan_s"] - row["wait_s"], allocation.makespan_s)
        if profit.certificate is not None:
            proven = certified_profit(bag, market, *profit.certificate)
            bound_per_s = row["profit_bound_per_s"]
            yield from differs("bounds: profit proven by prices, of the price", bound_per_s / unit, proven / unit)

    def sentences(self, runs: pl.DataFrame, axes: Sequence[str]) -> Iterator[str]:
        """What was found, in words: how the verdicts are spread and why, and the run that earns most."""
        if "verdict" not in runs.columns:
            return
        done = runs.drop_nulls("verdict")
        counted = done.group_by("verdict", maintain_order=True).len()
        yield "Verdicts: " + ", ".join(f"{verdict} ({n} of {runs.height})" for verdict, n in counted.iter_rows()) + "."
        yield from _reasons(done, axes)
        ran = done.drop_nulls("makespan_s") if "makespan_s" in runs.columns else runs.clear()
        if not ran.is_empty():
            yield _most(ran, axes)
            yield from _waiting(ran, axes)


@contextmanager
def _at_study_keys() -> Iterator[None]:
    """Problems of a market under the names of the study file."""
    try:
        yield
    except InputError as error:
        problems = (dataclasses.replace(found, where=_PLACES.get(found.where, found.where)) for found in error.problems)
        raise InputError(*problems) from None


def _solved(world: BagWorld, p: ProfitParameters, bound: BoundFront) -> tuple[Market, Profit]:
    """The market of a study and what the bag comes to in it; InputError under the names of the study file."""
    from joulewise.optimise.bags.profit import most_profit

    with _at_study_keys():
        market = market_of(world, p, bound)
        return market, most_profit(world.bag, market, cast("RecoveryKind", p.recovery), bound)


def market_of(world: BagWorld, p: ProfitParameters, bound: BoundFront) -> Market:
    """The market of a study with its price; InputError under the names of the study file."""
    with _at_study_keys():
        market = _market(world, p)
        return market if p.profit_ratio is None else _priced(market, p.profit_ratio, bound)


def _priced(market: Market, ratio: float, bound: BoundFront) -> Market:
    """The market with a price of this many times the least cost of energy; InputError where that is nothing."""
    from joulewise.optimise.bags.profit import price_at_ratio

    price = price_at_ratio(bound, market, ratio)
    if price > 0:
        return dataclasses.replace(market, price=price)
    found = f"found {ratio:g}, and the energy of the bag costs nothing"
    raise InputError(Problem("optimise.profit_ratio", found, "needs costs that are above 0", "give price instead"))


def _market(world: BagWorld, p: ProfitParameters) -> Market:
    """The market of a study; its price is 1 where the study gives a ratio."""
    from joulewise.optimise.bags.market import Market

    supply = world.supply
    raise_if_any(_market_problems(world, p))
    return Market(
        price=1.0 if p.price is None else p.price,
        cost_per_j=None if p.cost_per_kwh is None else p.cost_per_kwh / _KWH_J,
        cost_by_hour=None if supply.tariff is None else supply.tariff / _KWH_J,
        power_cap_w=math.inf if supply.cap_w is None else float(supply.cap_w[0]),
        pue=supply.pue,
        overhead=p.overhead,
        wear_per_s=_wear_per_s(world.bag, p),
        depreciation_per_s=p.depreciation_per_hour / _HOUR_S,
        deadline_s=math.inf if p.deadline_s is None else p.deadline_s,
        must_run=p.must_run,
    )


def _wear_per_s(bag: Bag, p: ProfitParameters) -> Any:
    wear = dict(p.wear_per_hour)
    return np.array([wear.get(name, 0.0) / _HOUR_S for name in bag.system.machine_types])


def _market_problems(world: BagWorld, p: ProfitParameters) -> Iterator[Problem]:
    yield from cost_problems(world.supply, p.cost_per_kwh)
    names = world.bag.system.machine_types
    yield from (unknown_name("optimise.wear_per_hour", name, names) for name, _ in p.wear_per_hour if name not in names)


@cache
def _warm_up(recovery: str) -> None:
    """Load what a recovery needs, once in a process, so that times are those of searches alone."""
    from joulewise.optimise.bags.market import Market
    from joulewise.optimise.bags.profit import most_profit

    most_profit(tiny_bag(), Market(price=1.0, cost_per_j=0.0), cast("RecoveryKind", recovery))


def _allocations(profit: Profit) -> list[BagAllocation]:
    return [] if profit.allocation is None else [profit.allocation]


def _columns(market: Market, bound: BoundFront, profit: Profit) -> dict[str, Any]:
    runs = profit.allocation is not None
    knee_j, knee_s = (points := bag_tables.bound_points(bound))[bag_tables.knee_of(points)]
    cost = market.joule_cost(profit.makespan_s if runs else bound.least_makespan_s) / market.pue
    return {
        **bag_columns(bound),
        "energy_bound_j": market.pue * bound.least_energy_j,
        "price": market.price,
        "profit_ratio": _profit_ratio(market, bound),
        "cost_per_kwh": cost * _KWH_J,
        "profit_per_s": profit.profit_per_s,
        "profit_bound_per_s": _finite(profit.bound_per_s),
        "gap_percent": 100 * profit.gap,
        **_schedule_columns(profit),
        **_optimum_columns(market, bound),
        "knee_energy_j": market.pue * float(knee_j),
        "knee_makespan_s": float(knee_s),
        "verdict": profit.verdict,
    }


def _profit_ratio(market: Market, bound: BoundFront) -> float:
    """The price over the cost of the least energy; NaN where that costs nothing."""
    from joulewise.optimise.bags.profit import price_at_ratio

    least_cost = price_at_ratio(bound, market, 1.0)
    return market.price / least_cost if least_cost > 0 else math.nan


def _schedule_columns(profit: Profit) -> dict[str, float]:
    """The columns of the schedule that was found; NaN where nothing runs."""
    values = {
        "profit": profit.profit_per_s * profit.makespan_s,
        "energy_j": profit.energy_j,
        "makespan_s": profit.makespan_s,
        "wait_s": profit.wait_s,
        "mean_power_w": profit.mean_power_w,
    }
    return values if profit.allocation is not None else dict.fromkeys(values, math.nan)


def _optimum(market: Market, bound: BoundFront) -> tuple[float, float, float]:
    """Energy at the meter and makespan of the best divided schedule, and the most that the Pareto front earns."""
    from joulewise.optimise.bags.profit import profit_sweep

    try:
        swept = profit_sweep(bound, market, [market.price])
    except InputError:  # nothing is feasible, as the verdict says
        return math.nan, math.nan, math.nan
    energy_j, makespan_s, pareto_per_s = (
        _finite(float(values[0])) for values in (swept.energy_j, swept.makespan_s, swept.pareto_per_s)
    )
    return (energy_j if math.isfinite(makespan_s) else math.nan), makespan_s, pareto_per_s


def _optimum_columns(market: Market, bound: BoundFront) -> dict[str, float]:
    energy_j, makespan_s, pareto_per_s = _optimum(market, bound)
    longest_s = float(bound.makespan_s[bound.pareto].max())
    on_front = math.nan
    if math.isfinite(makespan_s):
        least_j = market.pue * bound.energy_at(makespan_s * (1 + _SAME))
        on_front = 100.0 * (makespan_s <= longest_s * (1 + _SAME) and energy_j <= least_j * (1 + _SAME))
    return {
        "optimum_energy_j": energy_j,
        "optimum_makespan_s": makespan_s,
        "on_front_percent": on_front,
        "pareto_profit_per_s": pareto_per_s,
    }


def _finite(value: float) -> float:
    return value if math.isfinite(value) else math.nan


def _tables(market: Market, bound: BoundFront, profit: Profit) -> Tables:
    import polars as pl

    from joulewise.optimise.bags.bound import region

    energy_j, makespan_s, _ = _optimum(market, bound)
    found_s = profit.makespan_s if profit.allocation is not None else 0.0
    longest_s = _BEYOND * np.nanmax([bound.makespan_s[bound.pareto].max(), makespan_s, found_s])
    pue, per_s = market.pue, profit.profit_per_s
    curves = [bag_tables.curve("region", region(bound.bag, longest_s), pue=pue), bag_tables.bound_curve(bound, pue=pue)]
    if math.isfinite(makespan_s):
        at = np.array([[energy_j / pue, makespan_s]])
        curves.append(bag_tables.curve("optimum", at, pue=pue, profit_per_s=np.array([profit.bound_per_s])))
    if profit.allocation is not None:
        at = np.array([[profit.energy_j / pue, profit.makespan_s]])
        curves.append(bag_tables.curve("allocation", at, bound, pue=pue, profit_per_s=np.array([per_s])))
    allocations = _allocations(profit)
    return {
        FRONTS: pl.concat(curves),
        MACHINES: bag_tables.machines_table(bound.bag, allocations),
        COUNTS: bag_tables.counts_table(bound.bag, allocations),
    }


def _earned(market: Market, allocation: BagAllocation, period_s: float) -> float:
    """What an allocation earns per second if a bag is run every so often."""
    bag = allocation.bag
    idle_j, extra_j = bag.total_idle_w * period_s, allocation.energy_j - bag.total_idle_w * allocation.makespan_s
    energy_cost = market.joule_cost(period_s) * idle_j + market.joule_cost(allocation.makespan_s) * extra_j
    wear_per_s = market.wear_of(bag)[bag.system.machine_type]
    costs = market.overhead + energy_cost + float(allocation.busy_s @ wear_per_s)
    return (market.price - costs) / period_s - market.depreciation_per_s


def _reasons(runs: pl.DataFrame, axes: Sequence[str]) -> Iterator[str]:
    """Why a verdict is what it is, at the first run of each."""
    told = runs.drop_nulls("reason") if "reason" in runs.columns else runs.clear()
    for row in told.unique("verdict", keep="first", maintain_order=True).iter_rows(named=True):
        place = place_of(row, runs, axes)
        yield f"{row['verdict'].capitalize()}{f' at {place}' if place else ''}: {row['reason'].rstrip('.')}."


def _most(ran: pl.DataFrame, axes: Sequence[str]) -> str:
    """The run that earns most, or loses least."""
    best = ran.row(int(ran["profit_per_s"].arg_max() or 0), named=True)
    place = place_of(best, ran, axes)
    word = "most" if best["profit_per_s"] >= 0 else "least loss"
    per_s = f"{best.get('supply.tariff_unit') or ''} per second".strip()
    near = "" if best["gap_percent"] is None else f", within {best['gap_percent']:.2f} % of the proven bound"
    waits = f", {units.duration(best['wait_s'])} of it waiting on purpose" if best["wait_s"] > _WAIT_S else ""
    return (
        f"The {word} is {abs(best['profit_per_s']):.4g} {per_s}{f' (at {place})' if place else ''}{near}: "
        f"{abs(best['profit']):.4g} for the bag, with {units.energy(best['energy_j'])} in "
        f"{units.duration(best['makespan_s'])}{waits}."
    )


def _waiting(ran: pl.DataFrame, axes: Sequence[str]) -> Iterator[str]:
    """Where all machines wait on purpose, if there is more than one run."""
    waits = ran.filter(ran["wait_s"] > _WAIT_S)
    if ran.height > 1 and not waits.is_empty():
        longest = waits.row(int(waits["wait_s"].arg_max() or 0), named=True)
        yield (
            f"In {waits.height} of {ran.height} runs all machines wait on purpose after the last task, to keep the "
            f"power cap or because waiting loses less: up to {units.duration(longest['wait_s'])}, at "
            f"{place_of(longest, ran, axes)}."
        )
