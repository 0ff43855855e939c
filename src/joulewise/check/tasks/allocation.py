"""The independent validator of allocations of serial tasks: rules in tables, one line per finding."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from joulewise.check.findings import findings
from joulewise.check.physics import check_physics, has_all_tasks
from joulewise.check.runs import sound_runs
from joulewise.check.tasks.case import ManagedCase, ManagerLike
from joulewise.check.tasks.manager import RULES_OF_ANY_MANAGER, RULES_OF_MODE
from joulewise.model import Allocation, World
from joulewise.model.groups import MachineGroup, divided


def check_allocation(world: World, allocation: Allocation, manager: ManagerLike | None = None) -> list[str]:
    """Everything that is wrong with an allocation, one line each; empty when it is valid.

    Without a manager only physics is checked: choices that exist, times that follow from them, one task at a
    time on a machine that is up. With one, its mode, mapping events, environment, thresholds and kill limit as
    well, and the energy and power that the world allows. Instants are held equal up to a few units in the last
    place, durations and utilities up to 1e-9 of themselves.
    """
    lines = check_physics(world, allocation)
    if manager is not None and has_all_tasks(world, allocation):
        for group in divided(world, manager.groups, manager.dealing):
            lines += _stays_within(group, allocation)
            lines += _kept_rules(group.world, group.part_of(allocation), manager)
    return lines


def _kept_rules(world: World, allocation: Allocation, manager: ManagerLike) -> Iterator[str]:
    case = ManagedCase(world, allocation, sound_runs(world, allocation), manager)
    for rule in (*RULES_OF_ANY_MANAGER, *RULES_OF_MODE[manager.policy.mode]):
        yield from rule(case)


def _stays_within(group: MachineGroup, allocation: Allocation) -> Iterator[str]:
    """Tasks run on machines of the group to which they were dealt."""
    machine = allocation.machine[group.task]
    wrong = (machine >= 0) & ~np.isin(machine, group.machine)
    yield from findings("machine", group.task[wrong], machine[wrong], "one of the group to which the task was dealt")
