"""The validator finds each kind of damage, and nothing where there is none."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from joulewise.check.findings import N_SHOWN
from joulewise.check.tasks.allocation import check_allocation
from joulewise.check.tasks.recompute import recompute
from joulewise.model import Allocation, Status, World, linear
from joulewise.policies.tasks.table import POLICIES
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.serial import simulate
from tests.strategies import heuristics
from tests.strategies.needs import fit_for
from tests.strategies.random_worlds import Scenario, scenarios
from tests.strategies.simple_worlds import busy_world, simple_system, simple_workload

Columns = dict[str, NDArray[Any]]
IMMEDIATE = Manager(POLICIES["max-util"], dropping_threshold=0.25)
BATCH = Manager(POLICIES["max-max-util"], dropping_threshold=0.25, mapping_interval_s=10.0)


@pytest.fixture
def world() -> World:
    """Two machines of one type and one of a type that only the first task type can use; the window ends at 90 s."""
    system = simple_system([[10.0, 20.0], [10.0, math.inf]], [2, 1], [[100.0, 50.0], [100.0, 50.0]])
    arrivals = [0.0, 0.0, 0.0, 5.0, 31.0, 95.0]
    return World(system, simple_workload(arrivals, [0, 1, 0, 0, 1, 0], linear(100.0), start_s=5.0, end_s=90.0))


def damaged(allocation: Allocation, damage: Callable[[Columns], object]) -> Allocation:
    columns = {name: getattr(allocation, name).copy() for name in ("machine", "pstate", "start_s", "end_s", "status")}
    damage(columns)
    return dataclasses.replace(allocation, **columns)


def put(name: str, task: int, value: float) -> Callable[[Columns], object]:
    return lambda columns: columns[name].__setitem__(task, value)


def move(task: int, by_s: float) -> Callable[[Columns], object]:
    def damage(columns: Columns) -> None:
        for name in ("start_s", "end_s"):
            columns[name][task] += by_s

    return damage


def forget(task: int, status: Status) -> Callable[[Columns], object]:
    def damage(columns: Columns) -> None:
        for name, nothing in (("machine", -1), ("pstate", -1), ("start_s", math.nan), ("end_s", math.nan)):
            columns[name][task] = nothing
        columns["status"][task] = status

    return damage


def run(task: int, machine: int, start_s: float) -> Callable[[Columns], object]:
    def damage(columns: Columns) -> None:
        cells = {"machine": machine, "pstate": 0, "start_s": start_s, "end_s": start_s + 10.0, "status": 1}
        for name, value in cells.items():
            columns[name][task] = value

    return damage


@pytest.mark.parametrize("manager", [IMMEDIATE, BATCH, None], ids=["immediate", "batch", "no manager"])
def test_nothing_to_say_about_a_valid_allocation(world: World, manager: Manager | None) -> None:
    allocation = simulate(world, manager or IMMEDIATE).allocation
    assert (allocation.status == Status.RAN).sum() == 5
    assert check_allocation(world, allocation, manager) == []


PHYSICS = {
    "unknown status": (put("status", 1, 7), "task 1: status: found 7; expected 0 (WAITING) or 1 (RAN)"),
    "machine that is not there": (put("machine", 1, 3), "task 1: machine: found 3; expected a number from 0 to 2"),
    "no machine": (put("machine", 1, -1), "task 1: machine: found -1"),
    "P-state that is not there": (put("pstate", 1, 1), "task 1: pstate: found 1; expected a number from 0 to 0"),
    "machine that cannot run it": (put("machine", 1, 2), "task 1: ETC on its machine in its P-state: found inf"),
    "start that is not a number": (put("start_s", 1, math.nan), "task 1: start_s of a task that ran: found nan"),
    "endless end": (put("end_s", 1, math.inf), "task 1: end_s of a task that ran: found inf"),
    "start before arrival": (move(3, -6.0), "expected 5.0 (its arrival) or later"),
    "end too late": (put("end_s", 1, 10.5), "task 1: end_s: found 10.5; expected 10.0 (start plus ETC)"),
    "end too late by little": (put("end_s", 1, 10.0 + 2e-8), "task 1: end_s"),
    "two at once": (run(3, 0, 6.0), "expected 10.0 or later, when its machine is done with the task before"),
    "place of a task that waits": (
        put("machine", 5, 0), "task 5: machine of a task that did not run: found 0; expected -1",
    ),
    "instant of a task that waits": (
        put("end_s", 5, 1.0), "task 5: end_s of a task that did not run: found 1.0; expected nan",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("damage", "line"), PHYSICS.values(), ids=PHYSICS.keys())
def test_physics(world: World, damage: Callable[[Columns], object], line: str) -> None:
    allocation = simulate(world, IMMEDIATE).allocation
    found = check_allocation(world, damaged(allocation, damage))
    assert any(line in each for each in found), found


MANAGED = {
    "gap in immediate mode": (IMMEDIATE, move(4, 1.0), "task 4: start_s: found 32.0; expected 31.0 (immediate"),
    "undecided in immediate mode": (IMMEDIATE, forget(4, Status.WAITING), "task 4: status in immediate mode"),
    "run after the window": (IMMEDIATE, run(5, 1, 95.0), "task 5: status of a task that arrives after the window"),
    "drop after the window": (BATCH, forget(5, Status.DROPPED), "task 5: status of a task that arrives after"),
    "start before the mapping event": (
        BATCH, run(4, 1, 35.0), "expected 40.0 (the first mapping event after its arrival) or later",
    ),
    "start out of the blue": (BATCH, run(4, 0, 41.0), "expected a mapping event, or the end of the task before"),
}  # fmt: skip


@pytest.mark.parametrize(("manager", "damage", "line"), MANAGED.values(), ids=MANAGED.keys())
def test_managers(world: World, manager: Manager, damage: Callable[[Columns], object], line: str) -> None:
    allocation = simulate(world, manager).allocation
    found = check_allocation(world, damaged(allocation, damage), manager)
    assert any(line in each for each in found), found


@pytest.mark.parametrize("manager", [IMMEDIATE, BATCH], ids=["immediate", "batch"])
def test_drops_need_a_threshold(world: World, manager: Manager) -> None:
    allocation = damaged(simulate(world, manager).allocation, forget(4, Status.DROPPED))
    without = dataclasses.replace(manager, dropping_threshold=0.0)
    (line,) = check_allocation(world, allocation, without)
    assert line.startswith("task 4: status: found DROPPED")


def all_are(world: World, status: Status) -> Allocation:
    """Nothing ran, and every task that arrives in time has this fate."""
    work = world.workload
    fates = np.where(work.arrival_s <= work.end_s, status, Status.WAITING)
    nobody, never = np.full(work.n_tasks, -1), np.full(work.n_tasks, math.nan)
    return Allocation(nobody, nobody, never, never, fates)


DROPPED_LINE = "utility that a dropped task could still have earned"
WAITING_LINE = "mapping event after which it waits though no machine for it has a second task"


@pytest.mark.parametrize("end_s", [90.0, math.inf], ids=["window", "endless"])
def test_nobody_is_dropped_with_hope(world: World, end_s: float) -> None:
    """Nothing runs, so the first task could have been done 10 s after it was seen, worth 0.9."""
    longer = World(world.system, dataclasses.replace(world.workload, end_s=end_s))
    manager = dataclasses.replace(BATCH, dropping_threshold=1e-9)
    line, *others = check_allocation(longer, all_are(longer, Status.DROPPED), manager)
    assert (
        line == f"task 0: {DROPPED_LINE}: found 0.8999999999999999; expected less than 1e-09 (the dropping threshold)"
    )
    assert others[-1] == f"{DROPPED_LINE}: wrong for {2 if end_s == 90.0 else 3} more tasks"


def test_a_task_may_lose_hope_while_it_waits() -> None:
    """One machine, 10 s a task: at 10 s two are fixed until 20 s, so the third is worth 0.25 at 30 s at best."""
    world = World(simple_system([[10.0]]), simple_workload([0.0, 0.0, 0.0], shape=linear(40.0), end_s=15.0))
    for threshold, lines in ((0.3, 0), (0.2, 1)):
        manager = dataclasses.replace(BATCH, dropping_threshold=threshold)
        allocation = damaged(simulate(world, BATCH).allocation, forget(2, Status.DROPPED))
        assert len(check_allocation(world, allocation, manager)) == lines


def test_nobody_is_dropped_unseen(world: World) -> None:
    late = World(world.system, simple_workload([12.0], shape=linear(1.0), end_s=15.0))
    (line,) = check_allocation(late, all_are(late, Status.DROPPED), BATCH)
    assert line.startswith("task 0: first mapping event of a task that was dropped: found 20.0")


def test_nobody_waits_while_machines_are_idle(world: World) -> None:
    line, *others = check_allocation(world, all_are(world, Status.WAITING), BATCH)
    assert line == f"task 0: {WAITING_LINE}: found 90.0; expected none"
    assert others[-1] == f"{WAITING_LINE}: wrong for 2 more tasks"


def test_who_waits_needs_a_queue_at_every_event() -> None:
    """One machine, 10 s a task, events at 0, 10 and 20 s: the last task waits behind others up to 20 s."""
    world = World(simple_system([[10.0]]), simple_workload([0.0] * 6, shape=linear(500.0), end_s=25.0))
    manager = dataclasses.replace(BATCH, dropping_threshold=0.0)
    allocation = simulate(world, manager).allocation
    assert allocation.status.tolist() == [1, 1, 1, 1, 1, 0]
    assert check_allocation(world, allocation, manager) == []
    shorter = damaged(damaged(allocation, forget(3, Status.WAITING)), forget(4, Status.WAITING))
    assert check_allocation(world, shorter, manager) == [
        f"task {task}: {WAITING_LINE}: found 20.0; expected none" for task in (3, 4, 5)
    ]


def test_a_task_may_wait_for_a_faster_machine_beside_an_idle_one() -> None:
    system = simple_system([[10.0, 500.0]])
    world = World(system, simple_workload([0.0] * 5, shape=linear(400.0), end_s=5.0))
    allocation = simulate(world, BATCH).allocation
    assert allocation.status.tolist() == [1, 1, 1, 0, 0]
    assert check_allocation(world, allocation, BATCH) == []


@pytest.mark.thorough("takes seconds; others look at less of it")
@given(scenarios())
def test_nothing_to_say_about_what_policies_do(scenario: Scenario) -> None:
    for policy in heuristics.EVERY_POLICY:
        world, manager = fit_for(policy, scenario.world), scenario.manager(policy)
        allocation = simulate(world, manager).allocation
        assert check_allocation(world, allocation, manager) == [], policy.title


@pytest.mark.parametrize("manager", [IMMEDIATE, BATCH], ids=["immediate", "batch"])
def test_a_run_must_be_worth_the_threshold(world: World, manager: Manager) -> None:
    """The first task completes 10 s after it is seen, when it is worth 0.9."""
    allocation = simulate(world, manager).allocation
    (line, *_) = check_allocation(world, allocation, dataclasses.replace(manager, dropping_threshold=0.95))
    assert line.startswith(("task 0: utility at its", "task 0: utility from its soonest possible end on"))
    assert line.endswith("found 0.9; expected 0.95 (the dropping threshold) or more")


def test_nobody_waits_for_ever_in_batch_mode(world: World) -> None:
    endless = World(world.system, dataclasses.replace(world.workload, end_s=math.inf))
    allocation = damaged(simulate(endless, BATCH).allocation, forget(4, Status.WAITING))
    (line,) = check_allocation(endless, allocation, BATCH)
    assert line == "task 4: status without an end of the window: found WAITING; expected RAN or DROPPED"


def test_batch_sees_nobody_after_the_last_event_of_the_window() -> None:
    world = World(simple_system([[10.0]]), simple_workload([12.0], end_s=15.0))
    columns: Any = map(np.array, ([0], [0], [20.0], [30.0], [Status.RAN]))
    ran = Allocation(*columns)
    (line,) = check_allocation(world, ran, BATCH)
    assert (
        line
        == "task 0: first mapping event of a task that ran: found 20.0; expected 15.0 (the window's end) or earlier"
    )


def test_mapping_events_are_found_beside_rounding() -> None:
    """3 * 0.1 is a little more than 0.3: a task that arrives at 0.3 is seen by the event at 3 * 0.1."""
    world = World(simple_system([[1.0]]), simple_workload([0.3]))
    manager = dataclasses.replace(BATCH, dropping_threshold=0.0, mapping_interval_s=0.1)
    allocation = simulate(world, manager).allocation
    assert allocation.start_s[0] == 3 * 0.1
    assert check_allocation(world, allocation, manager) == []


def test_wrong_size(world: World) -> None:
    allocation = simulate(World(world.system, simple_workload()), IMMEDIATE).allocation
    assert check_allocation(world, allocation) == ["allocation: found 1 tasks; expected the 6 of the workload"]


def test_repeated_findings_are_counted() -> None:
    world = busy_world(200)
    allocation = simulate(world, IMMEDIATE).allocation

    def damage(columns: Columns) -> None:
        columns["end_s"] *= 1.5

    lines = [line for line in check_allocation(world, damaged(allocation, damage)) if "end_s: " in line]
    n_ran = int(allocation.ran.sum())
    assert len(lines) == N_SHOWN + 1
    assert lines[-1] == f"end_s: wrong for {n_ran - N_SHOWN} more tasks"


def test_an_allocation_in_which_nothing_ran_is_checked(world: World) -> None:
    late = World(world.system, simple_workload([8.0], end_s=2.0))
    for manager in (IMMEDIATE, BATCH):
        assert check_allocation(late, simulate(late, manager).allocation, manager) == []


def test_recompute_by_hand() -> None:
    """The window (5, 25]: the run from 0 to 10 counts 5 s, 20 to 30 counts 5 s but does not complete in it."""
    system = simple_system([[10.0]], [1], [[100.0]])
    world = World(system, simple_workload([0.0, 5.0, 20.0, 30.0], [0] * 4, linear(40.0), 2.0, 5.0, 25.0))
    columns = (
        [0, 0, 0, -1],
        [0, 0, 0, -1],
        [0.0, 10.0, 20.0, math.nan],
        [10.0, 20.0, 30.0, math.nan],
        [Status.RAN, Status.RAN, Status.RAN, Status.WAITING],
    )
    arrays: Any = map(np.array, columns)
    found = recompute(world, Allocation(*arrays))
    expected = {
        "utility": 2 * (30 / 40) + 2 * (25 / 40),
        "tasks_arrived": 2,
        "tasks_completed": 2,
        "tasks_dropped": 0,
        "tasks_waiting": 0,
        "tasks_killed": 0,
        "runs_lost": 0,
        "energy_j": 100.0 * 20.0,
    }
    assert {name: found[name] for name in expected} == expected
