"""From parameter classes to sections of a study file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from pydantic import Field

from joulewise.errors import Problem, raise_if_any
from joulewise.study.spec.parameters import key_of, kind_of, list_depths, read
from joulewise.worlds.parameters import explained


@dataclass(frozen=True)
class Oven:
    """Parameters of every kind."""

    heat_w: Annotated[float, Field(gt=0)]
    time_s: float = explained(60.0, "how long")
    cake_j: float | None = explained(None, "energy in the cake")
    trays: int = explained(2, "number of trays")
    mode: Literal["top", "bottom"] = explained("top", "where it is hot")
    shelves: tuple[float, ...] = explained((1.0,), "heights")
    table: tuple[tuple[float, ...], ...] | None = explained(None, "a matrix")
    fan: bool = explained(False, "whether it blows")

    def __post_init__(self) -> None:
        raise_if_any([Problem("oven.trays", "found 13", "is bad luck")] if self.trays == 13 else [])


def problems(raw: dict[str, object]) -> list[str]:
    return [str(problem) for problem in read(Oven, raw, lambda key: f"oven.{key}")[1]]


def test_quantities_are_read_with_units_and_kept_in_si() -> None:
    oven, found = read(Oven, {"heat": "2 kW", "time": "1.5 h", "cake": "3 MJ", "table": [[1, 2], [3]]}, str)
    assert found == []
    assert oven == Oven(2000.0, 5400.0, 3e6, table=((1.0, 2.0), (3.0,)))


def test_keys_and_kinds_are_told_from_names_and_types() -> None:
    assert (key_of("heat_w", float), key_of("etc_s", str)) == ("heat", "etc_s")
    assert kind_of("cake_j", float | None) == "energy"
    assert kind_of("shelves", tuple[float, ...]) == "list of numbers"
    assert kind_of("table", tuple[tuple[int, ...], ...] | None) == "list of lists of whole numbers"
    assert kind_of("mode", Literal["top", "bottom"]) == '"top" or "bottom"'


@pytest.mark.parametrize(
    ("hint", "depths"), [(float, {0}), (tuple[int, ...] | None, {1}), (str | tuple[tuple[float, ...], ...], {0, 2})]
)
def test_the_depth_of_one_value_follows_from_its_type(hint: object, depths: set[int]) -> None:
    assert list_depths(hint) == depths


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        ({}, "oven.heat: missing; must be given: power"),
        ({"heat": 3}, "oven.heat: found 3 without a unit; must be a power in quotes, for example \"66 W\""),
        ({"heat": "3 s"}, "oven.heat: found the unit 's' in '3 s'; must be a number and a unit (mW, W, kW, MW, GW)"),
        ({"heat": "-3 W"}, "oven.heat: found '-3 W'; must be above 0 W"),
        ({"heat": "3 W", "trays": 1.5}, "oven.trays: found 1.5; must be a whole number"),
        ({"heat": "3 W", "trays": True}, "oven.trays: found true; must be a whole number"),
        ({"heat": "3 W", "trays": "2"}, "oven.trays: found '2'; must be a whole number"),
        ({"heat": "3 W", "fan": 1}, "oven.fan: found 1; must be true or false"),
        ({"heat": "3 W", "shelves": [1.0, float("nan")]}, "oven.shelves[1]: found nan; must be a finite number"),
        ({"heat": "3 W", "shelves": 1.0}, "oven.shelves: found 1.0; must be a list"),
        ({"heat": "3 W", "mode": "topp"}, "oven.mode: found 'topp'; must be one of top, bottom; did you mean 'top'?"),
        ({"heat": "3 W", "tray": 1}, "oven.tray: there is no such key; must be one of heat, time, cake, trays, "),
        ({"heat": "3 W", "heat_w": 1}, "oven.heat_w: there is no such key"),
        ({"heat": "3 W", "trays": 13}, "oven.trays: found 13; is bad luck"),
    ],
)  # fmt: skip
def test_a_problem_says_where_what_and_what_is_allowed(raw: dict[str, object], line: str) -> None:
    (found,) = problems(raw)
    assert found.startswith(line)


def test_all_problems_are_reported_together_even_those_of_the_class_itself() -> None:
    found = problems({"heat": "3 W", "trays": 13, "time": 5})
    assert [line.partition(":")[0] for line in found] == ["oven.time", "oven.trays"]


def test_nothing_is_said_of_keys_together_while_nobody_knows_what_one_of_them_means() -> None:
    """With the default of a key that is misspelt, a right value of another may look wrong."""
    found = problems({"heat": "3 W", "trays": 13, "time": 5, "fann": True})
    assert [line.partition(":")[0] for line in found] == ["oven.time", "oven.fann"]
