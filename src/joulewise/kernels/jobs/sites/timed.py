"""What is to come for jobs, and when: heaps of which the earliest is found."""

from __future__ import annotations

import math

from joulewise.kernels.jit import inlined


@inlined
def next_s(heap):
    """When the next of a heap comes."""
    return heap.at_s[0] if heap.size[0] > 0 else math.inf


@inlined
def _is_sooner(at_s, i, other_s, j):
    """Whether what comes for job i does so before what comes for job j; at one instant jobs go by their numbers."""
    return at_s < other_s or (at_s == other_s and i < j)


@inlined
def push(heap, i, at_s):
    """Something comes for job i at an instant, in no order but that the earliest is found."""
    at = heap.size[0]
    heap.size[0] += 1
    while at > 0:
        above = (at - 1) >> 1
        if not _is_sooner(at_s, i, heap.at_s[above], heap.job[above]):
            break
        heap.at_s[at], heap.job[at] = heap.at_s[above], heap.job[above]
        at = above
    heap.at_s[at], heap.job[at] = at_s, i


@inlined
def pop(heap):
    """The job for which something comes first, which is taken out of a heap."""
    first = heap.job[0]
    heap.size[0] -= 1
    n = heap.size[0]
    at_s, i, at, below = heap.at_s[n], heap.job[n], 0, 1
    while below < n:
        if below + 1 < n and _is_sooner(heap.at_s[below + 1], heap.job[below + 1], heap.at_s[below], heap.job[below]):
            below += 1
        if not _is_sooner(heap.at_s[below], heap.job[below], at_s, i):
            break
        heap.at_s[at], heap.job[at] = heap.at_s[below], heap.job[below]
        at, below = below, 2 * below + 1
    heap.at_s[at], heap.job[at] = at_s, i
    return first


@inlined
def take_out(heap, i):
    """Nothing comes for job i any longer, if something did."""
    at = 0
    while at < heap.size[0] and heap.job[at] != i:
        at += 1
    if at == heap.size[0]:
        return
    while at > 0:
        above = (at - 1) >> 1
        heap.at_s[at], heap.job[at] = heap.at_s[above], heap.job[above]
        at = above
    heap.at_s[0], heap.job[0] = -math.inf, i
    pop(heap)
