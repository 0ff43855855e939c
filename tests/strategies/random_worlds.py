"""Hypothesis strategies for small worlds in which ties, queues, drops and impossible choices are frequent."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from joulewise.model import (
    Segment,
    Shape,
    System,
    UtilityShapes,
    Workload,
    World,
    constant,
    linear,
    piecewise,
    step,
)
from joulewise.model.arrays import Floats
from joulewise.policies.tasks.policy import Policy
from joulewise.simulate.tasks.manager import Manager

UNITS_S = (1.0, 0.25, 0.1, 1 / 3, 60.0)
"""Times are whole multiples of one of these: some sums of them are exact in binary, some are rounded."""

INTERVALS = (1.0, 2.0, 3.0, 5.0, 8.0, 0.75, 2.1)
"""Mapping intervals in units: on the grid, or beside it."""

EXACT_UNITS_S, EXACT_INTERVALS = (1.0, 0.25, 60.0), (1.0, 2.0, 3.0, 5.0, 8.0, 0.75)
"""Those of which every multiple is exact in binary."""

N_TASK_TYPES = 3


class Scenario(NamedTuple):
    """A world, and a manager's settings that give it something to do."""

    world: World
    dropping_threshold: float
    mapping_interval_s: float

    def manager(self, policy: Policy) -> Manager:
        """A manager with this policy and these settings."""
        return Manager(policy, self.dropping_threshold, self.mapping_interval_s)


@st.composite
def scenarios(
    draw: st.DrawFn,
    units_s: tuple[float, ...] = UNITS_S,
    intervals: tuple[float, ...] = INTERVALS,
    most_tasks: int = 40,
) -> Scenario:
    """Some machines and up to `most_tasks` tasks, with all times on the grid of one unit."""
    unit_s = draw(st.sampled_from(units_s))
    world = World(draw(systems(unit_s)), draw(workloads(unit_s, most_tasks)))
    interval_s = unit_s * draw(st.sampled_from(intervals))
    return Scenario(world, draw(st.sampled_from((0.0, 0.0, 0.5, 1.0, 2.0))), interval_s)


def multiples(unit_s: float, low: int, high: int) -> st.SearchStrategy[float]:
    """Times on the grid of a unit."""
    return st.integers(low, high).map(lambda n: n * unit_s)


@st.composite
def systems(draw: st.DrawFn, unit_s: float) -> System:
    """Up to 3 machine types of a few machines, up to 3 P-states; every task type can run somewhere."""
    n_machine_types, n_pstates = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    shape = (N_TASK_TYPES, n_machine_types, n_pstates)
    counts = draw(st.lists(st.integers(0, 2), min_size=n_machine_types, max_size=n_machine_types))
    counts[draw(st.integers(0, n_machine_types - 1))] += 1
    etc_s = unit_s * np.cumsum(_grid(draw, shape, 0, 5), axis=2) + unit_s
    etc_s[:, :, 1:][_grid(draw, shape, 0, 4)[:, :, 1:] == 0] = math.inf  # a P-state that is not there
    etc_s[_grid(draw, shape[:2], 0, 3) == 0] = math.inf  # a special-purpose machine type
    stuck = ~np.isfinite(etc_s[:, np.array(counts) > 0, 0]).any(axis=1)
    etc_s[stuck] = unit_s
    power_w = draw(st.sampled_from([None, _grid(draw, shape, 0, 4)]))
    return System(
        tuple(f"task type {i}" for i in range(N_TASK_TYPES)),
        tuple(f"machine type {i}" for i in range(n_machine_types)),
        np.array(counts),
        etc_s,
        power_w,
    )


def _grid(draw: st.DrawFn, shape: tuple[int, ...], low: int, high: int) -> Floats:
    n = math.prod(shape)
    return np.array(draw(st.lists(st.integers(low, high), min_size=n, max_size=n)), float).reshape(shape)


@st.composite
def workloads(draw: st.DrawFn, unit_s: float, most_tasks: int) -> Workload:
    """Tasks that often arrive together, and a window that often ends before they are done."""
    shapes = draw(st.lists(utility_shapes(unit_s), min_size=1, max_size=4))
    row = st.tuples(
        multiples(unit_s, 0, 2),
        st.integers(0, N_TASK_TYPES - 1),
        st.integers(0, len(shapes) - 1),
        st.integers(0, 4),
        multiples(unit_s, 0, 6),
    )
    n_tasks = draw(st.integers(1, most_tasks))
    rows = draw(st.lists(row, min_size=n_tasks, max_size=n_tasks))
    gap_s, task_type, shape, scale, hold_s = map(np.array, zip(*rows, strict=True))
    end_s = draw(st.one_of(st.just(math.inf), multiples(unit_s, 4, 50)))
    start_s = draw(multiples(unit_s, 0, 3))
    table = UtilityShapes.of([s._replace(name=f"{i}: {s.name}") for i, s in enumerate(shapes)])
    return Workload(np.cumsum(gap_s), task_type, shape, scale, hold_s, table, start_s, end_s)


@st.composite
def rising(draw: st.DrawFn, work: Workload) -> Workload:
    """The same tasks, of which some are worth nothing at first: a part of their hold, or time before it, is a rise."""
    unit_s = float(work.hold_s.max()) / 6 or 1.0
    rises = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0, 7.0]), min_size=work.n_tasks, max_size=work.n_tasks))
    rise_s = unit_s * np.array(rises)
    return replace(work, rise_s=rise_s, hold_s=np.maximum(work.hold_s, rise_s))


def utility_shapes(unit_s: float) -> st.SearchStrategy[Shape]:
    """Constant, linear, hard deadline, exponential, exponential with a jump, and several lines."""
    times_s = multiples(unit_s, 1, 12)
    return st.one_of(
        st.just(constant()),
        times_s.map(linear),
        times_s.map(step),
        times_s.map(lambda t: Shape("exponential", (Segment(0.0, 0.0, 1.0, 1.0 / t),))),
        times_s.map(lambda t: Shape("jump", (Segment(0.0, 0.5, 0.5, 1.0 / t), Segment(t, 0.0, 0.25, 0.5 / t)))),
        times_s.map(lambda t: piecewise([(0.0, 1.0), (t, 0.75), (2 * t, 0.75), (3 * t, 0.0)], "lines")),
    )
