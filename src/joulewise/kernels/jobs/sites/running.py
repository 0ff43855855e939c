"""Jobs start, run and end."""

from __future__ import annotations

import math

from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.jobs.sites.ahead import take_from_held
from joulewise.kernels.jobs.sites.conditions import note_end, note_start
from joulewise.kernels.jobs.sites.fitting import take_now
from joulewise.kernels.jobs.sites.holders import count_for, count_now
from joulewise.kernels.jobs.sites.outlook import end_s, forget_planned, plan_end, put, remove
from joulewise.kernels.jobs.sites.power import draw, stop_drawing
from joulewise.kernels.jobs.sites.shares import note_share
from joulewise.kernels.jobs.sites.timed import next_s, pop, push


@inlined
def _change_free(run, i, sign):
    """A job takes what it needs, or gives it back."""
    k = run.asks.of_job[i]
    for p in range(run.pieces.first[i], run.pieces.first[i] + run.pieces.n[i]):
        q = run.pieces.place[p]
        take_now(run, k, q, sign * run.pieces.n_pieces[p])
        if sign > 0:
            put(run, p)
        else:
            remove(run, p)
    count_now(run, i, sign)


@inlined
def place_job(run, i, now_s):
    """A job gets the places that were chosen."""
    k, first, choice = run.asks.of_job[i], run.pieces.first[i], run.choice
    until_s = now_s + run.coming.planned_s[i]
    for c in range(choice.n[0]):
        run.pieces.job[first + c] = i
        run.pieces.place[first + c] = choice.place[c]
        run.pieces.n_pieces[first + c] = choice.n_pieces[c]
        take_from_held(run, k, choice.place[c], choice.n_pieces[c], now_s, until_s)
    run.pieces.n[i] = choice.n[0]
    run.start_s[i] = now_s
    draw(run, i, now_s)
    _change_free(run, i, 1)


@inlined
def take_back(run, i, now_s):
    """A job that has just got its places gives them back, as if nothing had been."""
    k, until_s = run.asks.of_job[i], now_s + run.coming.planned_s[i]
    stop_drawing(run, i, now_s)
    _change_free(run, i, -1)
    for p in range(run.pieces.first[i], run.pieces.first[i] + run.pieces.n[i]):
        take_from_held(run, k, run.pieces.place[p], -run.pieces.n_pieces[p], now_s, until_s)
    run.pieces.n[i] = 0
    run.start_s[i] = math.nan


@inlined
def begin_job(run, i, now_s):
    """A job runs from now on at its places."""
    if run.rules.by_shares:
        note_share(run.ranked.shares, i, now_s, 1)
    push(run.ends, i, now_s + run.coming.time_s[i])
    plan_end(run, i)
    if run.coming.time_s[i] > run.coming.planned_s[i]:
        push(run.outlived, i, now_s + run.coming.planned_s[i])
    note_start(run, i, now_s)


@shared
def end_all(run, fates, now_s):
    """End all jobs that end now; whether there are any."""
    n = 0
    while next_s(run.ends) == now_s:
        end_job(run, fates, pop(run.ends), now_s)
        n += 1
    return n > 0


@inlined
def leave(run, i, now_s):
    """A job gives back what it has."""
    stop_drawing(run, i, now_s)
    _change_free(run, i, -1)
    if run.rules.by_shares:
        note_share(run.ranked.shares, i, now_s, -1)
    run.tried.n_ended[0] += 1


@inlined
def end_job(run, fates, i, now_s):
    """A job ends, for good unless it gave way and runs again."""
    leave(run, i, now_s)
    if fates.giving.is_cut[i] and not fates.giving.cancels[fates.giving.of_job[i]]:
        run_again(run, fates, i, now_s)
        return
    if fates.giving.is_cut[i]:
        fates.giving.is_cancelled[i] = run.conditions.is_bad[i] = True
    count_for(run, fates.admitted, i, -1)
    note_end(run, i, now_s)


@shared
def note_stretch(run, lost, i, now_s, goes_on):
    """A stretch of a job that is not its last ends: it was in vain, unless the job goes on from there."""
    pieces, at = run.pieces, lost.n[0]
    if at == lost.job.size or lost.n_rows[0] + pieces.n[i] > lost.place.size:
        lost.is_full[0] = True
        return
    lost.job[at], lost.start_s[at], lost.end_s[at], lost.goes_on[at] = i, run.start_s[i], now_s, goes_on
    lost.n[0] += 1
    for p in range(pieces.first[i], pieces.first[i] + pieces.n[i]):
        row = lost.n_rows[0]
        lost.stretch[row], lost.place[row], lost.n_pieces[row] = at, pieces.place[p], pieces.n_pieces[p]
        lost.n_rows[0] += 1


@inlined
def run_again(run, fates, i, now_s):
    """A job that gave way, or lost a node, waits once more, with all of its time before it; what it ran is lost."""
    giving = fates.giving
    note_stretch(run, fates.lost, i, now_s, False)
    run.pieces.n[i] = 0
    forget_planned(run, i)
    run.start_s[i] = math.nan
    run.coming.time_s[i], run.coming.planned_s[i] = giving.time_s[i], giving.planned_s[i]
    giving.is_cut[i], giving.is_again[i], run.conditions.has_come[i] = False, True, False
    push(run.later, i, now_s)


@inlined
def is_outlived(run, now_s):
    """Whether any job runs on that was planned to have ended."""
    while run.outlived.size[0] > 0 and end_s(run, run.outlived.job[0]) <= now_s:
        pop(run.outlived)
    return next_s(run.outlived) <= now_s
