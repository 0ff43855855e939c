"""The section of the manager: every switch is there, and says the same as the manager itself."""

from __future__ import annotations

import dataclasses
import math
from typing import get_args

import pytest

from joulewise.policies.tasks.heuristic import find_policy
from joulewise.simulate.tasks.manager import DroppingBy, Environment, Filter, Manager, MappingTime, Postponing
from joulewise.study.spec.parameters import hints_of, read
from joulewise.study.tasks.manager import ManagerParameters

POLICY = find_policy("max-max-upt")


def manager(**keys: object) -> Manager:
    parameters, problems = read(ManagerParameters, {"policy": "max-max-upt", **keys}, str)
    assert problems == []
    assert isinstance(parameters, ManagerParameters)
    return parameters.manager(POLICY)


def test_every_switch_of_the_manager_is_a_key_with_its_default() -> None:
    plain, made = Manager(POLICY), manager()
    names = {field.name for field in dataclasses.fields(Manager)}
    assert {field.name for field in dataclasses.fields(ManagerParameters)} == names
    assert {name: getattr(made, name) for name in names} == {name: getattr(plain, name) for name in names}


def test_choices_are_those_of_the_manager() -> None:
    hints = hints_of(ManagerParameters)
    choices = {
        "environment": Environment,
        "energy_filter": Filter,
        "mapping_time": MappingTime,
        "dropping_by": DroppingBy,
        "postponing": Postponing,
    }
    for name, expected in choices.items():
        assert get_args(hints[name]) == get_args(expected)


def test_values_reach_the_manager() -> None:
    made = manager(
        mapping_interval="5 min", mapping_arrivals=20, mapping_time="given", mapping_model=[0.5, 0, 1e-6],
        environment="polled", energy_filter="fair-share", leniency=0.75, weight=1, declines=True, follows_tariff=True,
        kill_factor=3, class_thresholds={"special": 0.5, "critical": 0},
    )  # fmt: skip
    assert (made.mapping_interval_s, made.mapping_arrivals, made.mapping_model) == (300, 20, (0.5, 0, 1e-6))
    assert (made.environment, made.energy_filter, made.leniency, made.weight) == ("polled", "fair-share", 0.75, 1)
    assert (made.declines, made.follows_tariff, made.kill_factor, made.mapping_time) == (True, True, 3, "given")
    assert made.class_thresholds == {"special": 0.5, "critical": 0}


@pytest.mark.parametrize(
    ("keys", "interval_s"),
    [
        ({}, 60.0),
        ({"mapping_interval": "2 min"}, 120.0),
        ({"mapping_arrivals": 5}, math.inf),
        ({"mapping_arrivals": 5, "mapping_interval": "2 min"}, 120.0),
    ],
)
def test_mapping_is_by_time_by_arrivals_or_by_either(keys: dict[str, object], interval_s: float) -> None:
    assert manager(**keys).mapping_interval_s == interval_s
