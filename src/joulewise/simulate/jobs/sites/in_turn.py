"""Queues by size in turn, as the kernels of a site see them."""

from __future__ import annotations

import numpy as np

from joulewise.kernels.jobs.sites.turns import Turns
from joulewise.model.arrays import Floats
from joulewise.model.site import Site
from joulewise.simulate.jobs.arrays import classes_of_size
from joulewise.simulate.jobs.scheduler import Scheduler


def turns_of(site: Site, resources: Floats, scheduler: Scheduler) -> Turns:
    """Each queue of a site has three by size, of jobs of so many core-seconds; nothing where jobs have no turns."""
    per_cycle = scheduler.per_cycle if scheduler.policy.rule == "in-queues" else ()
    n_queues = len(site.partitions) + len(site.kept.names)
    return Turns(
        classes_of_size(resources, scheduler.queue_thresholds),
        np.array(per_cycle, np.int64),
        np.zeros((n_queues, 3), np.int64),
    )
