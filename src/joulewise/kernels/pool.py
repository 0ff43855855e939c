"""What the lazy greedy engines share: tasks wait by bounds that hold at all later events, or are looked at in this one.

Their pools have the heaps `waiting` and `looked`, the tasks `put_off[:n_put_off[0]]` and the count `n_rises`.
"""

from __future__ import annotations

from joulewise.kernels.heap import goes_before, push
from joulewise.kernels.jit import inlined
from joulewise.kernels.layout import NOBODY

ROUNDING = 1e-9
"""How far a value may seem to rise, as a part of it, before it counts as risen."""


@inlined
def waiting_first(pool):
    """Whether the best bound among the waiting beats the best value among those looked at."""
    if pool.waiting.size[0] == 0 or pool.looked.size[0] == 0:
        return pool.waiting.size[0] > 0
    return goes_before(pool.waiting, pool.waiting.items[0], pool.looked, pool.looked.items[0])


@inlined
def first_of(looked, choice, i, j):
    """Who of two that were looked at goes first; one that is nobody or has no choice does not."""
    if i == NOBODY or choice[i] == NOBODY:
        return j
    return i if j == NOBODY or goes_before(looked, i, looked, j) else j


@inlined
def take_out(looked, i):
    """Take a task out of those looked at, which stay in the order they have."""
    kept = 0
    for at in range(looked.size[0]):
        if looked.items[at] != i:
            looked.items[kept] = looked.items[at]
            kept += 1
    looked.size[0] = kept


@inlined
def note_rise(pool, before, now):
    """Count a value that rose with time: the objective is not what it was declared to be."""
    if now > before + ROUNDING * max(abs(before), 1.0):
        pool.n_rises[0] += 1


@inlined
def is_renewed(pool, i, bound, completion_s):
    """Note the bound of a task as it is now; whether it had this one already."""
    heap = pool.waiting
    is_same = bound == heap.value[i] and completion_s == heap.completion_s[i]
    note_rise(pool, heap.value[i], bound)
    heap.value[i], heap.completion_s[i] = bound, completion_s
    return is_same


@inlined
def close_event(pool):
    """Everything not planned waits again, with the bounds found when it was first looked at."""
    for at in range(pool.looked.size[0]):
        push(pool.waiting, pool.looked.items[at])
    for at in range(pool.n_put_off[0]):
        push(pool.waiting, pool.put_off[at])
    pool.looked.size[0] = 0
    pool.n_put_off[0] = 0
