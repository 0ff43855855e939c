"""Whole-event policies of tasks that are compiled outside the kernels: what they see, and a run that asks them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined, kernel
from joulewise.kernels.layout import Options, Tasks, Utilities
from joulewise.kernels.outside import has_failed, n_answered, note_fault
from joulewise.kernels.records import record
from joulewise.kernels.tasks.assigned import REFUSED, place
from joulewise.kernels.tasks.managed import close_last_event, finish_run, open_next_event
from joulewise.kernels.tasks.state import LAST, WORKED


@record
class Sight(NamedTuple):
    """What compiled code sees of an event. Columns of `tasks` and `worthless_at_s` are by task, and
    `task[:n_waiting[0]]` are those that wait, in no order. Columns of machines have a row each, those of type k are
    first[k] up to first[k + 1]. `exec_s` and `energy_j` are by [task type, machine type, P-state]; `options` lists
    what is finite of them, by task type. `price_per_s` is by machine type, and below 0 until it is known. `memory` has
    a row for each task and is kept during a run, zeros at first. Rows of `answer` are task, machine and P-state.
    """

    now_s: NDArray[np.float64]
    effect_s: NDArray[np.float64]
    next_s: NDArray[np.float64]
    left_j: NDArray[np.float64]
    n_waiting: NDArray[np.int64]
    task: NDArray[np.int64]
    tasks: Tasks
    utilities: Utilities
    worthless_at_s: NDArray[np.float64]
    first: NDArray[np.int64]
    machine_type: NDArray[np.int64]
    free_s: NDArray[np.float64]
    n_queued: NDArray[np.int64]
    is_open: NDArray[np.bool_]
    is_filled: NDArray[np.bool_]
    exec_s: NDArray[np.float64]
    energy_j: NDArray[np.float64]
    options: Options
    price_per_s: NDArray[np.float64]
    price_per_j: NDArray[np.float64]
    memory: NDArray[np.float64]
    answer: NDArray[np.int64]


@inlined
def place_answer(world, state, outside):
    """Place what compiled code answers, up to the first row that is impossible."""
    answer, event, now_s = outside.sight.answer, state.clock.counts[WORKED] - 1, state.clock.instants[LAST]
    for row in range(n_answered(outside, event, now_s)):
        fate = place(world, state, answer[row, 0], answer[row, 1], answer[row, 2])
        if fate > REFUSED:
            note_fault(outside, row, fate, event, now_s)
            break


@kernel
def map_asked(world, state, outside, end_s, most_events, is_last):
    """As `map_managed`, where compiled code assigns; it ends with the first answer that is impossible."""
    happened = 0
    while happened < most_events and not has_failed(outside) and open_next_event(world, state, end_s):
        happened += 1
        place_answer(world, state, outside)
        close_last_event(world, state)
    if is_last:
        finish_run(world, state)
    return happened
