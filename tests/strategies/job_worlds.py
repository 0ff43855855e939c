"""Small worlds of parallel jobs: by hand, at random for properties, and a crowded one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from joulewise.model import Shape, UtilityShapes, Workload, constant, linear, step
from joulewise.model.clusters import Clusters, JobTypes
from joulewise.model.conditions import Conditions
from joulewise.model.jobs import NO_OUTAGES, Jobs, JobWorld, Label, NodeOutages
from joulewise.model.supply import NO_LIMITS, Supply
from joulewise.rng import generator
from joulewise.worlds.jobs.node_outages import of_nodes_that_are_there
from tests.strategies.random_worlds import multiples, utility_shapes

UNITS_S = (1.0, 0.25, 60.0)
"""Times are whole multiples of one of these: every sum of them is exact."""

N_TYPES = 3
USERS, QUEUES = ("ann", "bob", "cat"), ("debug", "batch")


# By hand


def clusters_of(n_nodes: Sequence[int], cores: Sequence[int] = ()) -> Clusters:
    """Clusters named by number, of so many nodes of so many cores (1 if not said)."""
    names = tuple(f"c{i}" for i in range(len(n_nodes)))
    per_node = np.array(cores or [1] * len(n_nodes))
    return Clusters(names, np.array(n_nodes), per_node, np.ones(len(n_nodes), np.int64))


def types_of(options: Sequence[Sequence[tuple[float, ...]]]) -> JobTypes:
    """Types by their options: (cluster, nodes, time_s[, planned_s[, power_w[, P-state]]])."""
    first = np.concatenate(([0], np.cumsum([len(rows) for rows in options])))
    full = [(*row, *(row[2], math.nan, 0.0)[len(row) - 3 :]) for rows in options for row in rows]
    table = np.array(full, float).reshape(-1, 6)
    cluster, nodes, time_s, planned_s, power_w, pstate = table.T
    return JobTypes((), first, cluster.astype(int), pstate.astype(int), nodes.astype(int), time_s, planned_s, power_w)


def trace_world(
    rows: Sequence[tuple[float, ...]], n_nodes: int = 4, outages: NodeOutages = NO_OUTAGES, shape: Shape | None = None
) -> JobWorld:
    """One cluster, one type per job: (arrival_s, nodes, time_s[, planned_s]) in order of arrival; no power known."""
    types = types_of([[(0, *row[1:])] for row in rows])
    return JobWorld(clusters_of([n_nodes]), types, Jobs(work_of([row[0] for row in rows], shape)), outages=outages)


def work_of(
    arrival_s: Sequence[float], shape: Shape | None = None, types: Sequence[int] = (), **columns: Any
) -> Workload:
    """Jobs of one utility function without a hold; each of a type of its own unless said otherwise."""
    n = len(arrival_s)
    task_type = np.array(types if len(types) else range(n), np.int32)
    scale = columns.pop("scale", np.ones(n))
    shapes = UtilityShapes.of([shape or constant()])
    return Workload(np.array(arrival_s, float), task_type, np.zeros(n, np.int32), scale, np.zeros(n), shapes, **columns)


def outages_of(rows: Sequence[tuple[int, int, float, float, bool, float]]) -> NodeOutages:
    """Outages by rows of (cluster, nodes, start_s, end_s, is_planned, lot)."""
    table = np.array(rows, float).reshape(-1, 6)
    cluster, nodes, start_s, end_s, is_planned, lot = table.T
    return NodeOutages(cluster.astype(int), nodes.astype(int), start_s, end_s, is_planned.astype(bool), lot)


# At random


@st.composite
def trace_worlds(draw: st.DrawFn, most_jobs: int = 25, *, overruns: bool = False) -> JobWorld:
    """One cluster and rigid jobs in whole seconds, of which many end early and, if asked, some run past their plan."""
    n_nodes = draw(st.integers(1, 6))
    row = st.tuples(st.integers(0, 4), st.integers(1, n_nodes), st.integers(1, 9), st.integers(0, 6))
    rows = draw(st.lists(row, min_size=1, max_size=most_jobs))
    gap, nodes, time_s, more = np.array(rows, float).T
    planned_s = np.maximum(time_s + more - (2 if overruns else 0), 1.0)
    columns = (np.cumsum(gap), nodes, time_s, planned_s)
    return trace_world(list(zip(*(column.tolist() for column in columns), strict=True)), n_nodes)


def in_minutes(world: JobWorld) -> JobWorld:
    """A world with minutes in place of seconds."""
    types, work = world.types, world.jobs.work
    slower = {name: 60 * getattr(types, name) for name in ("time_s", "planned_s")}
    jobs = replace(world.jobs, work=replace(work, arrival_s=60 * work.arrival_s))
    return replace(world, types=replace(types, **slower), jobs=jobs)


@st.composite
def typed_worlds(draw: st.DrawFn, most_jobs: int = 20, *, is_certain: bool = True) -> JobWorld:
    """Up to 3 clusters and a few types with P-states and numbers of nodes to choose from; powers known; labels.

    A type may have no option at all. Unless `is_certain`, jobs take less or more than planned.
    """
    unit_s = draw(st.sampled_from(UNITS_S))
    n_nodes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    options = [draw(_options(unit_s, n_nodes, is_certain=is_certain)) for _ in range(N_TYPES)]
    options[0] = options[0] or [(0, 1, unit_s, unit_s, 1.0, 0)]
    cores = draw(st.lists(st.sampled_from((1, 2, 4)), min_size=len(n_nodes), max_size=len(n_nodes)))
    return JobWorld(clusters_of(n_nodes, cores), types_of(options), draw(jobs(unit_s, most_jobs)))


@st.composite
def _options(draw: st.DrawFn, unit_s: float, n_nodes: list[int], *, is_certain: bool) -> list[tuple[float, ...]]:
    """A type's options by cluster, then P-state, then nodes: slower and cheaper from P-state to P-state."""
    rows: list[tuple[float, ...]] = []
    for cluster, most in enumerate(n_nodes):
        if draw(st.integers(0, 4)) == 0:
            continue
        sizes = sorted(draw(st.sets(st.integers(1, most), min_size=1, max_size=2)))
        for pstate in range(draw(st.integers(1, 2))):
            for nodes in sizes:
                planned_s = draw(multiples(unit_s, 1, 8)) + 2 * unit_s * pstate
                time_s = planned_s if is_certain else draw(multiples(unit_s, 1, 10))
                power_w = float(nodes * draw(st.integers(2, 4)) - pstate)
                rows.append((cluster, nodes, time_s, planned_s, power_w, pstate))
    return rows


