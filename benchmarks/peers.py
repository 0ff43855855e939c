"""Others' algorithms on our problems, to measure ours against: pymoo's NSGA-II, and the published way to a profit."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.core.crossover import Crossover
from pymoo.core.mutation import Mutation
from pymoo.core.problem import Problem
from pymoo.operators.selection.rnd import RandomSelection
from pymoo.optimize import minimize
from scipy.optimize import linprog

from joulewise.kernels.assignments.evaluation import evaluate_assignments, room_to_evaluate
from joulewise.model.arrays import Floats
from joulewise.model.assignment import Assignment
from joulewise.model.bag import Bag, BagAllocation
from joulewise.optimise.assignments.problem import AssignmentProblem
from joulewise.optimise.bags.market import Market
from joulewise.optimise.bags.problem import BagProblem
from joulewise.optimise.evolution import GeneticProblem
from joulewise.optimise.ways import POPULATION

Genes = NDArray[np.int64]
_evaluate_assignments: Any = evaluate_assignments


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
        self.tasks = self.task_of = np.arange(bag.n_tasks)

    def _evaluate(self, x: Genes, out: dict[str, Any], *_: Any, **__: Any) -> None:
        n_rows, n_machines = len(x), self.bag.system.n_machines
        bins = (np.arange(n_rows)[:, None] * n_machines + self.facts.machine[x]).ravel()
        busy_s = np.bincount(bins, self.exec_s[self.tasks, x].ravel(), n_rows * n_machines)
        makespan_s = busy_s.reshape(n_rows, n_machines).max(axis=1)
        energy_j = self.extra_j[self.tasks, x].sum(axis=1) + self.facts.idle_w * makespan_s
        out["F"] = np.column_stack((makespan_s, energy_j))


class KnownTasks(Problem):  # type: ignore[misc]
    """Tasks known in advance for pymoo: one variable for the place of each, then one for its order; our evaluation."""

    def __init__(self, ours: AssignmentProblem) -> None:
        self.facts, self.tasks = ours.facts, np.arange(ours.n_genes)
        self.task_of = np.tile(self.tasks, 2)
        super().__init__(
            n_var=2 * ours.n_genes, n_obj=2, xl=0, xu=max(self.facts.machine.size, ours.n_genes), vtype=int
        )
        self.room = room_to_evaluate(ours.n_genes, int(self.facts.machine[-1]) + 1)

    def _evaluate(self, x: Genes, out: dict[str, Any], *_: Any, **__: Any) -> None:
        genes = np.ascontiguousarray(x.reshape(len(x), 2, -1).transpose(1, 0, 2), np.int32)
        out["F"] = np.zeros((len(x), 2))
        _evaluate_assignments(self.facts, self.room, genes, np.arange(len(x)), out["F"])


class SegmentSwap(Crossover):  # type: ignore[misc]
    """Swap all genes between those of two random tasks, both included."""

    def __init__(self) -> None:
        super().__init__(n_parents=2, n_offsprings=2, prob=1.0)

    def _do(self, problem: BagOfTasks | KnownTasks, x: Genes, *_: Any, random_state: Any = None, **__: Any) -> Genes:
        ends = np.sort(random_state.integers(0, problem.tasks.size, (x.shape[1], 2)), axis=1)
        swapped = (problem.task_of >= ends[:, :1]) & (problem.task_of <= ends[:, 1:])
        return np.where(swapped, x[::-1], x)


class OneTaskElsewhere(Mutation):  # type: ignore[misc]
    """Give one random task a random place that can run it."""

    def _do(self, problem: BagOfTasks, x: Genes, *_: Any, random_state: Any = None, **__: Any) -> Genes:
        rows, gene = np.arange(len(x)), random_state.integers(0, problem.n_var, len(x))
        kind, changed = problem.facts.task_type[gene], x.copy()
        changed[rows, gene] = problem.facts.allowed[kind, random_state.integers(0, problem.facts.n_allowed[kind])]
        return changed


class OneTaskElsewhereAndSwapped(OneTaskElsewhere):
    """Besides, swap its order with that of another random task."""

    def _do(self, problem: KnownTasks, x: Genes, *_: Any, random_state: Any = None, **__: Any) -> Genes:
        rows, n = np.arange(len(x)), problem.tasks.size
        task, other = random_state.integers(0, n, (2, len(x)))
        kind, changed = problem.facts.tasks.task_type[task], x.copy()
        changed[rows, task] = problem.facts.allowed[kind, random_state.integers(0, problem.facts.n_allowed[kind])]
        changed[rows, n + task], changed[rows, n + other] = x[rows, n + other], x[rows, n + task]
        return changed


def evolve_with_pymoo(
    bag: Bag, seeds: Sequence[BagAllocation], generations: int, mutation: float = 0.5, seed: int = 0
) -> PeerEvolution:
    """pymoo's NSGA-II with our operators for bags, on the same kind of first population."""
    return _evolve(BagProblem(bag), BagOfTasks(bag), OneTaskElsewhere(prob=mutation), seeds, generations, seed)


