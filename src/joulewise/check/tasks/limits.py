"""Rules of limited worlds: no day uses more than its budget, no instant more power than its cap.

They hold where machines do what the manager expects.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from joulewise.check.findings import RELATIVE_TOLERANCE
from joulewise.check.tasks.case import ManagedCase
from joulewise.model.arrays import Floats
from joulewise.model.supply import HOUR_S


def days_stay_within_budget(case: ManagedCase) -> Iterator[str]:
    """No day uses more than its budget, or its share of what is left of a total.

    All machines count as idle all day, and runs with what they draw on top of that.
    """
    supply = case.world.supply
    if math.isinf(supply.budget_j) or not case.is_as_planned:
        return
    before_j = 0.0
    for day in _days(case):
        reserve_j = _idle_w(case) * day.length_s
        whole_j = _share_j(case, day.number, before_j)
        budget_j = whole_j * day.length_s / supply.day_s - reserve_j
        if day.used_j > max(budget_j, 0.0) + RELATIVE_TOLERANCE * supply.budget_j:
            found = f"found {day.used_j!r} J; expected {budget_j!r} J or less"
            yield f"day {day.number}: energy over idle machines: {found}"
        if day.number >= 0:
            before_j += day.used_j + reserve_j


def _share_j(case: ManagedCase, day: int, before_j: float) -> float:
    """The budget of a whole day, when this much was used on the counted days before it."""
    supply, work = case.world.supply, case.world.workload
    if not supply.is_total:
        return supply.budget_j
    n_days = math.ceil((work.end_s - work.start_s) / supply.day_s)
    if day >= n_days:
        return math.inf  # a total says nothing about the days after it
    return (supply.budget_j - before_j) / (n_days - max(day, 0))


class _BudgetDay(NamedTuple):
    """A day, and what runs used in it on top of idle machines."""

    number: int
    length_s: float
    used_j: float


def _days(case: ManagedCase) -> Iterator[_BudgetDay]:
    """The days from instant 0 to the last run's end; day 0 is the first counted one."""
    runs, start_s, day_s = case.runs, case.world.workload.start_s, case.world.supply.day_s
    first = math.floor(-start_s / day_s)
    began, ended = (np.floor((at_s - start_s) / day_s).astype(np.int64) for at_s in (runs.start_s, runs.end_s))
    n_days = int(ended.max(initial=first)) - first + 1
    used_j = np.bincount(began - first, _boot_j(case), n_days)
    for later in range(int((ended - began).max(initial=0)) + 1):
        day = np.minimum(began + later, ended)  # a run that has ended has no seconds left on a day after
        from_s, to_s = start_s + (began + later) * day_s, start_s + (began + later + 1) * day_s
        inside_s = np.maximum(np.minimum(runs.end_s, to_s) - np.maximum(runs.start_s, from_s), 0.0)
        used_j += np.bincount(day - first, _extra_w(case) * inside_s, n_days)
    for i, energy_j in enumerate(used_j.tolist()):
        end_s = start_s + (first + i + 1) * day_s
        yield _BudgetDay(first + i, min(end_s, day_s), energy_j)


def power_stays_below_the_cap(case: ManagedCase) -> Iterator[str]:
    """While something runs, the power of all runs, with every other machine idle, is not above the hour's cap."""
    cap_w, runs = case.world.supply.cap_w, case.runs
    if cap_w is None or not case.is_as_planned:
        return
    extra_w, hours_s = _extra_w(case), np.arange(0.0, float(runs.end_s.max(initial=0.0)), HOUR_S)
    edges_s = np.concatenate((runs.end_s, runs.start_s, hours_s))
    changes_w = np.concatenate((-extra_w, extra_w, np.zeros(hours_s.size)))
    starts = np.repeat([-1, 1, 0], (runs.task.size, runs.task.size, hours_s.size))
    at_s, row = np.unique(edges_s, return_inverse=True)
    n_running, runs_w = (np.cumsum(np.bincount(row.ravel(), changes)) for changes in (starts, changes_w))
    power_w = runs_w + _idle_w(case)
    limit_w = cap_w[np.floor(at_s / HOUR_S).astype(np.int64) % cap_w.size]
    slack_w = RELATIVE_TOLERANCE * power_w.max(initial=0.0)
    wrong = np.flatnonzero((n_running > 0.5) & (power_w > limit_w + slack_w))
    if wrong.size:
        power, limit = float(power_w[wrong[0]]), float(limit_w[wrong[0]])
        found = f"found {power!r} W; expected {limit!r} W or less"
        yield f"power at {float(at_s[wrong[0]])!r} s: {found} (one of {wrong.size} instants)"


def _idle_w(case: ManagedCase) -> float:
    """What all machines draw at the meter when all are idle."""
    system = case.world.system
    return 0.0 if system.standby is None else case.world.supply.pue * float(system.counts @ system.standby.idle_w)


def _extra_w(case: ManagedCase) -> Floats:
    """What each run draws at the meter on top of an idle machine."""
    system, kind = case.world.system, case.world.system.machine_type[case.runs.machine]
    assert system.power_w is not None
    idle_w = np.zeros(system.n_machine_types) if system.standby is None else system.standby.idle_w
    power_w = system.power_w[case.world.workload.task_type[case.runs.task], kind, case.runs.pstate]
    return np.asarray(case.world.supply.pue * (power_w - idle_w[kind]))


def _boot_j(case: ManagedCase) -> Floats:
    """What waking up its machine took, on top of an idle one, before each run."""
    standby, runs = case.world.system.standby, case.runs
    energy_j = np.zeros(runs.task.size)
    if standby is not None:
        order = np.lexsort((runs.start_s, runs.machine))
        kind = case.world.system.machine_type[runs.machine[order]]
        free_s = np.maximum(runs.only(order).freed_at_s, 0.0)
        asleep = free_s + standby.sleep_after_s[kind] < runs.start_s[order] - standby.boot_s[kind]
        extra_w = case.world.supply.pue * np.maximum(standby.boot_w - standby.idle_w, 0.0)
        energy_j[order] = np.where(asleep, (extra_w * standby.boot_s)[kind], 0.0)
    return energy_j
