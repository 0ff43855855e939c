"""Backfilling on one cluster in order of arrival, for traces of any length: EASY, exactly and without a timetable.

At one instant all ends come first, then all arrivals, then the scheduler decides. Plans are made with planned times.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined, kernel
from joulewise.kernels.timetable import first_fit, forget_before, give_back, take


class Rigid(NamedTuple):
    """Jobs in order of arrival, each for a fixed number of nodes and none larger than the cluster.

    A job runs for `time_s`; whoever plans knows only `planned_s`.
    """

    arrival_s: NDArray[np.float64]
    time_s: NDArray[np.float64]
    planned_s: NDArray[np.float64]
    nodes: NDArray[np.int64]


class Running(NamedTuple):
    """The `size[0]` jobs that run: planned ends and nodes from the earliest planned end on, and, in an order of their
    own, ends and jobs down to the earliest end.
    """

    size: NDArray[np.int64]
    planned_end_s: NDArray[np.float64]
    nodes: NDArray[np.int64]
    end_s: NDArray[np.float64]
    job: NDArray[np.int64]


class Queue(NamedTuple):
    """Waiting jobs in order of arrival, from index `first[0]` up to `last[0]`, and what is asked of them most."""

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    job: NDArray[np.int64]
    nodes: NDArray[np.int64]
    planned_s: NDArray[np.float64]


def no_running(n: int) -> Running:
    """Nothing runs; there is room for n jobs."""
    return Running(np.zeros(1, np.int64), np.empty(n), np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64))


def empty_queue(n: int) -> Queue:
    """Nobody waits; n jobs may come in the course of time."""
    zeros = np.zeros(2, np.int64)
    return Queue(zeros[:1], zeros[1:], np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n))


@inlined
def _rank_from_front(values, size, value):
    """How many of a rising array are at most the value."""
    low, high = 0, size
    while low < high:
        middle = (low + high) >> 1
        if values[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _rank_from_back(values, size, value):
    """How many of a falling array are above the value."""
    low, high = 0, size
    while low < high:
        middle = (low + high) >> 1
        if values[middle] > value:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _run(running, i, nodes, planned_end_s, end_s):
    """Job i begins to run."""
    size = running.size[0]
    at = _rank_from_front(running.planned_end_s, size, planned_end_s)
    for k in range(size, at, -1):
        running.planned_end_s[k] = running.planned_end_s[k - 1]
    for k in range(size, at, -1):
        running.nodes[k] = running.nodes[k - 1]
    running.planned_end_s[at] = planned_end_s
    running.nodes[at] = nodes
    at = _rank_from_back(running.end_s, size, end_s)
    for k in range(size, at, -1):
        running.end_s[k] = running.end_s[k - 1]
    for k in range(size, at, -1):
        running.job[k] = running.job[k - 1]
    running.end_s[at] = end_s
    running.job[at] = i
    running.size[0] = size + 1


@inlined
def _end_first(running, nodes, planned_end_s):
    """The job with the earliest end, which has such nodes and such a planned end, has ended."""
    size = running.size[0] - 1
    at = _rank_from_front(running.planned_end_s, size + 1, planned_end_s) - 1
    while running.nodes[at] != nodes:  # of those with one planned end, any with as many nodes will do
        at -= 1
    for k in range(at, size):
        running.planned_end_s[k] = running.planned_end_s[k + 1]
    for k in range(at, size):
        running.nodes[k] = running.nodes[k + 1]
    running.size[0] = size


@inlined
def _end_all(running, jobs, start_s, now_s):
    """End all jobs that end now; how many nodes they leave."""
    freed = 0
    while running.size[0] > 0 and running.end_s[running.size[0] - 1] == now_s:
        i = running.job[running.size[0] - 1]
        _end_first(running, jobs.nodes[i], start_s[i] + jobs.planned_s[i])
        freed += jobs.nodes[i]
    return freed


@inlined
def _next_instant(running, jobs, n_arrived):
    """When the next job ends or arrives."""
    instant_s = math.inf
    if n_arrived < jobs.arrival_s.size:
        instant_s = jobs.arrival_s[n_arrived]
    if running.size[0] > 0:
        instant_s = min(instant_s, running.end_s[running.size[0] - 1])
    return instant_s


@inlined
def _queue_up(queue, jobs, n_arrived, now_s):
    """All that arrive now join the queue; how many have arrived by then."""
    while n_arrived < jobs.arrival_s.size and jobs.arrival_s[n_arrived] == now_s:
        at = queue.last[0]
        queue.job[at] = n_arrived
        queue.nodes[at] = jobs.nodes[n_arrived]
        queue.planned_s[at] = jobs.planned_s[n_arrived]
        queue.last[0] = at + 1
        n_arrived += 1
    return n_arrived


@inlined
def _start(queue, at, running, jobs, start_s, now_s):
    """The job at a place of the queue starts; the place stays."""
    i = queue.job[at]
    start_s[i] = now_s
    _run(running, i, queue.nodes[at], now_s + queue.planned_s[at], now_s + jobs.time_s[i])


@inlined
def _start_heads(queue, running, jobs, start_s, now_s, free):
    """Start the first in the queue as long as there are nodes for it; the nodes left."""
    while queue.first[0] < queue.last[0] and queue.nodes[queue.first[0]] <= free:
        free -= queue.nodes[queue.first[0]]
        _start(queue, queue.first[0], running, jobs, start_s, now_s)
        queue.first[0] += 1
    return free


@inlined
def _shadow(running, free, nodes, now_s):
    """When a job that needs more nodes than are free can start as far as planned, and what will be left over then.

    Jobs that run past their plan are taken to end right after now.
    """
    shadow_s, k = now_s, 0
    while free < nodes:
        free += running.nodes[k]
        shadow_s = max(shadow_s, running.planned_end_s[k])
        k += 1
    while k < running.size[0] and running.planned_end_s[k] <= shadow_s:
        free += running.nodes[k]
        k += 1
    return shadow_s, free - nodes


@inlined
def _backfill(queue, begin, running, jobs, start_s, now_s, free, shadow_s, extra):
    """Start all from one place of the queue on that do not delay the head; the nodes left, the shadow and its extra.

    The shadow is NaN until somebody asks for it. It stays where it is when a job is backfilled: that ends by then, or
    takes from the extra nodes.
    """
    keep = begin
    for at in range(begin, queue.last[0]):
        starts = False
        if queue.nodes[at] <= free:
            if shadow_s != shadow_s:
                shadow_s, extra = _shadow(running, free, queue.nodes[queue.first[0]], now_s)
            ends_by_then = now_s + queue.planned_s[at] <= shadow_s
            starts = ends_by_then or queue.nodes[at] <= extra
        if starts:
            free -= queue.nodes[at]
            if not ends_by_then:
                extra -= queue.nodes[at]
            _start(queue, at, running, jobs, start_s, now_s)
        else:
            if keep < at:
                queue.job[keep] = queue.job[at]
                queue.nodes[keep] = queue.nodes[at]
                queue.planned_s[keep] = queue.planned_s[at]
            keep += 1
    queue.last[0] = keep
    return free, shadow_s, extra


@kernel
def easy(jobs, n_nodes, running, queue, start_s):
    """Fill in when each job starts under EASY backfilling."""
    free, extra, shadow_s, n_arrived = n_nodes, 0, math.nan, 0
    while n_arrived < jobs.arrival_s.size or running.size[0] > 0:
        now_s = _next_instant(running, jobs, n_arrived)
        freed = _end_all(running, jobs, start_s, now_s)
        free += freed
        begin = queue.last[0]
        n_arrived = _queue_up(queue, jobs, n_arrived, now_s)
        is_late = running.size[0] > 0 and running.planned_end_s[0] <= now_s
        if freed > 0 or is_late or queue.first[0] == begin:  # else the head is blocked, and nothing has come free
            free = _start_heads(queue, running, jobs, start_s, now_s, free)
            begin, shadow_s = min(queue.first[0] + 1, queue.last[0]), math.nan
        free, shadow_s, extra = _backfill(queue, begin, running, jobs, start_s, now_s, free, shadow_s, extra)


@inlined
def _earlier_fit(book, amount, duration_s, now_s, start_s):
    i = 0
    found_s = now_s
    size = book.size[0]
    while True:
        while book.free[0, i] < amount:
            i += 1
            if i == size:
                return start_s
            found_s = book.time_s[0, i]
            if found_s >= start_s:
                return start_s
        end_s = min(found_s + duration_s, start_s)
        while book.free[0, i] >= amount:
            i += 1
            if i == size or book.time_s[0, i] >= end_s:
                return found_s


@kernel
def conservative(jobs, n_nodes, running, queue, book, promised_s, start_s, cnt):
    n_arrived = 0
    due_s = math.inf
    while n_arrived < jobs.arrival_s.size or running.size[0] > 0 or queue.last[0] > 0:
        now_s = min(_next_instant(running, jobs, n_arrived), due_s)
        forget_before(book, 0, now_s)
        early = False
        while running.size[0] > 0 and running.end_s[running.size[0] - 1] == now_s:
            running.size[0] -= 1
            i = running.job[running.size[0]]
            planned = start_s[i] + jobs.planned_s[i]
            if planned > now_s:
                early = True
                give_back(book, 0, jobs.nodes[i], now_s, planned)
        if early:
            cnt[0] += 1
            for at in range(queue.last[0]):
                cnt[1] += 1
                n, d, s = queue.nodes[at], queue.planned_s[at], promised_s[at]
                new = _earlier_fit(book, n, d, now_s, s)
                if new < s:
                    cnt[2] += 1
                    take(book, 0, n, new, min(new + d, s))
                    give_back(book, 0, n, max(new + d, s), s + d)
                    promised_s[at] = new
                    due_s = min(due_s, new)
        while n_arrived < jobs.arrival_s.size and jobs.arrival_s[n_arrived] == now_s:
            n, d = jobs.nodes[n_arrived], jobs.planned_s[n_arrived]
            s = first_fit(book, 0, n, d, now_s)
            take(book, 0, n, s, s + d)
            at = queue.last[0]
            queue.job[at] = n_arrived
            queue.nodes[at] = n
            queue.planned_s[at] = d
            promised_s[at] = s
            queue.last[0] += 1
            n_arrived += 1
            due_s = min(due_s, s)
        if due_s == now_s:
            due_s = math.inf
            keep = 0
            for at in range(queue.last[0]):
                if promised_s[at] == now_s:
                    i = queue.job[at]
                    start_s[i] = now_s
                    end_s = now_s + jobs.time_s[i]
                    size = running.size[0]
                    k0 = _rank_from_back(running.end_s, size, end_s)
                    for k in range(size, k0, -1):
                        running.end_s[k] = running.end_s[k - 1]
                    for k in range(size, k0, -1):
                        running.job[k] = running.job[k - 1]
                    running.end_s[k0] = end_s
                    running.job[k0] = i
                    running.size[0] = size + 1
                else:
                    due_s = min(due_s, promised_s[at])
                    queue.job[keep] = queue.job[at]
                    queue.nodes[keep] = queue.nodes[at]
                    queue.planned_s[keep] = queue.planned_s[at]
                    promised_s[keep] = promised_s[at]
                    keep += 1
            queue.last[0] = keep
