"""What an assignment earns and uses when times and powers are drawn: all samples of a task side by side, in float32.

Sample n of a task has the same quantile of time and of power wherever the task runs and whichever assignment is
looked at (common random numbers), so that assignments differ by what they do and not by luck.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.assignment import (
    ENERGY,
    NOWHERE,
    ORDER,
    PLACE,
    UTILITY,
    AssignmentFacts,
    AssignmentRoom,
    room_to_evaluate,
    sort_by_order,
)
from joulewise.kernels.choice import shape_value
from joulewise.kernels.jit import inlined, kernel, shared

MEAN_COMPLETIONS, EXPECTED, PERCENTILE = 0, 1, 2
"""What is optimised: utility at mean completions with mean energies, mean utility and energy, or ranks of both."""

LANES = 16
"""Samples are stored in multiples of this; what is beyond `n_samples` is drawn and walked, but never counted."""

MOST_POINTS = 256
"""So many points have a number of one byte."""

_LOG2_E = np.float32(1.4426950408889634)
_LEAST_POWER = np.float32(-126.0)
_ROUND = np.float32(12582912.0)
_1, _2, _3, _4, _5 = (
    np.float32(c) for c in (0.6931472028550421, 0.2402264791363012, 0.0555034, 0.00961812910762848, 0.00133335581)
)
_ZERO, _ONE = np.float32(0.0), np.float32(1.0)


class ChanceFacts(NamedTuple):
    """What assignments are evaluated with when times and powers are drawn.

    `time_s` and `power_w` (with the overhead of the supply) are by [task type, choice, point] and rise along the
    points; `time_point` and `power_point`, by [task, sample], say which point each sample of a task has. `segments`
    are those of the utilities. Ranks count from 1: utilities from the highest, energies from the lowest. A task is
    dropped in the samples in which it would earn less than `facts.drop_below`; with `drop_by_mean`, which
    MEAN_COMPLETIONS always has, in all samples if it would at its mean completion.
    """

    facts: AssignmentFacts
    time_s: NDArray[np.float32]
    power_w: NDArray[np.float32]
    time_point: NDArray[np.uint8]
    power_point: NDArray[np.uint8]
    segments: NDArray[np.float32]
    n_samples: int
    objective: int
    utility_rank: int
    energy_rank: int
    drop_by_mean: bool


class ChanceRoom(NamedTuple):
    """Work space of one evaluation: by [machine, sample] when free, by sample when a task ends and what it earns.

    `energy_j`, `utility` and `n_ran` are totals by sample.
    """

    sorting: AssignmentRoom
    free_s: NDArray[np.float32]
    exec_s: NDArray[np.float32]
    end_s: NDArray[np.float32]
    earned: NDArray[np.float32]
    energy_j: NDArray[np.float64]
    utility: NDArray[np.float64]
    n_ran: NDArray[np.int32]


def room_for_samples(n_tasks: int, n_machines: int, n_stored: int) -> ChanceRoom:
    """Work space for so many tasks, machines and stored samples (a multiple of LANES)."""
    exec_s, end_s, earned = (np.zeros(n_stored, np.float32) for _ in range(3))
    energy_j, utility = np.zeros(n_stored), np.zeros(n_stored)
    free_s = np.zeros((n_machines, n_stored), np.float32)
    sorting = room_to_evaluate(n_tasks, n_machines)
    return ChanceRoom(sorting, free_s, exec_s, end_s, earned, energy_j, utility, np.zeros(n_stored, np.int32))


@kernel
def evaluate_chances(facts, room, genes, rows, points):
    """Set the points of these rows of genes `[kind of gene, row, task]`: (energy in J, minus utility)."""
    for at in range(rows.size):
        row = rows[at]
        energy_j, utility = walk_samples(facts, room, genes[PLACE, row], genes[ORDER, row])
        if facts.objective == EXPECTED:
            energy_j, utility = mean_of(room.energy_j, facts.n_samples), mean_of(room.utility, facts.n_samples)
        elif facts.objective == PERCENTILE:
            energy_j = ranked(room.energy_j[: facts.n_samples], facts.energy_rank - 1)
            utility = ranked(room.utility[: facts.n_samples], facts.n_samples - facts.utility_rank)
        points[row, ENERGY], points[row, UTILITY] = energy_j, -utility


@kernel
def sample_assignment(facts, room, place, order):
    """Fill the room's totals by sample of one assignment."""
    walk_samples(facts, room, place, order)


