"""The ways to plan a facility, their parameters, and what they start from."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from joulewise import units
from joulewise.errors import Problem, raise_if_any
from joulewise.study.searches.genetic import MOST_GENERATIONS
from joulewise.study.searches.methods import Method
from joulewise.study.spec.parameters import OneOf
from joulewise.units import count
from joulewise.worlds.parameters import explained

if TYPE_CHECKING:
    from joulewise.model.air import Air
    from joulewise.model.facility import Facility, FacilityPlan
    from joulewise.optimise.facility.evaluation import Steady
    from joulewise.optimise.facility.search import FoundPlan

# Rough figures of one ordinary processor of 2024.
_PLAN_S, _NODE_S, _GREEDY_NODE_S, _GENE_S, _NLP_NODE_S = 0.2, 3e-4, 1e-4, 1e-7, 0.15
_GENES_PER_NODE = 32
NLP, NLPCL = "nlp", "nlpcl"


def _limit_s(p: RewardParameters) -> float:
    return math.inf if p.time_limit_s is None else p.time_limit_s


def _planned(facility: Facility, air: Air, p: RewardParameters, _seed: int) -> FoundPlan:
    from joulewise.optimise.facility.planner import plan_facility

    return plan_facility(facility, air, gap=p.gap, seconds=_limit_s(p))


def _greedy(facility: Facility, air: Air, _p: RewardParameters, _seed: int, name: str) -> FoundPlan:
    from joulewise.optimise.facility.greedy import plan_greedily

    return plan_greedily(facility, air, name)


def _evolved(facility: Facility, air: Air, p: RewardParameters, seed: int, *, co_located: bool) -> FoundPlan:
    from joulewise.optimise.facility.genetic import evolve_plans

    began_s, limit_s = time.perf_counter(), p.time_limit_s and p.time_limit_s / (len(p.seeds) + 1)
    other = RewardParameters(time_limit_s=limit_s)
    seeds = [METHODS[name].search(facility, air, other, seed).plan for name in p.seeds]
    found = evolve_plans(
        facility,
        air,
        counts_neighbours=co_located,
        population=p.population,
        generations=p.generations,
        mutation=p.mutation,
        gene_mutation=p.gene_mutation,
        seconds=_limit_s(p) - (time.perf_counter() - began_s),
        seeds=seeds,
        seed=seed,
    )
    if found.why_stopped == "interrupted":  # half a search is no finished run
        raise KeyboardInterrupt
    return found


def _programmed(facility: Facility, air: Air, p: RewardParameters, seed: int, *, co_located: bool) -> FoundPlan:
    from joulewise.optimise.facility.nlp import plan_by_nlp

    return plan_by_nlp(facility, air, counts_neighbours=co_located, seconds=_limit_s(p), seed=seed)


def _evolution_s(p: RewardParameters, n_nodes: float) -> float:
    return _GENE_S * (2 * p.generations + p.population) * _GENES_PER_NODE * n_nodes


_LIMITED = ("time_limit_s",)
_EVOLVED = (*_LIMITED, "population", "generations", "mutation", "gene_mutation", "seeds")

METHODS = {
    "configurations": Method(
        "Configurations",
        "a linear program over what the cores of a processor may run together, priced exactly, with a proven bound",
        "ours",
        _planned,
        lambda _p, n_nodes: _PLAN_S + _NODE_S * n_nodes,
        draws=False,
        keys=(*_LIMITED, "gap"),
    ),
    "greedy": Method(
        "Greedy",
        "core by core the task type and node type that do most per joule, whether or not enough of them are done",
        "Oxley IV.A, algorithm 1",
        partial(_greedy, name="literal"),
        lambda _p, n_nodes: _GREEDY_NODE_S * n_nodes,
        draws=False,
        keys=(),
    ),
    "greedy-rounds": Method(
        "Greedy in rounds",
        "the same, but after each core the next pair of task type and node type has its turn, in rounds",
        'Oxley IV.A: "repeats using the next pairing"',
        partial(_greedy, name="rounds"),
        lambda _p, n_nodes: _GREEDY_NODE_S * n_nodes,
        draws=False,
        keys=(),
    ),
    "greedy-rates": Method(
        "Greedy with rates",
        "as greedy, but a task type that is done as often as it arrives gets no more cores",
        "Oxley IV.A, the text",
        partial(_greedy, name="by rate"),
        lambda _p, n_nodes: _GREEDY_NODE_S * n_nodes,
        draws=False,
        keys=(),
    ),
    "greedy-spread": Method(
        "Greedy that spreads",
        "the same, and memory-heavy tasks are kept apart by what a core earns beside its neighbours",
        "Oxley VII, a wish of its authors; ours",
        partial(_greedy, name="apart"),
        lambda _p, n_nodes: _GREEDY_NODE_S * n_nodes,
        draws=False,
        keys=(),
    ),
    "ga": Method(
        "GA",
        "a population of plans that evolves by reward rate, with a local search that keeps the limits",
        "Oxley IV.B",
        partial(_evolved, co_located=False),
        _evolution_s,
        draws=True,
        keys=_EVOLVED,
    ),
    "gacl": Method(
        "GACL",
        "the same by co-located reward rate",
        "Oxley IV.B",
        partial(_evolved, co_located=True),
        _evolution_s,
        draws=True,
        keys=_EVOLVED,
    ),
    NLP: Method(
        "NLP",
        "a non-linear program with P-states between the real ones, rounding, and a linear program, by reward rate",
        "Oxley IV.C; Al-Qawasmeh et al.",
        partial(_programmed, co_located=False),
        lambda _p, n_nodes: _NLP_NODE_S * n_nodes,
        draws=True,
        keys=_LIMITED,
    ),
    NLPCL: Method(
        "NLPCL",
        "the same by co-located reward rate, with powers and speeds by memory intensity",
        "Oxley IV.C",
        partial(_programmed, co_located=True),
        lambda _p, n_nodes: _NLP_NODE_S * n_nodes,
        draws=True,
        keys=_LIMITED,
    ),
}
"""Every value of `optimise.method` for a facility."""


SEEDS = ("greedy", "greedy-rounds", "greedy-rates", "greedy-spread", "configurations")
"""The methods whose plans a first population may have."""


@dataclass(frozen=True)
class RewardParameters:
    """How the plan of a facility with the highest co-located reward rate is searched."""

    method: Annotated[str, OneOf(tuple(METHODS))] = explained(
        "configurations", "how plans are found: a name of `joulewise list methods`"
    )
    time_limit_s: Annotated[float | None, Field(gt=0)] = explained(
        None,
        "time after which a run has the best plan so far: for all of its searches together, each of which has an equal "
        "part of what is left; left out: none",
        search=True,
    )
    gap: Annotated[float, Field(ge=0, lt=1)] = explained(
        0.002,
        "the search ends with a plan that earns all but this share of the proven bound (configurations)",
        search=True,
    )
    population: Annotated[int, Field(ge=2, le=100_000)] = explained(
        200, "chromosomes of a population (ga, gacl)", search=True
    )
    generations: Annotated[int, Field(ge=0, le=MOST_GENERATIONS)] = explained(
        10_000, "generations, of two children each, unless time_limit ends it before (ga, gacl)", search=True
    )
    mutation: Annotated[float, Field(ge=0, le=1)] = explained(
        0.1, "probability that a new chromosome is mutated (ga, gacl)", search=True
    )
    gene_mutation: Annotated[float, Field(ge=0, le=1)] = explained(
        0.05, "probability that a gene of a mutated chromosome is drawn again (ga, gacl)", search=True
    )
    seeds: tuple[Annotated[str, OneOf(SEEDS)], ...] = explained(
        (), "plans of other methods in the first population; the others are drawn (ga, gacl)"
    )
    as_printed: bool = explained(
        False,
        "judge plans by equation 10 of Oxley et al. 2014 word for word: one idle core of a processor ends all "
        "interference among the others; there is no bound then",
    )
    day_s: Annotated[float | None, Field(ge=0)] = explained(
        None,
        "length of a simulated day in which tasks arrive one by one, at random, and go to cores as the plan says; what "
        "it earns is what the plan is worth; 0 is no day; left out: 24 h, or 100 times the longest task where that is "
        "more, but no more than a million tasks, and no day where those arrive in less time",
        search=True,
    )
    day_rates: tuple[Annotated[float, Field(ge=0)], ...] = explained(
        (),
        "how often tasks arrive in each of as many equal parts of the day, as shares of the rates of the workload; "
        "left out: even rates",
    )
    rates_apart: bool = explained(
        False,
        "whether task types have their busy hours at different times: with n types, each comes an n-th of the "
        "day after the one before",
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
        if not self.day_s or self.replan_every_s is None:
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
    if p.day_s == 0.0 or (p.day_s is None and p.replan_every_s is not None):
        for key in given:
            yield Problem(f"optimise.{key}", "found no day", "is for a day", 'say how long it is: day = "24 h"')
    elif p.day_s and p.replan_every_s is not None:
        part_s, held = p.day_s / p.n_parts, p.replan_every_s / p.day_s * p.n_parts
        if held < 1 - _WHOLE or abs(held - round(held)) > _WHOLE * held:
            found, parts = f"found {units.duration(p.replan_every_s)}", count(p.n_parts, "part")
            allowed = f"must be a whole number of parts of the day, which has {parts} of {units.duration(part_s)}"
            yield Problem("optimise.replan_every", found, allowed, "give as many day_rates as there are plans, or more")


def missing_extras(parameters: Sequence[RewardParameters]) -> Iterator[Problem]:
    """The methods that need CasADi, where it is not installed."""
    wanted = dict.fromkeys(p.method for p in parameters if p.method in (NLP, NLPCL))
    if wanted and find_spec("casadi") is None:
        found = f"found {' and '.join(map(repr, wanted))}, and CasADi is not installed"
        yield Problem("optimise.method", found, "needs the extra [nlp]", "install it: pip install 'joulewise[nlp]'")


def search_s(p: RewardParameters, n_nodes: float) -> float:
    """About how long a search for a plan takes."""
    return min(METHODS[p.method].seconds(p, n_nodes), _limit_s(p))


def search(facility: Facility, air: Air, p: RewardParameters, seed: int) -> FoundPlan:
    """What the method of a study finds; P-states of what a core spends no time on are 0, as tables have them."""
    found: FoundPlan = METHODS[p.method].search(facility, air, p, seed)
    pstate = np.where(found.plan.share > 0, found.plan.pstate, 0)
    return replace(found, plan=replace(found.plan, pstate=pstate))


def steady_of(facility: Facility, air: Air, plan: FacilityPlan, p: RewardParameters) -> Steady:
    """What comes of a plan, with the equations read as the study asks."""
    from joulewise.optimise.facility.evaluation import EquationReading, steady

    return steady(facility, air, plan, EquationReading(as_printed=p.as_printed))
