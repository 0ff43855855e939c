"""What an assignment earns and uses when times and powers are drawn: all samples of a task side by side, in float32.

Sample n of a task has the same quantile of time and of power wherever the task runs and whichever assignment is
looked at (common random numbers), so that assignments differ by what they do and not by luck. Machines do not wait
for each other: they are walked one after the other, and what they add up to is summed in float64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.assignments.evaluation import (
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
from joulewise.kernels.choice import shape_value, utility_of
from joulewise.kernels.jit import inlined, kernel, lanes, shared
from joulewise.kernels.records import record

MEAN_COMPLETIONS, EXPECTED, PERCENTILE = 0, 1, 2
"""What is optimised: utility at mean completions with mean energies, mean utility and energy, or ranks of both."""

LANES = 16
"""Samples are stored in multiples of this; what is beyond `n_samples` is drawn but never counted."""

MOST_POINTS = 256
"""This many points have a number of one byte."""

_WORD, _MOST_CURVES = 8, 4
_FOREVER_S = 1e12
_JUST_BELOW = np.float32(1 - 2**-23)
_BITS, _BYTE = np.uint64(8), np.uint64(255)
_PRIME, _HALF, _ONE = np.uint64(0x9E3779B97F4A7C15), np.uint64(32), np.uint64(1)
_LARGEST = np.int32(2**31 - 1)
_ZERO, _FOREVER = np.float32(0.0), np.float32(np.inf)
_LOG2_E = np.float32(1.4426950408889634)
_LEAST = np.float32(-126.0)
_ROUNDING = np.float32(1.5 * 2**23)
_MANTISSA = np.int32(23)
_C0, _C1, _C2, _C3, _C4 = (np.float32(c) for c in (0.99999926, 0.6931218, 0.24024745, 0.05591786, 0.0095701))


@record
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


@record
class ChanceRoom(NamedTuple):
    """Work space of one evaluation, by sample but for the first ones.

    `latest_s`, by task, is how long after its hold it may end and still earn enough, -inf for never; `curves` are the
    segments of a utility function that matter to the current task. `sequence[first[m]:first[m + 1]]` are the tasks of
    machine m in their order; `time_word` and `power_word` are the facts' points, eight to a word. Of the current task:
    `exec_s`, `power_w`, `end_s` and `earned`; of the current machine: when it is free and what its tasks used and
    earned; of all: `energy_j` and `utility`.
    """

    sorting: AssignmentRoom
    latest_s: NDArray[np.float32]
    curves: NDArray[np.float32]
    sequence: NDArray[np.int32]
    first: NDArray[np.int64]
    time_word: NDArray[np.uint64]
    power_word: NDArray[np.uint64]
    exec_s: NDArray[np.float32]
    power_w: NDArray[np.float32]
    end_s: NDArray[np.float32]
    earned: NDArray[np.float32]
    free_s: NDArray[np.float32]
    used_j: NDArray[np.float32]
    gained: NDArray[np.float32]
    energy_j: NDArray[np.float64]
    utility: NDArray[np.float64]


def room_for_samples(facts: ChanceFacts) -> ChanceRoom:
    """Work space for one evaluation at a time."""
    (n_tasks, n_stored), n_machines = facts.time_point.shape, int(facts.facts.machine[-1]) + 1
    exec_s, power_w, end_s, earned, free_s, used_j, gained = (np.zeros(n_stored, np.float32) for _ in range(7))
    latest_s = np.zeros(n_tasks, np.float32)
    _set_latest(facts.facts, latest_s)
    return ChanceRoom(
        room_to_evaluate(n_tasks, n_machines),
        latest_s,
        np.zeros((_most_segments(facts), 5), np.float32),
        np.zeros(n_tasks, np.int32),
        np.zeros(n_machines + 2, np.int64),
        facts.time_point.view(np.uint64),
        facts.power_point.view(np.uint64),
        exec_s,
        power_w,
        end_s,
        earned,
        free_s,
        used_j,
        gained,
        np.zeros(n_stored),
        np.zeros(n_stored),
    )


def _most_segments(facts: ChanceFacts) -> int:
    return max(int(np.diff(facts.facts.utilities.first).max()), _MOST_CURVES)


@kernel
def fill_latest(facts, latest_s):
    """How long after its hold each task may end and still earn what keeps it from being dropped, rounded down."""
    for i in range(latest_s.size):
        if not _earns(facts, i, 0.0):
            latest_s[i] = -np.inf
        elif _earns(facts, i, _FOREVER_S):
            latest_s[i] = np.inf
        else:
            latest_s[i] = _latest(facts, i)


@inlined
def _latest(facts, i):
    low, high = 0.0, _FOREVER_S
    while high - low > 1e-9 * (high + 1.0):
        middle = 0.5 * (low + high)
        if _earns(facts, i, middle):
            low = middle
        else:
            high = middle
    if _earns(facts, i, np.float64(np.float32(high))):
        return np.float32(high)
    return np.float32(low) if _earns(facts, i, np.float64(np.float32(low))) else _JUST_BELOW * np.float32(low)


@inlined
def _earns(facts, i, x_s):
    """Whether task i earns enough when it ends this long after its hold."""
    return facts.tasks.scale[i] * shape_value(facts.utilities, facts.tasks.shape[i], x_s) >= facts.drop_below


_set_latest: Any = fill_latest


@kernel
def evaluate_chances(facts, room, genes, rows, points):
    """Set the points of these rows of genes `[kind of gene, row, task]`: (energy in J, minus utility)."""
    n = n_walked(facts)
    for at in range(rows.size):
        row = rows[at]
        place = genes[PLACE, row]
        sort_by_machine(facts, room, place, genes[ORDER, row], room.sequence, room.first)
        room.energy_j[:] = 0.0
        room.utility[:] = 0.0
        energy_j, utility = 0.0, 0.0
        for machine in range(room.first.size - 2):
            used_j, earned = run_machine(facts, room, place, room.sequence, room.first, machine, n)
            energy_j += used_j
            utility += earned
            add_up(room, room.used_j, room.gained, n)
        points[row, ENERGY], points[row, UTILITY] = objectives(facts, room, energy_j, utility)


@inlined
def n_walked(facts):
    """This many samples are walked: whole words."""
    return -(-facts.n_samples // _WORD) * _WORD


@inlined
def add_up(room, used_j, gained, n):
    """Add what a machine's tasks used and earned to the totals."""
    for s in range(n):
        room.energy_j[s] += np.float64(used_j[s])
        room.utility[s] += np.float64(gained[s])