@shared
def walk_samples(facts, room, place, order):
    """Run the tasks in their order in all samples; returns mean energy and utility at mean completions."""
    known = facts.facts
    sort_by_order(order, room.sorting)
    room.free_s[:] = _ZERO
    room.energy_j[:] = 0.0
    room.utility[:] = 0.0
    room.n_ran[:] = 0
    by_mean = facts.drop_by_mean or facts.objective == MEAN_COMPLETIONS
    energy_j, utility = 0.0, 0.0
    for at in range(order.size):
        i = room.sorting.sequence[at]
        if place[i] == NOWHERE:
            continue
        machine, choice, kind = known.machine[place[i]], known.choice[place[i]], known.tasks.task_type[i]
        _end(facts, room, i, machine, facts.time_s[kind, choice])
        if by_mean:
            earned = _at_mean(known, i, mean_of(room.end_s, facts.n_samples))
            if earned < known.drop_below:
                continue
            energy_j += known.energy_j[kind, choice]
            utility += earned
        _earn(facts, room, i)
        least = -_ONE if by_mean else np.float32(known.drop_below)
        _count(facts, room, i, machine, facts.power_w[kind, choice], least)
    return energy_j, utility


@inlined
def _at_mean(known, i, mean_s):
    x_s = mean_s - known.tasks.arrival_s[i] - known.tasks.hold_s[i]
    return known.tasks.scale[i] * shape_value(known.utilities, known.tasks.shape[i], x_s)


@inlined
def _end(facts, room, i, machine, time_s):
    """When task i would end in each sample."""
    arrival_s = np.float32(facts.facts.tasks.arrival_s[i])
    for s in range(room.end_s.size):
        room.exec_s[s] = time_s[facts.time_point[i, s]]
        room.end_s[s] = max(room.free_s[machine, s], arrival_s) + room.exec_s[s]


@inlined
def _earn(facts, room, i):
    """What task i would earn in each sample, segment by segment of its utility function."""
    tasks, first = facts.facts.tasks, facts.facts.utilities.first
    scale = np.float32(tasks.scale[i])
    base_s = np.float32(tasks.arrival_s[i] + tasks.hold_s[i])
    begin, end = first[tasks.shape[i]], first[tasks.shape[i] + 1]
    for j in range(begin, end):
        start_s, level, span, rate, slope, floor = facts.segments[j]
        for s in range(room.end_s.size):
            dx_s = max(room.end_s[s] - base_s, _ZERO) - start_s
            if dx_s >= _ZERO:
                value = level + span * exp32(-rate * dx_s) + slope * dx_s
                room.earned[s] = scale * max(value, floor)


@inlined
def _count(facts, room, i, machine, power_w, least):
    """Run task i in the samples in which it earns enough."""
    for s in range(room.end_s.size):
        if room.earned[s] >= least:
            room.free_s[machine, s] = room.end_s[s]
            room.energy_j[s] += room.exec_s[s] * power_w[facts.power_point[i, s]]
            room.utility[s] += room.earned[s]
            room.n_ran[s] += 1


@inlined
def exp32(x):
    """The exponential of a number of 0 or less."""
    return np.exp(x)


@inlined
def mean_of(values, n):
    """The mean of the first n values."""
    total = 0.0
    for s in range(n):
        total += values[s]
    return total / n


@inlined
def ranked(values, k):
    """The value that k others come before, in rising order; the values are put in another order."""
    low, high = 0, values.size - 1
    while low < high:
        pivot = values[(low + high) // 2]
        left, right = low, high
        while left <= right:
            while values[left] < pivot:
                left += 1
            while values[right] > pivot:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left += 1
                right -= 1
        if k <= right:
            high = right
        elif k >= left:
            low = left
        else:
            break
    return values[k]