@st.composite
def jobs(draw: st.DrawFn, unit_s: float, most_jobs: int) -> Jobs:
    """Jobs of random types, often together, with utility functions, users and queues."""
    shapes = draw(st.lists(utility_shapes(unit_s), min_size=1, max_size=3))
    row = st.tuples(
        multiples(unit_s, 0, 3), st.integers(0, N_TYPES - 1), st.integers(0, len(shapes) - 1), st.integers(0, 8),
        multiples(unit_s, 0, 6), st.integers(-1, len(USERS) - 1), st.integers(0, len(QUEUES) - 1),
    )  # fmt: skip
    rows = draw(st.lists(row, min_size=1, max_size=most_jobs))
    gap_s, task_type, shape, scale, hold_s, user, queue = map(np.array, zip(*rows, strict=True))
    table = UtilityShapes.of([s._replace(name=f"{i}: {s.name}") for i, s in enumerate(shapes)])
    work = Workload(np.cumsum(gap_s), task_type, shape, scale, hold_s, table)
    return Jobs(work, labels={"user": Label(USERS, user), "queue": Label(QUEUES, queue)})


@st.composite
def windowed(draw: st.DrawFn, worlds: st.SearchStrategy[JobWorld]) -> JobWorld:
    """Worlds whose window starts a little later and ends, often before all is done; runs count by their share."""
    world = draw(worlds)
    unit_s = float(np.diff(np.unique(world.types.planned_s), prepend=0.0).min())
    start_s = unit_s * draw(st.integers(0, 4))
    end_s = start_s + unit_s * draw(st.integers(3, 40))
    work = replace(world.jobs.work, start_s=start_s, end_s=end_s, is_prorated=True)
    return replace(world, jobs=replace(world.jobs, work=work))


