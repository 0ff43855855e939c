"""What an assignment comes to in each of many samples, in float64 and with quantiles that are as good as exact."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.assignments.chances import mean_of
from joulewise.kernels.assignments.evaluation import NOWHERE, AssignmentRoom, sort_by_order
from joulewise.kernels.choice import utility_of
from joulewise.kernels.jit import inlined, kernel
from joulewise.kernels.records import record


@record
class Clouds(NamedTuple):
    """What one assignment comes to in each sample: energy, utility, and how many tasks ran.

    `at_means[0]` is the utility at mean completions, where tasks are dropped by these.
    """

    energy_j: NDArray[np.float64]
    utility: NDArray[np.float64]
    n_ran: NDArray[np.int64]
    at_means: NDArray[np.float64]


@record
class Quantiles(NamedTuple):
    """Cube roots of times in s and powers in W, `[row, node]`, and where among nodes each `[task, sample]` has its own.

    Cube roots of gamma distributions are nearly straight between nodes.
    """

    time_root: NDArray[np.float64]
    power_root: NDArray[np.float64]
    time_node: NDArray[np.float32]
    power_node: NDArray[np.float32]


@record
class SamplingRoom(NamedTuple):
    """Work space: for sorting tasks; and by sample how long one runs and until when, and when `[machine]` is free."""

    sorting: AssignmentRoom
    exec_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    free_s: NDArray[np.float64]


@kernel
def sample_assignment(facts, room, place, order, row, quantiles, by_mean, clouds):
    """Fill the clouds of one assignment, in float64: task i has the quantiles of row[i]."""
    sort_by_order(order, room.sorting)
    n, exec_s, end_s, free_s = clouds.energy_j.size, room.exec_s, room.end_s, room.free_s
    free_s[:] = 0.0
    clouds.energy_j[:] = 0.0
    clouds.utility[:] = 0.0
    clouds.n_ran[:] = 0
    clouds.at_means[0] = 0.0
    for at in range(order.size):
        i = room.sorting.sequence[at]
        if place[i] == NOWHERE:
            continue
        machine, arrival_s = facts.machine[place[i]], facts.tasks.arrival_s[i]
        for s in range(n):
            exec_s[s] = quantile(quantiles.time_root[row[i]], quantiles.time_node[i, s])
            end_s[s] = max(free_s[machine, s], arrival_s) + exec_s[s]
        at_mean = utility_of(facts.tasks, facts.utilities, i, mean_of(end_s, n)) if by_mean else 0.0
        if by_mean and at_mean >= facts.drop_below:
            clouds.at_means[0] += at_mean
        for s in range(n):
            earned = utility_of(facts.tasks, facts.utilities, i, end_s[s])
            if (at_mean if by_mean else earned) >= facts.drop_below:
                free_s[machine, s] = end_s[s]
                clouds.energy_j[s] += exec_s[s] * quantile(quantiles.power_root[row[i]], quantiles.power_node[i, s])
                clouds.utility[s] += earned
                clouds.n_ran[s] += 1


@inlined
def quantile(roots, node):
    """What there is at a place between two nodes, or at the last."""
    low = min(int(node), roots.size - 2)
    root = roots[low] + (node - low) * (roots[low + 1] - roots[low])
    return root * root * root
