"""Budgets of energy that leave jobs of a study without any, found without simulating anything."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from joulewise.errors import Problem
from joulewise.study.jobs.worlds import Scene
from joulewise.units import count, energy

if TYPE_CHECKING:
    from joulewise.model.arrays import Floats
    from joulewise.model.jobs import JobWorld

_SO = "some may never start, and no mean wait has these"


def budgets_too_small(scene: Scene) -> Iterator[Problem]:
    """A budget that is less than what the jobs of a log that come in the counted window use at least."""
    world = scene.world
    supply, work = world.supply, world.jobs.work
    if scene.trace is None or not math.isfinite(supply.budget_j) or not math.isfinite(work.end_s):
        return
    length_s = work.end_s - work.start_s
    n_days = 1 if supply.is_total else math.ceil(length_s / supply.day_s)
    budget_j, needed_j = n_days * supply.budget_j, _least_j(world, length_s)
    if budget_j < needed_j:
        key = "budget_total" if supply.is_total else "budget"
        days = "" if supply.is_total else f" for each of {count(n_days, 'day')}"
        allowed = f"with idle nodes, the jobs that come in the counted window use {energy(needed_j)} or more"
        yield Problem(f"supply.{key}", f"found {energy(supply.budget_j)}{days}", allowed, _SO)


def _least_j(world: JobWorld, length_s: float) -> float:
    """What idle nodes use over the counted window, and jobs that come in it more; 0 where powers are not known."""
    import numpy as np

    types, clusters, work = world.types, world.clusters, world.jobs.work
    idle_w = np.zeros(clusters.n_clusters) if clusters.standby is None else clusters.standby.idle_w
    site_w = 0.0 if world.site is None else world.site.idle_w
    more_j = (types.power_w - types.nodes * idle_w[types.cluster]) * np.minimum(types.time_s, types.allowed_s)
    if np.isnan(more_j).any():
        return 0.0
    comes = (work.arrival_s >= work.start_s) & (work.arrival_s <= work.end_s)
    standing_j = length_s * (float(clusters.n_nodes @ idle_w) + site_w)
    return world.supply.pue * (standing_j + float(_least(world, more_j)[work.task_type[comes]].sum()))


def _least(world: JobWorld, by_option: Floats) -> Floats:
    """The least of the options of each job type; 0 for those without any, which never start."""
    import numpy as np

    first, has_options = world.types.first, np.diff(world.types.first) > 0
    least = np.zeros(has_options.size)
    if has_options.any():
        least[has_options] = np.minimum.reduceat(by_option, first[:-1][has_options])
    return least
