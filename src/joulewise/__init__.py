"""Joulewise: the most useful work out of every joule.

`import joulewise as jw` is quick: each name below is loaded from its room when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from joulewise._version import __version__

if TYPE_CHECKING:
    from joulewise.check.assignments.assignment import certified_utility_front, check_assignment
    from joulewise.check.bags.allocation import certified_front, check_bag
    from joulewise.check.facility.plan import check_facility
    from joulewise.check.jobs.allocation import check_jobs
    from joulewise.check.tasks.allocation import check_allocation
    from joulewise.errors import InputError, JoulewiseError, Problem
    from joulewise.model import (
        Allocation,
        Bag,
        BagAllocation,
        Status,
        Supply,
        System,
        Tag,
        UtilityShapes,
        Workload,
        World,
        constant,
        linear,
        piecewise,
        step,
    )
    from joulewise.model.air import Air
    from joulewise.model.assignment import Assignment
    from joulewise.model.chances import Chances
    from joulewise.model.clusters import Clusters, ClusterSystem, JobTypes, NodeStandby
    from joulewise.model.facility import Facility, FacilityPlan, NodeTypes, TaskFlows
    from joulewise.model.jobs import Fate, JobAllocation, Jobs, JobWorld, Label, NodeOutages
    from joulewise.model.room import CopCurve, Room, heat_flow
    from joulewise.optimise.assignments.annealing import search_front
    from joulewise.optimise.assignments.bound import UtilityBound, front_bound
    from joulewise.optimise.assignments.fuzzy import (
        FuzzyFront,
        fuzzy,
        least_variance_within,
        value_of_perfect_information,
        value_of_stochastic_solution,
    )
    from joulewise.optimise.assignments.problem import AssignmentProblem, allocation_of
    from joulewise.optimise.assignments.stochastic import StochasticProblem
    from joulewise.optimise.bags.annealing import BagFront, improve
    from joulewise.optimise.bags.bound import BoundFront, bound_at, bound_front, region
    from joulewise.optimise.bags.machines import analyse, what_if
    from joulewise.optimise.bags.market import Market
    from joulewise.optimise.bags.problem import BagProblem
    from joulewise.optimise.bags.profit import Profit, most_profit, price_at_ratio, profit_sweep
    from joulewise.optimise.bags.recovery import recover, recovered
    from joulewise.optimise.bags.seeds import min_energy, min_min_completion_time
    from joulewise.optimise.bounds import maximum_utility, utility_ceiling
    from joulewise.optimise.evolution import evolve
    from joulewise.optimise.facility.planner import plan_facility
    from joulewise.optimise.facility.whatif import advise_facility, sweep_limit, what_if_facility
    from joulewise.optimise.front import Front, front_of
    from joulewise.optimise.islands import evolve_islands
    from joulewise.optimise.jobs.bound import JobBound, job_bound
    from joulewise.optimise.population import Population
    from joulewise.optimise.tasks.prices import certified_bound, price_bound
    from joulewise.policies.jobs.heuristic import find_job_policy, job_heuristic
    from joulewise.policies.jobs.policy import JobPolicy
    from joulewise.policies.jobs.table import JOB_POLICIES
    from joulewise.policies.tasks.heuristic import find_policy, heuristic
    from joulewise.policies.tasks.policy import Objective, Policy
    from joulewise.policies.tasks.table import POLICIES
    from joulewise.simulate.facility.day import simulate_facility_day
    from joulewise.simulate.jobs.measures import job_measures
    from joulewise.simulate.jobs.run import JobOutcome, simulate_jobs
    from joulewise.simulate.jobs.scheduler import Scheduler
    from joulewise.simulate.tasks.days import Day, simulate_days
    from joulewise.simulate.tasks.manager import Manager
    from joulewise.simulate.tasks.measures import measures
    from joulewise.simulate.tasks.serial import Outcome
    from joulewise.simulate.tasks.serial import simulate as run
    from joulewise.study import open_results, read_study, run_study
    from joulewise.worlds.affinity import affinity_report, with_affinity
    from joulewise.worlds.assignments.chances import ChanceParameters, gamma_chances
    from joulewise.worlds.assignments.known import KnownParameters, generate_known
    from joulewise.worlds.bags.bag import BagParameters, BagTable, generate_bag, read_bag
    from joulewise.worlds.cov_system import CovSystemParameters, generate_cov_system
    from joulewise.worlds.environment import SystemParameters, generate_system
    from joulewise.worlds.facility.changes import crac_failures, hot_aisles, with_more_nodes
    from joulewise.worlds.facility.site import (
        FacilityParameters,
        FlowParameters,
        SiteParameters,
        facility_of,
        generate_facility,
    )
    from joulewise.worlds.facility.tables import FlowTables, SiteTables, read_flows, read_site
    from joulewise.worlds.gpus import GpuParameters, gpu_system
    from joulewise.worlds.heterogeneity import heterogeneity
    from joulewise.worlds.jobs.cluster_tables import ClusterTables, read_clusters
    from joulewise.worlds.jobs.clusters import ClusterParameters, generate_clusters
    from joulewise.worlds.jobs.lublin import LublinParameters, generate_lublin
    from joulewise.worlds.jobs.parallel_day import ParallelDayParameters, generate_parallel_day
    from joulewise.worlds.jobs.tables import JobTable, read_jobs
    from joulewise.worlds.jobs.traces import TraceParameters, read_trace
    from joulewise.worlds.nine_machines import NineMachineParameters, generate_nine_machines
    from joulewise.worlds.system_tables import SystemTables, read_system
    from joulewise.worlds.tasks.day import WorkloadParameters, generate_days, generate_workload
    from joulewise.worlds.tasks.tables import WorkloadTable, read_workload

_ROOM_OF = {
    "joulewise.check.bags.allocation": ("certified_front", "check_bag",),
    "joulewise.check.assignments.assignment": ("certified_utility_front", "check_assignment",),
    "joulewise.check.tasks.allocation": ("check_allocation",),
    "joulewise.check.facility.plan": ("check_facility",),
    "joulewise.check.jobs.allocation": ("check_jobs",),
    "joulewise.model.clusters": ("Clusters", "ClusterSystem", "JobTypes", "NodeStandby"),
    "joulewise.model.jobs": ("Fate", "JobAllocation", "Jobs", "JobWorld", "Label", "NodeOutages"),
    "joulewise.optimise.jobs.bound": ("JobBound", "job_bound"),
    "joulewise.policies.jobs.policy": ("JobPolicy",),
    "joulewise.simulate.jobs.measures": ("job_measures",),
    "joulewise.simulate.jobs.run": ("JobOutcome", "simulate_jobs"),
    "joulewise.simulate.jobs.scheduler": ("Scheduler",),
    "joulewise.worlds.jobs.cluster_tables": ("ClusterTables", "read_clusters"),
    "joulewise.worlds.jobs.clusters": ("ClusterParameters", "generate_clusters"),
    "joulewise.worlds.jobs.tables": ("JobTable", "read_jobs"),
    "joulewise.worlds.jobs.lublin": ("LublinParameters", "generate_lublin"),
    "joulewise.worlds.jobs.parallel_day": ("ParallelDayParameters", "generate_parallel_day"),
    "joulewise.worlds.jobs.traces": ("TraceParameters", "read_trace"),
    "joulewise.errors": ("InputError", "JoulewiseError", "Problem"),
    "joulewise.model": (
        "Allocation", "Bag", "BagAllocation", "Status", "Supply", "System", "Tag", "UtilityShapes", "Workload", "World",
        "constant", "linear", "piecewise", "step",
    ),
    "joulewise.model.assignment": ("Assignment",),
    "joulewise.model.chances": ("Chances",),
    "joulewise.optimise.assignments.annealing": ("search_front",),
    "joulewise.optimise.assignments.bound": ("UtilityBound", "front_bound"),
    "joulewise.optimise.assignments.problem": ("AssignmentProblem", "allocation_of"),
    "joulewise.optimise.assignments.fuzzy": (
        "FuzzyFront", "fuzzy", "least_variance_within", "value_of_perfect_information", "value_of_stochastic_solution",
    ),
    "joulewise.optimise.islands": ("evolve_islands",),
    "joulewise.optimise.population": ("Population",),
    "joulewise.optimise.assignments.stochastic": ("StochasticProblem",),
    "joulewise.worlds.assignments.chances": ("ChanceParameters", "gamma_chances"),
    "joulewise.worlds.assignments.known": ("KnownParameters", "generate_known"),
    "joulewise.optimise.tasks.prices": ("certified_bound", "price_bound",),
    "joulewise.optimise.bounds": ("maximum_utility", "utility_ceiling",),
    "joulewise.optimise.bags.annealing": ("BagFront", "improve"),
    "joulewise.optimise.bags.bound": ("BoundFront", "bound_at", "bound_front", "region"),
    "joulewise.optimise.bags.recovery": ("recover", "recovered"),
    "joulewise.optimise.front": ("Front", "front_of"),
    "joulewise.optimise.evolution": ("evolve",),
    "joulewise.optimise.bags.problem": ("BagProblem",),
    "joulewise.optimise.bags.machines": ("analyse", "what_if"),
    "joulewise.optimise.bags.market": ("Market",),
    "joulewise.optimise.bags.profit": ("Profit", "most_profit", "price_at_ratio", "profit_sweep"),
    "joulewise.optimise.bags.seeds": ("min_energy", "min_min_completion_time"),
    "joulewise.policies.tasks.table": ("POLICIES",),
    "joulewise.policies.tasks.policy": ("Objective", "Policy",),
    "joulewise.policies.tasks.heuristic": ("find_policy", "heuristic",),
    "joulewise.policies.jobs.heuristic": ("find_job_policy", "job_heuristic"),
    "joulewise.policies.jobs.table": ("JOB_POLICIES",),
    "joulewise.simulate.tasks.days": ("Day", "simulate_days",),
    "joulewise.simulate.tasks.manager": ("Manager",),
    "joulewise.simulate.tasks.serial": ("Outcome",),
    "joulewise.simulate.tasks.measures": ("measures",),
    "joulewise.study": ("open_results", "read_study", "run_study"),
    "joulewise.worlds.affinity": ("affinity_report", "with_affinity"),
    "joulewise.worlds.tasks.day": ("WorkloadParameters", "generate_days", "generate_workload"),
    "joulewise.worlds.bags.bag": ("BagParameters", "BagTable", "generate_bag", "read_bag"),
    "joulewise.worlds.cov_system": ("CovSystemParameters", "generate_cov_system"),
    "joulewise.worlds.gpus": ("GpuParameters", "gpu_system"),
    "joulewise.worlds.nine_machines": ("NineMachineParameters", "generate_nine_machines"),
    "joulewise.worlds.environment": ("SystemParameters", "generate_system"),
    "joulewise.worlds.heterogeneity": ("heterogeneity",),
    "joulewise.worlds.system_tables": ("SystemTables", "read_system"),
    "joulewise.worlds.tasks.tables": ("WorkloadTable", "read_workload"),
    "joulewise.model.air": ("Air",),
    "joulewise.model.facility": ("Facility", "FacilityPlan", "NodeTypes", "TaskFlows"),
    "joulewise.model.room": ("CopCurve", "Room", "heat_flow"),
    "joulewise.optimise.facility.planner": ("plan_facility",),
    "joulewise.optimise.facility.whatif": ("advise_facility", "sweep_limit", "what_if_facility"),
    "joulewise.simulate.facility.day": ("simulate_facility_day",),
    "joulewise.worlds.facility.site": (
        "FacilityParameters", "FlowParameters", "SiteParameters", "facility_of", "generate_facility",
    ),
    "joulewise.worlds.facility.changes": ("crac_failures", "hot_aisles", "with_more_nodes"),
    "joulewise.worlds.facility.tables": ("FlowTables", "SiteTables", "read_flows", "read_site"),
}  # fmt: skip
_ORIGINS = {name: (room, name) for room, names in _ROOM_OF.items() for name in names}
_ORIGINS["run"] = ("joulewise.simulate.tasks.serial", "simulate")  # here `simulate` is the room

__all__ = [
    "JOB_POLICIES",
    "POLICIES",
    "Air",
    "Allocation",
    "Assignment",
    "AssignmentProblem",
    "Bag",
    "BagAllocation",
    "BagFront",
    "BagParameters",
    "BagProblem",
    "BagTable",
    "BoundFront",
    "ChanceParameters",
    "Chances",
    "ClusterParameters",
    "ClusterSystem",
    "ClusterTables",
    "Clusters",
    "CopCurve",
    "CovSystemParameters",
    "Day",
    "Facility",
    "FacilityParameters",
    "FacilityPlan",
    "Fate",
    "FlowParameters",
    "FlowTables",
    "Front",
    "FuzzyFront",
    "GpuParameters",
    "InputError",
    "JobAllocation",
    "JobBound",
    "JobOutcome",
    "JobPolicy",
    "JobTable",
    "JobTypes",
    "JobWorld",
    "Jobs",
    "JoulewiseError",
    "KnownParameters",
    "Label",
    "LublinParameters",
    "Manager",
    "Market",
    "NineMachineParameters",
    "NodeOutages",
    "NodeStandby",
    "NodeTypes",
    "Objective",
    "Outcome",
    "ParallelDayParameters",
    "Policy",
    "Population",
    "Problem",
    "Profit",
    "Room",
    "Scheduler",
    "SiteParameters",
    "SiteTables",
    "Status",
    "StochasticProblem",
    "Supply",
    "System",
    "SystemParameters",
    "SystemTables",
    "Tag",
    "TaskFlows",
    "TraceParameters",
    "UtilityBound",
    "UtilityShapes",
    "Workload",
    "WorkloadParameters",
    "WorkloadTable",
    "World",
    "__version__",
    "advise_facility",
    "affinity_report",
    "allocation_of",
    "analyse",
    "bound_at",
    "bound_front",
    "certified_bound",
    "certified_front",
    "certified_utility_front",
    "check_allocation",
    "check_assignment",
    "check_bag",
    "check_facility",
    "check_jobs",
    "constant",
    "crac_failures",
    "evolve",
    "evolve_islands",
    "facility_of",
    "find_job_policy",
    "find_policy",
    "front_bound",
    "front_of",
    "fuzzy",
    "gamma_chances",
    "generate_bag",
    "generate_clusters",
    "generate_cov_system",
    "generate_days",
    "generate_facility",
    "generate_known",
    "generate_lublin",
    "generate_nine_machines",
    "generate_parallel_day",
    "generate_system",
    "generate_workload",
    "gpu_system",
    "heat_flow",
    "heterogeneity",
    "heuristic",
    "hot_aisles",
    "improve",
    "job_bound",
    "job_heuristic",
    "job_measures",
    "least_variance_within",
    "linear",
    "maximum_utility",
    "measures",
    "min_energy",
    "min_min_completion_time",
    "most_profit",
    "open_results",
    "piecewise",
    "plan_facility",
    "price_at_ratio",
    "price_bound",
    "profit_sweep",
    "read_bag",
    "read_clusters",
    "read_flows",
    "read_jobs",
    "read_site",
    "read_study",
    "read_system",
    "read_trace",
    "read_workload",
    "recover",
    "recovered",
    "region",
    "run",
    "run_study",
    "search_front",
    "simulate_days",
    "simulate_facility_day",
    "simulate_jobs",
    "step",
    "sweep_limit",
    "utility_ceiling",
    "value_of_perfect_information",
    "value_of_stochastic_solution",
    "what_if",
    "what_if_facility",
    "with_affinity",
    "with_more_nodes",
]


def __getattr__(name: str) -> Any:
    if name not in _ORIGINS:
        raise AttributeError(f"module 'joulewise' has no attribute {name!r}")
    room, origin = _ORIGINS[name]
    return getattr(importlib.import_module(room), origin)


def __dir__() -> list[str]:
    return sorted(__all__)
