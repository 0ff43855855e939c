"""Our plans of facilities: within all limits, and under a bound that independent code confirms."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from scipy.optimize import linprog

from joulewise.check.facility.bound import facility_bound
from joulewise.check.facility.plan import check_facility
from joulewise.errors import InputError
from joulewise.model.air import Air
from joulewise.model.arrays import Floats
from joulewise.model.facility import Facility, NodeTypes, TaskFlows
from joulewise.model.room import HP_UTILITY_DATA_CENTER, CopCurve, Room, heat_flow
from joulewise.optimise.facility.bound import bound_per_s
from joulewise.optimise.facility.configurations import ProcessorMenu
from joulewise.optimise.facility.evaluation import margins, steady
from joulewise.optimise.facility.planner import least_cap_w, plan_facility
from joulewise.rng import generator
from joulewise.worlds.facility.rooms import with_recirculation
from joulewise.worlds.facility.site import FacilitySize, generate_facility, sized
from tests.check.facility.test_plan import random_prices
from tests.strategies.cases import cases
from tests.strategies.random_facilities import facilities, random_facility, seeds

TINY = FacilitySize(nodes=12, cracs=2, node_types=2, task_types=4)


def small_facility(trial: int = 0) -> Facility:
    return generate_facility(sized(TINY), 5, trial)


@pytest.mark.thorough("takes seconds; others look at less of it")
@cases(divided_by=10)
@given(facilities())
def test_plans_keep_all_limits_and_stay_below_their_bound(facility: Facility) -> None:
    air = Air(facility.room)
    if least_cap_w(facility, air) > facility.cap_w:
        facility = dataclasses.replace(facility, cap_w=1.1 * least_cap_w(facility, air))
    found = plan_facility(facility, air)
    state = steady(facility, air, found.plan)
    assert check_facility(facility, found.plan, state) == []
    assert state.slowed_reward_per_s == found.history[-1][1]
    assert state.slowed_reward_per_s <= found.bound_per_s * (1 + 1e-9)
    assert facility_bound(facility, found.prices) <= found.bound_per_s * (1 + 1e-6)


@pytest.mark.thorough("a facility whose program takes long")
def test_a_program_that_loses_its_way_is_solved_from_the_beginning() -> None:
    facility = random_facility(79678)
    found = plan_facility(facility, Air(facility.room))
    assert found.history[-1][1] <= found.bound_per_s


@cases(divided_by=10)
@given(facilities(), seeds)
def test_both_bounds_are_one(facility: Facility, seed: int) -> None:
    prices = random_prices(facility, seed)
    curves = [ProcessorMenu(facility, kind).curve(prices.task) for kind in range(facility.node_types.n_types)]
    ours, theirs = bound_per_s(facility, Air(facility.room), curves, prices), facility_bound(facility, prices)
    assert abs(ours - theirs) <= 1e-3 * (facility.tasks.most_reward_per_s + abs(theirs))


def best_by_enumeration(facility: Facility, kind: int, task_price: Floats, price: float) -> float:
    """What a processor earns most above the price of its power: every choice of every core."""
    tasks, size = facility.tasks, int(facility.node_types.sharers[kind])
    choices = [None, *map(tuple, np.argwhere(tasks.is_usable[:, kind]).tolist())]
    best = 0.0
    for chosen in itertools.combinations_with_replacement(choices, size):
        busy = [pair for pair in chosen if pair is not None]
        value = 0.0
        for k, (task, pstate) in enumerate(busy):
            others = [tasks.memory_class[other] for o, (other, _) in enumerate(busy) if o != k]
            slower = 1.0 + sum(tasks.slowdown[kind, tasks.memory_class[task], c] for c in others)
            speed = tasks.speed_per_s[task, kind, pstate]
            if tasks.deadlines_alone or slower <= speed * tasks.deadline_s[task]:
                value += task_price[task] * speed / slower
            value -= price * tasks.power_w[task, kind, pstate]
        best = max(best, value)
    return best


@cases(divided_by=10)
@given(facilities(n_nodes=2), seeds)
def test_curves_have_the_best_of_all_configurations(facility: Facility, seed: int) -> None:
    rng = generator(seed, "tests.curves")
    task_price = facility.tasks.reward * rng.uniform(0.0, 1.0, facility.tasks.n_types)
    for kind in range(facility.node_types.n_types):
        curve = ProcessorMenu(facility, kind).curve(task_price)
        assert (np.diff(curve.power_w) > 0).all()
        assert (np.diff(curve.price) <= 1e-9 * curve.price[:1].sum()).all()
        for price in np.concatenate(([0.0], curve.price * rng.uniform(0.9, 1.1, curve.price.size)))[:4]:
            expected = best_by_enumeration(facility, kind, task_price, float(price))
            assert curve.net(np.array([price]))[0] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def best_without_interference(facility: Facility, supply_c: Floats) -> float:
    """The most that cores can earn at given supplies where nobody slows anybody: a plain linear program."""
    tasks, air, types = facility.tasks, Air(facility.room), facility.node_types
    node, task, pstate = np.nonzero(tasks.is_usable.transpose(1, 0, 2)[facility.node_type])
    kind = facility.node_type[node]
    speed, power_w = tasks.speed_per_s[task, kind, pstate], tasks.power_w[task, kind, pstate]
    n, n_tasks = node.size, tasks.n_types
    rows = np.zeros((n_tasks + 2 * facility.n_nodes + 1, n + n_tasks))
    rows[task, np.arange(n)] = -speed
    rows[np.arange(n_tasks), n + np.arange(n_tasks)] = 1.0
    rows[n_tasks + node, np.arange(n)] = 1.0
    rise = air.rise_k_per_w(np.arange(facility.n_nodes))
    rows[n_tasks + facility.n_nodes : -1, :n] = rise[:, node] * power_w
    per_watt = 1.0 + (1.0 / facility.room.cop_at(supply_c)) @ air.heat_share
    rows[-1, :n] = per_watt[node] * power_w
    inlet_c, _ = air.inlets_c(facility.overhead_w, supply_c)
    heat_w = air.heat_w(facility.overhead_w, supply_c)
    spent_w = facility.overhead_w.sum() + heat_w @ (1.0 / facility.room.cop_at(supply_c))
    limits = np.concatenate((
        np.zeros(n_tasks), types.cores[facility.node_type], facility.room.redline_c - inlet_c,
        [facility.cap_w - spent_w],
    ))  # fmt: skip
    bounds = [(0, None)] * n + [(0, rate) for rate in tasks.rate_per_s]
    found = linprog(np.concatenate((np.zeros(n), -tasks.reward)), rows, limits, bounds=bounds)
    return float(-found.fun)


def test_without_interference_it_is_a_plain_linear_program() -> None:
    facility = small_facility()
    still = dataclasses.replace(facility.tasks, slowdown=np.zeros_like(facility.tasks.slowdown))
    quiet = dataclasses.replace(facility, tasks=still)
    found = plan_facility(quiet, Air(quiet.room), gap=0.0)
    assert found.history[-1][1] == pytest.approx(best_without_interference(quiet, found.plan.supply_c), rel=1e-3)
    assert found.history[-1][1] >= 0.99 * found.bound_per_s


def with_curves(room: Room) -> Room:
    """Units of which one cools nearly twice as well as another."""
    factors = np.linspace(0.7, 1.3, room.n_cracs)
    return dataclasses.replace(room, cop=[CopCurve(factor * HP_UTILITY_DATA_CENTER.coefficients) for factor in factors])


def with_hot_air(room: Room) -> Room:
    """So much hot air around that redlines decide."""
    return with_recirculation(room, 2.0)


@pytest.mark.thorough("takes seconds; others look at less of it")
@pytest.mark.parametrize(("changed", "more"), [(lambda room: room, 1.0), (with_curves, 1.2), (with_hot_air, 1.2)])
def test_generated_facilities_are_planned_within_two_percent(changed: Callable[[Room], Room], more: float) -> None:
    for trial in range(3):
        facility = small_facility(trial)
        facility = dataclasses.replace(facility, room=changed(facility.room), cap_w=more * facility.cap_w)
        found = plan_facility(facility, Air(facility.room), gap=0.005)
        assert found.history[-1][1] >= 0.98 * found.bound_per_s


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_many_task_types_by_pair_are_decided_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six processors that would mix patterns of eight types: a case in which the plan gets better by it."""
    facility = generate_facility(sized(FacilitySize(nodes=6, cracs=2, node_types=1, task_types=8)), 5, 0)
    tasks, n = facility.tasks, facility.tasks.n_types
    slowdown = generator(4, "tests.by_pair").uniform(0.0, 1.0, (1, n, n)) ** 2
    by_pair = dataclasses.replace(
        tasks,
        memory_class=np.arange(n, dtype=np.int8),
        class_names=tasks.names,
        slowdown=slowdown,
        deadlines_alone=True,
    )
    facility, air = dataclasses.replace(facility, tasks=by_pair), Air(facility.room)
    found = plan_facility(facility, air)
    assert check_facility(facility, found.plan, steady(facility, air, found.plan)) == []
    monkeypatch.setattr("joulewise.optimise.facility.planner.mixes_much", lambda *_: False)
    assert plan_facility(facility, air).history[-1][1] < found.history[-1][1] <= found.bound_per_s


