"""Limits of a world of parallel jobs: no day uses more than its budget, no instant more power than its cap.

They hold where no job runs for longer than its planner knew. All nodes count as idle, and jobs with what they
draw on top of that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from joulewise.check.findings import RELATIVE_TOLERANCE
from joulewise.check.jobs.case import JobCase, JobRule, job_findings
from joulewise.model.arrays import Floats
from joulewise.model.supply import HOUR_S


def _power_is_known(case: JobCase) -> Iterator[str]:
    if case.world.supply.is_limited:
        rows = case.stretches
        wrong = np.isnan(case.power_w)
        yield from job_findings("power_w", rows.job[wrong], "nan", "a number, for energy or power is limited")


def _days_stay_within_budget(case: JobCase) -> Iterator[str]:
    """No day uses more than its budget, or its share of what is left of a total."""
    supply, before_j = case.world.supply, 0.0
    if math.isinf(supply.budget_j) or not case.is_as_planned:
        return
    edges_s, numbers = _days(case)
    for day, (from_s, to_s), used_j in zip(numbers, pairwise(edges_s), _used_j(case, edges_s), strict=True):
        idle_j = case.all_idle_w * (to_s - from_s)
        budget_j = _share_j(case, day, before_j) * (to_s - from_s) / supply.day_s - idle_j
        if used_j > max(budget_j, 0.0) + RELATIVE_TOLERANCE * supply.budget_j:
            yield f"day {day}: energy over idle nodes: found {used_j!r} J; expected {budget_j!r} J or less"
        if day >= 0:
            before_j += used_j + idle_j


def _days(case: JobCase) -> tuple[list[float], list[int]]:
    """The edges and numbers of the days from instant 0 to the last end; day 0 is the first counted one."""
    start_s, day_s = case.world.jobs.work.start_s, case.world.supply.day_s
    first = math.floor(-start_s / day_s)
    last = math.floor((float(case.stretches.end_s.max(initial=0.0)) - start_s) / day_s)
    numbers = list(range(first, max(last, first) + 1))
    return [max(start_s + day * day_s, 0.0) for day in [*numbers, numbers[-1] + 1]], numbers


def _used_j(case: JobCase, edges_s: list[float]) -> Iterator[float]:
    """What jobs used between each two edges on top of idle nodes."""
    rows = case.stretches
    for from_s, to_s in pairwise(edges_s):
        inside_s = np.maximum(np.minimum(rows.end_s, to_s) - np.maximum(rows.start_s, from_s), 0.0)
        yield float(case.extra_w @ inside_s)


def _share_j(case: JobCase, day: int, before_j: float) -> float:
    """The budget of a whole day, when this much was used on the counted days before it."""
    supply, work = case.world.supply, case.world.jobs.work
    if not supply.is_total:
        return supply.budget_j
    n_days = math.ceil((work.end_s - work.start_s) / supply.day_s)
    if day >= n_days:
        return math.inf  # a total says nothing about the days after it
    return (supply.budget_j - before_j) / (n_days - max(day, 0))


def _power_stays_below_the_cap(case: JobCase) -> Iterator[str]:
    """While something runs, the power of all jobs, with every other node idle, is not above the hour's cap."""
    cap_w, rows = case.world.supply.cap_w, case.stretches
    if cap_w is None or not case.is_as_planned:
        return
    at_s, n_running, power_w = _power(case)
    limit_w = cap_w[np.floor(at_s / HOUR_S).astype(np.int64) % cap_w.size]
    wrong = np.flatnonzero((n_running > 0) & (power_w > limit_w + RELATIVE_TOLERANCE * power_w.max(initial=0.0)))
    if wrong.size:
        found = f"found {float(power_w[wrong[0]])!r} W; expected {float(limit_w[wrong[0]])!r} W or less"
        yield f"power at {float(at_s[wrong[0]])!r} s: {found} (one of {wrong.size} instants of {rows.job.size} runs)"


def _power(case: JobCase) -> tuple[Floats, Floats, Floats]:
    """The instants of a change and full hours, and from each on how many stretches run and the power of everything."""
    rows, extra_w = case.stretches, case.extra_w
    hours_s = np.arange(0.0, float(rows.end_s.max(initial=0.0)), HOUR_S)
    at_s, place = np.unique(np.concatenate((rows.start_s, rows.end_s, hours_s)), return_inverse=True)
    changes = np.zeros((2, at_s.size))
    for row, change in enumerate((np.ones(rows.job.size), extra_w)):
        np.add.at(changes[row], place.ravel(), np.concatenate((change, -change, np.zeros(hours_s.size))))
    n_running, extra = np.cumsum(changes, axis=1)
    return at_s, n_running, extra + case.all_idle_w


LIMIT_RULES: tuple[JobRule, ...] = (_power_is_known, _days_stay_within_budget, _power_stays_below_the_cap)
