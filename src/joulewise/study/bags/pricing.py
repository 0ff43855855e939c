"""Studies of what a provider earns from customers who come with bags, by how they are asked for a price."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from joulewise.errors import Problem, raise_if_any
from joulewise.study.bags import sales_bounds
from joulewise.study.bags import tables as bag_tables
from joulewise.study.bags.columns import PRICING_COLUMNS
from joulewise.study.bags.sources import CUSTOMERS
from joulewise.study.bags.templates import PRICING_TEMPLATE
from joulewise.study.bags.world import BagKind, BagWorld, bag_columns, cost_problems, raise_if_broken
from joulewise.study.kinds.case import Candidates, Case, Outcome
from joulewise.study.searches.agreement import differs
from joulewise.study.searches.judging import place_of
from joulewise.study.searches.methods import Method, idle_keys
from joulewise.study.spec.column import COUNTS, FRONTS, MACHINES, SALES
from joulewise.study.spec.parameters import OneOf
from joulewise.study.spec.parts import Part, WorldParts
from joulewise.study.spec.run import Run
from joulewise.study.spec.sections import build_supply
from joulewise.study.spec.source import Draw, Source
from joulewise.study.store.store import Store, Tables
from joulewise.worlds.parameters import explained

if TYPE_CHECKING:
    import polars as pl

    from joulewise.model.arrays import Floats
    from joulewise.model.bag import BagAllocation
    from joulewise.model.customers import Customers, Quoting
    from joulewise.optimise.bags.bound import BoundFront
    from joulewise.optimise.bags.pricing import Trade
    from joulewise.simulate.bags.sales import Sales

_KWH_J = 3.6e6
_RUN_S, _STEPS_S, _JUDGE_S = 0.07, 0.25, 0.1  # of one ordinary processor of 2024


def _fixed(trade: Trade, p: PricingParameters, unit: float) -> Quoting:
    from joulewise.optimise.bags.pricing import fixed_price

    assert p.profit_ratio is not None
    return fixed_price(trade, p.profit_ratio * unit)


def _alone(trade: Trade, _p: PricingParameters, _unit: float) -> Quoting:
    from joulewise.optimise.bags.pricing import price_alone

    return price_alone(trade)


def _by_backlog(trade: Trade, _p: PricingParameters, _unit: float) -> Quoting:
    from joulewise.optimise.bags.pricing import price_by_backlog

    return price_by_backlog(trade)


METHODS = {
    "fixed": Method(
        "Fixed price",
        "one price for all, and the schedule that earns most per second with it",
        "Tarplee IV",
        _fixed,
        lambda _p, _n: _RUN_S,
        draws=False,
        keys=("profit_ratio",),
    ),
    "alone": Method(
        "Each alone",
        "the price and schedule of most expected profit from each customer, as if no other came",
        "ours",
        _alone,
        lambda _p, _n: _RUN_S,
        draws=False,
        keys=(),
    ),
    "backlog": Method(
        "By backlog",
        "the same, with what the bag keeps later customers from being worth as a cost",
        "ours, after Tarplee VII",
        _by_backlog,
        lambda _p, _n: _RUN_S + _STEPS_S,
        draws=False,
        keys=(),
    ),
}
"""Every value of `optimise.method` where prices are asked."""


@dataclass(frozen=True)
class PricingParameters:
    """How customers are asked for a price."""

    method: Annotated[str, OneOf(tuple(METHODS))] = explained(
        "backlog", "how prices are made: a name of `joulewise list methods`"
    )
    profit_ratio: Annotated[float | None, Field(gt=0)] = explained(
        None, "the fixed price over the cost of the bag's least energy at the mean tariff (fixed)"
    )
    cost_per_kwh: Annotated[float | None, Field(gt=0)] = explained(
        None, "what a kWh costs; left out: supply.tariff says it by the hour"
    )

    def __post_init__(self) -> None:
        raise_if_any(_ratio_problems(self))


def _ratio_problems(p: PricingParameters) -> Iterator[Problem]:
    if p.method == "fixed" and p.profit_ratio is None:
        yield Problem("optimise.profit_ratio", "found none", 'must be given with method = "fixed"')


@dataclass(frozen=True, eq=False)
class PricingWorld(BagWorld):
    """A bag, what energy costs, and the customers who bring such bags."""

    customers: Customers


@dataclass(frozen=True, eq=False)
class _Shop:
    """All that prices are made of in one world: schedules on offer, what they cost, and who comes."""

    world: PricingWorld
    cost_per_kwh: float | None

    @cached_property
    def front(self) -> BoundFront:
        from joulewise.optimise.bags.bound import bound_front

        return bound_front(self.world.bag)

    @cached_property
    def schedules(self) -> list[BagAllocation]:
        from joulewise.optimise.bags.pricing import schedules_of

        return schedules_of(self.front)

    @cached_property
    def cost_per_j(self) -> Floats:
        """What a joule of the machines costs by the hour, the facility's share included."""
        supply = self.world.supply
        per_kwh = np.array([self.cost_per_kwh]) if supply.tariff is None else supply.tariff
        return np.asarray(supply.pue * per_kwh / _KWH_J, np.float64)

    @cached_property
    def unit(self) -> float:
        """What the least energy of a bag costs at the mean tariff."""
        return self.front.least_energy_j * float(self.cost_per_j.mean())

    @cached_property
    def trade(self) -> Trade:
        from joulewise.optimise.bags.pricing import Trade, extra_j_of

        customers = self.world.customers
        points = [(extra_j_of(allocation), allocation.makespan_s) for allocation in self.schedules]
        return Trade(customers.demand, customers.value_ratio * self.unit, self.cost_per_j, *np.array(points).T)

    @property
    def worth(self) -> Floats:
        return self.trade.mean_value * self.world.customers.worth


