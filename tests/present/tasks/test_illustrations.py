"""Drawings of worlds of tasks."""

from __future__ import annotations

from typing import Any

import pytest

from joulewise.present.export import spec_of
from joulewise.present.page import Illustration
from joulewise.present.tasks.illustrations import ILLUSTRATIONS
from joulewise.study import catalogue
from tests.strategies.vega import is_vega_lite


def _drawn(name: str) -> dict[str, Any]:
    illustration = next(found for found in ILLUSTRATIONS if found.name == name)
    return spec_of(illustration.draw(catalogue.ILLUSTRATIONS.study()).chart)


def _rows(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for rows in spec["datasets"].values() for row in rows]


@pytest.mark.parametrize("illustration", ILLUSTRATIONS, ids=lambda found: found.name)
def test_every_illustration_can_be_drawn(illustration: Illustration) -> None:
    drawing = illustration.draw(catalogue.ILLUSTRATIONS.study())
    assert is_vega_lite(spec_of(drawing.chart))
    assert drawing.caption.endswith(".")
    assert illustration.title


@pytest.mark.parametrize(
    ("name", "titles"),
    [
        ("fig-2.1", ("time since arrival (min)", "utility")),
        ("fig-2.3", ("planned time after the event (min)",)),
        ("fig-f.1", ("time since the start of the warm-up (h)", "arrival rate (tasks/h)")),
        ("fig-f.3", ("time since the start of the warm-up (h)", "tasks that arrive in a minute")),
    ],
)
def test_axes_say_what_they_show_in_which_unit(name: str, titles: tuple[str, ...]) -> None:
    text = str(_drawn(name))
    assert all(f"'title': '{title}'" in text for title in titles)


def test_every_interval_has_its_name_and_no_line_stands_at_the_arrival() -> None:
    tables = [rows for rows in _drawn("fig-2.2")["datasets"].values() if "middle" in rows[0]]
    borders, named = sorted(tables, key=len)
    assert [row["name"] for row in named] == [f"t{i}" for i in range(1, 7)]
    assert [row["at"] for row in borders] == [row["at"] for row in named][1:]


def test_tasks_that_moved_or_are_new_stand_out_at_the_later_event() -> None:
    rows = [row for row in _rows(_drawn("fig-2.3")) if "slot" in row]
    tasks = {row["task"] for row in rows if row["moved"]}
    assert tasks
    unmoved = {(row["task"], row["machine"]) for row in rows if not row["moved"]}
    assert {(row["task"], row["machine"]) for row in rows if row["moved"]}.isdisjoint(unmoved)
