"""The genetic algorithm for plans of a facility."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from joulewise.errors import InputError
from joulewise.kernels.facility.genes import breed, measure
from joulewise.model.air import Air
from joulewise.model.facility import Facility
from joulewise.optimise.facility import genetic as facility_genetic
from joulewise.optimise.facility.genetic import _PlanHerd, evolve_plans
from joulewise.optimise.facility.greedy import plan_greedily
from joulewise.study.facility.methods import METHODS, RewardParameters
from joulewise.worlds.facility.site import generate_facility, sized
from tests.strategies.cases import each_seed
from tests.strategies.facility_limits import kept_by
from tests.strategies.random_facilities import random_facility, random_plan

_breed: Any = breed
_measure: Any = measure


def _herd(facility: Facility, population: int = 10, counts_neighbours: bool = True) -> _PlanHerd:
    return _PlanHerd(facility, Air(facility.room), counts_neighbours, population, 0, math.inf)


@pytest.mark.parametrize("counts_neighbours", [True, False])
@each_seed(8)
def test_plans_keep_all_limits_and_are_the_same_for_a_seed(seed: int, counts_neighbours: bool) -> None:
    facility = random_facility(seed)
    air = Air(facility.room)
    found, again = (
        evolve_plans(facility, air, counts_neighbours=counts_neighbours, population=8, generations=30, seed=seed)
        for _ in range(2)
    )
    state = kept_by(facility, air, found.plan)
    assert found.why_stopped == "generations"
    rates = [rate for _, rate in found.history]
    assert rates == sorted(set(rates))
    assert rates[-1] >= state.slowed_reward_per_s * (1 - 1e-9)
    assert not counts_neighbours or rates[-1] == pytest.approx(state.slowed_reward_per_s)
    for name in ("share", "pstate", "supply_c"):
        assert np.array_equal(getattr(found.plan, name), getattr(again.plan, name))


def test_evolution_improves_on_the_first_population_by_what_it_counts() -> None:
    facility = generate_facility(sized("small"), 1, 0)
    for counts_neighbours in (True, False):
        herd = _herd(facility, 20, counts_neighbours)
        herd.settle([])
        first = herd.worth[herd.ranked]
        herd.evolve(150)
        assert herd.worth[herd.ranked[0]] > 1.02 * first[0]
        assert np.median(herd.worth[herd.ranked]) > first[0]
        assert herd.best.worth == herd.worth[herd.ranked[0]]
        kept_by(facility, herd.air, herd.best_plan())


@each_seed(6)
def test_powers_and_rates_kept_along_the_way_are_those_of_all_genes(seed: int) -> None:
    herd = _herd(random_facility(seed))
    herd.settle([random_plan(herd.facility, seed)])
    herd.evolve(40)
    for row in herd.ranked:
        node_w, rate = herd.pool.node_w[row].copy(), herd.pool.rate[row].copy()
        _measure(herd.facts, herd.pool, herd.room, row)
        assert node_w == pytest.approx(herd.pool.node_w[row])
        assert rate == pytest.approx(herd.pool.rate[row], abs=1e-12)


def test_two_children_swap_one_run_of_cores() -> None:
    herd = _herd(random_facility(5, n_nodes=6))
    herd.settle([])
    pool, children = herd.pool, np.array([10, 11])
    for _ in range(20):
        mother, father = _breed(herd.state, herd.facts, pool, herd.room, herd.ranked, children, 1.5, 0.0, 0.0)
        assert mother != father
        for genes in (pool.share, pool.pstate):
            differs = (genes[mother] != genes[father]).any(axis=1)
            swapped = (genes[10] != genes[mother]).any(axis=1)
            assert np.array_equal(swapped, (genes[11] != genes[father]).any(axis=1))
            assert np.array_equal(genes[10][swapped], genes[father][swapped])
            inside = np.flatnonzero(swapped)
            assert not inside.size or swapped[inside[0] : inside[-1] + 1][differs[inside[0] : inside[-1] + 1]].all()


def test_shares_are_cut_to_the_cap_where_the_slowest_is_too_much() -> None:
    herd = _herd(generate_facility(sized("small"), 1, 0), 4)
    herd.settle([])
    assert (herd.pool.pstate[:4] == herd.last_pstate).all()
    assert herd.cooling.excess_w(herd._cool(0)) == pytest.approx(0.0, abs=1e-3 * herd.facility.cap_w)
    kept_by(herd.facility, herd.air, herd.best_plan())


@each_seed(6)
def test_seeds_are_never_lost(seed: int) -> None:
    facility = random_facility(seed)
    air = Air(facility.room)
    good = plan_greedily(facility, air, "apart at prices")
    for plans in ((good.plan,), (random_plan(facility, seed), good.plan)):
        found = evolve_plans(facility, air, population=4, generations=10, seeds=plans, mutation=0.5, gene_mutation=0.1)
        state = kept_by(facility, air, found.plan)
        assert state.slowed_reward_per_s >= good.history[-1][1]
    unchanged = evolve_plans(facility, air, population=2, generations=0, seeds=(good.plan,)).plan
    assert kept_by(facility, air, unchanged).slowed_reward_per_s >= good.history[-1][1]


def test_time_and_the_keyboard_stop_it_with_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    facility = random_facility(2)
    air = Air(facility.room)
    in_no_time = evolve_plans(facility, air, seconds=0.0)
    assert in_no_time.why_stopped == "time"
    kept_by(facility, air, in_no_time.plan)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(facility_genetic, "_breed", interrupted)
    found = evolve_plans(facility, air, population=5)
    assert found.why_stopped == "interrupted"
    kept_by(facility, air, found.plan)
    with pytest.raises(KeyboardInterrupt):  # a study keeps finished runs only
        METHODS["ga"].search(facility, air, RewardParameters(), 0)
    with pytest.raises(InputError, match=r"population: found 1.*\ngene_mutation: found 2"):
        evolve_plans(facility, air, population=1, gene_mutation=2)
