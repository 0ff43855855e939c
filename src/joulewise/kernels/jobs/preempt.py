"""Preemption: a job that has just come and cannot start may suspend running ones, where that earns more.

The newcomer takes its fastest option as soon as checkpoints are written. Those with the least utility per planned
node-second go first, each at most once; every one of them at once gets nodes ahead for the rest of its work, with the
option it had. If that loses more utility than the newcomer gains, everything stays as it was.
"""

from __future__ import annotations

import numpy as np

from joulewise.kernels.choice import comes_before, utility_of
from joulewise.kernels.heap import push
from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.jobs.energy import earliest_start, give_back_nodes, take_nodes
from joulewise.kernels.jobs.layout import WAITING
from joulewise.kernels.jobs.outages import stop
from joulewise.kernels.jobs.pool import discharge, heap_of, note_release
from joulewise.kernels.jobs.state import (
    GREEDY,
    HELD,
    NEW,
    begin,
    hold,
)
from joulewise.kernels.jobs.timetable import fits, free_at


@inlined
def book_nodes(run, option, start_s, end_s, is_taken):
    """Take the nodes of an option, or give them back."""
    facts, limits, book = run.facts, run.limits, run.book
    r, nodes, power_mw = facts.options.cluster[option], facts.options.nodes[option], limits.power_mw[option]
    if is_taken:
        take_nodes(limits, book, r, nodes, power_mw, start_s, end_s)
    else:
        give_back_nodes(limits, book, r, nodes, power_mw, start_s, end_s)


@inlined
def utility_if_it_waits(run, i, now_s):
    """What a job earns as things are planned: where nodes are held for it, or at its earliest start."""
    facts, limits, book, site, plan = run.facts, run.limits, run.book, run.site, run.plan
    options, t, most = facts.options, facts.tasks.task_type[i], 0.0
    if plan.option[i] >= 0:
        return utility_of(facts.tasks, facts.utilities, i, site.book_end_s[i])
    for option in range(options.first[t], options.first[t + 1]):
        start_s = earliest_start(
            limits, book, options.cluster[option], options.nodes[option], limits.power_mw[option],
            options.planned_s[option], now_s,
        )  # fmt: skip
        if start_s < limits.latest_s:
            most = max(most, utility_of(facts.tasks, facts.utilities, i, start_s + options.planned_s[option]))
    return most


@inlined
def worth_of(facts, site, plan, i, now_s):
    """The utility that a running job is planned to earn, by its node-seconds from now on."""
    left_s = (site.book_end_s[i] - now_s) * facts.options.nodes[plan.option[i]]
    return utility_of(facts.tasks, facts.utilities, i, site.book_end_s[i]) / left_s


@inlined
def list_victims(run, r, now_s, start_s):
    """Put running jobs of a cluster that may be suspended into `sequence`, the cheapest first; returns how many."""
    facts, site, plan = run.facts, run.site, run.plan
    n = 0
    for at in range(site.running.size[0]):
        i = site.running.items[at]
        is_on = facts.options.cluster[plan.option[i]] == r and plan.start_s[i] < now_s
        if is_on and site.done_s[i] == 0.0 and site.book_end_s[i] > start_s:
            site.keys.value[i] = worth_of(facts, site, plan, i, now_s)
            place = n
            while place > 0 and costs_more(site, site.sequence[place - 1], i):
                site.sequence[place] = site.sequence[place - 1]
                place -= 1
            site.sequence[place] = i
            n += 1
    return n


@inlined
def costs_more(site, i, j):
    """Whether job i is worth more than job j by node-second, or as much and has the lower number."""
    return comes_before(site.keys.value[i], 0.0, i, site.keys.value[j], 0.0, j)


@inlined
def choose_victims(run, option, now_s, start_s):
    """Put as few of the cheapest jobs as free enough nodes for an option into `sequence`; -1 if all are too few."""
    facts, book, site, plan = run.facts, run.book, run.site, run.plan
    r, nodes = facts.options.cluster[option], facts.options.nodes[option]
    n, freed, chosen = list_victims(run, r, now_s, start_s), free_at(book, r, start_s), 0
    while chosen < n and freed < nodes:
        freed += facts.options.nodes[plan.option[site.sequence[chosen]]]
        chosen += 1
    if freed < nodes:
        return -1
    kept = 0
    for at in range(chosen):
        victim_nodes = facts.options.nodes[plan.option[site.sequence[at]]]
        if freed - victim_nodes >= nodes:
            freed -= victim_nodes
        else:
            site.sequence[kept] = site.sequence[at]
            kept += 1
    return kept


@inlined
def rest_of(facts, rules, plan, i, now_s):
    """How long the rest of a running job is planned to take after it was suspended now."""
    return facts.options.planned_s[plan.option[i]] - (now_s - plan.start_s[i]) + rules.restart_s


@shared
def move_victims(run, n, now_s, start_s):
    """Give suspended jobs nodes ahead, their starts as keys; returns the utility lost, inf if one has no time left."""
    facts, rules, limits, book, site, plan = run.facts, run.rules, run.limits, run.book, run.site, run.plan
    loss = 0.0
    for at in range(n):
        i = site.sequence[at]
        options, option, rest_s = facts.options, plan.option[i], rest_of(facts, rules, plan, i, now_s)
        again_s = earliest_start(
            limits, book, options.cluster[option], options.nodes[option], limits.power_mw[option], rest_s, start_s
        )
        site.keys.value[i] = again_s
        loss += utility_of(facts.tasks, facts.utilities, i, site.book_end_s[i])
        if again_s < limits.latest_s:
            book_nodes(run, option, again_s, again_s + rest_s, True)
            loss -= utility_of(facts.tasks, facts.utilities, i, again_s + rest_s)
        else:
            loss = np.inf
    return loss


