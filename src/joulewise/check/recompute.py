"""What an allocation achieved, computed task by task in plain Python, to hold the fast measures against."""

from __future__ import annotations

import math

from joulewise.model import Allocation, Status, World


def recompute(world: World, allocation: Allocation) -> dict[str, float | int]:
    """Utility, energy (J) and counts of a run under the names `measures` gives them.

    A completion counts in the window (start_s, end_s]; energy is power times the seconds inside the window; a
    task counts as arrived in [start_s, end_s].
    """
    work = world.workload
    status = [Status(code) for code in allocation.status.tolist()]
    arrived = [work.start_s <= at_s <= work.end_s for at_s in work.arrival_s.tolist()]
    ran = [task for task, fate in enumerate(status) if fate is Status.RAN]
    ends_s = allocation.end_s.tolist()
    done = [task for task in ran if work.start_s < ends_s[task] <= work.end_s]
    fates = [fate for fate, counts in zip(status, arrived, strict=True) if counts]
    return {
        "utility": math.fsum(_utility(world, task, ends_s[task]) for task in done),
        "tasks_arrived": len(fates),
        "tasks_completed": len(done),
        "tasks_dropped": fates.count(Status.DROPPED),
        "tasks_waiting": fates.count(Status.WAITING),
        "energy_j": math.fsum(_energy_j(world, allocation, task) for task in ran),
    }


def _utility(world: World, task: int, end_s: float) -> float:
    """What one task earns by ending at this instant, straight from the definition of its shape."""
    work, shapes = world.workload, world.workload.shapes
    x_s = max(0.0, end_s - float(work.arrival_s[task]) - float(work.hold_s[task]))
    segment = int(shapes.first[work.shape[task]])
    last = int(shapes.first[work.shape[task] + 1]) - 1
    while segment < last and shapes.start_s[segment + 1] <= x_s:
        segment += 1
    dx_s = x_s - float(shapes.start_s[segment])
    decayed = float(shapes.span[segment]) * math.exp(-float(shapes.rate_per_s[segment]) * dx_s)
    value = float(shapes.level[segment]) + decayed + float(shapes.slope_per_s[segment]) * dx_s
    return float(work.scale[task]) * value


def _energy_j(world: World, allocation: Allocation, task: int) -> float:
    """The power of one task's choice over the seconds it ran inside the window."""
    system, work = world.system, world.workload
    if system.power_w is None:
        return 0.0
    machine_type = system.machine_type[allocation.machine[task]]
    power_w = float(system.power_w[work.task_type[task], machine_type, allocation.pstate[task]])
    from_s = max(float(allocation.start_s[task]), work.start_s)
    to_s = min(float(allocation.end_s[task]), work.end_s)
    return power_w * max(0.0, to_s - from_s)
