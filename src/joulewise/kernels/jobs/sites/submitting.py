"""Limits on jobs that wait or run, which refuse some as they are submitted, whatever these wait for."""

from __future__ import annotations

import math

from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.jobs.sites.holders import count_for, is_within
from joulewise.kernels.jobs.sites.layout import NOWHERE
from joulewise.kernels.jobs.sites.timed import pop


@shared
def submit(run, fates, n_submitted, until_s):
    """Count jobs that are submitted up to an instant, or refuse them; how many jobs there have been."""
    coming = run.coming
    while n_submitted < coming.arrival_s.size and coming.arrival_s[n_submitted] <= until_s:
        i = n_submitted
        n_submitted += 1
        if coming.time_s[i] == math.inf or fates.is_refused[i]:
            continue
        if is_within(run, fates.admitted, i):
            count_for(run, fates.admitted, i, 1)
        else:
            _refuse(run, fates, i)
    return n_submitted


@shared
def pass_over(run, fates, n_arrived):
    """Let refused jobs not come; how many jobs have come, or do not come when they arrive, up to the next that does."""
    coming = run.coming
    while run.later.size[0] > 0 and fates.is_refused[run.later.job[0]]:
        pop(run.later)
    while n_arrived < coming.arrival_s.size and (coming.waits[n_arrived] or fates.is_refused[n_arrived]):
        n_arrived += 1
    return n_arrived


@inlined
def _refuse(run, fates, i):
    """A job is refused, with all that would have started with it; those before it were counted."""
    conditions, c = run.conditions, run.conditions.part_of[i]
    fates.is_refused[i] = conditions.has_come[i] = True
    if c == NOWHERE:
        return
    for at in range(conditions.first_part[c], conditions.first_part[c + 1]):
        j = conditions.part[at]
        if fates.is_refused[j] or run.coming.time_s[j] == math.inf:
            continue
        if j < i:
            count_for(run, fates.admitted, j, -1)
        fates.is_refused[j] = conditions.has_come[j] = True
