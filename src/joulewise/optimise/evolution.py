"""NSGA-II (Deb et al. 2002) as Friese uses it in 5.4.4 and chapter 6, for any problem of two objectives."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from joulewise.errors import InputError, Problem, raise_if_any, unknown_name
from joulewise.kernels.dominance import Archive, empty_archive, remember, room_to_sort, select
from joulewise.kernels.draws import draws_of
from joulewise.model.arrays import Counts, Floats, Ints
from joulewise.optimise.front import Front, FrontObjective, front_of, non_dominated
from joulewise.optimise.gpu import GpuHerd, GpuProblem
from joulewise.optimise.population import Population
from joulewise.optimise.ways import POPULATION, Ranks, Ways
from joulewise.rng import generator
from joulewise.visible import Visible

Engine: TypeAlias = Literal["cores", "gpu"]
Migrants: TypeAlias = tuple[Floats, Ints]
"""Points `[row, objective]` and genes `[kind of gene, row, gene]` of chromosomes that move to another island."""

_PROGRESS_S = 0.1
_select: Any = select
_remember: Any = remember


class Chromosomes(Protocol):
    """Chromosomes of one problem by row: their genes `[kind of gene, row, gene]` and points `[row, objective]`."""

    genes: Ints
    points: Floats

    def evaluate(self, n_rows: int) -> None:
        """Set the points of the first rows."""

    def breed(self, state: NDArray[np.uint64], parents: Counts, children: Counts, mutation: float) -> None:
        """Fill and evaluate the children's rows: crossovers of random parents, each then mutated at random."""


class GeneticProblem(Protocol):
    """What evolution needs to know: kinds of genes by name, what is minimised, and what genes stand for."""

    gene_names: tuple[str, ...]
    n_genes: int
    objectives: tuple[FrontObjective, FrontObjective]

    @property
    def fingerprint(self) -> str:
        """The same for equal problems, another for others: `fingerprint_of` what chromosomes are evaluated with."""

    @property
    def threads(self) -> int:
        """How many threads evaluate chromosomes."""

    def random_genes(self, draws: np.random.Generator, n: int) -> Ints:
        """Genes of n random chromosomes, `[kind of gene, row, gene]`."""

    def chromosomes(self, genes: Ints) -> Chromosomes:
        """A home for as many chromosomes as there are rows of genes."""

    def genes_of(self, payload: Any) -> Ints:
        """The genes, `[kind of gene, gene]`, of what a point of the front stands for."""

    def payload(self, genes: Ints) -> Any:
        """What a chromosome stands for."""


class LivingPopulation(Protocol):
    """A population on its engine."""

    @property
    def engine(self) -> str:
        """What it lives on."""

    def step(self) -> None:
        """One generation."""

    def front(self) -> Front:
        """The front so far, points only."""

    def population(self) -> Population:
        """The population as it is now."""


@dataclass(frozen=True, eq=False)
class Evolution(Visible, looks="bags"):
    """The front that evolution found, those at the generations asked for, and how fast it went on which engine.

    Stopped by the clock it is not deterministic: another run may get farther. `population` is what it can go on from.
    """

    front: Front
    snapshots: Mapping[int, Front]
    n_generations: int
    generations_per_s: float
    is_deterministic: bool
    population: Population
    engine: str

    def _place(self) -> str:
        """It looks as its front does."""
        return self.front._place()


_AS_USUAL = Ways()


def evolve(
    problem: GeneticProblem,
    seeds: Sequence[Any] = (),
    *,
    generations: int,
    population: int | None = None,
    ways: Ways = _AS_USUAL,
    seed: int = 0,
    seconds: float = math.inf,
    start: Population | None = None,
    engine: Engine = "cores",
    on_progress: Callable[[int], None] | None = None,
) -> Evolution:
    """Evolve a population (of 100) that starts from the seeds and random chromosomes, or go on from a saved one.

    The front is everything non-dominated ever seen, or as `ways` say. To go on is to do as if there had been no stop;
    `generations`, snapshots and progress count from there. Raises InputError.
    """
    raise_if_any(problems_of(problem, len(seeds), generations, population, ways, seed, seconds))
    raise_if_any(start_problems(problem, len(seeds), population, start, 1))
    herd = _herd(problem, engine)(start or founders(problem, seeds, population or POPULATION, seed), ways)
    wanted, taken = set(ways.snapshots), {0: herd.front()} if 0 in ways.snapshots else {}
    began = shown = time.perf_counter()
    done, now = 0, began
    while done < generations and now - began < seconds:
        herd.step()
        done, now = done + 1, time.perf_counter()
        if done in wanted:
            taken[done] = herd.front()
        if on_progress is not None and (now - shown >= _PROGRESS_S or done == generations):
            shown = now
            on_progress(done)
    final = herd.population()
    speed = done / (time.perf_counter() - began) if done else 0.0
    return Evolution(front_in(problem, final), taken, done, speed, done == generations, final, herd.engine)


