"""NSGA-II: against its slow twin generation by generation, and on bags of which much is known."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting

from benchmarks.peers import BagOfTasks
from joulewise.errors import InputError
from joulewise.kernels.dominance import room_to_sort, select
from joulewise.model import Bag
from joulewise.model.arrays import Floats
from joulewise.optimise.bags.bound import bound_front
from joulewise.optimise.bags.problem import BagProblem
from joulewise.optimise.bags.seeds import min_energy, min_min_completion_time
from joulewise.optimise.evolution import Evolution, Herd, evolve, founders
from joulewise.optimise.front import front_of, nadir_reference
from joulewise.optimise.ways import Ways
from joulewise.rng import generator
from tests.strategies.cases import each_seed
from tests.strategies.evolving import grouped
from tests.strategies.random_bags import DRAWS, random_bag, tiny_bag
from tests.twins import evolution as twin
from tests.twins.draws import Draws

_select: Any = select
SEEDS = st.integers(0, 10**6)


def whole_bag(seed: int) -> Bag:
    """A bag of which all times and energies are whole numbers."""
    bag = random_bag(seed, "whole", most_tasks=4, most_machines=2)
    return Bag(bag.system, bag.counts, is_off_when_done=True)


def herd_of(bag: Bag, n: int, seed: int, ways: Ways) -> Herd:
    problem = BagProblem(bag)
    return Herd(problem, founders(problem, [min_energy(bag)], n, seed), ways)


def selected(points: list[tuple[int, int]], n_kept: int, by_dominators: bool) -> tuple[list[int], list[int]]:
    kept, freed = np.zeros(n_kept, np.int64), np.zeros(len(points) - n_kept, np.int64)
    _select(np.array(points, float), by_dominators, room_to_sort(len(points)), kept, freed)
    return kept.tolist(), freed.tolist()


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=40), SEEDS, st.booleans())
def test_survivors_are_those_of_the_twin(points: list[tuple[int, int]], seed: int, by_dominators: bool) -> None:
    n_kept = 1 + seed % (len(points) - 1)
    rows = {row: (float(x), float(y)) for row, (x, y) in enumerate(points)}
    assert selected(points, n_kept, by_dominators) == twin.select(rows, n_kept, by_dominators)


def test_fronts_are_peeled_as_pymoo_does() -> None:
    points = generator(1, "tests.genetic").integers(0, 30, (60, 2)).astype(float)
    sorting = room_to_sort(60)
    _select(points, False, sorting, np.zeros(60, np.int64), np.zeros(0, np.int64))
    for rank, rows in enumerate(NonDominatedSorting().do(points)):
        assert np.flatnonzero(sorting.rank == rank).tolist() == sorted(rows)


@given(SEEDS, st.sampled_from([2, 6, 12]), st.sampled_from([0.0, 0.5, 1.0]), st.booleans())
def test_every_generation_is_that_of_the_twin(seed: int, n: int, mutation: float, by_dominators: bool) -> None:
    bag = whole_bag(seed)
    herd = herd_of(bag, n, seed, Ways(mutation, "dominators" if by_dominators else "peeling"))
    genes = herd.chromosomes.genes[0]
    slow = twin.Herd({row: genes[row].tolist() for row in range(n)}, list(range(n)), list(range(n, 2 * n)))
    for row in range(n):
        twin.remember(slow.archive, twin.evaluate(bag, slow.genes[row]), slow.genes[row])
    draws = Draws(int(herd.state[0]))
    for _ in range(6):
        herd.step()
        twin.step(bag, slow, draws, mutation, by_dominators)
        assert herd.parents.tolist() == slow.parents
        assert {row: genes[row].tolist() for row in range(2 * n)} == slow.genes
        assert herd.archive is not None
        slots = herd.archive.order[: herd.archive.size[0]]
        assert [tuple(point) for point in herd.archive.points[slots].tolist()] == sorted(slow.archive)
        assert herd.archive.genes[0, slots].tolist() == [slow.archive[point] for point in sorted(slow.archive)]


@pytest.mark.parametrize(("seed", "kind"), list(enumerate(DRAWS)))
def test_points_are_those_of_their_allocations(seed: int, kind: str) -> None:
    bag = random_bag(seed, kind)
    problem = BagProblem(bag)
    front = evolve(problem, [min_energy(bag), min_min_completion_time(bag)], generations=150, population=20).front
    for point, allocation in zip(front.points, front.payload):
        assert point.tolist() == pytest.approx([allocation.makespan_s, allocation.energy_j], rel=1e-12)
        assert allocation.counts.sum(axis=(0, 2)).tolist() == bag.counts.tolist()
        assert problem.payload(problem.genes_of(allocation)).counts.tolist() == allocation.counts.tolist()
    bound = bound_front(bag)
    for makespan_s, energy_j in front.points:
        assert makespan_s >= bound.least_makespan_s * (1 - 1e-9)
        assert energy_j >= bound.energy_at(max(makespan_s, bound.least_makespan_s)) * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_front_of_a_tiny_bag_is_the_exact_one(seed: int) -> None:
    bag = tiny_bag(seed, "real")
    task_types = [task_type for task_type, n in enumerate(bag.counts) for _ in range(n)]
    all_genes = product(*(twin.allowed(bag, task_type) for task_type in task_types))
    best = front_of(np.array([twin.evaluate(bag, list(genes)) for genes in all_genes]))
    found = evolve(BagProblem(bag), generations=300, population=20, seed=seed).front
    assert found.points == pytest.approx(best.points, rel=1e-12)


def test_the_peer_in_the_benchmark_solves_the_same_problem() -> None:
    bag = random_bag(5, "real", most_tasks=20)
    problem = BagProblem(bag)
    genes = problem.random_genes(generator(2, "tests.genetic.peer"), 8)
    home, seen = problem.chromosomes(genes.copy()), dict[str, Floats]()
    home.evaluate(8)
    BagOfTasks(bag)._evaluate(genes[0].astype(np.int64), seen)
    assert seen["F"] == pytest.approx(home.points, rel=1e-12)


def evolved(**options: object) -> Evolution:
    bag = random_bag(5, "real", most_tasks=20)
    return evolve(BagProblem(bag), [min_energy(bag)], **grouped(**{"generations": 60, "population": 10} | options))


def test_evolution_is_deterministic_and_its_snapshots_are_fronts_on_the_way() -> None:
    one, other = evolved(snapshots=(0, 20, 60), seed=3), evolved(seed=3)
    assert one.is_deterministic
    assert one.front.points.tolist() == other.front.points.tolist() == one.snapshots[60].points.tolist()
    assert set(one.snapshots) == {0, 20, 60}
    assert evolved(generations=20, seed=3).front.points.tolist() == one.snapshots[20].points.tolist()
    reference = nadir_reference(one.snapshots[0].points)
    areas = [one.snapshots[generation].hypervolume(reference) for generation in (0, 20, 60)]
    assert areas == sorted(areas)
    assert evolved(seed=4).front.points.tolist() != one.front.points.tolist()


def test_without_an_archive_the_final_population_is_the_front() -> None:
    bag = random_bag(5, "real", most_tasks=20)
    herd = herd_of(bag, 10, 0, Ways(archive=False))
    for _ in range(60):
        herd.step()
    population = herd.chromosomes.points[herd.parents]
    assert evolved(archive=False).front.points.tolist() == front_of(population).points.tolist()
    reference = nadir_reference(population)
    assert evolved().front.hypervolume(reference) >= evolved(archive=False).front.hypervolume(reference)


def test_progress_is_told_and_the_clock_stops() -> None:
    told: list[int] = []
    evolved(on_progress=told.append)
    assert told[-1] == 60
    assert evolved().engine == "one core"
    stopped = evolved(generations=10**9, seconds=0.05)
    assert not stopped.is_deterministic
    assert 0 < stopped.n_generations < 10**9


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"population": 7}, "even"),
        ({"population": 1}, "even"),
        ({"population": 0}, "hold the 1 seeds"),
        ({"generations": -1}, "generations"),
        ({"mutation": 1.5}, "probability"),
        ({"mutation": float("nan")}, "probability"),
        ({"seed": -1}, "seed"),
        ({"seconds": 0.0}, "seconds"),
        ({"ranks": "peel"}, "peeling"),
        ({"engine": "core"}, "did you mean 'cores'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, object], word: str) -> None:
    with pytest.raises(InputError, match=word):
        evolved(**options)


def test_bags_of_too_many_tasks_are_refused() -> None:
    bag = random_bag(0, "whole")
    counts = bag.counts.copy()
    counts[np.argmax(counts)] = 200_000
    with pytest.raises(InputError, match="at most"):
        BagProblem(Bag(bag.system, counts))


# --- seeds ------------------------------------------------------------------------------------------------


def slow_min_min(bag: Bag) -> list[tuple[int, int, float]]:
    """(task type, machine, completion) of every task, one by one."""
    system, tasks = bag.system, [i for i, n in enumerate(bag.counts) for _ in range(n)]
    free_s, mapped = [0.0] * system.n_machines, []
    while tasks:
        completion_s, task_type, machine = min(
            (free_s[m] + bag.exec_s[i, system.machine_type[m]].min(), i, m)
            for i in sorted(set(tasks))
            for m in range(system.n_machines)
        )
        tasks.remove(task_type)
        free_s[machine] = completion_s
        mapped.append((task_type, machine, completion_s))
    return mapped


@each_seed(12)
def test_min_min_maps_task_by_task(seed: int) -> None:
    bag = whole_bag(seed)
    mapped, counts = slow_min_min(bag), np.zeros((bag.system.n_machines, bag.counts.size), np.int64)
    for task_type, machine, _ in mapped:
        counts[machine, task_type] += 1
    found = min_min_completion_time(bag)
    assert found.counts.sum(axis=2).tolist() == counts.tolist()
    assert found.makespan_s == max(completion_s for _, _, completion_s in mapped)


@each_seed(12)
def test_min_energy_takes_the_least_energy_above_idle(seed: int) -> None:
    bag = random_bag(seed, "real")
    found = min_energy(bag)
    least_j = sum(n * bag.extra_j[i].min() for i, n in enumerate(bag.counts))
    assert found.energy_j - bag.total_idle_w * found.makespan_s == pytest.approx(least_j, rel=1e-12)
    assert found.counts.sum(axis=(0, 2)).tolist() == bag.counts.tolist()
