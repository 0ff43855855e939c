"""A world of parallel jobs as kernels see it."""

from __future__ import annotations

import numpy as np

from joulewise.kernels.jobs.layout import JobFacts, JobOptions
from joulewise.model.jobs import NO_JOB, JobWorld
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
    n = jobs.n_jobs
    return JobFacts(
        world.clusters.n_nodes.copy(),
        cores.copy(),
        options,
        tasks_of(work),
        utilities_of(work.shapes),
        np.full(n, NO_JOB, np.int32) if jobs.after is None else jobs.after.copy(),
        np.zeros(n) if jobs.think_s is None else jobs.think_s.copy(),
    )
