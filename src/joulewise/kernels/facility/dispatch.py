"""Tasks that arrive one by one, sent to cores as a plan of a facility wants it; cores that run slow each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined, kernel, shared
from joulewise.kernels.layout import NOBODY
from joulewise.kernels.records import record


@record
class Hall(NamedTuple):
    """What never changes: processor q has the cores from `first_core[q]` to `first_core[q + 1]`, on a node of type
    `kind[q]`, and core k is on `processor[k]`. `speed` is by [task type, node type, P-state], in tasks a second.
    """

    first_core: NDArray[np.int64]
    kind: NDArray[np.int32]
    processor: NDArray[np.int64]
    speed: NDArray[np.float64]
    memory_class: NDArray[np.int8]
    slowdown: NDArray[np.float64]
    deadline_s: NDArray[np.float64]


@record
class Wishes(NamedTuple):
    """What a plan wants: tasks of type t go to `core[e]` for e from `first[t]` to `first[t + 1]`, one each `gap_s[e]`.

    The next one is due there at `due_s[e]`, the only state; it runs in `pstate[e]` and is expected to take `time_s[e]`.
    """

    first: NDArray[np.int64]
    core: NDArray[np.int64]
    pstate: NDArray[np.int8]
    gap_s: NDArray[np.float64]
    time_s: NDArray[np.float64]
    due_s: NDArray[np.float64]


@record
class Sent(NamedTuple):
    """The tasks by arrival, and what became of each; `size` is its work over that of a mean task of its type.

    `after` is the task that waits behind it for the same core.
    """

    arrival_s: NDArray[np.float64]
    task_type: NDArray[np.int32]
    size: NDArray[np.float64]
    core: NDArray[np.int32]
    pstate: NDArray[np.int8]
    time_s: NDArray[np.float64]
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    after: NDArray[np.int64]


@record
class Cores(NamedTuple):
    """State. By core: the task that runs, the first and the last that wait, and the seconds that all waiting tasks are
    expected to take; how much of the one that runs was left at `since_s` of its processor, in mean tasks of its type,
    and how many of those a second get done since.

    By processor: when its next task ends, and on which core. `soonest` is a tree of winners whose leaves are the
    processors, filled up to a power of two; `soonest[1]` is the one with the next end of all.
    """

    running: NDArray[np.int64]
    head: NDArray[np.int64]
    tail: NDArray[np.int64]
    waiting_s: NDArray[np.float64]
    left: NDArray[np.float64]
    pace: NDArray[np.float64]
    since_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    ender: NDArray[np.int64]
    soonest: NDArray[np.int64]
    n_arrived: NDArray[np.int64]


def idle_cores(n_cores: int, n_processors: int) -> Cores:
    """Nothing runs or waits."""
    n_leaves = 1 << (n_processors - 1).bit_length()
    soonest = np.arange(2 * n_leaves) - n_leaves
    for at in range(n_leaves - 1, 0, -1):
        soonest[at] = soonest[2 * at]
    running, head, tail = (np.full(n_cores, NOBODY, np.int64) for _ in range(3))
    return Cores(
        running, head, tail, np.zeros(n_cores), np.zeros(n_cores), np.zeros(n_cores),
        np.zeros(n_processors), np.full(n_leaves, np.inf), np.full(n_processors, NOBODY, np.int64), soonest,
        np.zeros(1, np.int64),
    )  # fmt: skip


@kernel
def dispatch_until(hall, wishes, ahead_s, sent, cores, until_s):
    """Let tasks arrive and end until an instant; what happens at it happens after it. Ends go before arrivals."""
    while True:
        q, i = cores.soonest[1], cores.n_arrived[0]
        end_s = cores.end_s[q]
        arrival_s = sent.arrival_s[i] if i < sent.arrival_s.size else np.inf
        if min(end_s, arrival_s) >= until_s:
            return
        if end_s <= arrival_s:
            _end(hall, sent, cores, q, end_s)
        else:
            cores.n_arrived[0] += 1
            _send(hall, wishes, ahead_s, sent, cores, i)


@shared
def _send(hall, wishes, ahead_s, sent, cores, i):
    """Send a task that arrives to the core that is furthest behind of those that can end it in time, or to none.

    A core that is ahead of its wish by more than `ahead_s` gets none. One that is behind by more than the deadline
    need not make up for more, as what it could have done before is lost.
    """
    now_s, t = sent.arrival_s[i], sent.task_type[i]
    chosen, due_s = NOBODY, np.inf
    for e in range(wishes.first[t], wishes.first[t + 1]):
        if wishes.due_s[e] < due_s and wishes.due_s[e] <= now_s + ahead_s:
            wait_s = _wait_s(hall, sent, cores, wishes.core[e], now_s)
            if wait_s + wishes.time_s[e] <= hall.deadline_s[t]:
                chosen, due_s = e, wishes.due_s[e]
    if chosen == NOBODY:
        return
    wishes.due_s[chosen] = max(due_s, now_s - hall.deadline_s[t]) + wishes.gap_s[chosen]
    k = wishes.core[chosen]
    sent.core[i], sent.pstate[i], sent.time_s[i] = k, wishes.pstate[chosen], wishes.time_s[chosen]
    if cores.running[k] == NOBODY:
        q = hall.processor[k]
        _work(hall, cores, q, now_s)
        _start(sent, cores, k, i, now_s)
        _set_paces(hall, sent, cores, q)
    else:
        _queue(sent, cores, k, i)


@inlined
def _wait_s(hall, sent, cores, k, now_s):
    """How long a core is expected to be busy: the mean time of its tasks, less what is done of the first."""
    i = cores.running[k]
    if i == NOBODY:
        return 0.0
    left = cores.left[k] - (now_s - cores.since_s[hall.processor[k]]) * cores.pace[k]
    return cores.waiting_s[k] + max(1.0 - sent.size[i] + left, 0.0) * sent.time_s[i]


@inlined
def _queue(sent, cores, k, i):
    """Let a task wait behind all others of a core."""
    if cores.tail[k] == NOBODY:
        cores.head[k] = i
    else:
        sent.after[cores.tail[k]] = i
    cores.tail[k] = i
    cores.waiting_s[k] += sent.time_s[i]


@shared
def _end(hall, sent, cores, q, now_s):
    """End the task of a processor whose time has come; the next of its core's queue starts."""
    _work(hall, cores, q, now_s)
    k = cores.ender[q]
    sent.end_s[cores.running[k]] = now_s
    cores.running[k] = NOBODY
    i = cores.head[k]
    if i != NOBODY:
        cores.head[k] = sent.after[i]
        cores.waiting_s[k] -= sent.time_s[i]
        if cores.head[k] == NOBODY:
            cores.tail[k], cores.waiting_s[k] = NOBODY, 0.0
        _start(sent, cores, k, i, now_s)
    _set_paces(hall, sent, cores, q)


