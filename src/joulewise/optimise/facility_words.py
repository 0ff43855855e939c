"""What to set in a facility, and what limits it, in plain words."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from joulewise.model.facility import Facility, FacilityPlan, FacilityPrices
from joulewise.optimise.facility import Steady
from joulewise.units import AT_LIMIT_K, count, power

_AT_CAP, _IDLE, _KW = 1e-3, 1e-3, 1e3
_MOST_UNITS, _MOST_NODES = 6, 3


def set_points(facility: Facility, plan: FacilityPlan, state: Steady, prices: FacilityPrices | None) -> str:
    """What a plan sets, what limits it and, where prices are known, what more would be worth: in plain words."""
    running = np.count_nonzero(plan.share.sum(axis=1) > _IDLE) / facility.n_cores
    parts = (
        f"set {_supplies(facility, plan)}",
        f"{100 * running:.0f} % of the cores run",
        _cap(facility, state, prices),
        _inlets(facility, state),
        _redlines(state, prices),
    )
    text = "; ".join(part for part in parts if part)
    return f"{text[:1].upper()}{text[1:]}."


def _supplies(facility: Facility, plan: FacilityPlan) -> str:
    n, room = facility.room.n_cracs, facility.room
    if n > _MOST_UNITS:
        return f"the {n} CRAC units to {plan.supply_c.min():.1f} to {plan.supply_c.max():.1f} °C"
    warmest = np.where(room.hottest_c - plan.supply_c <= AT_LIMIT_K, " (as warm as it can)", "")
    return _listed([f"CRAC {c} to {supply:.1f} °C{warmest[c]}" for c, supply in enumerate(plan.supply_c.tolist())])


def _cap(facility: Facility, state: Steady, prices: FacilityPrices | None) -> str:
    left_w = facility.cap_w - state.total_w
    if left_w > _AT_CAP * facility.cap_w:
        return f"{power(left_w)} of the cap are left"
    step_w = min(_KW, 10.0 ** math.floor(math.log10(facility.cap_w)) / 10)
    step = "kW" if step_w == _KW else power(step_w)
    worth = "" if prices is None else f", another {step} earns {_more(step_w * prices.cap, state)}"
    return f"the cap binds{worth}"


def _inlets(facility: Facility, state: Steady) -> str:
    """The nodes at their redlines, or the one that is nearest to its own."""
    margin_k = facility.room.redline_c - state.node_inlet_c
    at = np.flatnonzero(margin_k <= AT_LIMIT_K).tolist()
    if not at:
        return f"node {np.argmin(margin_k)} is nearest to its redline, {margin_k.min():.2g} K below it"
    if len(at) == 1:
        return f"node {at[0]} is at its redline"
    named = at if len(at) <= _MOST_NODES else [*at[: _MOST_NODES - 1], count(len(at) - _MOST_NODES + 1, "other")]
    return f"nodes {_listed(list(map(str, named)))} are at their redlines"


def _redlines(state: Steady, prices: FacilityPrices | None) -> str:
    worth = 0.0 if prices is None else float(prices.redline.sum())
    return f"raising the redlines by 1 K earns {_more(worth, state)}" if worth > 0 else ""


def _more(worth_per_s: float, state: Steady) -> str:
    if state.slowed_reward_per_s <= 0:
        return f"{worth_per_s:.3g} more reward per second at most"
    percent = 100 * worth_per_s / state.slowed_reward_per_s
    return f"{percent:.{0 if percent >= 10 else 1}f} % more at most"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