@inlined
def objectives(facts, room, energy_j, utility):
    """A point from the totals, or from mean energy and the utility at mean completions."""
    if facts.objective == EXPECTED:
        energy_j, utility = mean_of(room.energy_j, facts.n_samples), mean_of(room.utility, facts.n_samples)
    elif facts.objective == PERCENTILE:
        energy_j = ranked(room.energy_j, facts.n_samples, facts.energy_rank - 1)
        utility = ranked(room.utility, facts.n_samples, facts.n_samples - facts.utility_rank)
    return energy_j, -utility


@shared
def run_machine(facts, room, place, sequence, first, machine, n):
    """Run a machine's tasks in all samples; returns mean energy and utility at mean completions."""
    by_mean = facts.drop_by_mean or facts.objective == MEAN_COMPLETIONS
    for s in range(n):
        room.free_s[s] = room.used_j[s] = room.gained[s] = _ZERO
    energy_j, utility = 0.0, 0.0
    for at in range(first[machine], first[machine + 1]):
        i = sequence[at]
        if by_mean:
            used_j, earned = _run_by_mean(facts, room, i, place[i], n)
            energy_j += used_j
            utility += earned
        else:
            _run(facts, room, i, place[i], n)
    return energy_j, utility


@shared
def sort_by_machine(facts, room, place, order, sequence, first):
    """Fill `sequence[first[m]:first[m + 1]]` with the tasks of each machine m by order, then by arrival."""
    sort_by_order(order, room.sorting)
    first[:] = 0
    for i in range(place.size):
        if place[i] != NOWHERE:
            first[facts.facts.machine[place[i]] + 2] += 1
    for machine in range(2, first.size):
        first[machine] += first[machine - 1]
    for at in range(place.size):
        i = room.sorting.sequence[at]
        if place[i] != NOWHERE:
            machine = facts.facts.machine[place[i]]
            sequence[first[machine + 1]] = i
            first[machine + 1] += 1


