"""The bound on utility at every energy: valid at any prices, against dense sampling, all assignments and searches."""

from __future__ import annotations

import dataclasses
import json
import math
from functools import cache

import numpy as np
import pytest

from joulewise.check.assignments.assignment import certified_utility_front
from joulewise.errors import InputError
from joulewise.model import World, linear, step
from joulewise.model.arrays import Floats
from joulewise.model.assignment import from_begin
from joulewise.optimise.assignments.annealing import search_front
from joulewise.optimise.assignments.bound import UtilityBound, front_bound
from joulewise.optimise.assignments.prices import Auction
from joulewise.optimise.assignments.problem import ENERGY_UTILITY, assignment_facts, evaluated
from joulewise.optimise.assignments.seeds import SEEDS
from joulewise.optimise.front import Front, front_of
from joulewise.rng import generator
from joulewise.worlds.assignments.known import KnownParameters, generate_known
from joulewise.worlds.nine_machines import NineMachineParameters, generate_nine_machines
from tests.strategies.cases import each_seed
from tests.strategies.random_assignments import KINDS, later, random_assignment, random_world, tiny_world
from tests.strategies.simple_worlds import simple_system, simple_workload
from tests.twins.assignments.evaluation import exact_front

EXACT = 1e-9
DROPS = (0.0, 0.5, 2.0)
N_SLOTS = 7


@cache
def crowded_world() -> World:
    """300 tasks that come to nine machines in a minute, far more than they can do in time."""
    system = generate_nine_machines(NineMachineParameters(), 3)
    return World(system, generate_known(KnownParameters(n_tasks=300, span_s=60.0), system, 3, 0))


@cache
def crowded_bound(drop_below: float) -> UtilityBound:
    return front_bound(crowded_world(), drop_below)


def random_prices(seed: int, auction: Auction) -> tuple[Floats, float]:
    """Prices of machine time, some of them 0, and one of energy."""
    rng = generator(seed, "tests.assignment_bound")
    shape = auction.first_guess.shape
    per_s = auction.typical * rng.exponential(1.0, shape) * (rng.random(shape) < 0.8)
    energy_j = float(auction.energy_j.mean()) or 1.0
    return per_s, float(rng.choice([0.0, 0.1, 1.0, 10.0])) / energy_j


@pytest.mark.parametrize("drop_below", DROPS)
@pytest.mark.parametrize("seed", range(2, 5))
def test_no_assignment_of_a_tiny_world_is_above_any_line(seed: int, drop_below: float) -> None:
    world = tiny_world(seed, KINDS[seed % len(KINDS)])
    energy_j, loss = exact_front(world, drop_below).points.T
    auction = Auction(world, drop_below, N_SLOTS)
    for prices in range(10):
        per_s, per_j = random_prices(prices, auction)
        assert (-loss - per_j * energy_j).max() <= auction.proven(per_s, per_j)
    bound = front_bound(world, drop_below)
    assert all(-lost <= bound.utility_at(used_j) for used_j, lost in zip(energy_j, loss, strict=True))


@pytest.mark.parametrize("drop_below", DROPS)
@each_seed(12)
def test_both_evaluations_agree_at_any_prices(seed: int, drop_below: float) -> None:
    """On any day too: where utilities jump, the check does not look at an instant before."""
    world = later(random_world(seed, KINDS[seed % len(KINDS)]), (seed % 3) * 2.0**31)
    auction = Auction(world, drop_below, N_SLOTS)
    for prices in range(4):
        per_s, per_j = random_prices(prices, auction)
        value, off, _ = auction.answer(per_s, per_j)
        (second,) = certified_utility_front(world, per_j, per_s[None], auction.slot_s, drop_below)
        assert value == pytest.approx(second, rel=EXACT, abs=off)


def test_runs_of_almost_whole_slots_pay_for_all_of_them() -> None:
    """64 equal tasks; by rounding, the time of each is one unit in the last place less than two slots."""
    work = simple_workload([0.0] * 64, shape=linear(64 * 13.331))
    world = World(simple_system([[13.331]], [1], [[1.0]]), work)
    auction = Auction(world, 0.0, 200)
    assert 13.331 / auction.slot_s == np.nextafter(2.0, 0.0)
    value, off, _ = auction.answer(auction.first_guess, 0.0)
    proven = certified_utility_front(world, 0.0, auction.first_guess[None], auction.slot_s)
    assert value == pytest.approx(proven[0], abs=off)


