"""The published system and systems of any other size."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.model import System
from joulewise.worlds.environment import SystemParameters, generate_system

PUBLISHED = SystemParameters()


@pytest.fixture(scope="module")
def system() -> System:
    return generate_system(PUBLISHED, seed=0, trial=0)


def test_published_sizes(system: System) -> None:
    assert (system.n_task_types, system.n_machine_types, system.n_machines) == (100, 13, 100)
    assert system.counts.tolist() == [2, 2, 3, 3, 5, 5, 5, 10, 10, 10, 10, 15, 20]
    assert system.machine_group == ("special",) * 4 + ("general",) * 9
    assert system.n_pstates == 1
    assert system.task_types[0] == "special-task-01"
    assert system.machine_types[-1] == "general-machine-9"


def test_special_task_types_have_one_special_machine_type_and_all_general_ones(system: System) -> None:
    special = system.can_run[:, :4]
    assert (special.sum(axis=1) == np.repeat([1, 0], [17, 83])).all()
    assert system.can_run[:, 4:].all()
    per_machine_type = special.sum(axis=0)
    assert per_machine_type.min() >= 3
    assert per_machine_type.max() <= 5


def test_published_means() -> None:
    systems = [generate_system(PUBLISHED, 3, trial) for trial in range(30)]
    general = np.array([system.etc_s[:, 4:, 0].mean() for system in systems])
    special = np.array([system.etc_s[:17, :4, 0][system.can_run[:17, :4]].mean() for system in systems])
    assert general.mean() == pytest.approx(600, rel=0.01)
    assert special.mean() == pytest.approx(60, rel=0.03)
    power = np.mean([system.power_w.mean() for system in systems if system.power_w is not None])
    assert power == pytest.approx(66 + 133, rel=0.02)


def test_same_seed_same_system_and_trials_differ(system: System) -> None:
    again, other = generate_system(PUBLISHED, 0, 0), generate_system(PUBLISHED, 0, 1)
    assert np.array_equal(again.etc_s, system.etc_s)
    assert np.array_equal(again.eec_j, system.eec_j)
    assert not np.array_equal(other.etc_s, system.etc_s)


def test_more_pstates_keep_pstate_0(system: System) -> None:
    three = generate_system(replace(PUBLISHED, pstates=3), 0, 0)
    assert np.array_equal(three.etc_s[:, :, :1], system.etc_s)
    assert system.power_w is not None
    assert three.power_w is not None
    assert np.array_equal(three.power_w[:, :, :1], system.power_w)
    assert (three.etc_s >= three.etc_s[:, :, :1]).all()


def test_slower_pstates_follow_the_square_root_and_draw_less_power() -> None:
    system = generate_system(replace(PUBLISHED, pstates=3, time_factor_cov=0.02), 0, 0)
    slowdown = system.etc_s[system.can_run] / system.etc_s[system.can_run][:, :1]
    assert slowdown.mean(axis=0) == pytest.approx([1, 0.75**-0.5, 0.5**-0.5], rel=0.01)
    assert system.power_w is not None
    dynamic_w = system.power_w[:, :, 0] - system.power_w[:, :, 2]
    assert system.power_w[:, :, 0] - system.power_w[:, :, 1] == pytest.approx(dynamic_w / 2)


@settings(deadline=None)
@given(
    special_counts=st.lists(st.integers(1, 9), max_size=5),
    general_counts=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    least=st.integers(0, 3),
    room=st.integers(0, 3),
    data=st.data(),
)
def test_systems_of_any_size(
    special_counts: list[int], general_counts: list[int], least: int, room: int, data: st.DataObject
) -> None:
    n_special = len(special_counts)
    special = data.draw(st.integers(least * n_special, (least + room) * n_special))
    task_types = special + data.draw(st.integers(0 if special else 1, 20))
    pstates = data.draw(st.integers(1, 3))
    parameters = SystemParameters(
        task_types=task_types,
        special_task_types=special,
        special_counts=tuple(special_counts),
        general_counts=tuple(general_counts),
        special_per_machine_type=(least, least + room),
        pstates=pstates,
    )
    system = generate_system(parameters, 0, 0)
    assert system.etc_s.shape == (task_types, n_special + len(general_counts), pstates)
    per_machine_type = system.can_run[:, :n_special].sum(axis=0)
    assert per_machine_type.sum() == special
    assert all(least <= n <= least + room for n in per_machine_type)


@pytest.mark.parametrize(
    ("changes", "wheres"),
    [
        ({"task_types": 0}, ["task_types"]),
        ({"task_types": 10**9}, ["task_types"]),
        ({"special_task_types": 30}, ["special_task_types"]),
        ({"special_counts": ()}, ["special_task_types"]),
        ({"special_per_machine_type": (5, 3)}, ["special_per_machine_type"]),
        ({"general_counts": ()}, ["general_counts"]),
        ({"general_counts": (-1, 5)}, ["general_counts"]),
        ({"general_counts": (10**9,)}, ["general_counts"]),
        ({"general_mean_s": float("nan"), "special_mean_s": -1.0}, ["general_mean_s", "special_mean_s"]),
        ({"task_cov": -0.1, "power_cov": 99.0}, ["task_cov", "power_cov"]),
        ({"pstates": 4}, ["pstates"]),
        ({"pstates": 0}, ["pstates"]),
        ({"dynamic_power_fractions": (0.5, 1.0)}, ["dynamic_power_fractions"]),
        ({"static_power_w": float("inf")}, ["static_power_w"]),
    ],
)
def test_bad_parameters_are_all_named(changes: dict[str, Any], wheres: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        SystemParameters(**changes)
    assert [problem.where for problem in caught.value.problems] == [f"system.{name}" for name in wheres]


def test_every_parameter_is_explained() -> None:
    assert all(field.metadata["help"] for field in fields(SystemParameters))
