"""Slow twins of the maximum profit: equation 10 as it stands, solved by HiGHS, and what an allocation truly earns."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import linprog

from joulewise.model.bag import Bag, BagAllocation
from joulewise.optimise.bags.market import Market

ROUNDING = 1e-9
"""An end so little after its deadline, as a share, is in time: sums of times are rounded."""


def equation_10(bag: Bag, market: Market) -> float | None:
    """The bound on profit per second; variables are tasks of each possible choice, then bags, both per unit of time.

    HiGHS judges by absolute tolerances, so the unit of time and the scale of costs bring all to the order of one.
    """
    assert market.cost_per_j is not None
    system, joule_cost = bag.system, market.cost_per_j * market.pue
    unit_s = float(bag.counts @ bag.exec_s.min(axis=(1, 2))) / system.n_machines
    task, machine, _ = cells = np.nonzero(np.isfinite(bag.exec_s))
    exec_s, extra_j = bag.exec_s[cells], bag.extra_j[cells]
    wear = np.zeros(system.n_machine_types) if market.wear_per_s is None else market.wear_per_s
    cost = np.append(joule_cost * extra_j + wear[machine] * exec_s, -market.income)
    balance = np.zeros((system.n_task_types, task.size + 1))
    balance[task, np.arange(task.size)] = 1.0
    balance[:, -1] = -bag.counts
    load = np.zeros((system.n_machine_types, task.size + 1))
    load[machine, np.arange(task.size)] = exec_s / unit_s
    limit = system.counts.astype(float)
    left_j = (market.power_cap_w / market.pue - bag.total_idle_w) * unit_s
    if math.isfinite(left_j):
        load, limit = np.vstack([load, np.append(extra_j, 0.0) / left_j]), np.append(limit, 1.0)
    ranges = [(0.0, None)] * task.size + [(unit_s / market.deadline_s, None)]
    scale = np.abs(cost).max()
    found = linprog(cost / scale, load, limit, balance, np.zeros(system.n_task_types), ranges, method="highs")
    if found.status == 2:
        return None
    assert found.status == 0, found.message
    return float(-found.fun * scale / unit_s - joule_cost * bag.total_idle_w - market.depreciation_per_s)


def true_profit(allocation: BagAllocation, market: Market) -> float:
    """What an allocation earns per second at most, waiting on purpose for the cap; -inf when the deadline is missed."""
    bag, system = allocation.bag, allocation.bag.system
    wear = np.zeros(system.n_machine_types) if market.wear_per_s is None else market.wear_per_s
    extra_j = float(allocation.energy_j - bag.total_idle_w * allocation.makespan_s)
    worn = float(wear[system.machine_type] @ allocation.busy_s)
    left_w = market.power_cap_w / market.pue - bag.total_idle_w
    soonest_s = max(allocation.makespan_s, extra_j / left_w)
    if soonest_s > market.deadline_s * (1 + ROUNDING):
        return -math.inf

    def earned(period_s: float) -> float:
        running = (market.income - worn - market.joule_cost(allocation.makespan_s) * extra_j) / period_s
        return running - market.joule_cost(period_s) * bag.total_idle_w - market.depreciation_per_s

    return max(earned(at) for at in (soonest_s, market.deadline_s) if math.isfinite(at))
