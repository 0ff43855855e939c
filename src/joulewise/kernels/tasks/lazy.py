"""Batch mode for objectives that fall with time: one heap of old bounds, and still exact.

Ready times never decrease, so a value computed at an earlier event, or earlier in this one, bounds the value
now. A task is looked at again only when its bound comes to the top, and dropping may wait for that look.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.heap import Heap, empty_heap, pop, push, replace_top
from joulewise.kernels.jit import inlined
from joulewise.kernels.layout import DROPPED, Tasks
from joulewise.kernels.pool import close_event, note_rise, waiting_first
from joulewise.kernels.records import record
from joulewise.kernels.steps import way_of
from joulewise.kernels.tasks.choice import best_option, most_utility
from joulewise.kernels.tasks.fleet import can_go_on, queue_on
from joulewise.kernels.tasks.loop import admit, map_event, n_waiting
from joulewise.kernels.tasks.world import Left, add_left, forget, nobody_left, open_left


@record
class TaskPool(NamedTuple):
    """Tasks to map: `waiting` by bounds that hold for all later events, `looked` by values in this one.

    `choice` and `version` belong to the tasks looked at: the option, and the version of its machine type then.
    `put_off[:n_put_off[0]]` were placed behind a filled machine's queue, to be mapped again. `n_rises[0]` counts
    values that rose with time; if it is not 0 at the end, the objective broke its promise and the result is void.
    """

    waiting: Heap
    looked: Heap
    choice: NDArray[np.int64]
    version: NDArray[np.int64]
    put_off: NDArray[np.int64]
    n_put_off: NDArray[np.int64]
    left: Left
    n_rises: NDArray[np.int64]


def empty_pool(tasks: Tasks, n_task_types: int, n_machine_types: int) -> TaskPool:
    """A pool with room for all tasks."""
    n = tasks.arrival_s.size
    return TaskPool(
        empty_heap(n),
        empty_heap(n),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.zeros(1, np.int64),
        nobody_left(n_machine_types),
        np.zeros(1, np.int64),
    )


@way_of(admit, TaskPool)
def admit_to_pool(pool, world, i):
    """Let the task wait with a bound that makes it be looked at first."""
    pool.waiting.value[i] = np.inf
    pool.waiting.completion_s[i] = -np.inf
    push(pool.waiting, i)
    add_left(pool.left.mappable, world.options, world.tasks.task_type[i], 1)


@way_of(n_waiting, TaskPool)
def n_in_pool(pool):
    """All that wait are in the heap between events."""
    return pool.waiting.size[0]


@inlined
def look(pool, world, fleet, plan):
    """Value the first waiting task on the machines as they are fixed; drop it or add it to those looked at."""
    i = pool.waiting.items[0]
    pop(pool.waiting)
    value, completion_s, option, most = best_option(world, i, fleet.base_start_s)
    if most < world.threshold[i] and most_utility(world, i, fleet.base_start_s) < world.threshold[i]:
        plan.status[i] = DROPPED
        forget(pool.left, world.options, world.tasks.task_type[i])
        return
    note_rise(pool, pool.waiting.value[i], value)
    pool.waiting.value[i] = pool.looked.value[i] = value
    pool.waiting.completion_s[i] = pool.looked.completion_s[i] = completion_s
    pool.choice[i], pool.version[i] = option, 0
    push(pool.looked, i)


@inlined
def look_again(pool, world, fleet):
    """Value the first looked-at task on the machines as they are planned now."""
    i = pool.looked.items[0]
    value, completion_s, option, _ = best_option(world, i, fleet.start_s)
    note_rise(pool, pool.looked.value[i], value)
    pool.looked.value[i], pool.looked.completion_s[i] = value, completion_s
    pool.choice[i] = option
    pool.version[i] = fleet.version[world.options.machine_type[option]]
    replace_top(pool.looked, i)


@inlined
def place(pool, world, fleet, plan, next_s):
    """Give the first looked-at task, whose value is up to date, its machine."""
    i, options = pool.looked.items[0], world.options
    pop(pool.looked)
    add_left(pool.left.unplanned, options, world.tasks.task_type[i], -1)
    k, pstate = options.machine_type[pool.choice[i]], options.pstate[pool.choice[i]]
    if queue_on(fleet, plan, i, k, fleet.earliest[k], pstate, pool.looked.completion_s[i], next_s):
        add_left(pool.left.mappable, options, world.tasks.task_type[i], -1)
    else:
        pool.put_off[pool.n_put_off[0]] = i
        pool.n_put_off[0] += 1


@way_of(map_event, TaskPool)
def map_lazily(pool, world, fleet, plan, next_s):
    """The two-stage greedy, by values that are renewed only where they matter."""
    open_left(pool.left)
    while pool.waiting.size[0] + pool.looked.size[0] > 0 and can_go_on(fleet, pool.left.unplanned):
        if waiting_first(pool):
            look(pool, world, fleet, plan)
            continue
        i = pool.looked.items[0]
        if pool.version[i] == fleet.version[world.options.machine_type[pool.choice[i]]]:
            place(pool, world, fleet, plan, next_s)
        else:
            look_again(pool, world, fleet)
    close_event(pool)
