"""The bound by prices: valid at any prices, against dense sampling, exact optima and every policy."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.model import System, UtilityShapes, Workload, World, linear, step
from joulewise.model.arrays import Floats
from joulewise.optimise import utility_ceiling
from joulewise.optimise.prices import Certificate, _Market, certified_bound, price_bound
from joulewise.policies import POLICIES
from joulewise.simulate import Manager, measures, simulate
from tests.random_worlds import Scenario, scenarios
from tests.simple_worlds import busy_world, simple_system, simple_workload

EXACT = 1e-9


def with_end(world: World) -> World:
    """The same world, with a window that ends."""
    work = world.workload
    if math.isfinite(work.end_s):
        return world
    return dataclasses.replace(
        world, workload=dataclasses.replace(work, end_s=max(float(work.arrival_s[-1]), work.start_s) + 20.0)
    )


@st.composite
def markets(draw: st.DrawFn) -> tuple[World, Certificate]:
    """A small world with random prices on a few slots."""
    scenario: Scenario = draw(scenarios(most_tasks=6))
    world = with_end(scenario.world)
    n_types, n_slots = world.system.n_machine_types, draw(st.integers(1, 7))
    size = n_types * n_slots
    prices = draw(st.lists(st.sampled_from([0.0, 0.01, 0.1, 0.3, 1.0]), min_size=size, max_size=size))
    return world, Certificate(np.array(prices).reshape(n_types, n_slots), draw(st.sampled_from([0.0, 0.01, 0.2])))


def cost_of(certificate: Certificate, end_s: float, k: int, start_s: Floats, exec_s: float) -> Floats:
    """The integral of a machine type's price over runs, by a rule other than the kernel's."""
    n_slots = certificate.per_s.shape[1]
    edges_s = np.linspace(0.0, end_s, n_slots + 1)
    inside = np.minimum(start_s[:, None] + exec_s, edges_s[None, 1:]) - np.maximum(start_s[:, None], edges_s[None, :-1])
    return np.asarray((np.maximum(inside, 0.0) * certificate.per_s[k]).sum(axis=1))


def sampled_gain(world: World, certificate: Certificate, i: int) -> float:
    """The most task i gains over densely sampled starts, or nothing."""
    system, work = world.system, world.workload
    best, t = 0.0, work.task_type[i]
    for k, p in itertools.product(range(system.n_machine_types), range(system.n_pstates)):
        exec_s = float(system.etc_s[t, k, p])
        last_s = work.end_s - exec_s
        if not math.isfinite(exec_s) or system.counts[k] == 0 or last_s < work.arrival_s[i]:
            continue
        start_s = np.linspace(work.arrival_s[i], last_s, 2000)
        start_s = start_s[start_s + exec_s > work.start_s]
        inside_s = start_s + exec_s - np.maximum(start_s, work.start_s)
        power_w = 0.0 if system.power_w is None else float(system.power_w[t, k, p])
        paid = cost_of(certificate, work.end_s, k, start_s, exec_s) + certificate.per_j * power_w * inside_s
        best = max(best, float(np.max(work.utility(i, start_s + exec_s) - paid, initial=0.0)))
    return best


@settings(max_examples=150, deadline=None)
@given(markets())
def test_no_sampled_run_gains_more_than_the_answer(market: tuple[World, Certificate]) -> None:
    world, certificate = market
    _, answer = _Market(world, math.inf).answer(certificate)
    for i in range(world.workload.n_tasks):
        assert sampled_gain(world, certificate, i) <= answer.gain[i] + EXACT


@settings(max_examples=60, deadline=None)
@given(markets())
def test_an_answer_is_what_its_run_gains(market: tuple[World, Certificate]) -> None:
    """Tight: the run it names, begun an instant earlier than a jump, gains what it says."""
    world, certificate = market
    market_of = _Market(world, math.inf)
    _, answer = market_of.answer(certificate)
    options, work = market_of.layout.options, world.workload
    for i in np.flatnonzero(answer.gain > 0):
        option = answer.option[i]
        exec_s, k = float(options.exec_s[option]), int(options.machine_type[option])
        start_s = np.array([answer.start_s[i]])
        end_s = float(start_s[0]) + exec_s
        counted_s = min(end_s, work.end_s) - max(float(start_s[0]), work.start_s)
        paid = cost_of(certificate, work.end_s, k, start_s, exec_s)[0]
        paid += certificate.per_j * options.energy_j[option] / exec_s * max(counted_s, 0.0)
        just_before = float(work.utility(int(i), end_s - 1e-9 * max(end_s, 1.0)))
        assert answer.gain[i] == pytest.approx(just_before - paid, abs=1e-6)


def best_schedule(world: World) -> float:
    """The most utility of any choice of tasks, machines and orders, each run as early as it can be."""
    system, work = world.system, world.workload
    best = 0.0
    for order in itertools.permutations(range(work.n_tasks)):
        for machines in itertools.product(range(-1, system.n_machines), repeat=work.n_tasks):
            free_s, earned = [0.0] * system.n_machines, 0.0
            for task, machine in zip(order, machines, strict=True):
                if machine < 0:
                    continue
                exec_s = float(system.etc_s[work.task_type[task], system.machine_type[machine], 0])
                if math.isfinite(exec_s):
                    free_s[machine] = max(free_s[machine], float(work.arrival_s[task])) + exec_s
                    if free_s[machine] <= work.end_s:
                        earned += float(work.utility(task, free_s[machine]))
            best = max(best, earned)
    return best


@pytest.mark.parametrize("shape", [linear(9.0), step(6.0)], ids=["linear", "step"])
def test_no_schedule_of_a_tiny_world_beats_any_prices(shape: object) -> None:
    system: System = simple_system([[2.0, 3.0], [4.0, math.inf]], [1, 1])
    work = simple_workload([0.0, 0.0, 1.0, 2.0], [0, 1, 0, 0], shape, scale=2.0, end_s=10.0)  # type: ignore[arg-type]
    world = World(system, work)
    best = best_schedule(world)
    rng = np.random.default_rng(5)
    for _ in range(200):
        certificate = Certificate(rng.exponential(0.3, (2, 5)) * (rng.random((2, 5)) < 0.8))
        assert certified_bound(world, certificate) >= best - EXACT
    found = price_bound(world)
    assert best - EXACT <= found.value <= utility_ceiling(world) * (1 + EXACT)


@settings(max_examples=80, deadline=None)
@given(scenarios(most_tasks=15), st.sampled_from(sorted(POLICIES)))
def test_no_policy_beats_the_bound(scenario: Scenario, policy: str) -> None:
    scenario = scenario._replace(world=with_end(scenario.world))
    earned = measures(scenario.world, simulate(scenario.world, scenario.manager(POLICIES[policy])))["utility"]
    assert earned <= price_bound(scenario.world).value + EXACT


def crowded_world() -> World:
    """Far more work than its four machines can do."""
    world = busy_world()
    return dataclasses.replace(world, system=dataclasses.replace(world.system, counts=np.array([1, 0, 2, 1])))


def test_the_bound_is_between_the_best_policy_and_the_ceiling() -> None:
    world = crowded_world()
    earned = max(measures(world, simulate(world, Manager(policy)))["utility"] for policy in POLICIES.values())
    found = price_bound(world)
    assert earned < found.value < 0.9 * utility_ceiling(world)
    assert certified_bound(world, found.certificate) == found.value


def test_a_budget_tightens_the_bound() -> None:
    world = crowded_world()
    energy_j = measures(world, simulate(world, Manager(POLICIES["max-max-upt"])))["energy_j"]
    free, tight = price_bound(world), price_bound(world, budget_j=0.5 * energy_j)
    assert tight.certificate.per_j > 0 == free.certificate.per_j
    assert tight.value < 0.9 * free.value
    assert certified_bound(world, tight.certificate, 0.5 * energy_j) == tight.value


def test_where_nothing_is_scarce_the_bound_is_the_ceiling() -> None:
    world = World(simple_system([[1.0]], [5]), simple_workload([0.0, 9.0], shape=linear(4.0), end_s=20.0))
    assert price_bound(world).value == pytest.approx(utility_ceiling(world))


def test_prices_that_are_none_are_refused() -> None:
    for wrong in (np.array([[-1.0]]), np.array([[math.nan]]), np.zeros((1, 0)), np.zeros(3)):
        with pytest.raises(InputError, match="certificate"):
            Certificate(wrong)
    with pytest.raises(InputError, match="machine types"):
        certified_bound(busy_world(), Certificate(np.zeros((2, 3))))
    endless = World(simple_system(), simple_workload())
    with pytest.raises(InputError, match="without an end"):
        price_bound(endless)


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
