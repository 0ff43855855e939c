"""Timetables against lists of commitments that are gone through again for every question; and fig. 5 of Machovec."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from joulewise.kernels.jobs import pinned as pinned_kernels
from joulewise.kernels.jobs import timetable as timetable_kernels
from joulewise.kernels.jobs.pinned import Pins, new_pins
from joulewise.kernels.jobs.timetable import Book, new_book, room_for
from tests.twins.jobs.timetable import Commitments, NamedNodes

# Kernels carry no types; here they are called from code that does.
timetable: Any = timetable_kernels
pinned: Any = pinned_kernels

CAPACITY = (7, 4)
LATEST_S = 12.0

TAKE, FORGET, FIRST_FIT, FITS, FREE_AT, FREE_SECONDS = 0, 1, 2, 3, 4, 5


@numba.njit
def _ask(book: Any, kind: Any, r: Any, amount: Any, a: Any, b: Any) -> Any:
    """One question or change; kernels call each other, so all go through one door."""
    if kind == TAKE:
        timetable.take(book, r, amount, a, b)
    elif kind == FORGET:
        timetable.forget_before(book, r, a)
    elif kind == FIRST_FIT:
        return timetable.first_fit(book, r, amount, a, b)
    elif kind == FITS:
        return 1.0 if timetable.fits(book, r, amount, a, b) else 0.0
    elif kind == FREE_AT:
        return float(timetable.free_at(book, r, a))
    elif kind == FREE_SECONDS:
        return timetable.free_seconds(book, r, a, b)
    return 0.0


def ask(book: Book, kind: int, r: int, amount: int, a: float, b: float) -> float:
    return float(_ask(book, kind, r, amount, float(a), float(b)))


INSTANTS = st.integers(0, int(LATEST_S)).map(float)
ROWS = st.integers(0, len(CAPACITY) - 1)
COMMITMENTS = st.tuples(ROWS, st.integers(1, 4), INSTANTS, st.integers(1, 6).map(float))


def check_row(book: Book, r: int) -> None:
    """A row of a book as its docstring promises it."""
    n = book.size[r]
    time_s: NDArray[np.float64] = book.time_s[r, :n]
    assert time_s[0] == -math.inf
    assert (np.diff(time_s) > 0).all()
    assert (np.diff(book.free[r, :n]) != 0).all()


def compare(book: Book, twins: list[Commitments], from_s: float) -> None:
    for r, twin in enumerate(twins):
        check_row(book, r)
        for at_s in np.arange(from_s, LATEST_S + 8):
            assert ask(book, FREE_AT, r, 0, at_s, 0.0) == twin.free_at(at_s)
        for amount in range(1, CAPACITY[r] + 2):
            for duration_s in (0.5, 2.0, 5.0):
                found = ask(book, FIRST_FIT, r, amount, duration_s, from_s)
                assert found == twin.first_fit(amount, duration_s, from_s)
                assert ask(book, FITS, r, amount, from_s, from_s + duration_s) == twin.fits(
                    amount, from_s, from_s + duration_s
                )
        assert ask(book, FREE_SECONDS, r, 0, from_s, from_s + 9.5) == twin.free_seconds(from_s, from_s + 9.5)


@given(st.lists(COMMITMENTS, max_size=8), st.lists(st.integers(0, 7), max_size=4), INSTANTS, st.booleans())
def test_a_book_is_the_sum_of_its_commitments(
    commitments: list[tuple[int, int, float, float]], returned: list[int], now_s: float, forgets: bool
) -> None:
    book = new_book(np.array(CAPACITY), room_for(len(commitments)))
    twins = [Commitments(capacity) for capacity in CAPACITY]
    for r, amount, start_s, duration_s in commitments:
        ask(book, TAKE, r, amount, start_s, start_s + duration_s)
        twins[r].take(amount, start_s, start_s + duration_s)
    if forgets:
        for r in range(len(CAPACITY)):
            ask(book, FORGET, r, 0, now_s, 0.0)
    for at in {at for at in returned if at < len(commitments)}:  # each gives back what is left of it
        r, amount, start_s, duration_s = commitments[at]
        ask(book, TAKE, r, -amount, max(start_s, now_s), start_s + duration_s)
        twins[r].take(-amount, max(start_s, now_s), max(start_s + duration_s, now_s))
    compare(book, twins, now_s)


def test_what_is_taken_for_ever_never_fits_again() -> None:
    book = new_book(np.array([5]), room_for(2))
    ask(book, TAKE, 0, 3, 4.0, math.inf)
    assert ask(book, FIRST_FIT, 0, 3, 4.0, 0.0) == 0.0
    assert ask(book, FIRST_FIT, 0, 3, 4.5, 0.0) == math.inf
    assert ask(book, FIRST_FIT, 0, 2, 1e9, 3.0) == 3.0


@given(st.lists(COMMITMENTS, max_size=8))
def test_a_copy_is_equal_and_another(commitments: list[tuple[int, int, float, float]]) -> None:
    book, other = (new_book(np.array(CAPACITY), room_for(len(commitments) + 1)) for _ in range(2))
    twins = [Commitments(capacity) for capacity in CAPACITY]
    for r, amount, start_s, duration_s in commitments:
        ask(book, TAKE, r, amount, start_s, start_s + duration_s)
        twins[r].take(amount, start_s, start_s + duration_s)
    _copy(other, book)
    ask(book, TAKE, 0, 1, 0.0, 1.0)
    compare(other, twins, 0.0)
    assert other.version[0] == book.version[0] - 1


@numba.njit
def _copy(to: Any, of: Any) -> None:
    timetable.copy_book(to, of)


# Named nodes

FIRST_FIT_PINNED, PIN, UNPIN, PIN_NODE = 0, 1, 2, 3


@numba.njit
def _ask_pins(pins: Any, kind: Any, r: Any, i: Any, n: Any, a: Any, b: Any) -> Any:
    if kind == FIRST_FIT_PINNED:
        return pinned.first_fit_pinned(pins, r, n, a, b)
    if kind == PIN:
        return float(pinned.pin(pins, r, i, n, a, b))
    if kind == UNPIN:
        pinned.unpin(pins, i, a)
    else:
        pinned.pin_node(pins, i, n, a, b)
    return 0.0


def ask_pins(pins: Pins, kind: int, i: int, n: int, a: float, b: float, r: int = 1) -> float:
    return float(_ask_pins(pins, kind, r, i, n, float(a), float(b)))


def nodes_of(pins: Pins, i: int, r: int = 1) -> list[int]:
    """The nodes of a job, by their numbers in the cluster, in the order in which they were chosen."""
    found, at = [], int(pins.of_job[i])
    while at >= 0:
        found.append(int(pins.node[at] - pins.first_node[r]))
        at = int(pins.next_of_job[at])
    return found[::-1]


NEEDS = st.tuples(st.integers(1, 5), st.integers(1, 6).map(float), INSTANTS)


@pytest.mark.thorough("takes seconds; others look at less of it")
@given(st.lists(NEEDS, max_size=10), st.lists(st.integers(0, 9), max_size=5))
def test_named_nodes_are_those_of_the_plain_twin(needs: list[tuple[int, float, float]], gone: list[int]) -> None:
    pins, twin = new_pins(np.array([3, 5]), 10, 50), NamedNodes(5)
    for i, (nodes, duration_s, from_s) in enumerate(needs):
        start_s = ask_pins(pins, FIRST_FIT_PINNED, i, nodes, duration_s, from_s)
        assert start_s == twin.first_fit(nodes, duration_s, from_s)
        assert ask_pins(pins, PIN, i, nodes, start_s, start_s + duration_s) == nodes
        assert nodes_of(pins, i) == twin.pin(i, nodes, start_s, start_s + duration_s)
        if i in gone:
            ask_pins(pins, UNPIN, i - 1, 0, 0.0, 0.0)
            twin.unpin(i - 1, 0.0)


@given(st.lists(NEEDS, max_size=10), NEEDS)
def test_counting_never_starts_later_than_pinning_with_the_same_commitments(
    needs: list[tuple[int, float, float]], another: tuple[int, float, float]
) -> None:
    pins, book = new_pins(np.array([3, 5]), 10, 50), new_book(np.array([5]), room_for(len(needs)))
    for i, (nodes, duration_s, from_s) in enumerate(needs):
        start_s = ask_pins(pins, FIRST_FIT_PINNED, i, nodes, duration_s, from_s)
        assert ask(book, FIRST_FIT, 0, nodes, duration_s, from_s) <= start_s
        ask_pins(pins, PIN, i, nodes, start_s, start_s + duration_s)
        ask(book, TAKE, 0, nodes, start_s, start_s + duration_s)
    nodes, duration_s, from_s = another
    counted_s = ask(book, FIRST_FIT, 0, nodes, duration_s, from_s)
    assert counted_s <= ask_pins(pins, FIRST_FIT_PINNED, 0, nodes, duration_s, from_s)


def test_pinning_can_start_later_than_counting() -> None:
    pins, book = new_pins(np.array([0, 2]), 3, 5), new_book(np.array([2]), room_for(2))
    for i, (node, start_s, end_s) in enumerate(((0, 0.0, 5.0), (1, 5.0, 10.0))):
        ask_pins(pins, PIN_NODE, i, node, start_s, end_s)
        ask(book, TAKE, 0, 1, start_s, end_s)
    assert ask(book, FIRST_FIT, 0, 1, 10.0, 0.0) == 0.0
    assert ask_pins(pins, FIRST_FIT_PINNED, 2, 1, 10.0, 0.0) == 5.0


def test_figure_5() -> None:
    """Three of the four nodes that are free first: n6 and n5 by the voids they leave, then n3 for its smaller void."""
    pins = new_pins(np.array([0, 10]), 20, 40)
    before = {1: 6.0, 2: 7.0, 3: 3.0, 4: 2.0, 5: 4.0, 6: 4.0, 7: 6.0, 8: 8.0, 9: 7.0, 10: 9.0}
    after = {3: (7.0, 9.0), 4: (7.0, 9.0), 6: (6.0, 9.0)}
    for node, end_s in before.items():
        ask_pins(pins, PIN_NODE, node, node - 1, 0.0, end_s)
    for node, (start_s, end_s) in after.items():
        ask_pins(pins, PIN_NODE, node, node - 1, start_s, end_s)
    start_s = ask_pins(pins, FIRST_FIT_PINNED, 11, 3, 2.0, 0.0)
    assert start_s == 4.0
    ask_pins(pins, PIN, 11, 3, start_s, start_s + 2.0)
    assert [k + 1 for k in nodes_of(pins, 11)] == [6, 5, 3]
