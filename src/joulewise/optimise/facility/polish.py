"""The last step in very small rooms: time of a core goes to another task type or P-state wherever that earns more.

Linear programs are exact for many processors, of which few mix patterns. With two or three nodes all of them may have
to, and what cores change between then matters more than prices say. There are few enough choices to try them all. Such
moves end where no single core can do better; from there they begin again with a core at rest, for up to eight cores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np

from joulewise.model.facility import Facility, FacilityPlan
from joulewise.optimise.facility.cooling import RoomCooling, within_limits
from joulewise.optimise.facility.evaluation import earned_per_s, rates_of

_MOST_CHOICES, _MOST_RESTED = 400, 8
_PARTS = (1.0, 0.5, 0.1)
_NOTHING, _BETTER, _ENOUGH = 1e-9, 1e-6, 1e-5
_OTHER_SUPPLIES = 2e-3  # what they may bring at most for one move
_IDLE = -1


class _Choice(NamedTuple):
    """What a core may do: a task type in a P-state, or nothing."""

    task: int = _IDLE
    pstate: int = 0


def is_small(facility: Facility) -> bool:
    """Whether all choices of all cores are few enough to try each."""
    by_type = facility.tasks.is_usable.sum(axis=(0, 2)) * facility.node_types.cores
    return bool(by_type[facility.node_type].sum() <= _MOST_CHOICES)


def polished(cooling: RoomCooling, plan: FacilityPlan, is_late: Callable[[], bool]) -> FacilityPlan:
    """The plan after the moves that earn more, one after the other, until none does or it is late."""
    plan, earned = _kept(cooling, plan) or (plan, -1.0)
    while not is_late():
        before = earned
        for core, choice in _choices(cooling.facility):
            plan, earned = _best_move(cooling, plan, earned, core, choice)
        if earned <= before * (1.0 + _ENOUGH):
            break
    return plan


def rested(plan: FacilityPlan) -> Iterator[FacilityPlan]:
    """The plan with one of its first busy cores at rest, for each: a start from which others may get its power."""
    for core in np.flatnonzero(plan.share.any(axis=1))[:_MOST_RESTED].tolist():
        share = plan.share.copy()
        share[core] = 0.0
        yield replace(plan, share=share)


def _best_move(
    cooling: RoomCooling, plan: FacilityPlan, earned: float, core: int, choice: _Choice
) -> tuple[FacilityPlan, float]:
    """The plan with more time of a core for one choice, where that earns more; else as it is."""
    best, most = plan, earned * (1.0 + _BETTER)
    sources = (_IDLE, *np.flatnonzero(plan.share[core] > 0.0).tolist())
    for source, part in product(sources, _PARTS):
        moved = _moved(plan, core, source, choice, part)
        kept = _kept(cooling, moved) if moved is not None and _may_earn(cooling, moved, most) else None
        if kept is not None and kept[1] > most:
            best, most = kept
    return (best, most) if best is not plan else (plan, earned)


def _may_earn(cooling: RoomCooling, plan: FacilityPlan, most: float) -> bool:
    """Whether a plan may earn more than the most so far: under no limits, and about as much under the cap."""
    facility, rates = cooling.facility, rates_of(cooling.facility, plan)
    if earned_per_s(facility.tasks, rates.slowed) <= most:
        return False
    part = cooling.part_within_cap(facility.overhead_w + rates.cores_w, plan.supply_c)
    less = rates_of(facility, replace(plan, share=part * plan.share))
    return earned_per_s(facility.tasks, less.slowed) > most * (1.0 - _OTHER_SUPPLIES)


def _kept(cooling: RoomCooling, plan: FacilityPlan) -> tuple[FacilityPlan, float] | None:
    """A plan within the limits, and what it earns; None where none is."""
    kept = within_limits(cooling, plan)
    return None if kept is None else (kept[0], kept[1].slowed_reward_per_s)


def _choices(facility: Facility) -> Iterator[tuple[int, _Choice]]:
    """All cores with all that each may do."""
    kinds = np.repeat(facility.node_type, np.diff(facility.first_core))
    for core, kind in enumerate(kinds.tolist()):
        yield core, _Choice()
        for task, pstate in np.argwhere(facility.tasks.is_usable[:, kind]).tolist():
            yield core, _Choice(task, pstate)


def _moved(plan: FacilityPlan, core: int, source: int, choice: _Choice, part: float) -> FacilityPlan | None:
    """A plan with a part of what a core spends on a task type, or at rest, spent on a choice; None for nothing."""
    share, pstate = plan.share.copy(), plan.pstate.copy()
    amount = part * float(1.0 - share[core].sum() if source == _IDLE else share[core, source])
    if amount <= _NOTHING:
        return None
    if source != _IDLE:
        share[core, source] -= amount
    if choice.task != _IDLE:
        share[core, choice.task] += amount
        pstate[core, choice.task] = choice.pstate
    return FacilityPlan(share, pstate, plan.supply_c)
