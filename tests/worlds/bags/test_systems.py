"""Systems for bags of tasks: nine machines, special-purpose types, idle power, and the COV method alone."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from joulewise.errors import InputError
from joulewise.worlds.cov_system import CovSystemParameters, generate_cov_system
from joulewise.worlds.gpus import GpuParameters
from joulewise.worlds.nine_machines import NineMachineParameters, generate_nine_machines
from joulewise.worlds.packaged import packaged_table

NINE = NineMachineParameters()
COV = CovSystemParameters()


def test_the_three_published_environments_have_the_same_task_types() -> None:
    full = generate_nine_machines(NINE, 0)
    for counts in ((18, 18), (6,) * 6):
        system = generate_nine_machines(NineMachineParameters(counts=counts), 0)
        n = len(counts)
        assert (system.n_task_types, system.n_machine_types, system.n_machines) == (30, n, 36)
        assert np.array_equal(system.etc_s, full.etc_s[:, :n])
        assert system.power_w is not None
        assert full.power_w is not None
        assert np.array_equal(system.power_w, full.power_w[:, :n])
    assert np.array_equal(full.etc_s[:5], packaged_table("nine_machines.csv").etc_s)
    assert full.task_types[5] == "synthetic-task-01"
    assert full.standby is None


def test_five_task_types_are_the_table_alone() -> None:
    one, other = (generate_nine_machines(replace(NINE, task_types=5), seed) for seed in (0, 1))
    assert np.array_equal(one.etc_s, other.etc_s)
    assert not np.array_equal(generate_nine_machines(NINE, 0).etc_s, generate_nine_machines(NINE, 1).etc_s)


def test_idle_power_is_a_share_of_the_mean_power() -> None:
    system = generate_nine_machines(replace(NINE, idle_percent=5.0), 0)
    assert system.power_w is not None
    assert system.standby is not None
    assert system.standby.idle_w == pytest.approx(0.05 / 30 * system.power_w[:, :, 0].sum(axis=0))


def test_idle_power_above_that_of_a_task() -> None:
    with pytest.raises(InputError, match=r"system\.idle_percent: found 99; must be at most [\d.]+: a task on"):
        generate_nine_machines(replace(NINE, idle_percent=99.0), 0)


def test_special_machine_types_are_ten_times_as_fast_at_average_power() -> None:
    plain = generate_nine_machines(NINE, 0)
    system = generate_nine_machines(replace(NINE, special_counts=(1, 2, 3), idle_percent=5.0), 0)
    assert np.array_equal(system.etc_s[:, :9], plain.etc_s)
    assert system.machine_group[9:] == ("special",) * 3
    assert system.counts[9:].tolist() == [1, 2, 3]
    special = system.can_run[:, 9:]
    assert special.sum(axis=1).max() == 1, "no two run the same task type"
    assert set(special.sum(axis=0)) <= {2, 3}
    rows, columns = np.nonzero(special)
    assert system.power_w is not None
    assert plain.power_w is not None
    assert system.etc_s[rows, 9 + columns, 0] == pytest.approx(plain.etc_s[rows, :, 0].mean(axis=1) / 10)
    assert system.power_w[rows, 9 + columns, 0] == pytest.approx(plain.power_w[rows, :, 0].mean(axis=1))
    assert system.standby is not None
    first = rows[columns == 0]
    assert system.standby.idle_w[9] == pytest.approx(0.05 * system.power_w[first, 9, 0].mean())


def test_special_machine_types_by_other_numbers() -> None:
    parameters = replace(NINE, special_counts=(1,), special_per_machine_type=(4, 4), special_speed_up=2.0)
    system = generate_nine_machines(parameters, 0)
    rows = np.flatnonzero(system.can_run[:, 9])
    assert rows.size == 4
    assert system.etc_s[rows, 9, 0] == pytest.approx(system.etc_s[rows, :9, 0].mean(axis=1) / 2)


def test_the_published_cov_system() -> None:
    systems = [generate_cov_system(COV, 5, trial) for trial in range(20)]
    assert all((s.n_task_types, s.n_machine_types, s.n_machines) == (50, 10, 50) for s in systems)
    assert all((s.counts >= 1).all() for s in systems)
    assert len({tuple(s.counts) for s in systems}) > 1
    assert np.mean([s.etc_s.mean() for s in systems]) == pytest.approx(10, rel=0.02)
    assert np.mean([s.power_w.mean() for s in systems if s.power_w is not None]) == pytest.approx(200, rel=0.02)
    within = [s.etc_s[:, :, 0].std(axis=1) / s.etc_s[:, :, 0].mean(axis=1) for s in systems]
    assert np.mean(within) == pytest.approx(0.25, rel=0.1)
    assert np.array_equal(generate_cov_system(COV, 5, 0).etc_s, systems[0].etc_s)


def test_a_cov_system_of_one_machine_and_idle_power() -> None:
    small = replace(COV, task_types=1, machine_types=1, machines=1, idle_percent=50.0)
    system = generate_cov_system(small, 0, 0)
    assert system.standby is not None
    assert system.power_w is not None
    assert system.standby.idle_w[0] == pytest.approx(system.power_w[0, 0, 0] / 2)


@pytest.mark.parametrize(
    ("changes", "wheres"),
    [
        ({"counts": ()}, ["counts", "counts"]),
        ({"counts": (1,) * 10}, ["counts"]),
        ({"counts": (3, -1)}, ["counts"]),
        ({"counts": (10**9,)}, ["counts"]),
        ({"task_types": 4}, ["task_types"]),
        ({"task_types": 10**9}, ["task_types"]),
        ({"special_counts": (-1,)}, ["special_counts"]),
        ({"special_counts": (1,) * 11}, ["special_counts"]),
        ({"special_per_machine_type": (3, 2)}, ["special_per_machine_type"]),
        ({"special_speed_up": 0.0, "idle_percent": -1.0}, ["special_speed_up", "idle_percent"]),
        ({"idle_percent": float("nan")}, ["idle_percent"]),
        ({"mtbf_s": -1.0, "mttr_s": 1.0}, ["mtbf_s"]),
    ],
)
def test_bad_parameters_of_nine_machines(changes: dict[str, Any], wheres: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        NineMachineParameters(**changes)
    assert [problem.where for problem in caught.value.problems] == [f"system.{name}" for name in wheres]


@pytest.mark.parametrize(
    ("changes", "wheres"),
    [
        ({"task_types": 0}, ["task_types"]),
        ({"machine_types": 0}, ["machine_types"]),
        ({"task_types": 10**9}, ["task_types"]),
        ({"machines": 9}, ["machines"]),
        ({"mean_s": 0.0, "mean_power_w": float("inf")}, ["mean_s", "mean_power_w"]),
        ({"task_cov": -0.1, "power_machine_cov": 99.0}, ["task_cov", "power_machine_cov"]),
        ({"idle_percent": 101.0}, ["idle_percent"]),
    ],
)
def test_bad_parameters_of_a_cov_system(changes: dict[str, Any], wheres: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        CovSystemParameters(**changes)
    assert [problem.where for problem in caught.value.problems] == [f"system.{name}" for name in wheres]


@pytest.mark.parametrize("kind", [NineMachineParameters, CovSystemParameters, GpuParameters])
def test_every_parameter_is_explained(kind: Any) -> None:
    assert all(field.metadata["help"] for field in fields(kind))
