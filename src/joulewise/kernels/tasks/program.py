"""The linear program of a bag: groups of tasks are spread over a few common rows, machine types and energy.

Each group's tasks are spread over its columns, or left out where that is allowed. What they take of each row stays
within the row's limit, which may grow with one common variable, the *stretch*. The simplex method keeps one
column of each group as its *key*, whose amount follows from the others; so its basis has one column per row only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.linear import (
    COMMON,
    ENDLESS,
    INEXACT,
    NOTHING,
    SLACK,
    SOLVED,
    UNBOUNDED,
    Basis,
    add,
    exchange,
    multiply,
    new_basis,
    refactor,
    start_from_slacks,
    swap_key,
)
from joulewise.kernels.records import record

LEFT = -1
TOLERANCE = 1e-9
DRIFT = 1e-7
"""How far amounts and prices may be off, as a part of what they are made of, before the inverse is made afresh."""

MOST_PIVOTS = 20
"""For each group and row: far more than any bag needs, so that no rounding can make it run without end."""


@record
class Program(NamedTuple):
    """A program and its basis. Rows are the machine types, and energy last; group g has columns first[g] to
    first[g + 1].

    `n` counts the tasks of each group. One by column c costs `cost[c]`, takes `take_s[c]` of row `row[c]` and
    `take_j[c]` of the last; `is_usable[c]` says whether it may be taken. Row r holds `limit[r]`, and `slope[r]` more
    for each unit of stretch, the common variable, which costs `stretch_cost[0]`. Of the basis, keys and columns may be
    LEFT: tasks that are left out. `key_amount` is how much there is of each key, `price` what a unit of each row is
    worth, as a cost: 0 or less at the optimum. `status[0]` is SOLVED, or why a solution was first given up.
    """

    first: NDArray[np.int64]
    row: NDArray[np.int64]
    take_s: NDArray[np.float64]
    take_j: NDArray[np.float64]
    cost: NDArray[np.float64]
    is_usable: NDArray[np.bool_]
    n: NDArray[np.float64]
    limit: NDArray[np.float64]
    slope: NDArray[np.float64]
    stretch_cost: NDArray[np.float64]
    basis: Basis
    key_amount: NDArray[np.float64]
    key_rate: NDArray[np.float64]
    price: NDArray[np.float64]
    entering: NDArray[np.float64]
    direction: NDArray[np.float64]
    status: NDArray[np.int64]


def new_program(
    first: NDArray[np.int64],
    row: NDArray[np.int64],
    take_s: NDArray[np.float64],
    take_j: NDArray[np.float64],
    n_rows: int,
) -> Program:
    """A program without tasks, costs and limits yet; all columns may be used."""
    n_groups, n_columns = first.size - 1, row.size
    return Program(
        first, row, take_s, take_j, np.zeros(n_columns), np.ones(n_columns, np.bool_),
        np.zeros(n_groups), np.zeros(n_rows), np.zeros(n_rows), np.zeros(1),
        new_basis(n_groups, n_rows, LEFT), np.zeros(n_groups), np.zeros(n_groups), np.zeros(n_rows), np.zeros(n_rows),
        np.zeros(n_rows), np.full(1, SOLVED, np.int64),
    )  # fmt: skip


@inlined
def take(program, taken, column, by):
    """Add what some tasks of a column take of each row."""
    if column != LEFT:
        taken[program.row[column]] += by * program.take_s[column]
        taken[program.limit.size - 1] += by * program.take_j[column]


@inlined
def fill_column(program, taken, group, column):
    """What a unit of a column takes of each row: a slack, the stretch, or a task that leaves its key for a column."""
    taken[:] = 0.0
    if group == SLACK:
        taken[column] = 1.0
    elif group == COMMON:
        add(taken, -1.0, program.slope)
    else:
        take(program, taken, column, 1.0)
        take(program, taken, program.basis.key[group], -1.0)


@inlined
def cost_of(program, column):
    return 0.0 if column == LEFT else program.cost[column]


@inlined
def basic_cost(program, r):
    """What a unit of the column that stands in a row costs."""
    basis = program.basis
    if basis.group[r] >= 0:
        return cost_of(program, basis.column[r]) - cost_of(program, basis.key[basis.group[r]])
    return program.stretch_cost[0] if basis.group[r] == COMMON else 0.0


@inlined
def net_cost(program, column):
    """What a task of a column costs less what its room is worth."""
    if column == LEFT:
        return 0.0
    room = program.price[program.row[column]] * program.take_s[column]
    return program.cost[column] - room - program.price[program.limit.size - 1] * program.take_j[column]


@shared
def start_basis(program):
    """The basis of the keys alone: slack everywhere, and the stretch that they need."""
    amount = program.basis.amount
    start_from_slacks(program.basis)
    find_amounts(program)
    tightest, most = NOTHING, 0.0
    for r in range(amount.size):
        if amount[r] < 0.0 and -amount[r] > most * program.slope[r]:
            tightest, most = r, -amount[r] / program.slope[r]
    if tightest != NOTHING:
        for r in range(amount.size):
            program.direction[r] = -program.slope[r]
        pivot(program, tightest, COMMON, LEFT)


@inlined
def fill_limits(program):
    """Write what the keys leave of each row to the entering column's place."""
    for r in range(program.limit.size):
        program.entering[r] = program.limit[r]
    for g in range(program.n.size):
        take(program, program.entering, program.basis.key[g], -program.n[g])


