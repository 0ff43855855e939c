"""Bags on a GPU: the same points as on cores, and fronts as good."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from joulewise.model.bag import Bag
from joulewise.optimise.bags.problem import BagProblem
from joulewise.optimise.evolution import Engine, evolve
from joulewise.optimise.gpu import gpu_name
from joulewise.worlds.nine_machines import NineMachineParameters, generate_nine_machines

needs_gpu = pytest.mark.skipif(not gpu_name(), reason="needs a CUDA device and CuPy")


def _problem() -> BagProblem:
    system = generate_nine_machines(NineMachineParameters(task_types=12), 0)
    return BagProblem(Bag(system, np.arange(1, 13) * 10))


@pytest.mark.gpu
@needs_gpu
class TestOnTheDevice:
    def test_evaluates_as_cores_do_to_the_last_bit(self) -> None:
        problem = _problem()
        found = evolve(problem, generations=30, population=20, engine="gpu")
        on_cores = problem.chromosomes(found.population.genes.copy())
        on_cores.evaluate(20)
        assert np.array_equal(found.population.points, on_cores.points)
        assert found.engine == f"GPU {gpu_name()}"

    def test_tasks_stay_where_they_can_run(self) -> None:
        problem = _problem()
        place = evolve(problem, generations=50, population=20, engine="gpu").population.genes[0]
        facts = problem.facts
        allowed = [facts.allowed[kind, : facts.n_allowed[kind]] for kind in facts.task_type]
        assert all(np.isin(place[:, i], allowed[i]).all() for i in range(problem.n_genes))

    def test_the_same_seed_gives_the_same_front(self) -> None:
        one, other = (evolve(_problem(), generations=40, population=20, seed=3, engine="gpu") for _ in range(2))
        assert np.array_equal(one.front.points, other.front.points)

    def test_fronts_are_as_good_as_on_cores(self) -> None:
        problem, engines = _problem(), get_args(Engine)[::-1]
        ours, theirs = (evolve(problem, generations=4000, population=40, engine=each).front for each in engines)
        worst = np.concatenate([ours.points, theirs.points]).max(axis=0).tolist()
        assert ours.hypervolume(worst) > 0.8 * theirs.hypervolume(worst)
