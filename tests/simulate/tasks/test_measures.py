"""Every number that a run reports, worked out by hand and by the validator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from joulewise.check.tasks.recompute import recompute, run_energy_j
from joulewise.model import Allocation, Outages, Standby, Status, Supply, System, Tag, Workload, World, linear
from joulewise.model.allocation import BrokenRuns
from joulewise.simulate.tasks.measures import measures
from joulewise.simulate.tasks.serial import Outcome
from joulewise.study.tasks import tables as details
from tests.strategies.simple_worlds import simple_system, simple_workload

WAITING, RAN, DROPPED, KILLED = Status.WAITING, Status.RAN, Status.DROPPED, Status.KILLED
Run = tuple[int, float, float, Status]
NEVER: Run = (-1, math.nan, math.nan, WAITING)
ONE_SLEEPER = Standby(*(np.array([value]) for value in (10.0, 2.0, 50.0, 4.0, 6.0)))


Stretch = tuple[int, int, float, float]
"""A run that did not complete its task: task, machine, start, end."""


def allocation_of(runs: Sequence[Run], lost: Sequence[Stretch] = (), pieces: Sequence[Stretch] = ()) -> Allocation:
    """Tasks by machine, start, end and status, and runs that did not complete them, all in P-state 0."""
    machine, start_s, end_s, status = (np.array(column) for column in zip(*runs, strict=True))
    return Allocation(machine, np.where(machine < 0, -1, 0), start_s, end_s, status, broken(lost), broken(pieces))


def broken(rows: Sequence[Stretch]) -> BrokenRuns:
    table = np.array(rows, float).reshape(-1, 4)
    return BrokenRuns(table[:, 0], table[:, 1], np.zeros(len(rows), np.int8), table[:, 2], table[:, 3])


def reported(world: World, allocation: Allocation) -> dict[str, Any]:
    """The measures of an allocation, which the validator must find as well."""
    found = measures(world, Outcome(world, allocation, 0, 0, 0.0))
    for name, value in recompute(world, allocation).items():
        assert found[name] == pytest.approx(value, rel=1e-9, abs=1e-9, nan_ok=True), name
    assert set(found) == {*recompute(world, allocation), "mapping_events", "late_events", "mapping_s"}
    return found


def powered(counts: Sequence[int] = (1,), power_w: float = 100.0, standby: Standby | None = None) -> System:
    return replace(simple_system([[10.0]], counts, [[power_w]]), standby=standby)


def tasks(n: int, end_s: float = math.inf, **others: Any) -> Workload:
    return replace(simple_workload([0.0] * n, end_s=end_s), **others)


def test_energy_is_that_inside_the_window_times_the_pue() -> None:
    world = World(powered([2]), tasks(3, 25.0, start_s=5.0), Supply(pue=1.5))
    found = reported(world, allocation_of([(0, 0.0, 10.0, RAN), (1, 8.0, 18.0, RAN), (0, 20.0, 30.0, RAN)]))
    assert found["energy_j"] == 1.5 * 100.0 * (5 + 10 + 5)
    assert found["energy_peak_w"] == 300.0
    assert found["standby_energy_j"] == 0.0
    assert found["busy_percent"] == 100 * 20 / 40
    assert found["idle_percent"] == 50.0
    for name in ("energy_cost", "budget_j", "budget_percent", "exhausted_s"):
        assert math.isnan(found[name])


def test_energy_is_missing_without_power_figures() -> None:
    world = World(simple_system([[10.0]]), tasks(1, 25.0))
    allocation = allocation_of([(0, 0.0, 10.0, RAN)])
    assert math.isnan(reported(world, allocation)["energy_j"])
    assert details.records(world, allocation)["energy_j"].to_list() == [None]
    assert details.trace(world, allocation)["energy_cumulative_j"].null_count() == 2
    nothing = allocation_of([NEVER])
    assert details.trace(world, nothing)["energy_cumulative_j"].null_count() == 2


@pytest.mark.parametrize(
    ("window", "pue", "standby_j", "run_j"),
    [
        ((0.0, 100.0), 1.0, 6 * 10 + 10 * 2 + 4 * 50 + 9 * 10 + 6 * 10 + 35 * 2, 3000.0),
        ((0.0, 100.0), 2.0, 2 * 500.0, 6000.0),
        ((10.0, 62.0), 1.0, 6 * 2 + 4 * 50 + 9 * 10 + 3 * 10, 3000.0),
        ((0.0, math.inf), 1.0, 60 + 20 + 200 + 90.0, 3000.0),
    ],
)
def test_standby(window: tuple[float, float], pue: float, standby_j: float, run_j: float) -> None:
    """Idle from 0, asleep at 6, boots at 16, runs at 20 and 30, idle from 40 to 49, runs, idle, asleep at 65."""
    work = tasks(3, start_s=window[0], end_s=window[1])
    world = World(powered(standby=ONE_SLEEPER), work, Supply(pue=pue))
    found = reported(world, allocation_of([(0, 20.0, 30.0, RAN), (0, 30.0, 40.0, RAN), (0, 49.0, 59.0, RAN)]))
    assert found["standby_energy_j"] == pytest.approx(standby_j)
    assert found["energy_j"] == pytest.approx(standby_j + run_j)
    assert found["energy_peak_w"] == 100.0 * pue


def test_a_machine_draws_nothing_while_down_and_does_not_boot_for_it() -> None:
    """Idle to 6, asleep to 20 when it fails, idle from 30 to 36, asleep to 50."""
    world = World(powered(standby=ONE_SLEEPER), tasks(1, 50.0), outages=Outages([0], [20.0], [30.0]))  # type: ignore[arg-type]
    found = reported(world, allocation_of([NEVER]))
    assert found["standby_energy_j"] == 60 + 14 * 2 + 60 + 14 * 2
    assert found["idle_percent"] == pytest.approx(80.0)


def test_cost_by_the_hour_and_the_hours_start_again() -> None:
    world = World(powered([2], 3600.0), tasks(2, 9000.0), Supply(tariff=np.array([1.0, 3.0])))
    first, second = (0, 1800.0, 5400.0, RAN), (1, 7100.0, 7300.0, RAN)
    assert reported(world, allocation_of([first, NEVER]))["energy_cost"] == pytest.approx(1.8 * 1 + 1.8 * 3)
    assert reported(world, allocation_of([NEVER, second]))["energy_cost"] == pytest.approx(0.1 * 3 + 0.1 * 1)


@pytest.mark.parametrize(
    ("supply", "end_s", "budget_j"),
    [
        (Supply(500.0, day_s=10.0), 30.0, 1500.0),
        (Supply(500.0, day_s=10.0), 25.0, 1500.0),
        (Supply(1500.0, is_total=True, day_s=10.0), 30.0, 1500.0),
        (Supply(1500.0, is_total=True, day_s=10.0), 21.0, 1500.0),
    ],
)
def test_budget_of_the_counted_days(supply: Supply, end_s: float, budget_j: float) -> None:
    """500 J a day: the first 495 J have been used after 4.95 s of the run that starts at 1."""
    world = World(powered(), tasks(1, end_s), supply)
    found = reported(world, allocation_of([(0, 1.0, 11.0, RAN)]))
    assert found["budget_j"] == budget_j
    assert found["budget_percent"] == pytest.approx(100 * 1000 / budget_j)
    assert found["exhausted_s"] == pytest.approx(5.95)


def test_idle_time_is_counted_while_there_is_energy_too() -> None:
    """Of two machines one runs from 1 s on: after 5.95 s, when 99 % of 500 J are used, 4.95 of 11.9 s were a run's."""
    world = World(powered([2]), tasks(1, 20.0), Supply(500.0, day_s=20.0), Outages([1], [0.0], [2.0]))  # type: ignore[arg-type]
    found = reported(world, allocation_of([(0, 1.0, 11.0, RAN)]))
    assert found["idle_percent"] == pytest.approx(100 * (40 - 10 - 2) / 40)
    assert found["idle_with_energy_percent"] == pytest.approx(100 * (11.9 - 4.95 - 2) / 11.9)
    endless = reported(replace(world, supply=Supply()), allocation_of([(0, 1.0, 11.0, RAN)]))
    assert endless["idle_with_energy_percent"] == endless["idle_percent"]


