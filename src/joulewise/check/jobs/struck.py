"""Which stretches of running on a site end as a node fails."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from joulewise.check.findings import rounding_s
from joulewise.model.arrays import Bools, Counts, Floats, Ints
from joulewise.model.jobs import JobAllocation, JobWorld


def are_struck(world: JobWorld, allocation: JobAllocation, of: Ints, began_s: Floats) -> Bools:
    """Which stretches of running, by their jobs and starts, end as a node that they have fails."""
    found: set[tuple[int, float]] = set()
    if world.site is None or allocation.places is None or not world.site.failures.n_failures:
        return np.zeros(of.size, np.bool_)
    job, start_s, end_s = runs_at(world, allocation)
    for rows, gone_s, _ in by_failure(world, allocation):
        ends = rows[np.abs(end_s[rows] - gone_s) <= rounding_s(np.array(gone_s))]
        found |= set(zip(job[ends].tolist(), start_s[ends].tolist(), strict=True))
    return np.array([key in found for key in zip(of.tolist(), began_s.tolist(), strict=True)], np.bool_)


def runs_at(world: JobWorld, allocation: JobAllocation) -> tuple[Ints, Floats, Floats]:
    """Whose each of the places was, from when to when; nobody's where there is no such job, or no such stretch."""
    places, lost = allocation.places, allocation.pieces
    assert places is not None
    is_job = (places.job >= 0) & (places.job < world.n_jobs)
    job = np.where(is_job, places.job, 0)
    before = is_job & (places.stretch_of >= 0) & (places.stretch_of < lost.job.size)
    of = np.where(before, places.stretch_of, 0)
    times = []
    for name in ("start_s", "end_s"):
        at_s = np.where(is_job, getattr(allocation, name)[job], np.nan)
        times.append(np.where(before, getattr(lost, name)[of], at_s) if lost.job.size else at_s)
    return job, times[0], times[1]


def by_failure(world: JobWorld, allocation: JobAllocation) -> Iterator[tuple[Counts, float, float]]:
    """For each failure the places on its node, and from when to when the node is away."""
    site, places = world.site, allocation.places
    assert site is not None
    assert places is not None
    width = int(site.n_nodes.max(initial=0)) + 1
    node, fails = (of.group * np.int64(width) + of.node for of in (places, site.failures))
    order = np.argsort(node, kind="stable")
    first, last = (np.searchsorted(node[order], fails, side) for side in ("left", "right"))
    columns = (first, last, site.failures.start_s, site.failures.end_s)
    for begin, end, gone_s, back_s in zip(*(column.tolist() for column in columns), strict=True):
        yield order[begin:end], gone_s, back_s
