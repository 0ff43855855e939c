"""The greedy of parallel jobs (Machovec III.E) on a site: repeatedly the job that is worth most where it starts first.

Whatever is planned within an event only delays others. So what a job was worth when it was looked at bounds what it
is worth later in the event, and jobs are looked at in the order of such bounds. The event is over as soon as none
could start now: what is held ahead for the others would be forgotten with it.
"""

from __future__ import annotations

import numpy as np

from joulewise.kernels.choice import utility_of
from joulewise.kernels.heap import pop, push, replace_top, sift
from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.jobs.sites.earliest import earliest
from joulewise.kernels.jobs.sites.fitting import choose, could_fit, fits_now
from joulewise.kernels.jobs.sites.layout import NOWHERE
from joulewise.kernels.jobs.sites.power import MW_PER_W, drawn_mw


@inlined
def _note_worth(run, i, start_s):
    """What a job is worth that starts then, as its place among others.

    Not-a-number counts as the least, and so does one that what is kept for it leaves no time.
    """
    greed, planned_s = run.greed, run.coming.planned_s[i]
    end_s = start_s + planned_s
    utility = utility_of(greed.tasks, greed.utilities, i, end_s)
    wait_s = start_s - greed.tasks.arrival_s[i]
    gain = greed.value(utility, end_s, planned_s, greed.energy_j[i], wait_s, run.ranked.resources[i])
    greed.heap.value[i] = -np.inf if np.isnan(gain) or start_s == np.inf else gain
    greed.heap.completion_s[i] = end_s


@inlined
def _could_start(run, i, now_s):
    """Whether a job fits now beside all that runs and is held; it does so no more in this event once it does not."""
    k, tried, planned_s = run.asks.of_job[i], run.tried, run.coming.planned_s[i]
    if tried.after[k] == tried.n_ended[0]:
        return False
    if tried.at_look[k] == tried.look[0] and planned_s >= tried.planned_s[k]:
        return False
    if not could_fit(run, k):
        tried.after[k] = tried.n_ended[0]
        return False
    if not fits_now(run, k, now_s, now_s + planned_s):
        tried.at_look[k], tried.planned_s[k] = tried.look[0], planned_s
        return False
    return True


@inlined
def _look_at(run, i, now_s):
    """When a job would start, and what it would use there if that matters."""
    start_s = now_s
    if not _could_start(run, i, now_s):
        start_s = earliest(run, i, now_s, now_s)
        if run.power.prices_places and start_s < np.inf:
            choose(run, run.asks.of_job[i], run.choice.free)
    if run.power.prices_places and start_s < np.inf:
        run.greed.energy_j[i] = drawn_mw(run, i) / MW_PER_W * run.coming.planned_s[i]
    return start_s


@inlined
def open_looks(run):
    """Nobody has been looked at."""
    greed = run.greed
    greed.next[0] = greed.witness[0] = greed.heap.size[0] = 0
    greed.n_plans[0] += 1


@inlined
def _look_anew(run):
    """Forget what those in the heap are worth: it may have risen."""
    heap = run.greed.heap
    for at in range(heap.size[0]):
        i = heap.items[at]
        heap.value[i], heap.completion_s[i] = np.inf, -np.inf
    sift(heap)


@inlined
def _open_tier(run, now_s):
    """Let the jobs of the next tier of the queue be looked at, by what they are worth at most."""
    greed, waiting, tier = run.greed, run.waiting, run.ranked.tier
    first = waiting.job[greed.next[0]]
    while greed.next[0] < waiting.n[0] and tier[waiting.job[greed.next[0]]] == tier[first]:
        i = waiting.job[greed.next[0]]
        if greed.falls_with_time:
            _note_worth(run, i, now_s)
        else:
            greed.heap.value[i], greed.heap.completion_s[i] = np.inf, -np.inf
        greed.looked[i] = NOWHERE
        push(greed.heap, i)
        greed.next[0] += 1


@inlined
def _can_any_start(run, now_s):
    """Whether a job that waits could still start now."""
    greed, waiting = run.greed, run.waiting
    while greed.witness[0] < waiting.n[0]:
        i = waiting.job[greed.witness[0]]
        if np.isnan(run.start_s[i]) and _could_start(run, i, now_s):
            return True
        greed.witness[0] += 1
    return False


@shared
def next_best(run, now_s):
    """The job that is worth most, of those of the highest tier, and `looked_s` tells when it starts.

    NOWHERE once none could start now.
    """
    greed, heap = run.greed, run.greed.heap
    while _can_any_start(run, now_s):
        if heap.size[0] == 0:
            if greed.next[0] == run.waiting.n[0]:
                break
            _open_tier(run, now_s)
        i = heap.items[0]
        if greed.looked[i] == greed.n_plans[0]:
            pop(heap)
            greed.n_plans[0] += 1
            if not greed.falls_with_time:
                _look_anew(run)
            return i
        greed.looked[i] = greed.n_plans[0]
        greed.looked_s[i] = _look_at(run, i, now_s)
        _note_worth(run, i, greed.looked_s[i])
        replace_top(heap, i)
    return NOWHERE
