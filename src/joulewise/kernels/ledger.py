"""The energy of days while work is mapped: what each has used, what is left of its budget, what may still be planned.

Tasks and jobs have limits and a ledger of their own, with what is asked of them here: of limits `has_budget`,
`is_total`, `budget_j`, `start_s`, `day_s`, `n_before`, `n_days`, `reserve_w` and the tariff's `factor` by the hour; of
a ledger `used_j` by day (from day -n_before on), `left_j` in the event (of today now, of today when it began, of
tomorrow now) and `day_end_s[0]`. Day d is [start_s + d * day_s, start_s + (d + 1) * day_s).
"""

from __future__ import annotations

import numpy as np

from joulewise.kernels.jit import inlined, shared

HOUR_S = 3600.0
NOW, AT_FIRST, TOMORROW = 0, 1, 2


@inlined
def day_of(limits, at_s):
    """The number of the day that holds an instant, from 0 for the first of the simulation."""
    day = int(np.floor((at_s - limits.start_s) / limits.day_s)) + limits.n_before
    while day_start_s(limits, day) > at_s:
        day -= 1
    while day_start_s(limits, day + 1) <= at_s:
        day += 1
    return day


@inlined
def day_start_s(limits, day):
    return limits.start_s + (day - limits.n_before) * limits.day_s


@shared
def use(limits, ledger, start_s, end_s, cost_w):
    """Note the energy of a run on the days it lies in; what lies beyond the last day counts nowhere."""
    if not limits.has_budget:
        return
    day = day_of(limits, start_s)
    while day < ledger.used_j.size and day_start_s(limits, day) < end_s:
        inside_s = min(end_s, day_start_s(limits, day + 1)) - max(start_s, day_start_s(limits, day))
        ledger.used_j[day] += cost_w * inside_s
        day += 1


@inlined
def use_at(limits, ledger, at_s, energy_j):
    """Note energy that is used at an instant."""
    if limits.has_budget and day_of(limits, at_s) < ledger.used_j.size:
        ledger.used_j[day_of(limits, at_s)] += energy_j


@inlined
def budget_of(limits, ledger, day):
    """What the runs of a day may use: its budget less what machines draw at least."""
    length_s = day_start_s(limits, day + 1) - max(day_start_s(limits, day), 0.0)
    reserve_j = limits.reserve_w * length_s
    if not limits.is_total:
        return limits.budget_j * length_s / limits.day_s - reserve_j
    counted = day - limits.n_before
    if counted < 0:
        return limits.budget_j / limits.n_days * length_s / limits.day_s - reserve_j
    left_j = limits.budget_j
    for earlier in range(limits.n_before, day):
        left_j -= ledger.used_j[earlier] + limits.reserve_w * limits.day_s
    return left_j / max(limits.n_days - counted, 1) - reserve_j


@inlined
def tomorrow_budget_j(limits, ledger, day):
    """What the runs of the next day may use if today's use all of theirs; inf after the last day of a total."""
    next_day = day + 1
    if not limits.is_total or next_day <= limits.n_before:
        return budget_of(limits, ledger, next_day)
    n_left = limits.n_days - (next_day - limits.n_before)
    if n_left <= 0:
        return np.inf
    today_j = max(budget_of(limits, ledger, day), 0.0)
    unused_j = max(today_j - ledger.used_j[day], 0.0)
    return budget_of(limits, ledger, next_day) - unused_j / n_left


@inlined
def tariff_factor(limits, at_s):
    """The cost of energy at an instant over its mean."""
    return limits.factor[int(at_s / HOUR_S) % limits.factor.size]


@inlined
def event_day(limits, ledger, at_s):
    """The day that an event plans for; the ledger has one more after it."""
    return min(day_of(limits, at_s), ledger.used_j.size - 2)


@inlined
def open_day(limits, ledger, day, used_j, used_tomorrow_j):
    """Start an event on a day of which this much is used already, and of the next; returns the day's budget."""
    budget_j = budget_of(limits, ledger, day)
    ledger.left_j[NOW] = ledger.left_j[AT_FIRST] = budget_j - used_j
    ledger.left_j[TOMORROW] = tomorrow_budget_j(limits, ledger, day) - used_tomorrow_j
    ledger.day_end_s[0] = day_start_s(limits, day + 1)
    return budget_j


@inlined
def has_left(ledger, energy_j, cost_w, end_s):
    """Whether today has the energy of a run left, and tomorrow that of what lies after the day's end."""
    after_s = end_s - ledger.day_end_s[0]
    return energy_j <= ledger.left_j[NOW] and not (after_s > 0.0 and cost_w * after_s > ledger.left_j[TOMORROW])


@inlined
def spend_energy(ledger, energy_j, cost_w, end_s):
    """Take a planned run from what is left of today, but for what of it lies after the day's end: from tomorrow."""
    after_j = cost_w * max(end_s - ledger.day_end_s[0], 0.0)
    ledger.left_j[NOW] -= energy_j - after_j
    ledger.left_j[TOMORROW] -= after_j