def test_the_same_facility_has_the_same_plan() -> None:
    facility = small_facility()
    one, two = (plan_facility(facility, Air(facility.room)) for _ in range(2))
    assert np.array_equal(one.plan.share, two.plan.share)
    assert one.bound_per_s == two.bound_per_s


def test_a_plan_is_there_when_time_is_up() -> None:
    facility = small_facility()
    found = plan_facility(facility, Air(facility.room), gap=0.0, seconds=0.0)
    state = steady(facility, Air(facility.room), found.plan)
    assert found.why_stopped == "time"
    assert state.slowed_reward_per_s > 0
    assert margins(facility, found.plan, state).cap_w >= 0


def test_limits_that_leave_no_plan_are_told() -> None:
    facility = random_facility(3)
    with pytest.raises(
        InputError, match=r"power cap: found .*; must be .* or more: all nodes with their cores at rest"
    ):
        plan_facility(dataclasses.replace(facility, cap_w=1.0), Air(facility.room))
    hot = dataclasses.replace(facility.room, redline_c=facility.room.coldest_c.min() + 0.0 * facility.room.redline_c)
    with pytest.raises(InputError, match=r"redlines: found .* or more: its inlet with all cores at rest"):
        plan_facility(dataclasses.replace(facility, room=hot, cap_w=1e9), Air(hot))