def _herd(problem: GeneticProblem, engine: Engine) -> Callable[[Population, Ways], LivingPopulation]:
    """What keeps a population of a problem on an engine."""
    if engine not in get_args(Engine):
        raise InputError(unknown_name("engine", engine, get_args(Engine)))
    if engine == "cores":
        return partial(Herd, problem)
    if not isinstance(problem, GpuProblem):
        found = f"found {type(problem).__name__} on a GPU"
        raise InputError(Problem("engine", found, "takes assignments and bags only", "use the cores"))
    return partial(GpuHerd, problem)


def cores(n: int) -> str:
    """This many processor cores as the name of an engine."""
    return "one core" if n == 1 else f"{n} cores"


def problems_of(
    problem: GeneticProblem,
    n_seeds: int,
    generations: int,
    population: int | None,
    ways: Ways,
    seed: int,
    seconds: float,
) -> Iterator[Problem]:
    """What is wrong with how a problem is to be evolved."""
    size = POPULATION if population is None else population
    if problem.n_genes < 1:
        yield Problem("problem", "found no genes", "must have a task or more")
    if size < 2 or size % 2:
        yield Problem("population", f"found {size}", "must be even, and 2 or more")
    if n_seeds > size:
        yield Problem("population", f"found {size}", f"must hold the {n_seeds} seeds")
    if generations < 0:
        yield Problem("generations", f"found {generations}", "must be 0 or more")
    if not 0 <= ways.mutation <= 1:
        yield Problem("mutation", f"found {ways.mutation}", "must be a probability")
    if seed < 0:
        yield Problem("seed", f"found {seed}", "must be 0 or more")
    if not seconds > 0:
        yield Problem("seconds", f"found {seconds}", "must be above 0")
    if ways.ranks not in get_args(Ranks):
        yield unknown_name("ranks", ways.ranks, get_args(Ranks))


def start_problems(
    problem: GeneticProblem, n_seeds: int, population: int | None, start: Population | None, n_islands: int
) -> Iterator[Problem]:
    """What keeps evolution from going on with a population."""
    if start is None:
        return
    if start.fingerprint != problem.fingerprint:
        found = f"found a population of another study (fingerprint {start.fingerprint[:12]})"
        allowed = f"must be one of the same tasks, machines and objectives (fingerprint {problem.fingerprint[:12]})"
        yield Problem("start", found, allowed, "to begin from what it has found, pass that as seeds")
    elif (start.genes.shape[0], start.genes.shape[2]) != (len(problem.gene_names), problem.n_genes):
        yield Problem("start", "found other genes than the fingerprint says", "must be a population as it was saved")
    if start.n_islands != n_islands:
        yield Problem("start", f"found a population of {start.n_islands} islands", f"must be of {n_islands}")
    if population is not None and population != start.size:
        yield Problem(
            "population", f"found {population}", f"must be {start.size}, as large as the one to continue from"
        )
    if n_seeds:
        yield Problem("seeds", f"found {n_seeds} beside a population to continue from", "must be one or the other")


def founders(problem: GeneticProblem, seeds: Sequence[Any], n: int, seed: int, island: int = 0) -> Population:
    """The population that evolution starts with: the seeds, then random chromosomes of the island's own stream.

    Its points are 0: what it lives on evaluates it.
    """
    draws = generator(seed, "genetic", *([island] if island else []))
    state = draws_of(draws)
    genes = np.zeros((len(problem.gene_names), n, problem.n_genes), np.int32)
    genes[:, len(seeds) :] = problem.random_genes(draws, n - len(seeds))
    for row, payload in enumerate(seeds):
        genes[:, row] = problem.genes_of(payload)
    points, empty = np.zeros((n, 2)), (genes[:, :0], np.zeros((0, 2)), np.zeros(1, np.int64))
    return Population(problem.fingerprint, 0, state, genes, points, np.arange(2 * n)[None], *empty)


def points_in(problem: GeneticProblem, population: Population) -> Floats:
    """The points of the archive of a population, or without one of all its chromosomes, evaluated if need be."""
    if population.generation or population.has_archive:
        return population.best[0]
    home = problem.chromosomes(population.genes.copy())
    home.evaluate(len(population.points))
    return home.points