def test_a_budget_that_lasts_the_first_day_is_not_exhausted() -> None:
    """What is used by the day's end is 490 J of 500; the next day goes on."""
    world = World(powered(), tasks(1, 30.0), Supply(500.0, day_s=10.0))
    assert math.isnan(reported(world, allocation_of([(0, 5.1, 15.1, RAN)]))["exhausted_s"])


def test_prorated_utility_is_the_share_of_the_run() -> None:
    """The window (5, 25]: half of a run that ends at 10, nothing of one that ends at 5, and 0.2 of one from 23 on."""
    work = replace(simple_workload([0.0] * 3, shape=linear(40.0), start_s=5.0, end_s=25.0), is_prorated=True)
    runs = [(0, 0.0, 10.0, RAN), (1, 0.0, 5.0, RAN), (1, 23.0, 33.0, RAN)]
    world, allocation = World(powered([2]), work), allocation_of(runs)
    found = reported(world, allocation)
    assert found["utility"] == pytest.approx(0.5 * 30 / 40 + 0.2 * 7 / 40)
    assert found["tasks_completed"] == 1
    records, trace = details.records(world, allocation), details.trace(world, allocation)
    assert records["utility"].sum() == pytest.approx(found["utility"])
    assert trace["utility_cumulative"][-1] == pytest.approx(found["utility"])


