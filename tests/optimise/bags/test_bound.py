"""The bound of a bag: proven by its own prices, equal to HiGHS and to the published program, below every allocation."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from joulewise.check.bags.allocation import certified_front
from joulewise.errors import InputError, JoulewiseError
from joulewise.kernels.linear import REASONS
from joulewise.model import Bag
from joulewise.model.arrays import Floats
from joulewise.optimise.bags import bound as bag_bound
from joulewise.optimise.bags.bound import BoundFront, bound_at, bound_front, region
from joulewise.optimise.bags.recovery import recover
from joulewise.optimise.bags.swept import GaveUpError
from tests.strategies.cases import cases, each_seed
from tests.strategies.random_bags import DRAWS, random_bag, system_of, tiny_bag, usual_bag
from tests.twins.bags.bag import all_allocations

EXACT = 1e-11
seeds = st.integers(0, 10**6)
kinds = st.sampled_from(sorted(DRAWS))


def close(expected: Any, relative: float = EXACT) -> Any:
    return pytest.approx(expected, rel=relative, abs=1e-300)


def weights_of(front: BoundFront) -> Floats:
    """Weights at every vertex and beside it."""
    weight_w = front.weight_w[:-1]
    return np.concatenate((weight_w, 0.7 * weight_w, 1.4 * weight_w + 1e-3))


def published(bag: Bag, weight_w: float) -> float:
    """The least energy + weight x makespan by equations 2 to 5, as they are printed."""
    system, cells = bag.system, np.argwhere(np.isfinite(bag.exec_s))
    n, n_machines = len(cells), np.maximum(system.counts, 1)
    assert system.power_w is not None
    exec_s = np.array([bag.exec_s[tuple(cell)] for cell in cells])
    power_w = np.array([system.power_w[tuple(cell)] for cell in cells])
    finish = np.zeros((n_machines.size, n + 1))
    finish[cells[:, 1], np.arange(n)] = exec_s / n_machines[cells[:, 1]]
    energy = np.append(power_w * exec_s, 0.0) - (system.counts * bag.idle_w) @ finish
    energy[-1] += bag.total_idle_w + weight_w
    finish[:, -1] = -1.0
    all_run = np.zeros((bag.counts.size, n + 1))
    all_run[cells[:, 0], np.arange(n)] = 1.0
    found = linprog(energy, finish, np.zeros(n_machines.size), all_run, bag.counts, method="highs")
    return float(found.fun)


@given(seeds, kinds)
def test_prices_prove_every_vertex(seed: int, kind: str) -> None:
    front = bound_front(random_bag(seed, kind), "sweep")
    prices = [front.duals(k) for k in range(len(front) + 1)]
    proven = certified_front(front.bag, front.weight_w, *map(np.array, zip(*prices)))
    at_weight = front.extra_j + front.weight_w[:-1] * front.makespan_s
    assert proven[:-1] == close(at_weight)
    assert proven[-1] == close(front.least_makespan_s)


@pytest.mark.parametrize("seed", [0, 1, 41, 44, 57])
def test_prices_prove_vertices_of_very_wide_data(seed: int) -> None:
    """What the sweep has not the accuracy for (here, the last three) its own prices tell, and HiGHS does it."""
    rng = np.random.default_rng(seed)
    etc_s, power_w = (10.0 ** rng.uniform(-span, span, (12, 5, 1)) for span in (8.0, 4.0))
    bag = Bag(system_of(np.full(5, 4), etc_s, power_w), rng.integers(1, 10**4, 12))
    front = bound_front(bag)
    prices = [front.duals(k) for k in range(len(front))]
    proven = certified_front(bag, front.weight_w[:-1], *map(np.array, zip(*prices)))
    assert proven == close(front.extra_j + front.weight_w[:-1] * front.makespan_s, 1e-9)


def test_what_prices_do_not_prove_is_not_told() -> None:
    front = bound_front(usual_bag(n_types=6, n_machine_types=3), "highs")
    unpriced = replace(front, price_per_s=np.zeros_like(front.price_per_s))
    with pytest.raises(JoulewiseError, match="cannot be proven"):
        bag_bound._raise_if_unproven(unpriced)


def test_prices_with_other_costs_are_those_of_these_costs() -> None:
    bag = random_bag(3, "real")
    front = bound_front(bag, cost_j=2.0 * bag.extra_j)
    task_price, machine_price = front.duals(len(front) - 1)
    proven = certified_front(bag, front.weight_w[-2] / 2, task_price / 2, machine_price / 2)
    assert 2 * proven[0] == close(front.value_at(front.weight_w[-2]))
    with pytest.raises(InputError, match="other costs"):
        front.raise_if_not_of(bag)


@given(seeds, kinds)
def test_splits_reach_what_vertices_say(seed: int, kind: str) -> None:
    front = bound_front(random_bag(seed, kind), "sweep")
    bag, machines = front.bag, np.maximum(front.bag.system.counts, 1)
    possible = np.isfinite(bag.exec_s)
    for k in range(len(front)):
        split = front.split(k)
        assert (split >= 0).all()
        assert not split[~possible].any()
        assert split.sum(axis=(1, 2)) == close(bag.counts)
        load_s = np.where(possible, split * np.where(possible, bag.exec_s, 0), 0).sum(axis=(0, 2))
        assert (load_s / machines).max() == close(front.makespan_s[k])
        assert (split[possible] * bag.extra_j[possible]).sum() == close(front.extra_j[k])


@given(seeds, kinds)
def test_vertices_are_in_order_and_convex(seed: int, kind: str) -> None:
    front = bound_front(random_bag(seed, kind), "sweep")
    assert front.weight_w[0] == 0
    assert front.weight_w[-1] == math.inf
    assert (np.diff(front.weight_w) > 0).all()
    assert (np.diff(front.makespan_s) < 0).all()
    assert (np.diff(front.extra_j) > 0).all()
    slope_w = -np.diff(front.extra_j) / np.diff(front.makespan_s)
    assert slope_w == close(front.weight_w[1:-1], 1e-3)


@given(seeds, st.sampled_from(["whole", "equal columns", "equal rows", "real"]))
def test_highs_finds_the_same_front(seed: int, kind: str) -> None:
    bag = random_bag(seed, kind)
    ours, theirs = bound_front(bag, "sweep"), bound_front(bag, "highs")
    for weight_w in np.concatenate((weights_of(ours), weights_of(theirs))):
        assert ours.value_at(weight_w) == close(theirs.value_at(weight_w))
    for name in ("extra_j", "makespan_s"):
        both = getattr(ours, name), getattr(theirs, name)
        assert both[0][[0, -1]] == close(both[1][[0, -1]])
    prices = [theirs.duals(k) for k in range(len(theirs) + 1)]
    proven = certified_front(bag, theirs.weight_w, *map(np.array, zip(*prices)))
    assert proven[-1] == close(theirs.least_makespan_s, 1e-9)
    assert proven[:-1] == close(theirs.extra_j + theirs.weight_w[:-1] * theirs.makespan_s, 1e-9)


@given(seeds, st.sampled_from(["whole", "real"]), st.sampled_from([0.0, 0.3, 10.0]))
def test_it_is_the_published_program(seed: int, kind: str, weight_w: float) -> None:
    bag = random_bag(seed, kind)
    expected = close(published(bag, weight_w), 1e-9)
    assert bound_front(bag).value_at(weight_w + bag.total_idle_w) == expected


@given(seeds, kinds, st.sampled_from([0.0, 0.3, 10.0, 1e6]), st.sampled_from(["sweep", "highs"]))
def test_one_weight_alone(seed: int, kind: str, weight_w: float, engine: Any) -> None:
    bag = random_bag(seed, kind)
    found, front = bound_at(bag, weight_w, engine), bound_front(bag)
    assert found.extra_j + weight_w * found.makespan_s == close(front.value_at(weight_w), 1e-8)
    assert found.split.sum(axis=(1, 2)) == close(bag.counts, 1e-8)


@cases(divided_by=10)
@given(seeds, kinds)
def test_best_allocations_lie_between_bound_and_recovery(seed: int, kind: str) -> None:
    small = tiny_bag(seed, kind)
    every = np.array([(a.energy_j, a.makespan_s) for a in all_allocations(small)])
    front = bound_front(small)
    assert every[:, 0].min() >= front.least_energy_j * (1 - EXACT)
    assert every[:, 1].min() >= front.least_makespan_s * (1 - EXACT)
    for energy_j, makespan_s in every:
        assert energy_j >= front.energy_at(makespan_s * (1 + EXACT)) * (1 - EXACT)
    for k in range(len(front)):
        found, weight_w = recover(small, front.split(k)), front.weight_w[k]
        best = (every[:, 0] + weight_w * every[:, 1]).min()
        assert found.energy_j + weight_w * found.makespan_s >= best * (1 - EXACT)


def test_front_of_two_machines_by_hand() -> None:
    # 6 tasks of 1 s: 1 J on a machine of the first type, 3 J on one of the second, which idles at 1 W.
    system = system_of(np.array([1, 1]), np.ones((1, 2, 1)), np.array([[[1.0], [4.0]]]), np.array([0.0, 1.0]))
    front = bound_front(Bag(system, np.array([6])))
    assert front.extra_j.tolist() == [6.0, 12.0]
    assert front.makespan_s.tolist() == [6.0, 3.0]
    assert front.energy_j.tolist() == [12.0, 15.0]
    assert front.weight_w.tolist() == [0.0, 2.0, math.inf]
    assert front.split(0, 0.5)[0, :, 0].tolist() == [4.5, 1.5]
    assert front.energy_at(4.5) == 13.5
    assert front.energy_at(100.0) == 12.0
    assert front.energy_at(2.9) == math.inf
    assert front.pareto == slice(0, 2)
    assert region(front.bag, 5.0).tolist() == [[13.0, 5.0], [15.0, 3.0], [21.0, 5.0]]
    assert region(front.bag, 8.0).tolist() == [[14.0, 8.0], [12.0, 6.0], [15.0, 3.0], [24.0, 6.0], [26.0, 8.0]]


def test_slow_vertices_are_off_the_front_when_idle_power_is_high() -> None:
    system = system_of(np.array([1, 1]), np.ones((1, 2, 1)), np.array([[[5.0], [6.0]]]), np.array([5.0, 5.0]))
    front = bound_front(Bag(system, np.array([6])))
    assert len(front) == 2
    assert front.pareto == slice(1, 2)
    assert front.least_energy_j == front.energy_j[1] < front.energy_j[0]


@pytest.mark.parametrize("engine", ["sweep", "highs"])
def test_the_first_vertex_has_the_least_makespan_of_the_cheapest(engine: Any) -> None:
    system = system_of(np.array([1, 2, 0]), np.full((2, 3, 1), 3.0), np.full((2, 3, 1), 7.0))
    front = bound_front(Bag(system, np.array([4, 0])), engine)
    assert front.makespan_s == close([4.0])
    assert front.extra_j == close([84.0])


@given(seeds, kinds)
def test_region_holds_every_split(seed: int, kind: str) -> None:
    bag = random_bag(seed, kind)
    front = bound_front(bag)
    longest_s = 1.5 * front.makespan_s[0]
    corners = region(bag, longest_s)
    rng = np.random.default_rng(seed)
    possible = np.isfinite(bag.exec_s)
    for _ in range(5):
        share = np.where(possible, rng.exponential(1.0, bag.exec_s.shape) ** 4, 0.0)
        split = share / share.sum(axis=(1, 2), keepdims=True) * bag.counts[:, None, None]
        load_s = (split * np.where(possible, bag.exec_s, 0.0)).sum(axis=(0, 2))
        makespan_s = float((load_s / np.maximum(bag.system.counts, 1)).max())
        energy_j = float((split * np.where(possible, bag.extra_j, 0.0)).sum() + bag.total_idle_w * makespan_s)
        if makespan_s <= longest_s:
            after = np.roll(corners, -1, axis=0) - corners
            beside = np.array([energy_j, makespan_s]) - corners
            cross = after[:, 0] * beside[:, 1] - after[:, 1] * beside[:, 0]
            assert (cross >= -1e-9 * np.ptp(corners[:, 0]) * np.ptp(corners[:, 1]) - 1e-9 * energy_j * makespan_s).all()


@each_seed(10)
def test_both_engines_find_the_same_region(seed: int) -> None:
    bag = random_bag(seed, "real")
    longest_s = 1.2 * float(bound_front(bag).makespan_s[0])
    ours, theirs = region(bag, longest_s, "sweep"), region(bag, longest_s, "highs")
    assert ours.shape == theirs.shape
    assert ours.ravel() == close(theirs.ravel(), 1e-9)


def test_size_of_the_bag_changes_nothing_but_scale() -> None:
    few = usual_bag()
    many = Bag(few.system, 10_000 * few.counts)
    small, large = bound_front(few), bound_front(many)
    assert large.makespan_s == close(10_000 * small.makespan_s)
    assert large.weight_w[:-1] == close(small.weight_w[:-1], 1e-9)


def test_a_front_travels() -> None:
    front = pickle.loads(pickle.dumps(bound_front(usual_bag(n_types=5, n_machine_types=3))))
    assert front.split(1).sum(axis=(1, 2)) == close(front.bag.counts)


def test_what_a_user_can_get_wrong() -> None:
    bag = random_bag(1, "real")
    with pytest.raises(InputError, match=r"engine.*sweep"):
        bound_front(bag, "simplex")  # type: ignore[arg-type]
    for weight_w in (-1.0, math.nan, math.inf):
        with pytest.raises(InputError, match="weight_w"):
            bound_at(bag, weight_w)
    for longest_s in (0.0, math.nan, math.inf):
        with pytest.raises(InputError, match="least makespan"):
            region(bag, longest_s)


def test_where_the_sweep_gives_up_highs_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    bag = random_bag(3, "real")
    expected = bound_front(bag).makespan_s

    def give_up(*_: object) -> None:
        raise GaveUpError("too wide")

    monkeypatch.setattr(bag_bound, "sweep_bag", give_up)
    front = bound_front(bag)
    assert front.makespan_s == close(expected, 1e-9)
    assert front.why_highs == "too wide"
    assert bound_front(bag, "highs").why_highs == ""
    assert bound_at(bag, 10.0).makespan_s >= expected[-1] * (1 - 1e-9)
    with pytest.raises(JoulewiseError, match="too wide; engine 'highs'"):
        bound_front(bag, "sweep")


def test_a_sweep_that_gives_up_says_why() -> None:
    """Times 16 orders of magnitude apart leave a sweep no digits."""
    rng = np.random.default_rng(41)
    etc_s, power_w = (10.0 ** rng.uniform(-span, span, (12, 5, 1)) for span in (8.0, 4.0))
    bag = Bag(system_of(np.full(5, 4), etc_s, power_w), rng.integers(1, 10**4, 12))
    with pytest.raises(GaveUpError) as error:
        bound_front(bag, "sweep")
    assert error.value.reason in REASONS.values()
    assert bound_front(bag).why_highs == error.value.reason
    assert pickle.loads(pickle.dumps(error.value)).reason == error.value.reason


def test_single_points_of_large_bags_go_to_highs(monkeypatch: pytest.MonkeyPatch) -> None:
    bag = random_bag(3, "real")
    expected = bound_at(bag, 10.0)
    monkeypatch.setattr(bag_bound, "MOST_CHOICES_TO_SWEEP", 1)
    monkeypatch.setattr(bag_bound, "sweep_bag", None)
    assert bound_at(bag, 10.0)[:2] == close(expected[:2], 1e-9)
