"""Makespan and energy of a bag as a problem for evolution."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joulewise.errors import Problem, raise_if_any
from joulewise.kernels.bags.genes import BagFacts, BagPool, breed, evaluate
from joulewise.model.arrays import Counts, Floats, Ints
from joulewise.model.bag import Bag, BagAllocation
from joulewise.optimise.bags.gpu import BagEvaluator
from joulewise.optimise.front import MAKESPAN_ENERGY, FrontObjective
from joulewise.optimise.gpu import TaskPlaces
from joulewise.optimise.population import fingerprint_of

_MOST_TICKS = 2**61

MOST_GENES = 100_000
"""Every generation handles each gene of each chromosome; beyond this, linear programs are the way."""

_breed: Any = breed

_evaluate: Any = evaluate


class BagProblem:
    """Makespan and energy of a bag: one gene per task, by task type, is the place (machine and P-state) that runs it.

    Raises InputError for bags of too many tasks.
    """

    gene_names: tuple[str, ...] = ("place",)
    objectives: tuple[FrontObjective, FrontObjective] = MAKESPAN_ENERGY
    threads: int = 1

    def __init__(self, bag: Bag) -> None:
        raise_if_any(_size_problems(bag))
        self.bag, self.n_genes = bag, bag.n_tasks
        self.facts = _bag_facts(bag)

    @cached_property
    def fingerprint(self) -> str:
        """The same for equal bags."""
        return fingerprint_of("bag", self.facts)

    def random_genes(self, draws: np.random.Generator, n: int) -> Ints:
        """Random places of those that can run each task."""
        kind = self.facts.task_type
        picked = draws.integers(0, self.facts.n_allowed[kind], (1, n, self.n_genes))
        return self.facts.allowed[kind, picked]

    def chromosomes(self, genes: Ints) -> _BagChromosomes:
        """A home for chromosomes."""
        return _BagChromosomes(self, genes)

    def genes_of(self, payload: BagAllocation) -> Ints:
        """The genes of an allocation."""
        task_type, machine, pstate = payload.tasks()
        order = np.argsort(task_type, kind="stable")
        return (machine * self.bag.system.n_pstates + pstate)[order].astype(np.int32)[None]

    @property
    def places(self) -> TaskPlaces:
        """Where mutation may put tasks."""
        return TaskPlaces(self.facts.task_type, self.facts.allowed, self.facts.n_allowed)

    def gpu_evaluator(self, _n: int) -> BagEvaluator:
        """What evaluates chromosomes on a GPU."""
        return BagEvaluator(self.facts)

    def payload(self, genes: Ints) -> BagAllocation:
        """The allocation of a chromosome."""
        system = self.bag.system
        counts = np.zeros((system.n_machines, system.n_task_types, system.n_pstates), np.int64)
        machine, pstate = np.divmod(genes[0], system.n_pstates)
        np.add.at(counts, (machine, self.facts.task_type, pstate), 1)
        return BagAllocation(self.bag, counts)


class _BagChromosomes:
    """Chromosomes of a bag, with what each keeps busy."""

    def __init__(self, problem: BagProblem, genes: Ints) -> None:
        n_rows, n_machines = genes.shape[1], problem.bag.system.n_machines
        self.facts, self.genes, self.points = problem.facts, genes, np.zeros((n_rows, 2))
        busy, extra = np.zeros((n_rows, n_machines), np.int64), np.zeros(n_rows, np.int64)
        self.pool = BagPool(genes[0], busy, extra, self.points)

    def evaluate(self, n_rows: int) -> None:
        """Set the points of the first rows."""
        _evaluate(self.facts, self.pool, n_rows)

    def breed(self, state: NDArray[np.uint64], parents: Counts, children: Counts, mutation: float) -> None:
        """Fill and evaluate the children's rows."""
        _breed(state, self.facts, self.pool, parents, children, mutation)


def _size_problems(bag: Bag) -> Iterator[Problem]:
    if bag.n_tasks > MOST_GENES:
        found, advice = f"found {bag.n_tasks:,} tasks", "the linear program and annealing handle bags of any size"
        yield Problem("bag.counts", found, f"a genetic algorithm takes {MOST_GENES:,} at most", advice)


def _bag_facts(bag: Bag) -> BagFacts:
    """The bag in ticks, by task type and place."""
    system, possible = bag.system, np.isfinite(bag.exec_s)
    ticks, units = [], []
    for by_choice in (bag.exec_s, bag.extra_j):
        finite = np.where(possible, by_choice, 0.0)
        units.append(_tick(bag, finite.reshape(finite.shape[0], -1)))
        ticks.append(np.rint(finite / units[-1]).astype(np.int64)[:, system.machine_type].reshape(bag.counts.size, -1))
    allowed = possible[:, system.machine_type].reshape(bag.counts.size, -1)
    return BagFacts(
        task_type=np.repeat(np.arange(bag.counts.size), bag.counts),
        cost=np.stack(ticks, axis=-1),
        allowed=np.argsort(~allowed, axis=1, kind="stable").astype(np.int32),
        n_allowed=allowed.sum(axis=1),
        machine=np.repeat(np.arange(system.n_machines), system.n_pstates),
        tick_s=units[0],
        tick_j=units[1],
        idle_w=bag.total_idle_w,
    )


def _tick(bag: Bag, by_choice: Floats) -> float:
    """The least power of two of which all tasks of a bag together, each at its most, have no more than 2^62."""
    most = float(np.maximum(bag.counts, 1) @ by_choice.max(axis=1))
    return math.ldexp(1.0, math.frexp(most / _MOST_TICKS)[1])
