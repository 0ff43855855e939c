"""Whose turn it is: jobs go from three queues by size, so many large ones, then medium, then small, and again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.records import record


@record
class Turns(NamedTuple):
    """Each job's class of size, and how many jobs of a class each turn takes; jobs have no turns without `per_cycle`.

    `n_before` is room to count those of each queue of the site by their class.
    """

    size_class: NDArray[np.int64]
    per_cycle: NDArray[np.int64]
    n_before: NDArray[np.int64]


@inlined
def has_turns(run):
    """Whether jobs go in turn from queues by size."""
    return run.ranked.turns.per_cycle.size > 0


@shared
def put_newcomers_last(run, now_s):
    """Jobs that are ready now are behind those of their tier, even if they have had a turn at this instant."""
    waiting = run.waiting
    for at in range(waiting.n[0]):
        if waiting.ready_s[waiting.job[at]] == now_s:
            waiting.key[waiting.job[at]] = -np.inf


@shared
def take_turns(run):
    """Give every waiting job its turn in its queue as key: jobs of one queue and size wait as they became ready."""
    waiting, turns = run.waiting, run.ranked.turns
    turns.n_before[:] = 0
    for at in range(waiting.n[0]):
        i = waiting.job[at]
        p, size = run.asks.partition[run.asks.of_job[i]], turns.size_class[i]
        waiting.key[i] = -(3 * (turns.n_before[p, size] // turns.per_cycle[size]) + size)
        turns.n_before[p, size] += 1