class PricingKind(BagKind):
    """Profit from a stream of customers."""

    name = "pricing"
    summary = "customers who come with bags, and what a provider earns by the prices they are asked"
    decision = Source(
        "pricing", "prices for bags that customers bring one after the other (Tarplee VII)", PricingParameters
    )
    main = "method"
    methods = METHODS
    workloads = CUSTOMERS
    title = "profit"
    columns = PRICING_COLUMNS
    template = PRICING_TEMPLATE
    tables = (FRONTS, MACHINES, COUNTS, SALES)
    proven = "seen.profit"
    supply_keys = ("pue", "tariff", "tariff_column", "tariff_unit", "begins_at")

    def bound(self, decision: Part, _said: str) -> str:
        """It is that of prices of machine seconds, which belong to what energy costs."""
        return sales_bounds.name_of(decision.parameters.cost_per_kwh)

    def build_world(self, parts: WorldParts, draw: Draw) -> PricingWorld:
        """The customers and the supply of one trial; InputError when tables do not describe them."""
        customers = self.build_workload(parts.workload, self.build_system(parts, draw), draw)
        return PricingWorld(customers.bag, build_supply(parts.supply, draw), customers)

    def checks(self, asked: Candidates, draw: Draw) -> Iterator[Callable[[], object]]:
        """What must hold before anything is run."""
        parameters = [part.parameters for part in asked.decisions]
        yield lambda: raise_if_any(idle_keys(PricingParameters, parameters, METHODS))
        yield from super().checks(asked, draw)

    def check_world(self, world: Any, sought: Sequence[PricingParameters]) -> None:
        """InputError when energy has no cost, or two, so that no price follows from a ratio."""
        raise_if_any(dict.fromkeys(problem for p in sought for problem in _world_problems(world, p)))

    def seconds(self, missing: Sequence[Run], _store: Store, _folder: Path) -> float:
        """The time of one process for the runs."""
        return sum(METHODS[run.point.decision.parameters.method].seconds(None, 0.0) for run in missing)

    def judging(self, runs: Sequence[Run], _folder: Path) -> float:
        """The time of one process to judge runs, and the bounds of their worlds, which cost nothing beside them."""
        return _JUDGE_S * len(runs)

    def compute(self, case: Case) -> Outcome:
        """Ask every customer; JoulewiseError when a schedule on offer is no allocation of the bag."""
        from joulewise.simulate.bags.sales import sell

        shop, customers = _Shop(case.world, case.decision.cost_per_kwh), case.world.customers
        began_s = time.perf_counter()
        quoting = METHODS[case.decision.method].search(shop.trade, case.decision, shop.unit)
        sales = sell(customers.arrival_s, shop.worth, shop.trade.loss_per_s, shop.trade.makespan_s, quoting)
        solve_s = time.perf_counter() - began_s
        raise_if_broken(shop.schedules)
        bounds = sales_bounds.proven(case, shop.front, shop.trade)
        columns = {**bag_columns(shop.front), **_columns(shop, sales), **bounds.columns}
        gap = bounds.gap_percent(columns["profit"], columns["income"])
        return Outcome({**columns, "gap_percent": gap, "solve_s": solve_s}, lambda: _tables(shop, sales))

    def judge_bound(self, case: Case) -> Iterator[str]:
        """What does not hold of the stored prices that prove the bounds."""
        shop = _Shop(case.world, case.decision.cost_per_kwh)
        return sales_bounds.judge(case, shop.front, shop.trade)

    def judge(self, case: Case, row: Mapping[str, Any], tables: Tables) -> Iterator[str]:
        """What does not hold of the schedules on offer, and of what was bought."""
        from joulewise.check.bags.allocation import check_bag
        from joulewise.check.bags.sales import check_sales, sales_profit

        shop, sales = _Shop(case.world, case.decision.cost_per_kwh), _stored(tables[SALES])
        schedules = bag_tables.allocations_of(case.world.bag, tables[COUNTS])
        yield from (line for allocation in schedules for line in check_bag(allocation))
        if any(not 0 <= sale.schedule < len(schedules) for sale in sales):
            yield "sales: schedule: a bag has a schedule that is not on offer"
            return
        idle_w, makespan_s = case.world.bag.total_idle_w, [allocation.makespan_s for allocation in schedules]
        yield from check_sales(sales, shop.trade.loss_per_s, makespan_s)
        extra_j = [allocation.energy_j - idle_w * allocation.makespan_s for allocation in schedules]
        earned = sales_profit(sales, extra_j, shop.cost_per_j)
        yield from differs("runs: profit, of the mean worth", row["profit"] / shop.unit, earned / shop.unit)

    def sentences(self, runs: pl.DataFrame, axes: Sequence[str]) -> Iterator[str]:
        """What was found, in words: the run that earns most."""
        done = runs.drop_nulls("profit") if "profit" in runs.columns else runs.clear()
        if not done.is_empty():
            best = done.row(int(done["profit"].arg_max() or 0), named=True)
            place = place_of(best, done, [axis for axis in axes if axis != "optimise.method"])
            gap = best["gap_percent"]
            near = "" if gap is None else f", {gap:.1f} % below what even one earns who knows every worth"
            yield (
                f"{METHODS[best['optimise.method']].title}{f' ({place})' if place else ''}: {best['profit']:.4g} from "
                f"{best['sold']:.0f} of {best['customers']:.0f} customers{near}."
            )


