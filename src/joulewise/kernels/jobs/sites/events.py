"""A site over time: jobs end and come, and at each instant with news the waiting ones are looked at in order."""

from __future__ import annotations

import math

import numpy as np

from joulewise.kernels.jit import inlined, kernel, shared
from joulewise.kernels.jobs.sites.conditions import comes_as, note_end, note_start
from joulewise.kernels.jobs.sites.fitting import (
    could_fit,
    fits_now,
    forget_held,
    has_licences,
    hold,
    hold_parts,
    take_from_held,
    take_now,
)
from joulewise.kernels.jobs.sites.giving import may_stop_others, who_gives_way
from joulewise.kernels.jobs.sites.greedy import next_best, open_looks
from joulewise.kernels.jobs.sites.kept import kept_s, may_still_start, see_kept
from joulewise.kernels.jobs.sites.layout import ANY_NUMBER, NOWHERE
from joulewise.kernels.jobs.sites.outlook import end_s, forget_planned, plan_end, planned_end_s, put, remove
from joulewise.kernels.jobs.sites.shares import factor_of, note_share, see_shares
from joulewise.kernels.jobs.sites.timed import next_s, pop, push, take_out

# Jobs end, come and start


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
    _count_now(run, i, sign)


@inlined
def _count_now(run, i, sign):
    """The holders of a job, and who has licences, have more, or less, than before."""
    k = run.asks.of_job[i]
    for lic in range(run.ground.licences.size):
        run.ground.licences[lic] -= sign * run.asks.licences[k, lic]
    _count(run, run.limits, i, sign)


@inlined
def _count(run, limits, i, sign):
    """The holders of a job have more, or less, than before."""
    k = run.asks.of_job[i]
    for slot in range(limits.holders.shape[1]):
        b = limits.holders[i, slot]
        if b != NOWHERE:
            for w in range(limits.most.shape[1]):
                limits.used[b, w] += sign * limits.uses[k, w]


@inlined
def _is_within(run, limits, i):
    """Whether all holders of a job may have what it uses beside what they have."""
    k = run.asks.of_job[i]
    for slot in range(limits.holders.shape[1]):
        b = limits.holders[i, slot]
        if b != NOWHERE:
            for w in range(limits.most.shape[1]):
                if limits.used[b, w] + limits.uses[k, w] > limits.most[b, w]:
                    return False
    return True


@shared
def _end_all(run, fates, now_s):
    """End all jobs that end now; whether there are any."""
    n = 0
    while next_s(run.ends) == now_s:
        _end(run, fates, pop(run.ends), now_s)
        n += 1
    return n > 0


@inlined
def _end(run, fates, i, now_s):
    """A job ends, for good unless it gave way and runs again."""
    _change_free(run, i, -1)
    if run.rules.by_shares:
        note_share(run.ranked.shares, i, now_s, -1)
    run.tried.n_ended[0] += 1
    if fates.giving.is_cut[i] and not fates.giving.cancels[fates.giving.of_job[i]]:
        _run_again(run, fates, i, now_s)
        return
    if fates.giving.is_cut[i]:
        fates.giving.is_cancelled[i] = run.conditions.is_bad[i] = True
    _count(run, fates.admitted, i, -1)
    note_end(run, i, now_s)


@inlined
def _run_again(run, fates, i, now_s):
    """A job that gave way waits once more, with all of its time before it; what it ran is lost."""
    lost, pieces, giving = fates.lost, run.pieces, fates.giving
    if lost.n[0] == lost.job.size or lost.n_rows[0] + pieces.n[i] > lost.place.size:
        lost.is_full[0] = True
    else:
        at = lost.n[0]
        lost.job[at], lost.start_s[at], lost.end_s[at] = i, run.start_s[i], now_s
        lost.n[0] += 1
        for p in range(pieces.first[i], pieces.first[i] + pieces.n[i]):
            row = lost.n_rows[0]
            lost.stretch[row], lost.place[row], lost.n_pieces[row] = at, pieces.place[p], pieces.n_pieces[p]
            lost.n_rows[0] += 1
    pieces.n[i] = 0
    forget_planned(run, i)
    run.start_s[i] = math.nan
    run.coming.time_s[i], run.coming.planned_s[i] = giving.time_s[i], giving.planned_s[i]
    giving.is_cut[i], giving.is_again[i], run.conditions.has_come[i] = False, True, False
    push(run.later, i, now_s)


