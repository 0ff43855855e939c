"""The independent validator: what any allocation must satisfy, and its value computed a second time."""

from joulewise.check.allocation import check_allocation
from joulewise.check.assignment import certified_utility_front, check_assignment
from joulewise.check.bag import certified_front, certified_profit, check_bag
from joulewise.check.case import ManagerLike
from joulewise.check.facility import check_facility
from joulewise.check.job_case import SchedulerLike
from joulewise.check.job_prices import job_dual_value
from joulewise.check.job_recompute import recompute_jobs
from joulewise.check.jobs import check_jobs
from joulewise.check.prices import dual_value
from joulewise.check.recompute import recompute, run_energy_j

__all__ = [
    "ManagerLike",
    "SchedulerLike",
    "certified_front",
    "certified_profit",
    "certified_utility_front",
    "check_allocation",
    "check_assignment",
    "check_bag",
    "check_facility",
    "check_jobs",
    "dual_value",
    "job_dual_value",
    "recompute",
    "recompute_jobs",
    "run_energy_j",
]