def front_in(problem: GeneticProblem, population: Population) -> Front:
    """The front of a population, with what its points stand for."""
    points, genes = population.best
    best = front_of(points, range(len(points)), problem.objectives)
    payload = tuple(problem.payload(genes[:, row]) for row in best.payload)
    return Front(problem.objectives, best.points, payload)


class Herd:
    """A population of one island as it lives on, its offspring and its archive."""

    def __init__(self, problem: GeneticProblem, start: Population, ways: Ways) -> None:
        n = start.size
        self.problem, self.ways, self.generation, self.state = problem, ways, start.generation, start.states.copy()
        self.parents, self.children = start.rows[0, :n].copy(), start.rows[0, n:].copy()
        genes = np.empty((start.genes.shape[0], 2 * n, start.genes.shape[2]), np.int32)
        genes[:, self.parents] = genes[:, self.children] = start.genes
        self.chromosomes = problem.chromosomes(genes)
        self.chromosomes.evaluate(int(self.parents.max()) + 1)
        self.sorting = room_to_sort(2 * n)
        self.archive = _filled(start.archive_points, start.archive_genes, 4 * n) if ways.archive else None
        self._remember(self.parents)

    @property
    def engine(self) -> str:
        """What it lives on."""
        return cores(self.problem.threads)

    def step(self) -> None:
        """One generation."""
        home = self.chromosomes
        home.breed(self.state, self.parents, self.children, self.ways.mutation)
        self._remember(self.children)
        _select(home.points, self.ways.ranks == "dominators", self.sorting, self.parents, self.children)
        self.generation += 1

    def emigrants(self, n: int) -> Migrants:
        """Points and genes of up to n chromosomes that no other dominates, drawn at random."""
        best = self.parents[non_dominated(self.chromosomes.points[self.parents])]
        draws = generator(int(self.state[0]), "emigrants")
        chosen = np.sort(draws.choice(best, min(n, best.size), replace=False))
        return self.chromosomes.points[chosen], self.chromosomes.genes[:, chosen]

    def welcome(self, immigrants: Migrants) -> None:
        """Let the best of all live on, as many as before; immigrants that earn and use what residents do go away."""
        home, n, (points, genes) = self.chromosomes, self.parents.size, immigrants
        residents = home.points[self.parents]
        is_new = ~(points[:, None] == residents).all(axis=2).any(axis=1)
        if not is_new.any():
            return
        points = np.concatenate([residents, points[is_new]])
        genes = np.concatenate([home.genes[:, self.parents], genes[:, is_new]], axis=1)
        self.parents, self.children, kept = np.arange(n), np.arange(n, 2 * n), np.arange(n)
        sorting, others = room_to_sort(len(points)), np.arange(len(points) - n)
        _select(points, self.ways.ranks == "dominators", sorting, kept, others)
        home.genes[:, :n] = genes[:, kept]
        home.evaluate(n)

    def front(self) -> Front:
        """The front so far, points only."""
        points = self.chromosomes.points[self.parents] if self.archive is None else self._archived()[0]
        return front_of(points, objectives=self.problem.objectives)

    def population(self) -> Population:
        """The population as it is now."""
        home, (points, genes) = self.chromosomes, self._archived()
        return Population(
            self.problem.fingerprint,
            self.generation,
            self.state,
            home.genes[:, self.parents],
            home.points[self.parents],
            np.append(self.parents, self.children)[None],
            genes,
            points,
            np.array([len(points)]),
        )

    def _archived(self) -> tuple[Floats, Ints]:
        """Points and genes of the archive, none without one."""
        if self.archive is None:
            return np.zeros((0, 2)), self.chromosomes.genes[:, :0]
        slots = self.archive.order[: self.archive.size[0]]
        return self.archive.points[slots], self.archive.genes[:, slots]

    def _remember(self, rows: Counts) -> None:
        if self.archive is not None:
            if self.archive.size[0] + rows.size > self.archive.order.size:
                self.archive = _filled(*self._archived(), self.archive.order.size)
            _remember(self.archive, self.chromosomes.points, self.chromosomes.genes, rows)


def _filled(points: Floats, genes: Ints, room: int) -> Archive:
    """An archive of a front by first objective, with room for this many points and those of the front."""
    n, (n_kinds, _, n_genes) = len(points), genes.shape
    archive = empty_archive(n_kinds, n_genes, room + n)
    archive.points[:n], archive.genes[:, :n] = points, genes
    archive.order[:n], archive.size[0] = np.arange(n), n
    return archive
