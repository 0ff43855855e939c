"""Any objective at all, also one that rises with waiting: every machine is valued, nothing is assumed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.choice import comes_before, risen_part
from joulewise.kernels.jit import inlined
from joulewise.kernels.layout import DROPPED, Tasks
from joulewise.kernels.records import record
from joulewise.kernels.steps import way_of
from joulewise.kernels.tasks.choice import most_utility, score, seen_utility
from joulewise.kernels.tasks.fleet import can_go_on, open_event, queue_on
from joulewise.kernels.tasks.immediate import choose
from joulewise.kernels.tasks.loop import admit, map_event, n_waiting
from joulewise.kernels.tasks.world import Left, add_left, nobody_left, open_left


@record
class Contenders(NamedTuple):
    """Mappable tasks `items[:size[0]]` in order of arrival, and the best choice of each task (by index)."""

    items: NDArray[np.int64]
    size: NDArray[np.int64]
    value: NDArray[np.float64]
    completion_s: NDArray[np.float64]
    machine: NDArray[np.int64]
    option: NDArray[np.int64]
    placed: NDArray[np.bool_]
    left: Left


def no_candidates(tasks: Tasks, n_task_types: int, n_machine_types: int) -> Contenders:
    """Room for all tasks."""
    n = tasks.arrival_s.size
    return Contenders(
        np.empty(n, np.int64),
        np.zeros(1, np.int64),
        np.empty(n),
        np.empty(n),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.zeros(n, np.bool_),
        nobody_left(n_machine_types),
    )


@way_of(admit, Contenders)
def admit_candidate(candidates, world, i):
    """Add the task to the list."""
    candidates.items[candidates.size[0]] = i
    candidates.size[0] += 1
    add_left(candidates.left.mappable, world.options, world.tasks.task_type[i], 1)


@way_of(n_waiting, Contenders)
def n_candidates(candidates):
    """All on the list."""
    return candidates.size[0]


@inlined
def wins_tie(candidates, options, fleet, i, option, machine):
    """Whether an equal choice goes first: lower machine type, the machine free first, its number, its P-state."""
    best, best_machine = candidates.option[i], candidates.machine[i]
    k, best_k = options.machine_type[option], options.machine_type[best]
    if k != best_k:
        return k < best_k
    if fleet.free_s[machine] != fleet.free_s[best_machine]:
        return fleet.free_s[machine] < fleet.free_s[best_machine]
    if machine != best_machine:
        return machine < best_machine
    return options.pstate[option] < options.pstate[best]


@inlined
def try_machine(candidates, world, fleet, i, option, machine):
    """Keep the option on this machine if it may be made and is better: by the order of choices, then `wins_tie`."""
    start_s, exec_s = fleet.free_s[machine], world.options.exec_s[option]
    completion_s = start_s + exec_s
    if world.is_patient and risen_part(world.tasks, i, completion_s) < 1.0:
        return
    utility = seen_utility(world.tasks, world.utilities, i, completion_s, exec_s, world.urgency)
    value = score(world, utility, completion_s, option, start_s, world.tasks.arrival_s[i])
    if candidates.option[i] >= 0:
        if value == candidates.value[i] and completion_s == candidates.completion_s[i]:
            better = wins_tie(candidates, world.options, fleet, i, option, machine)
        else:
            better = comes_before(value, completion_s, i, candidates.value[i], candidates.completion_s[i], i)
        if not better:
            return
    candidates.value[i], candidates.completion_s[i] = value, completion_s
    candidates.machine[i], candidates.option[i] = machine, option


@inlined
def try_all(candidates, world, fleet, i):
    """The best choice of task i over all machines; of neighbours free at one instant the first stands for all."""
    candidates.option[i] = -1
    t, options = world.tasks.task_type[i], world.options
    for option in range(options.first[t], options.first[t + 1]):
        k = options.machine_type[option]
        for machine in range(fleet.first[k], fleet.first[k + 1]):
            if machine == fleet.first[k] or fleet.free_s[machine] != fleet.free_s[machine - 1]:
                try_machine(candidates, world, fleet, i, option, machine)


@inlined
def look_again(candidates, world, fleet, i, k, machine):
    """Renew the best choice of task i after only this machine, of type k, changed."""
    if candidates.machine[i] == machine:
        try_all(candidates, world, fleet, i)
        return
    t, options = world.tasks.task_type[i], world.options
    for option in range(options.first[t], options.first[t + 1]):
        if options.machine_type[option] == k:
            try_machine(candidates, world, fleet, i, option, machine)


@inlined
def keep_hopeful(candidates, world, fleet, plan):
    """Drop the tasks that can no longer earn the threshold; the rest have no machine yet."""
    kept = 0
    for at in range(candidates.size[0]):
        i = candidates.items[at]
        if most_utility(world, i, fleet.base_start_s) < world.threshold[i]:
            plan.status[i] = DROPPED
            add_left(candidates.left.mappable, world.options, world.tasks.task_type[i], -1)
            continue
        candidates.items[kept] = i
        kept += 1
        candidates.placed[i] = False
    candidates.size[0] = kept


@inlined
def best_candidate(candidates):
    """The task whose choice goes first, or -1 when all are placed or have none."""
    best = -1
    for at in range(candidates.size[0]):
        i = candidates.items[at]
        if not candidates.placed[i] and candidates.option[i] >= 0 and (
            best < 0
            or comes_before(
                candidates.value[i], candidates.completion_s[i], i,
                candidates.value[best], candidates.completion_s[best], best,
            )
        ):  # fmt: skip
            best = i
    return best


@inlined
def remove_fixed(candidates, plan):
    """Keep only the tasks that this event did not fix."""
    kept = 0
    for at in range(candidates.size[0]):
        i = candidates.items[at]
        if plan.machine[i] < 0:
            candidates.items[kept] = i
            kept += 1
    candidates.size[0] = kept


@way_of(map_event, Contenders)
def map_plainly(candidates, world, fleet, plan, next_s):
    """The two-stage greedy with every value."""
    options, left = world.options, candidates.left
    keep_hopeful(candidates, world, fleet, plan)
    open_left(left)
    for at in range(candidates.size[0]):
        try_all(candidates, world, fleet, candidates.items[at])
    while can_go_on(fleet, left.unplanned):
        i = best_candidate(candidates)
        if i < 0:
            break
        option, machine, t = candidates.option[i], candidates.machine[i], world.tasks.task_type[i]
        k = options.machine_type[option]
        candidates.placed[i] = True
        add_left(left.unplanned, options, t, -1)
        if queue_on(fleet, plan, i, k, machine, options.pstate[option], candidates.completion_s[i], next_s):
            add_left(left.mappable, options, t, -1)
        for at in range(candidates.size[0]):
            j = candidates.items[at]
            if not candidates.placed[j]:
                look_again(candidates, world, fleet, j, k, machine)
    remove_fixed(candidates, plan)


@way_of(choose, Contenders)
def choose_plainly(best, world, fleet, i):
    """The best choice on any machine."""
    open_event(fleet, world.effect_s[i], np.inf)
    try_all(best, world, fleet, i)
    option, machine = best.option[i], best.machine[i]
    return machine, world.options.pstate[option], fleet.free_s[machine], best.completion_s[i]