def _world_problems(world: PricingWorld, p: PricingParameters) -> Iterator[Problem]:
    problems = list(cost_problems(world.supply, p.cost_per_kwh))
    yield from problems
    if not problems and not _Shop(world, p.cost_per_kwh).unit > 0:
        found = f"found {world.customers.value_ratio:g}, and the energy of the bag costs nothing"
        yield Problem("workload.value_ratio", found, "needs energy that costs something")


def _columns(shop: _Shop, sales: Sales) -> dict[str, Any]:
    """The columns that follow from the sales."""
    bought, trade = sales.is_bought, shop.trade
    cost, income = float(_energy_costs(trade, sales)[bought].sum()), float(sales.price[bought].sum())
    waits_s = (sales.done_s - shop.world.customers.arrival_s)[bought]
    return {
        "customers": bought.size,
        "sold": int(bought.sum()),
        "mean_worth": trade.mean_value,
        "mean_price": float(sales.price[bought].mean()) if bought.any() else math.nan,
        "mean_wait_s": float(waits_s.mean()) if bought.any() else math.nan,
        "sold_j": shop.world.supply.pue * float(trade.extra_j[sales.schedule[bought]].sum()),
        "income": income,
        "energy_cost": cost,
        "profit": income - cost,
    }


def _energy_costs(trade: Trade, sales: Sales) -> Floats:
    """What the energy of each bag costs, if it is bought."""
    by_schedule = trade.energy_costs(sales.start_s)
    return np.asarray(by_schedule[sales.schedule, np.arange(sales.schedule.size)])


def _tables(shop: _Shop, sales: Sales) -> Tables:
    import polars as pl

    points, pue = bag_tables.points_of(shop.schedules), shop.world.supply.pue
    curves = [bag_tables.curve("front", points, shop.front, pue=pue), bag_tables.bound_curve(shop.front, pue=pue)]
    columns = {
        "customer": np.arange(sales.price.size),
        "arrival_s": shop.world.customers.arrival_s,
        "worth": shop.worth,
        **sales._asdict(),
        "energy_cost": _energy_costs(shop.trade, sales),
    }
    return {
        FRONTS: pl.concat(curves),
        MACHINES: bag_tables.machines_table(shop.world.bag, shop.schedules),
        COUNTS: bag_tables.counts_table(shop.world.bag, shop.schedules),
        SALES: pl.DataFrame(columns).with_columns(pl.col("price").replace(math.inf, None)),
    }


def _stored(table: pl.DataFrame) -> list[Any]:
    """The sales that a table describes."""
    import polars as pl

    from joulewise.check.bags.sales import Sale

    priced = table.with_columns(pl.col("price").fill_null(math.inf))
    return [Sale(*row) for row in priced.select(Sale._fields).iter_rows()]
