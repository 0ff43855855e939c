"""Worlds that a test can reason about: a few numbers, everything else left at its plainest."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from joulewise.model import Shape, System, UtilityShapes, Workload, World, constant, linear, step
from joulewise.rng import generator


def simple_system(etc_s: ArrayLike = ((1.0,),), counts: Sequence[int] = (), power_w: ArrayLike | None = None) -> System:
    """Task types and machine types named by number; `etc_s` by [task type][machine type], one P-state."""
    times_s = np.array(etc_s, float)
    n_task_types, n_machine_types = times_s.shape
    return System(
        tuple(f"t{i}" for i in range(n_task_types)),
        tuple(f"m{i}" for i in range(n_machine_types)),
        np.array(counts or [1] * n_machine_types),
        times_s[:, :, None],
        None if power_w is None else np.array(power_w, float)[:, :, None],
    )


def simple_workload(
    arrival_s: Sequence[float] = (0.0,),
    task_type: Sequence[int] = (),
    shape: Shape | None = None,
    scale: float = 1.0,
    start_s: float = 0.0,
    end_s: float = math.inf,
) -> Workload:
    """Tasks of one utility function without a hold, of type 0 unless said otherwise."""
    n = len(arrival_s)
    shapes = UtilityShapes.of([shape or constant()])
    types = np.array(task_type or [0] * n)
    return Workload(
        np.array(arrival_s, float), types, np.zeros(n, int), np.full(n, scale), np.zeros(n), shapes, start_s, end_s
    )


def busy_world(n_tasks: int = 2000, seed: int = 0) -> World:
    """A crowded system of 12 machines of 4 types with 2 P-states, random times, and a window that cuts it."""
    rng = generator(seed, "tests.busy_world")
    fast_s = rng.uniform(20.0, 200.0, (6, 4, 1))
    fast_s[1, 2] = fast_s[4, 0] = math.inf
    etc_s, power_w = fast_s * [1.0, 1.5], rng.uniform(50.0, 200.0, (6, 4, 1)) * [1.0, 0.5]
    names = tuple("abcdef"), tuple("wxyz")
    system = System(*names, np.array([3, 0, 5, 4]), etc_s, power_w)
    shapes = UtilityShapes.of([constant(), linear(2000.0), step(500.0)])
    task_type, shape = (rng.integers(0, n, n_tasks, np.int32) for n in (6, 3))
    arrival_s = np.sort(rng.uniform(0.0, 6.0 * n_tasks, n_tasks))
    scale, hold_s = rng.choice([1.0, 2.0, 4.0, 8.0], n_tasks), rng.uniform(0.0, 100.0, n_tasks)
    work = Workload(arrival_s, task_type, shape, scale, hold_s, shapes, 0.3 * n_tasks, 5.0 * n_tasks)
    return World(system, work)
