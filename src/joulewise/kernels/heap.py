"""A binary heap of task indices ordered by their keys: higher value, earlier completion, lower index first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.choice import comes_before
from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.records import record


@record
class Heap(NamedTuple):
    """`items[:size[0]]` is the heap; the key of task i is (value[i], completion_s[i], i)."""

    items: NDArray[np.int64]
    size: NDArray[np.int64]
    value: NDArray[np.float64]
    completion_s: NDArray[np.float64]


def empty_heap(n: int) -> Heap:
    """A heap for up to n tasks."""
    return Heap(np.empty(n, np.int64), np.zeros(1, np.int64), np.empty(n), np.empty(n))


@inlined
def goes_before(heap, i, other, j):
    """Whether task i of a heap goes before task j of another."""
    return comes_before(heap.value[i], heap.completion_s[i], i, other.value[j], other.completion_s[j], j)


@inlined
def before(heap, i, j):
    """Whether task i goes before task j."""
    return goes_before(heap, i, heap, j)


@inlined
def push(heap, i):
    """Add task i."""
    at = heap.size[0]
    while at > 0:
        above = (at - 1) // 2
        j = heap.items[above]
        if not before(heap, i, j):
            break
        heap.items[at] = j
        at = above
    heap.items[at] = i
    heap.size[0] += 1


@inlined
def sink(heap, at, i):
    """Put task i in place `at` or below it, where it belongs."""
    size = heap.size[0]
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and before(heap, heap.items[below + 1], heap.items[below]):
            below += 1
        if not before(heap, heap.items[below], i):
            break
        heap.items[at] = heap.items[below]
        at = below
    heap.items[at] = i


@inlined
def replace_top(heap, i):
    """Put task i in place of the top and restore the order."""
    sink(heap, 0, i)


@inlined
def pop(heap):
    """Take the top off."""
    heap.size[0] -= 1
    if heap.size[0] > 0:
        replace_top(heap, heap.items[heap.size[0]])


@shared
def sift(heap):
    """Restore the order of a whole heap."""
    for first in range(heap.size[0] // 2 - 1, -1, -1):
        sink(heap, first, heap.items[first])


@inlined
def is_sunk(heap, i):
    """Whether a task's key is the last of all."""
    return heap.value[i] == -np.inf and heap.completion_s[i] == np.inf