@inlined
def _is_outlived(run, now_s):
    """Whether any job runs on that was planned to have ended."""
    while run.outlived.size[0] > 0 and end_s(run, run.outlived.job[0]) <= now_s:
        pop(run.outlived)
    return next_s(run.outlived) <= now_s


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
def _queue_up(run, priority, i, now_s):
    """A job joins the queue: higher tiers first, then by priority, then who was ready first; whether it passes one.

    One that runs again is as new as others that are ready now, so that it does not pass whom it gave way to.
    """
    waiting, at = run.waiting, run.waiting.n[0]
    waiting.ready_s[i] = now_s
    if run.rules.by_shares:
        waiting.key[i] = _priority_of(run, priority, i, now_s)
    while at > 0 and _comes_before(run, i, waiting.job[at - 1]):
        waiting.job[at] = waiting.job[at - 1]
        at -= 1
    waiting.job[at] = i
    waiting.n[0] += 1
    return at + 1 < waiting.n[0]


@inlined
def _refuse(run, fates, i):
    """A job is refused, with all that would have started with it."""
    conditions, c = run.conditions, run.conditions.part_of[i]
    fates.is_refused[i] = conditions.has_come[i] = True
    if c == NOWHERE:
        return
    for at in range(conditions.first_part[c], conditions.first_part[c + 1]):
        j = conditions.part[at]
        if fates.is_refused[j] or run.coming.time_s[j] == math.inf:
            continue
        if conditions.has_come[j]:
            _count(run, fates.admitted, j, -1)
        fates.is_refused[j] = conditions.has_come[j] = True


@inlined
def _come(run, fates, priority, i, now_s):
    """A job is ready, or refused if its holders have too many; whether one joins the queue and passes another there."""
    if run.conditions.has_come[i]:
        return False
    if fates.giving.is_again[i]:
        run.conditions.has_come[i] = True
        return _queue_up(run, priority, i, now_s)
    if not _is_within(run, fates.admitted, i):
        _refuse(run, fates, i)
        return False
    _count(run, fates.admitted, i, 1)
    j = comes_as(run, i)
    return j != NOWHERE and _queue_up(run, priority, j, now_s)


@inlined
def _place(run, i, now_s):
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
    _change_free(run, i, 1)


@inlined
def _take_back(run, i, now_s):
    """A job that has just got its places gives them back, as if nothing had been."""
    k, until_s = run.asks.of_job[i], now_s + run.coming.planned_s[i]
    _change_free(run, i, -1)
    for p in range(run.pieces.first[i], run.pieces.first[i] + run.pieces.n[i]):
        take_from_held(run, k, run.pieces.place[p], -run.pieces.n_pieces[p], now_s, until_s)
    run.pieces.n[i] = 0
    run.start_s[i] = math.nan


@inlined
def _begin(run, i, now_s):
    """A job runs from now on at its places."""
    if run.rules.by_shares:
        note_share(run.ranked.shares, i, now_s, 1)
    push(run.ends, i, now_s + run.coming.time_s[i])
    plan_end(run, i)
    if run.coming.time_s[i] > run.coming.planned_s[i]:
        push(run.outlived, i, now_s + run.coming.planned_s[i])
    note_start(run, i, now_s)


# Who gives way


@inlined
def _hold_due(run, now_s):
    """Hold nodes for the jobs that wait to have some held for them."""
    conditions = run.conditions
    for d in range(run.waiting.n_due[0]):
        i = run.waiting.due[d]
        if conditions.part_of[i] == NOWHERE:
            hold(run, i, now_s)
        else:
            hold_parts(run, conditions.part_of[i], now_s)
    run.waiting.n_due[0] = 0


