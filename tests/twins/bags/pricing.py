"""Slow twins of prices and sales: value by value, customer by customer, and everything that could have been sold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations, product

import numpy as np

from joulewise.model.customers import LAWS
from joulewise.optimise.bags.pricing import Trade

HOUR_S = 3600.0


def energy_cost(trade: Trade, schedule: int, start_s: float) -> float:
    """What a schedule costs that starts then, in steps from hour to hour."""
    end_s, at_s, paid = start_s + float(trade.makespan_s[schedule]), start_s, 0.0
    while at_s < end_s:
        next_s = min((math.floor(at_s / HOUR_S) + 1) * HOUR_S, end_s)
        paid += (next_s - at_s) * float(trade.cost_per_j[int(at_s // HOUR_S) % trade.cost_per_j.size])
        at_s = next_s
    return paid * float(trade.extra_j[schedule]) / float(trade.makespan_s[schedule])


def values_of_places(trade: Trade, step_s: float, n_times: int, n_backlogs: int) -> list[list[float]]:
    """The mean profit from each step of time on, by backlog in steps."""
    law, mean = LAWS[trade.demand.law], trade.mean_value
    chance = 1 - math.exp(-trade.demand.per_s * step_s)
    profit = [[0.0] * n_backlogs for _ in range(n_times + 1)]
    for time in reversed(range(n_times)):
        later = [profit[time + 1][max(backlog - 1, 0)] for backlog in range(n_backlogs)]
        for backlog in range(n_backlogs):
            costs = []
            for schedule, makespan_s in enumerate(trade.makespan_s.tolist()):
                after = float(np.interp(backlog + makespan_s / step_s, np.arange(n_backlogs), later))
                waited = mean / trade.demand.patience_s * (backlog * step_s + makespan_s)
                costs.append(energy_cost(trade, schedule, (time + backlog) * step_s) + waited + later[backlog] - after)
            profit[time][backlog] = later[backlog] + chance * mean * float(law.gain(np.array(min(costs) / mean)))
    return profit


def most_of_all(trade: Trade, arrival_s: Sequence[float], worth: Sequence[float]) -> float:
    """The most that one earns who knows all worths: every set of customers, in every order, by all schedules.

    Bags start when the one before is done and the customer is there, or at the full hours after that.
    """
    customers, best = range(len(arrival_s)), 0.0
    for n in range(1, len(arrival_s) + 1):
        for order in permutations(customers, n):
            for schedules in product(range(trade.makespan_s.size), repeat=n):
                best = max(best, _most_in_order(trade, arrival_s, worth, order, schedules))
    return best


def _most_in_order(
    trade: Trade, arrival_s: Sequence[float], worth: Sequence[float], order: Sequence[int], schedules: Sequence[int]
) -> float:
    """The most over the waits, of some hours, before the first bag."""
    most = -math.inf
    for wait_s in (0.0, 1800.0, HOUR_S, 3 * HOUR_S):
        free_s, earned = arrival_s[order[0]] + wait_s, 0.0
        for customer, schedule in zip(order, schedules, strict=True):
            start_s = max(arrival_s[customer], free_s)
            free_s = start_s + float(trade.makespan_s[schedule])
            left = worth[customer] - trade.loss_per_s * (free_s - arrival_s[customer])
            earned += left - energy_cost(trade, schedule, start_s)
        most = max(most, earned)
    return most
