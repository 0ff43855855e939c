"""What is held ahead for jobs that wait: from the earliest instant at which they fit, as far as planned."""

from __future__ import annotations

import math

from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.jobs.sites.earliest import earliest
from joulewise.kernels.jobs.sites.fitting import choose, take
from joulewise.kernels.jobs.sites.kept import kept_s
from joulewise.kernels.jobs.sites.layout import NOWHERE
from joulewise.kernels.jobs.sites.permuting import IN_ANY_ORDER, has_turned, put_in_order


@shared
def forget_held(run):
    """Nothing is held ahead any longer."""
    for h in range(run.held.size[0]):
        run.held.at_place[run.held.place[h]] = NOWHERE
    run.held.size[0] = 0


@inlined
def take_from_held(run, k, q, count, from_s, until_s):
    """Pieces of a class go to a place for a time: whatever is held there from an instant within it has less left."""
    h = run.held.at_place[q]
    while h != NOWHERE:
        if from_s <= run.held.start_s[h] < until_s:
            take(run, run.held.left, h, k, q, count)
        h = run.held.next[h]


@inlined
def _sort_in(order, n, instants, h):
    """Put row h where its instant belongs among n sorted ones."""
    at = n
    while at > 0 and instants[order[at - 1]] > instants[h]:
        order[at] = order[at - 1]
        at -= 1
    order[at] = h


@inlined
def _rounded(run, at_s):
    """A planned instant as it is planned with: the last whole multiple of the resolution before it, by the clock."""
    resolution_s, clock_s = run.rules.resolution_s, run.rules.clock_s
    if resolution_s == 0.0:
        return at_s
    return math.floor((at_s + clock_s) / resolution_s) * resolution_s - clock_s


@shared
def hold(run, i, now_s):
    """Hold places for a job from the earliest instant on at which it fits, as far as planned."""
    start_s = earliest(run, i, now_s, now_s)
    if start_s < math.inf and start_s <= now_s + run.rules.window_s:
        _hold_from(run, i, start_s)


@shared
def hold_parts(run, c, now_s):
    """Hold places for all parts of a job from the earliest instant at which they fit beside each other."""
    conditions, from_s = run.conditions, now_s
    begin, end = conditions.first_part[c], conditions.first_part[c + 1]
    while True:
        for at in range(begin, end):  # each must fit alone
            from_s = earliest(run, conditions.part[at], now_s, from_s)
        if from_s == math.inf or from_s > now_s + run.rules.window_s:
            return
        if _hold_beside(run, begin, end, now_s, from_s):
            return
        from_s = _next_change(run, from_s)


@shared
def _hold_beside(run, begin, end, now_s, from_s):
    """Hold places for parts from an instant on, in the first order in which all fit; whether there is one."""
    part, held = run.conditions.part, run.held
    at, first = begin, max(begin, end - IN_ANY_ORDER)
    while at < end:
        if earliest(run, part[at], now_s, from_s) == from_s:
            _hold_from(run, part[at], from_s)
            at += 1
            continue
        while at >= begin and not (at >= first and has_turned(part, at, end)):
            at -= 1
            if at >= begin:
                n = held.size[0]
                while n > 0 and held.job[n - 1] == part[at]:
                    n -= 1
                _forget_after(run, n)
        if at < begin:
            return False
    put_in_order(part, begin, end)
    return True


@inlined
def hold_due(run, now_s):
    """Hold nodes for the jobs that wait to have some held for them."""
    conditions = run.conditions
    for d in range(run.waiting.n_due[0]):
        i = run.waiting.due[d]
        if conditions.part_of[i] == NOWHERE:
            hold(run, i, now_s)
        else:
            hold_parts(run, conditions.part_of[i], now_s)
    run.waiting.n_due[0] = 0


@inlined
def _next_change(run, after_s):
    """The next instant at which anything is planned to change, or is held or kept from or until; inf for none."""
    held, soon = run.held, run.kept.n_past[0]
    while kept_s(run, soon) <= after_s:
        soon += 1
    next_s = kept_s(run, soon)
    for at in range(run.planned.n[0]):
        if run.planned.at_s[at] > after_s:
            next_s = min(next_s, run.planned.at_s[at])
            break
    for h in range(held.size[0]):
        for at_s in (held.start_s[h], held.end_s[h]):
            if at_s > after_s:
                next_s = min(next_s, at_s)
    return next_s


@inlined
def _forget_after(run, n):
    """Nothing is held any longer but the first so many pieces."""
    held = run.held
    for h in range(held.size[0] - 1, n - 1, -1):
        q = held.place[h]
        held.at_place[q] = held.next[h]
        take_from_held(run, run.asks.of_job[held.job[h]], q, -held.n_pieces[h], held.start_s[h], held.end_s[h])
    for order in (held.by_start, held.by_end):
        kept = 0
        for at in range(held.size[0]):
            if order[at] < n:
                order[kept] = order[at]
                kept += 1
    held.size[0] = n


@shared
def _hold_from(run, i, start_s):
    """Hold the places for a job from an instant on that has just been found to be the earliest."""
    k = run.asks.of_job[i]
    end_s = start_s + run.coming.planned_s[i]
    start_s, end_s = _rounded(run, start_s), _rounded(run, end_s)
    held, choice = run.held, run.choice
    choose(run, k, choice.free)
    for c in range(choice.n[0]):
        q, count, h = choice.place[c], choice.n_pieces[c], held.size[0]
        take_from_held(run, k, q, count, start_s, end_s)
        held.job[h], held.place[h], held.n_pieces[h] = i, q, count
        held.start_s[h], held.end_s[h] = start_s, end_s
        for r in range(held.left.shape[1]):
            held.left[h, r] = choice.free[q, r]
        take(run, held.left, h, k, q, count)
        held.next[h] = held.at_place[q]
        held.at_place[q] = h
        _sort_in(held.by_start, h, held.start_s, h)
        _sort_in(held.by_end, h, held.end_s, h)
        held.size[0] += 1