@shared
def _starts_in_place_of_others(run, fates, i, now_s):
    """Let jobs give way to one that fits then, at once or when their grace is over; whether it starts now."""
    _hold_due(run, now_s)
    giving, grace_s = fates.giving, 0.0
    n = who_gives_way(run, fates.giving, i, now_s)
    for at in range(n):
        grace_s = max(grace_s, giving.grace_s[giving.of_job[giving.chosen[at]]])
    for at in range(n):
        _cut(run, fates, giving.chosen[at], now_s)
    if n == 0 or grace_s > 0.0:
        giving.patient_s[i] = now_s + grace_s
        return False
    _place(run, i, now_s)
    _begin(run, i, now_s)
    return True


@inlined
def _cut(run, fates, j, now_s):
    """A job gives way: at once, or when its grace is over if it has not ended before."""
    giving, pieces = fates.giving, run.pieces
    left_s = now_s + giving.grace_s[giving.of_job[j]] - run.start_s[j]
    if left_s >= run.coming.time_s[j]:
        return
    giving.is_cut[j] = True
    for p in range(pieces.first[j], pieces.first[j] + pieces.n[j]):
        if giving.grace_s[giving.of_job[j]] == 0.0:
            count = -pieces.n_pieces[p]
            take_from_held(run, run.asks.of_job[j], pieces.place[p], count, now_s, planned_end_s(run, j))
        run.outlook.changed[pieces.place[p]] += 1
    forget_planned(run, j)
    take_out(run.ends, j)
    take_out(run.outlived, j)
    run.coming.time_s[j] = run.coming.planned_s[j] = left_s
    plan_end(run, j)
    if giving.grace_s[giving.of_job[j]] == 0.0:
        _end(run, fates, j, now_s)
        run.tried.look[0] += 1
        giving.is_anew[0] = True
    else:
        push(run.ends, j, end_s(run, j))


# Who starts


@shared
def _start_parts(run, c, now_s):
    """Let the parts of a waiting job start if all fit beside each other, or none; whether they did."""
    conditions, n_placed = run.conditions, 0
    begin, end = conditions.first_part[c], conditions.first_part[c + 1]
    for at in range(begin, end):
        if not could_fit(run, run.asks.of_job[conditions.part[at]]):
            return False
    _hold_due(run, now_s)
    for at in range(begin, end):
        i = conditions.part[at]
        if not fits_now(run, run.asks.of_job[i], now_s, now_s + run.coming.planned_s[i]):
            break
        _place(run, i, now_s)
        n_placed += 1
    if n_placed < end - begin:
        for at in range(begin + n_placed - 1, begin - 1, -1):
            _take_back(run, conditions.part[at], now_s)
        return False
    for at in range(begin, end):
        _begin(run, conditions.part[at], now_s)
    return True


@inlined
def _is_allowed(run, i, now_s):
    """Whether licences and limits are enough for a job now, and what is kept for it lasts for long enough."""
    return has_licences(run, run.asks.of_job[i]) and _is_within(run, run.limits, i) and may_still_start(run, i, now_s)


@shared
def _may_parts(run, c, now_s):
    """Whether the partitions of all parts of a job go on, and licences, limits and time allow them together."""
    conditions, n_counted, may = run.conditions, 0, True
    begin, end = conditions.first_part[c], conditions.first_part[c + 1]
    for at in range(begin, end):
        i = conditions.part[at]
        if run.partitions.is_blocked[run.asks.partition[run.asks.of_job[i]]] or not _is_allowed(run, i, now_s):
            may = False
            break
        _count_now(run, i, 1)
        n_counted += 1
    for at in range(begin, begin + n_counted):
        _count_now(run, conditions.part[at], -1)
    return may


