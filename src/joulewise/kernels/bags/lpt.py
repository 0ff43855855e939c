"""From a split to whole tasks on single machines: rounding, then the longest tasks first, many alike at a time.

Among the machines of one type each task goes to the one that is ready first, longest tasks first. Tasks that are
alike fill the machines up to a common level: each machine takes what fits below it at once, and the few tasks that
are left over go to the machines that are then ready first, one each. Time is counted in whole ticks, so the result
is exactly that of handing the tasks out one by one, at a cost that does not depend on how many there are. Machines
never are further apart than their longest task: only that is counted, from the one that is ready first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined, kernel, shared
from joulewise.kernels.records import record

NEARLY_WHOLE = 1e-6
"""A share of a task so close below a whole one counts as one."""


@record
class Lengths(NamedTuple):
    """Ticks and seconds by [task type, machine type x P-state], tasks by type, and where machine types begin.

    Ticks may differ from machine type to machine type.
    """

    ticks: NDArray[np.int64]
    exec_s: NDArray[np.float64]
    n_tasks: NDArray[np.int64]
    first_machine: NDArray[np.int64]
    n_pstates: int


@record
class RoundingRoom(NamedTuple):
    """Room to work in: the split, its rounding, the order of a machine type's choices, and by machine how long it
    computes, and in ticks how long after the first of its type it is ready.
    """

    split: NDArray[np.float64]
    whole: NDArray[np.int64]
    order: NDArray[np.int64]
    busy_s: NDArray[np.float64]
    ready: NDArray[np.int64]
    given: NDArray[np.int64]
    scratch: NDArray[np.int64]


@kernel
def assign(lengths, bench, counts):
    """Round `bench.split` and hand the tasks out: fills `counts[machine, task type x P-state]`, which holds zeros."""
    _round_all(lengths, bench)
    _assign_all(lengths, bench, counts)


@shared
def _round_all(lengths, bench):
    for i in range(lengths.n_tasks.size):
        _round_row(bench.split[i], lengths.n_tasks[i], bench.whole[i])


@shared
def _round_row(split, n_tasks, whole):
    """Whole numbers that sum to n_tasks: the largest fractions are rounded up, the lower index first among equals.

    What floating point has lost or added beyond that goes to the largest part.
    """
    left, largest = n_tasks, 0
    for c in range(split.size):
        whole[c] = int(np.floor(split[c] + NEARLY_WHOLE))
        left -= whole[c]
        if split[c] > split[largest]:
            largest = c
    while left > 0:
        best, most = -1, NEARLY_WHOLE
        for c in range(split.size):
            fraction = split[c] - whole[c]
            if fraction > most:
                best, most = c, fraction
        if best < 0:
            break
        whole[best] += 1
        left -= 1
    whole[largest] += left


@shared
def _assign_all(lengths, bench, counts):
    """Hand out the tasks of every machine type."""
    for machine_type in range(lengths.first_machine.size - 1):
        begin, end = lengths.first_machine[machine_type], lengths.first_machine[machine_type + 1]
        ready, given, scratch = bench.ready[begin:end], bench.given[begin:end], bench.scratch[begin:end]
        bench.busy_s[begin:end] = 0.0
        ready[:] = 0
        for at in range(_sort_choices(lengths, bench, machine_type)):
            task_type, pstate = divmod(bench.order[at], lengths.n_pstates)
            column = machine_type * lengths.n_pstates + pstate
            n_tasks, ticks = bench.whole[task_type, column], lengths.ticks[task_type, column]
            _hand_out(ready, given, scratch, n_tasks, ticks)
            for k in range(ready.size):
                counts[begin + k, bench.order[at]] = given[k]
                bench.busy_s[begin + k] += given[k] * lengths.exec_s[task_type, column]


@shared
def _sort_choices(lengths, bench, machine_type):
    """List the choices of a machine type that have tasks, longest first, then by index; returns how many."""
    n_listed = 0
    for i in range(lengths.n_tasks.size):
        for pstate in range(lengths.n_pstates):
            column = machine_type * lengths.n_pstates + pstate
            if bench.whole[i, column] > 0:
                at = n_listed
                while at > 0 and _ticks_at(lengths, bench, machine_type, at - 1) < lengths.ticks[i, column]:
                    bench.order[at] = bench.order[at - 1]
                    at -= 1
                bench.order[at] = i * lengths.n_pstates + pstate
                n_listed += 1
    return n_listed


@inlined
def _ticks_at(lengths, bench, machine_type, at):
    """How long a task of the choice listed there takes."""
    task_type, pstate = divmod(bench.order[at], lengths.n_pstates)
    return lengths.ticks[task_type, machine_type * lengths.n_pstates + pstate]


@shared
def _hand_out(ready, given, scratch, n_tasks, ticks):
    """Give equal tasks to the machines that are ready first; `given` becomes how many each one gets.

    What every machine gets in any case is set aside, so that what is counted stays small.
    """
    apart = ready[0]
    for k in range(1, ready.size):
        apart = max(apart, ready[k])
    each = max(n_tasks // ready.size - apart // ticks - 2, 0)
    left = n_tasks - each * ready.size
    level = _level(ready, left * ticks)
    for k in range(ready.size):
        more = (level - ready[k]) // ticks if ready[k] <= level else 0
        given[k] = each + more
        ready[k] += more * ticks
        left -= more
    if left > 0:
        _give_rest(ready, given, scratch, left, ticks)
    _count_from_first(ready)


@inlined
def _count_from_first(ready):
    """Lower all ready times so that the first is 0."""
    first = ready[0]
    for k in range(1, ready.size):
        first = min(first, ready[k])
    for k in range(ready.size):
        ready[k] -= first


@inlined
def _level(ready, work):
    """How high the work fills the machines that are ready below that level, rounded down."""
    level, n_below = np.int64(2**62), 0
    while True:
        total, count = work, 0
        for k in range(ready.size):
            if ready[k] <= level:
                total += ready[k]
                count += 1
        if count == n_below:
            return level
        level, n_below = total // count, count


@shared
def _give_rest(ready, given, scratch, left, ticks):
    """One task each for the `left` machines that are ready first, the lower index first among equals.

    They are fewer than the machines below the level, and one more task lifts a machine above it.
    """
    for k in range(ready.size):
        scratch[k] = ready[k]
    last, at_last = _smallest(scratch, left), left
    for k in range(ready.size):
        at_last -= ready[k] < last
    for k in range(ready.size):
        if ready[k] < last or (ready[k] == last and at_last > 0):
            at_last -= ready[k] == last
            ready[k] += ticks
            given[k] += 1


@shared
def _smallest(values, nth):
    """The n-th smallest value; shuffles the values."""
    low, high, wanted = 0, values.size - 1, nth - 1
    while low < high:
        pivot, i, j = values[(low + high) // 2], low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i, j = i + 1, j - 1
        if wanted <= j:
            high = j
        elif wanted >= i:
            low = i
        else:
            break
    return values[wanted]
