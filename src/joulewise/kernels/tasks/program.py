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
from joulewise.kernels.records import record

LEFT = -1
SLACK, STRETCH, NOTHING = -1, -2, -3
TOLERANCE = 1e-9
MOST_PIVOTS = 20
"""For each group and row: far more than any bag needs, so that no rounding can make it go on for ever."""


@record
class Program(NamedTuple):
    """A program and its basis. Rows are the machine types, and energy last; group g has columns first[g] to
    first[g + 1].

    `n` counts the tasks of each group. One by column c costs `cost[c]`, takes `take_s[c]` of row `row[c]` and
    `take_j[c]` of the last; `is_usable[c]` says whether it may be taken. Row r holds `limit[r]`, and `slope[r]` more
    for each unit of stretch, which costs `stretch_cost[0]`. `key` is by group (LEFT: its tasks are left out); `group`
    and `column` are by row what is in the basis: SLACK with its row, STRETCH, or a group with a column. `amount` and
    `key_amount` are how much there is of each, `price` what a unit of each row is worth, as a cost: 0 or less at the
    optimum.
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
    key: NDArray[np.int64]
    key_amount: NDArray[np.float64]
    key_rate: NDArray[np.float64]
    group: NDArray[np.int64]
    column: NDArray[np.int64]
    amount: NDArray[np.float64]
    price: NDArray[np.float64]
    entering: NDArray[np.float64]
    direction: NDArray[np.float64]
    inverse: NDArray[np.float64]


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
        np.full(n_groups, LEFT, np.int64), np.zeros(n_groups), np.zeros(n_groups),
        np.full(n_rows, SLACK, np.int64), np.arange(n_rows, dtype=np.int64), np.zeros(n_rows), np.zeros(n_rows),
        np.zeros(n_rows), np.zeros(n_rows), np.eye(n_rows),
    )  # fmt: skip


@inlined
def enter(program, column, by):
    """Add what some tasks of a column take to the entering ones."""
    if column != LEFT:
        program.entering[program.row[column]] += by * program.take_s[column]
        program.entering[program.limit.size - 1] += by * program.take_j[column]


@inlined
def cost_of(program, column):
    return 0.0 if column == LEFT else program.cost[column]


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
    n_rows = program.limit.size
    program.inverse[:] = 0.0
    for r in range(n_rows):
        program.group[r], program.column[r] = SLACK, r
        program.inverse[r, r] = 1.0
    find_amounts(program)
    tightest, most = NOTHING, 0.0
    for r in range(n_rows):
        if program.amount[r] < 0.0 and -program.amount[r] > most * program.slope[r]:
            tightest, most = r, -program.amount[r] / program.slope[r]
    if tightest != NOTHING:
        for r in range(n_rows):
            program.direction[r] = -program.slope[r]
        pivot(program, tightest, STRETCH, LEFT)


@shared
def find_amounts(program):
    """How much there is of each basic column, and of each key."""
    n_rows = program.limit.size
    for r in range(n_rows):
        program.entering[r] = program.limit[r]
    for g in range(program.n.size):
        enter(program, program.key[g], -program.n[g])
        program.key_amount[g] = program.n[g]
    for r in range(n_rows):
        program.amount[r] = 0.0
        for s in range(n_rows):
            program.amount[r] += program.inverse[r, s] * program.entering[s]
        if program.group[r] >= 0:
            program.key_amount[program.group[r]] -= program.amount[r]


@shared
def find_prices(program):
    """What a unit of each row is worth at this basis."""
    n_rows = program.limit.size
    program.price[:] = 0.0
    for r in range(n_rows):
        cost = 0.0
        if program.group[r] >= 0:
            cost = cost_of(program, program.column[r]) - cost_of(program, program.key[program.group[r]])
        elif program.group[r] == STRETCH:
            cost = program.stretch_cost[0]
        if cost != 0.0:
            for s in range(n_rows):
                program.price[s] += cost * program.inverse[r, s]


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
        best, group, column = stretched, STRETCH, LEFT
    return best, group, column


@shared
def best_column(program, may_leave):
    """The column that lowers the cost most by the unit, as (group, column); (NOTHING, LEFT) at the optimum."""
    best, group, column = best_common(program)
    for g in range(program.n.size):
        if program.n[g] > 0.0:
            now = net_cost(program, program.key[g])
            least = best - TOLERANCE * abs(now)
            if may_leave and -now < least:
                best, group, column = -now, g, LEFT
                least = best
            for c in range(program.first[g], program.first[g + 1]):
                if program.is_usable[c]:
                    found = net_cost(program, c) - now
                    if found < least:
                        best, group, column = found, g, c
                        least = best
    return group, column


@shared
def find_direction(program, group, column):
    """How fast basic columns and keys shrink as a column enters."""
    n_rows = program.limit.size
    program.entering[:] = 0.0
    program.key_rate[:] = 0.0
    if group == SLACK:
        program.entering[column] = 1.0
    elif group == STRETCH:
        for r in range(n_rows):
            program.entering[r] = -program.slope[r]
    else:
        enter(program, column, 1.0)
        enter(program, program.key[group], -1.0)
        program.key_rate[group] = 1.0
    for r in range(n_rows):
        program.direction[r] = 0.0
        for s in range(n_rows):
            program.direction[r] += program.inverse[r, s] * program.entering[s]
        if program.group[r] >= 0:
            program.key_rate[program.group[r]] -= program.direction[r]


@shared
def first_to_vanish(program):
    """Who vanishes first as the column enters: (row, NOTHING), (NOTHING, group of the key), or nobody."""
    row, key, least = NOTHING, NOTHING, np.inf
    for r in range(program.limit.size):
        if program.direction[r] > TOLERANCE and max(program.amount[r], 0.0) < least * program.direction[r]:
            row, least = r, max(program.amount[r], 0.0) / program.direction[r]
    for g in range(program.n.size):
        if program.key_rate[g] > TOLERANCE and max(program.key_amount[g], 0.0) < least * program.key_rate[g]:
            row, key, least = NOTHING, g, max(program.key_amount[g], 0.0) / program.key_rate[g]
    return row, key


@shared
def swap_key(program, g):
    """Make a basic column of a group its key, and the key basic in its place; returns the row, or NOTHING."""
    n_rows, row = program.limit.size, NOTHING
    for r in range(n_rows):
        if program.group[r] == g and (row == NOTHING or program.amount[r] > program.amount[row]):
            row = r
    if row == NOTHING:
        return row
    program.key[g], program.column[row] = program.column[row], program.key[g]
    for s in range(n_rows):
        total = 0.0
        for r in range(n_rows):
            if program.group[r] == g:
                total += program.inverse[r, s]
        program.inverse[row, s] = -total
    return row


@shared
def pivot(program, row, group, column):
    """Let a column, of the direction found, take a row's place in the basis."""
    n_rows = program.limit.size
    for s in range(n_rows):
        program.inverse[row, s] /= program.direction[row]
    for r in range(n_rows):
        if r != row and program.direction[r] != 0.0:
            for s in range(n_rows):
                program.inverse[r, s] -= program.direction[r] * program.inverse[row, s]
    program.group[row], program.column[row] = group, column


