"""How a world looks to a kernel: flat arrays in named tuples, compatible options only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.records import record


@record
class Tasks(NamedTuple):
    """One row per task, in order of arrival."""

    arrival_s: NDArray[np.float64]
    task_type: NDArray[np.int32]
    shape: NDArray[np.int32]
    scale: NDArray[np.float64]
    hold_s: NDArray[np.float64]
    rise_s: NDArray[np.float64]


@record
class Utilities(NamedTuple):
    """Segments of shape s are rows first[s] to first[s + 1]; columns: start, level, span, rate, slope, floor."""

    first: NDArray[np.int64]
    segments: NDArray[np.float64]


@record
class Options(NamedTuple):
    """What a task of type t may choose: rows first[t] to first[t + 1], fastest first.

    `rank` orders equal options: lower machine type, then lower P-state.
    """

    first: NDArray[np.int64]
    machine_type: NDArray[np.int32]
    pstate: NDArray[np.int8]
    exec_s: NDArray[np.float64]
    energy_j: NDArray[np.float64]
    rank: NDArray[np.int32]


@record
class TaskPlan(NamedTuple):
    """What a kernel decides, one row per task; filled in place."""

    machine: NDArray[np.int32]
    pstate: NDArray[np.int8]
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    status: NDArray[np.int8]


WAITING, RAN, DROPPED = 0, 1, 2
NOBODY = -1


def empty_plan(n_tasks: int) -> TaskPlan:
    """A plan in which every task still waits."""
    return TaskPlan(
        np.full(n_tasks, -1, np.int32),
        np.full(n_tasks, -1, np.int8),
        np.full(n_tasks, np.nan),
        np.full(n_tasks, np.nan),
        np.full(n_tasks, WAITING, np.int8),
    )


def pack_options(etc_s: NDArray[np.float64], eec_j: NDArray[np.float64], allowed: NDArray[np.bool_]) -> Options:
    """The options of each task type on the machine types allowed to it, fastest first."""
    n_task_types, _, n_pstates = etc_s.shape
    possible = np.isfinite(etc_s) & allowed[:, :, None]
    task_type, machine_type, pstate = np.nonzero(possible)
    exec_s = etc_s[possible]
    rank = machine_type * n_pstates + pstate
    order = np.lexsort((rank, exec_s, task_type))
    first = np.searchsorted(task_type, np.arange(n_task_types + 1))
    return Options(
        first.astype(np.int64),
        machine_type[order].astype(np.int32),
        pstate[order].astype(np.int8),
        exec_s[order],
        eec_j[possible][order],
        rank[order].astype(np.int32),
    )
