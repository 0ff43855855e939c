"""What a plan of a facility earns, draws and heats (Oxley, eq. 1-11)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from joulewise.kernels.facility.sharing import Rates, SharedCores, Speeds, run_cores
from joulewise.model.air import Air
from joulewise.model.arrays import Floats
from joulewise.model.facility import Facility, FacilityPlan, TaskFlows

_run_cores: Any = run_cores


@dataclass(frozen=True)
class EquationReading:
    """How equations are read where the text leaves it open.

    `as_printed`: eq. 10 word for word; it knows no idle cores, so that one idle core ends the interference among all
    others of a processor. Whether a CRAC unit may heat is a matter of the room (`Room.may_heat`).
    """

    as_printed: bool = False


@dataclass(frozen=True, eq=False)
class Steady:
    """The steady state of a plan.

    `rate_per_s` is how often tasks of each type are done without interference, `slowed_per_s` how often they are done
    in time with it. The reward rate of eq. 2 and the co-located one of eq. 11 count no more tasks than arrive.
    """

    rate_per_s: Floats
    slowed_per_s: Floats
    reward_per_s: float
    slowed_reward_per_s: float
    node_w: Floats
    node_inlet_c: Floats
    crac_inlet_c: Floats
    heat_w: Floats
    crac_w: Floats

    @property
    def total_w(self) -> float:
        """The power of nodes and cooling together."""
        return float(self.node_w.sum() + self.crac_w.sum())


def steady(facility: Facility, air: Air, plan: FacilityPlan, reading: EquationReading = EquationReading()) -> Steady:
    """What comes of a plan; `margins` says whether it keeps within the limits."""
    flows, (alone, slowed, cores_w, _, _) = facility.tasks, rates_of(facility, plan, reading)
    node_w = facility.overhead_w + cores_w
    node_inlet_c, crac_inlet_c = air.inlets_c(node_w, plan.supply_c)
    heat_w = air.crac_w_per_k * (crac_inlet_c - plan.supply_c)
    crac_w = heat_w / facility.room.cop_at(plan.supply_c)
    earned, earned_slowed = (earned_per_s(flows, rate_per_s) for rate_per_s in (alone, slowed))
    return Steady(alone, slowed, earned, earned_slowed, node_w, node_inlet_c, crac_inlet_c, heat_w, crac_w)


def rates_of(facility: Facility, plan: FacilityPlan, reading: EquationReading = EquationReading()) -> Rates:
    """How often a plan has tasks done, and what its cores draw: all that does not depend on the air."""
    flows, types = facility.tasks, facility.node_types
    alone, slowed, cores_w = np.zeros(flows.n_types), np.zeros(flows.n_types), np.zeros(facility.n_nodes)
    n_sharers = types.sharers.max()
    cores = SharedCores(plan.share, plan.pstate, facility.first_core, facility.node_type, types.sharers)
    speeds = Speeds(flows.speed_per_s, flows.power_w, flows.least_pace, flows.memory_class, flows.slowdown)
    rates = Rates(alone, slowed, cores_w, np.empty((n_sharers, flows.n_classes)), np.empty(n_sharers))
    _run_cores(cores, speeds, rates, reading.as_printed)
    return rates


def earned_per_s(flows: TaskFlows, rate_per_s: Floats) -> float:
    """The reward rate of tasks done so often (eq. 2 and 11): no more count than arrive."""
    return float(flows.reward @ np.minimum(rate_per_s, flows.rate_per_s))


@dataclass(frozen=True)
class Margins:
    """How far a plan is from each limit; below 0 it breaks it.

    `cap_w` below the power cap, `redline_k` at the hottest node, `heat_w` that the least used CRAC unit removes (below
    0 it heats), `supply_k` within what the units can blow, `time` that the busiest core has left, as a share.
    """

    cap_w: float
    redline_k: float
    heat_w: float
    supply_k: float
    time: float


def margins(facility: Facility, plan: FacilityPlan, state: Steady) -> Margins:
    """How far a plan with its steady state is from each limit."""
    room = facility.room
    supply_k = np.minimum(plan.supply_c - room.coldest_c, room.hottest_c - plan.supply_c)
    return Margins(
        facility.cap_w - state.total_w,
        float((room.redline_c - state.node_inlet_c).min()),
        float(state.heat_w.min()),
        float(supply_k.min()),
        float(1.0 - plan.share.sum(axis=1).max()),
    )


def keeps_limits(facility: Facility, plan: FacilityPlan, state: Steady, rounding: float = 1e-9) -> bool:
    """Whether a plan with its steady state keeps all limits, but for rounding."""
    left = margins(facility, plan, state)
    heat_w = 0.0 if facility.room.may_heat else left.heat_w
    of_cap = left.cap_w / facility.cap_w, heat_w / facility.cap_w
    return min(*of_cap, left.redline_k, left.supply_k, left.time) >= -rounding