@shared
def can_go_on_from(program):
    """Whether the basis as it was left holds with the numbers of tasks and the limits as they are now."""
    find_amounts(program)
    for r in range(program.limit.size):
        is_column = program.group[r] >= 0 and program.column[r] != LEFT
        is_out = is_column and not program.is_usable[program.column[r]]
        if program.amount[r] < 0.0 or program.group[r] == STRETCH or is_out:
            return False
    for g in range(program.n.size):
        if program.key_amount[g] < 0.0:
            return False
    return True


@shared
def solve_program(program, may_leave):
    """Find the spread of least cost, starting from the basis if it holds, or else from its keys; returns the number of
    pivots.

    Rows that the keys overfill must have a slope. With `may_leave` tasks may be left out.
    """
    most = MOST_PIVOTS * (program.n.size + program.limit.size)
    if not can_go_on_from(program):
        start_basis(program)
    for n_pivots in range(most):
        find_amounts(program)
        find_prices(program)
        group, column = best_column(program, may_leave)
        if group == NOTHING:
            return n_pivots
        find_direction(program, group, column)
        row, key = first_to_vanish(program)
        if key != NOTHING:
            row = swap_key(program, key)
            if row == NOTHING:
                program.key[key] = column
                continue
            find_direction(program, group, column)
        if row == NOTHING:
            return n_pivots
        pivot(program, row, group, column)
    find_amounts(program)
    find_prices(program)
    return most
