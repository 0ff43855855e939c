"""Energy and power of parallel jobs while they are mapped: what days have used, what may be used, and the filters.

Days and budgets are those of `ledger`. A job is allowed by all of its energy against what is left of the day in which
the mapping happens, wherever midnight cuts it (a prorated test would allow more to later starts); what is then taken
and noted is by day. Power is a resource of the book like nodes: whole milliwatts, in the row after the last cluster.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.jobs.timetable import first_fit, first_nodes, free_seconds, give_back, take
from joulewise.kernels.ledger import (
    HOUR_S,
    budget_of,
    day_start_s,
    event_day,
    has_left,
    open_day,
    spend_energy,
    tariff_factor,
    tomorrow_budget_j,
    use,
)
from joulewise.kernels.records import record

NO_FILTER, PER_TASK, PER_RESOURCE = 0, 1, 2


@record
class JobLimits(NamedTuple):
    """What does not change in a run: budget and days as in `ledger`, the cap, and what options cost.

    Nothing is planned to start at `latest_s` or later. `cost_w[option]` is what a job draws on top of nodes without
    one (of which all together draw `reserve_w`), `cost_j` what that is planned to be in all, `power_mw` the same power
    rounded up to whole milliwatts. `cap_mw` is by the hour and less what nodes draw without jobs. `filter_key` is what
    the filter compares with its limit; `mean_resources` and `mean_cost_j` are the averages of eq. 7 (Machovec) and
    `n_cores` all cores together. `factor` is the tariff by the hour over its mean, or 1.
    """

    has_budget: bool
    is_total: bool
    budget_j: float
    start_s: float
    day_s: float
    n_before: int
    n_days: int
    reserve_w: float
    latest_s: float
    has_cap: bool
    cap_mw: NDArray[np.int64]
    factor: NDArray[np.float64]
    cost_w: NDArray[np.float64]
    cost_j: NDArray[np.float64]
    power_mw: NDArray[np.int64]
    filter_key: NDArray[np.float64]
    filtering: int
    is_adaptive: bool
    leniency: float
    mean_resources: float
    mean_cost_j: float
    n_cores: float


@record
class JobLedger(NamedTuple):
    """State: the days as in `ledger` and, of the event, the latest start, and what the filter's key of an option may be
    at most.
    """

    used_j: NDArray[np.float64]
    left_j: NDArray[np.float64]
    day_end_s: NDArray[np.float64]
    latest_s: NDArray[np.float64]
    most_key: NDArray[np.float64]


def new_job_ledger(limits: JobLimits) -> JobLedger:
    """Nothing used yet."""
    n_days = limits.n_before + limits.n_days + 3
    never = np.full(1, np.inf)
    return JobLedger(np.zeros(n_days), np.full(3, np.inf), never, np.array([limits.latest_s]), never.copy())


def n_cap_commitments(limits: JobLimits, until_s: float) -> int:
    """How many commitments of power `open_cap` makes: room that the book needs for them."""
    return int(until_s // HOUR_S) + 2 if limits.cap_mw.size > 1 else 0


@shared
def open_cap(limits, book, until_s):
    """Commit the power by which each hour's cap is below the highest, which the book's row was made with.

    From `until_s` on the lowest cap holds.
    """
    if not limits.has_cap or limits.cap_mw.size == 1:
        return
    row, n = book.size.size - 1, limits.cap_mw.size
    highest, lowest = limits.cap_mw[0], limits.cap_mw[0]
    for hour in range(n):
        highest, lowest = max(highest, limits.cap_mw[hour]), min(lowest, limits.cap_mw[hour])
    n_hours = int(until_s // HOUR_S) + 1
    for hour in range(n_hours):
        take(book, row, highest - limits.cap_mw[hour % n], hour * HOUR_S, (hour + 1) * HOUR_S)
    take(book, row, highest - lowest, n_hours * HOUR_S, np.inf)


@shared
def joint_fit(book, has_cap, r, nodes, power_mw, duration_s, from_s):
    """The earliest start, not before `from_s`, with this many nodes of a cluster and, under a cap, this much power."""
    start_s = first_nodes(book, r, nodes, duration_s, from_s)
    while has_cap and start_s < np.inf:
        powered_s = first_fit(book, book.size.size - 1, power_mw, duration_s, start_s)
        if powered_s == start_s or powered_s == np.inf:
            return powered_s
        start_s = first_nodes(book, r, nodes, duration_s, powered_s)
    return start_s


@inlined
def earliest_start(limits, book, r, nodes, power_mw, duration_s, from_s):
    """The earliest start, not before `from_s`, with this many nodes of a cluster and this much power; inf if none "
    "is."""
    return joint_fit(book, limits.has_cap, r, nodes, power_mw, duration_s, from_s)


