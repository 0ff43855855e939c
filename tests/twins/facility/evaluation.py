"""A slow twin of the steady state of a facility: eq. 9 and 10 word for word, with idle as one more task type."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from joulewise.model.facility import Facility, FacilityPlan, cores_by_processor
from joulewise.model.room import AIR_J_PER_M3_K, Room

_IDLE = -1


@dataclass
class TwinSteady:
    """What comes of a plan, by plain loops."""

    rate_per_s: list[float]
    slowed_per_s: list[float]
    reward_per_s: float
    slowed_reward_per_s: float
    node_w: list[float]
    node_inlet_c: list[float]
    crac_inlet_c: list[float]
    heat_w: list[float]
    crac_w: list[float]


def steady_twin(facility: Facility, plan: FacilityPlan, as_printed: bool = False) -> TwinSteady:
    """Rates, powers and temperatures of a plan."""
    tasks, types = facility.tasks, facility.node_types
    alone, slowed = [0.0] * tasks.n_types, [0.0] * tasks.n_types
    node_w = [float(types.overhead_w[kind]) for kind in facility.node_type]
    for node, cores in cores_by_processor(facility):
        kind = facility.node_type[node]
        for core, task in itertools.product(cores, range(tasks.n_types)):
            share, pstate = plan.share[core, task], plan.pstate[core, task]
            rate = share * tasks.speed_per_s[task, kind, pstate]
            node_w[node] += share * tasks.power_w[task, kind, pstate]
            alone[task] += rate
            others = [other for other in cores if other != core]
            if share > 0 and in_time_twin(facility, plan, int(kind), core, task, others):
                slowed[task] += rate / (1.0 + slowdown_twin(facility, plan, int(kind), task, others, as_printed))
    node_inlet_c, crac_inlet_c = _inlets_c(facility.room, node_w, [float(supply_c) for supply_c in plan.supply_c])
    heat_w = [
        AIR_J_PER_M3_K * m3_per_s * (inlet_c - supply_c)
        for m3_per_s, inlet_c, supply_c in zip(facility.room.crac_m3_per_s, crac_inlet_c, plan.supply_c)
    ]
    crac_w = [heat / float(curve(at_c)) for heat, curve, at_c in zip(heat_w, facility.room.cop, plan.supply_c)]
    earned, earned_slowed = (
        sum(r * min(rate, most) for r, rate, most in zip(tasks.reward, rates, tasks.rate_per_s))
        for rates in (alone, slowed)
    )
    return TwinSteady(alone, slowed, earned, earned_slowed, node_w, node_inlet_c, crac_inlet_c, heat_w, crac_w)


def slowdown_twin(
    facility: Facility, plan: FacilityPlan, kind: int, task: int, others: list[int], as_printed: bool
) -> float:
    """The sum of eq. 10 over all combinations of what the other cores run; of eq. 9 for one other."""
    tasks = facility.tasks
    kinds = [*range(tasks.n_types)] if as_printed else [_IDLE, *range(tasks.n_types)]
    total = 0.0
    for combination in itertools.product(kinds, repeat=len(others)):
        likely = math.prod(_time_on(plan, other, beside) for other, beside in zip(others, combination))
        own = tasks.memory_class[task]
        busy = [beside for beside in combination if beside != _IDLE]
        total += likely * sum(tasks.slowdown[kind, own, tasks.memory_class[beside]] for beside in busy)
    return total


def in_time_twin(facility: Facility, plan: FacilityPlan, kind: int, core: int, task: int, others: list[int]) -> bool:
    """Whether a task ends by its deadline beside every combination that the other cores ever run."""
    tasks = facility.tasks
    runs = [[_IDLE, *np.flatnonzero(plan.share[other] > 0).tolist()] for other in others]
    alone_s = 1.0 / tasks.speed_per_s[task, kind, plan.pstate[core, task]]
    longest = max(
        1.0 + sum(tasks.slowdown[kind, tasks.memory_class[task], tasks.memory_class[b]] for b in beside if b != _IDLE)
        for beside in itertools.product(*runs)
    )
    return tasks.deadlines_alone or bool(longest * alone_s <= tasks.deadline_s[task] * (1.0 + 1e-9))


def _time_on(plan: FacilityPlan, core: int, task: int) -> float:
    return float(1.0 - plan.share[core].sum() if task == _IDLE else plan.share[core, task])


def _inlets_c(room: Room, node_w: list[float], supply_c: list[float]) -> tuple[list[float], list[float]]:
    """Air goes round, from all supplies, until no inlet changes any more."""
    flow, n = room.flow, room.n_nodes
    inlet_c = [max(supply_c)] * flow.n_places
    for _ in range(100_000):
        warmed = [node_w[j] / (AIR_J_PER_M3_K * room.node_m3_per_s[j]) for j in range(n)]
        outlet_c = [inlet_c[j] + warmed[j] for j in range(n)] + supply_c
        before, inlet_c = inlet_c, [0.0] * flow.n_places
        for taker, source, share in zip(flow.taker, flow.source, flow.share):
            inlet_c[taker] += share * outlet_c[source]
        if np.abs(np.subtract(before, inlet_c)).max() < 1e-12:
            break
    return inlet_c[:n], inlet_c[n:]
