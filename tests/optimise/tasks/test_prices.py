"""The bound by prices: valid at any prices, against dense sampling, exact optima and every policy."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import get_args

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.model import Allocation, Shape, System, UtilityShapes, Workload, World, constant, linear, step
from joulewise.model.arrays import Floats
from joulewise.model.supply import Supply
from joulewise.model.system import Standby
from joulewise.optimise.bounds import utility_ceiling
from joulewise.optimise.price_market import Certificate
from joulewise.optimise.tasks.prices import certified_bound, market_of, price_bound
from joulewise.policies.tasks.table import POLICIES
from joulewise.rng import generator
from joulewise.simulate.tasks.managed import manage
from joulewise.simulate.tasks.manager import Environment, Filter, Manager
from joulewise.simulate.tasks.measures import measures
from joulewise.simulate.tasks.serial import simulate
from tests.strategies.cases import each_seed
from tests.strategies.needs import fit_for
from tests.strategies.random_worlds import Scenario, rising, scenarios
from tests.strategies.simple_worlds import busy_world, simple_system, simple_workload

EXACT = 1e-9
MANAGED = ["fcfs-all", "max-max-upe", "weighted-util", "prices", "max-max-util"]
PLAIN = sorted(name for name, policy in POLICIES.items() if not policy.needs_managing)


def with_end(world: World) -> World:
    """The same world, with a window that ends."""
    work = world.workload
    if math.isfinite(work.end_s):
        return world
    return dataclasses.replace(
        world, workload=dataclasses.replace(work, end_s=max(float(work.arrival_s[-1]), work.start_s) + 20.0)
    )


@st.composite
def supplied(draw: st.DrawFn, world: World) -> World:
    """The same world with runs counted by shares, or utilities that rise, stretched times, standby and a budget of
    energy, each perhaps.
    """
    work, system = world.workload, world.system
    if draw(st.booleans()):
        stretch = draw(
            st.lists(st.sampled_from([0.5, 0.9, 1.0, 1.6, 2.5]), min_size=work.n_tasks, max_size=work.n_tasks)
        )
        work = dataclasses.replace(work, stretch=np.array(stretch))
    counting = draw(st.sampled_from(["completions", "shares", "rises"]))
    work = draw(rising(work)) if counting == "rises" else dataclasses.replace(work, is_prorated=counting == "shares")
    if system.power_w is None:
        return World(system, work)
    if draw(st.booleans()):
        system = dataclasses.replace(system, standby=standby_of(system, draw(st.sampled_from([3.0, math.inf]))))
    window_s = work.end_s - work.start_s
    budget_j = draw(st.sampled_from([1.0, 10.0, 100.0, math.inf])) * window_s
    day_s = window_s * draw(st.sampled_from([0.2, 0.35, 0.5, 1.0, 2.0]))
    return World(system, work, Supply(budget_j, draw(st.booleans()), day_s, pue=draw(st.sampled_from([1.0, 1.5]))))


def standby_of(system: System, sleep_after_s: float) -> Standby:
    """Machines that idle at half the least power of their type, and sleep at a third of that."""
    assert system.power_w is not None
    busy_w = np.where(np.isfinite(system.etc_s), system.power_w, math.inf).min(axis=(0, 2))
    idle_w = np.where(np.isfinite(busy_w), 0.5 * busy_w, 0.0)
    return Standby(idle_w, idle_w / 3, 2 * idle_w, np.ones(idle_w.size), np.full(idle_w.size, sleep_after_s))


def period_edges_s(world: World) -> Floats:
    """Where a new price of energy may begin, and the end."""
    work, supply = world.workload, world.supply
    if supply.is_total or math.isinf(supply.budget_j):
        return np.array([work.start_s, work.end_s])
    days = np.arange(work.start_s, work.end_s - 1e-9 * work.end_s, supply.day_s)
    return np.append(days, work.end_s)


def standby_w(world: World) -> Floats:
    """What machines draw at least."""
    standby = world.system.standby
    if standby is None:
        return np.zeros(world.system.n_machine_types)
    return np.where(np.isinf(standby.sleep_after_s), standby.idle_w, standby.sleep_w)


@st.composite
def markets(draw: st.DrawFn) -> tuple[World, Certificate]:
    """A small world with random prices on a few slots."""
    scenario: Scenario = draw(scenarios(most_tasks=6))
    world = draw(supplied(with_end(scenario.world)))
    n_types, n_slots = world.system.n_machine_types, draw(st.integers(1, 7))
    size = n_types * n_slots
    prices = draw(st.lists(st.sampled_from([0.0, 0.01, 0.1, 0.3, 1.0]), min_size=size, max_size=size))
    n_periods = market_of(world).budget_j.size
    per_j = draw(st.lists(st.sampled_from([0.0, 0.01, 0.2]), min_size=n_periods, max_size=n_periods))
    return world, Certificate(np.array(prices).reshape(n_types, n_slots), np.array(per_j))


def overlap_s(edges_s: Floats, start_s: Floats, end_s: Floats) -> Floats:
    """How much of each run lies between each two edges."""
    inside_s = np.minimum(end_s[:, None], edges_s[None, 1:]) - np.maximum(start_s[:, None], edges_s[None, :-1])
    return np.asarray(np.maximum(inside_s, 0.0))


def cost_of(
    world: World, certificate: Certificate, choice: tuple[int, int, int], start_s: Floats, exec_s: float
) -> Floats:
    """What runs of a choice pay, price by price, by a rule other than the kernel's."""
    t, k, p = choice
    edges_s = np.linspace(0.0, world.workload.end_s, certificate.per_s.shape[1] + 1)
    paid = overlap_s(edges_s, start_s, start_s + exec_s) @ certificate.per_s[k]
    if world.system.power_w is None:
        return np.asarray(paid)
    extra_w = world.supply.pue * (world.system.power_w[t, k, p] - standby_w(world)[k])
    return np.asarray(paid + extra_w * overlap_s(period_edges_s(world), start_s, start_s + exec_s) @ certificate.per_j)


