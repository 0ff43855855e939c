"""The second evaluation of the price bound: against dense sampling, by hand at jumps, and against the first."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given

from joulewise.check.tasks.prices import best_gains, dual_value
from joulewise.errors import InputError
from joulewise.model import Segment, Shape, System, UtilityShapes, Workload, World, constant, linear, piecewise, step
from joulewise.model.supply import Supply
from joulewise.optimise.price_market import Certificate
from joulewise.optimise.tasks.prices import certified_bound, price_bound
from joulewise.rng import generator
from tests.optimise.tasks.test_prices import cost_of, exec_s_of, markets, period_edges_s, share_of, standby_of
from tests.strategies.cases import each_seed
from tests.strategies.simple_worlds import busy_world, simple_system, simple_workload

EXACT = 1e-9
N_SAMPLES = 4000


def jump(at_s: float) -> Shape:
    """Falls exponentially, jumps, and falls on."""
    return Shape(f"jump {at_s}", (Segment(0.0, 0.6, 0.4, 1 / at_s), Segment(at_s, 0.0, 0.3, 0.5 / at_s)))


def random_world(seed: int, n_tasks: int = 12) -> World:
    """Times that lie on no grid, few machines, utilities of which most jump, and every kind of limit in turn."""
    rng = generator(seed, "tests.check_prices")
    etc_s = np.cumsum(rng.uniform(1.0, 40.0, (3, 3, 2)), axis=2)
    etc_s[rng.random((3, 3)) < 0.2] = math.inf
    etc_s[:, 0] = np.where(np.isfinite(etc_s[:, 0]), etc_s[:, 0], 17.3 * np.array([1.0, 1.9]))
    power_w = rng.uniform(10.0, 90.0, etc_s.shape)
    system = System(("a", "b", "c"), ("x", "y", "z"), np.array([2, 0, 1]), etc_s, power_w)
    if seed % 2:
        system = dataclasses.replace(system, standby=standby_of(system, [9.0, math.inf][seed // 2 % 2]))
    lines = piecewise([(0.0, 1.0), (31.7, 0.8), (31.7, 0.5), (77.9, 0.1)])
    shapes = [constant(), linear(83.1), step(rng.uniform(5, 90)), step(50.3), jump(rng.uniform(5, 90)), lines]
    arrival_s, kind = np.sort(rng.uniform(0.0, 150.0, n_tasks)), rng.integers(0, 3, n_tasks, np.int32)
    shape = rng.integers(0, len(shapes), n_tasks, np.int32)
    scale, hold_s = rng.uniform(0.5, 8.0, n_tasks), rng.uniform(0.0, 30.0, n_tasks)
    table = UtilityShapes.of([s._replace(name=f"{i}") for i, s in enumerate(shapes)])
    work = Workload(
        arrival_s, kind, shape, scale, hold_s, table, rng.uniform(0, 60), 201.7,
        is_prorated=seed % 3 > 0, stretch=rng.lognormal(0.0, 0.3, n_tasks) if seed % 5 > 2 else None,
    )  # fmt: skip
    if seed % 6 == 0:
        rise_s = rng.uniform(0.0, 60.0, n_tasks) * (rng.random(n_tasks) < 0.7)
        work = dataclasses.replace(work, rise_s=rise_s, hold_s=rise_s + work.hold_s)
    return World(system, work, Supply(1e4, seed % 7 == 0, rng.uniform(30, 200), pue=rng.uniform(1.0, 1.5)))


def random_prices(seed: int, world: World, level: float) -> Certificate:
    rng = generator(seed, "tests.check_prices.prices")
    shape = (world.system.n_machine_types, int(rng.integers(1, 20)))
    per_s = rng.exponential(level, shape) * (rng.random(shape) < 0.8)
    return Certificate(per_s, rng.choice([0.0, 1e-4, 3e-4], period_edges_s(world).size - 1))


def sampled_gain(world: World, prices: Certificate, i: int) -> float:
    """The most task i gains over many starts, among them the last instants before jumps and the first to count."""
    system, work, shapes = world.system, world.workload, world.workload.shapes
    best, kind = 0.0, int(work.task_type[i])
    jumps_s = shapes.start_s[shapes.first[work.shape[i]] : shapes.first[work.shape[i] + 1]]
    for k, p in itertools.product(np.flatnonzero(system.counts), range(system.n_pstates)):
        exec_s = exec_s_of(world, i, int(k), p)
        first_s = max(work.arrival_s[i], work.start_s - exec_s + 1e-9)
        last_s = work.end_s - (0.0 if work.is_prorated else exec_s)
        if not (math.isfinite(exec_s) and first_s <= last_s):
            continue
        just_before_s = work.arrival_s[i] + work.hold_s[i] + jumps_s - 1e-10 - exec_s
        just_before_s = just_before_s[(just_before_s >= first_s) & (just_before_s <= last_s)]
        start_s = np.concatenate((np.linspace(first_s, last_s, N_SAMPLES), just_before_s))
        earned = work.utility(i, start_s + exec_s) * share_of(world, start_s, exec_s)
        best = max(best, float((earned - cost_of(world, prices, (kind, int(k), p), start_s, exec_s)).max()))
    return best


@each_seed(25)
def test_dense_sampling_finds_as_much_and_no_more(seed: int) -> None:
    world = random_world(seed)
    prices = random_prices(seed, world, level=0.03)
    gains = best_gains(world, prices.per_s, prices.per_j)
    sampled = np.array([sampled_gain(world, prices, i) for i in range(world.workload.n_tasks)])
    assert (gains > 0).sum() > 3
    assert (sampled <= gains + EXACT).all()
    near = 0.15 if world.workload.is_prorated else 0.02  # utility rounded up before the window, or an instant missed
    np.testing.assert_allclose(sampled, gains, atol=near)


@pytest.mark.parametrize("arrival_s", [0.1, 1 / 3, 7.7, 1234.1, 86399.3])
@pytest.mark.parametrize("deadline_s", [20.1, 33.3, 100 / 3])
def test_a_run_may_complete_just_before_a_jump(arrival_s: float, deadline_s: float) -> None:
    """Seconds cost ever less, so the best run ends exactly at the deadline; half a run must pay the dear slot."""
    exec_s, end_s = 0.7, 2 * (arrival_s + deadline_s - 0.35)
    work = simple_workload([arrival_s], shape=step(deadline_s), scale=5.0, end_s=end_s)
    world = World(simple_system([[exec_s]]), work)
    (gain,) = best_gains(world, np.array([[2.0, 1.0]]), 0.0)
    assert gain == pytest.approx(5.0 - 2.0 * 0.35 - 1.0 * 0.35)


def test_by_hand_with_energy_and_a_budget() -> None:
    """The window (5, 25]: a run from 0 to 10 pays for 5 s of energy, but for all its seconds."""
    system, work = simple_system([[10.0]], [3], [[100.0]]), simple_workload([0.0], scale=9.0, start_s=5.0, end_s=25.0)
    prices, per_j = np.array([[0.1, 0.2, 0.3, 0.4, 0.5]]), 0.001
    gain = 9.0 - (0.5 + 1.0) - 0.5
    limited = World(system, work, Supply(50.0))
    assert best_gains(limited, prices, per_j) == pytest.approx([gain])
    assert dual_value(limited, prices, per_j) == pytest.approx(3 * 5 * 1.5 + 0.05 + gain)
    assert dual_value(World(system, work), prices) == pytest.approx(3 * 5 * 1.5 + 9.0 - 1.5)


def test_by_hand_with_a_price_of_energy_for_each_day() -> None:
    """Days of 10 s from 5 s on at 0.001, 0.002 and 0.003 per joule: half a run each in the first two."""
    system, work = simple_system([[10.0]], [3], [[100.0]]), simple_workload([10.0], scale=9.0, start_s=5.0, end_s=28.0)
    world = World(system, work, Supply(50.0, day_s=10.0, pue=2.0))
    per_j = np.array([0.001, 0.002, 0.003])
    assert dual_value(world, np.zeros((1, 1)), per_j) == pytest.approx(0.3 + 9.0 - 2 * (0.5 + 1.0))


def test_by_hand_a_run_counts_by_its_share() -> None:
    """Of a run of 10 s from 16 s on, the 4 s before the end count and pay; one that must end by 12 s has 4 s inside.

    The second begins before the window at 8 s, so that its share counts as the next 64th above 4 of 10.
    """
    system, work = simple_system([[10.0]]), simple_workload([16.0], scale=5.0, start_s=5.0, end_s=20.0)
    world = World(system, dataclasses.replace(work, is_prorated=True))
    assert best_gains(world, np.full((1, 2), 0.1), 0.0) == pytest.approx([5.0 * 0.4 - 0.1 * 4])
    early = simple_workload([0.0], shape=step(12.0), scale=5.0, start_s=8.0, end_s=20.0)
    early_world = World(system, dataclasses.replace(early, is_prorated=True))
    assert best_gains(early_world, np.zeros((1, 1)), 0.0) == pytest.approx([5.0 * 26 / 64])


def test_a_run_starts_with_the_window_or_before_it_to_save_energy() -> None:
    """What runs before the window costs no energy: starting on arrival, 8 of 10 s are free."""
    world = World(simple_system([[10.0]], [1], [[100.0]]), simple_workload([0.0], scale=9.0, start_s=8.0, end_s=90.0))
    assert best_gains(world, np.zeros((1, 3)), 0.01) == pytest.approx([9.0 - 0.01 * 100.0 * 2.0])


def assert_same_bound(world: World, prices: Certificate) -> None:
    first = certified_bound(world, prices)  # rounded up by 1e-9 of itself
    second = dual_value(world, prices.per_s, prices.per_j)
    assert first / (1 + EXACT) == pytest.approx(second, rel=EXACT, abs=EXACT)


@given(markets())
def test_both_evaluations_agree_on_the_grid(market: tuple[World, Certificate]) -> None:
    world, prices = market
    if math.isinf(world.supply.budget_j):
        prices = Certificate(prices.per_s)
    assert_same_bound(world, prices)


@each_seed(60)
def test_both_evaluations_agree_off_the_grid(seed: int) -> None:
    world = random_world(seed, n_tasks=200)
    for level in (0.003, 0.03, 0.3):
        assert_same_bound(world, random_prices(seed, world, level))


@each_seed(30)
def test_both_evaluations_agree_without_an_end(seed: int) -> None:
    world = random_world(seed, n_tasks=60)
    work = dataclasses.replace(world.workload, end_s=math.inf)
    endless = World(world.system, work)
    for level in (0.003, 0.03, 0.3):
        prices = random_prices(seed, World(world.system, world.workload), level)
        assert_same_bound(endless, Certificate(prices.per_s))


@pytest.mark.parametrize("is_prorated", [False, True])
def test_both_evaluations_agree_on_a_crowded_day(is_prorated: bool) -> None:
    world = busy_world()
    work = dataclasses.replace(world.workload, is_prorated=is_prorated)
    for supply in (Supply(), Supply(1e6, is_total=True), Supply(4e5, day_s=3000.0)):
        limited = World(world.system, work, supply)
        assert_same_bound(limited, price_bound(limited).certificate)


def test_what_cannot_be_evaluated_is_refused() -> None:
    for misfit in (np.zeros((2, 1)), np.zeros((1, 0)), np.zeros(1)):
        with pytest.raises(InputError, match="machine types"):
            dual_value(World(simple_system(), simple_workload(end_s=9.0)), misfit)
    with pytest.raises(InputError, match="energy periods"):
        dual_value(World(simple_system(), simple_workload(end_s=9.0)), np.zeros((1, 1)), np.zeros(2))
