"""Chromosomes of assignments: for each task its place and its number in the global order (Friese 5.4.4).

A child mostly does what one of its parents does: machine by machine, the first tasks are often the same, or all are.
Each chromosome therefore keeps what every machine does, sorted, and what it had done at every `STEP`-th task; a child
takes over what is the same and evaluates the rest. The result is that of evaluating all genes, to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.assignments.evaluation import (
    EARNED,
    ENERGY,
    FREE_S,
    NOWHERE,
    ORDER,
    PLACE,
    USED_J,
    UTILITY,
    AssignmentRoom,
    all_done,
    energy_at,
    room_to_evaluate,
    sort_by_order,
    turn,
)
from joulewise.kernels.draws import draw, high_below, low_below, share_of
from joulewise.kernels.jit import inlined, kernel, shared
from joulewise.kernels.records import record

STEP = 16
"""After how many tasks of a machine it is noted what it has done."""

_NOBODY = -1
_LAST_KEY = np.iinfo(np.int64).max
_32, _LOW = np.int64(32), np.int64(0xFFFFFFFF)


@record
class AssignmentPool(NamedTuple):
    """Chromosomes by row.

    The tasks of a machine are `sequence[row, first[row, machine] : first[row, machine + 1]]`. `done[row, machine]` is
    what it has done after all of them and `notes` what it had before every STEP-th: FREE_S, USED_J and EARNED.
    """

    genes: NDArray[np.int32]
    points: NDArray[np.float64]
    sequence: NDArray[np.int32]
    first: NDArray[np.int32]
    done: NDArray[np.float64]
    notes: NDArray[np.float64]


@record
class BreedingRoom(NamedTuple):
    """Work space of breeding.

    `differs[0]` says which machines have tasks inside the crossed segment of which the parents' genes differ,
    `differs[1]` those outside; `source` is the row of whom a machine of a child does the same as. `left` and `right`
    are keys of tasks that are to be merged.
    """

    sorting: AssignmentRoom
    differs: NDArray[np.bool_]
    source: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]


class Crossing(NamedTuple):
    """Where a child has its genes from: tasks `first` to `last` from the inner parent, the others from the outer one.

    Its tasks `task` and `other` were mutated then, or nobody.
    """

    outer: int
    inner: int
    first: int
    last: int
    task: int
    other: int


def pool_of(genes: NDArray[np.int32], n_machines: int) -> AssignmentPool:
    """A pool around genes `[kind of gene, row, task]`, of which nothing is evaluated yet."""
    _, n_rows, n_tasks = genes.shape
    return AssignmentPool(
        genes,
        np.zeros((n_rows, 2)),
        np.zeros((n_rows, n_tasks), np.int32),
        np.zeros((n_rows, n_machines + 1), np.int32),
        np.zeros((n_rows, n_machines, 3)),
        np.zeros((n_rows, n_tasks // STEP + n_machines, 3)),
    )


def room_to_breed(n_tasks: int, n_machines: int) -> BreedingRoom:
    """Work space for chromosomes of this many tasks and machines."""
    left, right = np.zeros((2, n_tasks + 1), np.int64)
    sorting = room_to_evaluate(n_tasks, n_machines)
    return BreedingRoom(sorting, np.zeros((2, n_machines), np.bool_), np.zeros(n_machines, np.int64), left, right)


# --- genes ------------------------------------------------------------------------------------------------


@kernel
def cross_and_mutate(state, facts, genes, parents, children, mutation):
    """Fill the children's rows: two by two, segments of two random parents swapped, then mutated at random.

    Genes are `[kind of gene, row, task]`. Nothing is evaluated.
    """
    for pair in range(children.size // 2):
        mother, father, first, last = _draw_crossing(state, parents, genes.shape[2])
        _cross(genes, mother, father, children[2 * pair], first, last)
        _cross(genes, father, mother, children[2 * pair + 1], first, last)
        _mutate(state, facts, genes, children[2 * pair], mutation)
        _mutate(state, facts, genes, children[2 * pair + 1], mutation)


@inlined
def _draw_crossing(state, parents, n):
    """Two different parents, each pair as likely as any other, and the first and last task of the segment."""
    bits = draw(state)
    mother, father = high_below(bits, parents.size), low_below(bits, parents.size - 1)
    bits = draw(state)
    one, other = high_below(bits, n), low_below(bits, n)
    return parents[mother], parents[father + (father >= mother)], min(one, other), max(one, other)


@inlined
def _cross(genes, outer, inner, child, first, last):
    """The child has the genes of one parent from first to last, and those of the other outside."""
    for kind in range(genes.shape[0]):
        _copy(genes[kind, outer], genes[kind, child], 0, first)
        _copy(genes[kind, inner], genes[kind, child], first, last + 1)
        _copy(genes[kind, outer], genes[kind, child], last + 1, genes.shape[2])


@inlined
def _copy(source, target, begin, end):
    for at in range(begin, end):
        target[at] = source[at]


@inlined
def _mutate(state, facts, genes, row, mutation):
    """At random, give a task another place that can run it, and swap its order with that of a random task.

    Returns both tasks, or NOBODY twice.
    """
    if share_of(draw(state)) >= mutation:
        return _NOBODY, _NOBODY
    n, bits = genes.shape[2], draw(state)
    task, other = high_below(bits, n), high_below(draw(state), n)
    kind = facts.tasks.task_type[task]
    genes[PLACE, row, task] = facts.allowed[kind, low_below(bits, facts.n_allowed[kind])]
    order = genes[ORDER, row]
    order[task], order[other] = order[other], order[task]
    return task, other


# --- all of a chromosome ----------------------------------------------------------------------------------


@kernel
def evaluate_pool(facts, pool, room, n_rows):
    """Evaluate the first rows from all of their genes."""
    for row in range(n_rows):
        _list_tasks(facts, pool, room.sorting, row)
        for machine in range(pool.done.shape[1]):
            _run(facts, pool, row, machine, 0, 0.0, 0.0, 0.0)
        _set_point(pool, row)


@inlined
def _list_tasks(facts, pool, room, row):
    """Fill `sequence` and `first`; where the list of each machine ends so far is kept in `first` meanwhile."""
    place, first = pool.genes[PLACE, row], pool.first[row]
    sort_by_order(pool.genes[ORDER, row], room)
    first[:] = 0
    for i in range(place.size):
        if place[i] != NOWHERE:
            first[facts.machine[place[i]] + 1] += 1
    for machine in range(1, first.size):
        first[machine] += first[machine - 1]
    for at in range(place.size):
        i = room.sequence[at]
        if place[i] != NOWHERE:
            machine = facts.machine[place[i]]
            pool.sequence[row, first[machine]] = i
            first[machine] += 1
    for machine in range(first.size - 1, 0, -1):
        first[machine] = first[machine - 1]
    first[0] = 0


@shared
def _run(facts, pool, row, machine, begin, free_s, used_j, earned):
    """Run the tasks of a machine from one on, a multiple of STEP, and note what has been done."""
    place = pool.genes[PLACE, row]
    sequence, n = pool.sequence[row, pool.first[row, machine] :], _n_tasks(pool, row, machine)
    notes = pool.notes[row, _first_note(pool, row, machine) :]
    for at in range(begin, n):
        if at % STEP == 0:
            note = notes[at // STEP]
            note[FREE_S], note[USED_J], note[EARNED] = free_s, used_j, earned
        i = sequence[at]
        _, end_s, utility = turn(facts, i, place[i], free_s)
        if utility >= facts.drop_below:
            free_s = end_s
            used_j += energy_at(facts, i, place[i])
            earned += utility
    done = pool.done[row, machine]
    done[FREE_S], done[USED_J], done[EARNED] = free_s, used_j, earned


@inlined
def _n_tasks(pool, row, machine):
    return pool.first[row, machine + 1] - pool.first[row, machine]


@inlined
def _first_note(pool, row, machine):
    """Where the notes of a machine begin; those of machines before it, of any number of tasks, have room."""
    return pool.first[row, machine] // STEP + machine


@inlined
def _set_point(pool, row):
    energy_j, utility = all_done(pool.done[row])
    pool.points[row, ENERGY], pool.points[row, UTILITY] = energy_j, -utility


# --- children ---------------------------------------------------------------------------------------------


@kernel
def breed_assignments(state, facts, pool, room, parents, children, mutation):
    """Fill the children's rows as `cross_and_mutate` does, and evaluate them."""
    genes = pool.genes
    for pair in range(children.size // 2):
        mother, father, first, last = _draw_crossing(state, parents, genes.shape[2])
        _compare(facts, genes, room.differs, mother, father, first, last)
        daughter, son = children[2 * pair], children[2 * pair + 1]
        _cross(genes, mother, father, daughter, first, last)
        _cross(genes, father, mother, son, first, last)
        task, other = _mutate(state, facts, genes, daughter, mutation)
        _evaluate_child(facts, pool, room, daughter, Crossing(mother, father, first, last, task, other))
        task, other = _mutate(state, facts, genes, son, mutation)
        _evaluate_child(facts, pool, room, son, Crossing(father, mother, first, last, task, other))


@inlined
def _compare(facts, genes, differs, mother, father, first, last):
    """Find the machines that have tasks of which the parents' genes differ, inside the segment and outside."""
    differs[:] = False
    for i in range(genes.shape[2]):
        hers, his = genes[PLACE, mother, i], genes[PLACE, father, i]
        if hers != his or genes[ORDER, mother, i] != genes[ORDER, father, i]:
            is_outside = np.int64(i < first or i > last)
            if hers != NOWHERE:
                differs[is_outside, facts.machine[hers]] = True
            if his != NOWHERE:
                differs[is_outside, facts.machine[his]] = True


@shared
def _evaluate_child(facts, pool, room, child, crossing):
    """List and run the tasks of a child of two parents."""
    _find_sources(facts, pool, room, child, crossing)
    for machine in range(room.source.size):
        if room.source[machine] != _NOBODY:
            _inherit(pool, room.source[machine], child, machine)
        else:
            _merge(facts, pool, room, child, crossing, machine)
            _run_on(facts, pool, child, crossing.outer, crossing.inner, machine)
    _set_point(pool, child)


@inlined
def _find_sources(facts, pool, room, child, crossing):
    """Find for each machine the parent that does the same, or NOBODY."""
    outer, inner, task = crossing.outer, crossing.inner, crossing.task
    for machine in range(room.source.size):
        if not room.differs[0, machine]:
            room.source[machine] = outer
        elif not room.differs[1, machine]:
            room.source[machine] = inner
        else:
            room.source[machine] = _NOBODY
    if task != _NOBODY:
        before = pool.genes[PLACE, inner if crossing.first <= task <= crossing.last else outer, task]
        for place in (before, pool.genes[PLACE, child, task], pool.genes[PLACE, child, crossing.other]):
            if place != NOWHERE:
                room.source[facts.machine[place]] = _NOBODY


@inlined
def _inherit(pool, source, child, machine):
    """Take over all that a machine does."""
    theirs, own = pool.first[source, machine], pool.first[child, machine]
    n = _n_tasks(pool, source, machine)
    pool.first[child, machine + 1] = own + n
    for at in range(n):
        pool.sequence[child, own + at] = pool.sequence[source, theirs + at]
    _copy_notes(pool, source, child, machine, (n + STEP - 1) // STEP)
    for column in range(3):
        pool.done[child, machine, column] = pool.done[source, machine, column]


@inlined
def _copy_notes(pool, source, child, machine, n):
    theirs, own = _first_note(pool, source, machine), _first_note(pool, child, machine)
    for at in range(n):
        for column in range(3):
            pool.notes[child, own + at, column] = pool.notes[source, theirs + at, column]


@inlined
def _merge(facts, pool, room, child, crossing, machine):
    """List the tasks of a machine: those of each parent's list that are the child's, and those mutated."""
    order, sequence = pool.genes[ORDER, child], pool.sequence[child, pool.first[child, machine] :]
    n_left = _pick(pool, crossing.outer, machine, order, room.left, crossing, False)
    n_right = _pick(pool, crossing.inner, machine, order, room.right, crossing, True)
    a, b = 0, 0
    for at in range(n_left + n_right):
        left, right = room.left[a], room.right[b]
        is_left = left < right
        sequence[at] = (left if is_left else right) & _LOW
        a += is_left
        b += not is_left
    n = n_left + n_right
    if crossing.task != _NOBODY:
        n += _insert(facts, pool, child, machine, crossing.task, n)
        if crossing.other != crossing.task:
            n += _insert(facts, pool, child, machine, crossing.other, n)
    pool.first[child, machine + 1] = pool.first[child, machine] + n


@inlined
def _pick(pool, row, machine, order, keys, crossing, is_inside):
    """The keys (order, task) of those in a list whose genes the child has from this parent; returns how many."""
    n = 0
    for at in range(pool.first[row, machine], pool.first[row, machine + 1]):
        i = pool.sequence[row, at]
        keys[n] = (np.int64(order[i]) << _32) | np.int64(i)
        is_theirs = (crossing.first <= i <= crossing.last) == is_inside
        n += is_theirs & (i != crossing.task) & (i != crossing.other)
    keys[n] = _LAST_KEY
    return n


@inlined
def _insert(facts, pool, row, machine, i, n):
    """Put a task into a machine's list of n, if it is the machine's; returns how many more there are."""
    place, order = pool.genes[PLACE, row, i], pool.genes[ORDER, row]
    if place == NOWHERE or facts.machine[place] != machine:
        return 0
    sequence, at = pool.sequence[row, pool.first[row, machine] :], n
    while at > 0 and _goes_before(order, i, sequence[at - 1]):
        sequence[at] = sequence[at - 1]
        at -= 1
    sequence[at] = i
    return 1


@inlined
def _goes_before(order, i, j):
    return order[i] < order[j] or (order[i] == order[j] and i < j)


@inlined
def _run_on(facts, pool, child, outer, inner, machine):
    """Run a machine's tasks from the last note of a parent up to which nothing has changed."""
    n_outer, n_inner = _n_same(pool, outer, child, machine), _n_same(pool, inner, child, machine)
    source, n_same = (outer, n_outer) if n_outer >= n_inner else (inner, n_inner)
    at = max(min(n_same, _n_tasks(pool, source, machine) - 1), 0) // STEP
    if at == 0:
        _run(facts, pool, child, machine, 0, 0.0, 0.0, 0.0)
    else:
        _copy_notes(pool, source, child, machine, at)
        note = pool.notes[source, _first_note(pool, source, machine) + at]
        _run(facts, pool, child, machine, at * STEP, note[FREE_S], note[USED_J], note[EARNED])


@inlined
def _n_same(pool, source, child, machine):
    """How many of a machine's first tasks are the same, at the same places."""
    theirs, own = (
        pool.sequence[source, pool.first[source, machine] :],
        pool.sequence[child, pool.first[child, machine] :],
    )
    places, own_places = pool.genes[PLACE, source], pool.genes[PLACE, child]
    most, n = min(_n_tasks(pool, source, machine), _n_tasks(pool, child, machine)), 0
    while n < most and theirs[n] == own[n] and places[own[n]] == own_places[own[n]]:
        n += 1
    return n
