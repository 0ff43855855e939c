"""Any objective at all, also one that rises with waiting: every machine is valued, nothing is assumed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.choice import comes_before, score, utility_of
from joulewise.kernels.events import (
    NO_EVENT,
    add_left,
    clear_counts,
    event_at_or_after,
    most_utility,
    next_event,
)
from joulewise.kernels.jit import inlined, kernel
from joulewise.kernels.layout import DROPPED
from joulewise.kernels.records import record
from joulewise.kernels.tasks.fleet import can_go_on, open_event, queue_on


@record
class Candidates(NamedTuple):
    """Mappable tasks `items[:size[0]]` in order of arrival, and the best choice of each task (by index)."""

    items: NDArray[np.int64]
    size: NDArray[np.int64]
    value: NDArray[np.float64]
    completion_s: NDArray[np.float64]
    machine: NDArray[np.int64]
    option: NDArray[np.int64]
    placed: NDArray[np.bool_]
    n_left: NDArray[np.int64]


def no_candidates(n: int, n_task_types: int, n_machine_types: int) -> Candidates:
    """Room for up to n tasks."""
    return Candidates(
        np.empty(n, np.int64),
        np.zeros(1, np.int64),
        np.empty(n),
        np.empty(n),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.zeros(n, np.bool_),
        np.zeros(n_machine_types, np.int64),
    )


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
def try_machine(candidates, value, tasks, utilities, options, fleet, i, option, machine):
    """Keep the option on this machine if it is better: higher value, earlier completion, then `wins_tie`."""
    start_s = fleet.free_s[machine]
    completion_s = start_s + options.exec_s[option]
    utility = utility_of(tasks, utilities, i, completion_s)
    found = score(value, utility, completion_s, option, options, start_s, tasks.arrival_s[i])
    if candidates.option[i] >= 0:
        if found == candidates.value[i] and completion_s == candidates.completion_s[i]:
            better = wins_tie(candidates, options, fleet, i, option, machine)
        else:
            better = comes_before(found, completion_s, i, candidates.value[i], candidates.completion_s[i], i)
        if not better:
            return
    candidates.value[i], candidates.completion_s[i] = found, completion_s
    candidates.machine[i], candidates.option[i] = machine, option


@inlined
def try_all(candidates, value, tasks, utilities, options, fleet, i):
    """The best choice of task i over all machines; of neighbours free at one instant the first stands for all."""
    candidates.option[i] = -1
    t = tasks.task_type[i]
    for option in range(options.first[t], options.first[t + 1]):
        k = options.machine_type[option]
        for machine in range(fleet.first[k], fleet.first[k + 1]):
            if machine == fleet.first[k] or fleet.free_s[machine] != fleet.free_s[machine - 1]:
                try_machine(candidates, value, tasks, utilities, options, fleet, i, option, machine)


@inlined
def look_again(candidates, value, tasks, utilities, options, fleet, i, k, machine):
    """Renew the best choice of task i after only this machine, of type k, changed."""
    if candidates.machine[i] == machine:
        try_all(candidates, value, tasks, utilities, options, fleet, i)
        return
    t = tasks.task_type[i]
    for option in range(options.first[t], options.first[t + 1]):
        if options.machine_type[option] == k:
            try_machine(candidates, value, tasks, utilities, options, fleet, i, option, machine)


@inlined
def keep_hopeful(candidates, tasks, utilities, options, everywhere, fleet, plan, threshold):
    """Drop the tasks that can no longer earn the threshold, and those already fixed; count the rest."""
    clear_counts(candidates.n_left)
    kept = 0
    for at in range(candidates.size[0]):
        i = candidates.items[at]
        if most_utility(tasks, utilities, everywhere, i, fleet.base_start_s) < threshold[i]:
            plan.status[i] = DROPPED
            continue
        candidates.items[kept] = i
        kept += 1
        candidates.placed[i] = False
        add_left(candidates.n_left, options, tasks.task_type[i], 1)
    candidates.size[0] = kept


@inlined
def best_candidate(candidates):
    """The task whose choice goes first, or -1 when all are placed."""
    best = -1
    for at in range(candidates.size[0]):
        i = candidates.items[at]
        if not candidates.placed[i] and (
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


@inlined
def map_event(candidates, value, tasks, utilities, options, everywhere, fleet, plan, threshold, next_s):
    """The two-stage greedy until nothing more can be fixed before the next event."""
    keep_hopeful(candidates, tasks, utilities, options, everywhere, fleet, plan, threshold)
    for at in range(candidates.size[0]):
        try_all(candidates, value, tasks, utilities, options, fleet, candidates.items[at])
    while can_go_on(fleet, candidates.n_left):
        i = best_candidate(candidates)
        option, machine = candidates.option[i], candidates.machine[i]
        k = options.machine_type[option]
        candidates.placed[i] = True
        add_left(candidates.n_left, options, tasks.task_type[i], -1)
        queue_on(fleet, plan, i, k, machine, options.pstate[option], candidates.completion_s[i], next_s)
        for at in range(candidates.size[0]):
            j = candidates.items[at]
            if not candidates.placed[j]:
                look_again(candidates, value, tasks, utilities, options, fleet, j, k, machine)
    remove_fixed(candidates, plan)


@kernel
def map_plainly(candidates, value, tasks, utilities, options, everywhere, fleet, plan, threshold, interval_s, end_s):
    """Map the whole workload; returns the number of mapping events that had work.

    A task is dropped by what it could earn on the options `everywhere`, of which `options` may be a part.
    """
    n = tasks.arrival_s.size
    arrived, n_events = 0, 0
    event = event_at_or_after(tasks.arrival_s[0], interval_s)
    while event != NO_EVENT and event * interval_s <= end_s:
        now_s, next_s = event * interval_s, (event + 1) * interval_s
        while arrived < n and tasks.arrival_s[arrived] <= now_s:
            candidates.items[candidates.size[0]] = arrived
            candidates.size[0] += 1
            arrived += 1
        open_event(fleet, now_s, next_s)
        map_event(candidates, value, tasks, utilities, options, everywhere, fleet, plan, threshold, next_s)
        n_events += 1
        event = next_event(event, candidates.size[0], arrived, tasks, interval_s)
    return n_events


@kernel
def map_on_arrival_plainly(best, value, tasks, utilities, options, fleet, plan, threshold, end_s):
    """Immediate mode: each task goes to its best machine on arrival, for ever; returns the mapping events."""
    n_events = 0
    for i in range(tasks.arrival_s.size):
        if tasks.arrival_s[i] > end_s:
            break
        n_events += 1
        open_event(fleet, tasks.arrival_s[i], np.inf)
        try_all(best, value, tasks, utilities, options, fleet, i)
        if utility_of(tasks, utilities, i, best.completion_s[i]) < threshold[i]:
            plan.status[i] = DROPPED
            continue
        k, pstate = options.machine_type[best.option[i]], options.pstate[best.option[i]]
        queue_on(fleet, plan, i, k, best.machine[i], pstate, best.completion_s[i], np.inf)
    return n_events
