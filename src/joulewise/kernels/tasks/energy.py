"""Energy and power while tasks are mapped: which choices may be made within the budget, the filter and the cap."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.ledger import HOUR_S, day_start_s, event_day, has_left, open_day, tariff_factor
from joulewise.kernels.records import record
from joulewise.kernels.tasks.machines import believed_ready_s, believed_start_s

NO_FILTER, FAIR_SHARE, ADAPTIVE = 0, 1, 2


@record
class Limits(NamedTuple):
    """What does not change in a run: budget and days as in `ledger`, the cap by hour, and means of all choices.

    `reserve_w` is what machines draw at least. `cost_w[option]` is what a run draws on top of that, `cost_j[option]`
    what it uses so in all.
    """

    has_budget: bool
    is_total: bool
    budget_j: float
    start_s: float
    day_s: float
    n_before: int
    n_days: int
    reserve_w: float
    has_cap: bool
    cap_w: NDArray[np.float64]
    factor: NDArray[np.float64]
    cost_w: NDArray[np.float64]
    cost_j: NDArray[np.float64]
    cheapest_j: float
    mean_exec_s: float
    mean_energy_j: float
    filtering: int
    leniency: float


@record
class Ledger(NamedTuple):
    """State: the days as in `ledger`, and of the event: which options pass the filter, and under a cap which are
    allowed as things stand.

    `edges_s[:n_edges[0]]` and `level_w` are the power committed over time: level_w[j] from edges_s[j] on.
    """

    used_j: NDArray[np.float64]
    left_j: NDArray[np.float64]
    day_end_s: NDArray[np.float64]
    passes: NDArray[np.bool_]
    allowed: NDArray[np.bool_]
    edges_s: NDArray[np.float64]
    level_w: NDArray[np.float64]
    n_edges: NDArray[np.int64]


def new_ledger(n_days: int, n_options: int, n_edges: int) -> Ledger:
    """Nothing used yet."""
    return Ledger(
        np.zeros(n_days),
        np.full(3, np.inf),
        np.full(1, np.inf),
        np.ones(n_options, np.bool_),
        np.ones(n_options, np.bool_),
        np.zeros(n_edges),
        np.zeros(n_edges),
        np.zeros(1, np.int64),
    )


@inlined
def inside_s(limits, day, start_s, end_s):
    """How much of an interval lies in a day."""
    return max(min(end_s, day_start_s(limits, day + 1)) - max(start_s, day_start_s(limits, day)), 0.0)


@inlined
def believed_use_j(limits, machines, day, at_s):
    """What the manager believes that running and pending tasks use on a day, beyond what they truly will."""
    more_j = 0.0
    for m in range(machines.ready_s.size):
        start_s = true_s = machines.last_start_s[m]
        if true_s > at_s:
            start_s = believed_start_s(machines, m, at_s)
            if machines.before_end_s[m] > at_s:
                before_s, cost_w = machines.before_start_s[m], machines.before_cost_w[m]
                more_j += cost_w * inside_s(limits, day, before_s, start_s)
                more_j -= cost_w * inside_s(limits, day, before_s, machines.before_end_s[m])
        if machines.last_end_s[m] > at_s:
            end_s, cost_w = believed_ready_s(machines, m, at_s), machines.last_cost_w[m]
            more_j += cost_w * inside_s(limits, day, start_s, end_s)
            more_j -= cost_w * inside_s(limits, day, true_s, machines.last_end_s[m])
            if day_start_s(limits, day) <= start_s < day_start_s(limits, day + 1):
                more_j += machines.owed_j[m]
    return more_j


@inlined
def task_budget_j(limits, machines, budget_j, used_j, effect_s, day):
    """The fair share of energy of one task, by the filter in use; inf when it does not filter."""
    end_s = day_start_s(limits, day + 1)
    length_s = end_s - max(day_start_s(limits, day), 0.0)
    time_left_s = 0.0
    for m in range(machines.ready_s.size):
        time_left_s += max(0.0, end_s - believed_ready_s(machines, m, effect_s))
    left_j = budget_j - used_j
    if limits.filtering == NO_FILTER or time_left_s <= 0.0 or left_j <= 0.0:
        return np.inf
    n_by_time = time_left_s / limits.mean_exec_s
    if limits.filtering == FAIR_SHARE:
        return limits.leniency * left_j / n_by_time
    all_s = machines.ready_s.size * length_s
    gone_s = all_s - time_left_s
    if used_j <= 0.0 or gone_s <= 0.0:
        return np.inf
    leniency = (budget_j / all_s) / (used_j / gone_s)
    return leniency * left_j / min(n_by_time, left_j / limits.mean_energy_j)


@inlined
def used_on(limits, ledger, machines, day, at_s, is_certain):
    """What the manager believes, at an instant, that all that is fixed uses on a day."""
    return ledger.used_j[day] + (0.0 if is_certain else believed_use_j(limits, machines, day, at_s))


@shared
def open_ledger(limits, ledger, machines, effect_s, is_certain):
    """Find what is left of the day, and which options the filter lets pass."""
    if not limits.has_budget:
        return
    day = event_day(limits, ledger, effect_s)
    used_j = used_on(limits, ledger, machines, day, effect_s, is_certain)
    tomorrow_j = used_on(limits, ledger, machines, day + 1, effect_s, is_certain)
    budget_j = open_day(limits, ledger, day, used_j, tomorrow_j)
    share_j = task_budget_j(limits, machines, budget_j, used_j, effect_s, day)
    factor = tariff_factor(limits, effect_s)
    for option in range(ledger.passes.size):
        ledger.passes[option] = limits.cost_j[option] * factor < share_j


@shared
def insert_edge(ledger, at_s):
    """Make an instant an edge of the committed power; returns its number."""
    low, high = 0, ledger.n_edges[0]
    while low < high:
        middle = (low + high) // 2
        if ledger.edges_s[middle] < at_s:
            low = middle + 1
        else:
            high = middle
    if low < ledger.n_edges[0] and ledger.edges_s[low] == at_s:
        return low
    for j in range(ledger.n_edges[0], low, -1):
        ledger.edges_s[j] = ledger.edges_s[j - 1]
        ledger.level_w[j] = ledger.level_w[j - 1]
    ledger.edges_s[low] = at_s
    ledger.level_w[low] = ledger.level_w[low - 1] if low > 0 else 0.0
    ledger.n_edges[0] += 1
    return low


@shared
def commit_power(limits, ledger, start_s, end_s, cost_w):
    """Add a run to the committed power."""
    if not limits.has_cap or not start_s < end_s:
        return
    first = insert_edge(ledger, start_s)
    for j in range(first, insert_edge(ledger, end_s)):
        ledger.level_w[j] += cost_w


@shared
def open_power(limits, ledger, machines, effect_s):
    """Commit the power of what runs or is pending."""
    ledger.n_edges[0] = 0
    if not limits.has_cap:
        return
    for m in range(machines.ready_s.size):
        if machines.last_start_s[m] > effect_s:
            commit_power(
                limits, ledger, machines.before_start_s[m], machines.before_end_s[m], machines.before_cost_w[m]
            )
        if machines.ready_s[m] > effect_s:
            commit_power(limits, ledger, machines.last_start_s[m], machines.ready_s[m], machines.last_cost_w[m])


@shared
def fits_under_cap(limits, ledger, start_s, end_s, cost_w):
    """Whether a run would keep the power at or below the cap at every instant of it."""
    low, high = 0, ledger.n_edges[0]
    while low < high:
        middle = (low + high) // 2
        if ledger.edges_s[middle] <= start_s:
            low = middle + 1
        else:
            high = middle
    j = low - 1
    at_s = start_s
    while at_s < end_s:
        level_w = ledger.level_w[j] if j >= 0 else 0.0
        hour = int(np.floor(at_s / HOUR_S))
        if level_w + cost_w > limits.cap_w[hour % limits.cap_w.size] - limits.reserve_w:
            return False
        until_s = (hour + 1) * HOUR_S
        if j + 1 < ledger.n_edges[0] and ledger.edges_s[j + 1] <= until_s:
            j += 1
            until_s = ledger.edges_s[j]
        at_s = until_s
    return True


@inlined
def fits_the_day(limits, ledger, option, start_s, end_s, boot_j):
    """Whether a choice starts within the day and keeps its budget and the next day's."""
    if not limits.has_budget:
        return True
    energy_j = limits.cost_j[option] + boot_j
    return start_s < ledger.day_end_s[0] and has_left(ledger, energy_j, limits.cost_w[option], end_s)


@inlined
def is_allowed(limits, ledger, option, start_s, end_s, boot_j):
    """Whether a choice passes the filter, starts within the day, and keeps the budgets and the cap."""
    if not ledger.passes[option]:
        return False
    if not fits_the_day(limits, ledger, option, start_s, end_s, boot_j):
        return False
    return not limits.has_cap or fits_under_cap(limits, ledger, start_s, end_s, limits.cost_w[option])
