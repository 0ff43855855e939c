"""Annealing of bags: against its slow twin, the bound, and every allocation of tiny bags."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.kernels.bags.search import Bins, Content, CoolingPlan, anneal, pack
from joulewise.kernels.draws import draws_of
from joulewise.model import Bag
from joulewise.optimise.bags.annealing import BagFront, _content, corners_of, improve
from joulewise.optimise.bags.bound import bound_front
from joulewise.optimise.bags.recovery import recovered
from joulewise.optimise.bags.seeds import min_energy
from joulewise.optimise.front import front_of, nadir_reference
from joulewise.rng import generator
from tests.strategies.cases import each_seed
from tests.strategies.random_bags import DRAWS, random_bag, tiny_bag, usual_bag
from tests.strategies.simple_worlds import simple_system
from tests.twins import evolution as genetic
from tests.twins.bags import search as twin
from tests.twins.draws import Draws

_anneal: Any = anneal
_pack: Any = pack


def whole_bins(rng: np.random.Generator, n_bins: int, n_types: int, n_pstates: int) -> tuple[Bins, Content]:
    """Bins of which all loads, energies and penalties are whole numbers, with something in them."""
    shape = (n_bins, n_types * n_pstates)
    load_s, extra_j = rng.integers(1, 6, shape).astype(float), rng.integers(0, 9, shape).astype(float)
    impossible = rng.random((n_bins, n_types)).repeat(n_pstates, axis=1) < 0.2
    load_s[impossible] = extra_j[impossible] = math.inf
    content = _content(*shape)
    content.counts[:] = rng.integers(0, 4, shape) * ~impossible
    limit_s, per_s2 = rng.integers(0, 12, n_bins).astype(float), rng.integers(1, 4, n_bins).astype(float)
    return Bins(load_s, extra_j, np.arange(n_bins), limit_s, per_s2, n_pstates), content


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 4), st.integers(1, 3))
def test_every_move_is_that_of_the_twin(seed: int, n_bins: int, n_types: int, n_pstates: int) -> None:
    rng = generator(seed, "tests.annealing")
    bins, content = whole_bins(rng, n_bins, n_types, n_pstates)
    state, cooling = draws_of(rng), CoolingPlan(150, 20.0, 0.5, -math.inf)
    slow = twin.Annealing(bins, content.counts.copy(), Draws(int(state[0])))
    best = slow.run(cooling)
    cost = _anneal(state, bins, content, cooling)
    assert int(state[0]) == slow.draws.state
    assert content.counts.tolist() == slow.counts.tolist()
    assert content.best.tolist() == best.tolist()
    assert cost == twin.cost_of(bins, best)


def test_what_moves_add_up_to_is_what_all_tasks_add_up_to() -> None:
    rng = generator(0, "tests.annealing.sums")
    bins, content = whole_bins(rng, 5, 6, 2)
    bins = bins._replace(load_s=bins.load_s * rng.uniform(0.5, 2.0), extra_j=bins.extra_j * math.pi)
    tasks = content.counts.reshape(5, 6, 2).sum(axis=(0, 2)).tolist()
    cost = _anneal(draws_of(rng), bins, content, CoolingPlan(50_000, 20.0, 0.1, -math.inf))
    assert cost == pytest.approx(twin.cost_of(bins, content.best), rel=1e-9)
    assert content.busy_s.tolist() == pytest.approx(twin.loads(bins, content.counts), rel=1e-9)
    for counts in (content.counts, content.best):
        assert counts.reshape(5, 6, 2).sum(axis=(0, 2)).tolist() == tasks
        assert (counts >= 0).all()


def test_packing_keeps_groups_apart_and_stops_when_all_fit() -> None:
    load_s = np.array([[3.0, 5.0, 7.0], [2.0, 4.0, 6.0]])
    content = _content(5, 3)
    content.counts[:] = [[4, 0, 0], [0, 2, 2], [2, 1, 0], [3, 3, 3], [0, 0, 0]]
    before = content.counts.copy()
    bins = Bins(load_s, np.zeros_like(load_s), np.array([0, 0, 0, 1, 1]), np.full(5, 19.0), np.ones(5), 1)
    _pack(draws_of(generator(1, "tests.pack")), bins, content, CoolingPlan(5000, 5.0, 0.1, 0.0), np.array([0, 3, 5]))
    for group in (slice(0, 3), slice(3, 5)):
        assert content.best[group].sum(axis=0).tolist() == before[group].sum(axis=0).tolist()
    assert max(twin.loads(bins, content.best)) <= 19.0


@pytest.mark.parametrize(("seed", "kind"), [(seed, kind) for seed in range(4) for kind in DRAWS])
def test_fronts_are_of_the_bag_and_never_below_the_bound(seed: int, kind: str) -> None:
    bag = random_bag(100 + seed, kind)
    bound = bound_front(bag)
    front = improve(bag, bound, [min_energy(bag)], moves=200_000, seed=seed)
    for point, gap_j, allocation in zip(front.points, front.gap_j, front.payload):
        assert point.tolist() == pytest.approx([allocation.makespan_s, allocation.energy_j], rel=1e-12)
        assert allocation.counts.sum(axis=(0, 2)).tolist() == bag.counts.tolist()
        assert gap_j == pytest.approx(point[1] - bound.energy_at(max(point[0], bound.least_makespan_s)), abs=1e-9)
        assert gap_j >= 0.0
        assert point[0] >= bound.least_makespan_s * (1 - 1e-12)
    assert front.points.tolist() == front_of(front.points).points.tolist()


@each_seed(6)
def test_fronts_of_tiny_bags_are_nearly_exact(seed: int) -> None:
    bag = tiny_bag(seed, "real")
    task_types = [task_type for task_type, n in enumerate(bag.counts) for _ in range(n)]
    all_genes = product(*(genetic.allowed(bag, task_type) for task_type in task_types))
    best = front_of(np.array([genetic.evaluate(bag, list(genes)) for genes in all_genes]))
    reference = nadir_reference(best.points)
    found = improve(bag, bound_front(bag), moves=2_000_000)
    assert found.hypervolume(reference) >= 0.98 * best.hypervolume(reference)
    assert found.hypervolume(reference) <= best.hypervolume(reference) * (1 + 1e-12)


def test_annealing_closes_most_of_what_recovery_leaves() -> None:
    bag = usual_bag(n_tasks=7200)
    bound = bound_front(bag)
    corners = corners_of(bound)
    reference = nadir_reference(corners)
    plain = front_of(np.array([(a.makespan_s, a.energy_j) for a in recovered(bag, bound, 100)]))
    found = improve(bag, bound, moves=4_000_000)
    assert 1 - found.share_of(corners, reference) < 0.5 * (1 - plain.share_of(corners, reference))


def improved(bag: Bag | None = None, **options: object) -> BagFront:
    bag = bag or random_bag(7, "real", most_tasks=20)
    return improve(bag, bound_front(bag), **options)  # type: ignore[arg-type]


def test_so_many_moves_and_a_seed_give_the_same_front() -> None:
    one, other = improved(moves=300_000, seed=2), improved(moves=300_000, seed=2)
    assert one.is_deterministic
    assert one.n_moves == 300_000
    assert one.points.tolist() == other.points.tolist()
    assert [a.counts.tolist() for a in one.payload] == [a.counts.tolist() for a in other.payload]


def test_the_clock_stops_it_and_it_says_so() -> None:
    stopped = improved(moves=10**12, seconds=0.05)
    assert not stopped.is_deterministic
    assert 0 < stopped.n_moves < 10**12


def test_seeds_stay_on_the_front_unless_beaten() -> None:
    bag = random_bag(7, "real", most_tasks=20)
    seeds = [min_energy(bag)]
    front = improve(bag, bound_front(bag), seeds, moves=0)
    point = (seeds[0].makespan_s, seeds[0].energy_j)
    assert front.dominates(point) or any(row.tolist() == pytest.approx(point) for row in front.points)


def test_a_machine_alone_has_one_allocation() -> None:
    system = simple_system([[3.0], [5.0]], power_w=[[20.0], [10.0]])
    front = improved(Bag(system, np.array([4, 2])), moves=100_000)
    assert front.points.tolist() == [[22.0, 340.0]]
    assert front.gap_j.tolist() == front.gap_percent.tolist() == [0.0]


def test_wrong_stops_are_refused() -> None:
    for options in ({"moves": -1}, {"seconds": 0.0}, {"seconds": math.nan}):
        with pytest.raises(InputError, match="annealing"):
            improved(**options)
