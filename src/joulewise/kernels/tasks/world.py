"""What does not change in a run of tasks, and what an engine counts of those that wait."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined
from joulewise.kernels.layout import Options, Tasks, Utilities
from joulewise.kernels.records import record


@record
class TaskWorld(NamedTuple):
    """The tasks, what they earn, the options that are looked at, and by which value; mapping events are at multiples of
    an interval.

    In immediate mode `event_s` is when the mapper turns to each task, and `effect_s` when its decision has effect.
    A task is dropped when it can no longer earn its threshold on the options `everywhere`, of which `options` may be
    a part. Of what it would still earn one execution time later, the part `urgency` is taken off before it is valued;
    where the policy `is_patient`, no task is planned to complete before its utility has risen. The value `has_bounds`
    where it falls with time for a utility that does not rise.
    """

    tasks: Tasks
    utilities: Utilities
    options: Options
    everywhere: Options
    threshold: NDArray[np.float64]
    value: Any
    interval_s: float
    event_s: NDArray[np.float64]
    effect_s: NDArray[np.float64]
    urgency: float
    is_patient: bool
    has_bounds: bool


@record
class Left(NamedTuple):
    """By machine type, the tasks that could run there: all that are mappable, and those not yet planned in an event."""

    mappable: NDArray[np.int64]
    unplanned: NDArray[np.int64]


def nobody_left(n_machine_types: int) -> Left:
    """Nobody waits."""
    return Left(np.zeros(n_machine_types, np.int64), np.zeros(n_machine_types, np.int64))


@inlined
def add_left(counts, options, task_type, by):
    """Add `by` to the number of tasks left for each machine type that can run the task type."""
    for option in range(options.first[task_type], options.first[task_type + 1]):
        if options.pstate[option] == 0:
            counts[options.machine_type[option]] += by


@inlined
def open_left(left):
    """Start an event: of all that wait nobody is planned."""
    for k in range(left.mappable.size):
        left.unplanned[k] = left.mappable[k]


@inlined
def forget(left, options, task_type):
    """Count one unplanned task less, for good."""
    add_left(left.mappable, options, task_type, -1)
    add_left(left.unplanned, options, task_type, -1)
