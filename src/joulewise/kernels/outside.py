"""Compiled code from outside the kernels that sees a whole event: what is asked, and what it answers.

Its function sees a record of arrays that nobody but the engine writes, writes rows into `answer`, and returns how many
they are. `memory` is its own from event to event.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.choice import utility_of
from joulewise.kernels.jit import inlined, kernel
from joulewise.kernels.records import record

NO_ANSWER = -1
"""What became of an answer that has no number of rows: the function failed, or counted wrong."""


@record
class Outside(NamedTuple):
    """Compiled code, what it sees, and its first impossible row: what became of it, the event, its instant, the row."""

    decider: Any
    sight: Any
    fault: NDArray[np.float64]


@inlined
def utility_at(event, task, completion_s):
    """What a task, or a job, earns when completed at this instant; not-a-number where there is none of its number."""
    if task < 0 or task >= event.tasks.scale.size:
        return np.nan
    return utility_of(event.tasks, event.utilities, task, completion_s)


@kernel
def earn(tasks, utilities, who, at_s, earned):
    """Find what each of these tasks, or jobs, earns when completed at its instant; returns whether all are there."""
    for row in range(earned.size):
        if who[row] < 0 or who[row] >= tasks.scale.size:
            return False
        earned[row] = utility_of(tasks, utilities, who[row], at_s[row])
    return True


@inlined
def n_answered(outside, event, now_s):
    """Ask for the answer to an event; returns its number of rows, 0 where that is none, which is noted."""
    n_rows, fault = outside.decider(outside.sight), outside.fault
    if 0.0 <= n_rows <= outside.sight.answer.shape[0]:
        return int(n_rows)
    fault[0], fault[1], fault[2], fault[3] = NO_ANSWER, event, now_s, n_rows
    return 0


@inlined
def note_fault(outside, row, fate, event, now_s):
    """Note what became of an impossible row."""
    fault, answer = outside.fault, outside.sight.answer
    fault[0], fault[1], fault[2] = fate, event, now_s
    for column in range(answer.shape[1]):
        fault[3 + column] = answer[row, column]


@inlined
def has_failed(outside):
    """Whether an answer was impossible."""
    return outside.fault[0] != 0.0
