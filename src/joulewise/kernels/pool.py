"""What the lazy greedy engines share: tasks wait by bounds that hold at all later events, or are looked at in this one.

Their pools have the heaps `waiting` and `looked`, the tasks `put_off[:n_put_off[0]]` and the count `n_rises`.
"""

from __future__ import annotations

from joulewise.kernels.heap import goes_before, push
from joulewise.kernels.jit import inlined

ROUNDING = 1e-9
"""How far a value may seem to rise, as a part of it, before it counts as risen."""


@inlined
def waiting_first(pool):
    """Whether the best bound among the waiting beats the best value among those looked at."""
    if pool.waiting.size[0] == 0 or pool.looked.size[0] == 0:
        return pool.waiting.size[0] > 0
    return goes_before(pool.waiting, pool.waiting.items[0], pool.looked, pool.looked.items[0])


@inlined
def note_rise(pool, before, now):
    """Count a value that rose with time: the objective is not what it was declared to be."""
    if now > before + ROUNDING * max(abs(before), 1.0):
        pool.n_rises[0] += 1


@inlined
def close_event(pool):
    """Everything not planned waits again, with the bounds found when it was first looked at."""
    for at in range(pool.looked.size[0]):
        push(pool.waiting, pool.looked.items[at])
    for at in range(pool.n_put_off[0]):
        push(pool.waiting, pool.put_off[at])
    pool.looked.size[0] = 0
    pool.n_put_off[0] = 0
