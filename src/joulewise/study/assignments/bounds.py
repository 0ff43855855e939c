"""Proven bounds of fronts of utility and energy: stored once for each world, and judged without solving anything."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.study.assignments.parameters import UtilityFrontParameters
from joulewise.study.kinds.case import Case
from joulewise.study.store.store import NO_BOUND

if TYPE_CHECKING:
    from joulewise.optimise.assignments.bound import UtilityBound

_ROUNDING = 1e-9


def name_of(p: UtilityFrontParameters) -> str:
    """How the bound of a search is proven: its prices are of a way to drop tasks, and of no chance."""
    return f"front-prices-{repr(p.drop_below).removesuffix('.0')}" if p.is_certain else NO_BOUND


def proven(case: Case) -> UtilityBound | None:
    """The bound of a run: stored if known, else found and stored for the other runs on its world."""
    from joulewise.optimise.assignments.bound import UtilityBound, front_bound

    run, store, world = case.run, case.store, case.world.world
    if run.bound == NO_BOUND:
        return None
    known = store.read_proof(run.world_key, run.bound, UtilityBound.from_json)
    if known is not None:
        raise_if_any(_misfits(case, known))
        return known
    bound = front_bound(world, case.decision.drop_below)
    store.write_proof(run.world_key, run.bound, bound.as_json())
    return bound


def judge(case: Case) -> Iterator[str]:
    """What does not hold of the stored certificate: its prices must prove every line of the bound."""
    from joulewise.check.assignments.assignment import certified_utility_front
    from joulewise.optimise.assignments.bound import UtilityBound

    run, world, drop_below = case.run, case.world.world, case.decision.drop_below
    if run.bound == NO_BOUND:
        return
    bound = case.store.read_proof(run.world_key, run.bound, UtilityBound.from_json)
    if bound is None:
        yield "bounds: the proof of the world's bound is missing"
        return
    misfits = [f"bounds: {problem.found}; {problem.allowed}" for problem in _misfits(case, bound)]
    yield from misfits
    if misfits:
        return
    proven = certified_utility_front(world, bound.per_j, bound.per_s, bound.slot_s, drop_below)
    rounding = 3 * _ROUNDING * (np.abs(proven) + bound.most_utility)
    wrong = np.flatnonzero(~((proven <= bound.value) & (bound.value <= proven + rounding)))  # NaN is wrong as well
    if wrong.size:
        at = int(wrong[0])
        yield f"bounds: {bound.value[at]:.12g} is stored for price {at}, but the prices prove {proven[at]:.12g}"


def _misfits(case: Case, bound: UtilityBound) -> Iterator[Problem]:
    """Of what other world, or way to drop tasks, a stored bound is."""
    from joulewise.optimise.assignments.utility_measure import measure_of

    told = case.store.told_proof(case.run.world_key, case.run.bound)
    where = told.place if told else str(case.store.bounds_file)
    measure = measure_of(case.world.world, case.decision.drop_below)
    for name in ("drop_below", "least_j", "most_utility"):
        found, expected = getattr(bound, name), getattr(measure, name)
        if not math.isclose(found, expected, rel_tol=_ROUNDING):
            advice = "remove the file and run the study again: bounds are then proven again"
            yield Problem(where, f"found a bound for {name} = {found!r}", f"must be for {expected!r}", advice)
