"""Small random facilities, with air that comes back to where it leaves, and plans of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from joulewise.model.arrays import Floats
from joulewise.model.facility import Facility, FacilityPlan, NodeTypes, TaskFlows
from joulewise.model.room import AIR_J_PER_M3_K, HP_UTILITY_DATA_CENTER, CopCurve, Room, heat_flow
from joulewise.rng import generator

_CORES_ON_PROCESSORS = ((1, 1), (2, 1), (2, 2), (3, 1), (4, 1), (4, 2))
_TABLE_I = np.array([[1.0, 0.3, 0.05], [0.5, 0.2, 0.03], [0.06, 0.04, 0.01]])
_RISE_K = 10.0
"""By so much air warms up in a mean node with all cores busy."""


def random_facility(
    seed: int,
    n_nodes: int | None = None,
    n_cracs: int | None = None,
    n_node_types: int | None = None,
    n_task_types: int | None = None,
    by_pair: bool | None = None,
    has_one_curve: bool | None = None,
    is_dense: bool | None = None,
) -> Facility:
    """A facility of up to 6 nodes and 3 CRAC units, or of so many; what is None is drawn.

    With all cores at rest and every CRAC unit at its highest coldest supply it keeps cap and redlines.
    """
    rng = generator(seed, "tests.random_facilities")
    n_nodes, n_cracs = n_nodes or int(rng.integers(1, 7)), n_cracs or int(rng.integers(1, 4))
    types = _node_types(rng, n_node_types or int(rng.integers(1, 4)))
    chosen = (by_pair, has_one_curve, is_dense)
    by_pair, has_one_curve, is_dense = (rng.random() < 0.4 if value is None else value for value in chosen)
    node_type = rng.integers(types.n_types, size=n_nodes, dtype=np.int32)
    tasks = _tasks(rng, types, node_type, n_task_types or int(rng.integers(1, 6)), by_pair)
    tasks = replace(tasks, deadlines_alone=seed % 3 == 0)
    full_w = (types.overhead_w + types.cores * tasks.power_w.max(axis=(0, 2)))[node_type]
    flow = (dense_flow if is_dense else sparse_flow)(rng, n_nodes, n_cracs)
    flow *= full_w.mean() / (AIR_J_PER_M3_K * _RISE_K) / flow.sum(axis=1)[:n_nodes].mean()
    room = _room(rng, flow, types.overhead_w[node_type], n_cracs, has_one_curve)
    dearest = 1.0 + 1.0 / room.cop_at(np.full(n_cracs, room.coldest_c.max())).min()
    idle_w, most_w = (dearest * float(power_w.sum()) for power_w in (types.overhead_w[node_type], full_w))
    return Facility(types, tasks, node_type, room, idle_w + rng.uniform(0.02, 0.7) * (most_w - idle_w) + 1.0)


def dense_flow(rng: np.random.Generator, n_nodes: int, n_cracs: int) -> Floats:
    """Air from every place to every place [taker, source]: as much leaves each as it takes in, by fitting."""
    n = n_nodes + n_cracs
    through, table = rng.uniform(0.5, 2.0, n), rng.uniform(0.05, 1.0, (n, n))
    for _ in range(200):
        table *= (through / table.sum(axis=0))[None, :]
        table *= (through / table.sum(axis=1))[:, None]
    return table


def sparse_flow(rng: np.random.Generator, n_nodes: int, n_cracs: int) -> Floats:
    """Air that goes round in rings: from a CRAC unit through one to three nodes, at times by another unit, and back."""
    n = n_nodes + n_cracs
    table = np.zeros((n, n))
    firsts = [(node, n_nodes + int(rng.integers(n_cracs))) for node in range(n_nodes)]
    firsts += [(int(rng.integers(n_nodes)), n_nodes + crac) for crac in range(n_cracs)]
    for node, crac in firsts:
        others = rng.permutation(np.delete(np.arange(n), (node, crac)))[: rng.integers(3)]
        ring = np.concatenate(([crac, node], others)).astype(np.int64)
        table[np.roll(ring, -1), ring] += rng.uniform(0.5, 2.0)
    return table


def _node_types(rng: np.random.Generator, n: int) -> NodeTypes:
    cores, processors = zip(*(_CORES_ON_PROCESSORS[i] for i in rng.integers(len(_CORES_ON_PROCESSORS), size=n)))
    names = tuple(f"n{i}" for i in range(n))
    return NodeTypes(names, np.array(cores), np.array(processors), rng.integers(1, 5, n), rng.uniform(0.0, 150.0, n))


def _tasks(rng: np.random.Generator, types: NodeTypes, node_type: Any, n: int, by_pair: bool) -> TaskFlows:
    n_pstates = int(types.n_pstates.max())
    exists = np.arange(n_pstates) < types.n_pstates[:, None]
    shape = (n, types.n_types, n_pstates)
    slower = 1.0 - np.arange(n_pstates) / max(n_pstates - 1, 1) * rng.uniform(0.3, 0.5)
    speed = rng.uniform(0.1, 2.0, shape[:2])[:, :, None] * slower * exists
    power_w = rng.uniform(5.0, 40.0, shape[:2])[:, :, None] * slower ** rng.uniform(1.0, 3.0) * exists
    speed[_not_everywhere(rng, n, types.n_types, np.unique(node_type))] = 0.0
    present = speed[:, np.unique(node_type)]
    shortest_s = 1.0 / present.max(axis=(1, 2))
    deadline_s = np.where(rng.random(n) < 0.3, np.inf, shortest_s * rng.uniform(1.02, 4.0, n))
    capacity = speed[:, node_type, 0] @ types.cores[node_type] / n
    n_classes = n if by_pair else int(rng.integers(1, 4))
    table = rng.uniform(0.0, 1.0, (n_classes, n_classes)) if by_pair else _TABLE_I[:n_classes, :n_classes]
    slowdown = table * rng.uniform(0.5, 1.5, (types.n_types, 1, 1))
    memory_class = np.arange(n, dtype=np.int8) if by_pair else rng.integers(n_classes, size=n, dtype=np.int8)
    names, classes = tuple(f"t{i}" for i in range(n)), tuple(f"c{i}" for i in range(n_classes))
    rate_per_s, reward = capacity * rng.uniform(0.3, 1.5, n), rng.uniform(0.5, 10.0, n)
    return TaskFlows(names, rate_per_s, reward, deadline_s, speed, power_w, memory_class, classes, slowdown)


def _not_everywhere(rng: np.random.Generator, n: int, n_node_types: int, present: Any) -> Any:
    """Which task types cannot run on which node types; each can on one that is present."""
    cannot = rng.random((n, n_node_types)) < 0.2
    cannot[np.arange(n), rng.choice(present, n)] = False
    return cannot


def _room(rng: np.random.Generator, flow: Floats, overhead_w: Floats, n_cracs: int, has_one_curve: bool) -> Room:
    n_nodes, through = len(overhead_w), flow.sum(axis=1)
    shares = flow / through[:, None]
    coldest_c = 10.0 + rng.choice([0.0, 2.0], n_cracs)
    hottest_c = 25.0 - rng.choice([0.0, 5.0], n_cracs)
    least_c = inlets_at_rest_c(shares, through, overhead_w, float(coldest_c.max()))
    redline_c = np.maximum(least_c + 1.0, rng.uniform(22.0, 30.0, n_nodes))
    curve = _CURVES[int(rng.integers(len(_CURVES)))](rng)
    curves = [curve if has_one_curve else _CURVES[int(rng.integers(len(_CURVES)))](rng) for _ in range(n_cracs)]
    node, crac = through[:n_nodes], through[n_nodes:]
    return Room(heat_flow(shares), node, crac, redline_c, coldest_c, hottest_c, curves, np.empty((0, 3)))


def inlets_at_rest_c(shares: Floats, through: Floats, node_w: Floats, supply_c: float) -> Floats:
    """What nodes take in that draw so much while all CRAC units blow one temperature."""
    n = len(node_w)
    rise_k = node_w / (AIR_J_PER_M3_K * through[:n])
    outlet_c = np.linalg.solve(np.eye(n) - shares[:n, :n], rise_k + shares[:n, n:].sum(axis=1) * supply_c)
    return np.asarray(outlet_c - rise_k)


def _moore(rng: np.random.Generator) -> CopCurve:
    return HP_UTILITY_DATA_CENTER


def _scaled(rng: np.random.Generator) -> CopCurve:
    return CopCurve(HP_UTILITY_DATA_CENTER.coefficients * rng.uniform(0.6, 1.6))


def _by_points(rng: np.random.Generator) -> CopCurve:
    return CopCurve(np.sort(rng.uniform(1.0, 6.0, 4)), np.array([10.0, 14.0, 19.0, 25.0]))


_CURVES: tuple[Callable[[np.random.Generator], CopCurve], ...] = (_moore, _scaled, _by_points)


def random_plan(facility: Facility, seed: int) -> FacilityPlan:
    """A plan with usable choices, core times and supplies; cap and redlines it may break."""
    rng = generator(seed, "tests.random_facilities.plan")
    room, kinds = facility.room, np.repeat(facility.node_type, np.diff(facility.first_core))
    usable = facility.tasks.is_usable[:, kinds].transpose(1, 0, 2)
    pstate = np.argmax(usable * rng.random(usable.shape), axis=2)
    wanted = rng.random(usable.shape[:2]) * (rng.random(usable.shape[:2]) < 0.6) * usable.any(axis=2)
    busy = rng.choice([0.0, 0.5, 1.0], facility.n_cores, p=[0.1, 0.3, 0.6])
    share = wanted * (busy / np.maximum(wanted.sum(axis=1), 1e-9))[:, None]
    return FacilityPlan(share, pstate, rng.uniform(room.coldest_c, room.hottest_c))


def feasible_plan(facility: Facility, seed: int, keeps: Callable[[FacilityPlan], bool]) -> FacilityPlan:
    """A random plan, brought so far towards rest at one cold supply that `keeps` says yes to it."""
    plan, rest_c = random_plan(facility, seed), facility.room.coldest_c.max()
    for step in range(30):
        part = 0.8**step if step < 29 else 0.0
        tried = FacilityPlan(part * plan.share, plan.pstate, rest_c + part * (plan.supply_c - rest_c))
        if keeps(tried):
            return tried
    raise AssertionError("the facility cannot keep its limits at rest")


seeds = st.integers(0, 1_000_000)


def facilities(**fixed: Any) -> st.SearchStrategy[Facility]:
    """Random facilities for hypothesis, of which some properties are fixed."""
    return st.builds(random_facility, seeds, **{name: st.just(value) for name, value in fixed.items()})
