"""Allocations of a bag that searches start from (Friese 6.5.1.2)."""

from __future__ import annotations

import numpy as np

from joulewise.model.bag import Bag, BagAllocation
from joulewise.optimise.bags.recovery import recover


def min_energy(bag: Bag) -> BagAllocation:
    """Every task where it takes the least energy above idle, spread over the machines of that type.

    Nothing takes less energy above idle. Among choices that take equally little, the first machine type and P-state.
    """
    extra_j = bag.extra_j.reshape(bag.counts.size, -1)
    split = np.zeros(extra_j.shape)
    split[np.arange(bag.counts.size), extra_j.argmin(axis=1)] = bag.counts
    return recover(bag, split.reshape(bag.extra_j.shape))


def min_min_completion_time(bag: Bag) -> BagAllocation:
    """Task by task, the one that can complete first goes where it does so (two-stage greedy).

    Among equals, the first task type, then the first machine type, then the first machine.
    """
    system = bag.system
    fastest, exec_s = bag.exec_s.argmin(axis=2), bag.exec_s.min(axis=2)
    counts = np.zeros((system.n_machines, system.n_task_types, system.n_pstates), np.int64)
    free_s, left = np.zeros(system.n_machines), bag.counts.copy()
    first = np.append(0, np.cumsum(system.counts))
    types = np.flatnonzero(system.counts)
    completion_s = np.where((left > 0)[:, None], exec_s, np.inf)
    for _ in range(bag.n_tasks):
        task_type, machine_type = np.unravel_index(completion_s.argmin(), completion_s.shape)
        mine = slice(first[machine_type], first[machine_type + 1])
        machine = first[machine_type] + free_s[mine].argmin()
        counts[machine, task_type, fastest[task_type, machine_type]] += 1
        free_s[machine] += exec_s[task_type, machine_type]
        left[task_type] -= 1
        column = np.where(left > 0, free_s[mine].min() + exec_s[:, machine_type], np.inf)
        completion_s[:, machine_type] = column
        if not left[task_type]:
            completion_s[task_type, types] = np.inf
    return BagAllocation(bag, counts)