@inlined
def _start(sent, cores, k, i, now_s):
    """Let a task run on an idle core."""
    cores.running[k], cores.left[k], sent.start_s[i] = i, sent.size[i], now_s


@inlined
def _work(hall, cores, q, now_s):
    """Let the cores of a processor work up to an instant."""
    for k in range(hall.first_core[q], hall.first_core[q + 1]):
        if cores.running[k] != NOBODY:
            cores.left[k] = max(cores.left[k] - (now_s - cores.since_s[q]) * cores.pace[k], 0.0)
    cores.since_s[q] = now_s


@inlined
def _set_paces(hall, sent, cores, q):
    """How fast each core of a processor goes beside the others from now on, and which task ends next."""
    kind, first, last = hall.kind[q], hall.first_core[q], hall.first_core[q + 1]
    cores.end_s[q], cores.ender[q] = np.inf, NOBODY
    for k in range(first, last):
        i = cores.running[k]
        if i != NOBODY:
            t, stretch = sent.task_type[i], 1.0
            for other in range(first, last):
                j = cores.running[other]
                if j != NOBODY and other != k:
                    stretch += hall.slowdown[kind, hall.memory_class[t], hall.memory_class[sent.task_type[j]]]
            cores.pace[k] = hall.speed[t, kind, sent.pstate[i]] / stretch
            end_s = cores.since_s[q] + cores.left[k] / cores.pace[k]
            if end_s < cores.end_s[q]:
                cores.end_s[q], cores.ender[q] = end_s, k
    _play(cores, q)


@inlined
def _play(cores, q):
    """Find the winners of the tree again after a change of one processor; of two that end together the first."""
    at = (q + cores.end_s.size) // 2
    while at > 0:
        one, other = cores.soonest[2 * at], cores.soonest[2 * at + 1]
        cores.soonest[at] = one if cores.end_s[one] <= cores.end_s[other] else other
        at //= 2
