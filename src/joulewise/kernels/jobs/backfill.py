"""Backfilling on one cluster in order of arrival, for traces of any length: EASY and conservative, exactly.

At one instant all ends come first, then all arrivals, then the scheduler decides. Plans are made with planned times;
jobs may end earlier or later. Plans that are outlived are raised or, under EASY, taken to end right after now.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined, kernel
from joulewise.kernels.jobs.raising import raised_end
from joulewise.kernels.jobs.rigid import move_up, next_instant, queue_up, run, someone_arrives, someone_ends
from joulewise.kernels.jobs.timetable import first_fit, forget_before, give_back, segment_at, take
from joulewise.kernels.records import record

# EASY


@record
class PlannedEnds(NamedTuple):
    """The planned ends of the `size[0]` jobs that run, up from the earliest, and their nodes; and `of_job` by job."""

    size: NDArray[np.int64]
    end_s: NDArray[np.float64]
    nodes: NDArray[np.int64]
    of_job: NDArray[np.float64]


def no_planned_ends(room: int, n_jobs: int) -> PlannedEnds:
    """Nothing runs; there is room for so many at a time, of so many jobs."""
    return PlannedEnds(np.zeros(1, np.int64), np.empty(room), np.empty(room, np.int64), np.empty(n_jobs))


@inlined
def _n_planned_by(planned, at_s):
    """How many jobs that run are planned to end by an instant."""
    low, high = 0, planned.size[0]
    while low < high:
        middle = (low + high) >> 1
        if planned.end_s[middle] <= at_s:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _plan_end(planned, i, end_s, nodes):
    """The nodes of a job, this many, are planned to come free at an instant."""
    at = _n_planned_by(planned, end_s)
    for k in range(planned.size[0], at, -1):
        planned.end_s[k] = planned.end_s[k - 1]
    for k in range(planned.size[0], at, -1):
        planned.nodes[k] = planned.nodes[k - 1]
    planned.end_s[at] = end_s
    planned.nodes[at] = nodes
    planned.of_job[i] = end_s
    planned.size[0] += 1


@inlined
def _forget_planned_end(planned, end_s, nodes):
    """A job with such a planned end and this many nodes has ended; of those that have both alike, any will do."""
    at = _n_planned_by(planned, end_s) - 1
    while planned.nodes[at] != nodes:
        at -= 1
    planned.size[0] -= 1
    for k in range(at, planned.size[0]):
        planned.end_s[k] = planned.end_s[k + 1]
    for k in range(at, planned.size[0]):
        planned.nodes[k] = planned.nodes[k + 1]


@inlined
def _end_all(ends, planned, jobs, now_s):
    """End all jobs that end now; how many nodes they leave."""
    freed = 0
    while someone_ends(ends, now_s):
        ends.size[0] -= 1
        i = ends.job[ends.size[0]]
        _forget_planned_end(planned, planned.of_job[i], jobs.nodes[i])
        freed += jobs.nodes[i]
    return freed


@inlined
def _start(queue, at, ends, planned, jobs, start_s, now_s):
    """The job at a place of the queue starts; the place stays."""
    i = queue.job[at]
    start_s[i] = now_s
    run(ends, i, now_s + jobs.time_s[i])
    _plan_end(planned, i, now_s + queue.planned_s[at], queue.nodes[at])


@inlined
def _raise_plans(ends, planned, jobs, raising, start_s, now_s):
    """Raise the plans of all jobs that have outlived them."""
    for at in range(ends.size[0]):
        i, end_s = ends.job[at], planned.of_job[ends.job[at]]
        if end_s <= now_s:
            _forget_planned_end(planned, end_s, jobs.nodes[i])
            end_s = raised_end(raising, i, end_s, start_s[i] + raising.limit_s[i], now_s)
            _plan_end(planned, i, end_s, jobs.nodes[i])


@inlined
def _start_heads(queue, ends, planned, jobs, start_s, now_s, free):
    """Start the first in the queue as long as there are nodes for it; the nodes left."""
    while queue.first[0] < queue.last[0] and queue.nodes[queue.first[0]] <= free:
        free -= queue.nodes[queue.first[0]]
        _start(queue, queue.first[0], ends, planned, jobs, start_s, now_s)
        queue.first[0] += 1
    return free


@inlined
def _shadow(planned, free, nodes, now_s):
    """When a job that needs more nodes than are free can start as far as planned, and what will be left over then.

    Jobs that run past their plan are taken to end right after now.
    """
    shadow_s, k = now_s, 0
    while free < nodes:
        free += planned.nodes[k]
        shadow_s = max(shadow_s, planned.end_s[k])
        k += 1
    while k < planned.size[0] and planned.end_s[k] <= shadow_s:
        free += planned.nodes[k]
        k += 1
    return shadow_s, free - nodes


@inlined
def _backfill(queue, begin, ends, planned, jobs, start_s, now_s, free, shadow_s, extra):
    """Start all from one place of the queue on that do not delay the head; the nodes left, the shadow and its extra.

    The shadow is NaN until somebody asks for it. It stays where it is when a job is backfilled: that ends by then, or
    takes from the extra nodes.
    """
    keep = begin
    for at in range(begin, queue.last[0]):
        nodes = queue.nodes[at]
        if nodes <= free:
            if math.isnan(shadow_s):
                shadow_s, extra = _shadow(planned, free, queue.nodes[queue.first[0]], now_s)
            ends_by_then = now_s + queue.planned_s[at] <= shadow_s
            if ends_by_then or nodes <= extra:
                free -= nodes
                extra -= 0 if ends_by_then else nodes
                _start(queue, at, ends, planned, jobs, start_s, now_s)
                continue
        move_up(queue, keep, at)
        keep += 1
    queue.last[0] = keep
    return free, shadow_s, extra


@kernel
def easy(jobs, n_nodes, ends, planned, raising, queue, start_s):
    """Fill in when each job starts under EASY backfilling on this many nodes; at how many instants somebody waited.

    Where somebody waits, a plan is raised at the instant at which it is outlived; else before it is looked at.
    """
    free, extra, shadow_s, n_arrived, n_events = n_nodes, 0, math.nan, 0, 0
    while n_arrived < jobs.arrival_s.size or ends.size[0] > 0:
        now_s = next_instant(ends, jobs, n_arrived)
        if raising.steps_s.size > 0 and planned.size[0] > 0 and queue.first[0] < queue.last[0]:
            now_s = min(now_s, planned.end_s[0])
        freed = _end_all(ends, planned, jobs, now_s)
        free += freed
        begin = queue.last[0]
        while someone_arrives(jobs, n_arrived, now_s):
            queue_up(queue, jobs, n_arrived)
            n_arrived += 1
        n_events += queue.first[0] < queue.last[0]
        is_late = planned.size[0] > 0 and planned.end_s[0] <= now_s
        if is_late and raising.steps_s.size > 0:
            _raise_plans(ends, planned, jobs, raising, start_s, now_s)
        if freed > 0 or is_late or queue.first[0] == begin:  # else the head stays blocked and so do all the old ones
            free = _start_heads(queue, ends, planned, jobs, start_s, now_s, free)
            begin, shadow_s = min(queue.first[0] + 1, queue.last[0]), math.nan
        free, shadow_s, extra = _backfill(queue, begin, ends, planned, jobs, start_s, now_s, free, shadow_s, extra)
    return n_events


# Conservative


@inlined
def _earlier_fit(book, nodes, planned_s, from_s, promised_s):
    """The earliest start from an instant on of a job that holds a promise; the promise itself if there is none before.

    From the promised start on it has its nodes already.
    """
    j, start_s = segment_at(book, 0, from_s), from_s
    while True:
        while book.free[0, j] < nodes:
            j += 1
            if j == book.size[0] or book.time_s[0, j] >= promised_s:
                return promised_s
            start_s = book.time_s[0, j]
        end_s = min(start_s + planned_s, promised_s)
        while book.free[0, j] >= nodes:
            j += 1
            if j == book.size[0] or book.time_s[0, j] >= end_s:
                return start_s


@inlined
def _end_all_early(ends, book, jobs, planned_end_s, now_s):
    """End all jobs that end now; whether one of them was planned to end later."""
    is_early = False
    while someone_ends(ends, now_s):
        ends.size[0] -= 1
        i = ends.job[ends.size[0]]
        if planned_end_s[i] > now_s:
            is_early = True
            give_back(book, 0, jobs.nodes[i], now_s, planned_end_s[i])
    return is_early


@inlined
def _next_planned_end(ends, planned_end_s):
    """When the first of the jobs that run is planned to end."""
    next_s = math.inf
    for at in range(ends.size[0]):
        next_s = min(next_s, planned_end_s[ends.job[at]])
    return next_s


@inlined
def _raise_booked(ends, book, jobs, raising, planned_end_s, start_s, now_s):
    """Raise the plans of all jobs that have outlived them, whoever was promised their nodes; whether there is one."""
    is_raised = False
    for at in range(ends.size[0]):
        i = ends.job[at]
        if planned_end_s[i] <= now_s:
            planned_end_s[i] = raised_end(raising, i, planned_end_s[i], start_s[i] + raising.limit_s[i], now_s)
            take(book, 0, jobs.nodes[i], now_s, planned_end_s[i])
            is_raised = True
    return is_raised


@inlined
def _compress(queue, book, now_s, due_s):
    """Let each waiting job in turn move to the earliest start there now is; when the first of all starts then.

    A job that needs no less than the one looked at before it, and was promised no earlier start, need not look before
    what that one found: what was in the way there lies before that one's old promise, and is as it was.
    """
    nodes, planned_s, promised_s, found_s = 0, 0.0, math.inf, now_s
    for at in range(queue.first[0], queue.last[0]):
        needs_more = queue.nodes[at] >= nodes and queue.planned_s[at] >= planned_s
        from_s = found_s if needs_more and queue.promised_s[at] >= promised_s else now_s
        nodes, planned_s, promised_s = queue.nodes[at], queue.planned_s[at], queue.promised_s[at]
        found_s = promised_s
        if from_s < promised_s:
            found_s = _earlier_fit(book, nodes, planned_s, from_s, promised_s)
        if found_s < promised_s:
            take(book, 0, nodes, found_s, min(found_s + planned_s, promised_s))
            give_back(book, 0, nodes, max(found_s + planned_s, promised_s), promised_s + planned_s)
            queue.promised_s[at] = found_s
            due_s = min(due_s, found_s)
    return due_s


@inlined
def _promise(queue, at, book, now_s):
    """Promise the job at a place of the queue the earliest start there is; when that is."""
    start_s = first_fit(book, 0, queue.nodes[at], queue.planned_s[at], now_s)
    take(book, 0, queue.nodes[at], start_s, start_s + queue.planned_s[at])
    queue.promised_s[at] = start_s
    return start_s


@inlined
def _promise_anew(queue, book, now_s):
    """Promise all that wait the earliest start there is, one after another; when the first of all starts then."""
    for at in range(queue.first[0], queue.last[0]):
        give_back(book, 0, queue.nodes[at], queue.promised_s[at], queue.promised_s[at] + queue.planned_s[at])
    due_s = math.inf
    for at in range(queue.first[0], queue.last[0]):
        due_s = min(due_s, _promise(queue, at, book, now_s))
    return due_s


@inlined
def _start_due(queue, ends, jobs, planned_end_s, start_s, now_s):
    """Start all whose promise falls due; when the next will. Those that stay close up to the end of the queue."""
    due_s, keep = math.inf, queue.last[0]
    for at in range(queue.last[0] - 1, queue.first[0] - 1, -1):
        if queue.promised_s[at] == now_s:
            i = queue.job[at]
            start_s[i] = now_s
            run(ends, i, now_s + jobs.time_s[i])
            planned_end_s[i] = now_s + jobs.planned_s[i]
        else:
            due_s = min(due_s, queue.promised_s[at])
            keep -= 1
            move_up(queue, keep, at)
    queue.first[0] = keep
    return due_s


@kernel
def conservative(jobs, book, ends, raising, planned_end_s, queue, start_s):
    """Fill in when each job starts under conservative backfilling; row 0 of the book is the cluster.

    Every job is promised a start when it arrives. When one ends early, the others move forward in turn. A promise
    that falls due between ends and arrivals is kept at its own instant. When one outlives its plan, that is raised, and
    all are promised anew. Returns at how many instants promises were made or could change.
    """
    n_arrived, due_s, n_events, raises = 0, math.inf, 0, raising.steps_s.size > 0
    while n_arrived < jobs.arrival_s.size or ends.size[0] > 0 or queue.first[0] < queue.last[0]:
        somebody_waits = queue.first[0] < queue.last[0]
        now_s = min(next_instant(ends, jobs, n_arrived), due_s)
        if raises and somebody_waits:
            now_s = min(now_s, _next_planned_end(ends, planned_end_s))
        forget_before(book, 0, now_s)
        is_early = _end_all_early(ends, book, jobs, planned_end_s, now_s) and somebody_waits
        is_raised = raises and _raise_booked(ends, book, jobs, raising, planned_end_s, start_s, now_s)
        if is_raised:
            due_s = _promise_anew(queue, book, now_s)
        elif is_early:
            due_s = _compress(queue, book, now_s, due_s)
        n_events += is_early or (is_raised and somebody_waits) or someone_arrives(jobs, n_arrived, now_s)
        while someone_arrives(jobs, n_arrived, now_s):
            queue_up(queue, jobs, n_arrived)
            due_s = min(due_s, _promise(queue, queue.last[0] - 1, book, now_s))
            n_arrived += 1
        if due_s == now_s:
            due_s = _start_due(queue, ends, jobs, planned_end_s, start_s, now_s)
    return n_events