def share_of(world: World, start_s: Floats, exec_s: float) -> Floats:
    """How much of each run counts."""
    work, end_s = world.workload, start_s + exec_s
    if not work.is_prorated:
        return work.in_window(end_s).astype(float)
    return overlap_s(np.array([work.start_s, work.end_s]), start_s, end_s)[:, 0] / exec_s


def exec_s_of(world: World, i: int, k: int, p: int) -> float:
    """How long task i takes in truth."""
    work = world.workload
    return float(world.system.etc_s[work.task_type[i], k, p] * (1.0 if work.stretch is None else work.stretch[i]))


def sampled_gain(world: World, certificate: Certificate, i: int) -> float:
    """The most task i gains over densely sampled starts, or nothing."""
    system, work = world.system, world.workload
    best, t = 0.0, int(work.task_type[i])
    for k, p in itertools.product(range(system.n_machine_types), range(system.n_pstates)):
        exec_s = exec_s_of(world, i, k, p)
        last_s = work.end_s - (0.0 if work.is_prorated else exec_s)
        if not math.isfinite(exec_s) or system.counts[k] == 0 or last_s < work.arrival_s[i]:
            continue
        start_s = np.linspace(work.arrival_s[i], last_s, 2000)
        earned = work.utility(i, start_s + exec_s) * share_of(world, start_s, exec_s)
        gain = np.where(earned > 0, earned - cost_of(world, certificate, (t, k, p), start_s, exec_s), 0.0)
        best = max(best, float(gain.max()))
    return best


@given(markets())
def test_no_sampled_run_gains_more_than_the_answer(market: tuple[World, Certificate]) -> None:
    world, certificate = market
    _, answer = market_of(world).answer(certificate)
    for i in range(world.workload.n_tasks):
        assert sampled_gain(world, certificate, i) <= answer.gain[i] + EXACT


