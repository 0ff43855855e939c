"""How the front of energy and utility is searched, as a study file says it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from joulewise.errors import Problem, raise_if_any
from joulewise.optimise.assignments.choices import DropBy, StochasticObjective
from joulewise.optimise.ways import POPULATION, Ranks, Ways
from joulewise.study.searches.genetic import GPU, MOST_GENERATIONS, NSGA2, ONE_CORE, genetic_problems
from joulewise.study.spec.parameters import OneOf
from joulewise.worlds.parameters import explained

ANNEALING: Final = "annealing"
METHOD_NAMES = (ANNEALING, NSGA2)
HEURISTICS = ("min-energy", "max-utility", "max-utility-per-energy", "min-min")
SIMULATED = ("max-max-util", "max-max-upt", "max-max-upp", "max-max-upe")
ALL_SEEDS = "all"
CERTAIN: Final = "mean-times"
MEAN_COMPLETIONS: Final = "mean-completions"
EXPECTED: Final = "expected"
PERCENTILE: Final = "percentile"
AUTO: Final = "auto"
ALL_CORES: Final = "all cores"
ENGINES = (AUTO, ONE_CORE, ALL_CORES, GPU)

OBJECTIVES = {
    CERTAIN: "energy and utility if everything takes its mean time and power; it has a proven bound",
    MEAN_COMPLETIONS: "mean energy, and utility at the mean completion of each task over the samples",
    EXPECTED: "mean energy and mean utility over the samples",
    PERCENTILE: "the utility that percentile_utility percent of the samples earn at least, and the energy that "
    "percentile_energy percent of them use at most",
}
"""What is optimised where times and powers are uncertain."""


@dataclass(frozen=True)
class UtilityFrontParameters:
    """How the front of energy and utility is searched."""

    method: Annotated[str, OneOf(METHOD_NAMES)] = explained(
        "annealing", "how assignments are found: a name of `joulewise list methods`"
    )
    drop_below: Annotated[float, Field(ge=0)] = explained(
        0.0,
        "utility, 0 or more: a task that would earn less when its turn comes is dropped, and any may be left out; "
        "0: every task runs",
    )
    moves: Annotated[int, Field(ge=0)] = explained(
        8_000_000, "moves that annealing tries, over the whole front", search=True
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
    seeds: tuple[Annotated[str, OneOf((*HEURISTICS, *SIMULATED, ALL_SEEDS))], ...] = explained(
        HEURISTICS,
        "assignments in the first population: of heuristics, of policies in simulation (max-max-...), or all; the "
        "others are drawn (nsga2)",
    )
    snapshots: tuple[int, ...] = explained((), "numbers of generations after which the front is stored too (nsga2)")
    objective: StochasticObjective = explained(
        CERTAIN,
        "what is optimised where times and powers are uncertain: energy and utility at mean times, utility at mean "
        "completions, expected energy and utility, or percentiles of both (nsga2)",
    )
    percentile_utility: Annotated[int, Field(ge=1, le=100)] = explained(
        50, "percent of the samples that earn at least the utility that counts; 99 is cautious (percentile)"
    )
    percentile_energy: Annotated[int, Field(ge=1, le=100)] = explained(
        50, "percent of the samples that use at most the energy that counts; 99 is cautious (percentile)"
    )
    n_samples: Annotated[int, Field(ge=1, le=10_000)] = explained(
        100, "samples of all times and powers, the same for all assignments (objectives of chance)", search=True
    )
    drop_by: DropBy = explained(
        "sampled", "whether drop_below is compared with what a task earns in each sample, or in expectation"
    )
    fresh_samples: Annotated[int, Field(ge=4, le=100_000)] = explained(
        100,
        "other samples in which the front that was found is evaluated again, where times or powers are uncertain",
        search=True,
    )
    tolerance: Annotated[float, Field(ge=0, le=1)] = explained(
        0.05, "share of the most utility that the cautious choice may give up, where times or powers are uncertain"
    )
    engine: Annotated[str, OneOf(ENGINES)] = explained(
        AUTO, "what searches: a GPU if there is one and it is worth it, else one core for each run (nsga2)"
    )
    islands: Annotated[int, Field(ge=1, le=1000)] = explained(1, "populations that evolve apart (nsga2)", search=True)
    exchange_every: Annotated[int, Field(ge=1)] = explained(
        100, "generations after which islands hand their best points on to the next one", search=True
    )
    start_from: str | None = explained(
        None, "population that an earlier run saved, from which this one goes on (nsga2)", file=True
    )

    def __post_init__(self) -> None:
        raise_if_any(genetic_problems(self))
        raise_if_any(_seed_problems(self))

    @property
    def is_certain(self) -> bool:
        """Whether what is optimised has no chance in it, so that bounds can be proven."""
        return self.objective == CERTAIN

    @property
    def seed_names(self) -> tuple[str, ...]:
        """The seeds by their own names."""
        return (*HEURISTICS, *SIMULATED) if ALL_SEEDS in self.seeds else self.seeds


def _seed_problems(p: UtilityFrontParameters) -> Iterator[Problem]:
    if len(set(p.seeds)) < len(p.seeds):
        yield Problem("optimise.seeds", f"found {list(p.seeds)}", "must differ from each other")
    elif len(p.seed_names) > p.population:
        yield Problem("optimise.population", f"found {p.population}", f"must hold the {len(p.seed_names)} seeds")