def test_light_loads_are_all_done() -> None:
    """Where power is not short its price is 0, and so is that of tasks; all of them are done all the same."""
    facility = small_facility()
    for load in (0.02, 0.2):
        light = dataclasses.replace(facility.tasks, rate_per_s=load * facility.tasks.rate_per_s)
        found = plan_facility(dataclasses.replace(facility, tasks=light), Air(facility.room))
        assert found.history[-1][1] >= 0.95 * found.bound_per_s
        assert found.bound_per_s <= light.most_reward_per_s * (1 + 1e-12)


def test_a_cap_that_hardly_binds_leaves_room_for_every_task() -> None:
    """The GPUs of the guide: at prices near 0 no pattern is better than another, and yet some leave tasks undone."""
    n = 4
    air = np.zeros((n + 1, n + 1))
    air[:n, n], air[n, :n] = 1.0, 1 / n
    through, coldest_c, redline_c = np.full(n, 0.1), np.array([10.0]), np.full(n, 25.0)
    curves = [HP_UTILITY_DATA_CENTER]
    room = Room(heat_flow(air), through, np.array([n * 0.1]), redline_c, coldest_c, redline_c[:1], curves, np.empty(0))
    types = NodeTypes(("t4",), np.array([4]), np.array([2]), np.array([1]), np.array([80.0]))
    speed, slowdown = np.array([[[0.02]], [[0.02]]]), np.array([[[10 / 5.5 - 1, 0.25], [8 / 7 - 1, 1000.0]]])
    names, power_w = ("speech", "vision"), np.full((2, 1, 1), 35.0)
    flows = TaskFlows(
        names,
        np.full(2, 0.1),
        np.ones(2),
        np.full(2, np.inf),
        speed,
        power_w,
        np.arange(2, dtype=np.int8),
        names,
        slowdown,
    )
    facility = Facility(types, flows, np.zeros(n, np.int32), room, 852.95)
    found = plan_facility(facility, Air(room), gap=0.01)
    assert found.history[-1][1] >= 0.98 * flows.most_reward_per_s


def test_nothing_to_earn_is_planned_too() -> None:
    facility = small_facility()
    for name in ("rate_per_s", "reward"):
        zeros: dict[str, Any] = {name: np.zeros(facility.tasks.n_types)}
        nothing = dataclasses.replace(facility.tasks, **zeros)
        found = plan_facility(dataclasses.replace(facility, tasks=nothing), Air(facility.room))
        assert (found.history[-1][1], found.bound_per_s) == (0.0, 0.0)


MORE_TIGHT = [pytest.param(seed, marks=pytest.mark.thorough("more rooms")) for seed in (1, 9, 31)]


@pytest.mark.parametrize("seed", [10, 15, 21, *MORE_TIGHT])
def test_tight_limits_leave_a_plan(seed: int) -> None:
    facility = random_facility(seed, has_one_curve=True, n_cracs=3)
    air = Air(facility.room)
    tight = dataclasses.replace(facility, cap_w=1.01 * least_cap_w(facility, air))
    found = plan_facility(tight, air)
    assert check_facility(tight, found.plan, steady(tight, air, found.plan)) == []


def test_curves_that_turn_have_bounds_too() -> None:
    """A unit that cools well at one supply only, which no even grid meets."""
    facility = small_facility()
    at_c = 10.0 + 15.0 / 64.0 * 30.5
    peak = CopCurve(np.array([2.0, 2.0, 20.0, 2.0, 2.0]), np.array([10.0, at_c - 0.05, at_c, at_c + 0.05, 25.0]))
    room = dataclasses.replace(facility.room, cop=(peak,) * facility.room.n_cracs)
    turned = dataclasses.replace(facility, room=room, cap_w=1.5 * facility.cap_w)
    air = Air(room)
    found = plan_facility(turned, air)
    assert facility_bound(turned, found.prices) <= found.bound_per_s * (1 + 1e-6)
    best = dataclasses.replace(found.plan, supply_c=np.full(room.n_cracs, at_c))
    cool = dataclasses.replace(turned, cap_w=steady(turned, air, best).total_w)
    tight = plan_facility(cool, air)
    assert steady(cool, air, best).slowed_reward_per_s <= tight.bound_per_s * (1 + 1e-9)


def test_a_constant_curve_has_a_close_bound() -> None:
    facility = small_facility()
    room = dataclasses.replace(facility.room, cop=(CopCurve(np.array([3.0])),) * facility.room.n_cracs)
    costly = dataclasses.replace(facility, room=room, cap_w=1.2 * facility.cap_w)
    found = plan_facility(costly, Air(room), gap=0.005)
    assert found.history[-1][1] >= 0.98 * found.bound_per_s
