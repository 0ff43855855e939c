"""Batch mode for objectives that see times and energies but no utility: one queue per task type.

Tasks of one type then differ only in their order of arrival, so the choice is among the heads of the queues.
The objective must fall with time, as for the lazy engine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.choice import comes_before
from joulewise.kernels.jit import inlined
from joulewise.kernels.layout import DROPPED, NOBODY, Tasks
from joulewise.kernels.records import record
from joulewise.kernels.steps import way_of
from joulewise.kernels.tasks.choice import most_utility, score
from joulewise.kernels.tasks.fleet import can_go_on, queue_on
from joulewise.kernels.tasks.loop import admit, map_event, n_waiting
from joulewise.kernels.tasks.type_queues import TypeQueues, empty_type_queues, join, take_out
from joulewise.kernels.tasks.world import Left, add_left, forget, nobody_left, open_left


@record
class Lines(NamedTuple):
    """Task types' queues.

    `value[t]`, `completion_s[t]`, `choice[t]` are those of any task of type t, and `version[t]` says for which
    version of the chosen machine type.
    """

    queues: TypeQueues
    value: NDArray[np.float64]
    completion_s: NDArray[np.float64]
    choice: NDArray[np.int64]
    version: NDArray[np.int64]
    n_waiting: NDArray[np.int64]
    left: Left


def empty_lines(tasks: Tasks, n_task_types: int, n_machine_types: int) -> Lines:
    """Queues with room for all tasks."""
    return Lines(
        empty_type_queues(tasks.arrival_s.size, n_task_types),
        np.empty(n_task_types),
        np.empty(n_task_types),
        np.empty(n_task_types, np.int64),
        np.empty(n_task_types, np.int64),
        np.zeros(1, np.int64),
        nobody_left(n_machine_types),
    )


@way_of(admit, Lines)
def admit_to_line(lines, world, i):
    """Let the task stand at the end of its type's queue."""
    t = world.tasks.task_type[i]
    join(lines.queues, t, i)
    lines.n_waiting[0] += 1
    add_left(lines.left.mappable, world.options, t, 1)


@way_of(n_waiting, Lines)
def n_in_lines(lines):
    """All that wait, of any type."""
    return lines.n_waiting[0]


@inlined
def leave_line(lines, t, i):
    """Remove a task of type t from its queue for good."""
    take_out(lines.queues, t, i)
    lines.n_waiting[0] -= 1


@inlined
def skip_hopeless(lines, world, fleet, plan, t):
    """Drop tasks of type t from where the walk stands until one can still earn the threshold."""
    i = lines.queues.at[t]
    while i != NOBODY and most_utility(world, i, fleet.base_start_s) < world.threshold[i]:
        plan.status[i] = DROPPED
        leave_line(lines, t, i)
        forget(lines.left, world.options, t)
        i = lines.queues.after[i]
    lines.queues.at[t] = i


@inlined
def value_type(lines, world, fleet, t):
    """The best choice of any task of type t on the machines as they are planned now."""
    options = world.options
    best_value, best_s, best = -np.inf, np.inf, options.first[t]
    for option in range(options.first[t], options.first[t + 1]):
        start_s = fleet.start_s[options.machine_type[option]]
        completion_s = start_s + options.exec_s[option]
        value = score(world, 0.0, completion_s, option, start_s, start_s)
        if comes_before(value, completion_s, options.rank[option], best_value, best_s, options.rank[best]):
            best, best_s, best_value = option, completion_s, value
    lines.value[t], lines.completion_s[t], lines.choice[t] = best_value, best_s, best
    lines.version[t] = fleet.version[options.machine_type[best]]


@inlined
def best_type(lines):
    """The task type whose next task goes first by the values so far; NOBODY when all walks have ended."""
    best = NOBODY
    for t in range(lines.queues.at.size):
        if lines.queues.at[t] != NOBODY and (
            best == NOBODY
            or comes_before(
                lines.value[t], lines.completion_s[t], lines.queues.at[t],
                lines.value[best], lines.completion_s[best], lines.queues.at[best],
            )
        ):  # fmt: skip
            best = t
    return best


@inlined
def place(lines, world, fleet, plan, t, next_s):
    """Give the next task of type t, whose value is up to date, its machine."""
    i, options = lines.queues.at[t], world.options
    k, pstate = options.machine_type[lines.choice[t]], options.pstate[lines.choice[t]]
    lines.queues.at[t] = lines.queues.after[i]
    add_left(lines.left.unplanned, options, t, -1)
    if queue_on(fleet, plan, i, k, fleet.earliest[k], pstate, lines.completion_s[t], next_s):
        leave_line(lines, t, i)
        add_left(lines.left.mappable, options, t, -1)
    skip_hopeless(lines, world, fleet, plan, t)


@way_of(map_event, Lines)
def map_by_type(lines, world, fleet, plan, next_s):
    """The two-stage greedy among the heads of the queues."""
    open_left(lines.left)
    for t in range(lines.queues.at.size):
        lines.queues.at[t] = lines.queues.head[t]
        skip_hopeless(lines, world, fleet, plan, t)
        if lines.queues.at[t] != NOBODY:
            value_type(lines, world, fleet, t)
    while can_go_on(fleet, lines.left.unplanned):
        t = best_type(lines)
        if t == NOBODY:
            break
        if lines.version[t] == fleet.version[world.options.machine_type[lines.choice[t]]]:
            place(lines, world, fleet, plan, t, next_s)
        else:
            value_type(lines, world, fleet, t)
