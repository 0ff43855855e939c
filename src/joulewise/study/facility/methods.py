"""The ways to plan a facility, and what they start from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from joulewise.errors import Problem
from joulewise.study.bags.front import Method
from joulewise.study.optimising import RewardParameters

if TYPE_CHECKING:
    from joulewise.model.air import Air
    from joulewise.model.facility import Facility
    from joulewise.optimise.facility.search import FoundPlan

# Rough figures of one ordinary processor of 2024.
_PLAN_S, _NODE_S, _GREEDY_NODE_S, _GENE_S, _NLP_NODE_S = 0.3, 4e-4, 1e-4, 1e-7, 0.15
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

    return evolve_plans(
        facility,
        air,
        counts_neighbours=co_located,
        population=p.population,
        generations=p.generations,
        mutation=p.mutation,
        gene_mutation=p.gene_mutation,
        seconds=_limit_s(p),
        seeds=[METHODS[name].search(facility, air, RewardParameters(), seed).plan for name in p.seeds],
        seed=seed,
    )


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
    "greedy-rates": Method(
        "Greedy with rates",
        "the same, but a task type that is done as often as it arrives gets no more cores",
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


def missing_extras(parameters: Sequence[RewardParameters]) -> Iterator[Problem]:
    """The methods that need CasADi, where it is not installed."""
    wanted = dict.fromkeys(p.method for p in parameters if p.method in (NLP, NLPCL))
    if wanted and find_spec("casadi") is None:
        found = f"found {' and '.join(map(repr, wanted))}, and CasADi is not installed"
        yield Problem("optimise.method", found, "needs the extra [nlp]", "install it: pip install 'joulewise[nlp]'")


def run_s(p: RewardParameters, n_nodes: float) -> float:
    """About how long a run takes."""
    return min(METHODS[p.method].seconds(p, n_nodes), _limit_s(p))


def search(facility: Facility, air: Air, p: RewardParameters, seed: int) -> FoundPlan:
    """What the method of a study finds; P-states of what a core spends no time on are 0, as tables have them."""
    found: FoundPlan = METHODS[p.method].search(facility, air, p, seed)
    pstate = np.where(found.plan.share > 0, found.plan.pstate, 0)
    return replace(found, plan=replace(found.plan, pstate=pstate))
