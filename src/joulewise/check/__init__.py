"""The independent validator: what any allocation must satisfy, and its value computed a second time."""

from joulewise.check.allocation import check_allocation
from joulewise.check.bag import certified_front, certified_profit, check_bag
from joulewise.check.case import ManagerLike
from joulewise.check.prices import dual_value
from joulewise.check.recompute import recompute, run_energy_j

__all__ = [
    "ManagerLike",
    "certified_front",
    "certified_profit",
    "check_allocation",
    "check_bag",
    "dual_value",
    "recompute",
    "run_energy_j",
]
