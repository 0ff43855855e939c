"""Prices of machine time and energy that find themselves: what runs short becomes dearer.

After every event the price of a machine type rises by a little while hardly any of its machines is idle, and falls
faster the more of them are; the price of energy follows whether power is drawn faster than what is left of the
day's budget allows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined

MINUTE_S = 60.0
STEP = 0.005
"""How much the logarithm of a machine type's price rises each minute at most."""
IDLE = 0.03
"""The share of idle machines at which a price stays as it is."""
FASTEST_FALL = 4.0
"""How many steps a minute a price may fall."""
ENERGY_STEP = 0.02
"""How much the logarithm of the price of energy moves each minute at most."""
MEMORY_S = 1800.0
"""Over how long the power drawn is averaged."""


class Prices(NamedTuple):
    """State: the price per second of each machine type (below 0: not yet known) and per joule, and the mean power."""

    per_s: NDArray[np.float64]
    per_j: NDArray[np.float64]
    mean_w: NDArray[np.float64]


FIRST_PART = 0.5
"""What part of a mean task's worth its machine time costs at first."""
FIRST_ENERGY_PART = 0.25
"""What part of it its energy costs at first, where there is a budget."""


@inlined
def first_prices(prices, limits, heap, tasks, options):
    """Prices to start from, by the tasks that wait at the first event."""
    worth, n, exec_s, energy_j = 0.0, 0, 0.0, 0.0
    for at in range(heap.size[0]):
        i = heap.items[at]
        for option in range(options.first[tasks.task_type[i]], options.first[tasks.task_type[i] + 1]):
            worth += tasks.scale[i]
            exec_s += options.exec_s[option]
            energy_j += options.energy_j[option]
            n += 1
    for k in range(prices.per_s.size):
        prices.per_s[k] = FIRST_PART * worth / exec_s
    prices.per_j[0] = FIRST_ENERGY_PART * worth / energy_j if limits.has_budget else 0.0


@inlined
def idle_share(machines, k, effect_s):
    """The share of a type's machines that do nothing after an event."""
    n, idle = 0, 0
    for m in range(machines.first[k], machines.first[k + 1]):
        n += 1
        idle += machines.base_s[m] <= effect_s and machines.n_queued[m] == 0
    return idle / n if n > 0 else 0.0


@inlined
def drawn_w(machines, effect_s):
    """The power that counts of what runs at an instant."""
    total_w = 0.0
    for m in range(machines.ready_s.size):
        if machines.last_start_s[m] > effect_s:
            total_w += machines.before_cost_w[m]
        elif machines.ready_s[m] > effect_s:
            total_w += machines.last_cost_w[m]
    return total_w


@inlined
def adjust_prices(prices, limits, ledger, machines, passed_s, effect_s):
    """Move all prices by what the event showed; `passed_s` is the time since the event before."""
    minutes = min(passed_s, MEMORY_S) / MINUTE_S
    for k in range(prices.per_s.size):
        step = max(-FASTEST_FALL, (IDLE - idle_share(machines, k, effect_s)) / IDLE)
        prices.per_s[k] *= math.exp(STEP * minutes * step)
    if not limits.has_budget:
        return
    kept = math.exp(-minutes * MINUTE_S / MEMORY_S) if prices.mean_w[0] >= 0.0 else 0.0
    prices.mean_w[0] = kept * prices.mean_w[0] + (1.0 - kept) * drawn_w(machines, effect_s)
    left_s = ledger.day_end_s[0] - effect_s
    wanted_w = ledger.left_j[0] / left_s if left_s > 0.0 else 0.0
    excess = prices.mean_w[0] / wanted_w - 1.0 if wanted_w > 0.0 else 1.0
    prices.per_j[0] *= math.exp(ENERGY_STEP * minutes * min(max(excess, -1.0), 1.0))