@inlined
def take_nodes(limits, book, r, nodes, power_mw, start_s, end_s):
    """Commit nodes and their power."""
    take(book, r, nodes, start_s, end_s)
    if limits.has_cap:
        take(book, book.size.size - 1, power_mw, start_s, end_s)


@inlined
def give_back_nodes(limits, book, r, nodes, power_mw, start_s, end_s):
    """Free nodes and their power from an instant on."""
    give_back(book, r, nodes, start_s, end_s)
    if limits.has_cap:
        give_back(book, book.size.size - 1, power_mw, start_s, end_s)


@inlined
def use_energy(limits, ledger, cost_w, start_s, end_s):
    """Note a run on the days it lies in."""
    use(limits, ledger, start_s, end_s, cost_w)


@inlined
def give_back_energy(limits, ledger, cost_w, start_s, end_s):
    """Take back what a run that ends early was noted to use from there to its planned end."""
    use(limits, ledger, start_s, end_s, -cost_w)


@inlined
def free_resources(book, cores, start_s, end_s):
    """The core-seconds that are free from start to end (Machovec, eq. 6)."""
    total = 0.0
    for r in range(cores.size):
        total += cores[r] * free_seconds(book, r, start_s, end_s)
    return total


@shared
def most_key(limits, book, cores, budget_j, used_j, now_s, day):
    """What an option's key may be at most for the filter in use (Machovec, eq. 7 to 9); inf when it does not filter.

    An adaptive leniency is the budget by core-second of the day over what was used by core-second so far.
    """
    if limits.filtering == NO_FILTER:
        return np.inf
    end_s = day_start_s(limits, day + 1)
    left_j, left = budget_j - used_j, free_resources(book, cores, now_s, end_s)
    if left_j <= 0.0 or left <= 0.0:
        return np.inf
    leniency = limits.leniency
    if limits.is_adaptive:
        every = limits.n_cores * (end_s - max(day_start_s(limits, day), 0.0))
        gone = every - left
        if used_j <= 0.0 or gone <= 0.0:
            return np.inf
        leniency = (budget_j / every) / (used_j / gone)
    share = left
    if limits.filtering == PER_TASK:
        share = min(left / limits.mean_resources, left_j / limits.mean_cost_j)
    return leniency * left_j / share / tariff_factor(limits, now_s)


@shared
def open_energy(limits, ledger, book, cores, now_s):
    """Find what is left of the day and of the next, and what the filter lets pass; once at the start of an event."""
    if not limits.has_budget:
        return
    day = event_day(limits, ledger, now_s)
    used_j = ledger.used_j[day]
    budget_j = open_day(limits, ledger, day, used_j, ledger.used_j[day + 1])
    ledger.latest_s[0] = min(ledger.day_end_s[0], limits.latest_s)
    ledger.most_key[0] = most_key(limits, book, cores, budget_j, used_j, now_s, day)


@inlined
def passes(limits, ledger, option):
    """Whether the filter lets an option pass."""
    return limits.filter_key[option] <= ledger.most_key[0]


@inlined
def may_use(limits, ledger, cost_w, duration_s, start_s):
    """Whether a job may start then, and today's budget and tomorrow's have its energy."""
    if not start_s < ledger.latest_s[0]:
        return False
    return not limits.has_budget or has_left(ledger, cost_w * duration_s, cost_w, start_s + duration_s)


@shared
def has_energy(limits, ledger, cost_w, start_s, end_s, now_s):
    """Whether a run would start today, with today's budget and tomorrow's each having the energy of its part."""
    if not limits.has_budget:
        return True
    day = event_day(limits, ledger, now_s)
    midnight_s = day_start_s(limits, day + 1)
    today_j = budget_of(limits, ledger, day) - ledger.used_j[day]
    if not start_s < midnight_s or cost_w * (min(end_s, midnight_s) - start_s) > today_j:
        return False
    tomorrow_j = tomorrow_budget_j(limits, ledger, day) - ledger.used_j[day + 1]
    return end_s <= midnight_s or cost_w * (end_s - midnight_s) <= tomorrow_j


@inlined
def spend(limits, ledger, cost_w, duration_s, start_s):
    """Take a planned job from what is left in this event, of today and, for what lies after it, of tomorrow."""
    if limits.has_budget:
        spend_energy(ledger, cost_w * duration_s, cost_w, start_s + duration_s)
