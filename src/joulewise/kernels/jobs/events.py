"""Parallel jobs over time: one event after another, each in the same steps.

At one instant jobs end first, then plans that are outlived are raised and nodes fail or come back, then jobs start for
which nodes were held, then jobs become ready, and then, where it is time for that, waiting jobs are mapped.
"""

from __future__ import annotations

import numpy as np

from joulewise.kernels.events import event_at_or_after
from joulewise.kernels.jit import inlined, kernel, shared
from joulewise.kernels.jobs.energy import open_cap, take_nodes, use_energy
from joulewise.kernels.jobs.greedy import drop_hopeless, greedy_pass
from joulewise.kernels.jobs.live_prices import adjust_job_prices, first_prices_of_queue, open_prices
from joulewise.kernels.jobs.mapping import close_queue, map_in_order, open_queue, settle_queue
from joulewise.kernels.jobs.outages import change_nodes, next_change, open_outages, renew_held
from joulewise.kernels.jobs.preempt import preempt_for_newcomers
from joulewise.kernels.jobs.raising import raised_end
from joulewise.kernels.jobs.state import (
    ASSIGNED,
    EVENT,
    FREED,
    GREEDY,
    HELD,
    HORIZON,
    LAST,
    N_HELD,
    N_QUEUED,
    NEW,
    OPENED,
    QUEUED,
    STUCK,
    WORKED,
    admit_ready,
    begin,
    end_jobs,
    hold,
    n_waiting,
    next_ready,
    next_start,
    start_held,
)
from joulewise.kernels.jobs.timetable import forget_before
from joulewise.kernels.ledger import HOUR_S, day_of, day_start_s


@shared
def next_event(run, now_s):
    """When waiting jobs are mapped next if nothing changes before; inf if no job waits or only changes count."""
    rules, limits, site = run.rules, run.limits, run.site
    if n_waiting(run) == 0:
        return np.inf
    if rules.interval_s < np.inf:
        return max(site.counts[EVENT] + 1, event_at_or_after(now_s, rules.interval_s)) * rules.interval_s
    event_s = np.inf
    if limits.has_cap and limits.cap_mw.size > 1:
        event_s = (np.floor(now_s / HOUR_S) + 1.0) * HOUR_S
    if limits.has_budget:
        event_s = min(event_s, day_start_s(limits, day_of(limits, now_s) + 1))
    return event_s


@shared
def next_raise(run):
    """When the first of the running jobs may outlive its plan and somebody waits; inf if no plans are raised."""
    site, raise_s = run.site, np.inf
    if run.raising.steps_s.size > 0 and n_waiting(run) + site.counts[HELD] > 0:
        for at in range(site.running.size[0]):
            raise_s = min(raise_s, site.book_end_s[site.running.items[at]])
    return raise_s


@shared
def next_instant(run, now_s, is_stuck):
    """The next instant at which anything happens; inf if nothing will."""
    site, plan, outages = run.site, run.plan, run.outages
    end_s = -site.running.value[site.running.items[0]] if site.running.size[0] > 0 else np.inf
    change_s = min(min(end_s, next_start(site, plan)), min(next_ready(run), next_change(outages, site)))
    change_s = min(change_s, next_raise(run))
    event_s = next_event(run, now_s)
    return change_s if is_stuck and change_s == np.inf else min(change_s, event_s)


@shared
def extend_overruns(run, now_s):
    """Raise the plans of jobs that run past them or, without steps to do it by, take them to end right after now.

    Returns whether there are any.
    """
    facts, limits, ledger, book, site, plan = run.facts, run.limits, run.ledger, run.book, run.site, run.plan
    raising, after_s, any_late = run.raising, np.nextafter(now_s, np.inf), False
    for at in range(site.running.size[0]):
        i = site.running.items[at]
        if site.book_end_s[i] <= now_s:
            options, option, end_s = facts.options, plan.option[i], after_s
            if raising.steps_s.size > 0:
                end_s = raised_end(raising, i, site.book_end_s[i], plan.start_s[i] + raising.limit_s[option], now_s)
            take_nodes(
                limits, book, options.cluster[option], options.nodes[option], limits.power_mw[option], now_s, end_s
            )  # fmt: skip
            use_energy(limits, ledger, limits.cost_w[option], site.book_end_s[i], end_s)
            site.book_end_s[i] = end_s
            any_late = True
    return any_late


@shared
def map_greedily(run, now_s, next_s):
    """Let the greedy map what waits; returns for how many jobs that has consequences."""
    facts, limits, site, plan, prices = run.facts, run.limits, run.site, run.plan, run.prices
    before = n_waiting(run)
    if prices.is_used:
        open_prices(prices, facts, limits, run.pool, site.counts[WORKED], now_s)
    for at in range(greedy_pass(run, now_s, next_s)):
        i = run.pool.fixed[at]
        site.book_end_s[i] = plan.start_s[i] + facts.options.planned_s[plan.option[i]]
        if plan.start_s[i] <= now_s:
            begin(run, i)
        else:
            hold(site, i)
    if prices.is_used and prices.per_s[0] >= 0.0:
        adjust_job_prices(prices, facts, limits, run.ledger, run.book, site, plan, now_s)
    return before - n_waiting(run)


