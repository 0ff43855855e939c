"""A world of parallel jobs as kernels see it."""

from __future__ import annotations

import numpy as np

from joulewise.kernels.jobs.layout import JobFacts, JobOptions
from joulewise.model.conditions import NO_JOB
from joulewise.model.jobs import JobWorld
from joulewise.policies.layout import tasks_of, utilities_of


def job_facts(world: JobWorld) -> JobFacts:
    """The world's arrays for kernels; writable copies, so that all worlds look alike to the compiler."""
    types, work, jobs = world.types, world.jobs.work, world.jobs
    cores = world.clusters.cores_per_node
    options = JobOptions(
        types.first.copy(),
        types.cluster.copy(),
        types.pstate.copy(),
        types.nodes.copy(),
        types.time_s.copy(),
        types.planned_s.copy(),
        types.power_w * world.supply.pue,
        types.energy_j * world.supply.pue,
        types.planned_s * types.nodes * cores[types.cluster],
    )
    n, conditions = jobs.n_jobs, jobs.conditions
    none_before = (np.full(n, NO_JOB, np.int32), np.zeros(n))
    return JobFacts(
        world.clusters.n_nodes.copy(),
        cores.copy(),
        options,
        tasks_of(work),
        utilities_of(work.shapes),
        *(none_before if conditions is None else conditions.one_before(n)),
    )