def evolve_assignments_with_pymoo(
    ours: AssignmentProblem, seeds: Sequence[Assignment], generations: int, mutation: float = 0.5, seed: int = 0
) -> PeerEvolution:
    """pymoo's NSGA-II with our operators and evaluation of assignments, on the same kind of first population."""
    mutate = OneTaskElsewhereAndSwapped(prob=mutation)
    return _evolve(ours, KnownTasks(ours), mutate, seeds, generations, seed)


def _evolve(
    ours: GeneticProblem, theirs: Problem, mutation: Mutation, seeds: Sequence[Any], generations: int, seed: int
) -> PeerEvolution:
    draws = np.random.default_rng(seed)
    genes = ours.random_genes(draws, POPULATION)
    for row, payload in enumerate(seeds):
        genes[:, row] = ours.genes_of(payload)
    algorithm = NSGA2(
        pop_size=POPULATION,
        sampling=genes.transpose(1, 0, 2).reshape(POPULATION, -1).astype(np.int64),
        selection=RandomSelection(),
        crossover=SegmentSwap(),
        mutation=mutation,
        eliminate_duplicates=False,
    )
    began = time.perf_counter()
    found = minimize(theirs, algorithm, ("n_gen", generations + 1), seed=seed, verbose=False)
    return PeerEvolution(found.pop.get("F"), generations / (time.perf_counter() - began))


def most_profit_as_published(bag: Bag, market: Market, sorts_tasks: bool = True) -> float:
    """The makespan of the most profitable schedule by HiGHS, rounding, a list of all tasks and a heap.

    Equation 10 of Tarplee as it stands, without idle power or a cap, and his two algorithms; the heap is compiled. His
    algorithm 2 sorts the list of all tasks; without `sorts_tasks` only the task types are sorted.
    """
    assert market.cost_per_j is not None
    split = _equation_10(bag, market.cost_per_j * bag.extra_j[:, :, 0], market.price)
    whole = np.floor(split + 1e-6)
    for i, n in enumerate(bag.counts):
        short = int(n - whole[i].sum())
        whole[i, np.argsort(whole[i] - split[i], kind="stable")[:short]] += 1
    makespan_s = 0.0
    for j, n_machines in enumerate(bag.system.counts):
        order = np.arange(bag.counts.size) if sorts_tasks else np.argsort(-bag.exec_s[:, j, 0], kind="stable")
        exec_s = np.repeat(bag.exec_s[order, j, 0], whole[order, j].astype(np.int64))
        if sorts_tasks:
            exec_s = exec_s[np.argsort(-exec_s, kind="stable")]
        ready_s = hand_out(exec_s, np.zeros(n_machines), np.empty(exec_s.size, np.int64))
        makespan_s = max(makespan_s, float(ready_s.max()))
    return makespan_s


def _equation_10(bag: Bag, cost: Floats, price: float) -> Floats:
    """Tasks of each [task type, machine type] in the schedule that earns most per second, divided at will."""
    n_types, n_machine_types = cost.shape
    n_choices = n_types * n_machine_types
    balance = np.hstack([np.kron(np.eye(n_types), np.ones(n_machine_types)), -bag.counts[:, None].astype(float)])
    load = np.zeros((n_machine_types, n_choices + 1))
    for j in range(n_machine_types):
        load[j, j:n_choices:n_machine_types] = bag.exec_s[:, j, 0]
    earned = np.append(-cost.ravel(), price)
    scale = np.abs(earned).max()
    found = linprog(
        -earned / scale, load, bag.system.counts, balance, np.zeros(n_types), (0.0, None), method="highs-ds"
    )
    return np.asarray(found.x[:-1] / found.x[-1]).reshape(n_types, n_machine_types)


@njit(cache=True)
def hand_out(exec_s: Floats, ready_s: Floats, machine_of: NDArray[np.int64]) -> Floats:
    """Give each task to the machine that is ready first, by a heap; the ready times at the end."""
    heap = np.arange(ready_s.size)
    for task in range(exec_s.size):
        first = heap[0]
        machine_of[task] = first
        ready_s[first] += exec_s[task]
        place = 0
        while 2 * place + 1 < heap.size:
            below = 2 * place + 1
            if below + 1 < heap.size and ready_s[heap[below + 1]] < ready_s[heap[below]]:
                below += 1
            if ready_s[heap[below]] >= ready_s[first]:
                break
            heap[place] = heap[below]
            place = below
        heap[place] = first
    return ready_s
