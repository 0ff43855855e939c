"""Full allocations of bags: exactly rounding and longest tasks first, at a cost that does not depend on size."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.check.bags.allocation import check_bag
from joulewise.errors import InputError
from joulewise.model import Bag
from joulewise.optimise.bags.bound import bound_front
from joulewise.optimise.bags.recovery import Recovery, places_along, recover, recovered
from tests.strategies.random_bags import DRAWS, random_bag, system_of, usual_bag
from tests.twins.bags.bag import longest_first, round_split

seeds = st.integers(0, 10**6)
kinds = st.sampled_from(sorted(DRAWS))


@given(seeds, kinds, st.sampled_from([5, 200]), st.sampled_from([1, 9]), st.floats(0.0, 1.0))
def test_recovery_equals_its_twin(seed: int, kind: str, most_tasks: int, most_machines: int, share: float) -> None:
    bag = random_bag(seed, kind, most_tasks, most_machines)
    front, recovery = bound_front(bag), Recovery(bag)
    vertex = seed % len(front)
    split = front.split(vertex, share if vertex + 1 < len(front) else 0.0)
    found, ready = recovery.allocation(split), recovery.bench.ready
    system, n_pstates = bag.system, bag.system.n_pstates
    whole = round_split(split.reshape(bag.counts.size, -1), bag.counts).reshape(split.shape)
    assert (found.split == whole).all()
    ticks = recovery.lengths.ticks.reshape(split.shape)
    for j, n_machines in enumerate(system.counts):
        cells = [(i, p) for i in range(bag.counts.size) for p in range(n_pstates) for _ in range(whole[i, j, p])]
        if cells:
            given_, done = longest_first([(int(ticks[i, j, p]), i * n_pstates + p) for i, p in cells], int(n_machines))
            machines = np.flatnonzero(system.machine_type == j)
            assert ready[machines].tolist() == [at - min(done) for at in done]
            for machine, expected in zip(machines, given_):
                flat = found.counts[machine].ravel()
                assert {int(choice): int(flat[choice]) for choice in np.flatnonzero(flat)} == expected


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(0, 40)), min_size=1, max_size=6), st.integers(1, 7))
def test_equal_lengths_go_to_machines_in_order(tasks: list[tuple[int, int]], n_machines: int) -> None:
    counts = np.array([n for _, n in tasks])
    counts[0] += 1
    etc_s = np.array([[[float(ticks)]] for ticks, _ in tasks])
    bag = Bag(system_of(np.array([n_machines]), etc_s, np.ones_like(etc_s)), counts)
    found = recover(bag, counts[:, None, None].astype(float))
    given_, _ = longest_first([(t, i) for i, (t, _) in enumerate(tasks) for _ in range(counts[i])], n_machines)
    assert [{i: int(n) for i, n in enumerate(row[:, 0]) if n} for row in found.counts] == given_


def test_almost_whole_counts_as_whole() -> None:
    bag = Bag(system_of(np.array([1, 1]), np.ones((1, 2, 1)), np.ones((1, 2, 1))), np.array([6]))
    for split in ([2.9999999, 3.0000001], [3.4, 2.6], [2.5, 3.5]):
        found = recover(bag, np.array(split)[None, :, None])
        assert found.split[0, :, 0].tolist() == [3, 3]


@given(seeds, kinds)
def test_every_recovered_allocation_is_valid_and_above_the_bound(seed: int, kind: str) -> None:
    bag = random_bag(seed, kind, most_tasks=50)
    front = bound_front(bag)
    for allocation in recovered(bag, front, 3):
        assert check_bag(allocation) == []
        assert allocation.energy_j >= front.energy_at(allocation.makespan_s * (1 + 1e-9)) * (1 - 1e-9)


@pytest.mark.parametrize("n_tasks", [10**6, 10**12, 10**15])
def test_a_task_a_billion_times_longer_does_no_harm(n_tasks: int) -> None:
    """Lengths of 1 s and of 1e9 s: nothing is rounded away, and time is that of the tasks on the machines."""
    etc_s, counts = np.array([[[1.0], [1.1]], [[1e9], [3e9]]]), np.array([n_tasks, 40])
    bag = Bag(system_of(np.array([5, 7]), etc_s, np.full((2, 2, 1), 10.0)), counts)
    front, recovery = bound_front(bag), Recovery(bag)
    for vertex in range(len(front)):
        found = recovery.allocation(front.split(vertex))
        assert check_bag(found) == []
        assert recovery.bench.busy_s.max() == pytest.approx(found.makespan_s, rel=1e-15)
        assert found.makespan_s <= front.makespan_s[vertex] + 3e9


@pytest.mark.parametrize("n_tasks", [10**12, 10**15])
def test_machines_of_huge_bags_are_balanced(n_tasks: int) -> None:
    front = bound_front(usual_bag(n_tasks=n_tasks))
    found = recover(front.bag, front.split(len(front) - 1))
    assert found.makespan_s == pytest.approx(front.least_makespan_s, rel=1e-9)


def test_places_are_vertices_and_points_evenly_between() -> None:
    front = bound_front(usual_bag(n_types=6, n_machine_types=3))
    vertex, share = places_along(front, 10)
    assert vertex[share == 0].tolist() == list(range(len(front)))
    assert share.size == len(front) + 10
    assert ((share >= 0) & (share < 1)).all()
    assert (np.diff(vertex + share) > 0).all()
    assert places_along(front, 0, len(front) - 1).vertex.tolist() == [len(front) - 1]


@pytest.mark.parametrize("n_tasks", [1, 10_000, 10**8, 2**53 - 1])
def test_any_number_of_tasks(n_tasks: int) -> None:
    bag = usual_bag(n_tasks=n_tasks)
    front = bound_front(bag)
    allocation = recover(bag, front.split(len(front) // 2))
    assert check_bag(allocation) == []
    assert allocation.makespan_s <= front.makespan_s[len(front) // 2] + 3 * bag.exec_s.max()


def test_more_tasks_per_machine_are_closer_to_the_bound() -> None:
    gaps = []
    for n_tasks in (1_000, 10_000, 100_000):
        front = bound_front(usual_bag(n_tasks=n_tasks))
        gaps.append(recover(front.bag, front.split(len(front) - 1)).makespan_s / front.least_makespan_s - 1)
    assert gaps[0] > gaps[1] > gaps[2] > 0


def test_splits_that_are_none() -> None:
    bag = random_bag(5, "real")
    split = bound_front(bag).split(0)
    wrong = {"shape": split[:-1], "sum": split * 1.1, "0 or more": split - 1.0, "sums": split * math.nan}
    for message, tried in wrong.items():
        with pytest.raises(InputError, match=message):
            recover(bag, tried)
    impossible = Bag(system_of(np.array([1, 0]), np.ones((1, 2, 1)), np.ones((1, 2, 1))), np.array([2]))
    with pytest.raises(InputError, match="cannot be made"):
        recover(impossible, np.array([[[1.0], [1.0]]]))
