"""A site over time: jobs end and come, and at each instant with news the waiting ones are looked at in order."""

from __future__ import annotations

import math

import numpy as np

from joulewise.kernels.events import event_at_or_after
from joulewise.kernels.jit import inlined, kernel, shared
from joulewise.kernels.jobs.sites.ahead import forget_held, hold, hold_due
from joulewise.kernels.jobs.sites.conditions import comes_as
from joulewise.kernels.jobs.sites.failing import fail_nodes, next_failure_s
from joulewise.kernels.jobs.sites.fitting import could_fit, fits_now
from joulewise.kernels.jobs.sites.giving import may_stop_others, starts_in_place_of_others
from joulewise.kernels.jobs.sites.greedy import drop_hopeless, next_best, open_looks
from joulewise.kernels.jobs.sites.holders import is_allowed
from joulewise.kernels.jobs.sites.hours import next_turn_s, turn_partitions
from joulewise.kernels.jobs.sites.kept import kept_s, see_kept
from joulewise.kernels.jobs.sites.layout import ANY_NUMBER, NO_ROOM, NOWHERE, PASSED_OVER, STARTED
from joulewise.kernels.jobs.sites.parts import may_parts, start_parts
from joulewise.kernels.jobs.sites.power import may_draw, next_supply_s
from joulewise.kernels.jobs.sites.prices import move_prices
from joulewise.kernels.jobs.sites.queue import queue_up, sort
from joulewise.kernels.jobs.sites.running import begin_job, end_all, is_outlived, place_job
from joulewise.kernels.jobs.sites.shares import see_shares
from joulewise.kernels.jobs.sites.submitting import pass_over, submit
from joulewise.kernels.jobs.sites.suspending import let_go_on
from joulewise.kernels.jobs.sites.timed import next_s, pop


@inlined
def _come(run, fates, priority, i, now_s):
    """A job is ready; whether one joins the queue and passes another there."""
    if run.conditions.has_come[i]:
        return False
    if fates.giving.is_again[i]:
        run.conditions.has_come[i] = True
        return queue_up(run, priority, i, now_s)
    j = comes_as(run, i)
    return j != NOWHERE and queue_up(run, priority, j, now_s)


@inlined
def _is_for_backfill(run, i):
    """Whether a job has parts, which Slurm's first pass does not look at."""
    return run.rules.in_passes and run.conditions.part_of[i] != NOWHERE


@inlined
def _may_start(run, i, p, now_s):
    """Whether the partition of a job goes on, and licences, limits and time allow the job."""
    c = run.conditions.part_of[i]
    if c != NOWHERE:
        return may_parts(run, c, now_s)
    return not run.partitions.is_blocked[p] and is_allowed(run, i, now_s)


@shared
def _start_if_it_fits(run, i, now_s):
    """Let a waiting job start if it fits beside all that runs and is held ahead; what became of it."""
    k, tried, planned_s = run.asks.of_job[i], run.tried, run.coming.planned_s[i]
    if run.conditions.part_of[i] != NOWHERE:
        return start_parts(run, run.conditions.part_of[i], now_s)
    if tried.after[k] == tried.n_ended[0]:
        return NO_ROOM
    if tried.at_look[k] == tried.look[0] and planned_s >= tried.planned_s[k]:
        return NO_ROOM
    if not could_fit(run, k):
        tried.after[k] = tried.n_ended[0]
        return NO_ROOM
    hold_due(run, now_s)
    if not fits_now(run, k, now_s, now_s + planned_s):
        tried.at_look[k] = tried.look[0]
        tried.planned_s[k] = planned_s
        return NO_ROOM
    if not may_draw(run, i, now_s):
        return PASSED_OVER
    place_job(run, i, now_s)
    begin_job(run, i, now_s)
    return STARTED


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
            outcome = _start_if_it_fits(run, i, now_s)
            if outcome == NO_ROOM and may_stop_others(run, fates.giving, i, now_s):
                outcome = STARTED if starts_in_place_of_others(run, fates, i, now_s) else NO_ROOM
            if outcome == STARTED:
                continue
            if outcome == NO_ROOM and not backfills:
                _wait_for_first(run, i, p)
            elif outcome == NO_ROOM and partitions.n_held[p] < run.rules.n_ahead:
                partitions.n_held[p] += 1
                waiting.due[waiting.n_due[0]] = i
                waiting.n_due[0] += 1
        waiting.job[keep] = i
        keep += 1
    waiting.n[0] = keep