@shared
def find_amounts(program):
    """How much there is of each basic column, and of each key."""
    basis = program.basis
    fill_limits(program)
    multiply(basis.inverse, program.entering, basis.amount)
    for g in range(program.n.size):
        program.key_amount[g] = program.n[g]
    for r in range(basis.amount.size):
        if basis.group[r] >= 0:
            program.key_amount[basis.group[r]] -= basis.amount[r]


@shared
def find_prices(program):
    """What a unit of each row is worth at this basis."""
    program.price[:] = 0.0
    for r in range(program.limit.size):
        cost = basic_cost(program, r)
        if cost != 0.0:
            add(program.price, cost, program.basis.inverse[r])


@shared
def best_common(program):
    """The slack, or the stretch, that lowers the cost most by the unit: (by how much, group, column)."""
    best, group, column = 0.0, NOTHING, LEFT
    stretched = program.stretch_cost[0]
    for r in range(program.limit.size):
        best = min(best, -TOLERANCE * abs(program.price[r]))
        stretched += program.price[r] * program.slope[r]
    for r in range(program.limit.size):
        if -program.price[r] < best:
            best, group, column = -program.price[r], SLACK, r
    if stretched < best - TOLERANCE * program.stretch_cost[0]:
        best, group, column = stretched, COMMON, LEFT
    return best, group, column


@shared
def best_column(program, may_leave):
    """The column that lowers the cost most by the unit, as (group, column); (NOTHING, LEFT) at the optimum."""
    best, group, column = best_common(program)
    for g in range(program.n.size):
        if program.n[g] > 0.0:
            now = net_cost(program, program.basis.key[g])
            least = best - TOLERANCE * abs(now)
            if may_leave and -now < least:
                best, group, column = -now, g, LEFT
                least = best
            for c in range(program.first[g], program.first[g + 1]):
                if program.is_usable[c]:
                    change = net_cost(program, c) - now
                    if change < least:
                        best, group, column = change, g, c
                        least = best
    return group, column


@shared
def find_direction(program, group, column):
    """How fast basic columns and keys shrink as a column enters."""
    basis = program.basis
    fill_column(program, program.entering, group, column)
    program.key_rate[:] = 0.0
    if group >= 0:
        program.key_rate[group] = 1.0
    multiply(basis.inverse, program.entering, program.direction)
    for r in range(basis.amount.size):
        if basis.group[r] >= 0:
            program.key_rate[basis.group[r]] -= program.direction[r]


@shared
def first_to_vanish(program):
    """What vanishes first as the column enters: (row, NOTHING), (NOTHING, group of the key), or neither."""
    row, key, least, amount = NOTHING, NOTHING, np.inf, program.basis.amount
    for r in range(amount.size):
        if program.direction[r] > TOLERANCE and max(amount[r], 0.0) < least * program.direction[r]:
            row, least = r, max(amount[r], 0.0) / program.direction[r]
    for g in range(program.n.size):
        if program.key_rate[g] > TOLERANCE and max(program.key_amount[g], 0.0) < least * program.key_rate[g]:
            row, key, least = NOTHING, g, max(program.key_amount[g], 0.0) / program.key_rate[g]
    return row, key


@shared
def give_up_key(program, g):
    """Make the basic column of a group that has most tasks its key; returns the key's row then, or NOTHING."""
    basis, row = program.basis, NOTHING
    for r in range(basis.amount.size):
        if basis.group[r] == g and (row == NOTHING or basis.amount[r] > basis.amount[row]):
            row = r
    if row != NOTHING:
        swap_key(basis, g, row)
    return row