@inlined
def _is_for_backfill(run, i):
    """Whether a job has parts, which Slurm's first pass does not look at."""
    return run.rules.in_passes and run.conditions.part_of[i] != NOWHERE


@inlined
def _may_start(run, i, p, now_s):
    """Whether the partition of a job goes on, and licences, limits and time allow the job."""
    c = run.conditions.part_of[i]
    if c != NOWHERE:
        return _may_parts(run, c, now_s)
    return not run.partitions.is_blocked[p] and _is_allowed(run, i, now_s)


@shared
def _start_if_it_fits(run, i, now_s):
    """Let a waiting job start if it fits beside all that runs and is held ahead; whether it did."""
    k, tried, planned_s = run.asks.of_job[i], run.tried, run.coming.planned_s[i]
    if run.conditions.part_of[i] != NOWHERE:
        return _start_parts(run, run.conditions.part_of[i], now_s)
    if tried.after[k] == tried.n_ended[0]:
        return False
    if tried.at_look[k] == tried.look[0] and planned_s >= tried.planned_s[k]:
        return False
    if not could_fit(run, k):
        tried.after[k] = tried.n_ended[0]
        return False
    _hold_due(run, now_s)
    if not fits_now(run, k, now_s, now_s + planned_s):
        tried.at_look[k] = tried.look[0]
        tried.planned_s[k] = planned_s
        return False
    _place(run, i, now_s)
    _begin(run, i, now_s)
    return True


@shared
def _look_through(run, fates, begin, n_most, backfills, now_s):
    """Look at the waiting jobs from a place in the order on: each starts, or may have places held for it."""
    waiting, partitions = run.waiting, run.partitions
    keep, n_looked = begin, 0
    for at in range(begin, waiting.n[0]):
        i = waiting.job[at]
        p = run.asks.partition[run.asks.of_job[i]]
        n_looked += 1
        if n_looked <= n_most and (backfills or not _is_for_backfill(run, i)) and _may_start(run, i, p, now_s):
            if _start_if_it_fits(run, i, now_s):
                continue
            if may_stop_others(run, fates.giving, i, now_s) and _starts_in_place_of_others(run, fates, i, now_s):
                continue
            if not backfills:
                _wait_for_first(run, i, p)
            elif partitions.n_held[p] < run.rules.n_ahead:
                partitions.n_held[p] += 1
                waiting.due[waiting.n_due[0]] = i
                waiting.n_due[0] += 1
        waiting.job[keep] = i
        keep += 1
    waiting.n[0] = keep


@shared
def _map_greedily(run, now_s):
    """Let the jobs start, or have places held for them, that are worth most, one after another."""
    waiting, keep = run.waiting, 0
    open_looks(run)
    i = next_best(run, now_s)
    while i != NOWHERE:
        if _is_allowed(run, i, now_s):
            until_s = now_s + run.coming.planned_s[i]
            if run.greed.looked_s[i] == now_s and fits_now(run, run.asks.of_job[i], now_s, until_s):
                _place(run, i, now_s)
                _begin(run, i, now_s)
            else:
                hold(run, i, now_s)
        i = next_best(run, now_s)
    for at in range(waiting.n[0]):
        if np.isnan(run.start_s[waiting.job[at]]):
            waiting.job[keep] = waiting.job[at]
            keep += 1
    waiting.n[0] = keep


@inlined
def _wait_for_first(run, i, p):
    """The partitions of a job wait for it, as their first that cannot start, in Slurm's first pass with all nodes."""
    conditions, c = run.conditions, run.conditions.part_of[i]
    run.partitions.is_blocked[p] = True
    if c != NOWHERE:
        for at in range(conditions.first_part[c], conditions.first_part[c + 1]):
            run.partitions.is_blocked[run.asks.partition[run.asks.of_job[conditions.part[at]]]] = True
    if run.rules.in_passes:
        for g in range(run.partitions.is_closed.size):
            run.partitions.is_closed[g] |= run.partitions.has[p, g]


