"""Machines with queues, in two times: what the manager believes when it plans, and what comes true.

A mapping event plans queues; later events let the machines work them off up to an instant and fix what has started
by then, and the pending task behind it. Belief and truth differ only where times are uncertain or machines fail.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.layout import NOBODY
from joulewise.kernels.records import record


@record
class Machines(NamedTuple):
    """Machines of type k are first[k] up to first[k + 1]; all else is state, one value per machine unless said.

    Of what is fixed: `ready_s` is when the machine can go on after it all, and `last_*` and `before_*` are the last
    run and the one before: true start, believed length, true end and power that counts. `doomed_s` is when a machine
    is repaired whose last run will be lost. Of an event: `base_s` is when the manager believes the machine could
    start another task, `true_base_s` when it could, `free_s` and `true_free_s` the same behind what is planned,
    `boot_j` what the next task planned on it, and `wake_j` what the first task fixed on it must pay to wake it;
    `owed_j` is that of a task whose machine will fail before it starts.
    `head` and `tail` are the ends of its queue of `n_queued` tasks, linked by `after` (one per task). It `is_there`
    if it takes tasks at all, and is filled when nothing more on its queue can be fixed before the next event. By
    machine type: `earliest` is the machine free first, at `start_s`; `soonest_s` is when a first task could start on
    any, busy or not, `hope_s` the same on those that dropping looks at, and `n_open` counts those that are there and
    not filled.
    """

    first: NDArray[np.int64]
    type_of: NDArray[np.int64]
    ready_s: NDArray[np.float64]
    last_start_s: NDArray[np.float64]
    last_exec_s: NDArray[np.float64]
    last_end_s: NDArray[np.float64]
    last_cost_w: NDArray[np.float64]
    before_start_s: NDArray[np.float64]
    before_exec_s: NDArray[np.float64]
    before_end_s: NDArray[np.float64]
    before_cost_w: NDArray[np.float64]
    doomed_s: NDArray[np.float64]
    base_s: NDArray[np.float64]
    true_base_s: NDArray[np.float64]
    free_s: NDArray[np.float64]
    true_free_s: NDArray[np.float64]
    boot_j: NDArray[np.float64]
    wake_j: NDArray[np.float64]
    owed_j: NDArray[np.float64]
    head: NDArray[np.int64]
    tail: NDArray[np.int64]
    n_queued: NDArray[np.int64]
    is_there: NDArray[np.bool_]
    filled: NDArray[np.bool_]
    earliest: NDArray[np.int64]
    start_s: NDArray[np.float64]
    soonest_s: NDArray[np.float64]
    hope_s: NDArray[np.float64]
    n_open: NDArray[np.int64]


@record
class Standing(NamedTuple):
    """By machine type: seconds without a task until it sleeps, seconds and joules to wake it up."""

    sleep_after_s: NDArray[np.float64]
    boot_s: NDArray[np.float64]
    boot_j: NDArray[np.float64]


@record
class Downtimes(NamedTuple):
    """Outages of machine m are rows first[m] up to first[m + 1], in order of time."""

    first: NDArray[np.int64]
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]


def new_machines(counts: NDArray[np.int64]) -> Machines:
    """All machines free since ever, with empty queues."""
    n_types, n = counts.size, int(counts.sum())

    def never() -> NDArray[np.float64]:
        return np.full(n, -np.inf)

    def zeros() -> NDArray[np.float64]:
        return np.zeros(n)

    return Machines(
        np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        np.repeat(np.arange(n_types), counts).astype(np.int64),
        never(), never(), zeros(), never(), zeros(), never(), zeros(), never(), zeros(), never(),
        zeros(), zeros(), zeros(), zeros(), zeros(), zeros(), zeros(),
        np.full(n, NOBODY, np.int64), np.full(n, NOBODY, np.int64), np.zeros(n, np.int64),
        np.ones(n, np.bool_), np.zeros(n, np.bool_),
        np.full(n_types, NOBODY, np.int64), np.full(n_types, np.inf), np.full(n_types, np.inf),
        np.full(n_types, np.inf), np.zeros(n_types, np.int64),
    )  # fmt: skip


@inlined
def next_outage(downtimes, machine, at_s):
    """The start and end of the machine's first outage that ends after an instant; never, if there is none."""
    for row in range(downtimes.first[machine], downtimes.first[machine + 1]):
        if downtimes.end_s[row] > at_s:
            return downtimes.start_s[row], downtimes.end_s[row]
    return np.inf, np.inf


@inlined
def last_repair_s(downtimes, machine, at_s):
    """When the machine was last repaired, up to an instant; 0 if it was never down."""
    last_s = 0.0
    for row in range(downtimes.first[machine], downtimes.first[machine + 1]):
        if downtimes.end_s[row] <= at_s:
            last_s = downtimes.end_s[row]
    return last_s


@inlined
def believed_start_s(machines, machine, at_s):
    """When the manager believes, at an instant, that a pending task will start: after what runs, or after a boot."""
    if machines.before_end_s[machine] > at_s:
        return max(at_s, machines.before_start_s[machine] + machines.before_exec_s[machine])
    return machines.last_start_s[machine]