@st.composite
def limited_worlds(draw: st.DrawFn, most_jobs: int = 20, *, is_certain: bool = True) -> JobWorld:
    """Energy for a few jobs a day, in a window that ends; unless `is_certain`, jobs take less or more than planned."""
    world = draw(windowed(typed_worlds(most_jobs, is_certain=is_certain)))
    unit_s = float(np.diff(np.unique(world.types.planned_s), prepend=0.0).min())
    days = draw(st.sampled_from((5, 10, 100)))
    supply = Supply(
        unit_s * draw(st.integers(8, 240)), draw(st.booleans()), unit_s * days, pue=draw(st.sampled_from((1.0, 1.5)))
    )
    return replace(world, supply=supply)


@st.composite
def capped_worlds(draw: st.DrawFn, most_jobs: int = 15) -> JobWorld:
    """A power cap, the same or changing by the hour, under which every option fits; the window ends."""
    world = draw(windowed(typed_worlds(most_jobs)))
    least_w = float(np.ceil(world.types.power_w.max(initial=1.0)))
    cap_w = np.array(draw(st.lists(st.integers(0, 12), min_size=1, max_size=3)), float) + least_w
    return replace(world, supply=Supply(cap_w=cap_w))


@st.composite
def troubled_worlds(draw: st.DrawFn, worlds: st.SearchStrategy[JobWorld]) -> JobWorld:
    """Worlds with planned outages, failures and jobs that wait for others."""
    world = draw(worlds)
    unit_s = float(np.diff(np.unique(world.types.planned_s), prepend=0.0).min())
    n, n_nodes = world.n_jobs, world.clusters.n_nodes
    rows = []
    for cluster in draw(st.lists(st.integers(0, n_nodes.size - 1), max_size=3)):
        start_s = unit_s * draw(st.integers(0, 30))
        nodes = draw(st.integers(1, max(int(n_nodes[cluster]) // 2, 1)))
        end_s, is_planned = start_s + unit_s * draw(st.integers(1, 12)), draw(st.booleans())
        rows.append((cluster, nodes, start_s, end_s, is_planned, draw(st.sampled_from((0.0, 0.3, 0.7, 0.99)))))
    after = np.array([draw(st.integers(-1, i - 1)) if draw(st.integers(0, 3)) == 0 else -1 for i in range(n)])
    think_s = unit_s * np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), float)
    outages = of_nodes_that_are_there(outages_of(rows), world.clusters)
    return replace(world, jobs=replace(world.jobs, conditions=Conditions.following(after, think_s)), outages=outages)


# Crowded


def busy_job_world(n_jobs: int = 500, seed: int = 0, supply: Supply = NO_LIMITS, end_s: float = math.inf) -> JobWorld:
    """Three crowded clusters, 8 types with two P-states each, random times and three kinds of utility."""
    rng = generator(seed, "tests.busy_job_world")
    options = []
    for _ in range(8):
        rows: list[tuple[float, ...]] = []
        for cluster, most in enumerate((16, 24, 40)):
            nodes, time_s = int(rng.integers(1, most // 2)), float(rng.integers(100, 2000))
            power_w = nodes * float(rng.integers(80, 160))
            rows += [(cluster, nodes, time_s * f, time_s * f, power_w * p, s) for s, f, p in ((0, 1, 1), (1, 1.5, 0.5))]
        options.append(rows)
    shapes = UtilityShapes.of([constant(), linear(9000.0), step(4000.0)])
    arrival_s = np.sort(rng.integers(0, 60 * n_jobs, n_jobs)).astype(float)
    task_type, shape, user, queue = (rng.integers(0, n, n_jobs, np.int32) for n in (8, 3, 3, 2))
    scale, hold_s = rng.choice([1.0, 2.0, 4.0, 8.0], n_jobs), rng.uniform(0.0, 100.0, n_jobs)
    work = Workload(arrival_s, task_type, shape, scale, hold_s, shapes, 0.0, end_s, is_prorated=math.isfinite(end_s))
    labels = {"user": Label(USERS, user), "queue": Label(QUEUES, queue)}
    return JobWorld(clusters_of([16, 24, 40], [4, 2, 1]), types_of(options), Jobs(work, labels=labels), supply)
