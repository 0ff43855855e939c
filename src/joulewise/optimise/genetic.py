"""NSGA-II (Deb et al. 2002) as Friese uses it in 5.4.4 and chapter 6, for any problem of two objectives."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from joulewise.errors import Problem, raise_if_any, unknown_name
from joulewise.kernels.dominance import Archive, empty_archive, remember, room_to_sort, select
from joulewise.kernels.draws import draws_of
from joulewise.kernels.genes import BagFacts, Pool, breed, evaluate
from joulewise.model.arrays import Counts, Floats, Ints
from joulewise.model.bag import Bag, BagAllocation
from joulewise.optimise.front import MAKESPAN_ENERGY, Front, Objective, front_of
from joulewise.rng import generator

Ranks: TypeAlias = Literal["peeling", "dominators"]
_MOST_TICKS = 2**61
MOST_GENES = 100_000
"""Every generation handles each gene of each chromosome; beyond this, linear programs are the way."""

_PROGRESS_S = 0.1
_select: Any = select
_remember: Any = remember
_breed: Any = breed
_evaluate: Any = evaluate


class Chromosomes(Protocol):
    """Chromosomes of one problem by row: their genes `[kind of gene, row, gene]` and points `[row, objective]`."""

    genes: Ints
    points: Floats

    def evaluate(self, n_rows: int) -> None:
        """Set the points of the first rows."""

    def breed(self, state: NDArray[np.uint64], parents: Counts, children: Counts, mutation: float) -> None:
        """Fill and evaluate the children's rows: crossovers of random parents, each then mutated by chance."""


class GeneticProblem(Protocol):
    """What evolution needs to know: kinds of genes by name, what is minimised, and what genes stand for."""

    gene_names: tuple[str, ...]
    n_genes: int
    objectives: tuple[Objective, Objective]

    def random_genes(self, draws: np.random.Generator, n: int) -> Ints:
        """Genes of n random chromosomes, `[kind of gene, row, gene]`."""

    def chromosomes(self, genes: Ints) -> Chromosomes:
        """A home for as many chromosomes as there are rows of genes."""

    def genes_of(self, payload: Any) -> Ints:
        """The genes, `[kind of gene, gene]`, of what a point of the front stands for."""

    def payload(self, genes: Ints) -> Any:
        """What a chromosome stands for."""


@dataclass(frozen=True, eq=False)
class Evolution:
    """The front that evolution found, those at the generations asked for, and how fast it went.

    Stopped by the clock it is not deterministic: another run may get farther.
    """

    front: Front
    snapshots: Mapping[int, Front]
    n_generations: int
    generations_per_s: float
    is_deterministic: bool


def evolve(
    problem: GeneticProblem,
    seeds: Sequence[Any] = (),
    *,
    generations: int,
    population: int = 100,
    mutation: float = 0.5,
    archive: bool = True,
    ranks: Ranks = "peeling",
    seed: int = 0,
    snapshots: Collection[int] = (),
    seconds: float = math.inf,
    on_progress: Callable[[int], None] | None = None,
) -> Evolution:
    """Evolve a population that starts from the seeds and random chromosomes.

    The front is everything non-dominated ever seen, or without `archive` the final population, as published. Ranks
    are fronts taken off one by one, or as in the text the number of dominators. Raises InputError.
    """
    raise_if_any(_problems(len(seeds), generations, population, mutation, ranks, seconds))
    herd = _Herd(problem, seeds, population, archive, seed)
    wanted, taken = set(snapshots), {0: herd.front()} if 0 in set(snapshots) else {}
    began = told = time.perf_counter()
    done, now = 0, began
    while done < generations and now - began < seconds:
        herd.step(mutation, ranks == "dominators")
        done, now = done + 1, time.perf_counter()
        if done in wanted:
            taken[done] = herd.front()
        if on_progress is not None and (now - told >= _PROGRESS_S or done == generations):
            told = now
            on_progress(done)
    speed = done / (now - began) if done else 0.0
    return Evolution(herd.front(with_payload=True), taken, done, speed, done == generations)


