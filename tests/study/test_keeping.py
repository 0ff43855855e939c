"""Worlds that a process keeps between the checks of a study and its runs."""

from __future__ import annotations

import pytest

from joulewise.study.kinds.keeping import MOST_WORLDS, forget_worlds, kept_world
from joulewise.study.kinds.systems import all_kinds

MANAGED, UTILITY = (all_kinds()[name] for name in ("managed", "utility"))


@pytest.fixture(autouse=True)
def _empty() -> None:
    forget_worlds()


def test_two_kinds_make_worlds_of_their_own_of_the_same_sections() -> None:
    assert kept_world(MANAGED, "key", lambda: "a day") == "a day"
    assert kept_world(UTILITY, "key", lambda: "a problem") == "a problem"
    assert kept_world(MANAGED, "key", lambda: "another") == "a day"


def test_the_first_world_stays_and_the_last_gives_its_place() -> None:
    for number in range(MOST_WORLDS + 1):
        kept_world(MANAGED, str(number), lambda: "first")
    again = [kept_world(MANAGED, str(number), lambda: "again") for number in (0, MOST_WORLDS, 1)]
    assert again == ["first", "first", "again"]


def test_what_changed_while_it_was_read_is_not_kept() -> None:
    kept_world(MANAGED, "key", lambda: "half", is_still=lambda: False)
    assert kept_world(MANAGED, "key", lambda: "whole") == "whole"
