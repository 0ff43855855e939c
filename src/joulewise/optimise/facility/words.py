"""What to set in a facility, and what limits it, in plain words."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from joulewise.model.facility import Facility, FacilityPlan, FacilityPrices
from joulewise.optimise.facility.evaluation import Steady
from joulewise.units import AT_LIMIT_K, count, power

_AT_CAP, _IDLE, _KW = 1e-3, 1e-3, 1e3
_MOST_UNITS, _MOST_NODES = 6, 3
_STEP_PART = 0.05  # of the cap, by which it is thought to rise
_LITTLE, _LEAST_PERCENT = 0.01, 0.05  # a share of all reward that is next to nothing; what is not worth a word


def set_points(facility: Facility, plan: FacilityPlan, state: Steady, prices: FacilityPrices | None) -> str:
    """What a plan sets, what limits it and, where prices are known, what more would be worth: in plain words."""
    running = np.count_nonzero(plan.share.sum(axis=1) > _IDLE) / facility.n_cores
    parts = (
        f"set {_supplies(facility, plan)}",
        f"{100 * running:.0f} % of the cores run",
        _cap(facility, state, prices),
        _inlets(facility, state),
        _redlines(facility, state, prices),
    )
    text = "; ".join(part for part in parts if part)
    return f"{text[:1].upper()}{text[1:]}."


def _supplies(facility: Facility, plan: FacilityPlan) -> str:
    n, room = facility.room.n_cracs, facility.room
    if n > _MOST_UNITS:
        return f"the {n} CRAC units to {plan.supply_c.min():.1f} to {plan.supply_c.max():.1f} °C"
    warmest = np.where(room.hottest_c - plan.supply_c <= AT_LIMIT_K, " (as warm as it can)", "")
    named = zip(room.crac_names, plan.supply_c.tolist(), warmest.tolist())
    return _listed([f"CRAC {name} to {supply:.1f} °C{note}" for name, supply, note in named])


def _cap(facility: Facility, state: Steady, prices: FacilityPrices | None) -> str:
    left_w = facility.cap_w - state.total_w
    if left_w > _AT_CAP * facility.cap_w:
        return f"{power(left_w)} of the cap are left"
    step_w = min(_KW, 10.0 ** math.floor(math.log10(_STEP_PART * facility.cap_w)))
    step = "kW" if step_w == _KW else power(step_w)
    more = "" if prices is None else _more(step_w * prices.cap, facility, state)
    return f"the cap binds, another {step} earns {more}" if more else "the cap binds"


def _inlets(facility: Facility, state: Steady) -> str:
    """The nodes at their redlines, or the one that is nearest to its own."""
    margin_k = facility.room.redline_c - state.node_inlet_c
    names = facility.room.node_names
    at = [names[node] for node in np.flatnonzero(margin_k <= AT_LIMIT_K).tolist()]
    if not at:
        return f"node {names[int(np.argmin(margin_k))]} is nearest to its redline, {margin_k.min():.2g} K below it"
    if len(at) == 1:
        return f"node {at[0]} is at its redline"
    named = at if len(at) <= _MOST_NODES else [*at[: _MOST_NODES - 1], count(len(at) - _MOST_NODES + 1, "other")]
    return f"nodes {_listed(named)} are at their redlines"


def _redlines(facility: Facility, state: Steady, prices: FacilityPrices | None) -> str:
    more = "" if prices is None else _more(float(prices.redline.sum()), facility, state)
    return f"raising the redlines by 1 K earns {more}" if more else ""


def _more(worth_per_s: float, facility: Facility, state: Steady) -> str:
    """What is earned more, of what is earned, or of all reward where that is next to nothing; empty for nothing."""
    earned, most = state.slowed_reward_per_s, facility.tasks.most_reward_per_s
    is_little = earned <= _LITTLE * most
    base, unit = (most, "percentage points of all reward") if is_little else (earned, "%")
    percent = 100 * worth_per_s / base if base > 0 else 0.0
    return f"{percent:.{0 if percent >= 10 else 1}f} {unit} more at most" if percent >= _LEAST_PERCENT else ""


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
