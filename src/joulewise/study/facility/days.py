"""A day of a facility, in which tasks arrive one by one and plans are followed: what is planned, and what is earned.

A plan knows no waiting: where it does a task type just as often as it arrives, tasks that come at random find all cores
busy. So a day is rehearsed, and where it loses such tasks, a plan is made as if more of them arrived: that leaves cores
free. What earns most in the rehearsals is kept, and followed through another day.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from joulewise.errors import InputError
from joulewise.study.facility.methods import RewardParameters, search, steady_of
from joulewise.study.kinds.case import Case
from joulewise.study.searches.seeds import rehearsal_seed, search_seed

if TYPE_CHECKING:
    from joulewise.model.arrays import Floats
    from joulewise.model.facility import Facility, FacilityPlan, TaskFlows
    from joulewise.optimise.facility.search import FoundPlan
    from joulewise.simulate.facility.day import FacilityDay

DAY_S, MOST_TASKS = 86_400.0, 1_000_000
"""The length of a day of which nothing is said, and how many tasks arrive in it at most."""
MOST_REHEARSALS = 3
"""How often plans are made and their day rehearsed at most, whatever the method."""

_TASKS_LONG, _SAMPLE_S = 100.0, 300.0
_MET, _MORE = 0.97, 2.0
_COLUMNS = (
    "day_length_s", "day_plans", "day_planned_percent", "day_earned_percent", "earned_of_planned_percent",
    "day_late_percent", "day_dropped_percent", "day_peak_w", "day_above_cap_percent", "day_redline_margin_k",
)  # fmt: skip
"""The columns of a day."""


@dataclass(frozen=True, eq=False)
class Planned:
    """The plan of a run and its day, if it has one; `first` is what a search finds with nothing left free.

    `solve_s` is the time of all searches and rehearsed days.
    """

    found: FoundPlan
    first: FoundPlan
    solve_s: float
    day: FacilityDay | None


def planned(case: Case) -> Planned:
    """The plan that earns most in rehearsed days, and the day that follows it."""
    has_day = length_s(case.world.facility, case.decision) > 0.0
    clock = _Clock(case.decision, n_searches(case.decision) if has_day else 1)
    first = _Plans(case, clock, np.zeros(case.world.facility.tasks.n_types))
    best = _rehearsed(first) if has_day else first
    found, solve_s = _kept(best, first), clock.passed_s()
    return Planned(found, first.steady, solve_s, best.day(search_seed(case.run)) if has_day else None)


def _rehearsed(first: _Plans) -> _Plans:
    """The plans that earn most in rehearsals, of which none is begun when time is up."""
    best = tried = first
    most_per_s = -math.inf
    for _ in range(MOST_REHEARSALS):
        rehearsed = tried.day(rehearsal_seed(first.case.run))
        if rehearsed.reward_per_s > most_per_s:
            most_per_s, best = rehearsed.reward_per_s, tried
        lost = _lost(rehearsed)
        if first.clock.is_up() or not lost.any():
            break
        tried = tried.with_more(_MORE * lost)
    return best


def length_s(facility: Facility, p: RewardParameters) -> float:
    """How long the day of a run is; 0 where there is none.

    Where nothing is said, 24 h, or a hundred times the longest task where that is longer; less where more than a
    million tasks would arrive, and none where that would be too short for the longest.
    """
    if p.day_s is not None:
        return p.day_s
    enough_s, arrivals_per_s = _TASKS_LONG * _longest_s(facility), _arrivals_per_s(facility.tasks, p)
    lasts_s = min(max(DAY_S, enough_s), MOST_TASKS / arrivals_per_s if arrivals_per_s else math.inf)
    return lasts_s if lasts_s >= enough_s else 0.0


def _longest_s(facility: Facility) -> float:
    """The longest time of a task on the fastest node for it; types that no node of the room runs take none."""
    fastest = facility.tasks.speed_per_s[:, np.unique(facility.node_type)].max(axis=(1, 2))
    return float((1.0 / fastest[fastest > 0.0]).max(initial=0.0))


def n_tasks(facility: Facility, p: RewardParameters) -> float:
    """About how many tasks come in the day of a run."""
    return length_s(facility, p) * _arrivals_per_s(facility.tasks, p)


def columns(day: FacilityDay | None) -> dict[str, float]:
    """What a day comes to; NaN where there is none."""
    return dict.fromkeys(_COLUMNS, math.nan) if day is None else _measures(day)


def of_plan(case: Case, plan: FacilityPlan) -> FacilityDay | None:
    """The day of a run that follows one plan all along; None where it has no day, or needs other plans."""
    p = case.decision
    if length_s(case.world.facility, p) == 0.0 or not _follows_plan(p):
        return None
    return _simulated(case, lambda _now: plan, search_seed(case.run))


def n_plans(p: RewardParameters) -> int:
    """How many plans a run needs each time: for even rates, and for its day where that has others."""
    if p.day_s == 0.0 or _follows_plan(p):
        return 1
    return 1 + math.ceil(p.n_parts / (p.parts_per_plan or p.n_parts))


def n_searches(p: RewardParameters) -> int:
    """How many searches a run with a day needs at most: all of its plans in each rehearsal."""
    return MOST_REHEARSALS * n_plans(p)


def rates_per_s(flows: TaskFlows, p: RewardParameters) -> Floats:
    """[part of the day, task type]: how often tasks arrive."""
    shares, n = np.array(p.day_rates or (1.0,)), flows.n_types
    later = [round(kind * shares.size / n) if p.rates_apart else 0 for kind in range(n)]
    return np.stack([np.roll(shares, by) for by in later], axis=1) * flows.rate_per_s


def _arrivals_per_s(flows: TaskFlows, p: RewardParameters) -> float:
    """How many tasks of any type arrive in a second of a day."""
    return float(rates_per_s(flows, p).sum(axis=1).mean())


def _follows_plan(p: RewardParameters) -> bool:
    """Whether a day follows the plan for even rates under the whole cap."""
    return not p.day_rates and p.slack == 0.0


class _Clock:
    """The time of a run for all of its searches, of which each gets an equal part of what is left."""

    def __init__(self, p: RewardParameters, n_searches: int) -> None:
        self.start_s, self.limit_s, self.n_left = time.perf_counter(), p.time_limit_s, n_searches

    def passed_s(self) -> float:
        """The time since the start."""
        return time.perf_counter() - self.start_s

    def is_up(self) -> bool:
        """Whether no time is left."""
        return self.limit_s is not None and self.passed_s() >= self.limit_s

    def next_limit_s(self) -> float | None:
        """The time that the next search may take; None for any."""
        if self.limit_s is None:
            return None
        part_s = max(self.limit_s - self.passed_s(), 0.0) / max(self.n_left, 1)
        self.n_left -= 1
        return part_s


class _Plans:
    """Plans as if of each type so many more tasks arrived, as a share; each is searched for once."""

    def __init__(self, case: Case, clock: _Clock, headroom: Floats) -> None:
        self.case, self.clock, self.headroom = case, clock, headroom
        self._of_rates: dict[bytes, FacilityPlan] = {}

    def with_more(self, headroom: Floats) -> _Plans:
        """Plans as if even more tasks arrived."""
        return _Plans(self.case, self.clock, self.headroom + headroom)

    @cached_property
    def steady(self) -> FoundPlan:
        """The plan for even rates."""
        return self._search(self.case.world.facility)

    def day(self, seed: int) -> FacilityDay:
        """A day that follows the plans."""
        return _simulated(self.case, self._plan_for, seed)

    def _plan_for(self, now: Facility) -> FacilityPlan:
        if _follows_plan(self.case.decision):
            return self.steady.plan
        key = now.tasks.rate_per_s.tobytes()
        if key not in self._of_rates:
            self._of_rates[key] = self._with_slack(now)
        return self._of_rates[key]

    def _with_slack(self, now: Facility) -> FacilityPlan:
        less = replace(now, cap_w=now.cap_w * (1.0 - self.case.decision.slack))
        try:
            return self._search(less).plan
        except InputError as error:  # other rates are no reason: at rest they do not matter
            raise InputError(
                *(replace(found, where=f"optimise.slack: {found.where}") for found in error.problems)
            ) from None

    def _search(self, facility: Facility) -> FoundPlan:
        tasks = replace(facility.tasks, rate_per_s=facility.tasks.rate_per_s * (1.0 + self.headroom))
        p = replace(self.case.decision, time_limit_s=self.clock.next_limit_s())
        return search(replace(facility, tasks=tasks), self.case.world.air, p, search_seed(self.case.run))


def _kept(best: _Plans, first: _Plans) -> FoundPlan:
    """The plan that is kept; its search goes on from the first one, and ends with its own rate."""
    if best is first:
        return first.steady
    world, found = best.case.world, best.steady
    rate_per_s = steady_of(world.facility, world.air, found.plan, best.case.decision).slowed_reward_per_s
    ended_s = first.steady.history[-1][0] + found.history[-1][0]
    return replace(found, history=(*first.steady.history, (ended_s, rate_per_s)))


def _lost(day: FacilityDay) -> Floats:
    """[task type]: what share is lost of tasks that the plans do as often as they arrive."""
    table = day.by_type()
    reached, planned_per_s = (table[name].to_numpy() for name in ("on_time_per_s", "planned_per_s"))
    is_met = (planned_per_s > 0) & (planned_per_s >= _MET * day.rate_per_s.mean(axis=0))
    return np.asarray(np.maximum(1.0 - np.divide(reached, planned_per_s, out=np.ones_like(reached), where=is_met), 0.0))


def _simulated(case: Case, plan_for: Callable[[Facility], FacilityPlan], seed: int) -> FacilityDay:
    """A day of a run: all techniques of a trial meet the same tasks."""
    from joulewise.simulate.facility.day import simulate_facility_day

    facility, p = case.world.facility, case.decision
    part_s = length_s(facility, p) / p.n_parts
    return simulate_facility_day(
        facility,
        plan_for,
        case.world.air.inlets_c,
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
        day.length_s,
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
