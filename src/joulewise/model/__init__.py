"""Frozen inputs and outputs: systems, utility functions, workloads, worlds, allocations."""

from joulewise.model.allocation import Allocation, Status
from joulewise.model.system import System
from joulewise.model.utility import Segment, Shape, UtilityShapes, constant, linear, piecewise, step
from joulewise.model.workload import Tag, Workload
from joulewise.model.world import World

__all__ = [
    "Allocation", "Segment", "Shape", "Status", "System", "Tag", "UtilityShapes", "Workload", "World",
    "constant", "linear", "piecewise", "step",
]  # fmt: skip
