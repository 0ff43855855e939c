"""Tasks that suspend others: days worked out by hand, what is refused, and what the validator sees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from joulewise.check.tasks.allocation import check_allocation
from joulewise.errors import InputError
from joulewise.model import Allocation, Outages, Supply, UtilityShapes, Workload, World, constant, linear, step
from joulewise.model.system import Standby
from joulewise.policies.tasks.table import POLICIES
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.serial import simulate
from tests.simulate.tasks.test_measures import RAN, Stretch, allocation_of, broken
from tests.strategies.managed_worlds import KINDS, ManagedScenario
from tests.strategies.simple_worlds import simple_system
from tests.twins.tasks.managed import managed_plan

LONG, SHORT = 0, 1
WILLING = Manager(
    POLICIES["max-max-util"], mapping_interval_s=1.0, environment="polled", preempts=True, checkpoint_s=1.0,
    restart_s=2.0,
)  # fmt: skip
SHAPES = UtilityShapes.of([linear(500.0), step(5.0), constant()])
SLOWLY, SOON, EVER = 0, 1, 2
Task = tuple[float, int, int, float]
"""A task: arrival, type, shape of its utility, and what it is worth at first."""


def day(tasks: Sequence[Task], n_machines: int = 1, end_s: float = 100.0) -> World:
    """Machines on which long tasks take 10 s and short ones 2 s."""
    arrival_s, task_type, shape, scale = (np.array(column) for column in zip(*tasks, strict=True))
    work = Workload(arrival_s.astype(float), task_type, shape, scale, np.zeros(len(tasks)), SHAPES, 0.0, end_s)
    return World(simple_system([[10.0], [2.0]], [n_machines], [[100.0], [100.0]]), work)


def runs_of(allocation: Allocation) -> list[tuple[int, float, float]]:
    return list(zip(allocation.machine.tolist(), allocation.start_s.tolist(), allocation.end_s.tolist(), strict=True))


def pieces_of(allocation: Allocation) -> list[Stretch]:
    pieces = allocation.pieces
    columns = (column.tolist() for column in (pieces.task, pieces.machine, pieces.start_s, pieces.end_s))
    return list(zip(*columns, strict=True))


def decided(world: World, manager: Manager = WILLING) -> Allocation:
    allocation = simulate(world, manager).allocation
    assert check_allocation(world, allocation, manager) == []
    return allocation


URGENT = day([(0.0, LONG, SLOWLY, 1.0), (4.5, SHORT, SOON, 1.0)])


def test_who_cannot_wait_takes_the_machine_when_the_checkpoint_is_written() -> None:
    """Five seconds are done, five are left, and two more for the restart."""
    allocation = decided(URGENT)
    assert runs_of(allocation) == [(0, 8.0, 15.0), (0, 6.0, 8.0)]
    assert pieces_of(allocation) == [(0, 0, 0.0, 6.0)]
    assert check_allocation(URGENT, SOUND, WILLING) == []


def test_nobody_is_suspended_without_the_switch() -> None:
    allocation = decided(URGENT, replace(WILLING, preempts=False))
    assert runs_of(allocation) == [(0, 0.0, 10.0), (0, 10.0, 12.0)]
    assert not pieces_of(allocation)


def test_who_can_wait_waits() -> None:
    allocation = decided(day([(0.0, LONG, SLOWLY, 1.0), (4.5, SHORT, EVER, 1.0)]))
    assert not pieces_of(allocation)


def test_who_would_lose_more_goes_on() -> None:
    """A long task that is worth a hundred times as much loses 5 s of its 500, all of what the short one is worth."""
    assert not pieces_of(decided(day([(0.0, LONG, SLOWLY, 100.0), (4.5, SHORT, SOON, 1.0)])))
    assert pieces_of(decided(day([(0.0, LONG, SLOWLY, 99.0), (4.5, SHORT, SOON, 1.0)])))


def test_who_would_be_dropped_suspends_nobody() -> None:
    """No machine is idle when the short task comes, so that it is not dropped at once."""
    world = day([(0.0, LONG, SLOWLY, 2.0), (4.5, SHORT, SOON, 1.0)])
    assert pieces_of(decided(world, replace(WILLING, dropping_by="idle", dropping_threshold=0.9)))
    assert not pieces_of(decided(world, replace(WILLING, dropping_by="idle", dropping_threshold=1.1)))


def test_who_is_about_to_end_goes_on() -> None:
    assert not pieces_of(decided(day([(0.0, LONG, SLOWLY, 1.0), (8.5, SHORT, SOON, 1.0)])))


def test_the_cheapest_is_suspended_and_goes_on_where_a_machine_is_free_first() -> None:
    """The second long task is worth less by the second; both machines are free at 10 s, and the first one takes it."""
    tasks = [(0.0, LONG, SLOWLY, 5.0), (3.0, LONG, SLOWLY, 1.0), (7.0, SHORT, SOON, 1.0)]
    allocation = decided(day(tasks, n_machines=2))
    assert pieces_of(allocation) == [(1, 1, 3.0, 8.0)]
    assert runs_of(allocation) == [(0, 0.0, 10.0), (0, 10.0, 18.0), (1, 8.0, 10.0)]


def test_a_machine_is_held_for_the_rest() -> None:
    """Who comes at 7 s, and is worth more, finds no machine before it is done."""
    tasks = [(0.0, LONG, SLOWLY, 1.0), (4.5, SHORT, SOON, 1.0), (7.0, SHORT, EVER, 9.0)]
    allocation = decided(day(tasks))
    assert runs_of(allocation) == [(0, 8.0, 15.0), (0, 6.0, 8.0), (0, 15.0, 17.0)]


def test_nobody_is_suspended_twice_and_only_newcomers_suspend() -> None:
    """The third finds the first, which was cut before, and the second, which ends first; at 9 s it is no newcomer."""
    tasks = [(0.0, LONG, SLOWLY, 1.0), (4.5, SHORT, SOON, 1.0), (8.5, SHORT, SOON, 1.0)]
    allocation = decided(day(tasks))
    assert pieces_of(allocation) == [(0, 0, 0.0, 6.0)]
    assert runs_of(allocation)[2] == (0, 15.0, 17.0)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"environment": "queued"}, 'manager.preempts: found true where machines have queues; .* "polled"'),
        ({"mapping_time": "given"}, "manager.mapping_time: found 'given' with preempts"),
        ({"checkpoint_s": -1.0}, "manager.checkpoint: found -1.0 s; must be 0 s or more, and finite"),
        ({"restart_s": math.inf}, "manager.restart: found inf s"),
        ({"policy": POLICIES["max-upt"]}, "found environment, preempts with the policy max-upt; immediate mode"),
    ],
    ids=["queues", "mapping time", "checkpoint", "restart", "immediate"],
)
def test_managers_that_cannot_suspend_are_refused(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        replace(WILLING, **changes)


SLEEPERS = Standby(*(np.array([value]) for value in (10.0, 2.0, 50.0, 4.0, 6.0)))


@pytest.mark.parametrize(
    ("world", "reason"),
    [
        (replace(URGENT, supply=Supply(1e6)), "limits of energy or power"),
        (replace(URGENT, supply=Supply(cap_w=np.full(1, 1e6))), "limits of energy or power"),
        (replace(URGENT, outages=Outages([0], [14.0], [30.0])), "uncertain times or failures"),  # type: ignore[arg-type]
        (replace(URGENT, workload=replace(URGENT.workload, stretch=np.ones(2))), "uncertain times or failures"),
        (replace(URGENT, system=replace(URGENT.system, standby=SLEEPERS)), "machines that sleep"),
        (replace(URGENT, workload=replace(URGENT.workload, rise_s=np.zeros(2))), "utilities that rise first"),
    ],
    ids=["budget", "cap", "failures", "uncertain", "sleep", "rise"],
)
def test_worlds_in_which_nobody_can_be_suspended_are_refused(world: World, reason: str) -> None:
    with pytest.raises(InputError, match=f"manager.preempts: found true in a world with {reason}"):
        simulate(world, WILLING)


# What the validator sees


SOUND = allocation_of([(0, 8.0, 15.0, RAN), (0, 6.0, 8.0, RAN)], pieces=[(0, 0, 0.0, 6.0)])


def damaged(pieces: Sequence[Stretch] = ((0, 0, 0.0, 6.0),), **columns: Any) -> Allocation:
    return replace(SOUND, pieces=broken(pieces), **columns)


@pytest.mark.parametrize(
    ("allocation", "line"),
    [
        (damaged([]), "task 0: end_s: found 15.0; expected 18.0 (start plus ETC)"),
        (damaged([(0, 0, 0.0, 5.5)]), "end_s of a piece: found 5.5; expected a mapping event after its start"),
        (damaged(end_s=np.array([14.0, 8.0])), "found 12.0; expected 13.0 (ETC, checkpoint and restart)"),
        (damaged(end_s=np.array([11.0, 8.0])), "suspended task: found 9.0; expected 10.0 (its ETC) or more"),
        (damaged([(0, 0, 0.0, 3.0), (0, 0, 3.0, 6.0)]), "task 0: number of pieces: found 2; expected 1 at most"),
        (damaged([(7, 0, 0.0, 6.0)]), "task of a piece: found 7; expected a number from 0 to 1"),
        (damaged(start_s=np.array([9.5, 6.0]), end_s=np.array([16.5, 8.0])), "start_s: found 9.5; expected a mapping"),
        (damaged(start_s=np.array([8.0, 7.0])), "task right behind a piece: found none; expected the one that took"),
    ],
    ids=["no piece", "between events", "restart", "too short", "twice", "nobody", "idle before", "no newcomer"],
)
def test_damage_is_seen(allocation: Allocation, line: str) -> None:
    lines = check_allocation(URGENT, allocation, WILLING)
    assert any(line in each for each in lines), lines


def test_pieces_without_preemption_are_seen() -> None:
    lines = check_allocation(URGENT, SOUND, replace(WILLING, preempts=False))
    assert any("fate of a piece: found suspended; expected lost, because nothing preempts" in line for line in lines)


def test_a_taker_that_came_long_before_is_seen() -> None:
    early = replace(URGENT, workload=replace(URGENT.workload, arrival_s=np.array([0.0, 2.5])))
    lines = check_allocation(early, SOUND, WILLING)
    assert any("task 1: first mapping event: found 3.0; expected 5.0 (when it suspended another)" in x for x in lines)


def test_stretches_on_two_types_of_machines_are_seen() -> None:
    system = simple_system([[10.0, 10.0], [2.0, 2.0]], [1, 1], [[100.0] * 2] * 2)
    lines = check_allocation(replace(URGENT, system=system), replace(SOUND, machine=np.array([1, 0])), WILLING)
    assert any("machine type of a stretch" in line for line in lines)


@pytest.mark.thorough("four hundred days")
def test_scenarios_have_suspended_tasks() -> None:
    """In a fair part of the drawn worlds somebody is suspended."""
    suspended = []

    @settings(max_examples=400, derandomize=True)  # a share is judged, which new draws would change by a third
    @given(scenario=KINDS["preempting"]())
    def look(scenario: ManagedScenario) -> None:
        suspended.append(bool(managed_plan(scenario.world, scenario.manager(POLICIES["max-max-upt"])).pieces))

    look()
    assert np.mean(suspended) > 0.05
