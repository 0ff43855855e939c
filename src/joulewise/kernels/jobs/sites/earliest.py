"""The earliest instant at which a job fits, as far as running jobs are planned and nodes are held ahead."""

from __future__ import annotations

import math

from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.jobs.sites.fitting import come_near, see, take, units_beside
from joulewise.kernels.jobs.sites.kept import keeps, kept_s
from joulewise.kernels.jobs.sites.layout import NOWHERE
from joulewise.kernels.jobs.sites.outlook import room_for_all_s, room_s_of, see_free, sort_planned

FIRST_WINDOW_S = 30.0
"""Slurm takes planned ends within this time of each other as one where it looks ahead, then within twice as long."""


@shared
def earliest(run, i, now_s, from_s):
    """The earliest instant from one on at which a job fits for as long as it is planned, inf for none.

    The choice has what is free there then.

    Running jobs are taken to end as planned, and those past their plan at once.
    """
    k, planned_s = run.asks.of_job[i], run.coming.planned_s[i]
    if run.asks.is_spread[k] and not run.rules.in_passes and not keeps(run) and _is_held_elsewhere(run, k):
        return _earliest_of_places(run, k, from_s)
    sort_planned(run, now_s)
    planned, at_s, n_ended, n_started, n_over, total = run.planned, now_s, 0, 0, 0, 0
    n_past = run.kept.n_past[0]
    window_s = FIRST_WINDOW_S
    if run.asks.units[k] > 1 or run.conditions.part_of[i] != NOWHERE:
        total = come_near(run, k, run.ground.free, at_s, at_s + planned_s)
    else:  # no place has room now, or the job would have started
        run.choice.look[0] += 1
        run.choice.n_near[0] = 0
    while True:
        while n_ended < planned.n[0] and planned.at_s[n_ended] <= at_s:
            j = planned.job[n_ended]
            for p in range(run.pieces.first[j], run.pieces.first[j] + run.pieces.n[j]):
                total += _change(
                    run, k, run.asks.of_job[j], run.pieces.place[p], -run.pieces.n_pieces[p], at_s, planned_s
                )
            n_ended += 1
        while n_over < run.held.size[0] and run.held.end_s[run.held.by_end[n_over]] <= at_s:
            total += _change_held(run, k, run.held.by_end[n_over], -1, at_s, planned_s)
            n_over += 1
        while n_started < run.held.size[0] and run.held.start_s[run.held.by_start[n_started]] <= at_s:
            total += _change_held(run, k, run.held.by_start[n_started], 1, at_s, planned_s)
            n_started += 1
        while kept_s(run, n_past) <= at_s:
            total += _look_anew(run, k, run.kept.place[n_past], at_s, planned_s)
            n_past += 1
        if at_s >= from_s and total >= run.asks.units[k]:
            for h in range(run.held.size[0]):  # some may have come to lie within the time since they were looked at
                total += _look_again(run, k, run.held.place[h], at_s, planned_s)
            soon = n_past
            while kept_s(run, soon) < at_s + planned_s:
                total += _look_again(run, k, run.kept.place[soon], at_s, planned_s)
                soon += 1
            if total >= run.asks.units[k]:
                return at_s
        at_s = math.inf
        if n_ended < planned.n[0]:
            at_s = planned.at_s[n_ended]
            if run.rules.in_passes and run.conditions.part_of[i] == NOWHERE:
                at_s, window_s = _last_within(planned, n_ended, at_s + window_s), 2 * window_s
        if n_over < run.held.size[0]:
            at_s = min(at_s, run.held.end_s[run.held.by_end[n_over]])
        if n_started < run.held.size[0]:
            at_s = min(at_s, run.held.start_s[run.held.by_start[n_started]])
        at_s = min(at_s, kept_s(run, n_past))
        if at_s == math.inf:
            return at_s


@inlined
def _last_within(planned, at, until_s):
    """The last planned end up to an instant."""
    while at + 1 < planned.n[0] and planned.at_s[at + 1] <= until_s:
        at += 1
    return planned.at_s[at]


@inlined
def _is_held_elsewhere(run, k):
    """Whether nothing is held where a class may run."""
    for h in range(run.held.size[0]):
        if run.asks.gives[k, run.ground.group[run.held.place[h]]] > 0:
            return False
    return True


@inlined
def _earliest_of_places(run, k, from_s):
    """The earliest instant for a class of which no place has more than one piece, and for which nothing is held."""
    at_s, choice = max(from_s, room_for_all_s(run, k)), run.choice
    choice.look[0] += 1
    choice.n_near[0] = 0
    for g in range(run.ground.rank.size):
        if run.asks.gives[k, g] > 0:
            for q in range(run.ground.first[g], run.ground.first[g + 1]):
                if room_s_of(run, k, q) <= at_s:
                    see(run, q)
                    see_free(run, q, at_s)
                    choice.units[q] = 1
    return at_s


@inlined
def _change_held(run, k, h, sign, at_s, planned_s):
    """What is held begins, or is over; how many units more a class would have."""
    return _change(
        run, k, run.asks.of_job[run.held.job[h]], run.held.place[h], sign * run.held.n_pieces[h], at_s, planned_s
    )


@inlined
def _look_anew(run, k, q, at_s, planned_s):
    """How many units more a class would have at a place from or until now on kept for some jobs."""
    if run.asks.gives[k, run.ground.group[q]] == 0:
        return 0
    if run.choice.seen[q] != run.choice.look[0]:
        see(run, q)
    return _look_again(run, k, q, at_s, planned_s)


@inlined
def _change(run, k, of, q, n, at_s, planned_s):
    """Pieces of another class are taken from what will be free at a place; how many units more a class would have."""
    if run.asks.gives[k, run.ground.group[q]] == 0:
        return 0
    if run.choice.seen[q] != run.choice.look[0]:
        see(run, q)
    take(run, run.choice.free, q, of, q, n)
    return _look_again(run, k, q, at_s, planned_s)


@inlined
def _look_again(run, k, q, at_s, planned_s):
    """How many units more than before a class would have at a place that is near."""
    if run.choice.seen[q] != run.choice.look[0]:
        return 0
    before, g = run.choice.units[q], run.ground.group[q]
    run.choice.units[q] = units_beside(run, run.choice.free, q, k, g, at_s, at_s + planned_s)
    return run.choice.units[q] - before
