"""What is to come for jobs, and when: heaps of which the earliest is found."""

from __future__ import annotations

import math

from joulewise.kernels.jit import inlined


@inlined
def next_s(heap):
    """When the next of a heap comes."""
    return heap.at_s[0] if heap.size[0] > 0 else math.inf


@inlined
def push(heap, i, at_s):
    """Something comes for job i at an instant, in no order but that the earliest is found."""
    at = heap.size[0]
    heap.size[0] += 1
    while at > 0 and heap.at_s[(at - 1) >> 1] > at_s:
        above = (at - 1) >> 1
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
        if below + 1 < n and heap.at_s[below + 1] < heap.at_s[below]:
            below += 1
        if heap.at_s[below] >= at_s:
            break
        heap.at_s[at], heap.job[at] = heap.at_s[below], heap.job[below]
        at, below = below, 2 * below + 1
    heap.at_s[at], heap.job[at] = at_s, i
    return first