def sampled(world: World, auction: Auction, per_s: Floats, per_j: float, i: int) -> tuple[Floats, Floats]:
    """What a task earns and gains from many starts of all its options; prices are summed slot by slot."""
    options, work = auction.bidders.options, world.workload
    edges_s = np.append(np.arange(N_SLOTS + 1) * auction.slot_s, np.inf)
    earned, gained = [], []
    for option in range(*options.first[work.task_type[i] : work.task_type[i] + 2]):
        exec_s, prices = options.exec_s[option], np.append(per_s[options.machine_type[option]], 0.0)
        start_s = work.arrival_s[i] + np.linspace(0.0, 1.1 * N_SLOTS * auction.slot_s, 600)
        inside_s = np.minimum(start_s[:, None] + exec_s, edges_s[1:]) - np.maximum(start_s[:, None], edges_s[:-1])
        utility = work.utility(i, start_s + exec_s)
        earned.append(utility)
        gained.append(utility - np.maximum(inside_s, 0.0) @ prices - per_j * auction.energy_j[option])
    return np.concatenate(earned), np.concatenate(gained)


@pytest.mark.parametrize("drop_below", DROPS)
@each_seed(6)
def test_no_sampled_run_gains_more_than_the_answer(seed: int, drop_below: float) -> None:
    world = from_begin(random_world(seed, "real"))
    auction = Auction(world, drop_below, N_SLOTS)
    per_s, per_j = random_prices(seed, auction)
    auction.answer(per_s, per_j)
    gain = auction.choices[0]
    for i in range(world.workload.n_tasks):
        earned, gained = sampled(world, auction, per_s, per_j, i)
        most = np.where(earned >= drop_below, gained, -np.inf).max()
        most = max(most, 0.0) if drop_below > 0 else most
        assert most <= gain[i] + EXACT


@pytest.mark.parametrize("drop_below", DROPS)
@each_seed(12)
def test_an_answer_is_what_its_run_gains(seed: int, drop_below: float) -> None:
    """Tight: the run that is named, an instant sooner where utility jumps, gains what is said and is not dropped."""
    world = from_begin(random_world(seed, KINDS[seed % len(KINDS)]))
    auction, work = Auction(world, drop_below, N_SLOTS), world.workload
    per_s, per_j = random_prices(seed, auction)
    auction.answer(per_s, per_j)
    edges_s, paid = np.arange(N_SLOTS + 1) * auction.slot_s, np.cumsum(np.pad(per_s, ((0, 0), (1, 0))), axis=1)
    for i, (gain, option, start_s) in enumerate(zip(*auction.choices, strict=True)):
        if option < 0:
            assert drop_below > 0
            assert gain == 0
            continue
        end_s = start_s + auction.bidders.options.exec_s[option]
        row = auction.slot_s * paid[auction.bidders.options.machine_type[option]]
        pays = float(np.diff(np.interp([start_s, end_s], edges_s, row))[0]) + per_j * auction.energy_j[option]
        earned = float(work.utility(i, end_s * (1 - 1e-12)))
        assert start_s >= work.arrival_s[i]
        assert earned >= drop_below * (1 - 1e-8)
        assert gain == pytest.approx(earned - pays, rel=1e-8, abs=1e-8)


@pytest.mark.thorough("takes seconds; others look at less of it")
@pytest.mark.parametrize("drop_below", DROPS)
def test_no_search_is_above_the_bound(drop_below: float) -> None:
    world = crowded_world()
    bound, facts = crowded_bound(drop_below), assignment_facts(world, drop_below)
    tried = [make(world, drop_below) for make in SEEDS.values()]
    tried += search_front(world, drop_below=drop_below, moves=6000).payload
    tried += [random_assignment(world, seed, is_complete=drop_below == 0) for seed in range(20)]
    points = evaluated(facts, tried)
    assert all(-lost <= bound.utility_at(used_j) for used_j, lost in points)
    assert 0.5 < bound.share(front_of(points, (), ENERGY_UTILITY)) < 1.0


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_machine_time_has_prices_where_it_is_scarce() -> None:
    """The bound is below what tasks would earn if each had a machine for itself."""
    world = crowded_world()
    bound = crowded_bound(0.0)
    free = Auction(world, 0.0, 1).proven(np.zeros((world.system.n_machine_types, 1)), 0.0)
    assert bound.utility_at(math.inf) == bound.value[0] < 0.99 * free


