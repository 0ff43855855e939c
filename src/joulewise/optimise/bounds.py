"""What could be earned at most, by reasoning on each task alone."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from joulewise.model.arrays import Floats
from joulewise.model.workload import Workload
from joulewise.model.world import World

BoundKind: TypeAlias = Literal["prices", "trivial"]


def _fastest_s(world: World) -> Floats:
    """How long each task takes on its fastest machine."""
    system, work = world.system, world.workload
    fastest_s = system.etc_s[:, system.counts > 0, :].min(axis=(1, 2))[work.task_type]
    return np.asarray(fastest_s if work.stretch is None else work.stretch * fastest_s)


def maximum_utility(world: World) -> float:
    """The published yardstick: all tasks start on arrival on their fastest machines (Friese 2.7.1).

    Those whose utility rises start as much later as lets them complete when it has risen. Only completions that fall
    into the counted window then are summed, or the shares of runs in it. A task of the warm-up that completes later,
    inside the window, can earn on top of it: `utility_ceiling` is the bound that nothing exceeds.
    """
    work, fastest_s = world.workload, _fastest_s(world)
    end_s = np.maximum(work.arrival_s + fastest_s, work.peak_at_s)
    share = work.in_window(end_s).astype(float)
    if work.is_prorated:
        inside_s = np.minimum(end_s, work.end_s) - np.maximum(work.arrival_s, work.start_s)
        share = np.maximum(inside_s, 0.0) / fastest_s
    counted = np.flatnonzero(share)
    return float((share[counted] * work.most_from(counted, end_s[counted])).sum())


def utility_ceiling(world: World) -> float:
    """A proven upper bound: no policy earns more in the counted window, however many machines of a type it has.

    A task completes no sooner than on its fastest machine and, once its utility has risen, earns no more by completing
    later. So its best completion in the window is the earlier end of what remains of it, or where it has risen as far
    as it does. Where runs count by their share in the window, no run has more of it inside than one on the fastest
    machine from the window's start or the arrival on.
    """
    return ceiling(world.workload, _fastest_s(world))


def ceiling(work: Workload, fastest_s: Floats) -> float:
    """What tasks could earn at most in the counted window if none took less time than this, or ended at infinity."""
    some = np.flatnonzero(np.isfinite(fastest_s))
    arrival_s, fastest_s = work.arrival_s[some], fastest_s[some]
    soonest_s = np.maximum(arrival_s + fastest_s, work.start_s)
    share = (soonest_s <= work.end_s).astype(float)
    if work.is_prorated:
        share = np.clip((work.end_s - np.maximum(arrival_s, work.start_s)) / fastest_s, 0.0, 1.0)
    return float((share * work.most_from(some, soonest_s) * work.risen_part(some, work.end_s)).sum())
