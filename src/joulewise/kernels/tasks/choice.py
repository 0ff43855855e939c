"""The best choice of one task when each machine type is free at some instant."""

from __future__ import annotations

import math

import numpy as np

from joulewise.kernels.choice import comes_before, most_from, utility_of
from joulewise.kernels.jit import inlined


@inlined
def score(world, utility, completion_s, option, start_s, arrival_s):
    """The objective's value of a choice; not-a-number counts as the worst."""
    exec_s, energy_j = world.options.exec_s[option], world.options.energy_j[option]
    result = world.value(utility, completion_s, exec_s, energy_j, start_s - arrival_s)
    return -np.inf if math.isnan(result) else result


@inlined
def seen_utility(tasks, utilities, i, completion_s, exec_s, urgency):
    """The utility that an objective sees: less the urgent part of what is earned one execution time later."""
    utility = utility_of(tasks, utilities, i, completion_s)
    if urgency > 0.0:
        utility -= urgency * utility_of(tasks, utilities, i, completion_s + exec_s)
    return utility


@inlined
def earliest_option(options, task_type, start_s):
    """The option that completes first when machine type k is free at start_s[k]; ties to the lower rank."""
    best, best_s = -1, np.inf
    for option in range(options.first[task_type], options.first[task_type + 1]):
        completion_s = start_s[options.machine_type[option]] + options.exec_s[option]
        if comes_before(0.0, completion_s, options.rank[option], 0.0, best_s, options.rank[best]):
            best, best_s = option, completion_s
    return best, best_s


@inlined
def most_utility(world, i, start_s):
    """The most that task i can still earn anywhere, from its earliest completion on."""
    _, completion_s = earliest_option(world.everywhere, world.tasks.task_type[i], start_s)
    return most_from(world.tasks, world.utilities, i, completion_s)


@inlined
def cannot_beat(bound, completion_s, best_value, best_s):
    """Whether a choice that completes then, and is worth a bound at most, comes behind the best whatever its rank."""
    return comes_before(best_value, best_s, 0, bound, completion_s, 0)


@inlined
def best_option(world, i, start_s):
    """The best option of task i, its utility risen, for an objective that falls with time.

    Returns (value, completion, option, most utility any option earns). The earliest completion earns the most
    utility, so the objective at that utility bounds every other option without evaluating its own utility.
    """
    tasks, utilities, options = world.tasks, world.utilities, world.options
    task_type, arrival_s = tasks.task_type[i], tasks.arrival_s[i]
    earliest, completion_s = earliest_option(options, task_type, start_s)
    most = most_from(tasks, utilities, i, completion_s)
    start = start_s[options.machine_type[earliest]]
    best, best_s = earliest, completion_s
    best_value = score(world, most, best_s, best, start, arrival_s)
    for option in range(options.first[task_type], options.first[task_type + 1]):
        if option == earliest:
            continue
        start = start_s[options.machine_type[option]]
        completion_s = start + options.exec_s[option]
        if cannot_beat(score(world, most, completion_s, option, start, arrival_s), completion_s, best_value, best_s):
            continue
        utility = most_from(tasks, utilities, i, completion_s)
        value = score(world, utility, completion_s, option, start, arrival_s)
        if comes_before(value, completion_s, options.rank[option], best_value, best_s, options.rank[best]):
            best, best_s, best_value = option, completion_s, value
    return best_value, best_s, best, most
