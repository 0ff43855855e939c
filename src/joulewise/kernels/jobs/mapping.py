"""One mapping event for rules that look at one job after another: where it can start first, or wherever chance has it.

A job that can start now does; for the first of the others nodes are held ahead, as many as the rules say.
"""

from __future__ import annotations

import numpy as np

from joulewise.kernels.choice import utility_of
from joulewise.kernels.draws import draw, high_below
from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.jobs.choice import is_hopeless
from joulewise.kernels.jobs.energy import earliest_start, may_use, open_energy, passes, spend
from joulewise.kernels.jobs.layout import DROPPED, WAITING
from joulewise.kernels.jobs.orders import rank_by_priority, rank_in_turn, sort_by_keys
from joulewise.kernels.jobs.pinned import fits_pinned
from joulewise.kernels.jobs.state import (
    AT_RANDOM,
    HELD,
    IN_QUEUES,
    QUEUED,
    begin,
    commit,
    duration_of,
    forget,
    hold,
    release,
)
from joulewise.kernels.jobs.timetable import fits, free_at
from joulewise.kernels.layout import NOBODY


@inlined
def start_now(facts, limits, book, option, duration_s, now_s):
    """Now, if an option can start now, else inf."""
    options = facts.options
    r, nodes = options.cluster[option], options.nodes[option]
    if free_at(book, r, now_s) < nodes or not fits(book, r, nodes, now_s, now_s + duration_s):
        return np.inf
    if book.pins.is_used and not fits_pinned(book.pins, r, nodes, duration_s, now_s):
        return np.inf
    if limits.has_cap and not fits(book, book.size.size - 1, limits.power_mw[option], now_s, now_s + duration_s):
        return np.inf
    return now_s


@inlined
def allowed_start(run, i, option, now_s, may_wait):
    """When a job can start with an option, now or if it may wait later; inf if energy, time or worth forbid it."""
    facts, greed, limits, ledger, book, site = run.facts, run.greed, run.limits, run.ledger, run.book, run.site
    options = facts.options
    duration_s = duration_of(site, options, i, option)
    if not passes(limits, ledger, option):
        return np.inf
    if may_wait:
        r, nodes = options.cluster[option], options.nodes[option]
        start_s = earliest_start(limits, book, r, nodes, limits.power_mw[option], duration_s, now_s)
    else:
        start_s = start_now(facts, limits, book, option, duration_s, now_s)
    if not start_s < np.inf or not may_use(limits, ledger, limits.cost_w[option], duration_s, start_s):
        return np.inf
    if greed.drops_options and utility_of(facts.tasks, facts.utilities, i, start_s + duration_s) < greed.threshold:
        return np.inf
    return start_s


@shared
def soonest_option(run, i, now_s, may_wait):
    """The option with which a job can start first, and when; ties by the rules."""
    facts, rules = run.facts, run.rules
    options, t = facts.options, facts.tasks.task_type[i]
    best, best_s = NOBODY, np.inf
    for option in range(options.first[t], options.first[t + 1]):
        start_s = allowed_start(run, i, option, now_s, may_wait)
        is_faster = rules.by_fastest and best != NOBODY and options.planned_s[option] < options.planned_s[best]
        if start_s < best_s or (start_s == best_s and is_faster):
            best, best_s = option, start_s
    return best, best_s


@shared
def random_option(run, i, now_s, may_wait):
    """One of the options with which a job can start, each as likely, and when."""
    facts, draws = run.facts, run.draws
    options, t = facts.options, facts.tasks.task_type[i]
    best, best_s, n = NOBODY, np.inf, 0
    for option in range(options.first[t], options.first[t + 1]):
        start_s = allowed_start(run, i, option, now_s, may_wait)
        if start_s < np.inf:
            n += 1
            if high_below(draw(draws), n) == 0:
                best, best_s = option, start_s
    return best, best_s


@shared
def drop_from_queue(run, now_s):
    """Drop the waiting jobs that can no longer earn the threshold."""
    site, plan = run.site, run.plan
    kept = 0
    for at in range(site.counts[QUEUED]):
        i = site.queue[at]
        if is_hopeless(run, i, now_s):
            plan.fate[i] = DROPPED
        else:
            site.queue[kept] = i
            kept += 1
    site.counts[QUEUED] = kept


