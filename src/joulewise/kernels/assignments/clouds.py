"""What an assignment comes to in each of many samples, in float64 and with quantiles that are as good as exact."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.assignments.chances import mean_of
from joulewise.kernels.assignments.evaluation import NOWHERE, sort_by_order
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


@kernel
def sample_assignment(known, room, place, order, row, quantiles, by_mean, exec_s, free_s, end_s, clouds):
    """Fill the clouds of one assignment, in float64: task i has the quantiles of row[i]."""
    sort_by_order(order, room)
    n = clouds.energy_j.size
    free_s[:] = 0.0
    clouds.energy_j[:] = 0.0
    clouds.utility[:] = 0.0
    clouds.n_ran[:] = 0
    clouds.at_means[0] = 0.0
    for at in range(order.size):
        i = room.sequence[at]
        if place[i] == NOWHERE:
            continue
        machine, arrival_s = known.machine[place[i]], known.tasks.arrival_s[i]
        for s in range(n):
            exec_s[s] = quantile(quantiles.time_root[row[i]], quantiles.time_node[i, s])
            end_s[s] = max(free_s[machine, s], arrival_s) + exec_s[s]
        at_mean = utility_of(known.tasks, known.utilities, i, mean_of(end_s, n)) if by_mean else 0.0
        if by_mean and at_mean >= known.drop_below:
            clouds.at_means[0] += at_mean
        for s in range(n):
            earned = utility_of(known.tasks, known.utilities, i, end_s[s])
            if (at_mean if by_mean else earned) >= known.drop_below:
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
