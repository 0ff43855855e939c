"""The two-stage greedy of the managed engine for values that may rise: they are found anew at every event.

A plan makes one machine type free later and leaves less allowed. So the choice of a task stays its best while it is of
another machine type and allowed, unless that machine type now offers a better one. Tasks are looked at in the order of
their bounds, where there are any, as in `plain`.
"""

from __future__ import annotations

import numpy as np

from joulewise.kernels.choice import comes_before, risen_part
from joulewise.kernels.heap import goes_before, push
from joulewise.kernels.jit import shared
from joulewise.kernels.layout import NOBODY
from joulewise.kernels.pool import first_of, is_renewed, note_rise, take_out
from joulewise.kernels.tasks.batch import take_first
from joulewise.kernels.tasks.choice import seen_utility
from joulewise.kernels.tasks.greedy import best_choice, can_go_on, enqueue, may_start, set_value
from joulewise.kernels.tasks.state import OPEN
from joulewise.kernels.tasks.valuer import value_of


@shared
def try_option(world, state, i, option):
    """Make an option the choice of a task if it goes before the one it has, and may be made."""
    batch, options, rules = state.batch, world.options, world.rules
    start_s, exec_s = state.machines.start_s[options.machine_type[option]], options.exec_s[option]
    completion_s = start_s + exec_s
    if not completion_s < np.inf or (rules.is_patient and risen_part(world.tasks, i, completion_s) < 1.0):
        return
    utility = seen_utility(world.tasks, world.utilities, i, completion_s, exec_s, rules.urgency)
    value = value_of(world.valuer, world, state, i, option, utility, start_s, completion_s)
    best = batch.choice[i]
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


@shared
def look_closely(world, state):
    """Find the best choice of the first waiting task, unless its bound has fallen; who it is if so."""
    batch, i = state.batch, take_first(state.batch.waiting)
    if world.rules.has_bounds:
        option, bound, completion_s, _ = best_choice(world, state, i, state.machines.soonest_s, OPEN)
        batch.has_sunk[world.tasks.task_type[i]] |= option == NOBODY
        if not is_renewed(batch, i, bound, completion_s):
            push(batch.waiting, i)
            return NOBODY
    try_all(world, state, i)
    if world.rules.has_bounds and batch.choice[i] != NOBODY:
        note_rise(batch, batch.waiting.value[i], batch.looked.value[i])
    batch.looked.items[batch.looked.size[0]] = i
    batch.looked.size[0] += 1
    return i


@shared
def plan_first(world, state, i, horizon_s):
    """Plan a task that was looked at, and renew the choices of the others; who of them goes first."""
    batch, looked = state.batch, state.batch.looked
    k = world.options.machine_type[batch.choice[i]]
    enqueue(world, state, i, batch.choice[i], state.machines.earliest[k], horizon_s)
    take_out(looked, i)
    best = NOBODY
    for j in looked.items[: looked.size[0]]:
        try_again(world, state, j, k)
        best = first_of(looked, batch.choice, j, best)
    return best


@shared
def map_renewed(world, state, horizon_s):
    """The two-stage greedy, by values that are all renewed, until nothing more can be fixed before the next event."""
    batch, waiting, best = state.batch, state.batch.waiting, NOBODY
    while can_go_on(world, state):
        if waiting.size[0] > 0 and (best == NOBODY or goes_before(waiting, waiting.items[0], batch.looked, best)):
            best = first_of(batch.looked, batch.choice, look_closely(world, state), best)
        elif best == NOBODY or (world.rules.declines and not batch.looked.value[best] > 0.0):
            break
        else:
            best = plan_first(world, state, best, horizon_s)
