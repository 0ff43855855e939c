"""The jobs that wait, in the order in which they are looked at."""

from __future__ import annotations

import numpy as np

from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.jobs.sites.shares import factor_of
from joulewise.kernels.jobs.sites.turns import has_turns, put_newcomers_last, take_turns


@inlined
def _comes_before(run, i, j):
    """Whether a waiting job is looked at before another."""
    tier, key, ready_s = run.ranked.tier, run.waiting.key, run.waiting.ready_s
    if tier[i] != tier[j]:
        return tier[i] > tier[j]
    if key[i] != key[j]:
        return key[i] > key[j]
    return ready_s[i] < ready_s[j] or (ready_s[i] == ready_s[j] and i < j)


@inlined
def _priority_of(run, priority, i, now_s):
    """The priority of a waiting job; not-a-number counts as the lowest."""
    ranked = run.ranked
    rank = priority(
        now_s - run.waiting.ready_s[i], run.coming.planned_s[i], ranked.nodes[i], ranked.share[i],
        ranked.resources[i], factor_of(ranked.shares, i), ranked.standing[i],
    )  # fmt: skip
    return -np.inf if np.isnan(rank) else rank


@inlined
def queue_up(run, priority, i, now_s):
    """A job joins the queue: higher tiers first, then by priority, then who was ready first; whether it passes one.

    One that runs again is as new as others that are ready now, so that it does not pass whom it gave way to. Where
    priorities are seen later, a job is behind all of its tier until then.
    """
    waiting, at = run.waiting, run.waiting.n[0]
    waiting.ready_s[i] = min(now_s, run.coming.since_s[i])
    waiting.key[i] = _priority_of(run, priority, i, now_s) if run.rules.by_shares else -np.inf
    while at > 0 and _comes_before(run, i, waiting.job[at - 1]):
        waiting.job[at] = waiting.job[at - 1]
        at -= 1
    waiting.job[at] = i
    waiting.n[0] += 1
    return at + 1 < waiting.n[0]


@shared
def sort(run, priority, now_s):
    """Put the waiting jobs in order: of higher tiers first, then of higher priority, then as they became ready.

    Whether their order changes.
    """
    waiting = run.waiting
    if has_turns(run):
        put_newcomers_last(run, now_s)
        _put_in_order(run)
        take_turns(run)
        return _put_in_order(run)
    for at in range(waiting.n[0]):
        waiting.key[waiting.job[at]] = _priority_of(run, priority, waiting.job[at], now_s)
    return _put_in_order(run)


@shared
def _put_in_order(run):
    """Put the waiting jobs in order by their keys; whether any changes its place."""
    waiting, has_changed = run.waiting, False
    for at in range(1, waiting.n[0]):  # few change their places from one event to the next
        i, to = waiting.job[at], at
        while to > 0 and _comes_before(run, i, waiting.job[to - 1]):
            waiting.job[to] = waiting.job[to - 1]
            to -= 1
        waiting.job[to] = i
        has_changed |= to < at
    return has_changed
