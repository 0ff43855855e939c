"""Timetables: how much of each resource is free from when to when, and the earliest start of something that needs some.

Nodes of a cluster are counted, not named: intervals of which never more than N overlap can always be given N nodes
as they start, so with the same commitments a count never finds a later start than named nodes do.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined, shared


class Book(NamedTuple):
    """One row for each resource, such as the nodes of a cluster or, in whole milliwatts, the power that may be drawn.

    `free[r, j]` holds from `time_s[r, j]` to `time_s[r, j + 1]`, the last of the `size[r]` for ever. `time_s[r, 0]` is
    always minus infinity, and neighbours always differ in `free`. `version[r]` rises with every change of row r.
    """

    time_s: NDArray[np.float64]
    free: NDArray[np.int64]
    size: NDArray[np.int64]
    version: NDArray[np.int64]


def room_for(n_commitments: int) -> int:
    """How long the rows of a book must be to hold so many commitments of a resource at a time.

    A commitment counts until it is given back as a whole or all of it is forgotten.
    """
    return 2 * n_commitments + 2


def new_book(capacity: NDArray[np.int64], room: int) -> Book:
    """A book in which all of each resource is free for ever, with rows of length `room` (see room_for)."""
    n = capacity.size
    book = Book(np.empty((n, room)), np.empty((n, room), np.int64), np.ones(n, np.int64), np.zeros(n, np.int64))
    book.time_s[:, 0] = -math.inf
    book.free[:, 0] = capacity
    return book


@inlined
def segment_at(book, r, at_s):
    """The last j with time_s[r, j] <= at_s."""
    low, high = 0, book.size[r]
    while high - low > 1:
        middle = (low + high) // 2
        if book.time_s[r, middle] <= at_s:
            low = middle
        else:
            high = middle
    return low


@inlined
def free_at(book, r, at_s):
    """How much of resource r is free at an instant (and right after it)."""
    return book.free[r, segment_at(book, r, at_s)]


@shared
def first_fit(book, r, amount, duration_s, from_s):
    """The earliest start, not before `from_s`, of something that needs an amount for a duration; inf if there is none.

    Linear in the number of segments from `from_s` to the end of what is found.
    """
    size = book.size[r]
    j = segment_at(book, r, from_s)
    start_s = from_s
    while True:
        while book.free[r, j] < amount:
            j += 1
            if j == size:
                return math.inf
            start_s = book.time_s[r, j]
        end_s = start_s + duration_s
        while book.free[r, j] >= amount:
            j += 1
            if j == size or book.time_s[r, j] >= end_s:
                return start_s


@shared
def fits(book, r, amount, start_s, end_s):
    """Whether an amount of resource r is free all the time from start to end."""
    j = segment_at(book, r, start_s)
    while book.free[r, j] >= amount:
        j += 1
        if j == book.size[r] or book.time_s[r, j] >= end_s:
            return True
    return False


@inlined
def _insert(book, r, j, at_s):
    """Part segment j - 1 at an instant: segment j begins there, with as much free."""
    for k in range(book.size[r], j, -1):
        book.time_s[r, k] = book.time_s[r, k - 1]
        book.free[r, k] = book.free[r, k - 1]
    book.time_s[r, j] = at_s
    book.free[r, j] = book.free[r, j - 1]
    book.size[r] += 1


@inlined
def _join(book, r, j):
    """Join segment j to the one before it if they have as much free."""
    if book.free[r, j] == book.free[r, j - 1]:
        book.size[r] -= 1
        for k in range(j, book.size[r]):
            book.time_s[r, k] = book.time_s[r, k + 1]
            book.free[r, k] = book.free[r, k + 1]


@inlined
def _segment_from(book, r, at_s):
    """The segment that begins at an instant, parted from the one before it if need be."""
    j = segment_at(book, r, at_s)
    if book.time_s[r, j] < at_s:
        j += 1
        _insert(book, r, j, at_s)
    return j


@shared
def take(book, r, amount, start_s, end_s):
    """Commit an amount of resource r from start to end (infinite: for ever); whether it is free is not asked."""
    if amount == 0 or not start_s < end_s:
        return
    first = _segment_from(book, r, start_s)
    last = book.size[r] if end_s == math.inf else _segment_from(book, r, end_s)
    for j in range(first, last):
        book.free[r, j] -= amount
    if last < book.size[r]:
        _join(book, r, last)
    if first > 0:
        _join(book, r, first)
    book.version[r] += 1


@inlined
def give_back(book, r, amount, start_s, end_s):
    """Free an amount of resource r from start to end."""
    take(book, r, -amount, start_s, end_s)


@shared
def forget_before(book, r, now_s):
    """Drop what was before an instant, so that searches from then on begin at the front; answers stay as they were."""
    gone = segment_at(book, r, now_s)
    if gone > 0:
        book.size[r] -= gone
        for j in range(book.size[r]):
            book.time_s[r, j] = book.time_s[r, j + gone]
            book.free[r, j] = book.free[r, j + gone]
        book.time_s[r, 0] = -math.inf


@shared
def copy_book(to, of):
    """Make one book equal to another of the same shape; costs what is in use."""
    for r in range(of.size.size):
        for j in range(of.size[r]):
            to.time_s[r, j] = of.time_s[r, j]
            to.free[r, j] = of.free[r, j]
        to.size[r] = of.size[r]
        to.version[r] = of.version[r]


@shared
def free_seconds(book, r, start_s, end_s):
    """How much of resource r is free from start to end, in amounts x seconds."""
    total = 0.0
    for j in range(segment_at(book, r, start_s), book.size[r]):
        from_s = max(start_s, book.time_s[r, j])
        if from_s >= end_s:
            break
        to_s = end_s if j + 1 == book.size[r] else min(end_s, book.time_s[r, j + 1])
        total += book.free[r, j] * (to_s - from_s)
    return total
