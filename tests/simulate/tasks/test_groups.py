"""Machines in groups: each group does what its manager alone would do, and no machine or task is in two of them."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from joulewise.check.tasks.allocation import check_allocation
from joulewise.errors import InputError
from joulewise.model import World
from joulewise.model.groups import Dealing, can_be_divided, divided
from joulewise.policies.tasks.table import POLICIES
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.misfits import misfits
from joulewise.simulate.tasks.serial import simulate
from tests.strategies.cases import cases
from tests.strategies.managed_worlds import KINDS, ManagedScenario
from tests.strategies.simple_worlds import busy_world, simple_system, simple_workload
from tests.twins.tasks.managed import managed_plan

COLUMNS = ("pstate", "start_s", "end_s", "status")


def dealt(world: World, n: int, dealing: str) -> list[int]:
    """The group of each task, word for word: by turns, or whoever is done first with the mean times dealt to it.

    Suited are groups with a machine of the type, of those that have any, that is first of the fastest.
    """
    system, work = world.system, world.workload
    n_machines = [len(range(g, system.n_machines, n)) for g in range(n)]
    done_s, groups = [0.0] * n, []
    for i in range(work.n_tasks):
        times_s = [s for s in system.etc_s[work.task_type[i], :, 0].tolist() if s < np.inf]
        done_s = [max(at_s, float(work.arrival_s[i])) for at_s in done_s]
        machine_s = system.etc_s[work.task_type[i], system.machine_type, 0].tolist()
        best_type = system.machine_type[machine_s.index(min(machine_s))]
        owners = [g for g in range(n) if dealing != "suited" or best_type in system.machine_type[g::n]]
        groups.append(i % n if dealing == "in-turn" else min(owners, key=lambda g: (done_s[g], g)))
        done_s[groups[-1]] += sum(times_s) / len(times_s) / n_machines[groups[-1]]
    return groups


@pytest.mark.parametrize("kind", ["limited", "uncertain"])
@cases(divided_by=5)
@given(data=st.data())
def test_groups_do_what_the_twin_does_in_each(kind: str, data: st.DataObject) -> None:
    scenario: ManagedScenario = data.draw(KINDS[kind]())
    world, dealing = scenario.world, data.draw(st.sampled_from(get_args(Dealing)))
    assume(can_be_divided(world.system, 2))
    alone = scenario.manager(POLICIES["max-max-util"])
    manager = replace(alone, groups=2, dealing=dealing)
    assume(not misfits(world, manager))
    allocation, groups = simulate(world, manager).allocation, dealt(world, 2, dealing)
    assert check_allocation(world, allocation, manager) == []
    for group in divided(world, 2, dealing):
        assert [g for g in groups if g == groups[group.task[0]]] == [groups[i] for i in group.task.tolist()]
        expected, machines = managed_plan(group.world, alone), group.machine
        for column in COLUMNS:
            np.testing.assert_array_equal(getattr(allocation, column)[group.task], getattr(expected, column), column)
        placed = np.where(expected.machine < 0, -1, machines[expected.machine])
        np.testing.assert_array_equal(allocation.machine[group.task], placed)


def test_two_tasks_that_come_together_go_to_both_groups() -> None:
    """Machine 0 is in the first group, machine 1 in the second; by turns the third task waits for the first machine."""
    world = World(simple_system([[4.0]], [2]), simple_workload([0.0, 0.0, 0.0]))
    allocation = simulate(world, Manager(POLICIES["max-max-util"], mapping_interval_s=1.0, groups=2)).allocation
    assert (allocation.machine.tolist(), allocation.start_s.tolist()) == ([0, 1, 0], [0.0, 0.0, 4.0])


def test_the_validator_sees_a_task_on_a_machine_of_another_group() -> None:
    world = World(simple_system([[4.0]], [2]), simple_workload([0.0, 0.0]))
    manager = Manager(POLICIES["max-max-util"], mapping_interval_s=1.0, groups=2)
    allocation = simulate(world, manager).allocation
    moved = replace(allocation, machine=allocation.machine[::-1].copy())
    assert any("group to which the task was dealt" in line for line in check_allocation(world, moved, manager))


def test_groups_without_a_machine_for_every_task_are_refused() -> None:
    world = World(simple_system([[4.0, np.inf], [4.0, 4.0]], [1, 1]), simple_workload([0.0]))
    manager = Manager(POLICIES["max-max-util"], groups=2)
    assert [problem.where for problem in misfits(world, manager)] == ["manager.groups"]
    with pytest.raises(InputError, match="every group must be able to run every task"):
        simulate(world, manager)


@pytest.mark.parametrize("dealing", ["least-load", "suited"])
@pytest.mark.parametrize("policy", ["max-util", "round-robin", "sufferage", "max-max-upt", "prices"])
def test_a_busy_day_in_groups_conforms(policy: str, dealing: Dealing) -> None:
    world = busy_world(200)
    manager = Manager(POLICIES[policy], 0.5, groups=2, dealing=dealing)
    assert check_allocation(world, simulate(world, manager).allocation, manager) == []