@shared
def _map_greedily(run, fates, now_s):
    """Let the jobs start, or have places held for them, that are worth most, one after another."""
    waiting, keep = run.waiting, 0
    if run.greed.threshold > 0.0:
        drop_hopeless(run, fates, now_s)
    open_looks(run, now_s)
    i = next_best(run, now_s)
    while i != NOWHERE:
        if is_allowed(run, i, now_s) and not run.partitions.is_blocked[run.asks.partition[run.asks.of_job[i]]]:
            until_s = now_s + run.coming.planned_s[i]
            if run.greed.looked_s[i] == now_s and fits_now(run, run.asks.of_job[i], now_s, until_s):
                if may_draw(run, i, now_s):
                    place_job(run, i, now_s)
                    begin_job(run, i, now_s)
            else:
                hold(run, i, now_s)
        i = next_best(run, now_s)
    for at in range(waiting.n[0]):
        if np.isnan(run.start_s[waiting.job[at]]):
            waiting.job[keep] = waiting.job[at]
            keep += 1
    waiting.n[0] = keep
    if run.greed.prices.is_used:
        move_prices(run, now_s)


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
    """Nothing is held ahead, and no partition waits but for its hours."""
    forget_held(run)
    run.waiting.n_due[0] = 0
    run.tried.look[0] += 1
    run.partitions.n_held[:] = 0
    for p in range(run.partitions.is_down.size):
        run.partitions.is_blocked[p] = run.partitions.is_down[p]
    run.partitions.is_closed[:] = False


@inlined
def _next_pass_s(pass_s, interval_s, has_news, now_s):
    """When a kind of pass is due next: where it has just been, only after news."""
    if now_s == pass_s or not has_news:
        return math.inf if now_s == pass_s else pass_s
    return min(pass_s, (math.floor(now_s / interval_s) + 1) * interval_s)


@shared
def _pass_twice(run, fates, pass_s, full_s, has_news, now_s):
    """Slurm's passes over the waiting jobs; when the next ones are due that backfill, and that look at all."""
    rules = run.rules
    _look_through(run, fates, 0, ANY_NUMBER if now_s == full_s else rules.n_first, False, now_s)
    if now_s == pass_s:
        _begin_anew(run)
        _look_through(run, fates, 0, rules.n_tested, rules.backfills, now_s)
    if run.waiting.n[0] == 0:
        return math.inf, math.inf
    next_s = _next_pass_s(pass_s, rules.interval_s, has_news, now_s)
    return next_s, _next_pass_s(full_s, rules.full_s, has_news, now_s)


@inlined
def _next_mapping_s(run, now_s):
    """When what waits is looked at: now, at the next multiple of the interval, or not at all while nobody waits."""
    interval_s = run.rules.mapping_s
    return event_at_or_after(now_s, interval_s) * interval_s if run.waiting.n[0] > 0 else math.inf


@inlined
def _next_news_s(run, fates, n_arrived, now_s):
    """When anything happens next of itself; inf for never."""
    news_s = min(next_s(run.ends), next_s(run.later), kept_s(run, run.kept.n_past[0]))
    news_s = min(news_s, next_failure_s(fates.failing), next_turn_s(fates.hours), next_supply_s(run, now_s))
    arrival_s = run.coming.arrival_s
    return min(news_s, arrival_s[n_arrived]) if n_arrived < arrival_s.size else news_s


