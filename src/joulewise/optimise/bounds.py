"""What could be earned at most, by reasoning on each task alone."""

from __future__ import annotations

import numpy as np

from joulewise.model.arrays import Floats
from joulewise.model.world import World


def _soonest_at_s(world: World) -> Floats:
    """When each task would complete if it started on arrival on its fastest machine."""
    system, work = world.system, world.workload
    fastest_s = system.etc_s[:, system.counts > 0, :].min(axis=(1, 2))
    return np.asarray(work.arrival_s + fastest_s[work.task_type])


def maximum_utility(world: World) -> float:
    """The published yardstick: all tasks start on arrival on their fastest machines (Friese 2.7.1).

    Only completions that fall into the counted window then are summed. A task of the warm-up that completes
    later, inside the window, can earn on top of it: `utility_ceiling` is the bound that nothing exceeds.
    """
    done_at_s = _soonest_at_s(world)
    counted = np.flatnonzero(world.workload.in_window(done_at_s))
    return float(world.workload.utility(counted, done_at_s[counted]).sum())


def utility_ceiling(world: World) -> float:
    """A proven upper bound: no policy earns more in the counted window, however many machines of a type it has.

    A task completes no sooner than on its fastest machine and earns no more by completing later, so its best
    completion in the window is the earlier end of what remains of it.
    """
    work = world.workload
    soonest_at_s = np.maximum(_soonest_at_s(world), work.start_s)
    counted = np.flatnonzero(soonest_at_s <= work.end_s)
    return float(work.utility(counted, soonest_at_s[counted]).sum())
