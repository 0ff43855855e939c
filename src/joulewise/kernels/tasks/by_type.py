"""Batch mode for objectives that see times and energies but no utility: one queue per task type.

Tasks of one type then differ only in their order of arrival, so the choice is among the heads of the queues.
The objective must fall with time, as for the lazy kernel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.choice import comes_before, score
from joulewise.kernels.events import (
    NO_EVENT,
    add_left,
    copy_counts,
    drop_hopeless,
    event_at_or_after,
    most_utility,
    next_event,
)
from joulewise.kernels.jit import inlined, kernel
from joulewise.kernels.layout import DROPPED
from joulewise.kernels.records import record
from joulewise.kernels.tasks.fleet import can_go_on, open_event, queue_on

NOBODY = -1


@record
class Queues(NamedTuple):
    """Task types' queues in order of arrival, as lists linked both ways; `at[t]` walks along one in an event.

    `value[t]`, `completion_s[t]`, `choice[t]` are those of any task of type t, and `version[t]` says for which
    version of the chosen machine type.
    """

    head: NDArray[np.int64]
    tail: NDArray[np.int64]
    after: NDArray[np.int64]
    ahead: NDArray[np.int64]
    at: NDArray[np.int64]
    value: NDArray[np.float64]
    completion_s: NDArray[np.float64]
    choice: NDArray[np.int64]
    version: NDArray[np.int64]
    n_waiting: NDArray[np.int64]
    n_mappable: NDArray[np.int64]
    n_left: NDArray[np.int64]


def empty_queues(n: int, n_task_types: int, n_machine_types: int) -> Queues:
    """Queues for up to n tasks."""
    return Queues(
        np.full(n_task_types, NOBODY, np.int64),
        np.full(n_task_types, NOBODY, np.int64),
        np.full(n, NOBODY, np.int64),
        np.full(n, NOBODY, np.int64),
        np.full(n_task_types, NOBODY, np.int64),
        np.empty(n_task_types),
        np.empty(n_task_types),
        np.empty(n_task_types, np.int64),
        np.empty(n_task_types, np.int64),
        np.zeros(1, np.int64),
        np.zeros(n_machine_types, np.int64),
        np.zeros(n_machine_types, np.int64),
    )


@inlined
def admit(queues, tasks, options, arrived, now_s):
    """Take in what has arrived, at the ends of the queues."""
    while arrived < tasks.arrival_s.size and tasks.arrival_s[arrived] <= now_s:
        t = tasks.task_type[arrived]
        last = queues.tail[t]
        queues.ahead[arrived] = last
        queues.tail[t] = arrived
        if last == NOBODY:
            queues.head[t] = arrived
        else:
            queues.after[last] = arrived
        queues.n_waiting[0] += 1
        add_left(queues.n_mappable, options, t, 1)
        arrived += 1
    return arrived


@inlined
def take_out(queues, tasks, options, i):
    """Remove task i from its queue for good."""
    t, ahead, after = tasks.task_type[i], queues.ahead[i], queues.after[i]
    if ahead == NOBODY:
        queues.head[t] = after
    else:
        queues.after[ahead] = after
    if after == NOBODY:
        queues.tail[t] = ahead
    else:
        queues.ahead[after] = ahead
    queues.n_waiting[0] -= 1
    add_left(queues.n_mappable, options, t, -1)


@inlined
def skip_hopeless(queues, tasks, utilities, options, everywhere, fleet, plan, t, threshold):
    """Drop tasks of type t from where the walk stands until one can still earn the threshold."""
    i = queues.at[t]
    while i != NOBODY and most_utility(tasks, utilities, everywhere, i, fleet.base_start_s) < threshold[i]:
        plan.status[i] = DROPPED
        take_out(queues, tasks, options, i)
        add_left(queues.n_left, options, t, -1)
        i = queues.after[i]
    queues.at[t] = i


@inlined
def value_type(queues, value, options, fleet, t):
    """The best choice of any task of type t on the machines as they are planned now."""
    best_value, best_s, best = -np.inf, np.inf, options.first[t]
    for option in range(options.first[t], options.first[t + 1]):
        start_s = fleet.start_s[options.machine_type[option]]
        completion_s = start_s + options.exec_s[option]
        found = score(value, 0.0, completion_s, option, options, start_s, start_s)
        if comes_before(found, completion_s, options.rank[option], best_value, best_s, options.rank[best]):
            best, best_s, best_value = option, completion_s, found
    queues.value[t], queues.completion_s[t], queues.choice[t] = best_value, best_s, best
    queues.version[t] = fleet.version[options.machine_type[best]]


@inlined
def best_type(queues):
    """The task type whose next task goes first by the values known; NOBODY when all walks have ended."""
    best = NOBODY
    for t in range(queues.at.size):
        if queues.at[t] != NOBODY and (
            best == NOBODY
            or comes_before(
                queues.value[t], queues.completion_s[t], queues.at[t],
                queues.value[best], queues.completion_s[best], queues.at[best],
            )
        ):  # fmt: skip
            best = t
    return best


@inlined
def map_event(queues, value, tasks, utilities, options, everywhere, fleet, plan, threshold, next_s):
    """The two-stage greedy until nothing more can be fixed before the next event."""
    copy_counts(queues.n_mappable, queues.n_left)
    for t in range(queues.at.size):
        queues.at[t] = queues.head[t]
        skip_hopeless(queues, tasks, utilities, options, everywhere, fleet, plan, t, threshold)
        if queues.at[t] != NOBODY:
            value_type(queues, value, options, fleet, t)
    while can_go_on(fleet, queues.n_left):
        t = best_type(queues)
        if t == NOBODY:
            break
        k = options.machine_type[queues.choice[t]]
        if queues.version[t] != fleet.version[k]:
            value_type(queues, value, options, fleet, t)
            continue
        i, pstate = queues.at[t], options.pstate[queues.choice[t]]
        queues.at[t] = queues.after[i]
        add_left(queues.n_left, options, t, -1)
        if queue_on(fleet, plan, i, k, fleet.earliest[k], pstate, queues.completion_s[t], next_s):
            take_out(queues, tasks, options, i)
        skip_hopeless(queues, tasks, utilities, options, everywhere, fleet, plan, t, threshold)


@kernel
def map_by_type(queues, value, tasks, utilities, options, everywhere, fleet, plan, threshold, interval_s, end_s):
    """Map the whole workload; returns the number of mapping events that had work.

    A task is dropped by what it could earn on the options `everywhere`, of which `options` may be a part.
    """
    arrived, n_events = 0, 0
    event = event_at_or_after(tasks.arrival_s[0], interval_s)
    while event != NO_EVENT and event * interval_s <= end_s:
        now_s, next_s = event * interval_s, (event + 1) * interval_s
        arrived = admit(queues, tasks, options, arrived, now_s)
        open_event(fleet, now_s, next_s)
        map_event(queues, value, tasks, utilities, options, everywhere, fleet, plan, threshold, next_s)
        n_events += 1
        event = next_event(event, queues.n_waiting[0], arrived, tasks, interval_s)
    drop_hopeless(plan, tasks, utilities, everywhere, arrived, fleet.base_start_s, threshold)
    return n_events