@shared
def _begin_anew(run):
    """Nothing is held ahead, and no partition waits."""
    forget_held(run)
    run.waiting.n_due[0] = 0
    run.tried.look[0] += 1
    run.partitions.n_held[:] = 0
    run.partitions.is_blocked[:] = False
    run.partitions.is_closed[:] = False


@shared
def _sort(run, priority, now_s):
    """Put the waiting jobs in order: of higher tiers first, then of higher priority, then as they became ready.

    Whether their order changes.
    """
    waiting, has_changed = run.waiting, False
    for at in range(waiting.n[0]):
        waiting.key[waiting.job[at]] = _priority_of(run, priority, waiting.job[at], now_s)
    for at in range(1, waiting.n[0]):  # few change their places from one event to the next
        i, to = waiting.job[at], at
        while to > 0 and _comes_before(run, i, waiting.job[to - 1]):
            waiting.job[to] = waiting.job[to - 1]
            to -= 1
        waiting.job[to] = i
        has_changed |= to < at
    return has_changed


@shared
def _pass_twice(run, fates, pass_s, now_s):
    """Slurm's passes over the waiting jobs; when the next one is due that lets later jobs start before others."""
    rules = run.rules
    _look_through(run, fates, 0, rules.n_first, False, now_s)
    if now_s == pass_s:
        _begin_anew(run)
        _look_through(run, fates, 0, rules.n_tested, rules.backfills, now_s)
        return math.inf
    if run.waiting.n[0] == 0:
        return math.inf
    return min(pass_s, (math.floor(now_s / rules.interval_s) + 1) * rules.interval_s)


@kernel
def run_site(run, fates, priority, end_s):
    """Let everything happen up to an instant; at how many instants somebody waited for a decision.

    At one instant all ends come first, then all arrivals, those that follow another last, then the waiting jobs are
    looked at; once more if any gave way at once. Where nothing came free, nobody gives way and their order
    stands, those that waited before fit no better than before, and only the new ones are looked at.
    """
    n_arrived, n_events, coming, rules, pass_s = 0, 0, run.coming, run.rules, math.inf
    gives_way = fates.giving.stops.size > 0
    now_s = -math.inf
    while True:
        is_new = fates.giving.is_anew[0]
        now_s = now_s if is_new else min(next_s(run.ends), next_s(run.later), pass_s, kept_s(run, run.kept.n_past[0]))
        while n_arrived < coming.arrival_s.size and coming.waits[n_arrived]:
            n_arrived += 1
        if n_arrived < coming.arrival_s.size and not is_new:
            now_s = min(now_s, coming.arrival_s[n_arrived])
        if now_s == math.inf or now_s > end_s:
            return n_events
        sorts_always = not (rules.is_by_arrival or rules.by_shares)
        fates.giving.is_anew[0] = False
        if rules.by_shares and see_shares(run.ranked.shares, now_s):
            is_new |= _sort(run, priority, run.ranked.shares.seen_s[0])
        is_new |= _end_all(run, fates, now_s) or sorts_always or _is_outlived(run, now_s)
        is_new |= see_kept(run, now_s)
        begin = run.waiting.n[0]
        while n_arrived < coming.arrival_s.size and coming.arrival_s[n_arrived] == now_s:
            if not coming.waits[n_arrived]:
                is_new |= _come(run, fates, priority, n_arrived, now_s)
            n_arrived += 1
        while next_s(run.later) == now_s:
            is_new |= _come(run, fates, priority, pop(run.later), now_s)
        n_events += run.waiting.n[0] > 0
        if is_new or rules.in_passes or gives_way or run.greed.is_used:
            begin = 0
            _begin_anew(run)
            if sorts_always:
                _sort(run, priority, now_s)
        if rules.in_passes:
            pass_s = _pass_twice(run, fates, pass_s, now_s)
        elif run.greed.is_used:
            _map_greedily(run, now_s)
        else:
            _look_through(run, fates, begin, ANY_NUMBER, rules.backfills, now_s)
