"""The two-stage greedy of the managed engine for values that may rise: all of them are there, nothing is assumed.

A plan makes one machine type free later and leaves less allowed. So the choice of a task stays its best while it is of
another machine type and allowed, unless that machine type now offers a better one.
"""

from __future__ import annotations

import numpy as np

from joulewise.kernels.choice import comes_before, risen_part
from joulewise.kernels.heap import goes_before, sift
from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.tasks.choice import seen_utility
from joulewise.kernels.tasks.greedy import can_go_on, enqueue, may_start, set_value, worth
from joulewise.kernels.tasks.machines import NOBODY


@shared
def try_option(world, state, i, option):
    """Make an option the choice of a task if it goes before the one it has, and may be made."""
    batch, options, rules = state.batch, world.options, world.rules
    start_s, exec_s = state.machines.start_s[options.machine_type[option]], options.exec_s[option]
    completion_s = start_s + exec_s
    if not completion_s < np.inf or (rules.is_patient and risen_part(world.tasks, i, completion_s) < 1.0):
        return
    utility = seen_utility(world.tasks, world.utilities, i, completion_s, exec_s, rules.urgency)
    value, best = worth(world, batch, i, option, utility, start_s, completion_s), batch.choice[i]
    if best != NOBODY and not comes_before(
        value, completion_s, options.rank[option],
        batch.looked.value[i], batch.looked.completion_s[i], options.rank[best],
    ):  # fmt: skip
        return
    if may_start(world, state, option):
        set_value(batch, i, value, completion_s)
        batch.choice[i] = option


@shared
def try_all(world, state, i):
    """Find the best choice of a task, or NOBODY."""
    state.batch.choice[i], t = NOBODY, world.tasks.task_type[i]
    for option in range(world.options.first[t], world.options.first[t + 1]):
        try_option(world, state, i, option)


@shared
def try_again(world, state, i, k):
    """Renew the choice of a task after machine type k, and what is allowed, have changed."""
    options, t, choice = world.options, world.tasks.task_type[i], state.batch.choice[i]
    if choice != NOBODY and (options.machine_type[choice] == k or not may_start(world, state, choice)):
        try_all(world, state, i)
        return
    for option in range(options.first[t], options.first[t + 1]):
        if options.machine_type[option] == k:
            try_option(world, state, i, option)


@inlined
def find_first(batch):
    """The place, among those that wait, of the task whose choice goes first; NOBODY when none has a choice."""
    waiting, looked, best = batch.waiting, batch.looked, NOBODY
    for at in range(waiting.size[0]):
        i = waiting.items[at]
        if batch.choice[i] != NOBODY and (best == NOBODY or goes_before(looked, i, looked, waiting.items[best])):
            best = at
    return best


@shared
def map_renewed(world, state, horizon_s):
    """The two-stage greedy with every value, until nothing more can be fixed before the next event."""
    batch, waiting, options = state.batch, state.batch.waiting, world.options
    for at in range(waiting.size[0]):
        try_all(world, state, waiting.items[at])
    while can_go_on(world, state):
        place = find_first(batch)
        if place == NOBODY or (world.rules.declines and not batch.looked.value[waiting.items[place]] > 0.0):
            break
        i = waiting.items[place]
        k = options.machine_type[batch.choice[i]]
        waiting.size[0] -= 1
        waiting.items[place] = waiting.items[waiting.size[0]]
        enqueue(world, state, i, batch.choice[i], state.machines.earliest[k], horizon_s)
        for at in range(waiting.size[0]):
            try_again(world, state, waiting.items[at], k)
    sift(waiting)
