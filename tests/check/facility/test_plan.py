"""The validator of facilities: every kind of wrong plan or figure is found, and no prices prove too little."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from joulewise.check.facility.bound import facility_bound
from joulewise.check.facility.plan import check_facility, recompute_facility
from joulewise.errors import InputError
from joulewise.model.air import Air
from joulewise.model.arrays import Floats
from joulewise.model.facility import Facility, FacilityPlan, FacilityPrices
from joulewise.model.room import CopCurve
from joulewise.optimise.facility.evaluation import EquationReading, Steady, steady
from joulewise.rng import generator
from tests.strategies.cases import cases
from tests.strategies.random_facilities import facilities, feasible_plan, random_facility, random_plan, seeds

TINY = (49, 109, 153)
"""Seeds of facilities that have few enough plans to try all, and limits that bind."""


def kept(facility: Facility, seed: int) -> FacilityPlan:
    return feasible_plan(facility, seed, lambda plan: check_facility(facility, plan) == [])


@cases(divided_by=10)
@given(facilities(), seeds)
def test_nothing_is_wrong_with_a_right_one(facility: Facility, seed: int) -> None:
    plan, air = kept(facility, seed), Air(facility.room)
    for as_printed in (False, True):
        state = steady(facility, air, plan, EquationReading(as_printed))
        assert check_facility(facility, plan, state, as_printed=as_printed) == []


@pytest.fixture(scope="module")
def sound() -> tuple[Facility, FacilityPlan]:
    """Eight nodes of three types, three CRAC units; some choices cannot be used."""
    facility = random_facility(4, n_nodes=8, n_cracs=3, n_node_types=3, n_task_types=4)
    return facility, kept(facility, 1)


def with_cell(table: Any, cell: tuple[int, ...], value: float) -> Any:
    changed = table.copy()
    changed[cell] = value
    return changed


def corruptions(facility: Facility, plan: FacilityPlan) -> dict[str, FacilityPlan]:
    """A plan with one thing wrong, by what is to be found."""
    kind = np.repeat(facility.node_type, np.diff(facility.first_core))
    usable = facility.tasks.is_usable[np.arange(facility.tasks.n_types), kind[:, None], plan.pstate]
    cannot, can = tuple(np.argwhere(~usable)[0]), tuple(np.argwhere(usable)[0])
    room = facility.room
    heated_c = np.where(np.arange(room.n_cracs) == 0, room.hottest_c, room.coldest_c)
    changed = dataclasses.replace
    return {
        "share: found a table of shape": changed(plan, share=plan.share[1:]),
        "supply_c: found a table of shape": changed(plan, supply_c=plan.supply_c[1:]),
        "P-state: found 9": changed(plan, pstate=with_cell(plan.pstate, (0, 0), 9)),
        "P-state: found -1": changed(plan, pstate=with_cell(plan.pstate, (0, 0), -1)),
        "share of time: found -0.1": changed(plan, share=with_cell(plan.share, (0, 0), -0.1)),
        "share of time: found nan": changed(plan, share=with_cell(plan.share, (0, 0), np.nan)),
        "busy: found": changed(plan, share=with_cell(plan.share, can, 1.01)),
        " s or less": changed(plan, share=with_cell(plan.share, cannot, 0.001)),
        "supply: found 25.1": changed(plan, supply_c=with_cell(plan.supply_c, (0,), 25.1)),
        "inlet temperature: found": changed(plan, supply_c=room.hottest_c),
        "heat removed, W: found": changed(plan, share=0.0 * plan.share, supply_c=heated_c),
    }


def test_what_is_wrong_with_a_plan_is_said(sound: tuple[Facility, FacilityPlan]) -> None:
    for message, plan in corruptions(*sound).items():
        lines = check_facility(sound[0], plan)
        assert any(message in line for line in lines), (message, lines)
    facility, plan = sound
    capped = dataclasses.replace(facility, cap_w=0.999 * recompute_facility(facility, plan).total_w)
    assert [line.split(":")[0] for line in check_facility(capped, plan)] == ["power"]


def test_a_heater_may_be_allowed(sound: tuple[Facility, FacilityPlan]) -> None:
    plan = corruptions(*sound)["heat removed, W: found"]
    room = dataclasses.replace(sound[0].room, may_heat=True)
    assert not any("heat removed" in line for line in check_facility(dataclasses.replace(sound[0], room=room), plan))


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Steady)])
def test_figures_are_computed_again(sound: tuple[Facility, FacilityPlan], name: str) -> None:
    facility, plan = sound
    state = steady(facility, Air(facility.room), plan)
    wrong = dataclasses.replace(state, **{name: getattr(state, name) * (1.0 + 1e-5)})
    assert check_facility(facility, plan, state) == []
    assert any(line.startswith(name) for line in check_facility(facility, plan, wrong))


def random_prices(facility: Facility, seed: int) -> FacilityPrices:
    """Prices around those that would pay all rewards; each kind may be 0."""
    rng = generator(seed, "tests.facility_prices")
    paid, has = facility.tasks.most_reward_per_s, rng.random(3) < 0.7
    task = has[0] * facility.tasks.reward * rng.uniform(0.0, 1.2, facility.tasks.n_types)
    redline = has[2] * rng.uniform(0.0, 0.1 * paid / facility.n_nodes, facility.n_nodes)
    supply_c = rng.uniform(facility.room.coldest_c, facility.room.hottest_c)
    return FacilityPrices(task, float(has[1] * rng.uniform(0.0, 1.5) * paid / facility.cap_w), redline, supply_c)


def with_limits_paid(facility: Facility, plan: FacilityPlan, prices: FacilityPrices) -> float:
    """What a plan earns, and what it leaves of cap and redlines at these prices; what it takes too much is paid for."""
    state = recompute_facility(facility, plan)
    left_k = facility.room.redline_c - state.node_inlet_c
    return state.slowed_reward_per_s + prices.cap * (facility.cap_w - state.total_w) + float(prices.redline @ left_k)


@cases(divided_by=10)
@given(facilities(), seeds)
def test_no_plan_earns_more_than_prices_prove(facility: Facility, seed: int) -> None:
    """Nor does one that breaks limits, if that is paid for; nor one at rest, for which all depends on the supplies."""
    prices, plan = random_prices(facility, seed), random_plan(facility, seed)
    earned = recompute_facility(facility, kept(facility, seed)).slowed_reward_per_s
    bound = facility_bound(facility, prices)
    assert max(earned, with_limits_paid(facility, plan, prices)) <= bound + 1e-9 * abs(bound)
    dear = dataclasses.replace(prices, task=facility.tasks.reward, cap=1e3)
    at_rest = dataclasses.replace(plan, share=0.0 * plan.share)
    bound = facility_bound(facility, dear)
    assert with_limits_paid(facility, at_rest, dear) <= bound + 1e-9 * abs(bound)


def node_values(facility: Facility, task_price: Floats, node: int, price: Floats) -> Floats:
    """The best of all configurations of a node at each price of a watt, core by core, with nothing left out."""
    tasks, types, kind = facility.tasks, facility.node_types, facility.node_type[node]
    usable = [None, *np.argwhere(tasks.is_usable[:, kind]).tolist()]
    best = np.zeros_like(price)
    for chosen in itertools.combinations_with_replacement(usable, int(types.sharers[kind])):
        busy = [choice for choice in chosen if choice is not None]
        value = np.zeros_like(price)
        for k, (task, pstate) in enumerate(busy):
            classes = [tasks.memory_class[other] for o, (other, _) in enumerate(busy) if o != k]
            slower = 1.0 + sum(tasks.slowdown[kind, tasks.memory_class[task], c] for c in classes)
            rate = tasks.speed_per_s[task, kind, pstate] / slower
            worth = task_price[task] if tasks.deadlines_alone or rate * tasks.deadline_s[task] >= 1.0 else 0.0
            value += worth * rate - price * tasks.power_w[task, kind, pstate]
        best = np.maximum(best, value)
    return np.asarray(best * types.processors[kind])


@cases(divided_by=10)
@given(facilities(n_nodes=2, n_task_types=2), seeds)
def test_the_bound_is_what_it_is_by_definition(facility: Facility, seed: int) -> None:
    """On a fine grid of supplies: never less, and more by what lies between the points alone."""
    prices, air, room, tasks = random_prices(facility, seed), Air(facility.room), facility.room, facility.tasks
    total = float(np.maximum(tasks.reward - prices.task, 0.0) @ tasks.rate_per_s)
    total += prices.cap * facility.cap_w + float(prices.redline @ room.redline_c)
    flow_w, known_c, known_g = air.exchange_w_per_k, prices.supply_c, 1.0 / room.cop_at(prices.supply_c)
    total -= float(prices.redline @ air.supply_share @ known_c + prices.cap * known_g @ flow_w @ known_c)
    colder, warmer = room.falls(known_c, -np.diagonal(flow_w))
    for c in range(room.n_cracs):
        supply_c = np.linspace(room.coldest_c[c], room.hottest_c[c], 2001)
        y, d = supply_c - known_c[c], 1.0 / room.cop[c](supply_c) - known_g[c]
        areas = d**2 / np.where(d > 0, colder, warmer) + y**2 * np.where(y < 0, colder, warmer)
        part = -(prices.redline @ air.supply_share[:, c] + prices.cap * known_g @ flow_w[:, c]) * y
        part -= prices.cap * (d * (flow_w[c] @ known_c) + flow_w[c, c] * (areas / 2.0 + d * y))
        for j in range(facility.n_nodes):
            price = prices.cap * (1.0 + known_g @ air.heat_share[:, j] + d) + air.rise_prices(prices.redline)[j]
            worth = node_values(facility, prices.task, j, price) - price * facility.overhead_w[j]
            part += air.heat_share[c, j] * worth
        total += part.max()
    bound = facility_bound(facility, prices)
    assert total * (1.0 - 1e-9) <= bound <= total + 1e-3 * (tasks.most_reward_per_s + abs(total))


def best_of_all(facility: Facility, supplies_c: Floats) -> float:
    """The most that any plan earns whose cores each do one thing all the time, at any of some supplies."""
    n_tasks, supply = facility.tasks.n_types, list(itertools.product(supplies_c, repeat=facility.room.n_cracs))
    kind = np.repeat(facility.node_type, np.diff(facility.first_core))
    choices = [[(0, 0, 0.0), *((t, p, 1.0) for t, p in np.argwhere(facility.tasks.is_usable[:, k]))] for k in kind]
    plans: list[tuple[float, FacilityPlan]] = []
    for chosen in itertools.product(*choices):
        share, pstate = np.zeros((2, len(kind), n_tasks))
        for core, (task, p, part) in enumerate(chosen):
            share[core, task], pstate[core, task] = part, p
        plan = FacilityPlan(share, pstate.astype(np.int8), np.array(supply[0]))
        plans.append((recompute_facility(facility, plan).slowed_reward_per_s, plan))
    for earned, plan in sorted(plans, key=lambda row: -row[0]):
        tried = (dataclasses.replace(plan, supply_c=np.array(supply_c)) for supply_c in supply)
        if any(not check_facility(facility, at) for at in tried):
            return earned
    return 0.0


@pytest.mark.parametrize("seed", TINY)
def test_the_best_of_all_plans_is_below_every_bound(seed: int) -> None:
    facility = random_facility(seed, n_nodes=2, n_cracs=2, n_task_types=2)
    most = best_of_all(facility, np.linspace(12.0, 20.0, 3))
    assert 0.0 < most <= min(facility_bound(facility, random_prices(facility, seed)) for seed in range(20)) + 1e-9


def test_curves_of_any_shape_are_bounded() -> None:
    """Units of which one is far better, and curves that fall again: what flows between units then counts."""
    facility = random_facility(11, n_nodes=4, n_cracs=2, is_dense=True)
    curves = [CopCurve(np.array([2.0, 6.0, 1.0, 3.0]), np.array([10.0, 13.0, 18.0, 25.0])), CopCurve(np.array([9.0]))]
    odd = dataclasses.replace(facility, room=dataclasses.replace(facility.room, cop=curves))
    for seed in range(20):
        plan, prices = random_plan(odd, seed), dataclasses.replace(random_prices(odd, seed), cap=1e3)
        at_rest, bound = dataclasses.replace(plan, share=0.0 * plan.share), facility_bound(odd, prices)
        assert max(with_limits_paid(odd, each, prices) for each in (plan, at_rest)) <= bound + 1e-9 * abs(bound)


def test_air_between_units_of_different_curves_counts() -> None:
    """Nodes that draw nothing: a unit may cool what another heats, and is paid more for it than that costs."""
    facility = random_facility(11, n_nodes=4, n_cracs=2, is_dense=True)
    types = dataclasses.replace(facility.node_types, overhead_w=np.zeros(facility.node_types.n_types))
    moore = facility.room.cop[0]
    room = dataclasses.replace(facility.room, cop=[moore, CopCurve(1.6 * moore.coefficients, moore.at_c)])
    still, prices = dataclasses.replace(facility, node_types=types, room=room), random_prices(facility, 0)
    dear = dataclasses.replace(prices, task=facility.tasks.reward, cap=1.0, redline=0.0 * prices.redline)
    idle = np.zeros((facility.n_cores, facility.tasks.n_types))
    supplies_c = itertools.product(*(np.linspace(*ends, 9) for ends in zip(room.coldest_c, room.hottest_c)))
    plans = (FacilityPlan(idle, idle.astype(np.int8), np.array(supply_c)) for supply_c in supplies_c)
    most = max(with_limits_paid(still, plan, dear) for plan in plans)
    assert still.cap_w < most <= facility_bound(still, dear)


def test_prices_that_are_none_are_refused() -> None:
    facility = random_facility(0, n_nodes=2, n_task_types=2)
    prices = FacilityPrices(np.ones(2), 0.1, np.zeros(2), facility.room.coldest_c)
    for changes, message in (
        ({"task": np.ones(3)}, "prices.task: found 3 values; must be 2"),
        ({"cap": -1.0}, "prices.cap: found -1; must be 0 or more each, and finite"),
        ({"supply_c": np.full(facility.room.n_cracs, np.nan)}, "prices.supply_c: found .nan"),
        ({"redline": np.array([0.0, np.nan])}, "prices.redline: found nan; must be 0 or more each, and finite"),
    ):
        with pytest.raises(InputError, match=message):
            facility_bound(facility, dataclasses.replace(prices, **changes))
