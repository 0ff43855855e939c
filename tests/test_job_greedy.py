"""The greedy of parallel jobs against its slow twin, in every kind of world; what it keeps to; days worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.model import Segment, Shape, UtilityShapes, Workload, constant, linear, step
from joulewise.model.jobs import Fate, Jobs, JobWorld
from joulewise.model.supply import Supply
from joulewise.policies.job_policy import JobObjective, JobPolicy, JobValue
from joulewise.simulate.jobs import simulate_jobs
from joulewise.simulate.scheduler import Scheduler
from tests.job_worlds import capped_worlds, clusters_of, limited_worlds, typed_worlds, types_of
from tests.twins.job_greedy import Story, simulate

# Objectives: the published ones, and two that rise with waiting


def _utility(
    utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float, resources: float
) -> float:
    return utility


def _per_time(
    utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float, resources: float
) -> float:
    return utility / exec_s


def _per_resource(
    utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float, resources: float
) -> float:
    return utility / resources


def _per_energy(
    utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float, resources: float
) -> float:
    return utility / energy_j


def _rising(
    utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float, resources: float
) -> float:
    return utility * wait_s - exec_s


FALLING, RISING = (_utility, _per_time, _per_resource, _per_energy), (_rising,)
_OBJECTIVES = {value: JobObjective(value, falls_with_time=value in FALLING) for value in (*FALLING, *RISING)}


def greedy(value: JobValue, *, declines: bool = False) -> JobPolicy:
    """A policy that follows an objective."""
    objective, name = _OBJECTIVES[value], f"{value.__name__} {declines}"
    return JobPolicy(name, name, "", "", "greedy", objective=objective, all_pstates=True, declines=declines)


# Against the twin


def told(world: JobWorld, scheduler: Scheduler) -> Story:
    """What the simulator does, as the twin tells it."""
    allocation = simulate_jobs(world, scheduler).allocation
    used = np.flatnonzero(allocation.used).tolist()
    plans = {i: (int(allocation.option[i]), float(allocation.start_s[i])) for i in used}
    return Story(plans, set(np.flatnonzero(allocation.fate == Fate.DROPPED).tolist()))


def agree(world: JobWorld, scheduler: Scheduler) -> None:
    """Both tell the same of all that starts in the window."""
    expected, found = simulate(world, scheduler), told(world, scheduler)
    end_s = world.jobs.work.end_s
    started = {i: plan for i, plan in expected.plans.items() if plan[1] < end_s}
    assert found.plans == started
    assert found.dropped == expected.dropped


@st.composite
def schedulers(draw: st.DrawFn, world: JobWorld) -> Scheduler:
    """Any switches that the greedy knows."""
    unit_s = float(np.diff(np.unique(world.types.planned_s), prepend=0.0).min())
    has_budget = math.isfinite(world.supply.budget_j)
    return Scheduler(
        greedy(draw(st.sampled_from((*FALLING, *RISING))), declines=has_budget and draw(st.booleans())),
        mapping_interval_s=unit_s * draw(st.sampled_from((1.0, 2.0, 5.0, math.inf))),
        commitment=draw(st.sampled_from(("place-holders", "reservations"))),
        dropping_threshold=draw(st.sampled_from((0.0, 0.5, 2.0))),
        dropping_by=draw(st.sampled_from(("task", "option"))),
        energy_filter=draw(st.sampled_from(("none", "per-task", "per-resource"))) if has_budget else "none",
        leniency=draw(st.sampled_from((0.5, 1.0, 4.0, "adaptive"))),
    )


@given(st.data())
def test_schedules_are_those_of_the_twin(data: st.DataObject) -> None:
    certain = data.draw(st.booleans())
    worlds = st.one_of(typed_worlds(12, is_certain=certain), limited_worlds(12), capped_worlds(10))
    world = data.draw(worlds)
    agree(world, data.draw(schedulers(world)))


SHAPES = UtilityShapes.of(
    [
        constant(), linear(20.0), step(15.0), Shape("falls", (Segment(0.0, 0.0, 1.0, 0.1),)),
        Shape("falls twice", (Segment(0.0, 0.5, 0.5, 0.1), Segment(12.0, 0.2, 0.1, 0.05))),
    ]
)  # fmt: skip


def crowded_world(rng: np.random.Generator) -> JobWorld:
    """A few small clusters, up to 25 jobs at a time, all kinds of utility; half of them with a budget or a cap."""
    n_nodes = rng.integers(1, 9, rng.integers(1, 5)).tolist()
    options = []
    for _ in range(rng.integers(1, 6)):
        rows: list[tuple[float, ...]] = []
        for cluster in np.flatnonzero(rng.random(len(n_nodes)) < 0.6).tolist() or [0]:
            for pstate in range(rng.integers(1, 4)):
                nodes, time_s = int(rng.integers(1, n_nodes[cluster] + 1)), float(rng.integers(1, 12))
                more_s, power_w = float(rng.choice([0, 0, 3])), float(nodes * rng.integers(2, 5))
                rows.append((cluster, nodes, time_s, time_s + more_s, power_w, pstate))
        options.append(rows)
    n = int(rng.integers(5, 26))
    arrival_s = np.cumsum(rng.integers(0, 3, n) * (rng.random(n) < 0.6)).astype(float)
    job_type, shape = rng.integers(0, len(options), n, np.int32), rng.integers(0, 5, n, np.int32)
    scale, hold_s = rng.integers(0, 9, n).astype(float), rng.integers(0, 5, n).astype(float)
    start_s = float(rng.integers(0, 6))
    end_s = start_s + float(rng.integers(20, 80))
    work = Workload(arrival_s, job_type, shape, scale, hold_s, SHAPES, start_s, end_s, is_prorated=True)
    types = types_of(options)
    supplies = (
        Supply(),
        Supply(cap_w=np.ceil([types.power_w.max()]) + rng.integers(0, 30)),
        Supply(float(rng.integers(50, 2000)), bool(rng.random() < 0.3), float(rng.choice([16.0, 64.0]))),
    )
    cores = rng.choice([1, 2, 4], len(n_nodes)).tolist()
    return JobWorld(clusters_of(n_nodes, cores), types, Jobs(work), supplies[rng.integers(3)])


def any_scheduler(rng: np.random.Generator, has_budget: bool) -> Scheduler:
    """Switches at random."""
    value = FALLING[rng.integers(4)] if rng.random() < 0.8 else _rising
    return Scheduler(
        greedy(value, declines=bool(rng.random() < 0.3)),
        mapping_interval_s=float(rng.choice([1.0, 2.0, 5.0, math.inf])),
        commitment=("place-holders", "reservations")[rng.integers(2)],
        dropping_threshold=float(rng.choice([0.0, 0.5, 2.0])),
        dropping_by=("task", "option")[rng.integers(2)],
        energy_filter=("none", "per-task", "per-resource")[rng.integers(3)] if has_budget else "none",
        leniency=(0.5, 1.0, 4.0, "adaptive")[rng.integers(4)],
    )


@pytest.mark.parametrize("seed", range(5))
def test_crowded_schedules_are_those_of_the_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(20):
        world = crowded_world(rng)
        agree(world, any_scheduler(rng, math.isfinite(world.supply.budget_j)))
