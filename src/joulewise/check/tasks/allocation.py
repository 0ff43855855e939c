"""The independent validator of allocations of serial tasks: rules in tables, one line per finding."""

from __future__ import annotations

from joulewise.check.tasks.case import Case, ManagerLike
from joulewise.check.tasks.manager import RULES_OF_ANY_MANAGER, RULES_OF_MODE
from joulewise.check.tasks.rows import ROW_RULES
from joulewise.check.tasks.runs import RUN_RULES, sound_runs
from joulewise.model import Allocation, World


def check_allocation(world: World, allocation: Allocation, manager: ManagerLike | None = None) -> list[str]:
    """Everything that is wrong with an allocation, one line each; empty when it is valid.

    Without a manager only physics is checked: choices that exist, times that follow from them, one task at a
    time on a machine that is up. With one, its mode, mapping events, environment, thresholds and kill limit as
    well, and the energy and power that the world allows. Instants are held equal up to a few units in the last
    place, durations and utilities up to 1e-9 of themselves.
    """
    n_tasks = world.workload.n_tasks
    if allocation.n_tasks != n_tasks:
        return [f"allocation: found {allocation.n_tasks} tasks; expected the {n_tasks} of the workload"]
    lines = [line for rule in ROW_RULES for line in rule(world, allocation)]
    runs = sound_runs(world, allocation)
    lines += [line for rule in RUN_RULES for line in rule(world, runs)]
    if manager is not None:
        case = Case(world, allocation, runs, manager)
        rules = (*RULES_OF_ANY_MANAGER, *RULES_OF_MODE[manager.policy.mode])
        lines += [line for rule in rules for line in rule(case)]
    return lines
