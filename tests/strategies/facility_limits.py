"""What every plan that a technique gives back must keep."""

from __future__ import annotations

import numpy as np

from joulewise.model.air import Air
from joulewise.model.facility import Facility, FacilityPlan
from joulewise.optimise.facility.evaluation import Steady, margins, steady


def kept_by(facility: Facility, air: Air, plan: FacilityPlan) -> Steady:
    """The steady state of a plan, which must keep all limits and use only what can be used."""
    state = steady(facility, air, plan)
    left = margins(facility, plan, state)
    assert min(left.cap_w / facility.cap_w, left.heat_w / facility.cap_w) >= -1e-9
    assert min(left.redline_k, left.supply_k, left.time) >= -1e-9
    kinds = np.repeat(facility.node_type, np.diff(facility.first_core))
    core, task = np.nonzero(plan.share)
    assert facility.tasks.is_usable[task, kinds[core], plan.pstate[core, task]].all()
    assert (plan.share >= 0.0).all()
    return state
