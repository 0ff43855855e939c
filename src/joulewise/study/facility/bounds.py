"""The proven bound of a facility: stored once for each world, and judged without solving anything."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from joulewise.errors import InputError
from joulewise.optimise.gap import gap_of
from joulewise.study.facility.methods import RewardParameters
from joulewise.study.kinds.case import Case
from joulewise.study.store.store import NO_BOUND

if TYPE_CHECKING:
    from joulewise.model.air import Air
    from joulewise.model.facility import Facility, FacilityPrices
    from joulewise.optimise.facility.evaluation import Steady
    from joulewise.optimise.facility.search import FoundPlan

PRICES = "facility-prices"
_LOOSE = 1e-9


class Bound(NamedTuple):
    """The co-located reward rate that no plan exceeds, and the prices that prove it."""

    value: float
    prices: FacilityPrices


def name_of(p: RewardParameters) -> str:
    """How the bound of a search is proven: not at all where eq. 10 is read as printed."""
    return NO_BOUND if p.as_printed else PRICES


def proven(case: Case, found: FoundPlan | None = None) -> Bound | None:
    """The bound of a run: stored if known, else that of what was found, or found now, and stored for its world.

    It is that of a plan made with the defaults, so that it does not matter which run of a world comes first.
    """
    from joulewise.optimise.facility.planner import Proven, plan_facility

    run, store = case.run, case.store
    if run.bound == NO_BOUND:
        return None
    known = store.read_proof(run.world_key, run.bound, _bound)
    if known is None:
        asked, usual = case.decision, RewardParameters()
        if not isinstance(found, Proven) or (asked.gap, asked.time_limit_s) != (usual.gap, usual.time_limit_s):
            found = plan_facility(case.world.facility, case.world.air, gap=usual.gap)
        known = Bound(found.bound_per_s, found.prices)
        store.write_proof(run.world_key, run.bound, {"value": known.value, **_as_json(known.prices)})
    return known


def columns(facility: Facility, state: Steady, bound: Bound | None) -> dict[str, float]:
    """The columns of a plan beside what is proven; all of them NaN where nothing is."""
    value, most = bound.value if bound else math.nan, facility.tasks.most_reward_per_s or math.nan
    return {
        "reward_bound_per_s": value,
        "bound_percent": 100 * value / most,
        "gap_percent": 100 * float(gap_of(value - state.slowed_reward_per_s, value)),
        "value_per_kw": 1e3 * bound.prices.cap if bound else math.nan,
        "value_per_k": float(bound.prices.redline.sum()) if bound else math.nan,
    }


def judge(case: Case) -> Iterator[str]:
    """What does not hold of the stored prices: they must prove the bound, and nothing less than it."""
    from joulewise.check.facility.bound import facility_bound

    if case.run.bound == NO_BOUND:
        return
    stored = case.store.read_proof(case.run.world_key, case.run.bound, _bound)
    if stored is None:
        yield "bounds: the proof of the world's bound is missing"
        return
    try:
        proven_per_s = facility_bound(case.world.facility, stored.prices)
    except InputError as error:
        yield f"bounds: what is stored are no prices of this facility: {error}"
        return
    again_per_s = _evaluated(case.world.facility, case.world.air, stored.prices)
    if not proven_per_s * (1 - _LOOSE) <= stored.value:  # written so that NaN does not hold either
        yield f"bounds: {stored.value:.12g} is stored, but the prices prove only {proven_per_s:.12g}"
    elif not abs(stored.value - again_per_s) <= _LOOSE * again_per_s:
        yield f"bounds: {stored.value:.12g} is stored, but {again_per_s:.12g} comes out of the prices"


def _evaluated(facility: Facility, air: Air, prices: FacilityPrices) -> float:
    """What the planner takes as proven by these prices."""
    from joulewise.optimise.facility.bound import bound_per_s
    from joulewise.optimise.facility.configurations import ProcessorMenu

    kinds = range(facility.node_types.n_types)
    curves = [ProcessorMenu(facility, kind).curve(prices.task) for kind in kinds]
    return min(facility.tasks.most_reward_per_s, bound_per_s(facility, air, curves, prices))


def _as_json(prices: FacilityPrices) -> dict[str, Any]:
    columns = {name: getattr(prices, name).tolist() for name in ("task", "redline", "supply_c")}
    return {**columns, "cap": prices.cap}


def _bound(stored: dict[str, Any]) -> Bound:
    from joulewise.model.facility import FacilityPrices

    columns = {name: np.array(stored[name], float) for name in ("task", "redline", "supply_c")}
    return Bound(float(stored["value"]), FacilityPrices(**columns, cap=float(stored["cap"])))