@inlined
def believed_ready_s(machines, machine, at_s):
    """When the manager believes, at an instant, that the machine has done what is fixed on it."""
    last_s, exec_s = machines.last_start_s[machine], machines.last_exec_s[machine]
    if last_s > at_s:
        return believed_start_s(machines, machine, at_s) + exec_s
    if machines.ready_s[machine] > at_s:
        return max(at_s, last_s + exec_s)
    return at_s


@inlined
def find_earliest(machines, k):
    """Refresh which machine of type k is free first (lowest index on ties), of those that take tasks."""
    best, best_s = NOBODY, np.inf
    for machine in range(machines.first[k], machines.first[k + 1]):
        if machines.is_there[machine] and machines.free_s[machine] < best_s:
            best, best_s = machine, machines.free_s[machine]
    machines.earliest[k] = best
    machines.start_s[k] = best_s


@shared
def open_machines(machines, standing, downtimes, now_s, effect_s, horizon_s, is_polled, drops_by_idle):
    """Start a mapping event: nothing is planned, and what it plans can start at effect_s."""
    for k in range(machines.n_open.size):
        machines.n_open[k] = 0
        machines.soonest_s[k] = machines.hope_s[k] = np.inf
        for m in range(machines.first[k], machines.first[k + 1]):
            idle_since_s = max(machines.ready_s[m], last_repair_s(downtimes, m, effect_s))
            asleep = idle_since_s + standing.sleep_after_s[k] < effect_s
            boot_s = standing.boot_s[k] if asleep else 0.0
            machines.boot_j[m] = machines.wake_j[m] = standing.boot_j[k] if asleep else 0.0
            machines.base_s[m] = believed_ready_s(machines, m, effect_s) + boot_s
            machines.true_base_s[m] = max(effect_s, machines.ready_s[m]) + boot_s
            machines.free_s[m], machines.true_free_s[m] = machines.base_s[m], machines.true_base_s[m]
            down_s, _ = next_outage(downtimes, m, now_s)
            is_up = down_s > now_s
            machines.is_there[m] = is_up and (not is_polled or machines.ready_s[m] <= now_s)
            is_lost = machines.last_end_s[m] <= horizon_s < machines.doomed_s[m]
            machines.filled[m] = machines.last_start_s[m] > horizon_s or is_lost
            machines.n_open[k] += machines.is_there[m] and not machines.filled[m]
            if is_up:
                machines.soonest_s[k] = min(machines.soonest_s[k], machines.base_s[m])
            if machines.is_there[m] or (is_up and not drops_by_idle):
                machines.hope_s[k] = min(machines.hope_s[k], machines.base_s[m])
        find_earliest(machines, k)


@inlined
def plan_on(machines, after, i, k, machine, exec_s, true_exec_s, horizon_s, n_permuted, is_polled):
    """Put task i at the end of the machine's queue."""
    after[i] = NOBODY
    if machines.head[machine] == NOBODY:
        machines.head[machine] = i
    else:
        after[machines.tail[machine]] = i
    machines.tail[machine] = i
    machines.n_queued[machine] += 1
    is_last = machines.true_free_s[machine] > horizon_s and machines.n_queued[machine] > (
        n_permuted if n_permuted > 1 else 0
    )
    if not machines.filled[machine] and (is_polled or is_last):
        machines.filled[machine] = True
        machines.n_open[k] -= 1
    machines.free_s[machine] += exec_s
    machines.true_free_s[machine] += true_exec_s
    machines.boot_j[machine] = 0.0
    if is_polled:
        machines.is_there[machine] = False
    find_earliest(machines, k)


@inlined
def note_run(machines, machine, start_s, exec_s, end_s, cost_w):
    """Remember the last run fixed on a machine, and the one before."""
    machines.before_start_s[machine] = machines.last_start_s[machine]
    machines.before_exec_s[machine] = machines.last_exec_s[machine]
    machines.before_end_s[machine] = machines.last_end_s[machine]
    machines.before_cost_w[machine] = machines.last_cost_w[machine]
    machines.last_start_s[machine] = start_s
    machines.last_exec_s[machine] = exec_s
    machines.last_cost_w[machine] = cost_w
    machines.last_end_s[machine] = machines.ready_s[machine] = end_s


@inlined
def will_fail(machines, machine, now_s):
    """Whether a machine fails after now, with what is fixed on it."""
    return now_s < machines.last_end_s[machine] < machines.doomed_s[machine]


@inlined
def forget_lost(machines, machine, now_s):
    """Once a machine has failed, what was lost on it no longer runs, nor is anything pending; whether that is news."""
    failed_s = machines.last_end_s[machine]
    has_failed = failed_s <= now_s and failed_s < machines.doomed_s[machine] and machines.last_exec_s[machine] > 0.0
    if has_failed:
        machines.last_start_s[machine], machines.last_exec_s[machine] = failed_s, 0.0
        machines.owed_j[machine] = 0.0
    return has_failed
