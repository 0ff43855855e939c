"""Joulewise: the most useful work out of every joule."""

from joulewise import assignments, bags, facility, jobs, measure, tasks
from joulewise._version import __version__
from joulewise.errors import InputError, JoulewiseError, Problem
from joulewise.looks.look import plot
from joulewise.model.supply import Supply
from joulewise.model.system import System
from joulewise.model.utility import UtilityShapes, constant, linear, piecewise, step
from joulewise.model.workload import Workload
from joulewise.model.world import World
from joulewise.optimise.bounds import maximum_utility
from joulewise.policies.tasks.heuristic import find_policy, heuristic
from joulewise.policies.tasks.own import own_policy as policy
from joulewise.policies.tasks.table import POLICIES
from joulewise.present.results import write_report
from joulewise.progress import Cancelled, CancelToken
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.measures import measures
from joulewise.simulate.tasks.serial import Outcome
from joulewise.simulate.tasks.serial import simulate as run
from joulewise.study import Results, Study, compare, open_results, query, read_study, run_study
from joulewise.worlds.environment import SystemParameters, generate_system
from joulewise.worlds.tasks.day import WorkloadParameters, generate_workload

__all__ = [
    "POLICIES",
    "CancelToken",
    "Cancelled",
    "InputError",
    "JoulewiseError",
    "Manager",
    "Outcome",
    "Problem",
    "Results",
    "Study",
    "Supply",
    "System",
    "SystemParameters",
    "UtilityShapes",
    "Workload",
    "WorkloadParameters",
    "World",
    "__version__",
    "assignments",
    "bags",
    "compare",
    "constant",
    "facility",
    "find_policy",
    "generate_system",
    "generate_workload",
    "heuristic",
    "jobs",
    "linear",
    "maximum_utility",
    "measure",
    "measures",
    "open_results",
    "piecewise",
    "plot",
    "policy",
    "query",
    "read_study",
    "run",
    "run_study",
    "step",
    "tasks",
    "write_report",
]
