"""What an assignment earns and uses: tasks in their order, each on its machine as soon as both are ready.

Sums are by machine, in the order in which it takes its tasks, and then over machines. A caller who knows that a
machine does the same as in another assignment may take its sums from there: the result is the same to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.choice import utility_of
from joulewise.kernels.jit import inlined, kernel
from joulewise.kernels.layout import Tasks, Utilities
from joulewise.kernels.records import record

PLACE, ORDER = 0, 1
"""The kinds of genes: where a task runs, and when in the global order."""

NOWHERE = -1
"""The place of a task that is not to run."""

ENERGY, UTILITY = 0, 1
"""The objectives of a point: energy in joules, and minus the utility."""


@record
class AssignmentFacts(NamedTuple):
    """What assignments of one world are evaluated with.

    A place is a machine in a P-state, `place = machine * n_pstates + pstate`; a choice is a machine type in a P-state,
    `choice[place]` says which, `machine[place]` on which machine. `exec_s` and `energy_j` are by [task type, choice]
    and +inf where it cannot be made; `allowed[task type, :n_allowed[task type]]` are the places that can run a task
    type, NOWHERE among them if tasks may be left out at random. A task that would earn less than `drop_below` when its
    turn comes is dropped: it takes no time and no energy. All instants are counted from `begin_s`.
    """

    tasks: Tasks
    utilities: Utilities
    exec_s: NDArray[np.float64]
    energy_j: NDArray[np.float64]
    machine: NDArray[np.int32]
    choice: NDArray[np.int32]
    allowed: NDArray[np.int32]
    n_allowed: NDArray[np.int64]
    drop_below: float
    begin_s: float


@record
class AssignmentRoom(NamedTuple):
    """Work space of one evaluation: tasks by order, how many have each order; by machine, what it has done so far.

    The columns of `done[machine]` are FREE_S, USED_J and EARNED.
    """

    sequence: NDArray[np.int32]
    n_before: NDArray[np.int32]
    done: NDArray[np.float64]


FREE_S, USED_J, EARNED = 0, 1, 2
"""What a machine has done so far: when it is free again, the energy of its tasks and their utility."""


def room_to_evaluate(n_tasks: int, n_machines: int) -> AssignmentRoom:
    """Work space for assignments of this many tasks to this many machines."""
    return AssignmentRoom(np.zeros(n_tasks, np.int32), np.zeros(n_tasks + 1, np.int32), np.zeros((n_machines, 3)))


@inlined
def sort_by_order(order, room):
    """Fill `sequence` with the tasks by order, then by arrival."""
    n = order.size
    room.n_before[:] = 0
    for i in range(n):
        room.n_before[order[i] + 1] += 1
    for position in range(n):
        room.n_before[position + 1] += room.n_before[position]
    for i in range(n):
        room.sequence[room.n_before[order[i]]] = i
        room.n_before[order[i]] += 1


@inlined
def end_at(facts, i, place, free_s):
    """When a task is done at a place whose machine is free at an instant."""
    return max(free_s, facts.tasks.arrival_s[i]) + facts.exec_s[facts.tasks.task_type[i], facts.choice[place]]


@inlined
def energy_at(facts, i, place):
    """What a task takes at a place."""
    return facts.energy_j[facts.tasks.task_type[i], facts.choice[place]]


@inlined
def turn(facts, i, place, free_s):
    """When a task would start and end at a place whose machine is free at an instant, and what it would earn."""
    end_s = end_at(facts, i, place, free_s)
    return max(free_s, facts.tasks.arrival_s[i]), end_s, utility_of(facts.tasks, facts.utilities, i, end_s)


@kernel
def evaluate_assignments(facts, room, genes, rows, points):
    """Set the points of these rows of genes `[kind of gene, row, task]`: (energy in J, minus utility)."""
    for at in range(rows.size):
        row = rows[at]
        energy_j, utility = walk(facts, room, genes[PLACE, row], genes[ORDER, row])
        points[row, ENERGY], points[row, UTILITY] = energy_j, -utility


@inlined
def walk(facts, room, place, order):
    """Run the tasks in their order; returns energy and utility."""
    sort_by_order(order, room)
    room.done[:] = 0.0
    for at in range(order.size):
        i = room.sequence[at]
        if place[i] != NOWHERE:
            done = room.done[facts.machine[place[i]]]
            _, end_s, earned = turn(facts, i, place[i], done[FREE_S])
            if earned >= facts.drop_below:
                done[FREE_S] = end_s
                done[USED_J] += energy_at(facts, i, place[i])
                done[EARNED] += earned
    return all_done(room.done)


@inlined
def all_done(done):
    """Energy and utility of all machines."""
    energy_j, utility = 0.0, 0.0
    for machine in range(done.shape[0]):
        energy_j += done[machine, USED_J]
        utility += done[machine, EARNED]
    return energy_j, utility


@kernel
def time_assignment(facts, room, place, order, start_s, end_s):
    """Fill when each task starts and ends, NaN for those that are not to run or are dropped."""
    sort_by_order(order, room)
    room.done[:] = 0.0
    start_s[:] = np.nan
    end_s[:] = np.nan
    for at in range(order.size):
        i = room.sequence[at]
        if place[i] != NOWHERE:
            done = room.done[facts.machine[place[i]]]
            begins_s, ends_s, earned = turn(facts, i, place[i], done[FREE_S])
            if earned >= facts.drop_below:
                start_s[i], end_s[i], done[FREE_S] = begins_s, ends_s, ends_s
