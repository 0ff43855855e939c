"""The independent validator: what any allocation must satisfy, and its value computed a second time."""

from joulewise.check.allocation import check_allocation
from joulewise.check.case import ManagerLike
from joulewise.check.prices import dual_value
from joulewise.check.recompute import recompute, run_energy_j

__all__ = ["ManagerLike", "check_allocation", "dual_value", "recompute", "run_energy_j"]
