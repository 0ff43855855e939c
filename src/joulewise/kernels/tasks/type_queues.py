"""One queue per task type, in order of arrival: tasks of a type that differ in nothing else.

For an objective that sees neither utility nor waiting, all tasks of a type have the same best choice, and of two with
the same value the lower number goes first: only the head of each queue need be looked at.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined
from joulewise.kernels.layout import NOBODY
from joulewise.kernels.records import record


@record
class TypeQueues(NamedTuple):
    """`head` and `tail` by task type, and by task who comes `after` it and who is `ahead` of it.

    `at[t]` walks along the queue of type t in an event: those before it are planned.
    """

    head: NDArray[np.int64]
    tail: NDArray[np.int64]
    after: NDArray[np.int64]
    ahead: NDArray[np.int64]
    at: NDArray[np.int64]


def empty_type_queues(n_tasks: int, n_task_types: int) -> TypeQueues:
    """Nobody waits."""
    sizes = (n_task_types, n_task_types, n_tasks, n_tasks, n_task_types)
    return TypeQueues(*(np.full(size, NOBODY, np.int64) for size in sizes))


def fill_queues(queues: TypeQueues, tasks: NDArray[np.int64], task_type: NDArray[np.int32]) -> None:
    """Let tasks, of these types, stand in empty queues."""
    for t in np.unique(task_type):
        line = np.sort(tasks[task_type == t])
        queues.head[t], queues.tail[t] = line[0], line[-1]
        queues.after[line[:-1]], queues.ahead[line[1:]] = line[1:], line[:-1]


@inlined
def join(queues, t, i):
    """Let a task of type t stand behind those of lower number."""
    ahead = queues.tail[t]
    while ahead > i:
        ahead = queues.ahead[ahead]
    after = queues.head[t] if ahead == NOBODY else queues.after[ahead]
    queues.ahead[i], queues.after[i] = ahead, after
    if ahead == NOBODY:
        queues.head[t] = i
    else:
        queues.after[ahead] = i
    if after == NOBODY:
        queues.tail[t] = i
    else:
        queues.ahead[after] = i


@inlined
def take_out(queues, t, i):
    """Take a task of type t out of its queue; it still knows who came after it."""
    ahead, after = queues.ahead[i], queues.after[i]
    if ahead == NOBODY:
        queues.head[t] = after
    else:
        queues.after[ahead] = after
    if after == NOBODY:
        queues.tail[t] = ahead
    else:
        queues.ahead[after] = ahead
