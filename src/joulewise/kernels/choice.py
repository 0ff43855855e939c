"""What a task earns, and the order between choices."""

from __future__ import annotations

import math

import numba
import numpy as np
from numpy.typing import NDArray

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
def most_from(tasks, utilities, i, at_s):
    """The most that task i earns when completed at this instant or later: what it earns once risen."""
    x_s = at_s - tasks.arrival_s[i] - tasks.hold_s[i]
    return tasks.scale[i] * shape_value(utilities, tasks.shape[i], x_s)


@inlined
def risen_part(tasks, i, at_s):
    """How much of its worth task i has reached at this instant, from 0 to 1."""
    since_s, rise_s = at_s - tasks.arrival_s[i], tasks.rise_s[i]
    return max(since_s, 0.0) / rise_s if rise_s > 0.0 and since_s < rise_s else 1.0


@inlined
def utility_of(tasks, utilities, i, completion_s):
    """What task i earns when completed at this instant."""
    return most_from(tasks, utilities, i, completion_s) * risen_part(tasks, i, completion_s)


@inlined
def comes_before(value_a, completion_a, a, value_b, completion_b, b):
    """Whether choice a goes first: higher value, then earlier completion, then lower task index."""
    if value_a != value_b:
        return value_a > value_b
    if completion_a != completion_b:
        return completion_a < completion_b
    return a < b


def in_order(
    value: NDArray[np.float64], completion_s: NDArray[np.float64], index: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The places of choices in these arrays, in the order of `comes_before`."""
    return np.lexsort((index, completion_s, -value))
