"""What pages can be asked by their addresses."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.serve.asking import Choice, Flag, Number, Text, asked

WISHES = (
    Choice("kind", "Kind", options={"a": "first", "b": "second"}),
    Number("cap", "Cap", "", 1.0, 9.0, 0.5, 3.0, "kW"),
    Flag("all", "All"),
    Text("q", "Search"),
)


def problems(*query: tuple[str, str]) -> list[str]:
    with pytest.raises(InputError) as caught:
        asked(WISHES, query)
    return [str(problem) for problem in caught.value.problems]


def test_what_is_not_asked_is_as_usual() -> None:
    found = asked(WISHES, [])
    assert [found[wish.key] for wish in WISHES] == ["a", 3.0, False, ""]
    assert found.query() == "?"


def test_every_problem_is_told_at_once() -> None:
    told = problems(("kind", "c"), ("cap", "12"), ("all", "maybe"), ("capp", "1"))
    assert len(told) == 4
    assert "must be a number from 1 to 9 kW" in told[1]
    assert "did you mean 'cap'?" in told[3]


@pytest.mark.parametrize("text", ["nan", "inf", "-1", "1e9", "seven", "٣x"])
def test_numbers_are_numbers_in_their_range(text: str) -> None:
    assert "cap: found" in problems(("cap", text))[0]


def test_the_ends_of_a_slider_are_taken_as_they_are_written() -> None:
    wish = Number("price", "Price", "", 0.1 + 0.2, 0.7 + 0.1 + 0.1, 0.1, 0.5)
    for end in (wish.low, wish.high):
        assert asked((wish,), [("price", wish.written(end))])["price"] == pytest.approx(end)


def test_what_is_whole_has_no_fractions() -> None:
    wish = Number("n", "Machines", "", 0, 9, 1, 3, is_whole=True)
    with pytest.raises(InputError, match="must be a whole number from 0 to 9"):
        asked((wish,), [("n", "2.5")])


def test_a_key_stands_once_and_values_are_short() -> None:
    assert "stands twice" in problems(("cap", "2"), ("cap", "3"))[0]
    assert "may have 200" in problems(("q", "x" * 201))[0]


def test_a_page_without_keys_says_so() -> None:
    with pytest.raises(InputError, match="takes no keys"):
        asked((), [("q", "x")])


@pytest.mark.thorough("takes seconds; others look at less of it")
@given(st.sampled_from("ab"), st.floats(1, 9), st.booleans(), st.text(max_size=20))
def test_a_query_says_what_was_asked(kind: str, cap: float, every: bool, text: str) -> None:
    told = asked(WISHES, []).query(kind=kind, cap=cap, all=every, q=text)
    again = asked(WISHES, parse_qsl(told[1:], keep_blank_values=True))
    assert (again["kind"], again["all"], again["q"]) == (kind, every, text)
    assert again["cap"] == pytest.approx(cap, rel=1e-11)
