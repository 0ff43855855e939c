"""The second evaluation of the price bound: against dense sampling, by hand at jumps, and against the first."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings

from joulewise.check.prices import best_gains, dual_value
from joulewise.errors import InputError
from joulewise.model import Segment, Shape, System, UtilityShapes, Workload, World, constant, linear, piecewise, step
from joulewise.model.arrays import Floats
from joulewise.optimise.prices import Certificate, certified_bound, price_bound
from joulewise.rng import generator
from tests.simple_worlds import busy_world, simple_system, simple_workload
from tests.test_prices import markets

EXACT = 1e-9
N_SAMPLES = 4000


def jump(at_s: float) -> Shape:
    """Falls exponentially, jumps, and falls on."""
    return Shape(f"jump {at_s}", (Segment(0.0, 0.6, 0.4, 1 / at_s), Segment(at_s, 0.0, 0.3, 0.5 / at_s)))


def random_world(seed: int, n_tasks: int = 12) -> World:
    """Times that lie on no grid, few machines, and utilities of which most jump."""
    rng = generator(seed, "tests.check_prices")
    etc_s = np.cumsum(rng.uniform(1.0, 40.0, (3, 3, 2)), axis=2)
    etc_s[rng.random((3, 3)) < 0.2] = math.inf
    etc_s[:, 0] = np.where(np.isfinite(etc_s[:, 0]), etc_s[:, 0], 17.3 * np.array([1.0, 1.9]))
    power_w = rng.uniform(10.0, 90.0, etc_s.shape)
    system = System(("a", "b", "c"), ("x", "y", "z"), np.array([2, 0, 1]), etc_s, power_w)
    lines = piecewise([(0.0, 1.0), (31.7, 0.8), (31.7, 0.5), (77.9, 0.1)])
    shapes = [constant(), linear(83.1), step(rng.uniform(5, 90)), step(50.3), jump(rng.uniform(5, 90)), lines]
    arrival_s, kind = np.sort(rng.uniform(0.0, 150.0, n_tasks)), rng.integers(0, 3, n_tasks, np.int32)
    shape = rng.integers(0, len(shapes), n_tasks, np.int32)
    scale, hold_s = rng.uniform(0.5, 8.0, n_tasks), rng.uniform(0.0, 30.0, n_tasks)
    table = UtilityShapes.of([s._replace(name=f"{i}") for i, s in enumerate(shapes)])
    return World(system, Workload(arrival_s, kind, shape, scale, hold_s, table, rng.uniform(0, 60), 201.7))


def random_prices(seed: int, n_machine_types: int, level: float) -> Certificate:
    rng = generator(seed, "tests.check_prices.prices")
    shape = (n_machine_types, int(rng.integers(1, 20)))
    per_s = rng.exponential(level, shape) * (rng.random(shape) < 0.8)
    return Certificate(per_s, float(rng.choice([0.0, 1e-4])))


def sampled_gain(world: World, prices: Certificate, i: int) -> float:
    """The most task i gains over many completions, among them the last instant before each jump."""
    system, work, shapes = world.system, world.workload, world.workload.shapes
    best, kind = 0.0, work.task_type[i]
    jumps_s = shapes.start_s[shapes.first[work.shape[i]] : shapes.first[work.shape[i] + 1]]
    for k, p in itertools.product(np.flatnonzero(system.counts), range(system.n_pstates)):
        exec_s = float(system.etc_s[kind, k, p])
        soonest_s = max(work.arrival_s[i] + exec_s, work.start_s + 1e-9)
        if soonest_s > work.end_s:
            continue
        just_before_s = work.arrival_s[i] + work.hold_s[i] + jumps_s - 1e-10
        just_before_s = just_before_s[(just_before_s >= soonest_s) & (just_before_s <= work.end_s)]
        end_s = np.concatenate((np.linspace(soonest_s, work.end_s, N_SAMPLES), just_before_s))
        paid = paid_by(world, prices, int(k), end_s, exec_s)
        assert system.power_w is not None
        paid += prices.per_j * system.power_w[kind, k, p] * (end_s - np.maximum(end_s - exec_s, work.start_s))
        best = max(best, float((work.utility(i, end_s) - paid).max()))
    return best


def paid_by(world: World, prices: Certificate, k: int, end_s: Floats, exec_s: float) -> Floats:
    """The price of each slot times the seconds of the run in it."""
    edges_s = np.linspace(0.0, world.workload.end_s, prices.per_s.shape[1] + 1)
    ends, begins = end_s[:, None], end_s[:, None] - exec_s
    inside_s = np.minimum(ends, edges_s[1:]) - np.maximum(begins, edges_s[:-1])
    return np.asarray((np.maximum(inside_s, 0.0) * prices.per_s[k]).sum(axis=1))


@pytest.mark.parametrize("seed", range(25))
def test_dense_sampling_finds_as_much_and_no_more(seed: int) -> None:
    world = random_world(seed)
    prices = random_prices(seed, 3, level=0.03)
    gains = best_gains(world, prices.per_s, prices.per_j)
    sampled = np.array([sampled_gain(world, prices, i) for i in range(world.workload.n_tasks)])
    assert (gains > 0).sum() > 3
    assert (sampled <= gains + EXACT).all()
    np.testing.assert_allclose(sampled, gains, atol=0.02)  # a sample misses the best instant by 0.05 s at most


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
    world = World(simple_system([[10.0]], [3], [[100.0]]), simple_workload([0.0], scale=9.0, start_s=5.0, end_s=25.0))
    prices, per_j = np.array([[0.1, 0.2, 0.3, 0.4, 0.5]]), 0.001
    gain = 9.0 - (0.5 + 1.0) - 0.5
    assert best_gains(world, prices, per_j) == pytest.approx([gain])
    assert dual_value(world, prices, per_j, budget_j=50.0) == pytest.approx(3 * 5 * 1.5 + 0.05 + gain)
    assert dual_value(world, prices) == pytest.approx(3 * 5 * 1.5 + 9.0 - 1.5)


def test_a_run_starts_with_the_window_or_before_it_to_save_energy() -> None:
    """What runs before the window costs no energy: starting on arrival, 8 of 10 s are free."""
    world = World(simple_system([[10.0]], [1], [[100.0]]), simple_workload([0.0], scale=9.0, start_s=8.0, end_s=90.0))
    assert best_gains(world, np.zeros((1, 3)), 0.01) == pytest.approx([9.0 - 0.01 * 100.0 * 2.0])


def assert_same_bound(world: World, prices: Certificate, budget_j: float) -> None:
    first = certified_bound(world, prices, budget_j)  # rounded up by 1e-9 of itself
    second = dual_value(world, prices.per_s, prices.per_j, budget_j)
    assert first / (1 + EXACT) == pytest.approx(second, rel=EXACT, abs=EXACT)


@settings(max_examples=200, deadline=None)
@given(markets())
def test_both_evaluations_agree_on_the_grid(market: tuple[World, Certificate]) -> None:
    assert_same_bound(*market, budget_j=100.0)


@pytest.mark.parametrize("seed", range(60))
def test_both_evaluations_agree_off_the_grid(seed: int) -> None:
    for level in (0.003, 0.03, 0.3):
        assert_same_bound(random_world(seed, n_tasks=200), random_prices(seed, 3, level), 1e5)


def test_both_evaluations_agree_on_a_crowded_day() -> None:
    world = busy_world()
    assert_same_bound(world, price_bound(world).certificate, math.inf)
    assert_same_bound(world, price_bound(world, budget_j=1e6).certificate, 1e6)


def test_what_cannot_be_evaluated_is_refused() -> None:
    with pytest.raises(InputError, match="without an end"):
        dual_value(World(simple_system(), simple_workload()), np.zeros((1, 1)))
    for misfit in (np.zeros((2, 1)), np.zeros((1, 0)), np.zeros(1)):
        with pytest.raises(InputError, match="machine types"):
            dual_value(World(simple_system(), simple_workload(end_s=9.0)), misfit)
