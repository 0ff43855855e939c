"""Jobs for fixed numbers of nodes on one cluster as they arrive, wait, run and end."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined
from joulewise.kernels.records import record


@record
class Rigid(NamedTuple):
    """Jobs in order of arrival, each for a fixed number of nodes and none larger than the cluster.

    A job runs for `time_s`; the planner knows only `planned_s`.
    """

    arrival_s: NDArray[np.float64]
    time_s: NDArray[np.float64]
    planned_s: NDArray[np.float64]
    nodes: NDArray[np.int64]


@record
class Ends(NamedTuple):
    """The `size[0]` jobs that run and their ends, down to the earliest."""

    size: NDArray[np.int64]
    end_s: NDArray[np.float64]
    job: NDArray[np.int64]


@record
class Queue(NamedTuple):
    """Waiting jobs in order of arrival, from place `first[0]` up to `last[0]`, and what is asked of them most.

    `promised_s` is when each will start, where that is promised.
    """

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    job: NDArray[np.int64]
    nodes: NDArray[np.int64]
    planned_s: NDArray[np.float64]
    promised_s: NDArray[np.float64]


def no_ends(n: int) -> Ends:
    """Nothing runs; there is room for n jobs."""
    return Ends(np.zeros(1, np.int64), np.empty(n), np.empty(n, np.int64))


def empty_queue(n: int) -> Queue:
    """No job waits; n jobs may come in the course of time."""
    first, last = np.zeros(1, np.int64), np.zeros(1, np.int64)
    return Queue(first, last, np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n), np.empty(n))


@inlined
def run(ends, i, end_s):
    """Job i begins to run."""
    low, high = 0, ends.size[0]
    while low < high:
        middle = (low + high) >> 1
        if ends.end_s[middle] > end_s:
            low = middle + 1
        else:
            high = middle
    for k in range(ends.size[0], low, -1):
        ends.end_s[k] = ends.end_s[k - 1]
    for k in range(ends.size[0], low, -1):
        ends.job[k] = ends.job[k - 1]
    ends.end_s[low] = end_s
    ends.job[low] = i
    ends.size[0] += 1


@inlined
def someone_ends(ends, now_s):
    """Whether a job that runs ends now."""
    return ends.size[0] > 0 and ends.end_s[ends.size[0] - 1] == now_s


@inlined
def next_instant(ends, jobs, n_arrived):
    """When the next job ends or arrives."""
    instant_s = math.inf
    if n_arrived < jobs.arrival_s.size:
        instant_s = jobs.arrival_s[n_arrived]
    if ends.size[0] > 0:
        instant_s = min(instant_s, ends.end_s[ends.size[0] - 1])
    return instant_s


@inlined
def someone_arrives(jobs, n_arrived, now_s):
    """Whether the next job arrives now."""
    return n_arrived < jobs.arrival_s.size and jobs.arrival_s[n_arrived] == now_s


@inlined
def queue_up(queue, jobs, i):
    """Job i joins the queue."""
    at = queue.last[0]
    queue.job[at] = i
    queue.nodes[at] = jobs.nodes[i]
    queue.planned_s[at] = jobs.planned_s[i]
    queue.last[0] = at + 1


@inlined
def move_up(queue, to, at):
    """A job that waits at one place goes to another."""
    if to != at:
        queue.job[to] = queue.job[at]
        queue.nodes[to] = queue.nodes[at]
        queue.planned_s[to] = queue.planned_s[at]
        queue.promised_s[to] = queue.promised_s[at]
