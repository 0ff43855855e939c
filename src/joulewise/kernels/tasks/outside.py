"""Compiled code from outside the kernels: whole-event policies, objectives that see more, and the steps they take.

The function of a policy sees a record of arrays that nobody but the engine writes, writes rows of task, machine and
P-state into `answer`, and returns how many they are. `memory` is its own from event to event.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.choice import utility_of
from joulewise.kernels.jit import inlined
from joulewise.kernels.layout import Options, Tasks, Utilities
from joulewise.kernels.records import record
from joulewise.kernels.steps import step, way_of
from joulewise.kernels.tasks.assigned import REFUSED, place
from joulewise.kernels.tasks.greedy import worth
from joulewise.kernels.tasks.state import LAST, WORKED

NO_ANSWER = -1
"""What became of an answer that has no number of rows: the function failed, or counted wrong."""


@record
class Sight(NamedTuple):
    """What compiled code sees of an event. Columns of `tasks` are by task, and `task[:n_waiting[0]]` are those that
    wait, in no order. Columns of machines have a row each, those of type k are first[k] up to first[k + 1].
    `exec_s` and `energy_j` are by [task type, machine type, P-state]; `options` lists what is finite of them, by task
    type. `memory` has a row for each task and is kept during a run, zeros at first.
    """

    now_s: NDArray[np.float64]
    effect_s: NDArray[np.float64]
    next_s: NDArray[np.float64]
    left_j: NDArray[np.float64]
    n_waiting: NDArray[np.int64]
    task: NDArray[np.int64]
    tasks: Tasks
    utilities: Utilities
    first: NDArray[np.int64]
    machine_type: NDArray[np.int64]
    free_s: NDArray[np.float64]
    is_open: NDArray[np.bool_]
    is_filled: NDArray[np.bool_]
    exec_s: NDArray[np.float64]
    energy_j: NDArray[np.float64]
    options: Options
    memory: NDArray[np.float64]
    answer: NDArray[np.int64]


@record
class Nobody(NamedTuple):
    """No compiled code is asked."""


@record
class Outside(NamedTuple):
    """Compiled code that is asked; `fault` is what became of its first impossible row, with event, instant and row."""

    assigner: Any
    sight: Sight
    fault: NDArray[np.float64]


RICH_SIGNATURE = numba.float64(*[numba.float64] * 11)
"""value(utility, completion_s, exec_s, energy_j, wait_s, task_type, machine_type, pstate, queue_length, slack_s,
price_per_s)"""


@record
class Valuer(NamedTuple):
    """An objective that sees more than five numbers; by task, from when on it is worth nothing."""

    value: Any
    worthless_at_s: NDArray[np.float64]


@inlined
def utility_at(event, task, completion_s):
    """What a task earns when completed at this instant."""
    return utility_of(event.tasks, event.utilities, task, completion_s)


@inlined
def note_fault(state, fault, fate, i, m, pstate):
    """Note an answer that is impossible, in this event."""
    fault[0], fault[1], fault[2] = fate, state.clock.counts[WORKED] - 1, state.clock.instants[LAST]
    fault[3], fault[4], fault[5] = i, m, pstate


@step
def ask_outside(outside, world, state):
    """Let compiled code assign, where there is any."""


@way_of(ask_outside, Nobody)
def ask_nobody(outside, world, state):
    """Nothing is assigned."""


@way_of(ask_outside, Outside)
def place_answer(outside, world, state):
    """Place what compiled code answers, and note the first row that is impossible."""
    answer, fault = outside.sight.answer, outside.fault
    n_rows = outside.assigner(outside.sight)
    is_number = 0.0 <= n_rows <= answer.shape[0]
    if not is_number and fault[0] == 0.0:
        note_fault(state, fault, NO_ANSWER, n_rows, 0.0, 0.0)
    for row in range(int(n_rows) if is_number else 0):
        fate = place(world, state, answer[row, 0], answer[row, 1], answer[row, 2])
        if fate > REFUSED and fault[0] == 0.0:
            note_fault(state, fault, fate, answer[row, 0], answer[row, 1], answer[row, 2])


@way_of(ask_outside, Valuer)
def ask_no_valuer(outside, world, state):
    """Nothing is assigned: the greedy maps by the values."""


@step
def value_of(outside, world, state, i, option, utility, start_s, completion_s):
    """The value of a choice; not-a-number counts as the worst."""


@way_of(value_of, Nobody)
def plain_value(outside, world, state, i, option, utility, start_s, completion_s):
    """The value by five numbers."""
    return worth(world, state.batch, i, option, utility, start_s, completion_s)


@way_of(value_of, Outside)
def unasked_value(outside, world, state, i, option, utility, start_s, completion_s):
    """Nobody asks for it."""
    return 0.0


@way_of(value_of, Valuer)
def rich_value(outside, world, state, i, option, utility, start_s, completion_s):
    """The value by all that there is to see."""
    options, machines, k = world.options, state.machines, world.options.machine_type[option]
    m = machines.earliest[k]
    value = outside.value(
        utility, completion_s, options.exec_s[option], options.energy_j[option], start_s - world.tasks.arrival_s[i],
        float(world.tasks.task_type[i]), float(k), float(options.pstate[option]), float(machines.n_queued[m]),
        outside.worthless_at_s[i] - completion_s, state.prices.per_s[k] if world.rules.is_priced else math.nan,
    )  # fmt: skip
    return -np.inf if math.isnan(value) else value
