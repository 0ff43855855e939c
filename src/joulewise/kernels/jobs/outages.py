"""Nodes that fail and come back, what that does to the jobs on them, and plans that have to be made again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.heap import push
from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.jobs.energy import earliest_start, has_energy
from joulewise.kernels.jobs.layout import WAITING
from joulewise.kernels.jobs.orders import note_usage
from joulewise.kernels.jobs.state import (
    CHANGES,
    HELD,
    OUTAGES,
    commit,
    duration_of,
    enqueue,
    forget,
    hold,
    release,
)
from joulewise.kernels.jobs.timetable import take
from joulewise.kernels.records import record


@record
class NodeOutages(NamedTuple):
    """Times without nodes, by their start; `out` is how many nodes each takes: those that fail have it from then on.

    `change_s` are the instants at which nodes fail, or come back from any outage; `order` is room for running jobs.
    """

    cluster: NDArray[np.int64]
    nodes: NDArray[np.int64]
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    is_planned: NDArray[np.bool_]
    lot: NDArray[np.float64]
    out: NDArray[np.int64]
    change_s: NDArray[np.float64]
    order: NDArray[np.int64]


@record
class Broken(NamedTuple):
    """Stretches of running that did not complete a job, `size[0]` of them so far."""

    job: NDArray[np.int32]
    option: NDArray[np.int32]
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    is_lost: NDArray[np.bool_]
    size: NDArray[np.int64]


def new_broken(n: int) -> Broken:
    """Room for this many stretches."""
    return Broken(
        np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n), np.empty(n), np.empty(n, np.bool_),
        np.zeros(1, np.int64),
    )  # fmt: skip


@shared
def open_outages(book, outages):
    """Commit the nodes of outages that are planned."""
    for row in range(outages.cluster.size):
        if outages.is_planned[row]:
            take(book, outages.cluster[row], outages.nodes[row], outages.start_s[row], outages.end_s[row])


@inlined
def next_change(outages, site):
    """When nodes fail or come back next; inf if they never do."""
    at = site.counts[CHANGES]
    return outages.change_s[at] if at < outages.change_s.size else np.inf


@shared
def renew_held(run, now_s, latest_s, is_from_scratch):
    """Give every job for which nodes are held its earliest start, one after another, with the option it has.

    From scratch all nodes are given back first; else each may only move forward, or keeps its start if the budget has
    no room for that. A job that can no longer start in time, or within the budget, waits again, unless a part of it is
    done.
    """
    facts, limits, ledger, book, site, plan = run.facts, run.limits, run.ledger, run.book, run.site, run.plan
    n, site.counts[HELD] = site.counts[HELD], 0
    if is_from_scratch:
        for at in range(n):
            i = site.held[at]
            release(run, i, plan.start_s[i])
    for at in range(n):
        i = site.held[at]
        if not is_from_scratch:
            release(run, i, plan.start_s[i])
        options, option = facts.options, plan.option[i]
        duration_s = duration_of(site, options, i, option)
        start_s = earliest_start(
            limits, book, options.cluster[option], options.nodes[option], limits.power_mw[option], duration_s,
            max(now_s, site.written_s[i]),
        )  # fmt: skip
        if not has_energy(limits, ledger, limits.cost_w[option], start_s, start_s + duration_s, now_s):
            start_s = np.inf if is_from_scratch else plan.start_s[i]
        if start_s < latest_s:
            commit(run, i, option, start_s)
            hold(site, i)
        else:
            forget(plan, i)
            if site.done_s[i] == 0.0:
                enqueue(run, i)


@shared
def nodes_out(outages, r, n_known, now_s):
    """How many nodes of a cluster are out, of the first outages that are known."""
    n = 0
    for row in range(n_known):
        if outages.cluster[row] == r and outages.start_s[row] <= now_s < outages.end_s[row]:
            n += outages.out[row]
    return n


@shared
def running_on(run, r):
    """Put the jobs that run on a cluster into `order` by their start, then number; returns how many they are."""
    facts, site, plan, outages = run.facts, run.site, run.plan, run.outages
    n = 0
    for at in range(site.running.size[0]):
        i = site.running.items[at]
        if facts.options.cluster[plan.option[i]] == r:
            place = n
            while place > 0 and starts_after(plan, outages.order[place - 1], i):
                outages.order[place] = outages.order[place - 1]
                place -= 1
            outages.order[place] = i
            n += 1
    return n


@inlined
def starts_after(plan, i, j):
    """Whether job i started after job j, or with it and has the higher number."""
    return plan.start_s[i] > plan.start_s[j] or (plan.start_s[i] == plan.start_s[j] and i > j)


@shared
def stop(run, i, now_s, leaves_s, is_lost):
    """Take a running job off its nodes, which it keeps until an instant, and note the stretch that it had them."""
    facts, site, plan, usage, broken = run.facts, run.site, run.plan, run.usage, run.broken
    n, site.running.size[0] = site.running.size[0], 0
    for at in range(n):
        j = site.running.items[at]
        if j != i:
            push(site.running, j)
    option, row = plan.option[i], broken.size[0]
    broken.job[row], broken.option[row], broken.is_lost[row] = i, option, is_lost
    broken.start_s[row], broken.end_s[row] = plan.start_s[i], leaves_s
    broken.size[0] += 1
    note_usage(usage, i, now_s, -facts.options.nodes[option] * facts.cores[facts.options.cluster[option]])
    release(run, i, leaves_s)


@shared
def lose(run, i, now_s):
    """Let a job that lost a node wait again, from its beginning or, with nodes held ahead, from its checkpoint."""
    site, plan = run.site, run.plan
    stop(run, i, now_s, now_s, True)
    if site.done_s[i] > 0.0:
        plan.start_s[i], plan.end_s[i], plan.fate[i] = now_s, np.nan, WAITING  # renew_held follows
        hold(site, i)
    else:
        forget(plan, i)
        enqueue(run, i)


@shared
def fail(run, row, now_s):
    """Let nodes of a cluster fail: from a place by lot on, in a row of those of running jobs and then of the idle."""
    facts, book, plan, outages = run.facts, run.book, run.plan, run.outages
    r = outages.cluster[row]
    left = max(facts.n_nodes[r] - nodes_out(outages, r, row, now_s), 0)
    outages.out[row] = min(outages.nodes[row], left)
    first, last = int(outages.lot[row] * left), int(outages.lot[row] * left) + outages.out[row]
    place = 0
    for at in range(running_on(run, r)):
        i = outages.order[at]
        upto = place + facts.options.nodes[plan.option[i]]
        if (first < upto and place < last) or place < last - left:
            lose(run, i, now_s)
        place = upto
    take(book, r, outages.out[row], now_s, outages.end_s[row])


@shared
def change_nodes(run, now_s, latest_s):
    """Let nodes fail whose time it is; nodes that are held ahead are then planned again."""
    site, outages = run.site, run.outages
    while next_change(outages, site) <= now_s:
        site.counts[CHANGES] += 1
    has_failed = False
    while site.counts[OUTAGES] < outages.cluster.size and outages.start_s[site.counts[OUTAGES]] <= now_s:
        row = site.counts[OUTAGES]
        if not outages.is_planned[row]:
            fail(run, row, now_s)
            has_failed = True
        site.counts[OUTAGES] += 1
    if has_failed:
        renew_held(run, now_s, latest_s, True)
