"""Assignments that searches start from (Friese 5.5.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from joulewise.kernels.assignments.seeds import (
    LESS_ENERGY,
    MORE_UTILITY,
    MORE_UTILITY_PER_ENERGY,
    map_by_arrival,
    map_first_done,
)
from joulewise.model.arrays import Ints
from joulewise.model.assignment import Assignment
from joulewise.model.world import World
from joulewise.optimise.assignments.problem import assignment_facts, assignment_of

_map_by_arrival: Any = map_by_arrival
_map_first_done: Any = map_first_done


def min_energy(world: World, drop_below: float = 0.0) -> Assignment:
    """Tasks by arrival, each where it takes the least energy; of such places, where it is done first."""
    return _by_arrival(world, drop_below, LESS_ENERGY)


def max_utility(world: World, drop_below: float = 0.0) -> Assignment:
    """Tasks by arrival, each where it earns most; of such places, where it is done first."""
    return _by_arrival(world, drop_below, MORE_UTILITY)


def max_utility_per_energy(world: World, drop_below: float = 0.0) -> Assignment:
    """Tasks by arrival, each where it earns most per joule; of such places, where it is done first."""
    return _by_arrival(world, drop_below, MORE_UTILITY_PER_ENERGY)


def min_min_completion_time(world: World, drop_below: float = 0.0) -> Assignment:
    """Again and again, of all tasks the one that can be done first goes where it is (two-stage greedy)."""
    facts = assignment_facts(world, drop_below)
    n, n_types, n_machines = world.workload.n_tasks, world.system.n_task_types, world.system.n_machines
    head, following = _by_type(world.workload.task_type, n_types)
    genes = np.zeros((2, n), np.int32)
    best, best_s = np.zeros(n_types, np.int32), np.zeros(n_types)
    _map_first_done(facts, following, head, best, best_s, np.zeros(n_machines), *genes)
    return assignment_of(facts, genes)


SEEDS: Mapping[str, Callable[[World, float], Assignment]] = {
    "min-energy": min_energy,
    "max-utility": max_utility,
    "max-utility-per-energy": max_utility_per_energy,
    "min-min": min_min_completion_time,
}


def _by_arrival(world: World, drop_below: float, aim: int) -> Assignment:
    facts = assignment_facts(world, drop_below)
    genes = np.tile(np.arange(world.workload.n_tasks, dtype=np.int32), (2, 1))
    _map_by_arrival(facts, aim, np.zeros(world.system.n_machines), genes[0])
    return assignment_of(facts, genes)


def _by_type(task_type: Ints, n_types: int) -> tuple[Ints, Ints]:
    """The first task of each type, and after each task the next of its type; the number of tasks if there is none."""
    n = task_type.size
    head, following = np.full(n_types, n, np.int32), np.full(n, n, np.int32)
    listed = np.argsort(task_type, kind="stable").astype(np.int32)
    same = task_type[listed[1:]] == task_type[listed[:-1]]
    following[listed[:-1][same]] = listed[1:][same]
    starts = np.append(True, ~same)
    head[task_type[listed[starts]]] = listed[starts]
    return head, following
