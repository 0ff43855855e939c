"""The bound of tasks that may be preempted: both evaluations agree, and no schedule in pieces beats any prices."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given

from joulewise.check.tasks.prices import best_gains, dual_value
from joulewise.model import System, World
from joulewise.model.arrays import Floats
from joulewise.model.supply import Supply
from joulewise.optimise.bounds import utility_ceiling
from joulewise.optimise.price_market import Certificate
from joulewise.optimise.tasks.prices import certified_bound, market_of, price_bound
from joulewise.rng import generator
from tests.optimise.tasks.test_prices import EXACT, exec_s_of, markets, overlap_s, period_edges_s, tiny_work
from tests.strategies.cases import each_seed

LAST_S = 11


@given(markets())
def test_both_evaluations_agree_and_pieces_gain_no_less(market: tuple[World, Certificate]) -> None:
    world, prices = market
    _, answer = market_of(world, preempts=True).answer(prices)
    again = best_gains(world, prices.per_s, prices.per_j, preempts=True)
    np.testing.assert_allclose(answer.gain, again, rtol=EXACT, atol=EXACT)
    _, whole = market_of(world).answer(prices)
    assert world.workload.is_prorated or (whole.gain <= answer.gain + EXACT).all()


def tiny_world(seed: int) -> World:
    """Three tasks on two machines of two P-states, times in whole seconds, with a warm-up and limits in turn."""
    rng = generator(seed, "tests.pieces.tiny")
    etc_s = np.sort(2.0 * rng.integers(1, 3, (2, 2, 2)), axis=2)
    system = System(("a", "b"), ("x", "y"), np.array([1, 1]), etc_s, rng.integers(2, 9, etc_s.shape).astype(float))
    work = tiny_work(rng, seed)
    supply = Supply(float(rng.choice([20.0, 40.0, math.inf])), bool(seed % 5 == 0), [3.0, 6.0, 2.5][seed % 3], pue=1.2)
    return World(system, work, supply)


def best_in_pieces(world: World) -> float:
    """The most utility of any schedule in whole seconds, each task by one choice, that keeps machines and budget."""
    work, system, edges_s = world.workload, world.system, period_edges_s(world)
    assert system.power_w is not None
    runs: list[list[tuple[float, int, Floats, Floats]]] = [[] for _ in range(3)]
    for i, k, p in itertools.product(range(3), range(2), range(2)):
        n, power_w = round(exec_s_of(world, i, k, p)), system.power_w[work.task_type[i], k, p]
        for seconds in itertools.combinations(range(int(work.arrival_s[i]), LAST_S), n):
            at_s = np.array(seconds, float)
            end_s = at_s[-1] + 1.0
            inside = overlap_s(np.array([work.start_s, work.end_s]), at_s, at_s + 1.0).mean()
            share = inside if work.is_prorated else work.in_window(end_s)
            earned = float(work.utility(i, end_s)) * float(share)
            if earned > 0:
                used_j = world.supply.pue * power_w * overlap_s(edges_s, at_s, at_s + 1.0).sum(axis=0)
                runs[i].append((earned, k, at_s.astype(int), used_j))
    for each in runs:
        each.sort(key=lambda run: -run[0])
    return _best_from(runs, np.ones((2, LAST_S), int), np.full(edges_s.size - 1, world.supply.budget_j))


def _best_from(runs: list[list[tuple[float, int, Floats, Floats]]], left: Floats, left_j: Floats) -> float:
    if not runs:
        return 0.0
    best, others = _best_from(runs[1:], left, left_j), sum(rest[0][0] for rest in runs[1:] if rest)
    for earned, k, at, used_j in runs[0]:
        if earned + others <= best:
            break
        if (left[k, at] > 0).all() and (used_j <= left_j + 1e-9).all():
            left[k, at] -= 1
            best = max(best, earned + _best_from(runs[1:], left, left_j - used_j))
            left[k, at] += 1
    return best


@pytest.mark.thorough("takes seconds; others look at less of it")
@each_seed(24)
def test_no_schedule_in_pieces_of_a_tiny_world_beats_any_prices(seed: int) -> None:
    world, rng = tiny_world(seed), np.random.default_rng(seed)
    best, n_periods = best_in_pieces(world), period_edges_s(world).size - 1
    for _ in range(30):
        per_s = rng.exponential(0.3, (2, 5)) * (rng.random((2, 5)) < 0.8)
        prices = Certificate(per_s, rng.exponential(0.05, n_periods) * (rng.random(n_periods) < 0.8))
        bound = certified_bound(world, prices, preempts=True)
        assert bound >= best - EXACT
        np.testing.assert_allclose(bound, dual_value(world, prices.per_s, prices.per_j, preempts=True), rtol=2 * EXACT)
    found = price_bound(world, preempts=True)
    assert best - EXACT <= found.value <= utility_ceiling(world) * (1 + 2 * EXACT) + EXACT
