"""The section `[optimise]` of a study file: what is sought, and how."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field

from joulewise import units
from joulewise.errors import Problem, raise_if_any
from joulewise.study.parameters import Thresholds
from joulewise.units import count
from joulewise.worlds.parameters import explained

MOST_GENERATIONS = 10_000_000
NSGA2: Final = "nsga2"


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


def genetic_ways(p: FrontParameters | UtilityFrontParameters) -> dict[str, Any]:
    """How NSGA-II evolves, as `evolve` takes it."""
    from joulewise.optimise.evolution import Ways

    ways = Ways(p.mutation, p.ranks, p.archive, p.snapshots)
    return {"population": p.population, "generations": p.generations, "ways": ways}


def _front_problems(p: FrontParameters | UtilityFrontParameters) -> Iterator[Problem]:
    if p.population % 2:
        yield Problem("optimise.population", f"found {p.population}", "must be even: chromosomes are paired")
    wrong = [n for n in p.snapshots if not 0 <= n <= p.generations]
    if wrong:
        yield Problem("optimise.snapshots", f"found {wrong[0]}", f"must be from 0 to generations, {p.generations}")
    if len(set(p.snapshots)) < len(p.snapshots):
        yield Problem("optimise.snapshots", f"found {list(p.snapshots)}", "must differ from each other")


HEURISTICS = ("min-energy", "max-utility", "max-utility-per-energy", "min-min")
SIMULATED = ("max-max-util", "max-max-upt", "max-max-upp", "max-max-upe")
ALL_SEEDS = "all"
CERTAIN, MEAN_COMPLETIONS, EXPECTED, PERCENTILE = "mean-times", "mean-completions", "expected", "percentile"
AUTO: Final = "auto"
ONE_CORE: Final = "one core"
ALL_CORES: Final = "all cores"
GPU: Final = "gpu"

_SeedName: TypeAlias = Literal[
    "min-energy", "max-utility", "max-utility-per-energy", "min-min",
    "max-max-util", "max-max-upt", "max-max-upp", "max-max-upe", "all",
]  # fmt: skip


@dataclass(frozen=True)
class UtilityFrontParameters:
    """How the front of energy and utility is searched."""

    method: Literal["annealing", "nsga2"] = explained(
        "annealing", "how assignments are found: a name of `joulewise list methods`"
    )
    drop_below: Annotated[float, Field(ge=0)] = explained(
        0.0,
        "utility, 0 or more: a task that would earn less when its turn comes is dropped, and any may be left out; "
        "0: every task runs",
    )
    moves: Annotated[int, Field(ge=0)] = explained(8_000_000, "moves that annealing tries, over the whole front")
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
    seeds: tuple[_SeedName, ...] = explained(
        HEURISTICS,
        "assignments in the first population: of heuristics, of policies in simulation (max-max-...), or all; the "
        "others are drawn (nsga2)",
    )
    snapshots: tuple[int, ...] = explained((), "numbers of generations after which the front is stored too (nsga2)")
    objective: Literal["mean-times", "mean-completions", "expected", "percentile"] = explained(
        "mean-times",
        "what is optimised where times and powers are uncertain: energy and utility at mean times, utility at mean "
        "completions, expected energy and utility, or percentiles of both (nsga2)",
    )
    percentile_utility: Annotated[int, Field(ge=1, le=100)] = explained(
        50, "so many percent of the samples earn at least the utility that counts; 99 is cautious (percentile)"
    )
    percentile_energy: Annotated[int, Field(ge=1, le=100)] = explained(
        50, "so many percent of the samples use at most the energy that counts; 99 is cautious (percentile)"
    )
    n_samples: Annotated[int, Field(ge=1, le=10_000)] = explained(
        100, "samples of all times and powers, the same for all assignments (objectives of chance)"
    )
    drop_by: Literal["sampled", "expected"] = explained(
        "sampled", "whether drop_below is held against what a task earns in each sample, or in expectation"
    )
    fresh_samples: Annotated[int, Field(ge=4, le=100_000)] = explained(
        100, "other samples in which the front that was found is evaluated again, where times or powers are uncertain"
    )
    tolerance: Annotated[float, Field(ge=0, le=1)] = explained(
        0.05, "share of the most utility that the cautious choice may give up, where times or powers are uncertain"
    )
    engine: Literal["auto", "one core", "all cores", "gpu"] = explained(
        "auto", "what searches: a GPU if there is one and it is worth it, else one core for each run (nsga2)"
    )
    islands: Annotated[int, Field(ge=1, le=1000)] = explained(1, "populations that evolve apart (nsga2)")
    exchange_every: Annotated[int, Field(ge=1)] = explained(
        100, "generations after which islands hand their best points on to the next one"
    )
    start_from: str | None = explained(
        None, "population that an earlier run saved, from which this one goes on (nsga2)", file=True
    )

    def __post_init__(self) -> None:
        raise_if_any(_front_problems(self))
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


RewardMethod: TypeAlias = Literal[
    "configurations", "greedy", "greedy-rates", "greedy-spread", "ga", "gacl", "nlp", "nlpcl"
]


@dataclass(frozen=True)
class RewardParameters:
    """How the plan of a facility with the highest co-located reward rate is searched."""

    method: RewardMethod = explained(  # noqa: RUF009 - explained() is dataclasses.field()
        "configurations", "how plans are found: a name of `joulewise list methods`"
    )
    time_limit_s: Annotated[float | None, Field(gt=0)] = explained(
        None, "time after which a search gives back the best plan so far; left out: none"
    )
    gap: Annotated[float, Field(ge=0, lt=1)] = explained(
        0.002, "the search ends with a plan that earns all but this share of the proven bound (configurations)"
    )
    population: Annotated[int, Field(ge=2, le=100_000)] = explained(200, "chromosomes of a population (ga, gacl)")
    generations: Annotated[int, Field(ge=0, le=MOST_GENERATIONS)] = explained(
        10_000, "generations, of two children each, unless time_limit ends it before (ga, gacl)"
    )
    mutation: Annotated[float, Field(ge=0, le=1)] = explained(
        0.1, "probability that a new chromosome is mutated (ga, gacl)"
    )
    gene_mutation: Annotated[float, Field(ge=0, le=1)] = explained(
        0.05, "probability that a gene of a chromosome that is mutated is drawn anew (ga, gacl)"
    )
    seeds: tuple[Literal["greedy", "greedy-rates", "greedy-spread", "configurations"], ...] = explained(
        (), "plans of other methods in the first population; the others are drawn, as published (ga, gacl)"
    )
    as_printed: bool = explained(
        False,
        "eq. 10 word for word when plans are judged: one idle core of a processor ends all interference among the "
        "others; there is no bound then",
    )
    day_s: Annotated[float | None, Field(gt=0)] = explained(
        None,
        "how long tasks then arrive one by one, at random, and are sent to cores as plans want it, so that what is "
        "earned can be held against what was planned; left out: there is no such day",
    )
    day_rates: tuple[Annotated[float, Field(ge=0)], ...] = explained(
        (),
        "how often tasks arrive in each of as many equal parts of the day, as shares of the rates of the workload; "
        "left out: even rates",
    )
    rates_apart: bool = explained(
        False, "whether task types have their busy hours apart: of n, each comes a n-th of the day after the one before"
    )
    replan_every_s: Annotated[float | None, Field(gt=0)] = explained(
        None, "how often in the day a plan is made for the rates to come; left out: once, for the mean rates"
    )
    slack: Annotated[float, Field(ge=0, lt=1)] = explained(
        0.0, "share of the power cap that plans of the day leave free, for chance"
    )

    def __post_init__(self) -> None:
        raise_if_any(_reward_problems(self))

    @property
    def n_parts(self) -> int:
        """How many parts of equal rates a day has."""
        return max(len(self.day_rates), 1)

    @property
    def parts_per_plan(self) -> int | None:
        """For how many parts of the day a plan holds; None: all of them."""
        if self.day_s is None or self.replan_every_s is None:
            return None
        return round(self.replan_every_s / self.day_s * self.n_parts)


def _reward_problems(p: RewardParameters) -> Iterator[Problem]:
    if len(set(p.seeds)) < len(p.seeds):
        yield Problem("optimise.seeds", f"found {list(p.seeds)}", "must differ from each other")
    elif len(p.seeds) > p.population:
        yield Problem("optimise.population", f"found {p.population}", f"must hold the {len(p.seeds)} seeds")
    yield from _day_problems(p)


_DAY_KEYS = {"day_rates": "day_rates", "rates_apart": "rates_apart", "replan_every_s": "replan_every", "slack": "slack"}
_WHOLE = 1e-9


def _day_problems(p: RewardParameters) -> Iterator[Problem]:
    if p.day_rates and not any(p.day_rates):
        yield Problem("optimise.day_rates", f"found {list(p.day_rates)}", "one at least must be above 0")
    given = [key for name, key in _DAY_KEYS.items() if getattr(p, name)]
    if p.day_s is None:
        for key in given:
            yield Problem(f"optimise.{key}", "found no day", "is for a day", 'say how long it is: day = "24 h"')
    elif p.replan_every_s is not None:
        part_s, held = p.day_s / p.n_parts, p.replan_every_s / p.day_s * p.n_parts
        if held < 1 - _WHOLE or abs(held - round(held)) > _WHOLE * held:
            found, parts = f"found {units.duration(p.replan_every_s)}", count(p.n_parts, "part")
            allowed = f"must be a whole number of parts of the day, which has {parts} of {units.duration(part_s)}"
            yield Problem("optimise.replan_every", found, allowed, "give as many day_rates as there are plans, or more")
