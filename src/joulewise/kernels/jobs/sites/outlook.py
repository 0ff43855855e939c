"""When places of a site will have room, each by itself: what is found is kept until something changes there."""

from __future__ import annotations

import math

from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.jobs.sites.layout import NOWHERE

# The pieces at a place


@inlined
def put(run, row):
    """A piece runs at its place from now on."""
    pieces, q = run.pieces, run.pieces.place[row]
    following = pieces.at_place[q]
    pieces.before[row], pieces.next[row] = NOWHERE, following
    if following != NOWHERE:
        pieces.before[following] = row
    pieces.at_place[q] = row
    run.outlook.changed[q] += 1


@inlined
def remove(run, row):
    """A piece no longer runs."""
    pieces, q = run.pieces, run.pieces.place[row]
    before, following = pieces.before[row], pieces.next[row]
    if before == NOWHERE:
        pieces.at_place[q] = following
    else:
        pieces.next[before] = following
    if following != NOWHERE:
        pieces.before[following] = before
    run.outlook.changed[q] += 1


@inlined
def planned_end_s(run, j):
    """When a job that runs is planned to end."""
    return run.start_s[j] + run.coming.planned_s[j]


@inlined
def end_s(run, j):
    """When a job ends that has started."""
    return run.start_s[j] + run.coming.time_s[j]


# The planned ends


@inlined
def plan_end(run, i):
    """A job that has started will end as planned."""
    planned, at = run.planned, run.planned.n[0]
    planned.job[at], planned.at_s[at] = i, planned_end_s(run, i)
    planned.n[0] += 1


@inlined
def forget_planned(run, i):
    """The end of a job that runs is no longer planned as it was."""
    planned, at = run.planned, 0
    while planned.job[at] != i:
        at += 1
    planned.n[0] -= 1
    planned.n_sorted[0] -= at < planned.n_sorted[0]
    for later in range(at, planned.n[0]):
        planned.job[later], planned.at_s[later] = planned.job[later + 1], planned.at_s[later + 1]


@shared
def sort_planned(run, now_s):
    """Sort the planned ends of what runs; those that ended since the last time are left out."""
    planned, begin = run.planned, run.planned.n_sorted[0]
    if planned.n_ended[0] != run.tried.n_ended[0]:
        begin = 0
    n = begin
    for at in range(begin, planned.n[0]):
        i, at_s, to = planned.job[at], planned.at_s[at], n
        if end_s(run, i) > now_s:
            while to > 0 and planned.at_s[to - 1] > at_s:
                planned.job[to], planned.at_s[to] = planned.job[to - 1], planned.at_s[to - 1]
                to -= 1
            planned.job[to], planned.at_s[to] = i, at_s
            n += 1
    planned.n[0] = planned.n_sorted[0] = n
    planned.n_ended[0] = run.tried.n_ended[0]


# When there is room


@inlined
def _fits(free, need, k, g):
    for r in range(free.size):
        if free[r] < need[k, g, r]:
            return False
    return True


@shared
def _room_s(run, k, q):
    """When a place will have room for a piece of a class: at a planned end, or -inf if it has room now."""
    g, free, at_s = run.ground.group[q], run.outlook.free, -math.inf
    for r in range(free.size):
        free[r] = run.ground.free[q, r]
    while not _fits(free, run.asks.need, k, g):
        next_s = math.inf
        row = run.pieces.at_place[q]
        while row != NOWHERE:
            end_s = planned_end_s(run, run.pieces.job[row])
            if end_s > at_s:
                next_s = min(next_s, end_s)
            row = run.pieces.next[row]
        if next_s == math.inf:
            return next_s
        _leave(run, free, q, at_s, next_s)
        at_s = next_s
    return at_s


@inlined
def _leave(run, free, q, from_s, until_s):
    """Give back what is planned to come free at a place after an instant, up to another."""
    g, row = run.ground.group[q], run.pieces.at_place[q]
    while row != NOWHERE:
        j = run.pieces.job[row]
        if from_s < planned_end_s(run, j) <= until_s:
            for r in range(free.size):
                free[r] += run.pieces.n_pieces[row] * run.asks.need[run.asks.of_job[j], g, r]
        row = run.pieces.next[row]


@shared
def see_free(run, q, at_s):
    """What will be free at a place at an instant as far as planned, into the choice."""
    free = run.outlook.free
    for r in range(free.size):
        free[r] = run.ground.free[q, r]
    _leave(run, free, q, -math.inf, at_s)
    for r in range(free.size):
        run.choice.free[q, r] = free[r]


@inlined
def _row_of(run, k):
    """The row of a class, emptied if it was another's."""
    outlook = run.outlook
    row = k % outlook.owner.size
    if outlook.owner[row] != k:
        outlook.owner[row] = k
        outlook.known[row, :] = -1
    return row


@shared
def room_for_all_s(run, k):
    """When enough places will have room for a class that is spread: a planned end, -inf if they have room now."""
    outlook, n, n_found = run.outlook, run.asks.units[k], 0
    row = _row_of(run, k)
    for g in range(run.ground.rank.size):
        if run.asks.gives[k, g] > 0:
            for q in range(run.ground.first[g], run.ground.first[g + 1]):
                if outlook.known[row, q] != outlook.changed[q]:
                    outlook.known[row, q] = outlook.changed[q]
                    outlook.room_s[row, q] = _room_s(run, k, q)
                at_s = outlook.room_s[row, q]
                if n_found == n and at_s >= outlook.first_s[n - 1]:
                    continue
                at = n_found if n_found < n else n - 1
                while at > 0 and outlook.first_s[at - 1] > at_s:
                    outlook.first_s[at] = outlook.first_s[at - 1]
                    at -= 1
                outlook.first_s[at] = at_s
                n_found += n_found < n
    return outlook.first_s[n - 1]


@inlined
def room_s_of(run, k, q):
    """When a place will have room, of which `room_for_all_s` has just been asked."""
    return run.outlook.room_s[k % run.outlook.owner.size, q]
