"""The ways to search the front of utility and energy, and what they start from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joulewise.study.assignments.parameters import ALL_CORES, ANNEALING, AUTO, SIMULATED, UtilityFrontParameters
from joulewise.study.assignments.world import KnownWorld
from joulewise.study.searches.genetic import GENETIC_KEYS, GPU, NSGA2, evolution_of, genetic_ways
from joulewise.study.searches.methods import Method
from joulewise.study.searches.simulating import simulated

if TYPE_CHECKING:
    from joulewise.model import World
    from joulewise.model.arrays import Floats
    from joulewise.model.assignment import Assignment
    from joulewise.optimise.assignments.stochastic import StochasticProblem
    from joulewise.optimise.evolution import GeneticProblem
    from joulewise.optimise.front import Front
    from joulewise.optimise.population import Population

# Rough figures of one ordinary processor of 2024.
_START_S, _MOVE_S, _CHILD_S, _GENE_S, _SAMPLE_S = 6e-4, 2e-6, 6e-6, 2.5e-8, 3e-9


@dataclass(frozen=True)
class AssignmentAnswer:
    """What a method found: a front of assignments, those on the way there, how fast it went and on what.

    `population` is what the search may go on from, None where there is no such thing.
    """

    front: Front
    snapshots: Mapping[int, Floats] = field(default_factory=dict)
    generations_per_s: float = math.nan
    engine: str = "one core"
    population: Any = None


def _annealed(known: KnownWorld, p: UtilityFrontParameters, seed: int) -> AssignmentAnswer:
    from joulewise.optimise.assignments.annealing import search_front

    return AssignmentAnswer(search_front(known.world, drop_below=p.drop_below, moves=p.moves, seed=seed))


def _evolved(known: KnownWorld, p: UtilityFrontParameters, seed: int) -> AssignmentAnswer:
    start = start_of(p)
    seeds = () if start else seeds_of(known.world, p)
    evolve, n = evolution_of(p, n_cores(p), on_gpu=on_gpu(p)), 1 if p.islands > 1 else n_cores(p)
    evolution = evolve(partial(problem_of, known, p, seed, n), seeds, **genetic_ways(p), seed=seed, start=start)
    snapshots = {n: front.points for n, front in evolution.snapshots.items()}
    return AssignmentAnswer(
        evolution.front, snapshots, evolution.generations_per_s, evolution.engine, evolution.population
    )


def on_gpu(p: UtilityFrontParameters, has_gpu: bool | None = None) -> bool:
    """Whether a GPU searches: where it is asked for, or where there is one and samples make it worth it."""
    from joulewise.optimise.gpu import gpu_name

    if p.engine != AUTO or p.is_certain or p.islands > 1:
        return p.engine == GPU
    return gpu_name() != "" if has_gpu is None else has_gpu


def n_cores(p: UtilityFrontParameters) -> int:
    """How many cores a run is to use."""
    from joulewise.processes import available_cpus

    return available_cpus() if p.engine == ALL_CORES else 1


def start_of(p: UtilityFrontParameters) -> Population | None:
    """The population to go on from, if there is one; InputError when it cannot be read."""
    from joulewise.optimise.population import Population

    return None if p.start_from is None else Population.load(Path(p.start_from))


def problem_of(known: KnownWorld, p: UtilityFrontParameters, seed: int, threads: int = 1) -> GeneticProblem:
    """What evolution optimises."""
    if p.is_certain:
        from joulewise.optimise.assignments.problem import AssignmentProblem

        return AssignmentProblem(known.world, p.drop_below)
    return stochastic_problem(known, p, seed, threads)


def stochastic_problem(known: KnownWorld, p: UtilityFrontParameters, seed: int, threads: int = 1) -> StochasticProblem:
    """What evolution optimises where there is chance in the objective."""
    from joulewise.optimise.assignments.stochastic import StochasticProblem

    assert known.chances is not None, "objectives of chance are checked to have them"
    return StochasticProblem(
        known.world,
        known.chances,
        objective=p.objective,
        percentile=(p.percentile_utility, p.percentile_energy),
        n_samples=p.n_samples,
        drop_below=p.drop_below,
        drop_by=p.drop_by,
        seed=seed,
        threads=threads,
    )


def seeds_of(world: World, p: UtilityFrontParameters) -> list[Assignment]:
    """The assignments that the first population has."""
    from joulewise.optimise.assignments.seeds import SEEDS

    made: dict[str, Callable[[World, float], Assignment]] = {
        **SEEDS,
        **{name: partial(simulated, name) for name in SIMULATED},
    }
    return [made[name](world, p.drop_below) for name in p.seed_names]


def _generations_s(p: UtilityFrontParameters, n_tasks: float) -> float:
    gene_s = _GENE_S if p.is_certain else _SAMPLE_S * p.n_samples
    return p.islands * p.generations * p.population * (_CHILD_S + gene_s * n_tasks)


METHODS = {
    ANNEALING: Method(
        "Annealing",
        "assignments improved move by move, from the most utility to the least energy",
        "ours",
        _annealed,
        lambda p, n_tasks: _START_S * n_tasks + _MOVE_S * p.moves,
        draws=True,
        keys=("moves",),
    ),
    NSGA2: Method(
        "NSGA-II",
        "a population of assignments that evolves, seeded with heuristics",
        "Friese 5.4.4, 7.2",
        _evolved,
        _generations_s,
        draws=True,
        keys=(
            *GENETIC_KEYS, "seeds", "objective", "percentile_utility", "percentile_energy", "n_samples", "drop_by",
            "engine", "islands", "exchange_every", "start_from",
        ),
    ),
}  # fmt: skip
"""Every value of `optimise.method` with the goal of utility."""
