"""A facility: its steady state against a slow twin and by hand, its air, and what the model refuses."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from joulewise.check.facility.plan import check_facility
from joulewise.errors import InputError
from joulewise.model.air import Air
from joulewise.model.arrays import Floats
from joulewise.model.facility import Facility, FacilityPlan, NodeTypes, TaskFlows
from joulewise.model.room import AIR_J_PER_M3_K, HP_UTILITY_DATA_CENTER, CopCurve, HeatFlow, Room, heat_flow
from joulewise.optimise.facility.evaluation import EquationReading, margins, steady
from tests.strategies.random_facilities import facilities, random_facility, random_plan, seeds
from tests.twins.facility.evaluation import steady_twin

TABLE_I = np.array([[1.0, 0.3, 0.05], [0.5, 0.2, 0.03], [0.06, 0.04, 0.01]])
HEAVY, MEDIUM, LIGHT = range(3)


@given(facilities(n_nodes=2), seeds)
def test_the_steady_state_is_that_of_the_twin(facility: Facility, seed: int) -> None:
    plan, air = random_plan(facility, seed), Air(facility.room)
    for as_printed in (False, True):
        state, twin = steady(facility, air, plan, EquationReading(as_printed)), steady_twin(facility, plan, as_printed)
        for field in dataclasses.fields(twin):
            np.testing.assert_allclose(getattr(state, field.name), getattr(twin, field.name), rtol=1e-8, atol=1e-8)


@given(facilities(), seeds)
def test_all_heat_is_removed(facility: Facility, seed: int) -> None:
    plan, air = random_plan(facility, seed), Air(facility.room)
    state = steady(facility, air, plan)
    assert state.heat_w.sum() == pytest.approx(state.node_w.sum())
    found = margins(facility, plan, state)
    lines = check_facility(facility, plan, state)
    assert any("power" in line for line in lines) == (found.cap_w < 0)
    assert any("inlet" in line for line in lines) == (found.redline_k < 0)
    assert any("heat" in line for line in lines) == (found.heat_w < -1e-5)


@given(facilities())
def test_the_air_is_one_linear_map(facility: Facility) -> None:
    """Its tables give what solving gives; what leaves comes back, so that rows and columns add up."""
    room, air = facility.room, Air(facility.room)
    everyone = np.arange(room.n_nodes)
    np.testing.assert_allclose(air.heat_share.sum(axis=0), 1.0)
    np.testing.assert_allclose(air.supply_share.sum(axis=1), 1.0)
    w_per_k = AIR_J_PER_M3_K * room.crac_m3_per_s.sum()
    for axis in (0, 1):
        np.testing.assert_allclose(air.exchange_w_per_k.sum(axis=axis), 0.0, atol=1e-9 * w_per_k)
    power_w, supply_c = np.linspace(50.0, 300.0, room.n_nodes), np.linspace(12.0, 20.0, room.n_cracs)
    inlet_c = air.rise_k_per_w(everyone) @ power_w + air.supply_share @ supply_c
    np.testing.assert_allclose(air.inlets_c(power_w, supply_c)[0], inlet_c)
    heat_w = air.heat_share @ power_w + air.exchange_w_per_k @ supply_c
    np.testing.assert_allclose(air.heat_w(power_w, supply_c), heat_w, atol=1e-6)
    per_k = np.linspace(0.0, 2.0, room.n_nodes)
    np.testing.assert_allclose(air.rise_prices(per_k), air.rise_k_per_w(everyone).T @ per_k, atol=1e-12)
    near = air.near_rise_k_per_w(everyone).toarray()
    np.testing.assert_allclose(near, air.rise_k_per_w(everyone), atol=1e-8 * near.max())


def one_node(cores: int, **changes: Any) -> Facility:
    """A node of 1 m3/s with a heavy, a medium and a light task type, a task a second each at 10 W; half the air of the
    node comes back to it, the other half comes from the CRAC unit."""
    half = heat_flow(np.full((2, 2), 0.5))
    redline_c, coldest_c, hottest_c = np.array([[40.0], [10.0], [25.0]])
    curves = [HP_UTILITY_DATA_CENTER]
    room = Room(half, np.ones(1), np.ones(1), redline_c, coldest_c, hottest_c, curves, np.empty((0, 3)))
    types = NodeTypes(("n",), np.array([cores]), np.array([1]), np.array([1]), np.array([100.0]))
    each = np.ones((3, 1, 1))
    fields: dict[str, Any] = {
        "names": ("h", "m", "l"), "rate_per_s": np.full(3, 9.0), "reward": np.ones(3),
        "deadline_s": np.full(3, math.inf), "speed_per_s": each, "power_w": 10.0 * each,
        "memory_class": np.arange(3, dtype=np.int8),
        "class_names": ("heavy", "medium", "light"), "slowdown": TABLE_I[None],
    }  # fmt: skip
    return Facility(types, TaskFlows(**{**fields, **changes}), np.zeros(1, np.int32), room, 1e6)


def plan_of(share: list[list[float]], supply_c: float = 15.0) -> FacilityPlan:
    return FacilityPlan(np.array(share), np.zeros((len(share), 3), np.int8), np.array([supply_c]))


def slowed(share: list[list[float]], as_printed: bool = False) -> Floats:
    facility = one_node(len(share))
    return steady(facility, Air(facility.room), plan_of(share), EquationReading(as_printed)).slowed_per_s


@pytest.mark.parametrize("as_printed", [False, True])
def test_two_cores_by_hand(as_printed: bool) -> None:
    """Eq. 9: a heavy task beside a core that is heavy for 0.5 and light for 0.25 of its time, and vice versa."""
    found = slowed([[1.0, 0.0, 0.0], [0.5, 0.0, 0.25]], as_printed)
    beside_heavy = 1.0 + 0.5 * 1.0 + 0.25 * 0.05
    np.testing.assert_allclose(found, [1.0 / beside_heavy + 0.5 / 2.0, 0.0, 0.25 / 1.06])


def test_three_and_four_cores_by_hand() -> None:
    """The 130 % of the text; then eq. 10, in which one core idle for half its time halves the others' interference
    word for word, and with idle as a task type only its own."""
    busy = np.eye(3).tolist()
    heavy = slowed([busy[HEAVY], busy[HEAVY], busy[MEDIUM]])
    assert heavy[HEAVY] == pytest.approx(2 / 2.3)
    four = [busy[HEAVY], busy[MEDIUM], busy[LIGHT], [0.0, 0.0, 0.5]]
    as_meant, as_printed = slowed(four), slowed(four, as_printed=True)
    assert as_meant[HEAVY] == pytest.approx(1 / (1 + 0.3 + 0.05 + 0.5 * 0.05))
    assert as_printed[HEAVY] == pytest.approx(1 / (1 + 0.5 * (0.3 + 0.05 + 0.05)))
    assert as_meant[LIGHT] == pytest.approx(1 / (1 + 0.06 + 0.04 + 0.005) + 0.5 / (1 + 0.06 + 0.04 + 0.01))
    idle = [busy[HEAVY], busy[HEAVY], busy[HEAVY], [0.0, 0.0, 0.0]]
    assert slowed(idle, as_printed=True)[HEAVY] == pytest.approx(3.0)
    assert slowed(idle)[HEAVY] == pytest.approx(3 / (1 + 2 * 1.0))


def in_time(share: list[list[float]], deadline_s: float, **changes: Any) -> list[bool]:
    """Which of the heavy, the medium and the light type count, by the plan and by the validator."""
    facility = one_node(len(share), deadline_s=np.full(3, deadline_s), **changes)
    state = steady(facility, Air(facility.room), plan_of(share))
    assert check_facility(facility, plan_of(share), state) == []
    return [bool(rate > 0) for rate in state.slowed_per_s]


def test_tasks_that_neighbours_make_late_earn_nothing() -> None:
    """A heavy task takes 2 s beside another and 1.3 s beside a medium one, which takes 1.5 s."""
    heavy, medium, light = np.eye(3).tolist()
    assert in_time([heavy, medium], 1.4) == [True, False, False]
    assert in_time([heavy, medium], 1.4, deadlines_alone=True) == [True, True, False]
    assert in_time([heavy, heavy], 1.99) == [False, False, False]
    assert in_time([heavy, heavy], 2.0) == [True, False, False]
    assert in_time([heavy, [0.01, 0.0, 0.99]], 1.9) == [False, False, True]
    assert in_time([heavy, light], 1.9) == [True, False, True]


def test_one_node_by_hand() -> None:
    """Half its air goes round, so its inlet is above the supply by what one pass warms it."""
    facility = one_node(2, reward=np.array([1.0, 2.0, 3.0]), rate_per_s=np.array([9.0, 9.0, 0.25]))
    plan = plan_of([[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]])
    state = steady(facility, Air(facility.room), plan)
    warmed_k = 120.0 / AIR_J_PER_M3_K
    assert state.node_w.tolist() == [120.0]
    assert state.reward_per_s == pytest.approx(0.5 + 2.0 + 3.0 * 0.25)
    assert state.node_inlet_c[0] == pytest.approx(15.0 + warmed_k)
    assert state.crac_inlet_c[0] == pytest.approx(15.0 + warmed_k)
    assert state.heat_w[0] == pytest.approx(120.0)
    assert state.total_w == pytest.approx(120.0 + 120.0 / (0.458 + 0.0008 * 15 + 0.0068 * 225))
    assert margins(facility, plan, state).time == 0.0


def test_an_endless_deadline_excludes_nothing() -> None:
    flows = one_node(1).tasks
    assert flows.is_usable.all()
    late = dataclasses.replace(flows, deadline_s=np.array([1.0, 1.01, math.inf]), speed_per_s=2.0 * flows.speed_per_s)
    assert late.is_usable.all()
    with pytest.raises(InputError, match=r"h: found a deadline of 0\.9 s; must be 1 s or more, its shortest"):
        dataclasses.replace(flows, deadline_s=np.full(3, 0.9))


def a_room(**changes: Any) -> Room:
    """Two nodes and one CRAC unit, that air passes one after the other in a ring."""
    fields: dict[str, Any] = {
        "flow": heat_flow(np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])),
        "node_m3_per_s": np.ones(2), "crac_m3_per_s": np.ones(1), "redline_c": np.full(2, 25.0),
        "coldest_c": np.array([10.0]), "hottest_c": np.array([25.0]), "cop": [HP_UTILITY_DATA_CENTER],
        "place_m": np.empty((0, 3)),
    }  # fmt: skip
    return Room(**{**fields, **changes})


def shares(*rows: tuple[float, float, float]) -> HeatFlow:
    return heat_flow(np.array(rows))


BAD_ROOMS: list[tuple[dict[str, Any], str]] = [
    ({"node_m3_per_s": np.empty(0)}, "room: found 0 nodes and 1 CRAC units; there must be at least one of each"),
    ({"node_m3_per_s": np.ones(3)}, "heat flow: found 3 rows; must be the 3 nodes and then the 1 CRAC units"),
    ({"node_m3_per_s": [1.0, 0.0]}, "room.node_m3_per_s: 1: found 0.0; must be above 0 m3/s"),
    ({"crac_m3_per_s": [math.nan]}, "room.crac_m3_per_s: 0: found nan; must be above 0 m3/s"),
    ({"redline_c": np.ones(3)}, "room.redline_c: found 3 values; must be 2 temperatures"),
    ({"hottest_c": [math.inf]}, "room.hottest_c: 0: found inf; must be finite"),
    ({"redline_c": [25.0, 9.0]}, "redline: node 1: found 9 °C; must be 10 °C or more, the coldest supply; raise"),
    ({"coldest_c": [26.0]}, "CRAC 0: found 26 to 25 °C; the coldest must not be above the hottest"),
    ({"cop": []}, "CoP: found 0 curves; must be one for each of the 1 CRAC units"),
    ({"cop": [CopCurve(np.array([-10.0, 0.5]))]}, "CoP of CRAC 0: found -5 at 10 °C; must be above 0"),
    ({"place_m": np.ones((2, 2))}, "room.place_m: found shape (2, 2); must be (2, 3), or empty"),
    ({"flow": shares((0, 0, 1), (0.9, 0, 0), (0, 1, 0))}, "heat flow: node 1: found shares that add up to 0.9; must"),
    (
        {"flow": shares((0, -1, 2), (1, 0, 0), (0, 1, 0))},
        "heat flow: node 0 from node 1: found -1.0; must be 0 or more",
    ),
    ({"flow": shares((0, 0, 1), (1, 0, 0), (1, 0, 0))}, "heat flow: node 0: found 1 m3/s that leave it, and 2 m3/s"),
    ({"flow": shares((0, 1, 0), (1, 0, 0), (0, 0, 1))}, "heat flow: node 0: found no air that comes from a CRAC unit"),
    (
        {"flow": HeatFlow(np.array([0, 1, 2, 3]), np.array([3, 0, 1], np.int32), np.ones(3))},
        "heat flow: found source 3; must be from 0 to 2",
    ),
    (
        {"flow": HeatFlow(np.array([0, 1, 2, 3]), np.array([-1, 0, 1], np.int32), np.ones(3))},
        "heat flow: found source -1; must be from 0 to 2",
    ),
]


@pytest.mark.parametrize(("changes", "message"), BAD_ROOMS)
def test_rooms_that_cannot_be_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as refused:
        a_room(**changes)
    assert any(str(problem).startswith(message) for problem in refused.value.problems), refused.value


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ((np.empty(0),), "CoP: found []; must be one or more finite numbers"),
        ((np.array([1.0, math.nan]),), "CoP: found [1.0, nan]; must be one or more finite numbers"),
        ((np.ones(2), np.ones(3)), "CoP: found 3 temperatures; must be one for each value"),
        ((np.ones(2), np.ones(2)), "CoP: found temperatures [1.0, 1.0]; must rise"),
    ],
)
def test_curves_that_cannot_be_are_refused(fields: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError) as refused:
        CopCurve(*fields)
    assert str(refused.value) == message


def test_curves() -> None:
    assert HP_UTILITY_DATA_CENTER(np.array([15.0, 20.0])) == pytest.approx([2.0, 3.194])
    assert CopCurve(np.array([1.0, 3.0]), np.array([10.0, 20.0]))(np.array([0.0, 15.0, 30.0])).tolist() == [
        1.0,
        2.0,
        3.0,
    ]
    assert HP_UTILITY_DATA_CENTER.is_same(CopCurve(np.array([0.458, 0.0008, 0.0068])))
    assert not CopCurve(np.ones(2)).is_same(CopCurve(np.ones(2), np.array([10.0, 20.0])))


BAD_NODES: list[tuple[dict[str, Any], str]] = [
    ({"names": ()}, "node types: found none; there must be at least one"),
    ({"names": ("n", "n")}, "node types.name: found ['n', 'n']; must all differ"),
    ({"cores": [3, 4]}, "node types: n: found 3 cores on 2 processors; must be the same number on each"),
    ({"cores": [4]}, "node types.cores: found 1 values; must be one for each of the 2 types"),
    ({"processors": [0, 1]}, "node types.processors: found [0, 1]; must be 1 or more"),
    ({"overhead_w": [-1.0, 0.0]}, "node types.overhead_w: found [-1.0, 0.0]; must be 0 W or more"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_NODES)
def test_node_types_that_cannot_be_are_refused(changes: dict[str, Any], message: str) -> None:
    fields: dict[str, Any] = {
        "names": ("n", "o"), "cores": [4, 4], "processors": [2, 1], "n_pstates": [1, 2], "overhead_w": [0.0, 1.0],
    }  # fmt: skip
    with pytest.raises(InputError) as refused:
        NodeTypes(**{**fields, **changes})
    assert any(str(problem).startswith(message) for problem in refused.value.problems), refused.value


BAD_FLOWS: list[tuple[dict[str, Any], str]] = [
    ({"names": ("h", "h", "l")}, "task types.name: found ['h', 'h', 'l']; must all differ"),
    ({"reward": [1.0, -1.0, 1.0]}, "task types.reward: found [1.0, -1.0, 1.0]; must be 0 or more, and finite"),
    ({"rate_per_s": [1.0]}, "task types.rate_per_s: found 1 values; must be one for each of the 3 types"),
    (
        {"rate_per_s": [1.0, math.inf, 1.0]},
        "task types.rate_per_s: found [1.0, inf, 1.0]; must be 0 per second or more",
    ),
    ({"deadline_s": [1.0, 0.0, 1.0]}, "task types.deadline_s: found [1.0, 0.0, 1.0]; must be above 0 s for each type"),
    ({"memory_class": [0, 1, 3]}, "task types.memory_class: found [0, 1, 3]; must be a class from 0 to 2"),
    ({"speed_per_s": np.ones((2, 1, 1))}, "speeds and powers: found speeds (2, 1, 1) and powers (3, 1, 1); must be"),
    ({"speed_per_s": np.full((3, 1, 1), -1.0)}, "speed_per_s: found -1.0; must be 0 or more, and finite"),
    ({"power_w": np.full((3, 1, 1), math.nan)}, "power_w: found nan; must be 0 or more, and finite"),
    ({"speed_per_s": np.zeros((3, 1, 1))}, "task types: h: found no node that can run it; or leave this task type out"),
    ({"slowdown": np.ones((1, 2, 2))}, "slowdown: found a table of shape (1, 2, 2); must be 3 by 3 for each node type"),
    ({"slowdown": -np.ones((1, 3, 3))}, "slowdown: found -1.0; must be 0 or more, and finite"),
    (
        {"speed_per_s": np.tile([1.0, 2.0], (3, 1, 1)), "power_w": np.ones((3, 1, 2))},
        "speed_per_s: task type 0, node type 0: found 2 in P-state 1 and 1 in 0; must not rise",
    ),
    (
        {"speed_per_s": np.ones((3, 1, 2)), "power_w": np.tile([1.0, 2.0], (3, 1, 1))},
        "power_w: task type 0, node type 0: found 2 in P-state 1 and 1 in 0; must not rise",
    ),
]


@pytest.mark.parametrize(("changes", "message"), BAD_FLOWS)
def test_task_types_that_cannot_be_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as refused:
        dataclasses.replace(one_node(1).tasks, **changes)
    assert any(str(problem).startswith(message) for problem in refused.value.problems), refused.value


def test_parts_that_do_not_fit_are_refused() -> None:
    facility = random_facility(1, n_nodes=2, n_node_types=2)
    nine_pstates = dataclasses.replace(facility.node_types, n_pstates=np.array([9, 9]))
    cases: list[tuple[dict[str, Any], str]] = [
        ({"node_type": [0]}, "nodes: found 1; must be the 2 of the room"),
        ({"node_type": [0, 2]}, "nodes.type: found 2; must be from 0 to 1"),
        ({"node_type": [0, -1]}, "nodes.type: found -1; must be from 0 to 1"),
        ({"cap_w": 0.0}, "cap_w: found 0.0; must be above 0 W, and finite"),
        ({"node_types": nine_pstates}, "node types.n_pstates: found 9; must be"),
        ({"tasks": one_node(1).tasks}, "speed_per_s: found shape (3, 1, 1); must have the 2 node types"),
        ({"tasks": one_node(1).tasks}, "slowdown: found shape (1, 3, 3); must have the 2 node types"),
    ]
    for changes, message in cases:
        with pytest.raises(InputError) as refused:
            dataclasses.replace(facility, **changes)
        assert any(str(problem).startswith(message) for problem in refused.value.problems), refused.value