@shared
def put_in_order(run, now_s):
    """Put the waiting jobs into the order in which they are looked at."""
    rules, site, n = run.rules, run.site, run.site.counts[QUEUED]
    if rules.by_arrival:
        for at in range(n):
            site.sequence[at] = site.queue[at]
        return
    if rules.rule == IN_QUEUES:
        rank_in_turn(rules.per_cycle, run.standings, run.facts, site, n)
    else:
        rank_by_priority(run, n, now_s)
    sort_by_keys(site, run.plan, n)


@inlined
def count_ahead(site):
    """For how many jobs nodes are held, other than for the rest of those that were suspended."""
    n = 0
    for at in range(site.counts[HELD]):
        n += site.done_s[site.held[at]] == 0.0
    return n


@inlined
def any_free(facts, book, now_s):
    """Whether any node is free now."""
    for r in range(facts.n_nodes.size):
        if free_at(book, r, now_s) > 0:
            return True
    return False


@shared
def drop_place_holders(run, first, now_s, next_s):
    """Give back what this event holds ahead, from `first` of those held on, but for what is due before the next."""
    site, plan = run.site, run.plan
    kept = first
    for at in range(first, site.counts[HELD]):
        i = site.held[at]
        if plan.start_s[i] < next_s:
            site.held[kept] = i
            kept += 1
        else:
            release(run, i, plan.start_s[i])
            forget(plan, i)
    site.counts[HELD] = kept


@shared
def close_queue(site, plan):
    """Take those out of the queue that have nodes."""
    kept = 0
    for at in range(site.counts[QUEUED]):
        i = site.queue[at]
        if plan.option[i] == NOBODY and plan.fate[i] == WAITING:
            site.queue[kept] = i
            kept += 1
    site.counts[QUEUED] = kept


@shared
def give_nodes(run, i, option, start_s, now_s):
    """Let a waiting job run from now on with an option, or hold its nodes ahead."""
    site, limits = run.site, run.limits
    commit(run, i, option, start_s)
    spend(limits, run.ledger, limits.cost_w[option], duration_of(site, run.facts.options, i, option), start_s)
    if start_s <= now_s:
        begin(run, i)
    else:
        hold(site, i)


@shared
def open_queue(run, now_s):
    """Find what energy is left, and drop the waiting jobs that are without hope; once at the start of an event."""
    open_energy(run.limits, run.ledger, run.book, run.facts.cores, now_s)
    drop_from_queue(run, now_s)


@shared
def settle_queue(run, first, now_s, next_s):
    """Keep what is held ahead as the rules say, from `first` of those held on; the queue is of those without nodes."""
    if not run.rules.is_permanent:
        drop_place_holders(run, first, now_s, next_s)
    close_queue(run.site, run.plan)


@shared
def map_in_order(run, now_s, next_s):
    """Give nodes to one waiting job after another, now or ahead; returns how many start or keep what is held."""
    facts, rules, book, site = run.facts, run.rules, run.book, run.site
    open_queue(run, now_s)
    put_in_order(run, now_s)
    first, n, n_before = site.counts[HELD], site.counts[QUEUED], site.counts[QUEUED]
    n_ahead = count_ahead(site) if rules.is_permanent else 0
    is_free = any_free(facts, book, now_s)
    for at in range(n):
        i = site.sequence[at]
        may_wait = rules.n_ahead < 0 or n_ahead < rules.n_ahead
        if not may_wait and not is_free:
            break
        if rules.rule == AT_RANDOM:
            option, start_s = random_option(run, i, now_s, may_wait)
        else:
            option, start_s = soonest_option(run, i, now_s, may_wait)
        if option != NOBODY:
            give_nodes(run, i, option, start_s, now_s)
            if start_s <= now_s:
                is_free = any_free(facts, book, now_s)
            else:
                n_ahead += 1
        if not rules.backfills and not start_s <= now_s:
            break
    settle_queue(run, first, now_s, next_s)
    return n_before - site.counts[QUEUED]
