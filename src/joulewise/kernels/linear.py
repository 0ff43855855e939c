"""The simplex method for groups of columns with few rows in common: what every such solver does with its basis.

All of a group is spread over its columns, which take their part of the common rows; one *common* variable may widen
the rows. One column of each group is its *key*: its amount is what the others leave over. So a basis has one column
for each common row only: a slack, the common variable, or a column of a group, measured against the group's key.

Every exchange of columns adds a little rounding to the inverse. A solver says how far it may be off, has it made afresh
from the columns then, and ends with a code of `REASONS` where that does not help.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.records import record

SLACK, COMMON, NOTHING = -1, -2, -3
"""What stands in `Basis.group` for a column that is no group's; NOTHING: no column, row or group at all."""

SOLVED, INEXACT, SINGULAR, UNBOUNDED, ENDLESS, UNPROVEN = range(6)
REASONS = {
    INEXACT: "rounding grew until amounts or prices no longer fitted the rows",
    SINGULAR: "the columns of its basis can no longer be told apart",
    UNBOUNDED: "a column could enter for ever",
    ENDLESS: "it took more steps than any such program needs",
    UNPROVEN: "its prices do not prove that nothing is cheaper",
}
"""Why a solver gave up, by the code that it ends with."""


@record
class Basis(NamedTuple):
    """The key of each group; by row the column in the basis and how much there is of it; and the inverse.

    Row r of `matrix` is room for the coefficients of the column that stands in row r.
    """

    key: NDArray[np.int64]
    group: NDArray[np.int64]
    column: NDArray[np.int64]
    amount: NDArray[np.float64]
    inverse: NDArray[np.float64]
    matrix: NDArray[np.float64]


def new_basis(n_groups: int, n_rows: int, key: int = 0) -> Basis:
    """A basis of slacks alone, all groups having the same key."""
    return Basis(
        np.full(n_groups, key, np.int64), np.full(n_rows, SLACK, np.int64), np.arange(n_rows, dtype=np.int64),
        np.zeros(n_rows), np.eye(n_rows), np.zeros((n_rows, n_rows)),
    )  # fmt: skip


@inlined
def add(row, factor, other):
    """Add a multiple of another row to a row."""
    for j in range(row.size):
        row[j] += factor * other[j]


@inlined
def scale(row, factor):
    """Multiply a row."""
    for j in range(row.size):
        row[j] *= factor


@inlined
def multiply(matrix, vector, product):
    """Write the product of a matrix and a vector."""
    for p in range(product.size):
        total = 0.0
        for j in range(vector.size):
            total += matrix[p, j] * vector[j]
        product[p] = total


@inlined
def clear(matrix, row, rate):
    """Take a row off all others, from each as often as its rate says."""
    for p in range(matrix.shape[0]):
        if p != row and rate[p] != 0.0:
            add(matrix[p], -rate[p], matrix[row])


@inlined
def start_from_slacks(basis):
    """Put the slack of every row into the basis."""
    basis.inverse[:, :] = 0.0
    for r in range(basis.amount.size):
        basis.group[r], basis.column[r] = SLACK, r
        basis.inverse[r, r] = 1.0


@inlined
def exchange(basis, row, rate, group, column):
    """Let a column take a row's place, whose row of the inverse is divided by its rate already.

    `rate` is by how much each basic column shrinks for a unit of the entering one.
    """
    clear(basis.inverse, row, rate)
    basis.group[row], basis.column[row] = group, column


@shared
def swap_key(basis, group, row):
    """Let a group's column that stands in a row become its key, and the key stand in that row."""
    total = basis.matrix[0]
    total[:] = 0.0
    basis.key[group], basis.column[row] = basis.column[row], basis.key[group]
    for r in range(total.size):
        if basis.group[r] == group:
            add(total, 1.0, basis.inverse[r])
    for s in range(total.size):
        basis.inverse[row, s] = -total[s]


@shared
def refactor(basis):
    """Make the inverse afresh from `matrix`, which is used up; returns whether there is one."""
    matrix, inverse = basis.matrix, basis.inverse
    n = basis.amount.size
    inverse[:, :] = 0.0
    for p in range(n):
        inverse[p, p] = 1.0
    for j in range(n):  # rows of `matrix` are columns of the system: what results is the transposed inverse
        best = j
        for p in range(j + 1, n):
            if abs(matrix[p, j]) > abs(matrix[best, j]):
                best = p
        swap_rows(matrix, best, j)
        swap_rows(inverse, best, j)
        if not abs(matrix[j, j]) > 0.0:
            return False
        clear_column(matrix, inverse, j)
    for p in range(n):
        for q in range(p):
            inverse[p, q], inverse[q, p] = inverse[q, p], inverse[p, q]
    return True


@inlined
def swap_rows(matrix, p, q):
    if p != q:
        for j in range(matrix.shape[1]):
            matrix[p, j], matrix[q, j] = matrix[q, j], matrix[p, j]


@inlined
def clear_column(matrix, inverse, j):
    """Divide row j so that its j-th entry is 1, and take it off all other rows so that theirs are 0."""
    divisor = matrix[j, j]
    scale(matrix[j], 1.0 / divisor)
    scale(inverse[j], 1.0 / divisor)
    for p in range(matrix.shape[0]):
        factor = matrix[p, j]
        if p != j and factor != 0.0:
            add(matrix[p], -factor, matrix[j])
            add(inverse[p], -factor, inverse[j])
