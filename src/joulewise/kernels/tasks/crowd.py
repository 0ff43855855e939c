"""Tasks by type, side by side, for a rule that compares all tasks of a type with each other: Sufferage.

Tasks of one type all ask for the same machine and have the same second choice, so that both are kept once per task
type; what each task could lose is bounded, so that most need not be looked at.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined
from joulewise.kernels.records import record


@record
class Crowd(NamedTuple):
    """Tasks that are not fixed, by type: those of type t are at places first[t] up to first[t] + n_here[t].

    Of these the first n_unplanned[t] have no plan yet in this event. `item` is the task at a place, and `at` the place
    of a task; `most` bounds what it earns, and `bound` what it loses while its second choice completes by `horizon_s`.
    By task type: `base_s` is the earliest completion after what is fixed; `option`, `completion_s` and `second_s` are
    the choice in this pass and the earliest completion on any other machine. By machine type: `second` is the
    machine that is free second, `winner` the place of the task, of type `winner_type`, that the machine that is free
    first takes, with what it loses and earns.
    """

    first: NDArray[np.int64]
    n_here: NDArray[np.int64]
    n_unplanned: NDArray[np.int64]
    item: NDArray[np.int64]
    at: NDArray[np.int64]
    bound: NDArray[np.float64]
    horizon_s: NDArray[np.float64]
    most: NDArray[np.float64]
    base_s: NDArray[np.float64]
    option: NDArray[np.int64]
    completion_s: NDArray[np.float64]
    second_s: NDArray[np.float64]
    second: NDArray[np.int64]
    winner: NDArray[np.int64]
    winner_type: NDArray[np.int64]
    loses: NDArray[np.float64]
    earns: NDArray[np.float64]


def empty_crowd(task_type: NDArray[np.int32], n_task_types: int, n_machine_types: int) -> Crowd:
    """A crowd with as many places for each task type as there are tasks of it."""
    n, n_by_type = task_type.size, np.bincount(task_type, minlength=n_task_types)
    return Crowd(
        np.concatenate(([0], np.cumsum(n_by_type))).astype(np.int64),
        np.zeros(n_task_types, np.int64), np.zeros(n_task_types, np.int64),
        np.empty(n, np.int64), np.empty(n, np.int64),
        np.empty(n), np.empty(n), np.empty(n),
        np.empty(n_task_types), np.empty(n_task_types, np.int64), np.empty(n_task_types), np.empty(n_task_types),
        np.empty(n_machine_types, np.int64), np.empty(n_machine_types, np.int64), np.empty(n_machine_types, np.int64),
        np.empty(n_machine_types), np.empty(n_machine_types),
    )  # fmt: skip


@inlined
def forget_bound(crowd, place):
    """Have the task at a place looked at."""
    crowd.bound[place] = crowd.most[place] = crowd.horizon_s[place] = np.inf


@inlined
def join_crowd(crowd, t, i):
    """Give a task of type t a place, behind all others."""
    place = crowd.first[t] + crowd.n_here[t]
    crowd.item[place], crowd.at[i] = i, place
    forget_bound(crowd, place)
    crowd.n_here[t] += 1


def fill_crowd(crowd: Crowd, tasks: NDArray[np.int64], task_type: NDArray[np.int32]) -> None:
    """Let tasks, of these types, stand in an empty crowd."""
    for t in np.unique(task_type):
        members = tasks[task_type == t]
        places = crowd.first[t] + np.arange(members.size)
        crowd.item[places], crowd.at[members], crowd.n_here[t] = members, places, members.size
        for bound in (crowd.bound, crowd.most, crowd.horizon_s):
            bound[places] = np.inf


@inlined
def move(crowd, source, target):
    """Let the task at one place stand at another."""
    i = crowd.item[source]
    crowd.item[target], crowd.at[i] = i, target
    crowd.bound[target] = crowd.bound[source]
    crowd.horizon_s[target] = crowd.horizon_s[source]
    crowd.most[target] = crowd.most[source]


@inlined
def set_planned(crowd, t, i):
    """Take an unplanned task of type t out of those that ask in this event; its bounds stay with it."""
    crowd.n_unplanned[t] -= 1
    place, last = crowd.at[i], crowd.first[t] + crowd.n_unplanned[t]
    bound, horizon_s, most = crowd.bound[place], crowd.horizon_s[place], crowd.most[place]
    move(crowd, last, place)
    crowd.item[last], crowd.at[i] = i, last
    crowd.bound[last], crowd.horizon_s[last], crowd.most[last] = bound, horizon_s, most


@inlined
def leave_crowd(crowd, t, i):
    """Remove a task of type t; at its place stands another then."""
    if crowd.at[i] < crowd.first[t] + crowd.n_unplanned[t]:
        set_planned(crowd, t, i)
    crowd.n_here[t] -= 1
    move(crowd, crowd.first[t] + crowd.n_here[t], crowd.at[i])