@shared
def is_time_to_map(rules, site, now_s):
    """Whether a mapping event is due."""
    if rules.interval_s == np.inf:
        return True
    return (
        site.counts[EVENT] * rules.interval_s < now_s == event_at_or_after(now_s, rules.interval_s) * rules.interval_s
    )


@shared
def open_next(run, now_s, is_stuck, latest_s):
    """Let things happen up to the next event that has jobs to map; returns its instant, inf if none is in time.

    Whatever happens on the way may move what was stuck.
    """
    rules, book, site = run.rules, run.book, run.site
    if site.counts[OPENED] == 0:
        open_cap(run.limits, book, run.until_s)
        open_outages(book, run.outages)
        site.counts[OPENED] = 1
    while True:
        now_s = next_instant(run, now_s, is_stuck)
        if not now_s < latest_s:
            return np.inf
        for r in range(book.size.size):
            forget_before(book, r, now_s)
        end_jobs(run, now_s)
        is_raised = run.raising.steps_s.size > 0 and extend_overruns(run, now_s)
        change_nodes(run, now_s, latest_s)
        if is_raised:
            renew_held(run, now_s, latest_s, True)
            site.counts[FREED] = 0
        if rules.compresses and site.counts[FREED] > 0:
            renew_held(run, now_s, latest_s, False)
        site.counts[FREED] = 0
        start_held(run, now_s)
        admit_ready(run, now_s)
        if is_time_to_map(rules, site, now_s) and n_waiting(run) > 0:
            break
        is_stuck = False
    if rules.interval_s < np.inf:
        site.counts[EVENT] = event_at_or_after(now_s, rules.interval_s)
    if rules.is_unaware:
        extend_overruns(run, now_s)
    site.counts[WORKED] += 1
    return now_s


@inlined
def horizon_s(rules, site, now_s):
    """The next event after one that goes on, or now where events are unforeseen."""
    return (site.counts[EVENT] + 1) * rules.interval_s if rules.interval_s < np.inf else now_s


@shared
def close_event(run, n_mapped, now_s, latest_s):
    """Let newcomers preempt; returns whether nothing moves any more unless something comes from outside."""
    site = run.site
    if run.rules.preempts:
        preempt_for_newcomers(run, now_s)
        close_queue(site, run.plan)
    site.counts[NEW] = 0
    return latest_s == np.inf and n_mapped + site.running.size[0] + site.counts[HELD] == 0


@shared
def open_assigned(run, now_s):
    """Let somebody else decide: note how many wait, and for how many nodes are held already; find the prices."""
    counts = run.site.counts
    open_queue(run, now_s)
    if run.prices.per_s[0] < 0.0:
        first_prices_of_queue(run.prices, run.facts, run.limits, run.site.queue, counts[QUEUED])
    counts[N_HELD], counts[N_QUEUED] = counts[HELD], counts[QUEUED]


@shared
def close_assigned(run, latest_s):
    """Close the event that somebody else has decided, if one is open; as `close_event`."""
    site, now_s = run.site, run.site.instants[LAST]
    settle_queue(run, site.counts[N_HELD], now_s, site.instants[HORIZON])
    if run.prices.per_s[0] >= 0.0:
        adjust_job_prices(run.prices, run.facts, run.limits, run.ledger, run.book, site, run.plan, now_s)
    return close_event(run, site.counts[N_QUEUED] - site.counts[QUEUED], now_s, latest_s)


@kernel
def run_jobs(run, latest_s, most_events):
    """Let jobs of a `JobState` come, wait, run and end until an instant, or until nothing happens any more.

    Also until this many events were mapped or, where they are decided outside, until one is open, which the next call
    closes: returns whether that is so.
    """
    rules, site = run.rules, run.site
    last = site.counts[WORKED] + most_events
    if rules.rule == ASSIGNED:
        site.counts[STUCK] = close_assigned(run, latest_s)
    while site.counts[WORKED] < last:
        now_s = open_next(run, site.instants[LAST], site.counts[STUCK] > 0, latest_s)
        if now_s == np.inf:
            if rules.rule == GREEDY:
                drop_hopeless(run, site.instants[LAST])
            return False
        next_s = horizon_s(rules, site, now_s)
        site.instants[LAST], site.instants[HORIZON] = now_s, next_s
        if rules.rule == ASSIGNED:
            open_assigned(run, now_s)
            return True
        if rules.rule == GREEDY:
            n_mapped = map_greedily(run, now_s, next_s)
        else:
            n_mapped = map_in_order(run, now_s, next_s)
        site.counts[STUCK] = close_event(run, n_mapped, now_s, latest_s)
    return True
