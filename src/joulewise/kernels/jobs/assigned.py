"""Starts that come from outside the kernels: which jobs they may name, and what becomes of each.

Who waits in an event may start with one of its options, or have nodes held ahead, where nodes are free and the limits
of energy and power allow it.
"""

from __future__ import annotations

import numpy as np

from joulewise.kernels.jit import inlined, kernel, shared
from joulewise.kernels.jobs.layout import RAN, WAITING
from joulewise.kernels.jobs.mapping import allowed_start, give_nodes
from joulewise.kernels.jobs.state import LAST
from joulewise.kernels.jobs.timetable import free_at
from joulewise.kernels.layout import NOBODY

PLACED, REFUSED, NOT_WAITING, NO_OPTION, NO_NODES = 0, 1, 2, 3, 4
"""What becomes of a start: it is made, or against a limit, or impossible for one of three reasons."""

START, HOLD, LOOK = 0, 1, 2
"""How jobs are placed: now, now or ahead, or not at all."""


@inlined
def has_come(run, i, now_s):
    """Whether a job could have been started by now, as far as other jobs are concerned."""
    plan, before = run.plan, run.facts.after[i]
    is_due = before == NOBODY or (plan.fate[before] == RAN and plan.end_s[before] <= now_s)
    return is_due and plan.ready_s[i] <= now_s


@inlined
def is_possible(run, i, option, now_s):
    """Whether a job waits and has an option, or what else is wrong with the two."""
    facts, plan = run.facts, run.plan
    if i < 0 or i >= plan.fate.size or plan.fate[i] != WAITING or plan.option[i] != NOBODY:
        return NOT_WAITING
    if not has_come(run, i, now_s):
        return NOT_WAITING
    t = facts.tasks.task_type[i]
    return PLACED if facts.options.first[t] <= option < facts.options.first[t + 1] else NO_OPTION


@shared
def place(run, i, option, may_wait, now_s):
    """Give a job nodes, now or if it may wait later; returns what becomes of it, and when it starts."""
    options, fate = run.facts.options, is_possible(run, i, option, now_s)
    if fate == PLACED and not may_wait and free_at(run.book, options.cluster[option], now_s) < options.nodes[option]:
        fate = NO_NODES
    start_s = allowed_start(run, i, option, now_s, may_wait) if fate == PLACED else np.inf
    return REFUSED if fate == PLACED and start_s == np.inf else fate, start_s


@kernel
def place_all(run, rows, how, fates, starts_s):
    """Place rows of job and option in their order, or look where they could be, each if it were the next.

    Notes what becomes of each, and when it starts.
    """
    now_s = run.site.instants[LAST]
    for row in range(fates.size):
        i, option = rows[row, 0], rows[row, 1]
        fates[row], starts_s[row] = place(run, i, option, how != START, now_s)
        if fates[row] == PLACED and how != LOOK:
            give_nodes(run, i, option, starts_s[row], now_s)
