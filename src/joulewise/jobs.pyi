"""Parallel jobs on clusters, under a scheduler."""

from joulewise.check.jobs.allocation import check_jobs as check
from joulewise.kernels.jobs.outside import free_at
from joulewise.kernels.outside import utility_at
from joulewise.model.clusters import Clusters, NodeStandby
from joulewise.model.clusters import ClusterSystem as System
from joulewise.model.clusters import JobTypes as Types
from joulewise.model.conditions import Conditions
from joulewise.model.conditions import Kind as Condition
from joulewise.model.jobs import Fate, Jobs, Label, NodeOutages
from joulewise.model.jobs import JobAllocation as Allocation
from joulewise.model.jobs import JobWorld as World
from joulewise.model.supply import Supply
from joulewise.optimise.jobs.bound import JobBound as Bound
from joulewise.optimise.jobs.bound import job_bound as bound
from joulewise.policies.jobs.heuristic import find_job_policy as find_policy
from joulewise.policies.jobs.heuristic import job_heuristic as heuristic
from joulewise.policies.jobs.own import own_job_policy as policy
from joulewise.policies.jobs.policy import JobPolicy as Policy
from joulewise.policies.jobs.table import JOB_POLICIES as POLICIES
from joulewise.simulate.jobs.event import Choices, Profile
from joulewise.simulate.jobs.event import JobEvent as Event
from joulewise.simulate.jobs.event import JobPast as Past
from joulewise.simulate.jobs.event import JobRuns as Runs
from joulewise.simulate.jobs.measures import job_measures as measures
from joulewise.simulate.jobs.run import JobOutcome as Outcome
from joulewise.simulate.jobs.run import simulate_jobs as simulate
from joulewise.simulate.jobs.scheduler import Scheduler
from joulewise.simulate.jobs.session import JobSession as Session
from joulewise.worlds.jobs.cluster_tables import ClusterTables, read_clusters
from joulewise.worlds.jobs.clusters import ClusterParameters, generate_clusters
from joulewise.worlds.jobs.lublin import LublinParameters, generate_lublin
from joulewise.worlds.jobs.parallel_day import ParallelDayParameters, generate_parallel_day
from joulewise.worlds.jobs.tables import JobTable as Table
from joulewise.worlds.jobs.tables import read_jobs as read
from joulewise.worlds.jobs.traces import TraceParameters, read_trace

__all__ = [
    "POLICIES",
    "Allocation",
    "Bound",
    "Choices",
    "ClusterParameters",
    "ClusterTables",
    "Clusters",
    "Condition",
    "Conditions",
    "Event",
    "Fate",
    "Jobs",
    "Label",
    "LublinParameters",
    "NodeOutages",
    "NodeStandby",
    "Outcome",
    "ParallelDayParameters",
    "Past",
    "Policy",
    "Profile",
    "Runs",
    "Scheduler",
    "Session",
    "Supply",
    "System",
    "Table",
    "TraceParameters",
    "Types",
    "World",
    "bound",
    "check",
    "find_policy",
    "free_at",
    "generate_clusters",
    "generate_lublin",
    "generate_parallel_day",
    "heuristic",
    "measures",
    "policy",
    "read",
    "read_clusters",
    "read_trace",
    "simulate",
    "utility_at",
]
