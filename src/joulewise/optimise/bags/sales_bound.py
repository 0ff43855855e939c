"""What no price, order or schedule earns more than from customers who come with bags: proven by prices of machines."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csc_array

from joulewise.errors import JoulewiseError
from joulewise.model.arrays import Floats
from joulewise.model.bag import Bag
from joulewise.model.supply import HOUR_S
from joulewise.optimise.bags.bound import BoundFront
from joulewise.optimise.bags.pricing import Trade
from joulewise.optimise.bags.swept import time_s


class SalesBound(NamedTuple):
    """The most profit, and what proves it: a price of a second of each machine type, by [hour, machine type]."""

    profit: float
    machine_price: Floats


class _Hours(NamedTuple):
    """The hours in which bags may run: their number, what a joule costs, and what is left of worths.

    `left` is by [customer, hour]: what a bag is worth that ends in the hour, at its beginning, and -inf before the
    customer comes.
    """

    n: int
    cost_per_j: Floats
    left: Floats


def sales_bound(front: BoundFront, trade: Trade, arrival_s: Floats, worth: Floats) -> SalesBound:
    """The bound for customers whose bags have these worths; prices are those of a linear program over whole hours."""
    hours = _hours(front, trade, arrival_s, worth)
    if not arrival_s.size:
        return SalesBound(0.0, np.zeros((hours.n, front.bag.system.n_machine_types)))
    price = _machine_prices(front, hours.cost_per_j, _second_prices(front, trade, hours))
    return SalesBound(_proven(front.bag, hours, price), price)


def _hours(front: BoundFront, trade: Trade, arrival_s: Floats, worth: Floats) -> _Hours:
    """Hours until nothing is left of any worth."""
    end_s = float((arrival_s + np.maximum(worth, 0.0) / trade.loss_per_s).max(initial=0.0))
    n = math.floor(end_s / HOUR_S) + 1
    start_s = HOUR_S * np.arange(n)
    wait_s = np.maximum(start_s - arrival_s[:, None], front.least_makespan_s)
    has_come = start_s + HOUR_S > arrival_s[:, None]
    left = np.where(has_come, worth[:, None] - trade.loss_per_s * wait_s, -np.inf)
    return _Hours(n, np.resize(trade.cost_per_j, n), left)


def _second_prices(front: BoundFront, trade: Trade, hours: _Hours) -> Floats:
    """What a second of all machines is worth in each hour, if shares of bags are sold and run at vertices of the bound.

    The program has shares of bags by customer and hour, and bags that run in an hour by vertex.
    """
    unit, (n_customers, n), vertices = trade.mean_value, hours.left.shape, np.arange(len(front))
    customer, hour = np.nonzero(hours.left > hours.cost_per_j * front.extra_j[0])
    run_hour, vertex = np.repeat(np.arange(n), vertices.size), np.tile(vertices, n)
    shares, runs = np.arange(customer.size), customer.size + np.arange(run_hour.size)
    gain = np.append(hours.left[customer, hour], -hours.cost_per_j[run_hour] * front.extra_j[vertex]) / unit
    rows = np.concatenate((customer, n_customers + hour, n_customers + run_hour, n_customers + n + run_hour))
    ones = np.ones(shares.size)
    values = np.concatenate((ones, ones, np.full(runs.size, -1.0), front.makespan_s[vertex] / HOUR_S))
    matrix = csc_array(
        (values, (rows, np.concatenate((shares, shares, runs, runs)))), shape=(n_customers + 2 * n, gain.size)
    )
    most = np.concatenate((np.ones(n_customers), np.zeros(n), np.ones(n)))
    solution: Any = linprog(-gain, matrix, most, method="highs")
    if solution.status != 0:
        raise JoulewiseError(f"HiGHS could not solve the bound of the sales: {solution.message}")
    return np.asarray(np.maximum(-solution.ineqlin.marginals[-n:], 0.0) * unit / HOUR_S)


def _machine_prices(front: BoundFront, cost_per_j: Floats, second_price: Floats) -> Floats:
    """The same shared among the machine types, so that no bag is cheaper than at the best vertex."""
    free = np.maximum(front.price_per_s[-1], 0.0)
    return np.array(
        [
            cost * front.prices_at(price / cost) if cost > 0 else price * free
            for cost, price in zip(cost_per_j.tolist(), second_price.tolist())
        ]
    )


def _proven(bag: Bag, hours: _Hours, machine_price: Floats) -> float:
    """What prices prove: all seconds at their prices, and what each customer leaves beyond the cheapest of all hours.

    Tasks of a bag that ends in an hour may each have run in the cheapest hour from the customer's coming on.
    """
    task_cost = np.array([_cheapest(bag, *paid) for paid in zip(hours.cost_per_j, machine_price)])
    surplus = 0.0
    for left in hours.left:
        first = int(np.argmax(left > -np.inf))
        cost = np.minimum.accumulate(task_cost[first:], axis=0) @ bag.counts
        surplus += max(float((left[first:] - cost).max()), 0.0)
    return HOUR_S * float((machine_price @ bag.system.counts).sum()) + surplus


def _cheapest(bag: Bag, cost_per_j: float, machine_price: Floats) -> Floats:
    """What a task of each type costs at least, in energy and machine time."""
    possible = np.isfinite(bag.extra_j)
    cost = cost_per_j * np.where(possible, bag.extra_j, 0.0) + time_s(bag) * machine_price[None, :, None]
    return np.asarray(np.where(possible, cost, np.inf).min(axis=(1, 2)))