@inlined
def _run(facts, room, i, place, n):
    """Run task i in the samples in which it earns enough."""
    choice, kind = facts.facts.choice[place], facts.facts.tasks.task_type[i]
    base_s = np.float32(facts.facts.tasks.arrival_s[i] + facts.facts.tasks.hold_s[i])
    gather(facts.time_s[kind, choice], room.time_word[i], room.exec_s, n)
    low_s, high_s = end_of(room, np.float32(facts.facts.tasks.arrival_s[i]), n)
    if low_s - base_s <= room.latest_s[i]:
        gather(facts.power_w[kind, choice], room.power_word[i], room.power_w, n)
        _count(facts, room, i, base_s, low_s - base_s, high_s - base_s, room.latest_s[i], n)


@inlined
def _run_by_mean(facts, room, i, place, n):
    """Run task i in all samples if it earns enough at its mean completion: mean energy and utility there, else 0."""
    certain = facts.facts
    choice, kind = certain.choice[place], certain.tasks.task_type[i]
    gather(facts.time_s[kind, choice], room.time_word[i], room.exec_s, n)
    low_s, high_s = end_of(room, np.float32(certain.tasks.arrival_s[i]), n)
    earned = utility_of(certain.tasks, certain.utilities, i, mean_of(room.end_s, facts.n_samples))
    if earned < certain.drop_below:
        return 0.0, 0.0
    if facts.objective == MEAN_COMPLETIONS:
        for s in range(n):
            room.free_s[s] = room.end_s[s]
    else:
        base_s = np.float32(certain.tasks.arrival_s[i] + certain.tasks.hold_s[i])
        gather(facts.power_w[kind, choice], room.power_word[i], room.power_w, n)
        _count(facts, room, i, base_s, low_s - base_s, high_s - base_s, _FOREVER, n)
    return certain.energy_j[kind, choice], earned


@inlined
def _count(facts, room, i, base_s, low_s, high_s, latest_s, n):
    """Count task i, which ends from low_s to high_s after its hold, in the samples in which it ends by latest_s."""
    first, shape, segments = facts.facts.utilities.first, facts.facts.tasks.shape[i], facts.segments
    scale, j, last = np.float32(facts.facts.tasks.scale[i]), first[shape], first[shape + 1] - 1
    while j < last and low_s >= segments[j + 1, 0]:
        j += 1
    n_curves, is_straight = _set_curves(room, segments, scale, j, last, min(high_s, latest_s))
    if is_straight or n_curves > _MOST_CURVES:
        blend_curves(room, n_curves, base_s, n)
        count_earned(room, base_s, latest_s, n)
    elif n_curves == 1:
        count_curves(room, 1, base_s, latest_s, n)
    elif n_curves == 2:
        count_curves(room, 2, base_s, latest_s, n)
    elif n_curves == 3:
        count_curves(room, 3, base_s, latest_s, n)
    else:
        count_curves(room, 4, base_s, latest_s, n)


@inlined
def _set_curves(room, segments, scale, j, last, high_s):
    """Fill `curves` with the segments from j on that start by high_s: how many, and whether any has a slope."""
    k, is_straight = 0, False
    while True:
        room.curves[k, 0], room.curves[k, 1] = segments[j, 0], scale * segments[j, 1]
        room.curves[k, 2], room.curves[k, 3] = scale * segments[j, 2], -_LOG2_E * segments[j, 3]
        room.curves[k, 4] = scale * segments[j, 4]
        is_straight |= segments[j, 4] != _ZERO
        k += 1
        j += 1
        if j > last or high_s < segments[j, 0]:
            return k, is_straight


@lanes
def blend_curves(room, n_curves, base_s, n):
    """Fill what a task earns in each sample, segment by segment of its utility function."""
    for k in range(n_curves):
        start_s, level, span, rate, slope = room.curves[k]
        for s in range(n):
            before, x_s = room.earned[s], room.end_s[s] - base_s
            dx_s = max(x_s - start_s, _ZERO)
            value = level + slope * dx_s + span * power_of_2(rate * dx_s)
            room.earned[s] = value if k == 0 or x_s >= start_s else before


