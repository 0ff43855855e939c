"""The clock of batch mode and the tasks it has to map, as every batch kernel sees them."""

from __future__ import annotations

import numpy as np

from joulewise.kernels.choice import earliest_option, utility_of
from joulewise.kernels.jit import inlined
from joulewise.kernels.layout import DROPPED, WAITING


@inlined
def event_at_or_after(at_s, interval_s):
    """The number of the first mapping event (event j is at j * interval_s) that is not before this instant."""
    event = int(np.ceil(at_s / interval_s))
    while event > 0 and (event - 1) * interval_s >= at_s:
        event -= 1
    while event * interval_s < at_s:
        event += 1
    return event


NO_EVENT = -1


@inlined
def next_event(event, n_waiting, arrived, tasks, interval_s):
    """The next event that has work, or NO_EVENT."""
    if n_waiting > 0:
        return event + 1
    if arrived == tasks.arrival_s.size:
        return NO_EVENT
    return max(event + 1, event_at_or_after(tasks.arrival_s[arrived], interval_s))


@inlined
def add_left(n_left, options, task_type, by):
    """Add `by` to the number of tasks left for each machine type that can run the task type."""
    for option in range(options.first[task_type], options.first[task_type + 1]):
        if options.pstate[option] == 0:
            n_left[options.machine_type[option]] += by


@inlined
def copy_counts(source, target):
    for k in range(source.size):
        target[k] = source[k]


@inlined
def clear_counts(counts):
    for k in range(counts.size):
        counts[k] = 0


@inlined
def most_utility(tasks, utilities, options, i, start_s):
    """The utility of task i's earliest completion, the most it can still earn."""
    _, completion_s = earliest_option(options, tasks.task_type[i], start_s)
    return utility_of(tasks, utilities, i, completion_s)


@inlined
def drop_hopeless(plan, tasks, utilities, options, arrived, start_s, threshold):
    """Mark the arrived tasks that still wait and can no longer earn the threshold."""
    for i in range(arrived):
        if plan.status[i] == WAITING and most_utility(tasks, utilities, options, i, start_s) < threshold[i]:
            plan.status[i] = DROPPED