def _problems(
    n_seeds: int, generations: int, population: int, mutation: float, ranks: str, seconds: float
) -> Iterator[Problem]:
    if population < 2 or population % 2:
        yield Problem("population", f"found {population}", "must be even, and 2 or more")
    if n_seeds > population:
        yield Problem("population", f"found {population}", f"must hold the {n_seeds} seeds")
    if generations < 0:
        yield Problem("generations", f"found {generations}", "must be 0 or more")
    if not 0 <= mutation <= 1:
        yield Problem("mutation", f"found {mutation}", "must be a probability")
    if not seconds > 0:
        yield Problem("seconds", f"found {seconds}", "must be above 0")
    if ranks not in get_args(Ranks):
        yield unknown_name("ranks", ranks, get_args(Ranks))


class _Herd:
    """The population, its offspring and the archive."""

    def __init__(self, problem: GeneticProblem, seeds: Sequence[Any], n: int, keeps: bool, seed: int) -> None:
        draws = generator(seed, "genetic")
        self.problem, self.state = problem, draws_of(draws)
        genes = np.zeros((len(problem.gene_names), 2 * n, problem.n_genes), np.int32)
        genes[:, len(seeds) : n] = problem.random_genes(draws, n - len(seeds))
        for row, payload in enumerate(seeds):
            genes[:, row] = problem.genes_of(payload)
        self.chromosomes = problem.chromosomes(genes)
        self.chromosomes.evaluate(n)
        self.parents, self.children = np.arange(n), np.arange(n, 2 * n)
        self.sorting = room_to_sort(2 * n)
        self.archive = empty_archive(len(problem.gene_names), problem.n_genes, 4 * n) if keeps else None
        self._remember(self.parents)

    def step(self, mutation: float, by_dominators: bool) -> None:
        """One generation."""
        home = self.chromosomes
        home.breed(self.state, self.parents, self.children, mutation)
        self._remember(self.children)
        _select(home.points, by_dominators, self.sorting, self.parents, self.children)

    def front(self, with_payload: bool = False) -> Front:
        """The front so far."""
        points, genes = self.chromosomes.points[self.parents], self.chromosomes.genes[:, self.parents]
        if self.archive is not None:
            slots = self.archive.order[: self.archive.size[0]]
            points, genes = self.archive.points[slots], self.archive.genes[:, slots]
        found = front_of(points, range(len(points)), self.problem.objectives)
        payload = tuple(self.problem.payload(genes[:, row]) for row in found.payload) if with_payload else ()
        return Front(self.problem.objectives, found.points, payload)

    def _remember(self, rows: Counts) -> None:
        if self.archive is not None:
            if self.archive.size[0] + rows.size > self.archive.order.size:
                self.archive = _larger(self.archive)
            _remember(self.archive, self.chromosomes.points, self.chromosomes.genes, rows)


def _larger(archive: Archive) -> Archive:
    """The same archive with twice the room."""
    slots, (n_kinds, room, n_genes) = archive.order[: archive.size[0]], archive.genes.shape
    larger, n = empty_archive(n_kinds, n_genes, 2 * room), slots.size
    larger.points[:n], larger.genes[:, :n] = archive.points[slots], archive.genes[:, slots]
    larger.order[:n], larger.size[0] = np.arange(n), n
    return larger


class BagProblem:
    """Makespan and energy of a bag: one gene per task, by task type, is the place (machine and P-state) that runs it.

    Raises InputError for bags of too many tasks.
    """

    gene_names: tuple[str, ...] = ("place",)
    objectives: tuple[Objective, Objective] = MAKESPAN_ENERGY

    def __init__(self, bag: Bag) -> None:
        raise_if_any(_size_problems(bag))
        self.bag, self.n_genes = bag, bag.n_tasks
        self.facts = _bag_facts(bag)

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
        self.pool = Pool(genes[0], busy, extra, self.points)

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
