"""What holds for every allocation of tasks to machines, whatever decided."""

from __future__ import annotations

from joulewise.check.rows import ROW_RULES
from joulewise.check.runs import RUN_RULES, sound_runs
from joulewise.model import Allocation, World


def has_all_tasks(world: World, allocation: Allocation) -> bool:
    """Whether an allocation has a row for each task of the workload."""
    return allocation.n_tasks == world.workload.n_tasks


def check_physics(world: World, allocation: Allocation) -> list[str]:
    """Everything impossible in an allocation, one line each: choices, times, two tasks at once on a machine."""
    if not has_all_tasks(world, allocation):
        n_tasks = world.workload.n_tasks
        return [f"allocation: found {allocation.n_tasks} tasks; expected the {n_tasks} of the workload"]
    lines = [line for rule in ROW_RULES for line in rule(world, allocation)]
    runs = sound_runs(world, allocation)
    return [*lines, *(line for rule in RUN_RULES for line in rule(world, runs))]
