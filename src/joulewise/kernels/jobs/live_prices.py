"""Prices of node time and energy for parallel jobs that adapt by themselves: what is scarce becomes more expensive.

After every mapping event the price of a cluster's nodes rises by a little while hardly any of them is free, and falls
faster the more of them are; the price of energy follows whether power is drawn faster than what is left of the day's
budget allows. A choice costs its nodes for its planned time, and its energy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.jobs.pool import note_prices
from joulewise.kernels.jobs.timetable import free_at
from joulewise.kernels.ledger import budget_of, day_start_s, event_day, tariff_factor
from joulewise.kernels.live_prices import MINUTE_S, Gains, move_energy_price, move_time_price, record_prices
from joulewise.kernels.records import record

_UNKNOWN = -1.0


@record
class JobPrices(NamedTuple):
    """State: the price per node-second of each cluster (below 0: not yet known) and per joule, and the mean power.

    `totals` are room for sums. `path` has a row for each event with work, as far as it has room: the prices per
    node-second, then per joule.
    """

    is_used: bool
    per_s: NDArray[np.float64]
    per_j: NDArray[np.float64]
    anchor_per_s: NDArray[np.float64]
    anchor_per_j: NDArray[np.float64]
    mean_w: NDArray[np.float64]
    last_s: NDArray[np.float64]
    totals: NDArray[np.float64]
    path: NDArray[np.float64]
    gains: Gains


def new_job_prices(n_clusters: int, gains: Gains, n_recorded: int, *, is_used: bool) -> JobPrices:
    """Prices that are not known yet, with room to record them at this many events."""
    per_s = np.full(n_clusters, _UNKNOWN)
    path, unknown = np.full((n_recorded, n_clusters + 1), np.nan), np.full(1, _UNKNOWN)
    return JobPrices(
        is_used, per_s, np.zeros(1), per_s.copy(), np.zeros(1), unknown, unknown.copy(), np.zeros(3), path, gains
    )  # fmt: skip


@inlined
def note_worth(totals, facts, limits, i):
    """Add what a job is worth, its node-seconds and its energy, over all of its options."""
    options, t = facts.options, facts.tasks.task_type[i]
    for option in range(options.first[t], options.first[t + 1]):
        totals[0] += facts.tasks.scale[i]
        totals[1] += options.nodes[option] * options.planned_s[option]
        totals[2] += limits.cost_j[option]


@inlined
def set_first_prices(prices, limits):
    """Set the prices to start from, once something is worth anything."""
    worth, node_s, energy_j = prices.totals[0], prices.totals[1], prices.totals[2]
    if worth == 0.0:
        return
    for r in range(prices.per_s.size):
        prices.per_s[r] = prices.anchor_per_s[r] = prices.gains.first_part * worth / node_s
    if limits.has_budget and energy_j > 0.0:
        prices.per_j[0] = prices.anchor_per_j[0] = prices.gains.first_energy_part * worth / energy_j


@shared
def first_prices_of_pool(prices, facts, limits, pool):
    """Prices to start from, by the jobs that wait at the first event at which one is worth something."""
    prices.totals[:] = 0.0
    for g in range(pool.waiting.size.size):
        for at in range(pool.first[g], pool.first[g] + pool.waiting.size[g]):
            note_worth(prices.totals, facts, limits, pool.waiting.items[at])
    set_first_prices(prices, limits)


@shared
def first_prices_of_queue(prices, facts, limits, queue, n_waiting):
    """The same by the jobs of a queue."""
    prices.totals[:] = 0.0
    for at in range(n_waiting):
        note_worth(prices.totals, facts, limits, queue[at])
    set_first_prices(prices, limits)


@shared
def drawn_and_to_come(limits, site, plan, now_s, day_end_s):
    """The power of what runs now, and the energy that it is planned to use until the day ends."""
    drawn_w, to_come_j = 0.0, 0.0
    for at in range(site.running.size[0]):
        i = site.running.items[at]
        cost_w = limits.cost_w[plan.option[i]]
        drawn_w += cost_w
        to_come_j += cost_w * max(min(site.book_end_s[i], day_end_s) - now_s, 0.0)
    return drawn_w, to_come_j


@inlined
def adjust_energy_price(prices, limits, ledger, site, plan, minutes, now_s):
    """Move the price of energy by how fast power is drawn, over what is left of the day."""
    day = event_day(limits, ledger, now_s)
    day_end_s = day_start_s(limits, day + 1)
    drawn_w, to_come_j = drawn_and_to_come(limits, site, plan, now_s, day_end_s)
    left_j = budget_of(limits, ledger, day) - ledger.used_j[day] + to_come_j
    move_energy_price(prices, drawn_w, left_j, day_end_s - now_s, minutes)


@shared
def adjust_job_prices(prices, facts, limits, ledger, book, site, plan, now_s):
    """Move all prices by what the event showed, and by how long ago the one before was."""
    passed_s = now_s - prices.last_s[0] if prices.last_s[0] >= 0.0 else MINUTE_S
    minutes = min(passed_s, prices.gains.memory_s) / MINUTE_S
    prices.last_s[0] = now_s
    for r in range(prices.per_s.size):
        move_time_price(prices, r, free_at(book, r, now_s) / facts.n_nodes[r], minutes)
    if limits.has_budget:
        adjust_energy_price(prices, limits, ledger, site, plan, minutes, now_s)


@shared
def open_prices(prices, facts, limits, pool, event, now_s):
    """Let choices cost what prices say, before an event, from 1 on; prices are found at the first with work."""
    if prices.per_s[0] < 0.0:
        first_prices_of_pool(prices, facts, limits, pool)
    options, per_j = facts.options, prices.per_j[0] * tariff_factor(limits, now_s)
    for option in range(options.cluster.size):
        node_s = options.nodes[option] * options.planned_s[option]
        pool.charge[option] = node_s * max(prices.per_s[options.cluster[option]], 0.0) + per_j * limits.cost_j[option]
    note_prices(pool)
    record_prices(prices, event)
