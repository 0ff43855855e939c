"""Small random bags in which ties, equal columns, absent task types, machines and choices are frequent."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from joulewise.model import Bag, Standby, System
from joulewise.model.arrays import Counts, Floats
from joulewise.rng import generator

Shape = tuple[int, ...]
Draw = Callable[[np.random.Generator, Shape], Floats]


def _whole(rng: np.random.Generator, shape: Shape) -> Floats:
    return rng.integers(1, 5, shape).astype(np.float64)


def _equal_columns(rng: np.random.Generator, shape: Shape) -> Floats:
    return np.broadcast_to(_whole(rng, (shape[0], 1, shape[2])), shape).copy()


def _equal_rows(rng: np.random.Generator, shape: Shape) -> Floats:
    return np.broadcast_to(_whole(rng, (1, *shape[1:])), shape).copy()


def _real(rng: np.random.Generator, shape: Shape) -> Floats:
    return rng.gamma(3.0, 30.0, shape)


def _wide(rng: np.random.Generator, shape: Shape) -> Floats:
    return np.asarray(10.0 ** rng.uniform(-2.0, 3.0, shape))


DRAWS: dict[str, Draw] = {
    "whole": _whole, "equal columns": _equal_columns, "equal rows": _equal_rows, "real": _real, "wide": _wide,
}  # fmt: skip


def system_of(machines: Counts, etc_s: Floats, power_w: Floats, idle_w: Floats | None = None) -> System:
    """A system with names that do not matter."""
    n_types, n_machine_types = etc_s.shape[:2]
    zero = np.zeros(n_machine_types)
    standby = None if idle_w is None else Standby(idle_w, zero, zero, zero, np.full(n_machine_types, np.inf))
    names = tuple(f"t{i}" for i in range(n_types)), tuple(f"m{j}" for j in range(n_machine_types))
    return System(*names, machines, etc_s, power_w, standby=standby)


def random_bag(seed: int, kind: str, most_tasks: int = 10, most_machines: int = 4) -> Bag:
    """A bag of a kind: up to 8 task types and 6 machine types, some of them empty, with or without idle power."""
    rng = generator(seed, "tests.random_bags")
    shape = (int(rng.integers(1, 9)), int(rng.integers(1, 7)), int(rng.integers(1, 3)))
    etc_s, power_w = np.sort(DRAWS[kind](rng, shape), axis=2), DRAWS[kind](rng, shape)
    machines = rng.integers(0, most_machines + 1, shape[1])
    machines[rng.integers(shape[1])] += 1
    etc_s[rng.random(shape[:2]) < 0.2] = np.inf
    for i in range(shape[0]):
        if not (np.isfinite(etc_s[i, :, 0]) & (machines > 0)).any():
            etc_s[i, np.argmax(machines)] = 1.0 + np.arange(shape[2])
    idle_w = power_w.min(axis=(0, 2)) * rng.choice([0.0, 0.05, 1.0])
    counts = rng.integers(0, most_tasks + 1, shape[0])
    counts[rng.integers(shape[0])] += 1
    return Bag(system_of(machines, etc_s, power_w, idle_w), counts, is_off_when_done=bool(rng.random() < 0.2))


def tiny_bag(seed: int, kind: str) -> Bag:
    """One with two or three tasks, so that every allocation can be tried."""
    bag = random_bag(seed, kind, most_tasks=1, most_machines=1)
    kept = np.flatnonzero(bag.counts)[:2]
    counts = np.zeros_like(bag.counts)
    counts[kept] = bag.counts[kept]
    return Bag(bag.system, counts, bag.is_off_when_done)


def usual_bag(seed: int = 0, n_tasks: int = 11_000, n_types: int = 30, n_machine_types: int = 9) -> Bag:
    """A bag of the size of the published ones: 40 machines of each type, idle power of 5 %."""
    rng = generator(seed, "tests.usual_bag")
    shape = (n_types, n_machine_types, 1)
    etc_s, power_w = rng.gamma(4.0, 25.0, shape), rng.uniform(50.0, 200.0, shape)
    system = system_of(np.full(n_machine_types, 40), etc_s, power_w, 0.05 * power_w.min(axis=(0, 2)))
    return Bag(system, rng.multinomial(n_tasks, np.full(n_types, 1 / n_types)))
