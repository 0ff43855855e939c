"""Objectives that are compiled outside the kernels and see more than five numbers of a choice."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.records import record
from joulewise.kernels.steps import step, way_of
from joulewise.kernels.tasks.greedy import worth

RICH_SIGNATURE = numba.float64(*[numba.float64] * 12)
"""value(utility, completion_s, exec_s, energy_j, wait_s, task_type, machine_type, pstate, queue_length, slack_s,
price_per_s, price_per_j)"""


@record
class Nobody(NamedTuple):
    """The objective sees five numbers, or there is none."""


@record
class Valuer(NamedTuple):
    """An objective that sees more than five numbers; by task, from when on it is worth nothing."""

    value: Any
    worthless_at_s: NDArray[np.float64]


@step
def value_of(valuer, world, state, i, option, utility, start_s, completion_s):
    """The value of a choice; not-a-number counts as the worst."""


@way_of(value_of, Nobody)
def plain_value(valuer, world, state, i, option, utility, start_s, completion_s):
    """The value by five numbers."""
    return worth(world, state.batch, i, option, utility, start_s, completion_s)


@way_of(value_of, Valuer)
def rich_value(valuer, world, state, i, option, utility, start_s, completion_s):
    """The value by all that there is to see."""
    options, machines, prices, k = world.options, state.machines, state.prices, world.options.machine_type[option]
    m, is_priced = machines.earliest[k], world.rules.is_priced
    value = valuer.value(
        utility, completion_s, options.exec_s[option], options.energy_j[option], start_s - world.tasks.arrival_s[i],
        float(world.tasks.task_type[i]), float(k), float(options.pstate[option]), float(machines.n_queued[m]),
        valuer.worthless_at_s[i] - completion_s, prices.per_s[k] if is_priced else math.nan,
        prices.per_j[0] if is_priced else math.nan,
    )  # fmt: skip
    return -np.inf if math.isnan(value) else value
