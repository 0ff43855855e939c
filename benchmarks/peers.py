"""Other projects' algorithms on our problems, to measure ours against: pymoo's NSGA-II with the same operators."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.core.crossover import Crossover
from pymoo.core.mutation import Mutation
from pymoo.core.problem import Problem
from pymoo.operators.selection.rnd import RandomSelection
from pymoo.optimize import minimize

from joulewise.model.arrays import Floats
from joulewise.model.bag import Bag, BagAllocation
from joulewise.optimise.genetic import BagProblem

Genes = NDArray[np.int64]


class PeerEvolution(NamedTuple):
    """What pymoo found in the final population, and how fast it went."""

    points: Floats
    generations_per_s: float


class BagOfTasks(Problem):  # type: ignore[misc]
    """A bag for pymoo: one variable per task, the place (machine and P-state) that runs it; evaluated in numpy."""

    def __init__(self, bag: Bag) -> None:
        self.bag, self.facts = bag, BagProblem(bag).facts
        n_places = self.facts.cost.shape[1]
        super().__init__(n_var=bag.n_tasks, n_obj=2, xl=0, xu=n_places - 1, vtype=int)
        self.exec_s = self.facts.cost[self.facts.task_type, :, 0] * self.facts.tick_s
        self.extra_j = self.facts.cost[self.facts.task_type, :, 1] * self.facts.tick_j
        self.tasks = np.arange(bag.n_tasks)

    def _evaluate(self, x: Genes, out: dict[str, Any], *_: Any, **__: Any) -> None:
        n_rows, n_machines = len(x), self.bag.system.n_machines
        bins = (np.arange(n_rows)[:, None] * n_machines + self.facts.machine[x]).ravel()
        busy_s = np.bincount(bins, self.exec_s[self.tasks, x].ravel(), n_rows * n_machines)
        makespan_s = busy_s.reshape(n_rows, n_machines).max(axis=1)
        energy_j = self.extra_j[self.tasks, x].sum(axis=1) + self.facts.idle_w * makespan_s
        out["F"] = np.column_stack((makespan_s, energy_j))


class SegmentSwap(Crossover):  # type: ignore[misc]
    """Swap all genes between two random ones, both included."""

    def __init__(self) -> None:
        super().__init__(n_parents=2, n_offsprings=2, prob=1.0)

    def _do(self, problem: BagOfTasks, x: Genes, *_: Any, random_state: Any = None, **__: Any) -> Genes:
        ends = np.sort(random_state.integers(0, problem.n_var, (x.shape[1], 2)), axis=1)
        swapped = (problem.tasks >= ends[:, :1]) & (problem.tasks <= ends[:, 1:])
        return np.where(swapped, x[::-1], x)


class OneTaskElsewhere(Mutation):  # type: ignore[misc]
    """Give one random task a random place that can run it."""

    def _do(self, problem: BagOfTasks, x: Genes, *_: Any, random_state: Any = None, **__: Any) -> Genes:
        rows, gene = np.arange(len(x)), random_state.integers(0, problem.n_var, len(x))
        kind, changed = problem.facts.task_type[gene], x.copy()
        changed[rows, gene] = problem.facts.allowed[kind, random_state.integers(0, problem.facts.n_allowed[kind])]
        return changed


def evolve_with_pymoo(
    bag: Bag,
    seeds: Sequence[BagAllocation],
    generations: int,
    population: int = 100,
    mutation: float = 0.5,
    seed: int = 0,
) -> PeerEvolution:
    """pymoo's NSGA-II with our operators, on the same kind of first population."""
    problem, ours, draws = BagOfTasks(bag), BagProblem(bag), np.random.default_rng(seed)
    genes = [ours.genes_of(allocation)[0] for allocation in seeds]
    start = np.concatenate([*(row[None] for row in genes), ours.random_genes(draws, population - len(genes))[0]])
    algorithm = NSGA2(
        pop_size=population,
        sampling=start.astype(np.int64),
        selection=RandomSelection(),
        crossover=SegmentSwap(),
        mutation=OneTaskElsewhere(prob=mutation),
        eliminate_duplicates=False,
    )
    began = time.perf_counter()
    found = minimize(problem, algorithm, ("n_gen", generations + 1), seed=seed, verbose=False)
    return PeerEvolution(found.pop.get("F"), generations / (time.perf_counter() - began))
