"""The validator on managed days: nothing to say about what the engine does, and a line for every kind of damage."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from joulewise.check.tasks.allocation import check_allocation
from joulewise.check.tasks.clocks import by_arrivals
from joulewise.check.tasks.recompute import recompute
from joulewise.errors import InputError
from joulewise.model import Outages, Supply, Tag, World, linear
from joulewise.policies.tasks.table import POLICIES
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.measures import measures
from joulewise.simulate.tasks.serial import simulate
from tests.simulate.tasks.test_measures import DROPPED, KILLED, NEVER, ONE_SLEEPER, RAN, Run, allocation_of
from tests.strategies.managed_worlds import KINDS, ManagedScenario
from tests.strategies.simple_worlds import simple_system, simple_workload

NAMES = ("max-max-util", "max-max-upt", "max-max-upe", "weighted-util", "prices", "fcfs-p0", "random-batch")


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_nothing_to_say_about_what_managers_do(kind: str, data: st.DataObject) -> None:
    scenario: ManagedScenario = data.draw(KINDS[kind]())
    manager = scenario.manager(POLICIES[data.draw(st.sampled_from(NAMES))])
    try:
        outcome = simulate(scenario.world, manager)
    except InputError:  # a class that the world does not have, or a filter without a budget
        reject()
    assert check_allocation(scenario.world, outcome.allocation, manager) == []
    found = measures(scenario.world, outcome)
    for name, value in recompute(scenario.world, outcome.allocation).items():
        assert found[name] == pytest.approx(value, rel=1e-9, abs=1e-9, nan_ok=True), name


MANAGER = Manager(POLICIES["max-max-util"], mapping_interval_s=10.0)
POLLED = replace(MANAGER, environment="polled")
BY_TWO = replace(MANAGER, mapping_arrivals=2)


def day(power_w: float = 100.0, **others: Any) -> World:
    """Two machines, 10 s a task, six tasks at 0 s, a window that ends at 95 s."""
    system = simple_system([[10.0]], [2], [[power_w]])
    work = simple_workload([0.0] * 6, shape=linear(500.0), end_s=95.0)
    return World(
        replace(system, standby=others.pop("standby", None)), replace(work, **others.pop("work", {})), **others
    )


def lines_about(world: World, manager: Manager, *runs: Run, lost: Any = ()) -> list[str]:
    filled = [*runs, *[NEVER] * (world.workload.n_tasks - len(runs))]
    return check_allocation(world, allocation_of(filled, lost), manager)


OUTAGE = Outages([0], [14.0], [30.0])  # type: ignore[arg-type]
LIMITED = Supply(2000.0, day_s=50.0)
BARELY = Supply(50 * 2 * 10.0 + 10 * 90.0 + 4 * 40.0, day_s=50.0)
"""Enough for two idle machines, a run and a boot, all on top of an idle machine."""
STRETCHED = {"stretch": np.array([1.0, 2.0, 3.0, 1.0, 1.0, 1.0])}
KILLER = replace(MANAGER, kill_factor=2.0)
RISING = {"rise_s": np.full(6, 35.0), "hold_s": np.full(6, 40.0)}
PATIENT = replace(MANAGER, policy=POLICIES["patient-upt"], dropping_threshold=0.5)
CLASSED = {"tags": {"level": Tag(("low", "high"), np.array([0, 0, 1, 1, 1, 1]))}}
PICKY = replace(MANAGER, dropping_threshold=0.5, class_thresholds={"high": 0.99})
ARRIVALS = {"arrival_s": np.array([3.0, 4.0, 5.0, 17.0, 18.0, 19.0])}

SOUND: dict[str, tuple[World, Manager, list[Run], list[Any]]] = {
    "stretched": (day(work=STRETCHED), MANAGER, [(0, 0.0, 10.0, RAN), (0, 10.0, 30.0, RAN)], []),
    "killed": (day(work=STRETCHED), KILLER, [NEVER, (0, 0.0, 20.0, RAN), (1, 0.0, 20.0, KILLED)], []),
    "lost and run again": (day(outages=OUTAGE), MANAGER, [(0, 30.0, 40.0, RAN)], [(0, 0, 10.0, 14.0)]),
    "within the budget": (day(supply=LIMITED), MANAGER, [(0, 0.0, 10.0, RAN), (0, 40.0, 50.0, RAN)], []),
    "the last of a day goes over into the next": (
        day(supply=Supply(1000.0, day_s=15.0)), MANAGER, [(0, 10.0, 20.0, RAN), (1, 10.0, 20.0, RAN)], [],
    ),
    "below the cap": (day(supply=Supply(cap_w=np.array([100.0]))), MANAGER, [(0, 0.0, 10.0, RAN)], []),
    "polled": (day(supply=LIMITED), POLLED, [(0, 0.0, 10.0, RAN), (0, 10.0, 20.0, RAN)], []),
    "woken up": (day(standby=ONE_SLEEPER, supply=BARELY), MANAGER, [(0, 14.0, 24.0, RAN)], []),
    "events by arrivals": (
        day(work=ARRIVALS, supply=LIMITED), BY_TWO, [(0, 4.0, 14.0, RAN), NEVER, (1, 14.0, 24.0, RAN)], [],
    ),
    "a task waits for its peak": (day(work=RISING), PATIENT, [(0, 30.0, 40.0, RAN)], []),
    "a task may wait where energy is short": (day(supply=LIMITED), MANAGER, [], []),
}  # fmt: skip


@pytest.mark.parametrize(("world", "manager", "runs", "lost"), SOUND.values(), ids=SOUND.keys())
def test_nothing_to_say_about_a_valid_day(world: World, manager: Manager, runs: list[Run], lost: list[Any]) -> None:
    """Whether somebody waits without a cause is another question."""
    lines = lines_about(world, manager, *runs, lost=lost)
    assert [line for line in lines if "it waits though" not in line] == []


DAMAGE: dict[str, tuple[World, Manager, list[Run], list[Any], str]] = {
    "did not wait for its peak": (
        day(work=RISING), PATIENT, [(0, 20.0, 30.0, RAN)], [],
        "task 0: end_s: found 30.0; expected 35.0 (its peak) or later",
    ),
    "dropped before its peak": (
        day(work={"rise_s": np.full(6, 150.0), "hold_s": np.full(6, 200.0)}), replace(MANAGER, dropping_threshold=0.9),
        [(-1, math.nan, math.nan, DROPPED)], [],
        "task 0: utility that a dropped task could still have earned: found 1.0; expected less than 0.9",
    ),
    "stretch forgotten": (
        day(work=STRETCHED), MANAGER, [NEVER, (0, 0.0, 10.0, RAN)], [], "expected 20.0 (start plus ETC)",
    ),
    "killed too late": (
        day(work=STRETCHED), KILLER, [NEVER, NEVER, (1, 0.0, 25.0, KILLED)], [], "expected 20.0 (the kill limit)",
    ),
    "not killed": (
        day(work=STRETCHED), KILLER, [NEVER, NEVER, (1, 0.0, 30.0, RAN)], [],
        "task 2: time over ETC of a task with status RAN: found 3.0; expected at most 2.0 (the kill limit)",
    ),
    "killed in time": (
        day(work=STRETCHED), KILLER, [(1, 0.0, 10.0, KILLED)], [],
        "task 0: time over ETC of a task with status KILLED: found 1.0; expected more than 2.0 (the kill limit)",
    ),
    "killed after its time": (
        day(), KILLER, [(1, 0.0, 11.0, KILLED)], [], "end_s of a run that was killed or lost: found 11.0",
    ),
    "run through an outage": (
        day(outages=OUTAGE), MANAGER, [(0, 10.0, 20.0, RAN)], [], "expected 30.0 or later, when its machine is up",
    ),
    "run on a machine that is down": (
        day(outages=OUTAGE), MANAGER, [(0, 20.0, 30.0, RAN)], [], "found 20.0; expected 30.0 or later",
    ),
    "lost without an outage": (
        day(outages=OUTAGE), MANAGER, [], [(0, 1, 10.0, 14.0)],
        "task 0: end_s of a lost run: found 14.0; expected the start of an outage of its machine",
    ),
    "lost by nobody": (
        day(outages=OUTAGE), MANAGER, [], [(9, 0, 10.0, 14.0)],
        "task 9: task of a lost run: found 9; expected a number from 0 to 5",
    ),
    "lost on a machine that is not there": (
        day(outages=OUTAGE), MANAGER, [], [(0, 7, 10.0, 14.0)], "task 0: machine: found 7",
    ),
    "a lost run keeps its machine": (
        day(outages=OUTAGE), MANAGER, [NEVER, (0, 0.0, 10.0, RAN)], [(0, 0, 0.0, 14.0)], "or later, when its machine",
    ),
    "run again before it was lost": (
        day(outages=OUTAGE), MANAGER, [(1, 10.0, 20.0, RAN)], [(0, 0, 10.0, 14.0)],
        "task 0: start_s: found 10.0; expected an instant after its lost runs",
    ),
    "a run too many for the day": (
        day(supply=LIMITED), MANAGER, [(0, 0.0, 10.0, RAN), (0, 10.0, 20.0, RAN), (0, 40.0, 50.0, RAN)], [],
        "day 0: energy over idle machines: found 3000.0 J; expected 2000.0 J or less",
    ),
    "a run too many for the second day": (
        day(supply=Supply(1000.0, day_s=50.0)), MANAGER, [(0, 50.0, 60.0, RAN), (1, 50.0, 60.0, RAN)], [],
        "day 1: energy over idle machines: found 2000.0 J; expected 1000.0 J or less",
    ),
    "too much for the total": (
        day(supply=Supply(1900.0, is_total=True, day_s=50.0)), MANAGER, [(0, 0.0, 10.0, RAN)], [],
        "day 0: energy over idle machines: found 1000.0 J; expected 950.0 J or less",
    ),
    "more than the total leaves": (
        day(supply=Supply(2600.0, is_total=True, day_s=50.0)), MANAGER,
        [(0, 0.0, 10.0, RAN), (0, 50.0, 60.0, RAN), (1, 50.0, 60.0, RAN)], [],
        "day 1: energy over idle machines: found 2000.0 J; expected 1600.0 J or less",
    ),
    "cooling forgotten": (
        day(supply=Supply(1400.0, day_s=50.0, pue=1.5)), MANAGER, [(0, 0.0, 10.0, RAN)], [], "found 1500.0 J",
    ),
    "boot forgotten": (
        day(standby=ONE_SLEEPER, supply=replace(BARELY, budget_j=BARELY.budget_j - 1)), MANAGER,
        [(0, 14.0, 24.0, RAN)], [], "day 0: energy over idle machines: found 1060.0 J; expected 1059.0 J or less",
    ),
    "above the cap": (
        day(supply=Supply(cap_w=np.array([150.0]))), MANAGER, [(0, 0.0, 10.0, RAN), (1, 0.0, 10.0, RAN)], [],
        "power at 0.0 s: found 200.0 W; expected 150.0 W or less (one of 1 instants)",
    ),
    "above the cap of the next hour": (
        day(supply=Supply(cap_w=np.array([150.0, 50.0])), work={"end_s": 4000.0}), MANAGER, [(0, 3595.0, 3605.0, RAN)],
        [], "power at 3600.0 s: found 100.0 W; expected 50.0 W or less",
    ),
    "above the cap beside idle machines": (
        day(standby=ONE_SLEEPER, supply=Supply(cap_w=np.array([105.0]))), MANAGER, [(0, 14.0, 24.0, RAN)], [],
        "power at 14.0 s: found 110.0 W; expected 105.0 W or less",
    ),
    "a queue in the polled environment": (
        day(), replace(POLLED, mapping_interval_s=4.0), [(0, 0.0, 10.0, RAN), (0, 10.0, 20.0, RAN)], [],
        "task 1: start_s: found 10.0; expected a mapping event",
    ),
    "no time to boot": (
        day(standby=ONE_SLEEPER), MANAGER, [(0, 13.0, 23.0, RAN)], [], "start_s: found 13.0; expected a mapping",
    ),
    "start before the second arrival": (
        day(work=ARRIVALS), BY_TWO, [(0, 3.0, 13.0, RAN)], [], "expected 4.0 (the first mapping event after its",
    ),
    "start between events": (
        day(work=ARRIVALS), BY_TWO, [NEVER, NEVER, (0, 15.0, 25.0, RAN)], [], "found 15.0; expected a mapping event",
    ),
    "below the threshold of its class": (
        day(work=CLASSED), PICKY, [NEVER, NEVER, (0, 0.0, 10.0, RAN)], [],
        "task 2: utility from its soonest possible end on: found 0.98; expected 0.99 (the dropping threshold) or more",
    ),
    "dropped above the threshold of its class": (
        day(work=CLASSED, supply=LIMITED), PICKY, [(-1, math.nan, math.nan, DROPPED)], [],
        "expected less than 0.5 (the dropping threshold)",
    ),
    "dropped in a class without a threshold": (
        day(work=CLASSED), replace(MANAGER, class_thresholds={"high": 0.9}), [(-1, math.nan, math.nan, DROPPED)], [],
        "task 0: status: found DROPPED",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("world", "manager", "runs", "lost", "line"), DAMAGE.values(), ids=DAMAGE.keys())
def test_damage_is_found(world: World, manager: Manager, runs: list[Run], lost: list[Any], line: str) -> None:
    found = lines_about(world, manager, *runs, lost=lost)
    assert any(line in each for each in found), found


def test_a_run_goes_to_the_best_types() -> None:
    world = World(simple_system([[10.0, 20.0]]), simple_workload())
    allocation = allocation_of([(1, 0.0, 20.0, RAN)])
    assert check_allocation(world, allocation, MANAGER) == []
    (line,) = check_allocation(world, allocation, replace(MANAGER, best_types=1))
    assert line == "task 0: machine type: found 1; expected one of the 1 machine types that run it fastest"


def test_a_task_may_be_dropped_while_energy_is_short() -> None:
    """Nothing runs; at the last event, 90 s, the first task could be done at 100 s, worth 0.8."""
    world = day(supply=LIMITED)
    for threshold, n_lines in ((0.81, 0), (0.79, 1)):
        manager = replace(MANAGER, dropping_threshold=threshold)
        lines = lines_about(world, manager, (-1, math.nan, math.nan, DROPPED))
        assert len(lines) == n_lines


def test_events_by_arrivals() -> None:
    """Two arrivals make an event at 4 s and at 18 s; 10 s after an event there is another."""
    clock = by_arrivals(ARRIVALS["arrival_s"], 2, 10.0, 40.0)
    assert clock.events_s.tolist() == [0.0, 4.0, 14.0, 18.0, 28.0, 38.0]
    assert clock.first_from(np.array([0.0, 4.5, 18.0, 39.0])).tolist() == [0.0, 14.0, 18.0, math.inf]
    assert clock.last_until(20.0) == 18.0
    assert by_arrivals(ARRIVALS["arrival_s"], 2, math.inf, 40.0).events_s.tolist() == [0.0, 4.0, 17.0, 19.0]
