"""Objects show themselves: in a line without arrays, in HTML without markup of theirs, in figures, and as tables."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from types import ModuleType
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import joulewise as jw
from joulewise.errors import InputError
from joulewise.looks.look import Look, whole
from joulewise.looks.tasks import LOOKS
from joulewise.model.bag import Bag
from joulewise.optimise.bags.bound import bound_front
from joulewise.visible import Visible, look_of
from tests.strategies.shown import HOSTILE, outcome_of, shown
from tests.strategies.vega import is_vega_lite

DRAWN = (
    "Workload", "World", "Outcome", "Day", "Jobs", "JobWorld", "JobOutcome", "BagFront", "Front", "FuzzyFront",
    "Advice", "FacilityWhatIf", "Evolution", "WhatIf", "Results",
)  # fmt: skip


def all_classes(of: type[Any] = Visible) -> Iterator[type[Any]]:
    for each in of.__subclasses__():
        yield each
        yield from all_classes(each)


def test_an_object_of_each_class_is_tried_but_for_those_that_others_are_made_from() -> None:
    made = {kind for each in shown().values() for kind in type(each).__mro__}
    assert {each.__name__ for each in all_classes() if each.__module__.startswith("joulewise.")} == {
        kind.__name__ for kind in made if issubclass(kind, Visible) and kind is not Visible
    }


def test_every_object_is_one_short_line() -> None:
    lines = {name: repr(each) for name, each in shown().items()}
    assert [line for name, line in lines.items() if not line.startswith(f"<{name}: ")] == []
    assert [line for line in lines.values() if len(line) > 200 or "array(" in line or not line.isprintable()] == []


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_names_are_text_and_never_markup() -> None:
    pages = {name: each._repr_html_() for name, each in shown().items()}
    assert [name for name, page in pages.items() if HOSTILE.split(">")[0] in page] == []
    tags = {tag for page in pages.values() for tag in re.findall(r"<(\w+)", page)}
    assert tags == {"div", "table", "caption", "tbody", "tr", "th", "td", "figure", "img", "p", "code"}
    sources = {source for page in pages.values() for source in re.findall(r'src="([^"]+?),', page)}
    assert sources == {"data:image/svg+xml;base64"}
    assert sorted(name for name, page in pages.items() if "<img" in page) == sorted(DRAWN)


def test_names_end_no_script_of_a_page_that_shows_a_chart() -> None:
    outcome = outcome_of()
    for ending in ("</script><script>alert(1)</script>", "<!--<script>"):
        assert ending not in jw.plot({ending: outcome, "b": outcome}).to_html()


@pytest.mark.parametrize("name", DRAWN)
def test_figures_are_charts_of_altair(name: str) -> None:
    chart = shown()[name].plot()
    assert is_vega_lite(chart.to_dict(validate=False))
    assert chart.description


def test_everything_is_tables() -> None:
    for each in shown().values():
        tables = each.to_polars()
        named = tables if isinstance(tables, dict) else {"": tables}
        assert named
        assert all(table.width for table in named.values())


def test_what_cannot_be_drawn_still_has_its_key_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_named: Any, _bound: Any) -> Any:
        raise ValueError("no picture")

    outcome = outcome_of()
    monkeypatch.setitem(LOOKS, "Outcome", Look("x", lambda _: {"a": "1"}, dict, fail))
    page = outcome._repr_html_()
    assert "<img" not in page
    assert ">1</td>" in page


def test_looking_never_fails() -> None:
    look = Look("t", lambda _: {"a": str(1 / 0)}, dict)
    assert look.line(shown()["System"]) == "<System: >"
    assert "<table" in look.html(shown()["System"])


def test_numbers_are_told_as_people_read_them() -> None:
    assert [whole(value) for value in (1234.5, 7.0, 0.1234, math.nan, math.inf)] == [
        "1,234",
        "7",
        "0.123",
        "nan",
        "inf",
    ]


def test_figures_that_are_not_there_are_named_with_those_that_are() -> None:
    assert outcome_of("JobOutcome").figures()[0] == "clusters-over-time"
    with pytest.raises(InputError, match=r"found 'gant'; must be one of .*; did you mean 'gantt'"):
        outcome_of("JobOutcome").plot("gant")
    with pytest.raises(InputError, match="nothing to draw of this System; to_polars"):
        shown()["System"].plot()


def test_several_are_drawn_beside_each_other_and_beside_a_bound() -> None:
    outcome, bound = outcome_of(), shown()["PriceBound"]
    chart = jw.plot({HOSTILE: outcome, "other": outcome}, "utility-by-policy", bound)
    assert is_vega_lite(chart.to_dict(validate=False))
    assert "proven bound" in chart.to_json(validate=False)
    assert "trivial bound" in outcome.plot().to_json(validate=False)
    assert jw.plot(outcome).to_dict(validate=False) == outcome.plot().to_dict(validate=False)


@pytest.mark.parametrize(
    ("name", "stranger", "said"),
    [
        ("Outcome", "JobBound", "found a JobBound; must be a PriceBound"),
        ("JobOutcome", "System", "found a System; must be a JobBound"),
        ("World", "PriceBound", "found a PriceBound; these are drawn beside no bound"),
    ],
)
def test_a_bound_must_be_of_what_is_drawn(name: str, stranger: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        shown()[name].plot(bound=shown()[stranger])


def test_a_figure_that_shows_no_bound_says_so() -> None:
    outcome, bound = outcome_of(), shown()["PriceBound"]
    with pytest.warns(UserWarning, match="the figure task-gantt shows no bound"):
        outcome.plot("task-gantt", bound)


def test_a_bound_must_be_of_the_same_bag() -> None:
    bag = shown()["Bag"]
    assert isinstance(bag, Bag)
    with pytest.raises(InputError, match="bag"):
        shown()["BagFront"].plot(bound=bound_front(replace(bag, counts=bag.counts + 1)))


def test_worlds_are_not_drawn_together() -> None:
    with pytest.raises(InputError, match="nothing to draw of several World together; to_polars"):
        jw.plot({"a": shown()["World"], "b": shown()["World"]})


@given(st.text(), st.text(min_size=1))
def test_whatever_is_told_is_text(name: str, value: str) -> None:
    page, told = Look("t", lambda _: {name: value}, dict).html(shown()["System"]), Told()
    told.feed(page)
    told.close()
    assert told.tags == ["div", "table", "caption", "tbody", "tr", "th", "td"]
    assert "".join(told.texts).split() == f"t {name} {value}".split()


class Told(HTMLParser):
    """The tags and the texts of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, _attributes: Any) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(f" {data}")


@pytest.mark.parametrize("strangers", [{}, {"a": 1}, {"a": outcome_of, "b": 2}])
def test_only_objects_of_one_kind_are_drawn_together(strangers: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="must be one object, or objects of one kind by name"):
        jw.plot(strangers)
    with pytest.raises(InputError, match="found Outcome, System"):
        jw.plot({"a": shown()["System"], "b": outcome_of()})


def test_pandas_is_used_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    bound = shown()["BoundFront"]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        InputError, match=r"pandas is not installed; install it \(pip install pandas\), or use to_polars"
    ):
        bound.to_pandas()
    pandas = ModuleType("pandas")
    pandas.DataFrame = dict  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    table = bound.to_polars()
    assert isinstance(table, pl.DataFrame)
    assert bound.to_pandas()["energy_j"].tolist() == table["energy_j"].to_list()
    assert set(shown()["Bag"].to_pandas()) == {"etc_s", "machines", "power_w", "bag"}


def test_a_subclass_has_the_look_of_what_it_is_made_from() -> None:
    assert look_of(shown()["Proven"]).title == "A plan that was found"
    assert look_of(shown()["Front"]).title == "A front of two objectives"
    assert look_of(shown()["BagFront"]).title == "A front of makespan and energy"
