"""Immediate mode: every task is given a machine when it arrives, and stays there."""

from __future__ import annotations

import numpy as np

from joulewise.kernels.choice import best_option, utility_of
from joulewise.kernels.jit import kernel
from joulewise.kernels.layout import DROPPED
from joulewise.kernels.tasks.fleet import open_event, run_on


@kernel
def map_on_arrival(value, tasks, utilities, options, fleet, plan, threshold, end_s):
    """Each task takes its best choice, by an objective that falls with time; returns the mapping events."""
    n_events = 0
    for i in range(tasks.arrival_s.size):
        if tasks.arrival_s[i] > end_s:
            break
        n_events += 1
        open_event(fleet, tasks.arrival_s[i], np.inf)
        _, completion_s, option, _ = best_option(value, tasks, utilities, options, i, fleet.start_s)
        if utility_of(tasks, utilities, i, completion_s) < threshold[i]:
            plan.status[i] = DROPPED
            continue
        k = options.machine_type[option]
        run_on(fleet, plan, i, fleet.earliest[k], options.pstate[option], fleet.start_s[k], completion_s)
    return n_events


@kernel
def map_as_told(machine, tasks, utilities, exec_s, fleet, plan, threshold, end_s):
    """Each task goes to the machine named for it, in P-state 0; returns the mapping events."""
    n_events = 0
    for i in range(tasks.arrival_s.size):
        if tasks.arrival_s[i] > end_s:
            break
        n_events += 1
        start_s = max(tasks.arrival_s[i], fleet.ready_s[machine[i]])
        completion_s = start_s + exec_s[i]
        if utility_of(tasks, utilities, i, completion_s) < threshold[i]:
            plan.status[i] = DROPPED
            continue
        run_on(fleet, plan, i, machine[i], 0, start_s, completion_s)
    return n_events
