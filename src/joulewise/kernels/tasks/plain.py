"""Any objective at all, also one that rises with waiting: every machine is valued, and no value is kept.

Where only the utility that a formula sees may rise, the formula of the most that a task can still earn bounds its
value at all later instants. Tasks are looked at in the order of these bounds, until none can go before the best.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.choice import comes_before, risen_part
from joulewise.kernels.heap import Heap, empty_heap, goes_before, pop, push
from joulewise.kernels.jit import inlined
from joulewise.kernels.layout import DROPPED, NOBODY, Tasks
from joulewise.kernels.pool import close_event, first_of, is_renewed, note_rise, take_out
from joulewise.kernels.records import record
from joulewise.kernels.steps import way_of
from joulewise.kernels.tasks.choice import best_option, most_utility, score, seen_utility
from joulewise.kernels.tasks.fleet import can_go_on, open_event, queue_on
from joulewise.kernels.tasks.immediate import choose
from joulewise.kernels.tasks.loop import admit, map_event, n_waiting
from joulewise.kernels.tasks.world import Left, add_left, forget, nobody_left, open_left


@record
class Contenders(NamedTuple):
    """Tasks to map: `waiting` by bounds that hold for all later events; those `looked` at, in no order, by values.

    `option` and `machine` are the best choice of a task that was looked at. `put_off[:n_put_off[0]]` were placed behind
    a filled machine's queue, to be mapped again. `n_rises[0]` counts values above their bounds; if it is not 0 at the
    end, the objective broke its promise and the result is void.
    """

    waiting: Heap
    looked: Heap
    machine: NDArray[np.int64]
    option: NDArray[np.int64]
    put_off: NDArray[np.int64]
    n_put_off: NDArray[np.int64]
    left: Left
    n_rises: NDArray[np.int64]


def no_candidates(tasks: Tasks, n_task_types: int, n_machine_types: int) -> Contenders:
    """Room for all tasks."""
    n = tasks.arrival_s.size
    return Contenders(
        empty_heap(n),
        empty_heap(n),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.zeros(1, np.int64),
        nobody_left(n_machine_types),
        np.zeros(1, np.int64),
    )


@way_of(admit, Contenders)
def admit_candidate(pool, world, i):
    """Let the task wait with a bound that makes it be looked at first."""
    pool.waiting.value[i], pool.waiting.completion_s[i] = np.inf, -np.inf
    push(pool.waiting, i)
    add_left(pool.left.mappable, world.options, world.tasks.task_type[i], 1)


@way_of(n_waiting, Contenders)
def n_candidates(pool):
    """All that wait are in the heap between events."""
    return pool.waiting.size[0]


@inlined
def wins_tie(pool, options, fleet, i, option, machine):
    """Whether an equal choice goes first: lower machine type, the machine free first, its number, its P-state."""
    best, best_machine = pool.option[i], pool.machine[i]
    k, best_k = options.machine_type[option], options.machine_type[best]
    if k != best_k:
        return k < best_k
    if fleet.free_s[machine] != fleet.free_s[best_machine]:
        return fleet.free_s[machine] < fleet.free_s[best_machine]
    if machine != best_machine:
        return machine < best_machine
    return options.pstate[option] < options.pstate[best]


@inlined
def try_machine(pool, world, fleet, i, option, machine):
    """Keep the option on this machine if it may be made and is better: by the order of choices, then `wins_tie`."""
    start_s, exec_s = fleet.free_s[machine], world.options.exec_s[option]
    completion_s = start_s + exec_s
    if world.is_patient and risen_part(world.tasks, i, completion_s) < 1.0:
        return
    utility = seen_utility(world.tasks, world.utilities, i, completion_s, exec_s, world.urgency)
    value = score(world, utility, completion_s, option, start_s, world.tasks.arrival_s[i])
    if pool.option[i] != NOBODY:
        if value == pool.looked.value[i] and completion_s == pool.looked.completion_s[i]:
            is_better = wins_tie(pool, world.options, fleet, i, option, machine)
        else:
            is_better = comes_before(value, completion_s, i, pool.looked.value[i], pool.looked.completion_s[i], i)
        if not is_better:
            return
    pool.looked.value[i], pool.looked.completion_s[i] = value, completion_s
    pool.machine[i], pool.option[i] = machine, option


@inlined
def try_all(pool, world, fleet, i):
    """The best choice of task i over all machines; of neighbours free at one instant the first stands for all."""
    pool.option[i] = NOBODY
    t, options = world.tasks.task_type[i], world.options
    for option in range(options.first[t], options.first[t + 1]):
        k = options.machine_type[option]
        for machine in range(fleet.first[k], fleet.first[k + 1]):
            if machine == fleet.first[k] or fleet.free_s[machine] != fleet.free_s[machine - 1]:
                try_machine(pool, world, fleet, i, option, machine)


@inlined
def look_again(pool, world, fleet, i, k, machine):
    """Renew the best choice of task i after only this machine, of type k, changed."""
    if pool.machine[i] == machine:
        try_all(pool, world, fleet, i)
        return
    t, options = world.tasks.task_type[i], world.options
    for option in range(options.first[t], options.first[t + 1]):
        if options.machine_type[option] == k:
            try_machine(pool, world, fleet, i, option, machine)


@inlined
def look(pool, world, fleet, plan):
    """Find the best choice of the first waiting task, unless its bound has fallen or it is dropped; who it is if so."""
    i = pool.waiting.items[0]
    pop(pool.waiting)
    if most_utility(world, i, fleet.base_start_s) < world.threshold[i]:
        plan.status[i] = DROPPED
        forget(pool.left, world.options, world.tasks.task_type[i])
        return NOBODY
    if world.has_bounds:
        bound, completion_s, _, _ = best_option(world, i, fleet.base_start_s)
        if not is_renewed(pool, i, bound, completion_s):
            push(pool.waiting, i)
            return NOBODY
    try_all(pool, world, fleet, i)
    if world.has_bounds and pool.option[i] != NOBODY:
        note_rise(pool, pool.waiting.value[i], pool.looked.value[i])
    pool.looked.items[pool.looked.size[0]] = i
    pool.looked.size[0] += 1
    return i


@inlined
def place(pool, world, fleet, plan, i, next_s):
    """Give a task that was looked at its machine, and renew the choices of the others; who of them goes first."""
    options, t, looked = world.options, world.tasks.task_type[i], pool.looked
    machine, k = pool.machine[i], options.machine_type[pool.option[i]]
    add_left(pool.left.unplanned, options, t, -1)
    if queue_on(fleet, plan, i, k, machine, options.pstate[pool.option[i]], looked.completion_s[i], next_s):
        add_left(pool.left.mappable, options, t, -1)
    else:
        pool.put_off[pool.n_put_off[0]] = i
        pool.n_put_off[0] += 1
    take_out(looked, i)
    best = NOBODY
    for j in looked.items[: looked.size[0]]:
        look_again(pool, world, fleet, j, k, machine)
        best = first_of(looked, pool.option, j, best)
    return best


@way_of(map_event, Contenders)
def map_plainly(pool, world, fleet, plan, next_s):
    """The two-stage greedy, by values that are all renewed."""
    waiting, best = pool.waiting, NOBODY
    open_left(pool.left)
    while can_go_on(fleet, pool.left.unplanned):
        if waiting.size[0] > 0 and (best == NOBODY or goes_before(waiting, waiting.items[0], pool.looked, best)):
            best = first_of(pool.looked, pool.option, look(pool, world, fleet, plan), best)
        elif best == NOBODY:
            break
        else:
            best = place(pool, world, fleet, plan, best, next_s)
    close_event(pool)


@way_of(choose, Contenders)
def choose_plainly(pool, world, fleet, i):
    """The best choice on any machine."""
    open_event(fleet, world.effect_s[i], np.inf)
    try_all(pool, world, fleet, i)
    option, machine = pool.option[i], pool.machine[i]
    return machine, world.options.pstate[option], fleet.free_s[machine], pool.looked.completion_s[i]