def test_killed_and_lost_runs_use_energy_and_earn_nothing() -> None:
    work = replace(tasks(3, 100.0), stretch=np.array([9.0, 1.0, 1.0]))
    world = World(powered([2]), work, outages=Outages([1], [14.0], [20.0]))  # type: ignore[arg-type]
    runs: list[Run] = [(0, 0.0, 20.0, KILLED), (0, 20.0, 30.0, RAN), NEVER]
    allocation = allocation_of(runs, [(1, 1, 5.0, 14.0)])
    found = reported(world, allocation)
    assert (found["utility"], found["tasks_killed"], found["runs_lost"], found["tasks_waiting"]) == (1.0, 1, 1, 1)
    assert found["energy_j"] == 100.0 * (20 + 10 + 9)
    assert found["busy_percent"] == pytest.approx(100 * 39 / 200)
    assert found["idle_percent"] == pytest.approx(100 * (200 - 39 - 6) / 200)
    records = details.records(world, allocation)
    assert records["fate"].to_list() == ["killed", "ran", "waiting"]
    assert records["energy_j"].to_list() == [2000.0, 1000.0, None]
    assert run_energy_j(world, allocation)[:2] == [2000.0, 1000.0]
    assert_comes_back(world, allocation)


def assert_comes_back(world: World, allocation: Allocation) -> None:
    """Tables tell all of an allocation."""
    tables = {"records": details.records(world, allocation), **details.broken_tables(world, allocation)}
    back = details.allocation_of(tables)
    for part in ("lost", "pieces"):
        for name in ("task", "machine", "pstate", "start_s", "end_s"):
            here, there = (getattr(getattr(one, part), name) for one in (back, allocation))
            np.testing.assert_array_equal(here, there, strict=True)


def test_all_stretches_of_a_suspended_task_use_energy_and_share_its_utility() -> None:
    world = World(powered([2]), replace(tasks(2, 20.0), is_prorated=True))
    allocation = allocation_of([(1, 15.0, 23.0, RAN), (0, 5.0, 15.0, RAN)], pieces=[(0, 0, 0.0, 5.0)])
    found = reported(world, allocation)
    assert (found["utility"], found["runs_lost"], found["runs_preempted"]) == (pytest.approx(1 + 10 / 13), 0, 1)
    assert found["energy_j"] == 100.0 * (5 + 5 + 10)
    assert details.records(world, allocation)["energy_j"].to_list() == run_energy_j(world, allocation) == [1000, 1000]
    assert_comes_back(world, allocation)


def test_shares_by_priority_and_by_group() -> None:
    """Of 8 + 2 the critical tasks earn 6, of 1 the low one nothing, no medium one arrives; all on special machines."""
    system = replace(powered(), machine_types=("a", "b"), counts=np.array([1, 1]), machine_group=("general", "special"),
                     etc_s=np.array([[[10.0], [10.0]]]), power_w=np.full((1, 2, 1), 5.0))  # fmt: skip
    work = replace(
        simple_workload([0.0, 0.0, 20.0], shape=linear(40.0), end_s=50.0),
        scale=np.array([8.0, 2.0, 1.0]),
        tags={"priority": Tag(("critical", "medium", "low"), np.array([0, 0, 2]))},
    )
    found = reported(World(system, work), allocation_of([(1, 0.0, 10.0, RAN), NEVER, NEVER]))
    assert found["priority_percent:critical"] == pytest.approx(60.0)
    assert math.isnan(found["priority_percent:medium"])
    assert found["priority_percent:low"] == 0.0
    assert [found[f"tasks_arrived:{level}"] for level in ("critical", "medium", "low")] == [2, 0, 1]
    assert [found[f"tasks_completed:{level}"] for level in ("critical", "medium", "low")] == [1, 0, 0]
    assert [found[f"tasks_waiting:{level}"] for level in ("critical", "medium", "low")] == [1, 0, 1]
    assert (found["group_percent:general"], found["group_percent:special"]) == (0.0, 100.0)


def test_trace_of_energy_and_budget() -> None:
    """A day is 120 s: one step of the budget for each that the instant lies in."""
    world = World(powered(), tasks(1, 240.0), Supply(5000.0, day_s=120.0))
    trace = details.trace(world, allocation_of([(0, 55.0, 65.0, RAN)]))
    assert trace["at_s"].to_list() == [0.0, 60.0, 120.0, 180.0, 240.0]
    assert trace["energy_cumulative_j"].to_list() == [0.0, 500.0, 1000.0, 1000.0, 1000.0]
    assert trace["budget_cumulative_j"].to_list() == [5000.0, 5000.0, 5000.0, 10000.0, 10000.0]