@shared
def pivot(program, row, group, column):
    """Let a column, of the direction found, take a row's place in the basis."""
    inverse = program.basis.inverse
    for s in range(program.direction.size):
        inverse[row, s] /= program.direction[row]
    exchange(program.basis, row, program.direction, group, column)


@shared
def can_go_on_from(program):
    """Whether the basis as it was left holds with the numbers of tasks and the limits as they are now."""
    basis = program.basis
    find_amounts(program)
    for r in range(basis.amount.size):
        is_column = basis.group[r] >= 0 and basis.column[r] != LEFT
        is_out = is_column and not program.is_usable[basis.column[r]]
        if basis.amount[r] < 0.0 or basis.group[r] == COMMON or is_out:
            return False
    for g in range(program.n.size):
        if program.key_amount[g] < 0.0:
            return False
    return True


@shared
def are_amounts_exact(program):
    """Whether the amounts fill the rows, and none is below 0, but for rounding; the columns are then in `matrix`."""
    basis, off, largest, lowest = program.basis, program.entering, 0.0, 0.0
    fill_limits(program)
    for p in range(off.size):
        largest = max(largest, abs(off[p]))
    for p in range(off.size):
        fill_column(program, basis.matrix[p], basis.group[p], basis.column[p])
        for r in range(off.size):
            off[r] -= basis.amount[p] * basis.matrix[p, r]
            size = abs(basis.matrix[p, r])
            largest, lowest = max(largest, abs(basis.amount[p]) * size), min(lowest, basis.amount[p] * size)
    return is_small(off, largest) and -lowest <= DRIFT * largest and are_keys_filled(program)


@inlined
def are_keys_filled(program):
    """Whether no key has fewer than no tasks, but for rounding."""
    least = -DRIFT * program.n.sum()
    for g in range(program.n.size):
        if not program.key_amount[g] >= least:
            return False
    return True


@inlined
def is_small(off, largest):
    """Whether all errors are rounding of numbers as large as that."""
    for r in range(off.size):
        if not abs(off[r]) <= DRIFT * largest:
            return False
    return largest < np.inf


@shared
def are_prices_exact(program):
    """Whether every basic column costs just what its room is worth, but for rounding; its columns are in `matrix`."""
    basis, off, largest = program.basis, program.entering, 0.0
    for p in range(off.size):
        off[p] = basic_cost(program, p)
        largest = max(largest, abs(off[p]))
        for r in range(off.size):
            part = program.price[r] * basis.matrix[p, r]
            off[p] -= part
            largest = max(largest, abs(part))
    return is_small(off, largest)


@shared
def renew(program):
    """Make the inverse afresh from the columns of the basis, or from its keys alone where these no longer hold."""
    basis = program.basis
    for p in range(basis.amount.size):
        fill_column(program, basis.matrix[p], basis.group[p], basis.column[p])
    if not refactor(basis):
        start_basis(program)
        return
    find_amounts(program)
    if not are_amounts_exact(program):
        start_basis(program)


@shared
def improve(program, may_leave):
    """Make one step towards the optimum: (whether it could be made, SOLVED or else what stands in its way)."""
    group, column = best_column(program, may_leave)
    if group == NOTHING:
        return False, SOLVED if are_amounts_exact(program) and are_prices_exact(program) else INEXACT
    find_direction(program, group, column)
    row, key = first_to_vanish(program)
    if key != NOTHING:
        row = give_up_key(program, key)
        if row == NOTHING:
            program.basis.key[key] = column
            return True, SOLVED
        find_direction(program, group, column)
    if row == NOTHING:
        return False, UNBOUNDED
    pivot(program, row, group, column)
    return True, SOLVED


@shared
def solve_program(program, may_leave):
    """Find the spread of least cost, starting from the basis if it holds, or else from its keys; returns SOLVED, or
    why it was given up.

    Rows that the keys overfill must have a slope. With `may_leave` tasks may be left out. What is not exact is tried
    once more with the inverse made afresh.
    """
    if not can_go_on_from(program):
        start_basis(program)
    is_fresh = False
    for _ in range(MOST_PIVOTS * (program.n.size + program.limit.size)):
        find_amounts(program)
        find_prices(program)
        is_improved, status = improve(program, may_leave)
        if is_improved:
            is_fresh = False
        elif status == SOLVED:
            return SOLVED
        elif is_fresh:
            return give_up(program, status)
        else:
            renew(program)
            is_fresh = True
    return give_up(program, ENDLESS)


@inlined
def give_up(program, status):
    """Note why a solution was given up, unless one was before."""
    if program.status[0] == SOLVED:
        program.status[0] = status
    return status
