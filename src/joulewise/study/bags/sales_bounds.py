"""The proven bounds of sales of bags: stored once for each world, and judged without solving anything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from joulewise.errors import InputError
from joulewise.optimise.gap import gap_of
from joulewise.study.kinds.case import Case
from joulewise.study.searches.agreement import differs

if TYPE_CHECKING:
    from joulewise.model.arrays import Floats
    from joulewise.optimise.bags.bound import BoundFront
    from joulewise.optimise.bags.pricing import Trade
    from joulewise.optimise.bags.sales_bound import SalesBound

PRICES = "sales-prices"


def name_of(cost_per_kwh: float | None) -> str:
    """How the bounds are proven: prices belong to what energy costs."""
    return PRICES if cost_per_kwh is None else f"{PRICES}-{cost_per_kwh!r}"


class SalesBounds(NamedTuple):
    """The most profit of all, and of those who cannot see worths; and prices that prove the least makespan."""

    seen: SalesBound
    unseen: SalesBound
    makespan_price: Floats

    @property
    def columns(self) -> dict[str, float]:
        return {"profit_bound": self.seen.profit, "unseen_bound": self.unseen.profit}

    def gap_percent(self, profit: float, income: float) -> float:
        """How far a profit is below the most of all; NaN where there is none to be had."""
        return 100 * float(gap_of(self.seen.profit - profit, self.seen.profit, income))

    def as_json(self) -> dict[str, Any]:
        bounds = {"seen": self.seen, "unseen": self.unseen}
        return {
            **{name: {"profit": b.profit, "price": b.machine_price.tolist()} for name, b in bounds.items()},
            "makespan_price": self.makespan_price.tolist(),
        }


def _bounds(stored: dict[str, Any]) -> SalesBounds:
    from joulewise.optimise.bags.sales_bound import SalesBound

    seen, unseen = (
        SalesBound(float(stored[name]["profit"]), np.array(stored[name]["price"], float)) for name in ("seen", "unseen")
    )
    return SalesBounds(seen, unseen, np.array(stored["makespan_price"], float))


def _worths(case: Case, trade: Trade) -> tuple[Floats, Floats]:
    """What bags are worth, and what that counts for one who cannot see it."""
    worth = case.world.customers.worth
    return trade.mean_value * worth, trade.mean_value * trade.law.virtual(worth)


def proven(case: Case, front: BoundFront, trade: Trade) -> SalesBounds:
    """The bounds of a run: stored if there, else found and stored for the other runs on its world."""
    from joulewise.optimise.bags.sales_bound import sales_bound

    run, arrival_s = case.run, case.world.customers.arrival_s
    stored = case.store.read_proof(run.world_key, run.bound, _bounds)
    if stored is not None:
        return stored
    seen, unseen = (sales_bound(front, trade, arrival_s, worth) for worth in _worths(case, trade))
    bounds = SalesBounds(seen, unseen, front.duals(len(front))[1])
    case.store.write_proof(run.world_key, run.bound, bounds.as_json())
    return bounds


def judge(case: Case, front: BoundFront, trade: Trade) -> Iterator[str]:
    """What does not hold of the stored prices: they must prove both bounds and the least makespan."""
    stored = case.store.read_proof(case.run.world_key, case.run.bound, _bounds)
    if stored is None:
        yield "bounds: the proof of the world's bounds is missing"
        return
    try:
        least_s, *profits = _certified(case, trade, stored)
    except InputError as error:
        yield f"bounds: what is stored are no prices of these sales: {error}"
        return
    unit = trade.mean_value
    yield from differs("bounds: the least makespan that prices prove", front.least_makespan_s, least_s)
    for bound, profit in zip((stored.seen, stored.unseen), profits):
        yield from differs("bounds: profit proven by prices, of the mean worth", bound.profit / unit, profit / unit)


def _certified(case: Case, trade: Trade, stored: SalesBounds) -> list[float]:
    """The least makespan and both profits that the stored prices prove."""
    from joulewise.check.bags.sales import certified_makespan, certified_sales

    bag, arrival_s = case.world.bag, case.world.customers.arrival_s.tolist()
    least_s = certified_makespan(bag, stored.makespan_price)
    profits = [
        certified_sales(
            bag, trade.cost_per_j, bound.machine_price, list(zip(arrival_s, worth.tolist())), trade.loss_per_s, least_s
        )
        for bound, worth in zip((stored.seen, stored.unseen), _worths(case, trade))
    ]
    return [least_s, *profits]
