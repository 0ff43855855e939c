"""What a run achieved, as flat numbers with units in their names."""

from __future__ import annotations

import numpy as np

from joulewise.model.allocation import Allocation, Status
from joulewise.model.arrays import Floats
from joulewise.model.world import World
from joulewise.simulate.serial import Outcome


def earned_utility(world: World, allocation: Allocation) -> Floats:
    """What each task earned by completing inside the counted window; 0 for all others."""
    earned = np.zeros(allocation.n_tasks)
    done = np.flatnonzero(allocation.ran & world.workload.in_window(allocation.end_s))
    earned[done] = world.workload.utility(done, allocation.end_s[done])
    return earned


def counted_s(world: World, allocation: Allocation) -> Floats:
    """The seconds of each task's execution that lie in the counted window."""
    work = world.workload
    inside = np.minimum(allocation.end_s, work.end_s) - np.maximum(allocation.start_s, work.start_s)
    return np.where(allocation.ran, np.maximum(inside, 0.0), 0.0)


def used_energy_j(world: World, allocation: Allocation) -> Floats:
    """The energy each task's execution used inside the counted window; 0 without power figures."""
    energy_j = np.zeros(allocation.n_tasks)
    if world.system.power_w is not None:
        ran = allocation.ran
        machine_type = world.system.machine_type[allocation.machine[ran]]
        choice = (world.workload.task_type[ran], machine_type, allocation.pstate[ran])
        energy_j[ran] = world.system.power_w[choice] * counted_s(world, allocation)[ran]
    return energy_j


def measures(world: World, outcome: Outcome) -> dict[str, float | int]:
    """The metrics of a run over the counted window; tasks are counted by the window they arrive in."""
    allocation, work = outcome.allocation, world.workload
    arrived = work.in_window(work.arrival_s) | (work.arrival_s == work.start_s)
    done = allocation.ran & work.in_window(allocation.end_s)
    busy_s = counted_s(world, allocation)
    return {
        "utility": float(earned_utility(world, allocation).sum()),
        "tasks_arrived": int(arrived.sum()),
        "tasks_completed": int(done.sum()),
        "tasks_dropped": int((arrived & (allocation.status == Status.DROPPED)).sum()),
        "tasks_waiting": int((arrived & (allocation.status == Status.WAITING)).sum()),
        "energy_j": float(used_energy_j(world, allocation).sum()),
        "busy_percent": 100 * float(busy_s.sum()) / (world.system.n_machines * _window_s(world, allocation)),
        "mapping_events": outcome.n_counted_events,
        "mapping_s": outcome.mapping_s,
    }


def _window_s(world: World, allocation: Allocation) -> float:
    """The length of the counted window; one without an end lasts until the last completion."""
    last_s = np.nanmax(allocation.end_s, initial=world.workload.arrival_s[-1])
    return float(max(min(world.workload.end_s, last_s) - world.workload.start_s, np.finfo(float).tiny))
