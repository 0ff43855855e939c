"""Parts of a job, which start together."""

from __future__ import annotations

from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.jobs.sites.ahead import hold_due
from joulewise.kernels.jobs.sites.fitting import could_fit, fits_now
from joulewise.kernels.jobs.sites.holders import count_now, is_allowed
from joulewise.kernels.jobs.sites.layout import NO_ROOM, PASSED_OVER, STARTED
from joulewise.kernels.jobs.sites.permuting import IN_ANY_ORDER, has_turned, put_in_order
from joulewise.kernels.jobs.sites.power import may_draw
from joulewise.kernels.jobs.sites.running import begin_job, place_job, take_back


@shared
def start_parts(run, c, now_s):
    """Let the parts of a waiting job start if all fit beside each other in some order, or none; what became of them."""
    conditions = run.conditions
    begin, end = conditions.first_part[c], conditions.first_part[c + 1]
    for at in range(begin, end):
        if not could_fit(run, run.asks.of_job[conditions.part[at]]):
            return NO_ROOM
    hold_due(run, now_s)
    at, first = begin, max(begin, end - IN_ANY_ORDER)
    while at < end:
        i = conditions.part[at]
        if fits_now(run, run.asks.of_job[i], now_s, now_s + run.coming.planned_s[i]):
            if not may_draw(run, i, now_s):
                _take_all_back(run, begin, at, now_s)
                put_in_order(conditions.part, begin, end)
                return PASSED_OVER
            place_job(run, i, now_s)
            at += 1
            continue
        while at >= begin and not (at >= first and has_turned(conditions.part, at, end)):
            at -= 1
            if at >= begin:
                take_back(run, conditions.part[at], now_s)
        if at < begin:
            return NO_ROOM
    put_in_order(conditions.part, begin, end)
    for at in range(begin, end):
        begin_job(run, conditions.part[at], now_s)
    return STARTED


@inlined
def _take_all_back(run, begin, end, now_s):
    """Parts that have just got their places give them back, the last one first."""
    for at in range(end - 1, begin - 1, -1):
        take_back(run, run.conditions.part[at], now_s)


@shared
def may_parts(run, c, now_s):
    """Whether the partitions of all parts of a job go on, and licences, limits and time allow them together."""
    conditions, n_counted, may = run.conditions, 0, True
    begin, end = conditions.first_part[c], conditions.first_part[c + 1]
    for at in range(begin, end):
        i = conditions.part[at]
        if run.partitions.is_blocked[run.asks.partition[run.asks.of_job[i]]] or not is_allowed(run, i, now_s):
            may = False
            break
        count_now(run, i, 1)
        n_counted += 1
    for at in range(begin, begin + n_counted):
        count_now(run, conditions.part[at], -1)
    return may
