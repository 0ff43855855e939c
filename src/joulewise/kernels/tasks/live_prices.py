"""Prices of machine time and energy for tasks that find themselves, by what each event shows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.ledger import AT_FIRST
from joulewise.kernels.live_prices import MINUTE_S, Gains, move_energy_price, move_time_price
from joulewise.kernels.records import record

_UNKNOWN = -1.0


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


def new_prices(n_machine_types: int, gains: Gains, n_recorded: int) -> LivePrices:
    """Prices that are not known yet, with room to record them at this many events."""
    per_s, path = np.full(n_machine_types, _UNKNOWN), np.full((n_recorded, n_machine_types + 1), np.nan)
    return LivePrices(per_s, np.zeros(1), per_s.copy(), np.zeros(1), np.full(1, _UNKNOWN), path, gains)


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


@shared
def adjust_prices(prices, limits, ledger, machines, passed_s, effect_s):
    """Move all prices by what the event showed; `passed_s` is the time since the event before, or a minute."""
    minutes = min(passed_s, prices.gains.memory_s) / MINUTE_S
    if prices.per_s[0] < 0.0:
        return
    for k in range(prices.per_s.size):
        move_time_price(prices, k, idle_share(machines, k, effect_s), minutes)
    if limits.has_budget:
        day_end_s = ledger.day_end_s[0]
        left_j = ledger.left_j[AT_FIRST] + to_come_j(machines, effect_s, day_end_s)
        move_energy_price(prices, drawn_w(machines, effect_s), left_j, day_end_s - effect_s, minutes)
