"""The ways to search the front of energy and makespan of a bag, and their parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from joulewise.errors import raise_if_any
from joulewise.optimise.ways import POPULATION, Ranks, Ways
from joulewise.study.searches.genetic import (
    GENETIC_KEYS,
    GPU,
    MOST_GENERATIONS,
    NSGA2,
    ONE_CORE,
    evolution_of,
    genetic_problems,
    genetic_ways,
)
from joulewise.study.searches.methods import Method
from joulewise.study.spec.parameters import OneOf
from joulewise.worlds.parameters import explained

if TYPE_CHECKING:
    from joulewise.model.arrays import Floats
    from joulewise.model.bag import Bag, BagAllocation
    from joulewise.optimise.bags.bound import BoundFront

# Rough figures of one ordinary processor of 2024.
_POINT_S, _MOVE_S, _GENE_S = 2e-3, 6e-8, 3e-9

SEEDS = {"min-energy": "min_energy", "min-min": "min_min_completion_time"}
"""The allocations that a first population may have, with the functions that make them."""


@dataclass(frozen=True)
class BagAnswer:
    """What a method found: allocations, the points of fronts on the way there, how fast it went and on what."""

    allocations: Sequence[BagAllocation]
    snapshots: Mapping[int, Floats] = field(default_factory=dict)
    generations_per_s: float = math.nan
    engine: str = ONE_CORE


def _recovered(bag: Bag, bound: BoundFront, p: FrontParameters, _seed: int) -> BagAnswer:
    from joulewise.optimise.bags.recovery import recovered

    return BagAnswer(recovered(bag, bound, p.n_points))


def _annealed(bag: Bag, bound: BoundFront, p: FrontParameters, seed: int) -> BagAnswer:
    from joulewise.optimise.bags.annealing import improve
    from joulewise.optimise.bags.recovery import recovered

    front = improve(bag, bound, recovered(bag, bound, p.n_points), moves=p.moves, seed=seed)
    return BagAnswer(front.payload)


def _evolved(bag: Bag, _bound: BoundFront, p: FrontParameters, seed: int) -> BagAnswer:
    from joulewise.optimise.bags import seeds
    from joulewise.optimise.bags.problem import BagProblem

    first = [getattr(seeds, SEEDS[name])(bag) for name in p.seeds]
    evolve = evolution_of(p, 1, on_gpu=p.engine == GPU)
    evolution = evolve(partial(BagProblem, bag), first, **genetic_ways(p), seed=seed)
    snapshots = {n: front.points[::-1, ::-1] for n, front in evolution.snapshots.items()}
    return BagAnswer(evolution.front.payload, snapshots, evolution.generations_per_s, evolution.engine)


METHODS = {
    "lp": Method(
        "Recovered LP",
        "whole allocations near the linear program's, at its vertices and between",
        "Tarplee III",
        _recovered,
        lambda p, _n_genes: _POINT_S * p.n_points,
        draws=False,
        keys=("n_points",),
    ),
    "annealing": Method(
        "Annealing",
        "the recovered allocations, improved by moving and swapping tasks",
        "ours",
        _annealed,
        lambda p, _n_genes: _POINT_S * p.n_points + _MOVE_S * p.moves,
        draws=True,
        keys=("n_points", "moves"),
    ),
    NSGA2: Method(
        "NSGA-II",
        "a population of allocations that evolves, seeded with two heuristics",
        "Friese 5.4.4, 6.4",
        _evolved,
        lambda p, n_genes: _GENE_S * p.islands * p.generations * p.population * n_genes,
        draws=True,
        keys=(*GENETIC_KEYS, "seeds", "engine", "islands", "exchange_every"),
    ),
}
"""Every value of `optimise.method`."""


@dataclass(frozen=True)
class FrontParameters:
    """How the front of energy and makespan is searched."""

    method: Annotated[str, OneOf(tuple(METHODS))] = explained(
        "lp", "how allocations are found: a name of `joulewise list methods`"
    )
    n_points: Annotated[int, Field(ge=2, le=100_000)] = explained(
        100,
        "points along the bound, besides its vertices, at which whole allocations are made (lp, annealing)",
        search=True,
    )
    moves: Annotated[int, Field(ge=0)] = explained(
        20_000_000, "moves that annealing tries, over the whole front together", search=True
    )
    population: Annotated[int, Field(ge=2, le=100_000)] = explained(
        POPULATION, "chromosomes of a generation (nsga2)", search=True
    )
    generations: Annotated[int, Field(ge=0, le=MOST_GENERATIONS)] = explained(1000, "generations (nsga2)", search=True)
    mutation: Annotated[float, Field(ge=0, le=1)] = explained(
        Ways.mutation, "probability that a new chromosome is mutated (nsga2)", search=True
    )
    archive: bool = explained(
        Ways.archive,
        "whether every non-dominated point ever found is kept; false, as in Friese 2015: the last population (nsga2)",
    )
    ranks: Ranks = explained(
        Ways.ranks, "rank of a chromosome: which front it is peeled off with, or 1 + how many dominate it (nsga2)"
    )
    seeds: tuple[Annotated[str, OneOf(tuple(SEEDS))], ...] = explained(
        tuple(SEEDS), "allocations in the first population; the others are drawn (nsga2)"
    )
    snapshots: tuple[int, ...] = explained((), "numbers of generations after which the front is stored too (nsga2)")
    engine: Annotated[str, OneOf((ONE_CORE, GPU))] = explained(
        ONE_CORE, "what searches: one core for each run, or a GPU, for the same points, drawn otherwise (nsga2)"
    )
    islands: Annotated[int, Field(ge=1, le=1000)] = explained(1, "populations that evolve apart (nsga2)", search=True)
    exchange_every: Annotated[int, Field(ge=1)] = explained(
        100, "generations after which islands hand their best points on to the next one", search=True
    )

    def __post_init__(self) -> None:
        raise_if_any(genetic_problems(self))
