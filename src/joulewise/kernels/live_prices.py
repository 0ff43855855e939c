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

from joulewise.kernels.energy import AT_FIRST
from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.records import record

MINUTE_S = 60.0


@record
class Gains(NamedTuple):
    """How fast prices move, per minute, in their logarithm.

    A machine type's price rises by `step` at most, stays while the share `idle` of its machines is idle, and falls by
    `fall` steps at most. The price of energy moves by `energy_step` at most; the power drawn is averaged over
    `memory_s`. At first machine time costs `first_part` of a mean task's worth, and energy `first_energy_part`. Each
    price has an anchor that follows it over `anchor_s` while what it is for runs short: after quiet hours a price below
    half of its anchor returns `hurry` times as fast, and it never falls below the anchor divided by `depth`.
    """

    step: float = 0.005
    idle: float = 0.03
    fall: float = 4.0
    energy_step: float = 0.02
    memory_s: float = 600.0
    first_part: float = 0.5
    first_energy_part: float = 0.25
    anchor_s: float = 21_600.0
    hurry: float = 10.0
    depth: float = 50.0


@record
class LivePrices(NamedTuple):
    """State: the price per second of each machine type (below 0: not yet known) and per joule, and the mean power.

    `path` has a row for each event with work, as far as it has room: the prices per second, then per joule.
    """

    per_s: NDArray[np.float64]
    per_j: NDArray[np.float64]
    anchor_per_s: NDArray[np.float64]
    anchor_per_j: NDArray[np.float64]
    mean_w: NDArray[np.float64]
    path: NDArray[np.float64]
    gains: Gains


@inlined
def first_prices(prices, limits, heap, tasks, options):
    """Prices to start from, by the tasks that wait at the first event at which one is worth something."""
    worth, n, exec_s, energy_j = 0.0, 0, 0.0, 0.0
    for at in range(heap.size[0]):
        i = heap.items[at]
        for option in range(options.first[tasks.task_type[i]], options.first[tasks.task_type[i] + 1]):
            worth += tasks.scale[i]
            exec_s += options.exec_s[option]
            energy_j += options.energy_j[option]
            n += 1
    if worth == 0.0:
        return
    for k in range(prices.per_s.size):
        prices.per_s[k] = prices.anchor_per_s[k] = prices.gains.first_part * worth / exec_s
    if limits.has_budget and energy_j > 0.0:
        prices.per_j[0] = prices.anchor_per_j[0] = prices.gains.first_energy_part * worth / energy_j


@inlined
def record_prices(prices, event):
    """Note the prices of an event, from 1 on."""
    if 0 < event <= prices.path.shape[0]:
        for k in range(prices.per_s.size):
            prices.path[event - 1, k] = max(prices.per_s[k], 0.0)
        prices.path[event - 1, prices.per_s.size] = prices.per_j[0]


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
def to_come_j(machines, effect_s, day_end_s):
    """The energy that what is fixed will still use on this day."""
    total_j = 0.0
    for m in range(machines.ready_s.size):
        end_s = min(machines.ready_s[m], day_end_s)
        if machines.last_start_s[m] > effect_s:
            start_s = machines.last_start_s[m]
            total_j += machines.before_cost_w[m] * max(min(start_s, day_end_s) - effect_s, 0.0)
            total_j += machines.last_cost_w[m] * max(end_s - start_s, 0.0)
        else:
            total_j += machines.last_cost_w[m] * max(end_s - effect_s, 0.0)
    return total_j


@inlined
def move(price, anchor, k, gains, most, step, minutes):
    """Move a price by a part of the most it moves in this time, up or down; its anchor follows while it is short."""
    is_low = 2.0 * price[k] < anchor[k]
    if step > 0.0 and is_low:
        step *= gains.hurry
    price[k] = max(price[k] * math.exp(most * step), anchor[k] / gains.depth)
    if step > 0.0 and not is_low:
        anchor[k] *= (price[k] / anchor[k]) ** min(minutes * MINUTE_S / gains.anchor_s, 1.0)


@shared
def adjust_prices(prices, limits, ledger, machines, passed_s, effect_s):
    """Move all prices by what the event showed; `passed_s` is the time since the event before, or a minute."""
    gains = prices.gains
    minutes = min(passed_s, gains.memory_s) / MINUTE_S
    if prices.per_s[0] < 0.0:
        return
    for k in range(prices.per_s.size):
        step = max(-gains.fall, (gains.idle - idle_share(machines, k, effect_s)) / gains.idle)
        move(prices.per_s, prices.anchor_per_s, k, gains, gains.step * minutes, step, minutes)
    if not limits.has_budget:
        return
    kept = math.exp(-minutes * MINUTE_S / gains.memory_s) if prices.mean_w[0] >= 0.0 else 0.0
    prices.mean_w[0] = kept * prices.mean_w[0] + (1.0 - kept) * drawn_w(machines, effect_s)
    left_s = ledger.day_end_s[0] - effect_s
    left_j = ledger.left_j[AT_FIRST] + to_come_j(machines, effect_s, ledger.day_end_s[0])
    excess = prices.mean_w[0] * left_s / left_j - 1.0 if left_j > 0.0 else 1.0
    step = min(max(excess, -1.0), 1.0)
    if prices.per_j[0] == 0.0:
        return
    move(prices.per_j, prices.anchor_per_j, 0, gains, gains.energy_step * minutes, step, minutes)
