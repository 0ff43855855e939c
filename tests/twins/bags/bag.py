"""The slow twins for bags: rounding word for word, tasks handed out one by one, every allocation tried."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator

import numpy as np

from joulewise.model import Bag, BagAllocation
from joulewise.model.arrays import Counts, Floats


def round_split(split: Floats, n_tasks: Counts) -> Counts:
    """Whole tasks by [task type, column]: all rounded down but those with the largest fractions."""
    whole = np.floor(split + 1e-6).astype(np.int64)
    for i, n in enumerate(n_tasks):
        fraction = split[i] - whole[i]
        for column in sorted(range(split.shape[1]), key=lambda c: -fraction[c])[: n - whole[i].sum()]:
            whole[i, column] += 1
    return whole


def longest_first(tasks: list[tuple[int, int]], n_machines: int) -> tuple[list[dict[int, int]], list[int]]:
    """Tasks as (ticks, choice) on equal machines: how many of each choice every machine has, and when it is ready."""
    machines = [(0, k) for k in range(n_machines)]
    given: list[dict[int, int]] = [{} for _ in range(n_machines)]
    for ticks, choice in sorted(tasks, key=lambda task: (-task[0], task[1])):
        ready, k = heapq.heappop(machines)
        given[k][choice] = given[k].get(choice, 0) + 1
        heapq.heappush(machines, (ready + ticks, k))
    return given, [ready for ready, _ in sorted(machines, key=lambda machine: machine[1])]


def all_allocations(bag: Bag) -> Iterator[BagAllocation]:
    """Every way to run the tasks of a bag, one after the other."""
    system = bag.system
    tasks = np.repeat(np.arange(bag.counts.size), bag.counts)
    places = [
        [(k, p) for k in range(system.n_machines) for p in range(system.n_pstates)
         if math.isfinite(system.etc_s[i, system.machine_type[k], p])]
        for i in tasks
    ]  # fmt: skip
    for chosen in itertools.product(*places):
        counts = np.zeros((system.n_machines, system.n_task_types, system.n_pstates), np.int64)
        for i, (machine, pstate) in zip(tasks, chosen):
            counts[machine, i, pstate] += 1
        yield BagAllocation(bag, counts)
