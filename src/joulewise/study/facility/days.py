"""A day of a facility, in which tasks arrive one by one and plans are followed: what is planned, and what is earned."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from joulewise.errors import InputError
from joulewise.study.case import Case
from joulewise.study.facility.methods import RewardParameters, search
from joulewise.study.seeds import search_seed

if TYPE_CHECKING:
    from joulewise.model.arrays import Floats
    from joulewise.model.facility import Facility, FacilityPlan, TaskFlows
    from joulewise.simulate.facility.day import FacilityDay

_SAMPLE_S = 300.0
_COLUMNS = (
    "day_plans", "day_planned_percent", "day_earned_percent", "earned_of_planned_percent", "day_late_percent",
    "day_dropped_percent", "day_peak_w", "day_above_cap_percent", "day_redline_margin_k",
)  # fmt: skip
"""The columns of a day."""


def columns(case: Case) -> dict[str, float]:
    """What a day of a run comes to; NaN where it has none."""
    return dict.fromkeys(_COLUMNS, math.nan) if case.decision.day_s is None else _measures(_simulated(case))


def n_plans(p: RewardParameters) -> int:
    """How many plans the day of a run needs."""
    return 0 if p.day_s is None else math.ceil(p.n_parts / (p.parts_per_plan or p.n_parts))


def rates_per_s(flows: TaskFlows, p: RewardParameters) -> Floats:
    """[part of the day, task type]: how often tasks arrive."""
    shares, n = np.array(p.day_rates or (1.0,)), flows.n_types
    later = [round(kind * shares.size / n) if p.rates_apart else 0 for kind in range(n)]
    return np.stack([np.roll(shares, by) for by in later], axis=1) * flows.rate_per_s


def _simulated(case: Case) -> FacilityDay:
    """The day of a run: all techniques of a trial meet the same tasks."""
    from joulewise.simulate.facility.day import simulate_facility_day

    facility, air, p = case.world.facility, case.world.air, case.decision
    seed, part_s = search_seed(case.run), p.day_s / p.n_parts

    def plan_for(now: Facility) -> FacilityPlan:
        less = replace(now, cap_w=now.cap_w * (1.0 - p.slack))
        try:
            return search(less, air, p, seed).plan
        except InputError as error:  # other rates are no reason: at rest they do not matter
            raise InputError(
                *(replace(found, where=f"optimise.slack: {found.where}") for found in error.problems)
            ) from None

    return simulate_facility_day(
        facility,
        plan_for,
        air.inlets_c,
        rates_per_s(facility.tasks, p),
        part_s,
        seed,
        replan_every=p.parts_per_plan,
        samples=max(round(part_s / _SAMPLE_S), 1),
    )


def _measures(day: FacilityDay) -> dict[str, float]:
    found = day.measures()
    most_per_s = float((day.rate_per_s @ day.facility.tasks.reward).mean())
    values = (
        len({id(plan) for plan in day.plans}),
        _percent(found["planned_reward_per_s"], most_per_s),
        _percent(found["reward_per_s"], most_per_s),
        _percent(found["reward_per_s"], found["planned_reward_per_s"]),
        _percent(found["tasks_late"], found["tasks_arrived"]),
        _percent(found["tasks_dropped"], found["tasks_arrived"]),
        found["peak_w"],
        found["above_cap_percent"],
        found["redline_k"],
    )
    return dict(zip(_COLUMNS, values, strict=True))


def _percent(part: float, whole: float) -> float:
    return 100.0 * part / whole if whole else math.nan
