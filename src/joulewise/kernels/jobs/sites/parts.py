"""Parts of a job, which start together."""

from __future__ import annotations

from joulewise.kernels.jit import shared
from joulewise.kernels.jobs.sites.ahead import hold_due
from joulewise.kernels.jobs.sites.fitting import could_fit, fits_now
from joulewise.kernels.jobs.sites.holders import count_now, is_allowed
from joulewise.kernels.jobs.sites.layout import NO_ROOM, PASSED_OVER, STARTED
from joulewise.kernels.jobs.sites.power import may_draw
from joulewise.kernels.jobs.sites.running import begin_job, place_job, take_back


@shared
def start_parts(run, c, now_s):
    """Let the parts of a waiting job start if all fit beside each other, or none; what became of them."""
    conditions, n_placed, outcome = run.conditions, 0, NO_ROOM
    begin, end = conditions.first_part[c], conditions.first_part[c + 1]
    for at in range(begin, end):
        if not could_fit(run, run.asks.of_job[conditions.part[at]]):
            return outcome
    hold_due(run, now_s)
    for at in range(begin, end):
        i = conditions.part[at]
        if not fits_now(run, run.asks.of_job[i], now_s, now_s + run.coming.planned_s[i]):
            break
        if not may_draw(run, i, now_s):
            outcome = PASSED_OVER
            break
        place_job(run, i, now_s)
        n_placed += 1
    if n_placed < end - begin:
        for at in range(begin + n_placed - 1, begin - 1, -1):
            take_back(run, conditions.part[at], now_s)
        return outcome
    for at in range(begin, end):
        begin_job(run, conditions.part[at], now_s)
    return STARTED


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
