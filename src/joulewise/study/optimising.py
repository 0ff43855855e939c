"""The section `[optimise]` of a study file: what is sought for a bag of tasks, and how."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from joulewise.errors import Problem, raise_if_any
from joulewise.study.parameters import Thresholds
from joulewise.worlds.parameters import explained

MOST_GENERATIONS = 10_000_000


@dataclass(frozen=True)
class FrontParameters:
    """How the front of energy and makespan is searched."""

    method: Literal["lp", "annealing", "nsga2"] = explained(
        "lp", "how allocations are found: a name of `joulewise list methods`"
    )
    n_points: Annotated[int, Field(ge=2, le=100_000)] = explained(
        100, "points along the bound, besides its vertices, at which whole allocations are made (lp, annealing)"
    )
    moves: Annotated[int, Field(ge=0)] = explained(
        20_000_000, "moves that annealing tries, over the whole front together"
    )
    population: Annotated[int, Field(ge=2, le=100_000)] = explained(100, "chromosomes of a generation (nsga2)")
    generations: Annotated[int, Field(ge=0, le=MOST_GENERATIONS)] = explained(1000, "generations (nsga2)")
    mutation: Annotated[float, Field(ge=0, le=1)] = explained(
        0.5, "probability that a new chromosome is mutated (nsga2)"
    )
    archive: bool = explained(
        True, "whether every non-dominated point ever found is kept; false, as published: the last population (nsga2)"
    )
    ranks: Literal["peeling", "dominators"] = explained(
        "peeling", "rank of a chromosome: which front it is peeled off with, or 1 + how many dominate it (nsga2)"
    )
    seeds: tuple[Literal["min-energy", "min-min"], ...] = explained(
        ("min-energy", "min-min"), "allocations in the first population; the others are drawn (nsga2)"
    )
    snapshots: tuple[int, ...] = explained((), "numbers of generations after which the front is stored too (nsga2)")

    def __post_init__(self) -> None:
        raise_if_any(_front_problems(self))


def _front_problems(p: FrontParameters) -> Iterator[Problem]:
    if p.population % 2:
        yield Problem("optimise.population", f"found {p.population}", "must be even: chromosomes are paired")
    wrong = [n for n in p.snapshots if not 0 <= n <= p.generations]
    if wrong:
        yield Problem("optimise.snapshots", f"found {wrong[0]}", f"must be from 0 to generations, {p.generations}")
    if len(set(p.snapshots)) < len(p.snapshots):
        yield Problem("optimise.snapshots", f"found {list(p.snapshots)}", "must differ from each other")


@dataclass(frozen=True)
class ProfitParameters:
    """What a bag earns and costs, and how its allocation is made."""

    price: Annotated[float | None, Field(gt=0)] = explained(None, "what the customer pays for the bag")
    profit_ratio: Annotated[float | None, Field(gt=0)] = explained(
        None, "the price over the least cost of the bag's energy, in place of price"
    )
    cost_per_kwh: Annotated[float | None, Field(gt=0)] = explained(
        None, "what a kWh costs; left out: supply.tariff says it by the hour"
    )
    recovery: Literal["one", "best"] = explained(
        "best", "whole allocations are made at the optimum of the bound alone, or at many points to keep the best"
    )
    deadline_s: Annotated[float | None, Field(gt=0)] = explained(
        None, "time by which the bag must be done; left out: none"
    )
    overhead: Annotated[float, Field(ge=0)] = explained(0.0, "what handling the bag costs, however it is run")
    wear_per_hour: Thresholds = explained(  # noqa: RUF009 - explained() is dataclasses.field()
        (), "what an hour of computing wears off a machine, by machine type"
    )
    depreciation_per_hour: Annotated[float, Field(ge=0)] = explained(
        0.0, "what all machines together lose in an hour, computing or not"
    )
    must_run: bool = explained(False, "whether an agreement requires the bag to be run even at a loss")

    def __post_init__(self) -> None:
        raise_if_any(_profit_problems(self))


def _profit_problems(p: ProfitParameters) -> Iterator[Problem]:
    if (p.price is None) == (p.profit_ratio is None):
        found = "found neither price nor profit_ratio" if p.price is None else "found profit_ratio as well"
        yield Problem("optimise.price", found, "must be exactly one of the two")
