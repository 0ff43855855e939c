"""Batch mode for objectives that fall with time: one heap of stale bounds, exact all the same.

Ready times never decrease, so a value computed at an earlier event, or earlier in this one, bounds the value
now. A task is looked at again only when its bound comes to the top, and dropping may wait for that look.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.choice import best_option
from joulewise.kernels.events import (
    NO_EVENT,
    add_left,
    copy_counts,
    drop_hopeless,
    event_at_or_after,
    most_utility,
    next_event,
)
from joulewise.kernels.heap import Heap, empty_heap, pop, push, replace_top
from joulewise.kernels.jit import inlined, kernel
from joulewise.kernels.layout import DROPPED
from joulewise.kernels.pool import close_event, note_rise, waiting_first
from joulewise.kernels.records import record
from joulewise.kernels.tasks.fleet import can_go_on, open_event, queue_on


@record
class Pool(NamedTuple):
    """Tasks to map: `waiting` by bounds that hold for all later events, `looked` by values in this one.

    `choice` and `version` belong to the tasks looked at: the option, and the version of its machine type then.
    `put_off[:n_put_off[0]]` were placed behind a filled machine's queue, to be mapped anew. `n_rises[0]` counts
    values that rose with time; if it is not 0 at the end, the objective broke its promise and the result is void.
    """

    waiting: Heap
    looked: Heap
    choice: NDArray[np.int64]
    version: NDArray[np.int64]
    put_off: NDArray[np.int64]
    n_put_off: NDArray[np.int64]
    n_mappable: NDArray[np.int64]
    n_left: NDArray[np.int64]
    n_rises: NDArray[np.int64]


def empty_pool(n: int, n_task_types: int, n_machine_types: int) -> Pool:
    """A pool for up to n tasks."""
    return Pool(
        empty_heap(n),
        empty_heap(n),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.zeros(1, np.int64),
        np.zeros(n_machine_types, np.int64),
        np.zeros(n_machine_types, np.int64),
        np.zeros(1, np.int64),
    )


@inlined
def admit(pool, tasks, options, arrived, now_s):
    """Take in what has arrived, with a bound that makes it be looked at first."""
    while arrived < tasks.arrival_s.size and tasks.arrival_s[arrived] <= now_s:
        pool.waiting.value[arrived] = np.inf
        pool.waiting.completion_s[arrived] = -np.inf
        push(pool.waiting, arrived)
        add_left(pool.n_mappable, options, tasks.task_type[arrived], 1)
        arrived += 1
    return arrived


@inlined
def look(pool, value, tasks, utilities, options, everywhere, fleet, plan, threshold):
    """Value the first waiting task on the machines as they are fixed; drop it or add it to those looked at."""
    i = pool.waiting.items[0]
    pop(pool.waiting)
    found, completion_s, option, most = best_option(value, tasks, utilities, options, i, fleet.base_start_s)
    if most < threshold[i] and most_utility(tasks, utilities, everywhere, i, fleet.base_start_s) < threshold[i]:
        plan.status[i] = DROPPED
        add_left(pool.n_mappable, options, tasks.task_type[i], -1)
        add_left(pool.n_left, options, tasks.task_type[i], -1)
        return
    note_rise(pool, pool.waiting.value[i], found)
    pool.waiting.value[i] = pool.looked.value[i] = found
    pool.waiting.completion_s[i] = pool.looked.completion_s[i] = completion_s
    pool.choice[i], pool.version[i] = option, 0
    push(pool.looked, i)


@inlined
def look_again(pool, value, tasks, utilities, options, fleet):
    """Value the first looked-at task on the machines as they are planned now."""
    i = pool.looked.items[0]
    found, completion_s, option, _ = best_option(value, tasks, utilities, options, i, fleet.start_s)
    note_rise(pool, pool.looked.value[i], found)
    pool.looked.value[i], pool.looked.completion_s[i] = found, completion_s
    pool.choice[i] = option
    pool.version[i] = fleet.version[options.machine_type[option]]
    replace_top(pool.looked, i)


@inlined
def place(pool, tasks, options, fleet, plan, next_s):
    """Give the first looked-at task, whose value is up to date, its machine."""
    i = pool.looked.items[0]
    pop(pool.looked)
    add_left(pool.n_left, options, tasks.task_type[i], -1)
    k, pstate = options.machine_type[pool.choice[i]], options.pstate[pool.choice[i]]
    if queue_on(fleet, plan, i, k, fleet.earliest[k], pstate, pool.looked.completion_s[i], next_s):
        add_left(pool.n_mappable, options, tasks.task_type[i], -1)
    else:
        pool.put_off[pool.n_put_off[0]] = i
        pool.n_put_off[0] += 1


@inlined
def map_event(pool, value, tasks, utilities, options, everywhere, fleet, plan, threshold, next_s):
    """The two-stage greedy until nothing more can be fixed before the next event."""
    copy_counts(pool.n_mappable, pool.n_left)
    while pool.waiting.size[0] + pool.looked.size[0] > 0 and can_go_on(fleet, pool.n_left):
        if waiting_first(pool):
            look(pool, value, tasks, utilities, options, everywhere, fleet, plan, threshold)
            continue
        i = pool.looked.items[0]
        if pool.version[i] == fleet.version[options.machine_type[pool.choice[i]]]:
            place(pool, tasks, options, fleet, plan, next_s)
        else:
            look_again(pool, value, tasks, utilities, options, fleet)


@kernel
def map_lazily(pool, value, tasks, utilities, options, everywhere, fleet, plan, threshold, interval_s, end_s):
    """Map the whole workload; returns the number of mapping events that had work.

    A task is dropped by what it could earn on the options `everywhere`, of which `options` may be a part.
    """
    arrived, n_events = 0, 0
    event = event_at_or_after(tasks.arrival_s[0], interval_s)
    while event != NO_EVENT and event * interval_s <= end_s:
        now_s, next_s = event * interval_s, (event + 1) * interval_s
        arrived = admit(pool, tasks, options, arrived, now_s)
        open_event(fleet, now_s, next_s)
        map_event(pool, value, tasks, utilities, options, everywhere, fleet, plan, threshold, next_s)
        close_event(pool)
        n_events += 1
        event = next_event(event, pool.waiting.size[0], arrived, tasks, interval_s)
    drop_hopeless(plan, tasks, utilities, everywhere, arrived, fleet.base_start_s, threshold)
    return n_events