@given(markets())
def test_an_answer_is_what_its_run_gains(market: tuple[World, Certificate]) -> None:
    """Tight: the run it names, begun an instant earlier than a jump, gains what it says.

    A run that counts by its share and begins before the window may be valued by up to a 64th of it too early.
    """
    world, certificate = market
    market_now = market_of(world)
    _, answer = market_now.answer(certificate)
    options, work = market_now.facts.options, world.workload
    for i in np.flatnonzero(answer.gain > 0):
        option = answer.option[i]
        k, p = int(options.machine_type[option]), int(options.pstate[option])
        exec_s, start_s = exec_s_of(world, int(i), k, p), float(answer.start_s[i])
        choice, starts_s = (int(work.task_type[i]), k, p), np.array([start_s])
        paid = cost_of(world, certificate, choice, starts_s, exec_s)[0]
        share = share_of(world, starts_s, exec_s)[0] if work.is_prorated else 1.0
        just_before, sooner = (
            float(work.utility(int(i), start_s + exec_s - early_s)) * share - paid
            for early_s in (1e-9 * max(start_s + exec_s, 1.0), exec_s / 64 + 1e-9)
        )
        is_rounded_up = work.is_prorated and start_s <= work.start_s + 1e-9 * work.end_s
        assert just_before - 1e-6 <= answer.gain[i] <= (sooner if is_rounded_up else just_before) + 1e-6


def best_schedule(world: World, starts_s: Floats) -> float:
    """The most utility of any choice of tasks, machines, P-states and starts among these that keeps to the budget."""
    system, work, supply = world.system, world.workload, world.supply
    edges_s, least_w = period_edges_s(world), standby_w(world)
    power_w = np.zeros_like(system.etc_s) if system.power_w is None else system.power_w
    standby_j = (system.counts @ least_w) * np.diff(edges_s)
    runs: list[list[tuple[int, float, float, float, Floats]]] = []
    for i in range(work.n_tasks):
        runs.append([])
        for m, p, start_s in itertools.product(range(system.n_machines), range(system.n_pstates), starts_s):
            k, at_s = int(system.machine_type[m]), np.array([start_s])
            exec_s = exec_s_of(world, i, k, p)
            if start_s < work.arrival_s[i] or not math.isfinite(exec_s):
                continue
            earned = float(work.utility(i, start_s + exec_s) * share_of(world, at_s, exec_s)[0])
            extra_w = power_w[work.task_type[i], k, p] - least_w[k]
            if earned > 0:
                used_j = extra_w * overlap_s(edges_s, at_s, at_s + exec_s)[0]
                runs[i].append((m, float(start_s), float(start_s) + exec_s, earned, used_j))

    def best_from(i: int, busy: list[tuple[int, float, float]], left_j: Floats) -> float:
        if i == work.n_tasks:
            return 0.0
        best = best_from(i + 1, busy, left_j)
        for m, start_s, end_s, earned, used_j in runs[i]:
            apart = all(m != other or end_s <= from_s or to_s <= start_s for other, from_s, to_s in busy)
            if apart and (used_j <= left_j + 1e-9).all():
                best = max(best, earned + best_from(i + 1, [*busy, (m, start_s, end_s)], left_j - used_j))
        return best

    return best_from(0, [], supply.budget_j / supply.pue - standby_j)


def tiny_work(rng: np.random.Generator, seed: int) -> Workload:
    """Three tasks of two task types, prorated and stretched in turn, with a warm-up."""
    shapes = UtilityShapes.of([linear(9.0), step(6.0), constant()])
    stretch = rng.choice([0.5, 1.0, 1.5], 3) if seed % 3 == 0 else None
    return Workload(
        np.sort(rng.integers(0, 5, 3)).astype(float), rng.integers(0, 2, 3, np.int32), rng.integers(0, 3, 3, np.int32),
        rng.uniform(1.0, 4.0, 3), rng.uniform(0.0, 2.0, 3), shapes, 2.0, 8.0,
        is_prorated=seed % 4 < 2, stretch=stretch,
    )  # fmt: skip


