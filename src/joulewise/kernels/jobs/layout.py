"""How a world of parallel jobs looks to a kernel: flat arrays in named tuples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.layout import Tasks, Utilities
from joulewise.kernels.records import record


@record
class JobOptions(NamedTuple):
    """What a job of type t may choose: rows first[t] to first[t + 1], by cluster, then P-state, then nodes.

    `resources` are the core-seconds that are planned (Machovec, eq. 1) and `energy_j` what is planned at the meter.
    """

    first: NDArray[np.int64]
    cluster: NDArray[np.int32]
    pstate: NDArray[np.int8]
    nodes: NDArray[np.int32]
    time_s: NDArray[np.float64]
    planned_s: NDArray[np.float64]
    power_w: NDArray[np.float64]
    energy_j: NDArray[np.float64]
    resources: NDArray[np.float64]


@record
class JobFacts(NamedTuple):
    """All that a kernel knows of a world: nodes and cores of each cluster, options, jobs and their utilities.

    `after` is the job that a job waits for, or -1, and `think_s` how long after its end.
    """

    n_nodes: NDArray[np.int64]
    cores: NDArray[np.int64]
    options: JobOptions
    tasks: Tasks
    utilities: Utilities
    after: NDArray[np.int32]
    think_s: NDArray[np.float64]


@record
class JobPlan(NamedTuple):
    """What a kernel decides, one row per job; filled in place."""

    option: NDArray[np.int32]
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    ready_s: NDArray[np.float64]
    fate: NDArray[np.int8]


WAITING, RAN, DROPPED, KILLED, IMPOSSIBLE = 0, 1, 2, 3, 4


def empty_job_plan(arrival_s: NDArray[np.float64]) -> JobPlan:
    """A plan in which every job still waits."""
    n = arrival_s.size
    return JobPlan(
        np.full(n, -1, np.int32), np.full(n, np.nan), np.full(n, np.nan), arrival_s.copy(), np.zeros(n, np.int8)
    )