@inlined
def suspend(run, i, now_s, start_s):
    """Make the suspension of a running job true: its nodes have been moved in the book already."""
    facts, rules, site, plan = run.facts, run.rules, run.site, run.plan
    rest_s, site.book_end_s[i] = rest_of(facts, rules, plan, i, now_s), start_s
    done_s, again_s = now_s - plan.start_s[i], site.keys.value[i]
    stop(run, i, now_s, start_s, False)
    site.done_s[i], site.written_s[i], site.again_s[i] = done_s, start_s, rules.restart_s
    plan.start_s[i], plan.end_s[i], plan.fate[i], site.book_end_s[i] = again_s, np.nan, WAITING, again_s + rest_s
    hold(site, i)


@inlined
def leave_pool(run, i):
    """Take a waiting job out of the greedy's pool."""
    facts, pool = run.facts, run.pool
    heap = heap_of(pool.waiting, pool, pool.group[facts.tasks.task_type[i]])
    n, heap.size[0] = heap.size[0], 0
    for at in range(n):
        if heap.items[at] != i:
            push(heap, heap.items[at])
    discharge(pool, facts, i)


@inlined
def leave_held(site, i):
    """Take a job out of those with nodes held ahead."""
    kept = 0
    for at in range(site.counts[HELD]):
        site.held[kept] = site.held[at]
        kept += site.held[at] != i
    site.counts[HELD] = kept


@inlined
def move_nodes(run, i, n, start_s, is_back):
    """Free the nodes of those to be suspended from a start on, and what is held for the newcomer; or take all back."""
    site, plan = run.site, run.plan
    for at in range(n):
        j = site.sequence[at]
        book_nodes(run, plan.option[j], start_s, site.book_end_s[j], is_back)
    if plan.option[i] >= 0:
        book_nodes(run, plan.option[i], plan.start_s[i], site.book_end_s[i], is_back)


@inlined
def take_back(run, option, n, now_s, start_s, end_s):
    """Undo what the newcomer and those it would have suspended were given."""
    facts, rules, limits, site, plan = run.facts, run.rules, run.limits, run.site, run.plan
    book_nodes(run, option, start_s, end_s, False)
    for at in range(n):
        j = site.sequence[at]
        again_s, rest_s = site.keys.value[j], rest_of(facts, rules, plan, j, now_s)
        if again_s < limits.latest_s:
            book_nodes(run, plan.option[j], again_s, again_s + rest_s, False)


@inlined
def has_room(run, option, start_s, end_s):
    """Whether nodes and power for an option are free from start to end."""
    facts, limits, book = run.facts, run.limits, run.book
    if limits.has_cap and not fits(book, book.size.size - 1, limits.power_mw[option], start_s, end_s):
        return False
    return fits(book, facts.options.cluster[option], facts.options.nodes[option], start_s, end_s)


@inlined
def make_way(run, option, i, n, gain, now_s, start_s, end_s):
    """Plan the newcomer and those it would suspend; returns whether that earns more, else all stays as it was."""
    move_nodes(run, i, n, start_s, False)
    if has_room(run, option, start_s, end_s):
        book_nodes(run, option, start_s, end_s, True)
        if gain > move_victims(run, n, now_s, start_s):
            return True
        take_back(run, option, n, now_s, start_s, end_s)
    move_nodes(run, i, n, start_s, True)
    return False


@inlined
def come_in(run, option, i, now_s, start_s, end_s):
    """Let the newcomer have the nodes that were made free."""
    rules, site, plan = run.rules, run.site, run.plan
    if plan.option[i] >= 0:
        leave_held(site, i)
    elif rules.rule == GREEDY:
        leave_pool(run, i)
    plan.option[i], plan.start_s[i], site.book_end_s[i] = option, start_s, end_s
    if start_s <= now_s:
        begin(run, i)
    else:
        hold(site, i)


@shared
def preempt(run, option, i, now_s):
    """Let a job suspend others and take their nodes, if that earns more."""
    facts, rules, limits, site = run.facts, run.rules, run.limits, run.site
    start_s = now_s + rules.checkpoint_s
    end_s = start_s + facts.options.planned_s[option]
    gain = utility_of(facts.tasks, facts.utilities, i, end_s)
    gain -= utility_if_it_waits(run, i, now_s)
    if not gain > 0.0 or not start_s < limits.latest_s:
        return
    n = choose_victims(run, option, now_s, start_s)
    if n < 1 or not make_way(run, option, i, n, gain, now_s, start_s, end_s):
        return
    for at in range(n):
        suspend(run, site.sequence[at], now_s, start_s)
    come_in(run, option, i, now_s, start_s, end_s)


@shared
def preempt_for_newcomers(run, now_s):
    """Let jobs that came since the last mapping event and did not start suspend others."""
    facts, book, site, plan, pool, standings = run.facts, run.book, run.site, run.plan, run.pool, run.standings
    for at in range(site.counts[NEW]):
        i = site.new[at]
        if plan.fate[i] == WAITING and not plan.start_s[i] <= now_s:
            option = standings.fastest[facts.tasks.task_type[i]]
            preempt(run, option, i, now_s)
    for r in range(book.size.size):
        note_release(pool, r)
