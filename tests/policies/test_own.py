"""A user's own policy in plain Python: what it may answer, and what ends its run."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from joulewise.errors import InputError
from joulewise.policies.own import Answer, Asking, Own, shortened

COLUMNS = ("task", "machine", "pstate")


@pytest.mark.parametrize(
    "returned",
    [
        ([3, 4], [0, 1], 0),
        (np.array([3.0, 4.0]), np.array([0, 1]), [0, 0]),
        np.array([[3, 0, 0], [4, 1, 0]]),
        [(3, 0, 0), (4, 1, 0)],
        [[3, 0, 0.0], [4.0, 1, 0]],
    ],
    ids=str,
)
def test_answers_are_columns_or_rows(returned: Any) -> None:
    assert Answer("here", returned).rows(COLUMNS).tolist() == [[3, 0, 0], [4, 1, 0]]


@pytest.mark.parametrize("returned", [None, [], (), np.empty((0, 3)), ([], [], [])], ids=str)
def test_no_assignments(returned: Any) -> None:
    assert Answer("here", returned).rows(COLUMNS).shape == (0, 3)


@pytest.mark.parametrize(
    "returned",
    ["text", 7, {1, 2}, {"task": 1}, [[1, 2]], np.zeros((2, 2, 3)), ([1, 2], [1, 2, 3], 0), [[1, 0, 0], [1]], [None]],
    ids=str,
)
def test_other_shapes_are_refused_with_what_was_returned(returned: Any) -> None:
    with pytest.raises(InputError, match=r"here: returned .*; must be None, 3 columns or an array with 3 columns"):
        Answer("here", returned).rows(COLUMNS)


@pytest.mark.parametrize("number", [math.nan, math.inf, 0.5, 1e300])
def test_numbers_that_are_not_whole_are_refused(number: float) -> None:
    with pytest.raises(InputError, match="must be whole numbers"):
        Answer("here", [[0, number, 0]]).rows(COLUMNS)


def test_what_is_shown_is_short_and_one_line() -> None:
    assert len(shortened("<b>\n" * 1000)) < 200
    assert "\n" not in shortened(np.arange(1000).reshape(500, 2))


# Asking


def asked(code: Callable[..., Any], n: int = 1, time_limit_s: float = 60.0) -> list[Any]:
    asking = Asking(Own(code, time_limit_s))
    with asking.begun(SimpleNamespace(size=2)):
        return [asking.ask(number, f"event {number}").returned for number in range(n)]


def raises(event: int) -> None:
    raise KeyError("what")


def leaves(event: int) -> None:
    sys.exit(3)


def gives_up(event: int) -> None:
    raise GeneratorExit


def loops(event: int) -> None:
    while True:
        pass


def holds_on(event: int) -> None:
    for _ in range(2):
        with suppress(BaseException):
            loops(event)


class Counts:
    """Counts its events from what it finds in the world."""

    def start(self, world: Any) -> None:
        self.n: int = world.size

    def decide(self, event: int) -> int:
        self.n += 1
        return self.n


def test_a_class_has_an_instance_for_each_run() -> None:
    assert asked(Counts, 3) == asked(Counts, 3) == [3, 4, 5]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (raises, r"policy raises, event 0: raised KeyError: 'what' \(test_own.py, line \d+\); fix the policy"),
        (leaves, r"policy leaves, event 0: raised SystemExit: 3 \(test_own.py, line \d+\)"),
        (gives_up, r"policy gives_up, event 0: raised GeneratorExit"),
    ],
)
def test_what_is_raised_is_told_with_its_event_and_line(code: Callable[..., Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        asked(code)


@pytest.mark.parametrize("code", [loops, holds_on])
def test_what_never_returns_is_ended(code: Callable[..., Any]) -> None:
    with pytest.raises(InputError, match=f"policy {code.__name__}, event 0: the run was not over after"):
        asked(code, time_limit_s=0.05)
    time.sleep(0.01)  # nothing is raised later


def test_what_is_printed_is_told_and_kept_out_of_the_output(capsys: pytest.CaptureFixture[str]) -> None:
    def prints(event: int) -> None:
        print("<b>hello\x1b[31m\n" * 2)  # noqa: T201 - what is tested

    with pytest.warns(UserWarning, match=r"policy prints printed: .*hello.* \(and 1 more lines\)"):
        asked(prints)
    assert capsys.readouterr() == ("", "")
