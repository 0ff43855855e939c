"""Time: managers run workloads on systems."""

from joulewise.simulate.measures import measures
from joulewise.simulate.serial import Manager, Outcome, simulate

__all__ = ["Manager", "Outcome", "measures", "simulate"]
