"""Assignments made in one go: tasks by arrival to the place that is best for each, or always the one done first."""

from __future__ import annotations

import numpy as np

from joulewise.kernels.assignments.evaluation import end_at, energy_at, turn
from joulewise.kernels.choice import comes_before, utility_of
from joulewise.kernels.jit import inlined, kernel

LESS_ENERGY, MORE_UTILITY, MORE_UTILITY_PER_ENERGY = 0, 1, 2
"""What a task's best place is judged by."""


@kernel
def map_by_arrival(facts, aim, free_s, place):
    """Fill the place of every task, by arrival: the best by its aim, then the first to complete, then the lowest."""
    free_s[:] = 0.0
    for i in range(place.size):
        kind, best, most, best_s = facts.tasks.task_type[i], -1, -np.inf, np.inf
        for at in range(facts.n_allowed[kind]):
            candidate = facts.allowed[kind, at]
            _, end_s, earned = turn(facts, i, candidate, free_s[facts.machine[candidate]])
            value = _value(aim, earned, energy_at(facts, i, candidate))
            if comes_before(value, end_s, candidate, most, best_s, best):
                best, most, best_s = candidate, value, end_s
        _take(facts, free_s, i, best, best_s)
        place[i] = best


@inlined
def _value(aim, utility, energy_j):
    """What a choice is worth to an aim."""
    if aim == LESS_ENERGY:
        return -energy_j
    if aim == MORE_UTILITY or utility == 0.0:
        return utility
    return utility / energy_j  # infinite where it takes no energy


@inlined
def _take(facts, free_s, i, place, end_s):
    """Keep the machine busy, unless the task is dropped."""
    if utility_of(facts.tasks, facts.utilities, i, end_s) >= facts.drop_below:
        free_s[facts.machine[place]] = end_s


@kernel
def map_first_done(facts, following, head, best, best_s, free_s, place, order):
    """Fill place and order: again and again, of all tasks the one that can be done first (min-min completion time).

    Tasks of one type go by arrival: `head[task type]` is the first that waits and `following[task]` the next one of
    its type, `place.size` where there is none. `best` and `best_s` hold the best place of each head. Ties go to the
    lower task, then to the lower place.
    """
    n = place.size
    free_s[:] = 0.0
    for kind in range(head.size):
        _find_first_done(facts, head, best, best_s, free_s, kind, n)
    for position in range(n):
        kind = _first_done(head, best_s)
        i, machine = head[kind], facts.machine[best[kind]]
        place[i], order[i] = best[kind], position
        _take(facts, free_s, i, best[kind], best_s[kind])
        head[kind] = following[i]
        for other in range(head.size):
            if other == kind or (head[other] < n and facts.machine[best[other]] == machine):
                _find_first_done(facts, head, best, best_s, free_s, other, n)


@inlined
def _find_first_done(facts, head, best, best_s, free_s, kind, n):
    """Where the head of a task type is done first; never, where none is left."""
    best_s[kind] = np.inf
    if head[kind] < n:
        for at in range(facts.n_allowed[kind]):
            place = facts.allowed[kind, at]
            end_s = end_at(facts, head[kind], place, free_s[facts.machine[place]])
            if end_s < best_s[kind]:
                best[kind], best_s[kind] = place, end_s


@inlined
def _first_done(head, best_s):
    """The task type whose head is done first."""
    first = 0
    for kind in range(1, head.size):
        if comes_before(0.0, best_s[kind], head[kind], 0.0, best_s[first], head[first]):
            first = kind
    return first
