"""Questions are answered in processes that end when they take too long or too much."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from joulewise.errors import InputError
from joulewise.serve import desk as desks
from joulewise.serve.desk import BusyError, Desk
from tests.strategies.asked_of_desk import compile_for, fail, refuse
from tests.strategies.served import HereDesk


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk(seconds=0.8, memory_bytes=3e8, n_workers=1)
    yield made
    made.close()


def test_a_solve_that_takes_too_long_or_too_much_is_ended_and_says_so(desk: Desk) -> None:
    first = desk.solve(os.getpid)
    assert first != os.getpid()
    with pytest.raises(InputError, match=r"took more than 800 ms and was ended"):
        desk.solve(time.sleep, 60)
    assert desk.solve(os.getpid) == first  # which was kept
    assert desk.solve(os.getppid) == os.getpid()  # a new worker answers
    with pytest.raises(InputError, match="memory"):
        desk.solve(np.ones, 10**9)
    with pytest.raises(InputError, match="ended the process"):
        desk.solve(os._exit, 1)
    with pytest.raises(InputError, match="cap: found -1"):
        desk.solve(refuse)
    with pytest.raises(RuntimeError, match="ValueError: a fault"):
        desk.solve(fail)


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_what_is_compiled_for_a_question_does_not_count(desk: Desk) -> None:
    assert desk.solve(compile_for, 1.5) == "compiled"
    with pytest.raises(InputError, match=r"took more than 800 ms"):
        desk.solve(compile_for, 0.1, 60.0)


class Counting(HereDesk):
    """Counts how often something is solved, and waits for a sign before it is."""

    def __init__(self) -> None:
        super().__init__()
        self.n = 0
        self.sign = threading.Event()

    def _by_worker(self, question: bytes) -> object:
        self.n += 1
        self.sign.wait(30)
        return super()._by_worker(question)


def test_the_same_question_in_flight_is_answered_once() -> None:
    desk = Counting()
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(desk.solve(abs, -3))) for _ in range(6)]
    for thread in threads:
        thread.start()
    desk.sign.set()
    for thread in threads:
        thread.join()
    assert (found, desk.n) == ([3] * 6, 1)
    assert desk.solve(abs, -3) == 3
    assert desk.n == 1


def test_what_failed_is_asked_again() -> None:
    desk = Counting()
    desk.sign.set()
    for _ in range(2):
        with pytest.raises(InputError):
            desk.solve(refuse)
    assert desk.n == 2


def test_too_many_questions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desks, "MOST_WAITING", 1)
    desk = Counting()
    thread = threading.Thread(target=desk.solve, args=(abs, -1))
    thread.start()
    while not desk.n:
        time.sleep(0.001)
    with pytest.raises(BusyError, match="too much"):
        desk.solve(abs, -2)
    desk.sign.set()
    thread.join()


def test_few_answers_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desks, "MOST_KEPT", 2)
    desk = Counting()
    desk.sign.set()
    assert [desk.solve(abs, -number) for number in (1, 2, 3, 3, 1)] == [1, 2, 3, 3, 1]
    assert desk.n == 4
