"""Small random worlds of tasks known in advance in which ties, queues, drops and impossible choices are frequent."""

from __future__ import annotations

import dataclasses

import numpy as np

from joulewise.model import (
    Segment,
    Shape,
    Supply,
    System,
    UtilityShapes,
    Workload,
    World,
    constant,
    linear,
    piecewise,
    step,
)
from joulewise.model.assignment import NOT_RUN, Assignment
from joulewise.rng import generator
from tests.strategies.random_bags import DRAWS

KINDS = ("whole", "equal columns", "real", "wide")
"""How times and powers are drawn; all sums of the first two are exact."""

SHAPES = (
    constant(),
    linear(6.0),
    step(5.0),
    Shape("exponential", (Segment(0.0, 0.0, 1.0, 0.25),)),
    Shape("jump", (Segment(0.0, 0.5, 0.5, 0.5), Segment(4.0, 0.0, 0.25, 0.125))),
    piecewise([(0.0, 1.0), (3.0, 0.75), (6.0, 0.75), (9.0, 0.0)], "lines"),
)


def random_world(seed: int, kind: str = "real", most_tasks: int = 12, most_machines: int = 3) -> World:
    """A world of a kind: up to 4 task types, 3 machine types and 2 P-states; queues form and utilities decay."""
    rng = generator(seed, "tests.random_assignments")
    system = _system(rng, kind, most_machines)
    n = int(rng.integers(1, most_tasks + 1))
    typical_s = float(np.median(system.etc_s[np.isfinite(system.etc_s)]))
    gap_s = rng.choice([0.0, 0.0, 1.0, 2.0], n) * typical_s / 4
    shapes = UtilityShapes.of([_stretched(shape, typical_s) for shape in SHAPES])
    work = Workload(
        np.cumsum(gap_s),
        rng.integers(0, system.n_task_types, n, np.int32),
        rng.integers(0, len(SHAPES), n, np.int32),
        rng.choice([1.0, 2.0, 4.0, 8.0], n),
        rng.choice([0.0, 1.0], n) * typical_s,
        shapes,
    )
    return World(system, work, Supply(pue=float(rng.choice([1.0, 1.5]))))


def tiny_world(seed: int, kind: str = "real") -> World:
    """One with up to four tasks and a few places, so that every assignment can be tried."""
    return random_world(seed, kind, most_tasks=4, most_machines=1)


def random_assignment(world: World, seed: int, is_complete: bool = True) -> Assignment:
    """Any assignment: orders may be equal; tasks are left out by chance unless it is to be complete."""
    rng = generator(seed, "tests.random_assignment")
    system, n = world.system, world.workload.n_tasks
    possible = np.isfinite(system.etc_s)[:, system.machine_type]
    places = [rng.choice(np.argwhere(possible[kind])) for kind in world.workload.task_type]
    machine, pstate = np.array(places).T
    left_out = (rng.random(n) < 0.2) & (not is_complete)
    order = rng.integers(0, n, n, np.int32) if rng.random() < 0.5 else rng.permutation(np.arange(n, dtype=np.int32))
    return Assignment(np.where(left_out, NOT_RUN, machine), np.where(left_out, 0, pstate), order)


def later(world: World, by_s: float) -> World:
    """The same world, with arrivals in whole 1/1024 s, so much later."""
    work = world.workload
    arrival_s = by_s + np.round(1024 * work.arrival_s) / 1024
    return World(world.system, dataclasses.replace(work, arrival_s=arrival_s), world.supply)


def _system(rng: np.random.Generator, kind: str, most_machines: int) -> System:
    shape = (int(rng.integers(1, 5)), int(rng.integers(1, 4)), int(rng.integers(1, 3)))
    etc_s, power_w = np.sort(DRAWS[kind](rng, shape), axis=2), DRAWS[kind](rng, shape)
    counts = rng.integers(0, most_machines + 1, shape[1])
    counts[rng.integers(shape[1])] += 1
    etc_s[rng.random(shape[:2]) < 0.2] = np.inf
    etc_s[:, :, 1:][rng.random((*shape[:2], shape[2] - 1)) < 0.2] = np.inf
    for i in range(shape[0]):
        if not np.isfinite(etc_s[i, counts > 0, 0]).any():
            etc_s[i, np.argmax(counts)] = 1.0 + np.arange(shape[2])
    names = tuple(f"t{i}" for i in range(shape[0])), tuple(f"m{j}" for j in range(shape[1]))
    return System(*names, counts, etc_s, power_w)


def _stretched(shape: Shape, unit_s: float) -> Shape:
    """The same shape in other units of time."""
    segments = (
        Segment(s.start_s * unit_s, s.level, s.span, s.rate_per_s / unit_s, s.slope_per_s / unit_s)
        for s in shape.segments
    )
    return Shape(shape.name, tuple(segments))
