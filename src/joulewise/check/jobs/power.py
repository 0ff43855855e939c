"""What jobs drew on a site: by the nodes that they had, each of which draws more for what of it is in use."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np

from joulewise.model.arrays import Counts, Floats, Ints
from joulewise.model.jobs import JobAllocation, JobWorld


def drawn_by_places(world: JobWorld, allocation: JobAllocation, job: Ints | Counts, stretch: Ints | Counts) -> Floats:
    """What stretches of jobs, by their numbers among those that were lost or LAST, drew on top of idle nodes."""
    places, by_stretch = allocation.places, defaultdict[tuple[int, int], float](float)
    assert places is not None
    rates: dict[tuple[int, int], float] = {}
    columns = (places.job, places.group, places.pieces, places.stretch_of)
    for of, group, n, number in zip(*(column.tolist() for column in columns), strict=True):
        if 0 <= of < world.n_jobs:
            key = (of, group)
            if key not in rates:
                rates[key] = _piece_w(world, of, group)
            by_stretch[of, number] += n * rates[key]
    rows = zip(job.tolist(), stretch.tolist(), strict=True)
    return np.array([by_stretch.get(row, math.nan) for row in rows], np.float64)


def _piece_w(world: JobWorld, job: int, group: int) -> float:
    """What a piece of a job draws on a node of a group: for whole nodes, with everything in use."""
    site, demands = world.site, world.jobs.demands
    assert site is not None
    assert demands is not None
    assert site.power is not None
    if not 0 <= group < site.n_groups:
        return math.nan
    taken = site.capacity[group] if site.is_counted[group] else demands.need[demands.of_job[job], group]
    return math.fsum(int(n) * float(w) for n, w in zip(taken, site.power.more_w[group], strict=True))


def idle_site_w(world: JobWorld) -> float:
    """What all nodes of a site draw without a job."""
    if world.site is None or world.site.power is None:
        return 0.0
    pairs = zip(world.site.n_nodes.tolist(), world.site.power.idle_w.tolist(), strict=True)
    return math.fsum(n * watts for n, watts in pairs)


def is_by_place(world: JobWorld) -> bool:
    """Whether what a job draws depends on where it runs."""
    return world.site is not None and world.site.power is not None
