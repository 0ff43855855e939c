"""The best choice of one task, and the order between choices."""

from __future__ import annotations

import math

import numba
import numpy as np

from joulewise.kernels.jit import inlined

OBJECTIVE_SIGNATURE = numba.float64(
    numba.float64, numba.float64, numba.float64, numba.float64, numba.float64
)  # value(utility, completion_s, exec_s, energy_j, wait_s)


@inlined
def segment_value(segments, j, x_s):
    """The value of segment j at x_s seconds after the hold, never below the value the next segment starts with."""
    dx_s = x_s - segments[j, 0]
    value = segments[j, 1]
    if segments[j, 2] != 0.0:
        value += segments[j, 2] * math.exp(-segments[j, 3] * dx_s)
    if segments[j, 4] != 0.0:
        value += segments[j, 4] * dx_s
    return max(value, segments[j, 5])


@inlined
def shape_value(utilities, shape, x_s):
    """The value of a shape at x_s seconds after the hold; the scalar twin of UtilityShapes.value."""
    segments = utilities.segments
    j = utilities.first[shape]
    last = utilities.first[shape + 1] - 1
    if x_s <= 0.0:
        return segments[j, 1] + segments[j, 2]
    while j < last and x_s >= segments[j + 1, 0]:
        j += 1
    return segment_value(segments, j, x_s)


@inlined
def utility_of(tasks, utilities, i, completion_s):
    """What task i earns when completed at this instant."""
    x_s = completion_s - tasks.arrival_s[i] - tasks.hold_s[i]
    return tasks.scale[i] * shape_value(utilities, tasks.shape[i], x_s)


@inlined
def score(value, utility, completion_s, option, options, start_s, arrival_s):
    """The objective's value of a choice; not-a-number counts as the worst."""
    result = value(utility, completion_s, options.exec_s[option], options.energy_j[option], start_s - arrival_s)
    return -np.inf if math.isnan(result) else result


@inlined
def earliest_option(options, task_type, start_s):
    """The option that completes first when machine type k is free at start_s[k]; ties to the lower rank."""
    best, best_s = -1, np.inf
    for option in range(options.first[task_type], options.first[task_type + 1]):
        completion_s = start_s[options.machine_type[option]] + options.exec_s[option]
        if completion_s < best_s or (completion_s == best_s and options.rank[option] < options.rank[best]):
            best, best_s = option, completion_s
    return best, best_s


@inlined
def best_option(value, tasks, utilities, options, i, start_s):
    """The best option of task i for an objective that falls with time.

    Returns (value, completion, option, most utility any option earns). The earliest completion earns the most
    utility, so `value` at that utility bounds every other option without evaluating its own utility.
    """
    task_type, arrival_s = tasks.task_type[i], tasks.arrival_s[i]
    earliest, completion_s = earliest_option(options, task_type, start_s)
    most = utility_of(tasks, utilities, i, completion_s)
    start = start_s[options.machine_type[earliest]]
    best, best_s = earliest, completion_s
    best_value = score(value, most, best_s, best, options, start, arrival_s)
    for option in range(options.first[task_type], options.first[task_type + 1]):
        if option == earliest:
            continue
        start = start_s[options.machine_type[option]]
        completion_s = start + options.exec_s[option]
        bound = score(value, most, completion_s, option, options, start, arrival_s)
        if bound < best_value or (bound == best_value and completion_s > best_s):
            continue
        utility = utility_of(tasks, utilities, i, completion_s)
        found = score(value, utility, completion_s, option, options, start, arrival_s)
        if found > best_value or (
            found == best_value
            and (completion_s < best_s or (completion_s == best_s and options.rank[option] < options.rank[best]))
        ):
            best, best_s, best_value = option, completion_s, found
    return best_value, best_s, best, most


@inlined
def comes_before(value_a, completion_a, a, value_b, completion_b, b):
    """Whether choice a goes first: higher value, then earlier completion, then lower task index."""
    if value_a != value_b:
        return value_a > value_b
    if completion_a != completion_b:
        return completion_a < completion_b
    return a < b
