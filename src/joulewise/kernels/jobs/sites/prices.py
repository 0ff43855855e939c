"""Prices of what nodes have, by the group of nodes, that adapt by themselves: what is scarce becomes more expensive.

A job pays for what its pieces take of each resource as long as it is planned. After every event with work each price
moves by the share of the resource that is free in its group.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.live_prices import MINUTE_S, Gains, move_time_price
from joulewise.kernels.records import record

UNKNOWN = -1.0


@record
class SitePrices(NamedTuple):
    """State: the price per second of one of each resource of each group, of which a group has `whole` in all.

    Of resource r of group g it is `per_s[g * n + r]`, n resources in all, below 0 while it is not known. A job of class
    k pays `paid[k]` per second, as found in the event `paid_at[k]` of `n_events[0]`. The last one was at `last_s[0]`.
    `worth` and `amount` are room for sums.
    """

    is_used: bool
    per_s: NDArray[np.float64]
    anchor_per_s: NDArray[np.float64]
    whole: NDArray[np.int64]
    paid: NDArray[np.float64]
    paid_at: NDArray[np.int64]
    n_events: NDArray[np.int64]
    last_s: NDArray[np.float64]
    worth: NDArray[np.float64]
    amount: NDArray[np.float64]
    gains: Gains


@inlined
def amount_of(run, k, g, r):
    """How much of a resource a class takes in a group, if it has all of its pieces there."""
    return -(-run.asks.units[k] // run.asks.gives[k, g]) * run.asks.need[k, g, r]


@shared
def _dearest(run, k):
    """What a class pays per second, in the dearest of the groups where it may run."""
    prices, dearest, n = run.greed.prices, 0.0, run.asks.need.shape[2]
    for g in range(run.ground.rank.size):
        if run.asks.gives[k, g] > 0:
            total = 0.0
            for r in range(n):
                total += amount_of(run, k, g, r) * max(prices.per_s[g * n + r], 0.0)
            dearest = max(dearest, total)
    return dearest


@inlined
def paid_per_s(run, k):
    """What a class pays per second, in the dearest of the groups where it may run."""
    prices = run.greed.prices
    if prices.paid_at[k] != prices.n_events[0]:
        prices.paid_at[k] = prices.n_events[0]
        prices.paid[k] = _dearest(run, k)
    return prices.paid[k]


@inlined
def _note_demand(run, i, k):
    """Add what a job is worth, and what it takes for how long, to the sums of the groups where a class may run."""
    greed, n = run.greed, run.asks.need.shape[2]
    for g in range(run.ground.rank.size):
        if run.asks.gives[k, g] > 0:
            for r in range(n):
                amount = amount_of(run, k, g, r)
                greed.prices.worth[g * n + r] += greed.tasks.scale[i] * (amount > 0)
                greed.prices.amount[g * n + r] += amount * run.coming.planned_s[i]


@shared
def _find_first(run):
    """Prices to start from, of what has none: a part of what the jobs are worth that wait and take some of it.

    All resources of a group that waiting jobs take bear equal parts.
    """
    greed, n = run.greed, run.asks.need.shape[2]
    prices = greed.prices
    prices.worth[:] = 0.0
    prices.amount[:] = 0.0
    for at in range(run.waiting.n[0]):
        i = run.waiting.job[at]
        for o in range(greed.first[greed.kind[i]], greed.first[greed.kind[i] + 1]):
            _note_demand(run, i, greed.option[o])
    for g in range(run.ground.rank.size):
        n_taken = 0
        for r in range(n):
            n_taken += prices.amount[g * n + r] > 0.0
        for at in range(g * n, g * n + n):
            if prices.per_s[at] == UNKNOWN and prices.worth[at] > 0.0:
                prices.per_s[at] = prices.gains.first_part * prices.worth[at] / (n_taken * prices.amount[at])
                prices.anchor_per_s[at] = prices.per_s[at]


@shared
def open_prices(run):
    """Let jobs pay what prices say, before an event; a price is found when somebody waits who would pay it."""
    prices = run.greed.prices
    prices.n_events[0] += 1
    for at in range(prices.per_s.size):
        if prices.per_s[at] == UNKNOWN:
            _find_first(run)
            break


@inlined
def _idle_of(run, g, r):
    """Which share of a resource of a group is free."""
    free = 0
    for q in range(run.ground.first[g], run.ground.first[g + 1]):
        free += run.ground.free[q, r]
    return free / run.greed.prices.whole[g * run.asks.need.shape[2] + r]


@shared
def move_prices(run, now_s):
    """Move all prices that are known by what is free after an event, and by how long ago the one before was."""
    prices, n = run.greed.prices, run.asks.need.shape[2]
    passed_s = now_s - prices.last_s[0] if prices.last_s[0] >= 0.0 else MINUTE_S
    minutes = min(passed_s, prices.gains.memory_s) / MINUTE_S
    prices.last_s[0] = now_s
    for g in range(run.ground.rank.size):
        for r in range(n):
            if prices.per_s[g * n + r] > 0.0:
                move_time_price(prices, g * n + r, _idle_of(run, g, r), minutes)