def tiny_world(seed: int) -> World:
    """Three tasks on two machines of two P-states, with a warm-up and every kind of limit in turn."""
    rng = generator(seed, "tests.prices.tiny")
    etc_s = np.cumsum(rng.integers(1, 4, (2, 2, 2)), axis=2).astype(float)
    power_w = rng.integers(2, 9, etc_s.shape) * [2.0, 1.0]
    system = System(("a", "b"), ("x", "y"), np.array([1, 1]), etc_s, power_w)
    if seed % 2:
        system = dataclasses.replace(system, standby=standby_of(system, [2.0, math.inf][seed // 2 % 2]))
    work = tiny_work(rng, seed)
    if seed % 4 == 3:
        rise_s = generator(seed, "tests.prices.rise").choice([0.0, 1.5, 3.0, 7.0], 3)
        work = dataclasses.replace(work, rise_s=rise_s, hold_s=rise_s + work.hold_s)
    budget_j = float(rng.choice([10.0, 20.0, 40.0, math.inf]))
    return World(system, work, Supply(budget_j, bool(seed % 5 == 0), [3.0, 6.0, 2.5][seed % 3], pue=1.2))


@each_seed(40)
def test_no_schedule_of_a_tiny_world_beats_any_prices(seed: int) -> None:
    world = tiny_world(seed)
    best = best_schedule(world, np.arange(0.0, 8.0, 0.5))
    rng = np.random.default_rng(seed)
    n_periods = period_edges_s(world).size - 1
    for _ in range(60):
        per_s = rng.exponential(0.3, (2, 5)) * (rng.random((2, 5)) < 0.8)
        per_j = rng.exponential(0.05, n_periods) * (rng.random(n_periods) < 0.8)
        assert certified_bound(world, Certificate(per_s, per_j)) >= best - EXACT
    found = price_bound(world)
    assert best - EXACT <= found.value <= utility_ceiling(world) * (1 + 2 * EXACT) + EXACT


def earned_by(world: World, allocation: Allocation) -> float:
    """What the runs of an allocation earn."""
    earned = 0.0
    for i in np.flatnonzero(allocation.ran):
        start_s, end_s = allocation.start_s[[i]], float(allocation.end_s[i])
        share = share_of(world, start_s, end_s - float(start_s[0]))[0]
        earned += float(world.workload.utility(i, end_s)) * share
    return earned


def metered_j(world: World, allocation: Allocation) -> Floats:
    """The energy that an allocation takes in each period at least, machines asleep whenever they run nothing."""
    work, system, edges_s = world.workload, world.system, period_edges_s(world)
    used_j = (system.counts @ standby_w(world)) * np.diff(edges_s)
    for i in np.flatnonzero(allocation.ran):
        k = system.machine_type[allocation.machine[i]]
        assert system.power_w is not None
        extra_w = system.power_w[work.task_type[i], k, allocation.pstate[i]] - standby_w(world)[k]
        used_j += extra_w * overlap_s(edges_s, allocation.start_s[[i]], allocation.end_s[[i]])[0]
    return world.supply.pue * used_j


@given(scenarios(most_tasks=15), st.sampled_from(PLAIN), st.booleans(), st.booleans(), st.data())
def test_no_policy_beats_the_bound_of_the_energy_it_uses(
    scenario: Scenario, policy: str, is_prorated: bool, is_total: bool, data: st.DataObject
) -> None:
    assume(scenario.world.system.power_w is not None)
    world = fit_for(POLICIES[policy], with_end(scenario.world))
    allocation = simulate(world, scenario.manager(POLICIES[policy])).allocation
    system = dataclasses.replace(world.system, standby=standby_of(world.system, 5.0))
    work = dataclasses.replace(world.workload, is_prorated=is_prorated)
    n_days = data.draw(st.sampled_from([1.0, 2.0, 2.6]))
    supply = Supply(1.0, is_total, (work.end_s - work.start_s) / n_days, pue=1.25)
    used_j = float(metered_j(World(system, work, supply), allocation).max())
    world = World(system, work, dataclasses.replace(supply, budget_j=used_j * (1 + EXACT) + EXACT))
    assert earned_by(world, allocation) <= price_bound(world).value * (1 + EXACT) + EXACT


@given(scenarios(most_tasks=12), st.sampled_from(MANAGED), st.data())
def test_no_managed_day_beats_the_bound(scenario: Scenario, policy: str, data: st.DataObject) -> None:
    """Energy that is spent beyond a budget, where tasks stretch or cross midnight, is worth its price at most."""
    world = data.draw(supplied(with_end(scenario.world)))
    assume(math.isfinite(world.supply.budget_j))
    environment = data.draw(st.sampled_from(get_args(Environment)))
    energy_filter = data.draw(st.sampled_from(get_args(Filter)))
    manager = scenario.manager(POLICIES[policy])
    manager = dataclasses.replace(manager, environment=environment, energy_filter=energy_filter)
    allocation, found = manage(world, manager).allocation, price_bound(world)
    beyond_j = np.maximum(metered_j(world, allocation) - world.supply.budget_j, 0.0)
    worth = float(found.certificate.per_j @ beyond_j)
    assert earned_by(world, allocation) <= (found.value + worth) * (1 + EXACT) + EXACT


@given(scenarios(most_tasks=15), st.sampled_from(sorted(POLICIES)), st.data())
def test_no_policy_beats_the_bound(scenario: Scenario, policy: str, data: st.DataObject) -> None:
    world = fit_for(POLICIES[policy], scenario.world)
    if POLICIES[policy].rule != "sufferage" and data.draw(st.booleans()):
        world = dataclasses.replace(world, workload=data.draw(rising(world.workload)))
    earned = measures(world, simulate(world, scenario.manager(POLICIES[policy])))["utility"]
    assert earned <= price_bound(world).value + EXACT


def crowded_world() -> World:
    """Far more work than its four machines can do."""
    world = busy_world()
    return dataclasses.replace(world, system=dataclasses.replace(world.system, counts=np.array([1, 0, 2, 1])))


def test_the_bound_is_between_the_best_policy_and_the_ceiling() -> None:
    world = crowded_world()
    earned = max(measures(world, simulate(world, Manager(POLICIES[name])))["utility"] for name in PLAIN)
    found = price_bound(world)
    assert earned < found.value < 0.9 * utility_ceiling(world)
    assert certified_bound(world, found.certificate) == pytest.approx(found.value, rel=1e-12)


def without_end(world: World) -> World:
    """The same world, with a window that does not end."""
    return dataclasses.replace(world, workload=dataclasses.replace(world.workload, end_s=math.inf))


@pytest.mark.parametrize(
    ("shape", "end_s", "most"), [(step(900.0), 2e4, 0.8), (linear(3000.0), 2e4, 0.9), (constant(), 3e5, 1 + 2 * EXACT)]
)
def test_a_window_without_an_end_is_bounded_as_one_that_covers_all(shape: Shape, end_s: float, most: float) -> None:
    """Far more than can be done in time, except where nothing is ever late."""
    work = crowded_world().workload
    work = dataclasses.replace(work, shapes=UtilityShapes.of([shape]), shape=0 * work.shape)
    endless = without_end(dataclasses.replace(crowded_world(), workload=work))
    covered = dataclasses.replace(endless, workload=dataclasses.replace(work, end_s=end_s))
    found, wanted, ceiling = price_bound(endless), price_bound(covered), utility_ceiling(endless)
    assert found.value == pytest.approx(wanted.value, rel=0.02)
    assert found.value < most * ceiling


@pytest.mark.parametrize("end_s", [7_200.0, 72_000.0])
def test_an_end_long_after_all_is_done_makes_no_looser_bound(end_s: float) -> None:
    """Slots are as short as the work asks for, also where some minutes of it have a window of hours."""
    work = simple_workload([10.0 * i for i in range(60)], shape=step(150.0))
    endless = without_end(World(simple_system([[100.0, 60.0]]), work))
    ended = dataclasses.replace(endless, workload=dataclasses.replace(work, end_s=end_s))
    assert price_bound(ended).value <= 1.02 * price_bound(endless).value < 0.4 * utility_ceiling(endless)


@pytest.mark.thorough("takes seconds; others look at less of it")
@each_seed(20)
def test_no_schedule_of_a_tiny_world_without_an_end_beats_any_prices(seed: int) -> None:
    world = dataclasses.replace(without_end(tiny_world(seed)), supply=Supply())
    covered = dataclasses.replace(world, workload=dataclasses.replace(world.workload, end_s=40.0))
    best = best_schedule(covered, np.arange(0.0, 12.0, 0.5))
    rng = np.random.default_rng(seed)
    for level in (0.03, 0.3, 1.0):
        assert certified_bound(world, Certificate(rng.exponential(level, (2, 5)))) >= best - EXACT
    assert best - EXACT <= price_bound(world).value <= utility_ceiling(world) * (1 + 2 * EXACT) + EXACT


def test_a_window_is_closed_where_nothing_is_worth_anything_or_all_could_be_done() -> None:
    """Three tasks of 10 s on one machine: worth nothing 5 s after the last, or done 40 s after it."""
    late = World(simple_system([[10.0]]), simple_workload([0.0, 1.0, 2.0], shape=step(5.0)))
    steady = World(simple_system([[10.0]]), simple_workload([0.0, 1.0, 2.0]))
    assert [market_of(world).facts.window.end_s for world in (late, steady)] == [7.0, 42.0]
    assert market_of(steady).facts.later.tolist() == [1.0, 1.0, 1.0]


def test_a_budget_tightens_the_bound() -> None:
    world = crowded_world()
    energy_j = measures(world, simulate(world, Manager(POLICIES["max-max-upt"])))["energy_j"]
    limited = dataclasses.replace(world, supply=Supply(0.5 * energy_j, is_total=True))
    free, tight = price_bound(world), price_bound(limited)
    assert tight.certificate.per_j[0] > 0 == free.certificate.per_j[0]
    assert tight.value < 0.9 * free.value
    assert certified_bound(limited, tight.certificate) == pytest.approx(tight.value, rel=1e-12)


def test_days_that_share_a_budget_are_bounded_no_lower_than_days_with_their_own() -> None:
    world = crowded_world()
    window_s = world.workload.end_s - world.workload.start_s
    energy_j = 0.5 * measures(world, simulate(world, Manager(POLICIES["max-max-upt"])))["energy_j"]
    total = dataclasses.replace(world, supply=Supply(energy_j, is_total=True))
    daily = dataclasses.replace(world, supply=Supply(energy_j / 4, day_s=window_s / 4))
    found = price_bound(daily)
    assert found.certificate.per_j.shape == (4,)
    assert found.value <= 1.01 * price_bound(total).value


def test_what_standby_takes_is_not_left_for_runs() -> None:
    """Of 300 J, 100 s at 1 W asleep leave 200 J; a run of 10 s at 21 W adds 200 J to them."""
    standby = Standby(np.array([5.0]), np.array([1.0]), np.array([5.0]), np.array([0.0]), np.array([9.0]))
    system = dataclasses.replace(simple_system([[10.0]], [1], [[21.0]]), standby=standby)
    world = World(system, simple_workload([0.0, 0.0], end_s=100.0), Supply(300.0, is_total=True))
    for joules, runs in ((300.0, 1.0), (299.0, 0.995), (200.0, 0.5), (90.0, 0.0)):
        limited = dataclasses.replace(world, supply=Supply(joules, is_total=True))
        assert certified_bound(limited, Certificate(np.zeros((1, 1)), np.array([1 / 200.0]))) == pytest.approx(runs)
    awake = dataclasses.replace(standby, sleep_after_s=np.array([math.inf]))
    restless = dataclasses.replace(world, system=dataclasses.replace(system, standby=awake))
    assert certified_bound(restless, Certificate(np.zeros((1, 1)), np.array([1 / 160.0]))) == pytest.approx(0.0)


def test_who_rises_is_bounded_at_its_peak_and_may_wait_for_it() -> None:
    """Two tasks of 2 s that rise for 10 s, on one machine: at full worth one after the other, the first a bit early."""
    work = dataclasses.replace(
        simple_workload([0.0, 0.0], end_s=50.0), rise_s=np.full(2, 10.0), hold_s=np.full(2, 11.0)
    )
    crowded = dataclasses.replace(work, shapes=UtilityShapes.of([step(0.5)]))
    for one_kind, best in ((work, 2.0), (crowded, 1.925)):
        world = World(simple_system([[2.0]]), one_kind)
        assert best_schedule(world, np.arange(0.0, 20.0, 0.25)) == pytest.approx(best)
        assert best - EXACT <= price_bound(world).value <= 2.0 + 3 * EXACT
        assert utility_ceiling(world) == 2.0
    certificate = Certificate(np.array([[0.0, 0.0, 0.0, 0.1, 0.1]]))  # seconds after 30 s are dear
    assert certified_bound(World(simple_system([[2.0]]), work), certificate) == pytest.approx(2.0 + 0.1 * 20.0)
    soon = dataclasses.replace(work, end_s=5.0)
    assert price_bound(World(simple_system([[2.0]], [2]), soon)).value == pytest.approx(2 * 0.5)


def test_where_nothing_is_scarce_the_bound_is_the_ceiling() -> None:
    world = World(simple_system([[1.0]], [5]), simple_workload([0.0, 9.0], shape=linear(4.0), end_s=20.0))
    assert price_bound(world).value == pytest.approx(utility_ceiling(world))


def test_prices_that_are_none_are_refused() -> None:
    for wrong in (np.array([[-1.0]]), np.array([[math.nan]]), np.zeros((1, 0)), np.zeros(3)):
        with pytest.raises(InputError, match="certificate"):
            Certificate(wrong)
    with pytest.raises(InputError, match="machine types"):
        certified_bound(busy_world(), Certificate(np.zeros((2, 3))))
    with pytest.raises(InputError, match="energy periods"):
        certified_bound(busy_world(), Certificate(np.zeros((4, 3)), np.zeros(2)))


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_a_run_that_ends_at_a_jump_is_valued_before_it() -> None:
    """Instants that are not exact in binary: the best start is where rounding could fall behind the deadline."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        early_s, late_s = float(rng.uniform(5.5, 6.5)), float(rng.uniform(12.5, 13.5))
        short_s = late_s - early_s - 0.01
        system = simple_system([[early_s], [short_s]])
        shapes = UtilityShapes.of([step(late_s, "late"), step(short_s + 0.005, "short")])
        arrival_s = np.array([0.0, float(rng.uniform(0.0, 1e-3))])
        scale = np.array([short_s / early_s, 1.0])
        work = Workload(arrival_s, np.array([1, 0]), np.array([1, 0]), scale, np.zeros(2), shapes, 0.0, 20.0)
        world = World(system, work)
        earned = float(work.utility([0, 1], [short_s, short_s + early_s]).sum())
        assert certified_bound(world, Certificate(np.array([[1 / early_s, 0.0]]))) >= earned - EXACT
        assert price_bound(world).value >= earned - EXACT
