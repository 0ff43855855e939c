"""Greedy plans of a facility, and the supply that goes with powers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from joulewise.errors import InputError
from joulewise.model.air import Air
from joulewise.model.arrays import Floats
from joulewise.model.facility import Facility, FacilityPlan, NodeTypes, TaskFlows
from joulewise.model.room import HP_UTILITY_DATA_CENTER, CopCurve, Room, heat_flow
from joulewise.optimise.facility.cooling import RoomCooling, within_limits
from joulewise.optimise.facility.evaluation import steady
from joulewise.optimise.facility.greedy import (
    GREEDIES,
    Assignments,
    apart,
    by_efficiency,
    by_efficiency_and_rate,
    by_rounds,
    how_many_fit,
    node_w_of,
    plan_greedily,
)
from joulewise.worlds.facility.site import generate_facility, sized
from tests.strategies.facility_limits import kept_by
from tests.strategies.random_facilities import random_facility, random_plan

SEEDS = range(12)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_hottest_supply_keeps_redlines_and_a_hotter_one_does_not(seed: int) -> None:
    facility = random_facility(seed)
    air, room = Air(facility.room), facility.room
    node_w = facility.overhead_w * np.random.default_rng(seed).uniform(1.0, 1.3, facility.n_nodes)
    for base_c in (np.zeros(room.n_cracs), np.random.default_rng(seed).uniform(0.0, 2.0, room.n_cracs)):
        cooled = RoomCooling(facility, air).cool(node_w, base_c=base_c)
        inlet_c = air.inlets_c(node_w, cooled.supply_c)[0]
        hotter_c = np.minimum(cooled.supply_c + 1e-6 * (cooled.supply_c > room.coldest_c), room.hottest_c)
        if cooled.keeps_redlines:
            assert (inlet_c <= room.redline_c + 1e-9).all()
            is_limit = (air.inlets_c(node_w, hotter_c)[0] > room.redline_c).any()
            is_top = (cooled.supply_c >= room.hottest_c).any()
            assert is_limit or is_top or not room.has_one_rising_curve
        heat_w = air.heat_w(node_w, cooled.supply_c)
        assert cooled.total_w == pytest.approx(node_w.sum() + (heat_w / room.cop_at(cooled.supply_c)).sum())
        assert cooled.removes_heat == bool((heat_w >= -1e-9 * facility.cap_w).all())


@pytest.mark.parametrize("seed", SEEDS)
def test_by_degree_supply_is_that_of_lowering_it_step_by_step(seed: int) -> None:
    facility = random_facility(seed)
    air = Air(facility.room)
    cooled = RoomCooling(facility, air, by_degree=True).cool(facility.overhead_w)
    assert cooled.supply_c == pytest.approx(_lowered_c(facility, air, facility.overhead_w))


def _lowered_c(facility: Facility, air: Air, node_w: Floats) -> Floats:
    """Supplies set as published: from the redline, or what all units can blow, downwards by one degree."""
    room = facility.room

    def lowered(start_c: float, highest_c: float) -> Floats:
        level_c = start_c
        while True:
            supply_c: Floats = np.clip(level_c, room.coldest_c, room.hottest_c)
            inlets_c = air.inlets_c(node_w, supply_c)[0]
            if level_c <= highest_c and (inlets_c <= room.redline_c).all():
                return supply_c
            if (supply_c == room.coldest_c).all():
                return supply_c
            level_c -= 1.0

    supply_c = lowered(float(room.redline_c.min()), np.inf)
    if (air.heat_w(node_w, supply_c) >= -1e-9 * facility.cap_w).all():
        return supply_c
    return lowered(float(room.redline_c.min()), float(room.hottest_c.min()))


@pytest.mark.thorough("takes seconds; others look at less of it")
@pytest.mark.parametrize("name", GREEDIES)
def test_greedy_plans_keep_all_limits_and_fit_no_more(name: str) -> None:
    for seed in SEEDS:
        facility = random_facility(seed)
        air = Air(facility.room)
        found = plan_greedily(facility, air, name)
        state = kept_by(facility, air, found.plan)
        assert found.history[-1][1] == pytest.approx(state.slowed_reward_per_s)
        cooling = RoomCooling(facility, air, by_degree=GREEDIES[name].by_degree)
        for order in GREEDIES[name].orders(facility):
            assert np.unique(order.core).size == order.core.size
            assert how_many_fit(facility, cooling, order) == _one_at_a_time(facility, air, cooling, order)


def test_units_that_heat_only_for_a_while_end_nothing() -> None:
    """As node 0 needs cold air, CRAC 0, which blows 20 °C at least, heats what CRAC 1 blows, until node 1 is busy."""
    air = np.array([[0.5, 0.0, 0.0, 0.5], [0.0, 0.0, 1.0, 0.0], [0.0, 0.5, 0.0, 0.5], [0.5, 0.5, 0.0, 0.0]])
    redlines_c, coldest_c, hottest_c = np.array([22.0, 60.0]), np.array([20.0, 5.0]), np.full(2, 25.0)
    flows_m3 = np.full(2, 0.1)
    curves = (HP_UTILITY_DATA_CENTER,) * 2
    room = Room(heat_flow(air), flows_m3, flows_m3, redlines_c, coldest_c, hottest_c, curves, np.empty(0))
    types = NodeTypes(("x",), np.array([4]), np.array([1]), np.array([1]), np.array([60.0]))
    tasks = TaskFlows(
        ("a",), np.full(1, 99.0), np.ones(1), np.full(1, 9.0), np.ones((1, 1, 1)), np.full((1, 1, 1), 240.0),
        np.zeros(1, np.int8), ("c",), np.zeros((1, 1, 1)),
    )  # fmt: skip
    facility = Facility(types, tasks, np.zeros(2, np.int32), room, 1e5)
    (order,), cooling = by_efficiency(facility), RoomCooling(facility, Air(room))
    keeps = [cooling.fits(cooling.cool(node_w_of(facility, order.first(n)))) for n in range(9)]
    assert keeps[0]
    assert keeps.index(False) < 4
    assert keeps[8]
    assert how_many_fit(facility, cooling, order) == 8
    assert how_many_fit(facility, cooling, order.first(6)) == keeps.index(False) - 1
    free = replace(facility, room=replace(room, may_heat=True))
    assert how_many_fit(free, RoomCooling(free, Air(room)), order.first(6)) == 6


def test_where_hotter_air_costs_more_the_cheapest_is_taken() -> None:
    facility = generate_facility(sized("small"), 1, 0)
    falls = CopCurve(np.array([2.0, 5.0, 1.0]), np.array([10.0, 16.0, 25.0]))
    facility = replace(facility, room=replace(facility.room, cop=(falls,) * facility.room.n_cracs))
    assert RoomCooling(facility, Air(facility.room)).cool(facility.overhead_w).supply_c == pytest.approx(16.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_plans_are_cut_as_far_as_limits_need_and_no_further(seed: int) -> None:
    facility = random_facility(seed)
    cooling, plan = RoomCooling(facility, Air(facility.room)), random_plan(facility, seed)
    kept = within_limits(cooling, plan)
    assert kept is not None
    state = kept_by(facility, cooling.air, kept[0])
    assert np.array_equal(state.node_w, kept[1].node_w)
    again = within_limits(cooling, kept[0])
    assert again is not None
    assert again[0].share == pytest.approx(kept[0].share, rel=1e-6)
    if kept[0].share.sum() < 0.999 * plan.share.sum():
        more_w = steady(facility, cooling.air, FacilityPlan(1.001 * kept[0].share, plan.pstate, plan.supply_c)).node_w
        assert not cooling.fits(cooling.cool(more_w, base_c=plan.supply_c))


def _one_at_a_time(facility: Facility, air: Air, cooling: RoomCooling, order: Assignments) -> int:
    """How many assignments keep the limits, looked at after each."""
    share = np.zeros((facility.n_cores, facility.tasks.n_types))
    pstate = np.zeros(share.shape, np.int8)
    for n, (core, task, at) in enumerate(zip(*order)):
        share[core, task], pstate[core, task] = 1.0, at
        node_w = steady(facility, air, FacilityPlan(share, pstate, facility.room.coldest_c)).node_w
        cooled = cooling.cool(node_w)
        total_w = steady(facility, air, FacilityPlan(share, pstate, cooled.supply_c)).total_w
        if not (cooled.keeps_redlines and cooled.removes_heat and total_w <= facility.cap_w * (1.0 - 1e-13)):
            return n
    return order.core.size


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("orders", "read"), [(by_efficiency, ""), (by_efficiency_and_rate, "leaves"), (by_rounds, "takes turns")]
)
def test_the_order_by_efficiency_is_that_of_algorithm_1(orders: Any, read: str, seed: int) -> None:
    facility = random_facility(seed)
    (order,) = orders(facility)
    assert list(zip(*(column.tolist() for column in order))) == list(_algorithm_1(facility, read))


def _algorithm_1(facility: Facility, read: str) -> list[tuple[int, int, int]]:
    """The loop of Algorithm 1 without power.

    `leaves`: a task type goes when its rate is met; `takes turns`: after each core the next pair is looked at.
    """
    flows, kinds = facility.tasks, np.repeat(facility.node_type, np.diff(facility.first_core))
    pairs = []
    for task in range(flows.n_types):
        for kind in range(facility.node_types.n_types):
            usable = np.flatnonzero(flows.is_usable[task, kind])
            if usable.size:
                per_j = flows.speed_per_s[task, kind, usable] / flows.power_w[task, kind, usable]
                pairs.append((-per_j.max(), task, kind, int(usable[per_j.argmax()])))
    pairs.sort()
    steps, done_per_s, free = list[tuple[int, int, int]](), np.zeros(flows.n_types), list(range(facility.n_cores))
    while pairs and (done_per_s < flows.rate_per_s * (1.0 - 1e-12)).any():
        _, task, kind, pstate = pairs[0]
        cores = [core for core in free if kinds[core] == kind]
        if not cores or (read == "leaves" and done_per_s[task] >= flows.rate_per_s[task] * (1.0 - 1e-12)):
            pairs.pop(0)
            continue
        free.remove(cores[0])
        steps.append((cores[0], task, pstate))
        done_per_s[task] += flows.speed_per_s[task, kind, pstate]
        if read == "takes turns":
            pairs.append(pairs.pop(0))
    return steps


@pytest.mark.parametrize("seed", SEEDS)
def test_apart_always_takes_what_adds_most_reward_per_joule(seed: int) -> None:
    facility = random_facility(seed, n_nodes=3)
    air, flows = Air(facility.room), facility.tasks
    (order,) = apart(facility)
    kinds = np.repeat(facility.node_type, np.diff(facility.first_core))
    share, pstate = np.zeros((facility.n_cores, flows.n_types)), np.zeros((facility.n_cores, flows.n_types), np.int8)

    def rates() -> Floats:
        return steady(facility, air, FacilityPlan(share, pstate, facility.room.coldest_c)).slowed_per_s

    def per_joule(core: Any, task: Any, at: Any) -> float:
        before = rates()
        share[core, task], pstate[core, task] = 1.0, at
        gain = flows.reward @ (rates() - before)
        share[core, task] = 0.0
        return float(gain / flows.power_w[task, kinds[core], at])

    for core, task, at in zip(*order):
        is_open = rates() < flows.rate_per_s * (1.0 - 1e-9)
        free = np.flatnonzero(share.sum(axis=1) == 0.0)
        best = max(
            per_joule(other, t, p) for other in free for t in np.flatnonzero(is_open)
            for p in np.flatnonzero(flows.is_usable[t, kinds[other]])
        )  # fmt: skip
        assert per_joule(core, task, at) >= best - 1e-9 * abs(best)
        share[core, task], pstate[core, task] = 1.0, at


def test_counting_neighbours_and_rates_earns_more() -> None:
    facility = generate_facility(sized("small"), 1, 0)
    air = Air(facility.room)
    earned = {name: plan_greedily(facility, air, name).history[-1][1] for name in GREEDIES}
    assert list(earned.values()) == sorted(earned.values())
    assert earned["apart"] > 1.2 * earned["by rate"] > 1.5 * earned["literal"]


def test_a_cap_below_rest_is_refused_with_the_least_cap() -> None:
    facility = random_facility(3)
    air = Air(facility.room)
    least_w = RoomCooling(facility, air).cool(facility.overhead_w).total_w
    with pytest.raises(InputError, match=f"must be {least_w:.6g} W or more"):
        plan_greedily(replace(facility, cap_w=0.9 * least_w), air, "apart")
    with pytest.raises(InputError, match="greedy: found 'apar'"):
        plan_greedily(facility, air, "apar")
