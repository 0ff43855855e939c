"""Serial tasks that arrive over time, under a manager."""

from joulewise.check.tasks.allocation import check_allocation as check
from joulewise.kernels.outside import utility_at
from joulewise.model.allocation import Allocation, Status
from joulewise.model.supply import Supply
from joulewise.model.system import System
from joulewise.model.workload import Tag, Workload
from joulewise.model.world import World
from joulewise.optimise.bounds import maximum_utility, utility_ceiling
from joulewise.optimise.price_market import Certificate
from joulewise.optimise.price_market import PriceBound as Bound
from joulewise.optimise.tasks.prices import certified_bound
from joulewise.optimise.tasks.prices import price_bound as bound
from joulewise.policies.tasks.heuristic import find_policy, heuristic
from joulewise.policies.tasks.own import own_policy as policy
from joulewise.policies.tasks.policy import Objective, Policy
from joulewise.policies.tasks.table import POLICIES
from joulewise.simulate.tasks.days import Day, simulate_days
from joulewise.simulate.tasks.event import Event, Past
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.measures import measures
from joulewise.simulate.tasks.serial import Outcome, simulate
from joulewise.simulate.tasks.session import Session
from joulewise.worlds.affinity import affinity_report, with_affinity
from joulewise.worlds.cov_system import CovSystemParameters, generate_cov_system
from joulewise.worlds.environment import SystemParameters, generate_system
from joulewise.worlds.gpus import GpuParameters
from joulewise.worlds.gpus import gpu_system as generate_gpus
from joulewise.worlds.heterogeneity import Heterogeneity, heterogeneity
from joulewise.worlds.nine_machines import NineMachineParameters, generate_nine_machines
from joulewise.worlds.system_tables import SystemTables, read_system
from joulewise.worlds.tasks.day import WorkloadParameters, generate_days, generate_workload
from joulewise.worlds.tasks.tables import WorkloadTable, read_workload

__all__ = [
    "POLICIES",
    "Allocation",
    "Bound",
    "Certificate",
    "CovSystemParameters",
    "Day",
    "Event",
    "GpuParameters",
    "Heterogeneity",
    "Manager",
    "NineMachineParameters",
    "Objective",
    "Outcome",
    "Past",
    "Policy",
    "Session",
    "Status",
    "Supply",
    "System",
    "SystemParameters",
    "SystemTables",
    "Tag",
    "Workload",
    "WorkloadParameters",
    "WorkloadTable",
    "World",
    "affinity_report",
    "bound",
    "certified_bound",
    "check",
    "find_policy",
    "generate_cov_system",
    "generate_days",
    "generate_gpus",
    "generate_nine_machines",
    "generate_system",
    "generate_workload",
    "heterogeneity",
    "heuristic",
    "maximum_utility",
    "measures",
    "policy",
    "read_system",
    "read_workload",
    "simulate",
    "simulate_days",
    "utility_at",
    "utility_ceiling",
    "with_affinity",
]
