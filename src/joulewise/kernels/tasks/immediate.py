"""Immediate mode: every task is given a machine by itself, in the order of arrival, and stays there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.choice import utility_of
from joulewise.kernels.jit import kernel
from joulewise.kernels.layout import DROPPED
from joulewise.kernels.records import record
from joulewise.kernels.steps import step, way_of
from joulewise.kernels.tasks.choice import best_option
from joulewise.kernels.tasks.fleet import open_event, run_on


@record
class Falling(NamedTuple):
    """Tasks take their best choice, by an objective that falls with time."""


@record
class Picked(NamedTuple):
    """Tasks go to the machines named for them, in P-state 0, for this many seconds each."""

    machine: NDArray[np.int32]
    exec_s: NDArray[np.float64]


@step
def choose(chooser, world, fleet, i):
    """Where a task goes when its turn has come: its machine, P-state, start and completion."""


@way_of(choose, Falling)
def choose_best(falling, world, fleet, i):
    """The best choice on machines that are free first."""
    open_event(fleet, world.effect_s[i], np.inf)
    _, completion_s, option, _ = best_option(world, i, fleet.start_s)
    k = world.options.machine_type[option]
    return fleet.earliest[k], world.options.pstate[option], fleet.start_s[k], completion_s


@way_of(choose, Picked)
def choose_picked(picked, world, fleet, i):
    """The machine named for the task, after what it has to do."""
    machine = picked.machine[i]
    start_s = max(world.effect_s[i], fleet.ready_s[machine])
    return machine, 0, start_s, start_s + picked.exec_s[i]


@kernel
def run_on_arrival(chooser, world, fleet, plan, end_s):
    """Map each task whose turn comes up to an instant; returns the mapping events."""
    n_events = 0
    for i in range(world.tasks.arrival_s.size):
        if world.event_s[i] > end_s:
            break
        n_events += 1
        machine, pstate, start_s, completion_s = choose(chooser, world, fleet, i)
        if utility_of(world.tasks, world.utilities, i, completion_s) < world.threshold[i]:
            plan.status[i] = DROPPED
        else:
            run_on(fleet, plan, i, machine, pstate, start_s, completion_s)
    return n_events
