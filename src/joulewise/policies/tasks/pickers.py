"""Machines for tasks without a look at the machines' state: the naive baselines."""

from __future__ import annotations

import numpy as np

from joulewise.model.arrays import Bools, Ints
from joulewise.model.world import World


def at_random(world: World, allowed: Bools, rng: np.random.Generator) -> Ints:
    """A machine drawn evenly among those of the machine types allowed, as [task type, machine type]."""
    draws = rng.random(world.workload.n_tasks)
    machines = np.empty(draws.size, np.int32)
    for task_type, runs in enumerate(allowed[:, world.system.machine_type]):
        able, mine = np.flatnonzero(runs), world.workload.task_type == task_type
        machines[mine] = able[(draws[mine] * able.size).astype(np.int64)]
    return machines


def in_turn(world: World, allowed: Bools, rng: np.random.Generator) -> Ints:
    """Around a shuffled ring of machines: each task takes the next one of a machine type allowed to it."""
    ring = rng.permutation(world.system.n_machines)
    n = ring.size
    runs = allowed[:, world.system.machine_type[ring]]
    places = np.where(np.tile(runs, 2), np.arange(2 * n), 2 * n)
    following = np.minimum.accumulate(places[:, ::-1], axis=1)[:, ::-1] % n
    turns, place = following.tolist(), 0
    machines = np.empty(world.workload.n_tasks, np.int32)
    for i, task_type in enumerate(world.workload.task_type.tolist()):
        place = turns[task_type][place]
        machines[i] = ring[place]
        place += 1
    return machines
