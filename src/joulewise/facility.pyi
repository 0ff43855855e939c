"""A facility: nodes and tasks that slow each other down, in a room with its air and cooling."""

from joulewise.check.facility.plan import check_facility as check
from joulewise.model.air import Air
from joulewise.model.facility import Facility, NodeTypes, TaskFlows
from joulewise.model.facility import FacilityPlan as Plan
from joulewise.model.facility import FacilityPrices as Prices
from joulewise.model.room import CopCurve, HeatFlow, Room, heat_flow
from joulewise.optimise.facility.planner import Proven
from joulewise.optimise.facility.planner import plan_facility as plan
from joulewise.optimise.facility.whatif import Advice, sweep_limit
from joulewise.optimise.facility.whatif import FacilityWhatIf as WhatIf
from joulewise.optimise.facility.whatif import advise_facility as advise
from joulewise.optimise.facility.whatif import what_if_facility as what_if
from joulewise.simulate.facility.day import FacilityDay as Day
from joulewise.simulate.facility.day import simulate_facility_day as simulate
from joulewise.worlds.facility.changes import crac_failures, hot_aisles, with_more_nodes
from joulewise.worlds.facility.flow_tables import FlowTables, read_flows
from joulewise.worlds.facility.site import FacilityParameters as Parameters
from joulewise.worlds.facility.site import FlowParameters, SiteParameters, facility_of
from joulewise.worlds.facility.site import generate_facility as generate
from joulewise.worlds.facility.site_tables import SiteTables, read_site

__all__ = [
    "Advice",
    "Air",
    "CopCurve",
    "Day",
    "Facility",
    "FlowParameters",
    "FlowTables",
    "HeatFlow",
    "NodeTypes",
    "Parameters",
    "Plan",
    "Prices",
    "Proven",
    "Room",
    "SiteParameters",
    "SiteTables",
    "TaskFlows",
    "WhatIf",
    "advise",
    "check",
    "crac_failures",
    "facility_of",
    "generate",
    "heat_flow",
    "hot_aisles",
    "plan",
    "read_flows",
    "read_site",
    "simulate",
    "sweep_limit",
    "what_if",
    "with_more_nodes",
]
