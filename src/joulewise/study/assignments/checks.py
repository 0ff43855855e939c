"""What must hold of studies of the front of energy and utility before anything is run."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.study.assignments.methods import METHODS, problem_of, start_of
from joulewise.study.assignments.parameters import ALL_CORES, PERCENTILE, UtilityFrontParameters
from joulewise.study.assignments.world import KnownWorld
from joulewise.study.kinds.case import Candidates
from joulewise.study.searches.genetic import ISLAND_USES, NSGA2, gpu_problems
from joulewise.study.searches.judging import unused_supply
from joulewise.study.searches.methods import Uses, idle_keys, unused_keys
from joulewise.study.searches.seeds import seed_of
from joulewise.study.spec.machines import failures
from joulewise.study.spec.parameters import shown
from joulewise.study.spec.parts import WorldParts
from joulewise.study.spec.source import Draw

SUPPLY_KEYS = ("pue",)
"""What of the supply matters to tasks that are known in advance."""
_PLACES = {
    "workload.stretch": "workload.time_spread",
    "system.idle_w": "system",
    "drop_below": "optimise.drop_below",
    "start": "optimise.start_from",
    "population": "optimise.population",
}
"""Where a study file has what searches call otherwise."""

_SAME = "name a population of the same system, workload, seed, drop_below and objective"

_USES: Uses = {
    "percentile_utility": (lambda p: p.objective == PERCENTILE, 'objective = "percentile"'),
    "percentile_energy": (lambda p: p.objective == PERCENTILE, 'objective = "percentile"'),
    "n_samples": (lambda p: not p.is_certain, "objectives of chance"),
    "drop_by": (lambda p: not p.is_certain and p.drop_below > 0, "objectives of chance with drop_below above 0"),
    **ISLAND_USES,
}
"""What keys need that matter in some searches only."""


def checks(asked: Candidates, draw: Draw, is_random: Callable[[WorldParts], bool]) -> Iterator[Callable[[], object]]:
    """What must hold before anything is run; `is_random` tells of worlds that differ between trials."""
    parameters = [part.parameters for part in asked.decisions]
    searched = [p for p in parameters if p.method == NSGA2]
    systems, supplies = ({getattr(parts, name): None for parts in asked.worlds} for name in ("system", "supply"))
    yield lambda: raise_if_any(idle_keys(UtilityFrontParameters, parameters, METHODS))
    yield lambda: raise_if_any(unused_keys(UtilityFrontParameters, searched, _USES))
    yield lambda: raise_if_any(_trial_problems(asked, is_random))
    yield lambda: raise_if_any(problem for system in systems for problem in failures(system))
    yield lambda: raise_if_any(problem for supply in supplies for problem in unused_supply(supply, SUPPLY_KEYS))
    sought: dict[WorldParts, list[UtilityFrontParameters]] = {parts: [] for parts in asked.worlds}
    for parts, decisions in asked.decided:
        sought[parts] += [decision.parameters for decision in decisions]
    yield from (partial(_check_world, asked, parts, draw, searches) for parts, searches in sought.items())


def _trial_problems(asked: Candidates, is_random: Callable[[WorldParts], bool]) -> Iterator[Problem]:
    """Populations to start from, where trials have worlds of their own: a population belongs to one world."""
    started = [
        (parts, decision.parameters.start_from)
        for parts, decisions in asked.decided
        for decision in decisions
        if decision.parameters.start_from is not None
    ]
    if asked.trials > 1 and any(is_random(parts) for parts, _ in started):
        found = f"found {started[0][1]!r} with trials = {asked.trials}"
        yield Problem("optimise.start_from", found, "is of one trial: the others have other worlds", "set trials = 1")


def _check_world(asked: Candidates, parts: WorldParts, draw: Draw, sought: Sequence[UtilityFrontParameters]) -> None:
    """InputError when a world of the first trial is none of tasks known in advance, or not what searches need."""
    try:
        known = asked.world_of(parts)
        raise_if_any(problem for p in sought for problem in _search_problems(known, p, draw))
    except InputError as error:
        raise InputError(*map(_in_study, error.problems)) from None


def _search_problems(known: KnownWorld, p: UtilityFrontParameters, draw: Draw) -> Iterator[Problem]:
    from joulewise.optimise.assignments.fuzzy import draw_problems
    from joulewise.optimise.assignments.problem import AssignmentProblem, assignment_facts

    if p.method == NSGA2:
        AssignmentProblem(known.world, p.drop_below)
    else:
        assignment_facts(known.world, p.drop_below)
    if not p.is_certain and known.chances is None:
        found, advice = f"found {p.objective!r} with certain times and powers", "give system.time_cov_range"
        yield Problem("optimise.objective", found, "needs uncertain ones", advice)
    elif p.method == NSGA2 and p.start_from is not None:
        yield from _start_problems(known, p, draw)
    if known.chances is None:
        yield from _certain_problems(p)
    else:
        yield from draw_problems(known.world.workload.n_tasks, p.fresh_samples, "optimise.fresh_samples")
    if p.method == NSGA2:
        yield from _engine_problems(p)


def _certain_problems(p: UtilityFrontParameters) -> Iterator[Problem]:
    """Parameters of what is done with chances, where there are none."""
    for name in ("fresh_samples", "tolerance"):
        if getattr(p, name) != _default(name):
            found = f"found {shown(name, getattr(p, name))} with certain times and powers"
            yield Problem(f"optimise.{name}", found, "is for uncertain ones", "leave it out")


def _engine_problems(p: UtilityFrontParameters) -> Iterator[Problem]:
    yield from gpu_problems(p)
    if p.engine == ALL_CORES and p.is_certain and p.islands == 1:
        allowed = "is for objectives of chance, or two islands or more"
        yield Problem("optimise.engine", f"found {p.engine!r}", allowed, "leave it out")


def _start_problems(known: KnownWorld, p: UtilityFrontParameters, draw: Draw) -> Iterator[Problem]:
    """What keeps a search from going on with the population that it is to start from."""
    from joulewise.optimise.evolution import start_problems

    if p.seeds not in ((), _default("seeds")):
        yield Problem("optimise.seeds", f"found {list(p.seeds)}", "a population that is there has no more seeds")
    start = start_of(dataclasses.replace(p, start_from=str(draw.folder / str(p.start_from))))
    problem = problem_of(known, p, seed_of(draw.seed, draw.trial))
    for found in start_problems(problem, 0, p.population, start, p.islands):
        is_other = start is not None and start.fingerprint != problem.fingerprint
        yield dataclasses.replace(found, advice=_SAME) if is_other and found.where == "start" else found


def _default(name: str) -> object:
    return next(entry.default for entry in dataclasses.fields(UtilityFrontParameters) if entry.name == name)


def _in_study(problem: Problem) -> Problem:
    """A problem under the name that the study file has for it."""
    return dataclasses.replace(problem, where=_PLACES.get(problem.where, problem.where))
