"""The last step in very small rooms: time of a core goes to another task type or P-state wherever that earns more.

Linear programs are exact for many processors, of which few mix patterns. With two or three nodes all of them may have
to, and what cores change between then matters more than prices say. There are few enough choices to try them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from joulewise.model.facility import Facility, FacilityPlan
from joulewise.optimise.facility.cooling import RoomCooling, within_limits

_MOST_CHOICES = 400
_PARTS = (1.0, 0.5, 0.1)
_NOTHING, _BETTER, _ENOUGH = 1e-9, 1e-6, 1e-5
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
    earned = _earned(cooling, plan)[1]
    while not is_late():
        before = earned
        for core, choice in _choices(cooling.facility):
            plan, earned = _best_move(cooling, plan, earned, core, choice)
        if earned <= before * (1.0 + _ENOUGH):
            break
    return plan


def _best_move(
    cooling: RoomCooling, plan: FacilityPlan, earned: float, core: int, choice: _Choice
) -> tuple[FacilityPlan, float]:
    """The plan with more time of a core for one choice, where that earns more; else as it is."""
    sources = (_IDLE, *np.flatnonzero(plan.share[core] > 0.0).tolist())
    tried = (_moved(plan, core, source, choice, part) for source, part in product(sources, _PARTS))
    kept = (_earned(cooling, moved) for moved in tried if moved is not None)
    best = max(kept, key=lambda pair: pair[1], default=(plan, earned))
    return best if best[1] > earned * (1.0 + _BETTER) else (plan, earned)


def _earned(cooling: RoomCooling, plan: FacilityPlan) -> tuple[FacilityPlan, float]:
    """A plan within the limits, and what it earns; below 0 where none is."""
    kept = within_limits(cooling, plan)
    return (plan, -1.0) if kept is None else (kept[0], kept[1].slowed_reward_per_s)


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