def test_where_nothing_is_scarce_the_bound_is_what_can_be_had() -> None:
    """A task on the fast machine earns 3 of 4 for 40 J, on the slow one 2 for 10 J: a line between these."""
    system = simple_system([[1.0, 2.0]], [2, 2], [[40.0, 5.0]])
    bound = front_bound(World(system, simple_workload([0.0, 9.0], shape=linear(4.0), scale=4.0)))
    assert (bound.least_j, bound.most_utility, bound.reference) == (20.0, 8.0, (36.0, 0.0))
    assert bound.utility_at(20.0) == pytest.approx(4.0, rel=1e-3)
    assert bound.utility_at(80.0) == pytest.approx(6.0, rel=1e-3)
    assert bound.utility_at(36.0) == pytest.approx(4.0 + 2.0 * 16 / 60, rel=0.02)


def test_what_would_be_dropped_earns_nothing() -> None:
    """Of one machine, the second task completes too late to count; alone, either could be all there is."""
    world = World(simple_system([[5.0]], [1], [[1.0]]), simple_workload([0.0, 0.0], shape=step(9.0), scale=0.4))
    assert front_bound(world, 0.5).utility_at(100.0) == pytest.approx(0.0, abs=1e-6)
    late = World(simple_system([[5.0]], [1], [[1.0]]), simple_workload([0.0, 0.0], shape=linear(20.0)))
    one, both = front_bound(late, 0.6), front_bound(late, 0.4)
    assert one.utility_at(10.0) < 1.1 < 1.25 <= both.utility_at(10.0)


@pytest.fixture(params=DROPS)
def bound(request: pytest.FixtureRequest) -> UtilityBound:
    return crowded_bound(request.param)


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_points_are_the_lowest_of_the_lines(bound: UtilityBound) -> None:
    at_j, loss = bound.points.T
    assert at_j[0] == bound.from_j == (bound.least_j if bound.drop_below == 0 else 0.0)
    assert at_j[-1] == bound.reference[0] == 1.8 * bound.least_j
    some_j = np.linspace(at_j[0], at_j[-1], 2000)
    lowest = [bound.utility_at(energy_j) for energy_j in some_j]
    np.testing.assert_allclose(np.interp(some_j, at_j, -loss), lowest, rtol=EXACT)
    assert bound.hypervolume == pytest.approx(np.trapezoid(lowest, some_j), rel=1e-4)
    assert bound.hypervolume < bound.area
    reached = Front(ENERGY_UTILITY, np.unique(np.column_stack((some_j, np.negative(lowest))), axis=0))
    assert 0.98 < bound.share(reached) <= 1.0


def test_prices_prove_the_lines(bound: UtilityBound) -> None:
    stored = UtilityBound.from_json(json.loads(json.dumps(bound.as_json())))
    prices = (stored.per_j, stored.per_s, stored.slot_s, stored.drop_below)
    proven = certified_utility_front(crowded_world(), *prices)
    assert (proven <= bound.value).all()
    np.testing.assert_allclose(proven, bound.value, rtol=1e-7)
    np.testing.assert_array_equal(stored.points, bound.points)


def test_the_same_world_has_the_same_bound_on_any_day() -> None:
    world = later(random_world(5), 0.0)
    one, same, late = (front_bound(each) for each in (world, world, later(world, 2.0**31)))
    assert one.as_json() == same.as_json()
    np.testing.assert_allclose(late.points, one.points, rtol=EXACT)


def test_worlds_without_energy_or_worth_have_a_bound() -> None:
    free = World(simple_system([[1.0]], [1], [[0.0]]), simple_workload([0.0, 0.0], shape=linear(4.0)))
    worthless = World(simple_system([[1.0]], [1], [[2.0]]), simple_workload([0.0, 0.0], scale=0.0))
    assert front_bound(free).utility_at(0.0) == pytest.approx(0.75 + 0.5, rel=0.02)
    assert front_bound(worthless).utility_at(4.0) == pytest.approx(0.0, abs=1e-12)
    for world in (free, worthless):
        bound = front_bound(world)
        assert bound.hypervolume == 0.0
        facts = assignment_facts(world)
        front = front_of(evaluated(facts, [SEEDS["min-energy"](world, 0.0)]), (), ENERGY_UTILITY)
        assert bound.share(front) in (0.0, 1.0)


def test_what_is_no_bound_is_refused(bound: UtilityBound) -> None:
    for wrong in ({"per_j": [-1.0]}, {"per_s": bound.per_s - 1.0}, {"value": bound.value[:-1]}, {"slot_s": 0.0}):
        with pytest.raises(InputError, match="bound"):
            dataclasses.replace(bound, **wrong)
    with pytest.raises(InputError, match="window"):
        front_bound(World(simple_system([[1.0]], [1], [[1.0]]), simple_workload(end_s=9.0)))
