"""The GPU engine: the same evaluations, the same selection, the same seed the same front; what it says without one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from joulewise.errors import InputError
from joulewise.kernels import dominance
from joulewise.model import World
from joulewise.optimise import gpu
from joulewise.optimise.assignments.gpu import AssignmentEvaluator
from joulewise.optimise.assignments.problem import AssignmentProblem
from joulewise.optimise.assignments.stochastic import StochasticProblem
from joulewise.optimise.evolution import evolve
from joulewise.worlds.assignments.chances import ChanceParameters, gamma_chances
from joulewise.worlds.assignments.known import KnownParameters, generate_known
from joulewise.worlds.environment import SystemParameters, generate_system

_select: Any = dominance.select
needs_gpu = pytest.mark.skipif(not gpu.gpu_name(), reason="needs a CUDA device and CuPy")
AIMS = (
    ("percentile", "sampled"),
    ("percentile", "expected"),
    ("expected", "sampled"),
    ("mean-completions", "expected"),
    ("mean-times", "sampled"),
)


def _world() -> World:
    """Few machines and many tasks, several P-states, special-purpose machine types."""
    parameters = SystemParameters(
        task_types=12, special_task_types=4, special_counts=(1, 1), general_counts=(2, 2, 1),
        special_per_machine_type=(2, 2), pstates=3,
    )  # fmt: skip
    system = generate_system(parameters, 0, 0)
    return World(system, generate_known(KnownParameters(n_tasks=300, span_s=3600.0), system, 0, 0))


def _problem(objective: Any = "percentile", drop_by: Any = "sampled", **more: Any) -> StochasticProblem:
    world = _world()
    chances = gamma_chances(world.system, ChanceParameters(), 0, 0)
    return StochasticProblem(world, chances, objective=objective, drop_by=drop_by, **more)


@pytest.mark.skipif(bool(gpu.gpu_name()), reason="for machines without a GPU")
def test_without_a_gpu_the_engine_says_what_to_do() -> None:
    with pytest.raises(InputError, match="install joulewise"):
        evolve(AssignmentProblem(_world()), generations=1, population=4, engine="gpu")


@pytest.mark.gpu
@needs_gpu
class TestOnTheDevice:
    @pytest.mark.parametrize(("objective", "drop_by"), AIMS)
    def test_evaluates_as_cores_do(self, objective: str, drop_by: str) -> None:
        problem = _problem(objective, drop_by)
        found = evolve(problem, generations=20, population=20, engine="gpu")
        on_cores = problem.chromosomes(found.population.genes.copy())
        on_cores.evaluate(20)
        np.testing.assert_allclose(found.population.points, on_cores.points, rtol=2e-5)

    @pytest.mark.parametrize("n_samples", [1, 3, 100, 130, 1000])
    def test_any_number_of_samples(self, n_samples: int) -> None:
        problem = _problem(n_samples=n_samples, percentile=(90, 10))
        found = evolve(problem, generations=2, population=6, engine="gpu")
        on_cores = problem.chromosomes(found.population.genes.copy())
        on_cores.evaluate(6)
        np.testing.assert_allclose(found.population.points, on_cores.points, rtol=2e-5)

    def test_without_chances_there_is_one_sample(self) -> None:
        problem = AssignmentProblem(_world(), drop_below=0.5)
        found = evolve(problem, generations=50, population=20, engine="gpu")
        on_cores = problem.chromosomes(found.population.genes.copy())
        on_cores.evaluate(20)
        np.testing.assert_allclose(found.population.points, on_cores.points, rtol=2e-5)
        assert found.engine == f"GPU {gpu.gpu_name()}"

    @pytest.mark.parametrize("n_rows", [4, 20, 200, 800])
    @pytest.mark.parametrize("n_values", [3, 50, 10**6])
    @pytest.mark.parametrize("by_dominators", [False, True])
    def test_selects_as_cores_do(self, n_rows: int, n_values: int, by_dominators: bool) -> None:
        points = np.random.default_rng(n_rows).integers(0, n_values, (n_rows, 2)).astype(float)
        kept, freed = np.zeros((2, n_rows // 2), np.int64)
        _select(points, by_dominators, dominance.room_to_sort(n_rows), kept, freed)
        parents, children = _selected(points, by_dominators)
        assert (parents.tolist(), children.tolist()) == (kept.tolist(), freed.tolist())

    def test_children_are_made_of_two_parents_and_stay_possible(self) -> None:
        problem = _problem()
        found = evolve(problem, generations=30, population=10, engine="gpu")
        place = found.population.genes[0]
        kind = problem.world.workload.task_type
        assert np.isfinite(problem.facts.exec_s[kind, problem.facts.choice[place]]).all()

    def test_the_same_seed_gives_the_same_front(self) -> None:
        one, other = (evolve(_problem(), generations=40, population=20, seed=3, engine="gpu") for _ in range(2))
        assert np.array_equal(one.front.points, other.front.points)
        assert np.array_equal(one.population.genes, other.population.genes)

    def test_going_on_is_as_if_there_had_been_no_stop(self) -> None:
        whole = evolve(_problem(), generations=30, population=20, engine="gpu")
        half = evolve(_problem(), generations=10, population=20, engine="gpu").population
        rest = evolve(_problem(), generations=20, start=half, engine="gpu")
        assert np.array_equal(whole.front.points, rest.front.points)
        assert np.array_equal(whole.population.genes, rest.population.genes)

    def test_rows_that_do_not_fit_at_once_wait(self, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = evolve(_problem(), generations=10, population=20, engine="gpu")
        monkeypatch.setattr(AssignmentEvaluator, "_chunk", lambda _self, _n: 7)
        parts = evolve(_problem(), generations=10, population=20, engine="gpu")
        assert np.array_equal(whole.front.points, parts.front.points)

    def test_an_archive_that_fills_up_grows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = evolve(_problem("expected"), generations=60, population=20, engine="gpu")
        monkeypatch.setattr(gpu, "_ARCHIVE_ROOM", 1)
        monkeypatch.setattr(gpu, "_ARCHIVE_SPARE", 1)
        grown = evolve(_problem("expected"), generations=60, population=20, engine="gpu")
        assert np.array_equal(whole.front.points, grown.front.points)

    def test_the_archive_dominates_the_last_population(self) -> None:
        found = evolve(_problem("expected"), generations=60, population=20, engine="gpu")
        worst = found.front.points
        for point in found.population.points:
            assert ((worst <= point).all(axis=1)).any()

    def test_too_little_memory_says_what_to_change(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import cupy

        def no_room(*_: object) -> None:
            raise cupy.cuda.memory.OutOfMemoryError(1, 1)

        monkeypatch.setattr(gpu, "_GpuArchive", no_room)
        with pytest.raises(InputError, match="fewer samples"):
            evolve(_problem(), generations=1, population=4, engine="gpu")

    def test_populations_too_large_for_one_block_are_refused(self) -> None:
        with pytest.raises(InputError, match="population"):
            evolve(_problem(), generations=1, population=1000, engine="gpu")


def _selected(points: Any, by_dominators: bool) -> tuple[Any, Any]:
    """Which rows the device keeps, and which it frees."""
    import cupy

    problem = AssignmentProblem(_world())
    start = evolve(problem, generations=0, population=len(points) // 2).population
    pool, archive = gpu.GpuPool(problem.places, start), gpu._GpuArchive(start, keeps=False)
    pool.points = cupy.asarray(points)
    archive._settle(pool, pool.parents, gpu._SELECT, 1, by_dominators)
    return pool.next_parents.get(), pool.next_children.get()