@inlined
def _let_happen(run, fates, sorts_always, now_s):
    """Jobs end, what is kept, nodes and partitions change; whether any that wait may fit better than before."""
    is_new = end_all(run, fates, now_s) or sorts_always or is_outlived(run, now_s)
    is_new |= see_kept(run, now_s) or run.power.is_limited
    is_new |= fail_nodes(run, fates, now_s)
    return is_new | turn_partitions(run, fates.hours, now_s)


@inlined
def _let_come(run, fates, priority, n_arrived, now_s):
    """All that are ready now join the queue; how many have arrived, and whether any passes another there."""
    coming, is_new = run.coming, False
    while n_arrived < coming.arrival_s.size and coming.arrival_s[n_arrived] == now_s:
        if not coming.waits[n_arrived]:
            is_new |= _come(run, fates, priority, n_arrived, now_s)
        n_arrived += 1
    while next_s(run.later) == now_s:
        is_new |= _come(run, fates, priority, pop(run.later), now_s)
    return n_arrived, is_new


@kernel
def run_site(run, fates, priority, end_s):
    """Let everything happen up to an instant; at how many instants somebody waited for a decision.

    At one instant all ends come first, then failures, then all submissions and arrivals, those that follow another
    last, then the waiting jobs are looked at; once more if any gave way at once. Where nothing came free, nobody gives
    way and their order stands, those that waited before fit no better than before, and only the new ones are looked at.
    Last of all, suspended jobs go on.
    """
    n_arrived, n_submitted, n_events, pass_s, full_s = 0, 0, 0, math.inf, math.inf
    coming, rules = run.coming, run.rules
    gives_way, refuses = fates.giving.stops.size > 0, fates.admitted.most.size > 0
    is_at_times, sorts_always = rules.mapping_s < math.inf, not (rules.is_by_arrival or rules.by_shares)
    looks_at_all = rules.in_passes or gives_way or run.greed.is_used or is_at_times
    now_s = -math.inf
    while True:
        is_new = fates.giving.is_anew[0]
        if refuses:
            n_arrived = pass_over(run, fates, n_arrived)
        while n_arrived < coming.arrival_s.size and coming.waits[n_arrived]:
            n_arrived += 1
        news_s = now_s
        if not is_new:
            news_s = _next_news_s(run, fates, n_arrived, now_s)
            now_s = min(news_s, pass_s, full_s)
        if refuses:
            n_submitted = submit(run, fates, n_submitted, min(np.nextafter(now_s, -math.inf), end_s))
        if now_s == math.inf or now_s > end_s:
            return n_events
        fates.giving.is_anew[0] = False
        if rules.by_shares and see_shares(run.ranked.shares, now_s):
            is_new |= sort(run, priority, run.ranked.shares.seen_s[0])
        is_new |= _let_happen(run, fates, sorts_always, now_s)
        if refuses:
            n_submitted = submit(run, fates, n_submitted, now_s)
        begin = run.waiting.n[0]
        n_arrived, passes_one = _let_come(run, fates, priority, n_arrived, now_s)
        is_new |= passes_one
        if is_at_times:
            pass_s = _next_mapping_s(run, now_s)
            if pass_s > now_s:
                continue
        n_events += run.waiting.n[0] > 0
        if is_new or looks_at_all:
            begin = 0
            _begin_anew(run)
            if sorts_always:
                sort(run, priority, now_s)
        if rules.in_passes:
            pass_s, full_s = _pass_twice(run, fates, pass_s, full_s, news_s == now_s, now_s)
        elif run.greed.is_used:
            _map_greedily(run, fates, now_s)
        else:
            _look_through(run, fates, begin, ANY_NUMBER, rules.backfills, now_s)
        if is_at_times and not fates.giving.is_anew[0]:
            pass_s = _next_mapping_s(run, np.nextafter(now_s, np.inf))
        if fates.giving.n_suspended[0] > 0 and not fates.giving.is_anew[0]:
            let_go_on(run, fates.giving, now_s)
