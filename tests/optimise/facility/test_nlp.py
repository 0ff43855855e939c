"""Plans of a facility by non-linear programming: limits kept, neighbours counted, a linear program as yardstick."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from scipy.optimize import linprog

from joulewise.check.facility.plan import check_facility
from joulewise.errors import InputError
from joulewise.model.air import Air
from joulewise.model.facility import Facility, FacilityPlan, NodeTypes, TaskFlows
from joulewise.model.room import HP_UTILITY_DATA_CENTER, CopCurve, Room, heat_flow
from joulewise.optimise.facility.evaluation import steady
from joulewise.optimise.facility.nlp import plan_by_nlp
from joulewise.optimise.facility.nlp_program import (
    Beliefs,
    NonlinearProgram,
    SolverClock,
    every_core,
    mixed_columns,
    stand_ins,
)
from joulewise.rng import generator
from tests.strategies.random_facilities import random_facility

needs_casadi = pytest.mark.skipif(find_spec("casadi") is None, reason="needs CasADi, the extra [nlp]")

_SPEED = np.array([[1.0, 0.7], [2.0, 1.2], [1.5, 0.9]])[:, None, :]
_POWER_W = np.array([[18.0, 9.0], [20.0, 10.0], [20.0, 10.0]])[:, None, :]
_HEAVY, _LIGHT = 0, 1


def _facility(slowdown: float, cap_w: float = 420.0, rate_per_s: float = 3.0) -> Facility:
    """Three nodes with one processor of four cores, one heavy and two light task types, and two CRAC units."""
    air = np.array([[0, 1, 1, 3, 2], [2, 0, 1, 2, 2], [1, 2, 0, 2, 2], [2, 2, 3, 0, 0], [2, 2, 2, 0, 1]], np.float64)
    room = Room(
        heat_flow(air / 7.0), np.full(3, 0.01), np.full(2, 0.01), np.full(3, 25.0), np.full(2, 10.0), np.full(2, 25.0),
        (HP_UTILITY_DATA_CENTER, CopCurve(np.array([1.0, 4.0, 5.0]), np.array([10.0, 20.0, 25.0]))), np.empty(0),
    )  # fmt: skip
    types = NodeTypes(("n",), np.array([4]), np.array([1]), np.array([2]), np.array([20.0]))
    table = slowdown * np.array([[[3.0, 0.2], [0.1, 0.02]]])
    tasks = TaskFlows(
        ("h", "l", "m"), np.full(3, rate_per_s), np.array([1.0, 0.5, 0.6]), np.full(3, 9.0), _SPEED, _POWER_W,
        np.array([_HEAVY, _LIGHT, _LIGHT]), ("heavy", "light"), table,
    )  # fmt: skip
    return Facility(types, tasks, np.zeros(3, np.int32), room, cap_w)


def _best_alone(facility: Facility, air: Air, supply_c: np.ndarray) -> float:
    """The reward rate of a plain linear program over [node, task type, P-state] at fixed supplies."""
    tasks, n = facility.tasks, facility.n_nodes
    speed, power = tasks.speed_per_s[:, 0], tasks.power_w[:, 0]
    shape = (n, *speed.shape)
    cores = np.zeros((n, *shape))
    drawn = np.zeros((n, *shape))
    for node in range(n):
        cores[node, node], drawn[node, node] = 1.0, power
    done = np.zeros((tasks.n_types, *shape))
    for t in range(tasks.n_types):
        done[t, :, t] = speed[t]
    drawn, rise = drawn.reshape(n, -1), air.rise_k_per_w(np.arange(n))
    per_w = 1.0 + air.heat_share.T @ (1.0 / facility.room.cop_at(supply_c))
    rest_w = steady(facility, air, FacilityPlan(*_nothing(facility), supply_c))
    limits = np.vstack((cores.reshape(n, -1), rise @ drawn, (per_w @ drawn)[None], done.reshape(tasks.n_types, -1)))
    most = np.concatenate((
        facility.node_types.cores[facility.node_type], facility.room.redline_c - rest_w.node_inlet_c,
        [facility.cap_w - rest_w.total_w], tasks.rate_per_s,
    ))  # fmt: skip
    found = linprog(-(tasks.reward @ done.reshape(tasks.n_types, -1)), limits, most)
    return float(-found.fun)


def _nothing(facility: Facility) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((facility.n_cores, facility.tasks.n_types)), np.zeros((facility.n_cores, facility.tasks.n_types))


@pytest.mark.thorough("takes seconds; others look at less of it")
@needs_casadi
@pytest.mark.parametrize("counts_neighbours", [False, True])
@pytest.mark.parametrize("seed", [0, 55, 74])
def test_plans_keep_all_limits(seed: int, counts_neighbours: bool) -> None:
    facility = random_facility(seed, n_nodes=3)
    found = plan_by_nlp(facility, Air(facility.room), counts_neighbours=counts_neighbours)
    assert check_facility(facility, found.plan) == []
    assert [row[1] for row in found.history] == sorted({row[1] for row in found.history})
    assert found.why_stopped == "done"


@needs_casadi
def test_who_counts_neighbours_keeps_heavy_tasks_apart() -> None:
    facility = _facility(1.0)
    air = Air(facility.room)
    alone, together = (plan_by_nlp(facility, air, counts_neighbours=counts) for counts in (False, True))
    states = [steady(facility, air, found.plan) for found in (alone, together)]
    assert states[1].slowed_reward_per_s > 1.2 * states[0].slowed_reward_per_s
    assert states[0].reward_per_s > states[1].reward_per_s
    assert states[1].slowed_reward_per_s == together.history[-1][1]
    heavy_cores = (together.plan.share[:, _HEAVY].reshape(3, 4) > 0.01).sum(axis=1)
    assert heavy_cores.max() <= 1
    again = plan_by_nlp(facility, air, counts_neighbours=True)
    assert np.array_equal(again.plan.share, together.plan.share)


@needs_casadi
@pytest.mark.parametrize("cap_w", [300.0, 420.0])
def test_without_interference_it_earns_what_a_linear_program_does(cap_w: float) -> None:
    facility = _facility(0.0, cap_w, rate_per_s=5.0)
    air = Air(facility.room)
    found = plan_by_nlp(facility, air, counts_neighbours=True)
    best = _best_alone(facility, air, found.plan.supply_c)
    assert 0.99 * best < steady(facility, air, found.plan).slowed_reward_per_s <= best * (1 + 1e-9)


@needs_casadi
def test_both_solvers_agree_on_what_is_linear() -> None:
    """With supplies fixed and no neighbours IPOPT, by exact derivatives, ends where HiGHS does."""
    facility = _facility(1.0)
    air, supply_c, clock = Air(facility.room), np.array([18.0, 17.0]), SolverClock(np.inf)
    beliefs, members = Beliefs(facility.tasks.speed_per_s, facility.tasks.power_w), every_core(facility)
    columns = mixed_columns(facility, beliefs, members)
    program = NonlinearProgram(facility, air, beliefs, members, columns, False)
    start = program.point(np.full(columns.member.size, 0.05), supply_c)
    by_ipopt = program.by_ipopt(start, supply_c, clock, {"tol": 1e-8})
    by_highs = program.by_highs(supply_c, clock)
    assert by_highs is not None
    gain = [float(program.reward @ values[program.at["rate"]]) for values in (by_ipopt, by_highs)]
    assert gain[0] == pytest.approx(gain[1], rel=1e-5)
    assert gain[1] * facility.tasks.most_reward_per_s / program.scale == pytest.approx(
        _best_alone(facility, air, supply_c)
    )


@needs_casadi
def test_it_stops_in_time_with_a_plan() -> None:
    facility = _facility(1.0)
    found = plan_by_nlp(facility, Air(facility.room), counts_neighbours=True, seconds=0.01)
    assert found.why_stopped == "time"
    assert check_facility(facility, found.plan) == []
    assert found.history[0][1] > 0


def test_a_few_stand_for_all_cores() -> None:
    facility = random_facility(3, n_nodes=6)
    members = stand_ins(facility, generator(0), 1)
    n_types = np.unique(facility.node_type).size
    assert np.unique(members.processor).size == n_types
    assert members.cores.sum() == pytest.approx(facility.n_cores)
    assert np.array_equal(members.kind[members.of_core], np.repeat(facility.node_type, np.diff(facility.first_core)))


@needs_casadi
def test_nodes_that_break_a_limit_at_rest_are_told() -> None:
    facility = replace(_facility(1.0), cap_w=50.0)
    with pytest.raises(InputError, match=r"cap_w: found 50 W; must be \d+.* W or more, what nodes at rest"):
        plan_by_nlp(facility, Air(facility.room), counts_neighbours=True)


def test_without_casadi_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "casadi", None)
    facility = _facility(1.0)
    with pytest.raises(InputError, match=r"pip install 'joulewise\[nlp\]'"):
        plan_by_nlp(facility, Air(facility.room), counts_neighbours=False)
