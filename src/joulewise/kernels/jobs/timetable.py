"""Timetables: how much of each resource is free from when to when, and the earliest start of something that needs some.

Nodes of a cluster are counted, not named: intervals of which never more than N overlap can always be given N nodes
as they start, so with the same commitments a count never finds a later start than named nodes do. Where nodes are named
ahead, the book has `pins` beside it, and whatever takes nodes pins them too.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined, shared
from joulewise.kernels.jobs.pinned import NO_PINS, Pins, first_fit_pinned
from joulewise.kernels.records import record


@record
class Book(NamedTuple):
    """One row for each resource, such as the nodes of a cluster or, in whole milliwatts, the power that may be drawn.

    `free[r, j]` holds from `time_s[r, j]` to `time_s[r, j + 1]`, the last of the `size[r]` for ever. `time_s[r, 0]` is
    always minus infinity, and neighbours always differ in `free`. `version[r]` rises with every change of row r.
    """

    time_s: NDArray[np.float64]
    free: NDArray[np.int64]
    size: NDArray[np.int64]
    version: NDArray[np.int64]
    pins: Pins


def room_for(n_commitments: int) -> int:
    """How long the rows of a book must be to hold this many commitments of a resource at a time.

    A commitment counts until it is given back as a whole or all of it is forgotten.
    """
    return 2 * n_commitments + 2


def new_book(capacity: NDArray[np.int64], room: int) -> Book:
    """A book in which all of each resource is free for ever, with rows of length `room` (see room_for)."""
    n = capacity.size
    book = Book(
        np.empty((n, room)), np.empty((n, room), np.int64), np.ones(n, np.int64), np.zeros(n, np.int64), NO_PINS
    )  # fmt: skip
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
def first_nodes(book, r, nodes, duration_s, from_s):
    """The earliest start, not before `from_s`, with this many nodes of cluster r, the same ones all the time if pinned.

    A count never finds a later start than pins, so that these are asked from there on.
    """
    start_s = first_fit(book, r, nodes, duration_s, from_s)
    return first_fit_pinned(book.pins, r, nodes, duration_s, start_s) if book.pins.is_used else start_s


@inlined
def _move(book, r, first, last, by):
    """Move the segments from first up to last by this many places."""
    if by > 0:
        for j in range(last - 1, first - 1, -1):
            book.time_s[r, j + by] = book.time_s[r, j]
        for j in range(last - 1, first - 1, -1):
            book.free[r, j + by] = book.free[r, j]
    elif by < 0:
        for j in range(first, last):
            book.time_s[r, j + by] = book.time_s[r, j]
        for j in range(first, last):
            book.free[r, j + by] = book.free[r, j]


@inlined
def _last_before(book, r, j, at_s):
    """The last segment from j on, which begins before an instant, that does so too."""
    while j + 1 < book.size[r] and book.time_s[r, j + 1] < at_s:
        j += 1
    return j


@inlined
def _segments_added(book, r, amount, first, last, start_s, end_s):
    """By how many segments a commitment parts what it begins in, and what it ends in: 1, 0, or -1 where it joins two.

    It begins in the first and ends in the last segment.
    """
    at_start, at_end = 0, 0
    if book.time_s[r, first] < start_s:
        at_start = 1
    elif first > 0 and book.free[r, first - 1] == book.free[r, first] - amount:
        at_start = -1
    if last + 1 < book.size[r] and book.time_s[r, last + 1] == end_s:
        if book.free[r, last + 1] == book.free[r, last] - amount:
            at_end = -1
    elif end_s < math.inf:
        at_end = 1
    return at_start, at_end


@shared
def take(book, r, amount, start_s, end_s):
    """Commit an amount of resource r from start to end (infinite: for ever); whether it is free is not asked.

    Everything behind the commitment moves at most once. Costs nothing where there is nothing to take.
    """
    if amount == 0 or not start_s < end_s:
        return
    size, first = book.size[r], segment_at(book, r, start_s)
    last = _last_before(book, r, first, end_s)
    at_start, at_end = _segments_added(book, r, amount, first, last, start_s, end_s)
    behind, added = book.free[r, last], at_start + at_end
    if added > 0:
        _move(book, r, last + 1, size, added)
    if at_start > 0:
        _move(book, r, first, last + 1, 1)
        book.time_s[r, first + 1] = start_s
    elif at_start < 0:
        _move(book, r, first + 1, last + 1, -1)
    for j in range(first + max(at_start, 0), last + 1 + at_start):
        book.free[r, j] -= amount
    if at_end > 0:
        book.time_s[r, last + 1 + at_start] = end_s
        book.free[r, last + 1 + at_start] = behind
    if added < 0:
        _move(book, r, last + 2 if at_end < 0 else last + 1, size, added)
    book.size[r] = size + added
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
    """Make one book equal to another of the same shape, but for its pins; costs what is in use."""
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
