"""The machines while tasks are mapped: when each is free, and which of a type is free first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined
from joulewise.kernels.layout import RAN
from joulewise.kernels.records import record


@record
class Fleet(NamedTuple):
    """Machines of type k are first[k] up to first[k + 1]; all else is state.

    `ready_s` and `last_start_s` follow what is fixed; `free_s` adds what a mapping event plans beyond that.
    `earliest[k]` is the machine of type k that is free first (lowest index on ties), `start_s[k]` its instant,
    `version[k]` counts how often that changed within the event. A machine is filled when a task of its queue
    starts after the next mapping event: nothing more can be fixed on it before then.
    """

    first: NDArray[np.int64]
    ready_s: NDArray[np.float64]
    last_start_s: NDArray[np.float64]
    free_s: NDArray[np.float64]
    filled: NDArray[np.bool_]
    earliest: NDArray[np.int64]
    start_s: NDArray[np.float64]
    base_start_s: NDArray[np.float64]
    version: NDArray[np.int64]
    n_open: NDArray[np.int64]


def idle_fleet(counts: NDArray[np.int64]) -> Fleet:
    """All machines free since ever."""
    n_types, n = counts.size, int(counts.sum())
    return Fleet(
        np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        np.full(n, -np.inf),
        np.full(n, -np.inf),
        np.full(n, -np.inf),
        np.zeros(n, np.bool_),
        np.zeros(n_types, np.int64),
        np.full(n_types, np.inf),
        np.full(n_types, np.inf),
        np.zeros(n_types, np.int64),
        np.zeros(n_types, np.int64),
    )


@inlined
def find_earliest(fleet, k):
    """Refresh which machine of type k is free first; a type without machines is never free."""
    best, best_s = -1, np.inf
    for machine in range(fleet.first[k], fleet.first[k + 1]):
        if fleet.free_s[machine] < best_s:
            best, best_s = machine, fleet.free_s[machine]
    fleet.earliest[k] = best
    fleet.start_s[k] = best_s


@inlined
def open_event(fleet, now_s, next_s):
    """Start a mapping event: nothing is planned beyond what is fixed."""
    for k in range(fleet.n_open.size):
        fleet.n_open[k] = 0
        fleet.version[k] = 0
        for machine in range(fleet.first[k], fleet.first[k + 1]):
            fleet.free_s[machine] = max(now_s, fleet.ready_s[machine])
            fleet.filled[machine] = fleet.last_start_s[machine] > next_s
            fleet.n_open[k] += not fleet.filled[machine]
        find_earliest(fleet, k)
        fleet.base_start_s[k] = fleet.start_s[k]


@inlined
def run_on(fleet, plan, i, machine, pstate, start_s, end_s):
    """Fix that task i runs on the machine."""
    plan.machine[i] = machine
    plan.pstate[i] = pstate
    plan.start_s[i] = start_s
    plan.end_s[i] = end_s
    plan.status[i] = RAN
    fleet.ready_s[machine] = end_s
    fleet.last_start_s[machine] = start_s


@inlined
def queue_on(fleet, plan, i, k, machine, pstate, end_s, next_s):
    """Put task i at the end of the queue of a machine of type k, to end at end_s; whether that fixes it."""
    start_s = fleet.free_s[machine]
    fixed = not fleet.filled[machine]
    if fixed:
        run_on(fleet, plan, i, machine, pstate, start_s, end_s)
        if start_s > next_s:
            fleet.filled[machine] = True
            fleet.n_open[k] -= 1
    fleet.free_s[machine] = end_s
    find_earliest(fleet, k)
    fleet.version[k] += 1
    return fixed


@inlined
def can_go_on(fleet, n_left):
    """Whether some open machine could still get one of the tasks left (n_left[k]: those type k can run)."""
    for k in range(n_left.size):
        if n_left[k] > 0 and fleet.n_open[k] > 0:
            return True
    return False
