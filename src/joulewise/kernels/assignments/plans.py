"""Plans that annealing changes: the tasks of each machine in their order, when they run, and what is kept on the way.

Utility is read from a table, so totals here are close but not exact: evaluate again before reporting.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.assignments.evaluation import NOWHERE, AssignmentFacts
from joulewise.kernels.jit import inlined, kernel, shared
from joulewise.kernels.records import record

WORTH, SPENT = 0, 1
"""The totals of a plan: utility earned and energy used."""

SAME_S = 1e-7
"""Instants this close are the same: rounding moves them when the order of tasks changes."""


@record
class Curves(NamedTuple):
    """Utility by time after the hold, in cells of `1 / per_s` seconds; shape s has rows from s * n_cells on.

    Columns: value at the start of a cell, rise over it, what a typical delay takes from there and a typical haste adds.
    The first `n_lead` cells are before the end of the hold.
    """

    cells: NDArray[np.float32]
    per_s: float
    n_lead: float
    n_cells: int
    typical_s: float


@record
class Lanes(NamedTuple):
    """The tasks of each machine in their order, by [machine, position]; the last lane holds those that do not run.

    `row` is where a task's curve begins, `free_s` when the machine is free after its turn; `later` and `earlier` are
    what it loses and gains by a typical delay and haste, `all_later` and `all_earlier` all those from it on that wait
    for each other.
    """

    task: NDArray[np.int32]
    row: NDArray[np.int32]
    arrival_s: NDArray[np.float64]
    due_s: NDArray[np.float64]
    scale: NDArray[np.float64]
    exec_s: NDArray[np.float64]
    start_s: NDArray[np.float64]
    free_s: NDArray[np.float64]
    earned: NDArray[np.float64]
    later: NDArray[np.float64]
    earlier: NDArray[np.float64]
    all_later: NDArray[np.float64]
    all_earlier: NDArray[np.float64]


@record
class LanePlan(NamedTuple):
    """The state of a search: lanes and how long they are, where each task is, and the totals."""

    lanes: Lanes
    length: NDArray[np.int64]
    place: NDArray[np.int32]
    position: NDArray[np.int32]
    totals: NDArray[np.float64]


@record
class PlanArchive(NamedTuple):
    """Plans of which none beats another, by rising energy: points (utility, energy) and the slot of each one's genes.

    `n_kept[0]` says how many; slots from there on are free.
    """

    points: NDArray[np.float64]
    slot: NDArray[np.int64]
    genes: NDArray[np.int32]
    n_kept: NDArray[np.int64]


@record
class SearchScene(NamedTuple):
    """All that a search works with.

    `noise` are Gumbel draws, a power of two of them. `luck` is the share of recent moves of a task type to a choice,
    by [task type, choice], that were made: what never works is tried less often.
    """

    facts: AssignmentFacts
    curves: Curves
    plan: LanePlan
    archive: PlanArchive
    noise: NDArray[np.float64]
    luck: NDArray[np.float64]


@inlined
def value_at(curves, row, late_s):
    """What a shape is worth this long after the hold, as the table has it."""
    at = max(late_s * curves.per_s + curves.n_lead, 0.0)
    cell = min(np.int64(at), curves.n_cells - 1)
    return curves.cells[row + cell, 0] + curves.cells[row + cell, 1] * min(at - cell, 1.0)


@inlined
def energy_of(scene, i, place):
    return scene.facts.energy_j[scene.facts.tasks.task_type[i], scene.facts.choice[place]]


@inlined
def exec_of(scene, i, place):
    return scene.facts.exec_s[scene.facts.tasks.task_type[i], scene.facts.choice[place]]


@inlined
def free_before(plan, m, k):
    """When a machine is free for its k-th task."""
    return plan.lanes.free_s[m, k - 1] if k > 0 else 0.0


@inlined
def run_all(scene, m, first, last, free_s, may_stop):
    """Run positions first to last of a lane whose machine is free at an instant; returns when it is free then, and by
    how much that changes utility and energy. Stops where it is free as before, if what follows is as before too.
    """
    lanes, drop_below, worth, spent_j = scene.plan.lanes, scene.facts.drop_below, 0.0, 0.0
    for k in range(first, last):
        end_s = max(free_s, lanes.arrival_s[m, k]) + lanes.exec_s[m, k]
        earned = lanes.scale[m, k] * value_at(scene.curves, lanes.row[m, k], end_s - lanes.due_s[m, k])
        before = lanes.earned[m, k]
        if earned < drop_below:
            end_s, earned = free_s, 0.0
        if drop_below > 0.0 and (before > 0.0) != (earned > 0.0):
            energy_j = energy_of(scene, lanes.task[m, k], scene.plan.place[lanes.task[m, k]])
            spent_j += energy_j if earned > 0.0 else -energy_j
        worth += earned - before
        free_s = end_s
        if may_stop and abs(end_s - lanes.free_s[m, k]) < SAME_S:
            break
    return free_s, worth, spent_j


@inlined
def is_running(scene, i, a, p):
    """Whether a task at position p of lane a runs, that is, takes time and energy."""
    return scene.plan.place[i] != NOWHERE and (scene.facts.drop_below <= 0.0 or scene.plan.lanes.earned[a, p] > 0.0)


@shared
def retime(scene, m, first, changed):
    """Work out times and utility of a lane from a position on; stops behind `changed` where all is as before."""
    plan, lanes, curves = scene.plan, scene.plan.lanes, scene.curves
    free_s = free_before(plan, m, first)
    for k in range(first, plan.length[m]):
        plan.position[lanes.task[m, k]] = k
        start_s = max(free_s, lanes.arrival_s[m, k])
        end_s = start_s + lanes.exec_s[m, k]
        at = max((end_s - lanes.due_s[m, k]) * curves.per_s + curves.n_lead, 0.0)
        cell = min(np.int64(at), curves.n_cells - 1)
        values, scale = curves.cells[lanes.row[m, k] + cell], lanes.scale[m, k]
        earned, later, earlier = scale * (values[0] + values[1] * min(at - cell, 1.0)), values[2], values[3]
        if earned < scene.facts.drop_below:
            earned, end_s, later, earlier = 0.0, free_s, 0.0, 0.0
        is_same = k > changed and abs(end_s - lanes.free_s[m, k]) < SAME_S
        lanes.start_s[m, k], lanes.free_s[m, k], lanes.earned[m, k] = start_s, end_s, earned
        lanes.later[m, k], lanes.earlier[m, k] = scale * later, scale * earlier
        free_s = end_s
        if is_same:
            break
    add_up(plan, m)


@inlined
def add_up(plan, m):
    """Add up what followers lose and gain, from the last task to the first, as far as they wait for each other."""
    lanes, later, earlier, behind_s = plan.lanes, 0.0, 0.0, -1.0
    for k in range(plan.length[m] - 1, -1, -1):
        if behind_s > lanes.free_s[m, k] + SAME_S:
            later, earlier = 0.0, 0.0
        later += lanes.later[m, k]
        earlier += lanes.earlier[m, k]
        lanes.all_later[m, k], lanes.all_earlier[m, k] = later, earlier
        behind_s = lanes.start_s[m, k]


@inlined
def put(scene, m, k, i, place):
    """Write down what a lane needs to know of a task at a position."""
    lanes, tasks = scene.plan.lanes, scene.facts.tasks
    lanes.task[m, k], lanes.row[m, k] = i, tasks.shape[i] * scene.curves.n_cells
    lanes.arrival_s[m, k], lanes.due_s[m, k] = tasks.arrival_s[i], tasks.arrival_s[i] + tasks.hold_s[i]
    lanes.scale[m, k], lanes.exec_s[m, k] = tasks.scale[i], 0.0 if place == NOWHERE else exec_of(scene, i, place)


@inlined
def shift(lanes, m, first, last, by):
    """Shift what positions first to last know of their tasks by one position, up (1) or down (-1)."""
    for step in range(last - first):
        k = last - 1 - step if by > 0 else first + step
        lanes.task[m, k + by], lanes.row[m, k + by] = lanes.task[m, k], lanes.row[m, k]
        lanes.arrival_s[m, k + by], lanes.due_s[m, k + by] = lanes.arrival_s[m, k], lanes.due_s[m, k]
        lanes.scale[m, k + by], lanes.exec_s[m, k + by] = lanes.scale[m, k], lanes.exec_s[m, k]


@shared
def make_move(scene, move, q):
    """Move the task to position q, counted without it."""
    plan, a, p, b = scene.plan, move.a, move.p, move.b
    lanes, length = plan.lanes, plan.length
    plan.place[move.i] = move.place
    if a == b:
        if q > p:
            shift(lanes, a, p + 1, q + 1, -1)
        else:
            shift(lanes, a, q, p, 1)
        put(scene, b, q, move.i, move.place)
        retime(scene, a, min(p, q), max(p, q))
        return
    shift(lanes, a, p + 1, length[a], -1)
    length[a] -= 1
    shift(lanes, b, q, length[b], 1)
    length[b] += 1
    put(scene, b, q, move.i, move.place)
    renew(scene, a, p)
    renew(scene, b, q)


@inlined
def renew(scene, m, first):
    """Bring a lane up to date from a position on."""
    plan = scene.plan
    if m < plan.length.size - 1:
        retime(scene, m, first, plan.length[m])
    else:
        for k in range(first, plan.length[m]):
            plan.position[plan.lanes.task[m, k]] = k


@kernel
def begin(scene, place, sequence):
    """Make the plan that runs each task at its place, in this sequence."""
    plan = scene.plan
    nowhere = plan.length.size - 1
    plan.length[:] = 0
    plan.totals[:] = 0.0
    for at in range(sequence.size):
        i = sequence[at]
        m = nowhere if place[i] == NOWHERE else scene.facts.machine[place[i]]
        plan.place[i] = place[i]
        put(scene, m, plan.length[m], i, place[i])
        plan.length[m] += 1
    for m in range(nowhere + 1):
        renew(scene, m, 0)
        for k in range(plan.length[m] if m < nowhere else 0):
            i = plan.lanes.task[m, k]
            plan.totals[WORTH] += plan.lanes.earned[m, k]
            if is_running(scene, i, m, k):
                plan.totals[SPENT] += energy_of(scene, i, place[i])


@kernel
def keep(scene):
    """Put the plan into the archive unless something there beats it; of a full archive what matters least goes."""
    archive, plan = scene.archive, scene.plan
    points, slot, n = archive.points, archive.slot, archive.n_kept[0]
    worth, spent_j = plan.totals[WORTH], plan.totals[SPENT]
    at = _n_cheaper(points, n, spent_j)
    if at > 0 and points[at - 1, WORTH] >= worth:
        return
    first = at - 1 if at > 0 and points[at - 1, SPENT] == spent_j else at
    last = first
    while last < n and points[last, WORTH] <= worth:
        last += 1
    if first == last and n == slot.size:
        least = _least_needed(points, n)
        _cut(archive, least, least + 1)
        first -= 1 if least < first else 0
        last, n = first, n - 1
    elif last > first + 1:
        _cut(archive, first + 1, last)
        n -= last - first - 1
    if first == last:
        free = slot[n]
        for k in range(n, first, -1):
            slot[k] = slot[k - 1]
            points[k, WORTH], points[k, SPENT] = points[k - 1, WORTH], points[k - 1, SPENT]
        slot[first] = free
        n += 1
    archive.n_kept[0] = n
    points[first, WORTH], points[first, SPENT] = worth, spent_j
    for i in range(plan.place.size):
        archive.genes[slot[first], 0, i] = plan.place[i]
        archive.genes[slot[first], 1, i] = plan.position[i]


@inlined
def _n_cheaper(points, n, spent_j):
    """How many kept points use no more energy than this."""
    low, high = 0, n
    while low < high:
        middle = (low + high) >> 1
        if points[middle, SPENT] <= spent_j:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _least_needed(points, n):
    """Which kept point, the ends aside, adds the least area."""
    least, least_area = 1, np.inf
    for k in range(1, n - 1):
        area = (points[k + 1, SPENT] - points[k, SPENT]) * (points[k, WORTH] - points[k - 1, WORTH])
        if area < least_area:
            least, least_area = k, area
    return least


@shared
def _cut(archive, first, last):
    """Take kept points first to last out; their slots are free again."""
    points, slot, n, width = archive.points, archive.slot, archive.n_kept[0], last - first
    for _ in range(width):
        freed = slot[first]
        for k in range(first, n - 1):
            slot[k] = slot[k + 1]
            points[k, WORTH], points[k, SPENT] = points[k + 1, WORTH], points[k + 1, SPENT]
        slot[n - 1] = freed
        n -= 1
    archive.n_kept[0] = n