@lanes
def count_earned(room, base_s, latest_s, n):
    """Count what a task earns in the samples in which it ends by latest_s after its hold."""
    for s in range(n):
        end_s, free_s, used_j, gained = room.end_s[s], room.free_s[s], room.used_j[s], room.gained[s]
        j, earned = room.exec_s[s] * room.power_w[s], room.earned[s]
        times = np.float32(end_s - base_s <= latest_s)
        room.free_s[s] = max(free_s, times * end_s)
        room.used_j[s] = used_j + times * j
        room.gained[s] = gained + times * earned


@lanes
def count_curves(room, n_curves, base_s, latest_s, n):
    """Count a task whose ends lie on this many segments of its utility function, four at most."""
    c = room.curves
    start0, level0, span0, rate0 = c[0, 0], c[0, 1], c[0, 2], c[0, 3]
    start1, level1, span1, rate1 = c[1, 0], c[1, 1], c[1, 2], c[1, 3]
    start2, level2, span2, rate2 = c[2, 0], c[2, 1], c[2, 2], c[2, 3]
    start3, level3, span3, rate3 = c[3, 0], c[3, 1], c[3, 2], c[3, 3]
    bits1, bits2, bits3 = bits_of(start1), bits_of(start2), bits_of(start3)
    for s in range(n):
        end_s, free_s, used_j, gained = room.end_s[s], room.free_s[s], room.used_j[s], room.gained[s]
        x_s, j = end_s - base_s, room.exec_s[s] * room.power_w[s]
        bits = bits_of(x_s)
        start_s, level, span, rate = start0, level0, span0, rate0
        if n_curves > 1:
            start_s, level = start1 if bits >= bits1 else start_s, level1 if bits >= bits1 else level
            span, rate = span1 if bits >= bits1 else span, rate1 if bits >= bits1 else rate
        if n_curves > 2:
            start_s, level = start2 if bits >= bits2 else start_s, level2 if bits >= bits2 else level
            span, rate = span2 if bits >= bits2 else span, rate2 if bits >= bits2 else rate
        if n_curves > 3:
            start_s, level = start3 if bits >= bits3 else start_s, level3 if bits >= bits3 else level
            span, rate = span3 if bits >= bits3 else span, rate3 if bits >= bits3 else rate
        dx_s = max(x_s - start_s, _ZERO)
        earned = level + span * power_of_2(rate * dx_s)
        times = np.float32(x_s <= latest_s)
        room.free_s[s] = max(free_s, times * end_s)
        room.used_j[s] = used_j + times * j
        room.gained[s] = gained + times * earned


@lanes
def bits_of(x):
    """The bits of a number, which are in the order of the numbers where one of two is 0 or more."""
    return np.float32(x).view(np.int32)


@lanes
def gather(table, words, values, n):
    """Fill values with what the table holds at the points of n samples."""
    for word in range(n // _WORD):
        points = words[word]
        for k in range(_WORD):
            values[_WORD * word + k] = table[(points >> (_BITS * np.uint64(k))) & _BYTE]


@lanes
def end_of(room, arrival_s, n):
    """When a task would end in each sample; returns the first and the last of these instants.

    Numbers of 0 or more are in the same order as the whole numbers of the same bits.
    """
    low, high = _LARGEST, np.int32(0)
    for s in range(n):
        end_s = max(room.free_s[s], arrival_s) + room.exec_s[s]
        room.end_s[s] = end_s
        bits = bits_of(end_s)
        low, high = min(low, bits), max(high, bits)
    return np.int32(low).view(np.float32), np.int32(high).view(np.float32)


@lanes
def power_of_2(x):
    """2 to the power of a number of 0 or less, to 3e-6 of itself (below 2^-126: 2^-126)."""
    x = max(x, _LEAST)
    rounded = x + _ROUNDING
    f = x - (rounded - _ROUNDING)
    power = _C0 + f * (_C1 + f * (_C2 + f * (_C3 + f * _C4)))
    return np.int32(bits_of(power) + np.int32(bits_of(rounded) << _MANTISSA)).view(np.float32)


@inlined
def mean_of(values, n):
    """The mean of the first n values."""
    total = 0.0
    for s in range(n):
        total += np.float64(values[s])
    return total / n


@inlined
def ranked(values, n, k):
    """Of the first n values the one that k others come before, in rising order; they are put in another order."""
    low, high = 0, n - 1
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
