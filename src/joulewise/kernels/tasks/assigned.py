"""Assignments that come from outside the kernels: which tasks they may name, and what becomes of each.

Who waits in an event is offered. An offered task may be placed once, behind what is planned on a machine that takes
tasks, where the limits of energy and power allow it.
"""

from __future__ import annotations

from joulewise.kernels.jit import inlined, kernel, shared
from joulewise.kernels.layout import NOBODY
from joulewise.kernels.tasks.greedy import enqueue
from joulewise.kernels.tasks.orders import may_take
from joulewise.kernels.tasks.state import HORIZON

OFFERED = -2
"""The choice of a task that waits in this event and has none yet."""

PLACED, REFUSED, NOT_OFFERED, NO_MACHINE, CANNOT_RUN = 0, 1, 2, 3, 4
"""What becomes of an assignment: it is made, or left out, or impossible for one of three reasons."""


@inlined
def offer(batch):
    """Let every task that waits be placed."""
    for at in range(batch.waiting.size[0]):
        batch.choice[batch.waiting.items[at]] = OFFERED


@inlined
def withdraw(batch):
    """Let those that were not placed wait on; nobody asks for their order."""
    heap, kept = batch.waiting, 0
    for at in range(heap.size[0]):
        i = heap.items[at]
        if batch.choice[i] == OFFERED:
            batch.choice[i] = NOBODY
            heap.items[kept] = i
            kept += 1
    heap.size[0] = kept


@shared
def place(world, state, i, m, pstate):
    """Place an offered task on a machine in a P-state; returns what becomes of it."""
    option_at, machines = world.option_at, state.machines
    if i < 0 or i >= state.batch.choice.size or state.batch.choice[i] != OFFERED:
        return NOT_OFFERED
    if m < 0 or m >= machines.ready_s.size:
        return NO_MACHINE
    is_pstate = 0 <= pstate < option_at.shape[2]
    option = option_at[world.tasks.task_type[i], machines.type_of[m], pstate] if is_pstate else NOBODY
    if option == NOBODY:
        return CANNOT_RUN
    if not may_take(world, state, m, option):
        return REFUSED
    enqueue(world, state, i, option, m, state.clock.instants[HORIZON])
    return PLACED


@kernel
def place_all(world, state, assignments, fates):
    """Place rows of task, machine and P-state in their order, and note what becomes of each."""
    for row in range(fates.size):
        fates[row] = place(world, state, assignments[row, 0], assignments[row, 1], assignments[row, 2])
