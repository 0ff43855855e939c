"""Frozen inputs and outputs: systems, utility functions, workloads, worlds, bags, allocations."""

from joulewise.model.allocation import Allocation, Status
from joulewise.model.bag import Bag, BagAllocation
from joulewise.model.supply import Supply
from joulewise.model.system import Standby, System
from joulewise.model.utility import Segment, Shape, UtilityShapes, constant, linear, piecewise, step
from joulewise.model.workload import Tag, Workload
from joulewise.model.world import Outages, World

__all__ = [
    "Allocation", "Bag", "BagAllocation", "Outages", "Segment", "Shape", "Standby", "Status", "Supply", "System", "Tag",
    "UtilityShapes", "Workload", "World", "constant", "linear", "piecewise", "step",
]  # fmt: skip
