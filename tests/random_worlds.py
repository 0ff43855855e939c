"""Hypothesis strategies for small worlds in which ties, queues, drops and impossible choices are frequent."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from hypothesis import strategies as st

from joulewise.model import Segment, Shape, System, UtilityShapes, Workload, World, constant, linear, piecewise, step
from joulewise.model.arrays import Floats
from joulewise.policies import Policy
from joulewise.simulate import Manager

T = TypeVar("T")
Draw = Callable[[st.SearchStrategy[T]], T]

MOST_TASKS = 30

UNITS_S = (1.0, 0.5, 0.1, 1 / 3, 60.0)
"""Times are small multiples of one of these: whole, exactly representable, and two kinds that round."""


@st.composite
def worlds(draw: Draw[object]) -> World:
    """A system of a few machines and up to MOST_TASKS tasks, all times multiples of one unit (or of none)."""
    times = draw(st.sampled_from([*map(_multiples, UNITS_S), _any_times]))
    return World(draw(systems(times)), draw(workloads(times)))
