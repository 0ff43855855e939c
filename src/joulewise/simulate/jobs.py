"""Parallel jobs over time: the world and a scheduler go in, what became of each job comes out."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from joulewise.model.arrays import Floats
from joulewise.model.jobs import JobAllocation, JobWorld
from joulewise.simulate.scheduler import Scheduler


@dataclass(frozen=True, eq=False)
class JobOutcome:
    """What a scheduler did with a world.

    `n_mapping_events` are those that had jobs to map; `mapping_s` is the wall-clock time that the simulation took.
    Of a policy with prices, `prices` has a row for each event with work: per node-second of each cluster, then per
    joule.
    """

    allocation: JobAllocation
    n_mapping_events: int
    mapping_s: float
    prices: Floats = field(default_factory=lambda: np.empty((0, 0)))


def simulate_jobs(world: JobWorld, scheduler: Scheduler, seed: int = 0, trial: int = 0) -> JobOutcome:
    """Let the scheduler work through the world's jobs, until its window ends or all are done.

    Deterministic: `seed` and `trial` only feed policies that draw at random. Raises InputError when world and
    scheduler do not fit.
    """
    raise NotImplementedError
