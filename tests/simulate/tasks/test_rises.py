"""Utilities that rise before they fall: days worked out by hand, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from joulewise.errors import InputError
from joulewise.model import Status, Workload, World, step
from joulewise.model.supply import Supply
from joulewise.policies.tasks.table import POLICIES
from joulewise.simulate.tasks.managed import manage
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.misfits import misfits
from joulewise.simulate.tasks.serial import simulate
from tests.strategies.simple_worlds import simple_system, simple_workload


def rising(arrival_s: list[float], rise_s: list[float], end_s: float = math.inf) -> Workload:
    """Tasks worth 1 for 5 s after they have risen, and then nothing."""
    work = simple_workload(arrival_s, shape=step(5.0), end_s=end_s)
    return replace(work, rise_s=np.array(rise_s), hold_s=np.array(rise_s))


def starts(world: World, policy: str, threshold: float = 0.5) -> list[float]:
    return list(simulate(world, Manager(POLICIES[policy], threshold, 1.0)).allocation.start_s)


def test_who_has_not_risen_goes_behind_who_has_and_waits_only_where_that_is_wanted() -> None:
    """One machine, runs of 2 s: a task that rises for 10 s, and one that comes at 1 s and falls at 6 s."""
    world = World(simple_system([[2.0]]), rising([0.0, 1.0], [10.0, 0.0]))
    assert starts(world, "max-max-upt") == [0.0, 2.0]
    assert starts(world, "patient-upt") == [8.0, 1.0]


def test_nobody_is_dropped_before_its_peak_nor_kept_after_it() -> None:
    """Runs of 8 s, the first from 2 s on: of two tasks that come at 3 s, one would end too late, and one too early."""
    world = World(simple_system([[8.0]]), rising([0.0, 3.0, 3.0], [10.0, 8.0, 20.0]))
    allocation = simulate(world, Manager(POLICIES["patient-upt"], 0.5, 1.0)).allocation
    assert allocation.status.tolist() == [Status.RAN, Status.DROPPED, Status.RAN]
    assert allocation.start_s[[0, 2]].tolist() == [2.0, 15.0]


def test_a_later_machine_may_complete_nearer_to_the_peak() -> None:
    """On a plain day all machines are looked at: the second, free at 4 s, lets the task end when it has risen."""
    work = replace(rising([0.0, 1.0], [0.0, 5.0]), task_type=np.array([0, 1]))
    world = World(simple_system([[4.0], [2.0]], [2]), work)
    allocation = simulate(world, Manager(POLICIES["max-max-util"], 0.0, 1.0)).allocation
    assert (allocation.machine.tolist(), allocation.start_s.tolist()) == ([0, 0], [0.0, 4.0])


def test_prices_leave_a_machine_to_who_is_worth_more() -> None:
    """At its price a task that has hardly risen is declined, and comes back."""
    work = rising([0.0, 0.0, 1.0], [0.0, 10.0, 0.0], end_s=100.0)
    done = manage(World(simple_system([[2.0]]), work), Manager(POLICIES["prices"], 0.0, 1.0))
    assert done.allocation.start_s[[0, 2]].tolist() == [0.0, 2.0]
    assert done.allocation.start_s[1] >= 4.0


def test_rises_take_budgets() -> None:
    """Energy for one run of 2 s at 1 W a day of 10 s: who rises until 20 s has that of the second day."""
    work = rising([0.0, 8.0], [20.0, 0.0], end_s=60.0)
    world = World(simple_system([[2.0]], [1], [[1.0]]), work, Supply(2.0, day_s=10.0))
    manager = Manager(POLICIES["patient-upt"], 0.5, 1.0)
    assert simulate(world, manager).allocation.start_s.tolist() == [18.0, 8.0]


def test_sufferage_knows_no_rises() -> None:
    world, manager = World(simple_system(), rising([0.0], [1.0])), Manager(POLICIES["sufferage"])
    assert [problem.where for problem in misfits(world, manager)] == ["manager.policy"]
    with pytest.raises(InputError, match="bounds what a task suffers by their fall; use one such as max-max-util"):
        simulate(world, manager)
