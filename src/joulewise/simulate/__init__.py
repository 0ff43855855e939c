"""Time: managers run workloads on systems."""

from joulewise.simulate.days import Day, simulate_days
from joulewise.simulate.manager import Manager
from joulewise.simulate.measures import measures
from joulewise.simulate.misfits import misfits
from joulewise.simulate.serial import Outcome, simulate

__all__ = ["Day", "Manager", "Outcome", "measures", "misfits", "simulate", "simulate_days"]
