"""Time: managers run workloads on systems."""

from joulewise.simulate.manager import Manager
from joulewise.simulate.measures import measures
from joulewise.simulate.serial import Outcome, simulate

__all__ = ["Manager", "Outcome", "measures", "simulate"]
