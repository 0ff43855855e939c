"""The independent validator of sales of bags, and of the prices that prove what no sales earn more than."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from joulewise.check.bags.allocation import cheapest_choices
from joulewise.check.findings import N_SHOWN, RELATIVE_TOLERANCE
from joulewise.errors import InputError, Problem
from joulewise.model import Bag
from joulewise.model.arrays import Floats

_HOUR_S = 3600.0


class Sale(NamedTuple):
    """What one customer was asked for and answered, and the times of the bag if it is bought."""

    arrival_s: float
    worth: float
    price: float
    schedule: int
    start_s: float
    done_s: float
    is_bought: bool


def check_sales(sales: Sequence[Sale], loss_per_s: float, makespan_s: Sequence[float]) -> list[str]:
    """Everything that is wrong with sales, one line each: bags run one after the other, and nobody pays too much."""
    return [line for i, line in enumerate(_broken(sales, loss_per_s, makespan_s)) if i < N_SHOWN]


def _broken(sales: Sequence[Sale], loss_per_s: float, makespan_s: Sequence[float]) -> Iterator[str]:
    free_s = -math.inf
    for number, sale in enumerate(sales):
        start_s = max(sale.arrival_s, free_s)
        done_s = start_s + makespan_s[sale.schedule]
        for name, stored, expected in (("start_s", sale.start_s, start_s), ("done_s", sale.done_s, done_s)):
            if not abs(stored - expected) <= RELATIVE_TOLERANCE * max(done_s, 1.0):
                yield f"customer {number}: {name}: found {stored}; expected {expected}"
        left, size = sale.worth - loss_per_s * (done_s - sale.arrival_s), sale.worth + loss_per_s * done_s
        if sale.is_bought != (sale.price <= left) and not abs(sale.price - left) <= RELATIVE_TOLERANCE * size:
            verb = "bought" if sale.is_bought else "did not buy"
            yield f"customer {number}: {verb} for {sale.price}; the bag is worth {left} when it is done"
        free_s = done_s if sale.is_bought else free_s


def sales_profit(sales: Sequence[Sale], extra_j: Sequence[float], cost_per_j: ArrayLike) -> float:
    """The prices of what was bought, less the cost of its energy above idle, hour by hour."""
    costs = np.asarray(cost_per_j, np.float64)
    bought = [sale for sale in sales if sale.is_bought]
    return math.fsum(sale.price - extra_j[sale.schedule] * _mean_cost(costs, sale) for sale in bought)


def _mean_cost(cost_per_j: Floats, sale: Sale) -> float:
    """What a joule costs on average while a bag runs."""
    hours = range(int(sale.start_s // _HOUR_S), int(sale.done_s // _HOUR_S) + 1)
    spans = [
        (min(sale.done_s, (hour + 1) * _HOUR_S) - max(sale.start_s, hour * _HOUR_S), cost_per_j[hour % cost_per_j.size])
        for hour in hours
    ]
    return math.fsum(seconds * float(cost) for seconds, cost in spans) / (sale.done_s - sale.start_s)


def certified_makespan(bag: Bag, machine_price: ArrayLike) -> float:
    """The least makespan that prices of machine seconds prove, whatever they are; InputError for one below 0."""
    price = _priced(bag, machine_price)
    return float(bag.counts @ cheapest_choices(bag, price, 0.0)) / (float(bag.system.counts @ price) or math.inf)


def certified_sales(
    bag: Bag,
    cost_per_j: ArrayLike,
    machine_price: ArrayLike,
    customers: Sequence[tuple[float, float]],
    loss_per_s: float,
    least_s: float,
) -> float:
    """What prices of machine seconds, by [hour, machine type], prove: nobody earns more from these customers.

    A customer is an instant of coming and the worth of a bag done at once; no bag is done sooner than after `least_s`.
    Raises InputError for a price below 0, and where something is left of a worth after the last hour.
    """
    prices = _priced(bag, machine_price)
    costs = np.resize(np.asarray(cost_per_j, np.float64), len(prices))
    task_cost = np.array([cheapest_choices(bag, *paid) for paid in zip(prices, costs)])
    paid = _HOUR_S * float((prices @ bag.system.counts).sum())
    return paid + math.fsum(_surplus(bag, task_cost, customer, loss_per_s, least_s) for customer in customers)


def _surplus(bag: Bag, task_cost: Floats, customer: tuple[float, float], loss_per_s: float, least_s: float) -> float:
    """The most that is left of a worth, over the hours in which the bag may end, each task in its cheapest so far."""
    arrival_s, worth = customer
    n_hours, first = len(task_cost), int(arrival_s // _HOUR_S)
    if first >= n_hours or worth > loss_per_s * (n_hours * _HOUR_S - arrival_s) * (1 + RELATIVE_TOLERANCE):
        raise InputError(Problem("machine_price", f"found {n_hours} hours", "must be more: a later sale may pay"))
    cheapest, most = np.full(bag.counts.size, np.inf), 0.0
    for hour in range(first, n_hours):
        cheapest = np.minimum(cheapest, task_cost[hour])
        wait_s = max(hour * _HOUR_S - arrival_s, least_s)
        most = max(most, worth - loss_per_s * wait_s - float(bag.counts @ cheapest))
    return most


def _priced(bag: Bag, machine_price: ArrayLike) -> Floats:
    """Prices by machine type; InputError where they are none."""
    price = np.asarray(machine_price, np.float64)
    n_types = bag.system.n_machine_types
    if price.shape[-1:] != (n_types,) or not ((price >= 0) & np.isfinite(price)).all():
        found = f"found the shape {price.shape}, and values from {price.min(initial=0.0):g}"
        raise InputError(Problem("machine_price", found, f"must be one for each of {n_types} machine types, 0 or more"))
    return price
