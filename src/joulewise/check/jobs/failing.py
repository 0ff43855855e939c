"""Whether nobody has a node of a site that is away, and who was stopped as a node failed had a piece there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from joulewise.check.findings import rounding_s
from joulewise.model.arrays import Bools, Counts, Floats, Ints
from joulewise.model.jobs import JobAllocation, JobWorld
from joulewise.model.kept import FOR_ALL

if TYPE_CHECKING:
    from joulewise.check.jobs.case import JobCase, JobStretches


def are_struck(world: JobWorld, allocation: JobAllocation, runs: JobStretches) -> Bools:
    """Which stretches of running end as a node that they have fails."""
    found: set[tuple[int, float]] = set()
    if world.site is None or allocation.places is None or not world.site.failures.n_failures:
        return np.zeros(runs.job.size, np.bool_)
    job, start_s, end_s = _runs_at(world, allocation)
    for rows, gone_s, _ in _by_failure(world, allocation):
        ends = rows[np.abs(end_s[rows] - gone_s) <= rounding_s(np.array(gone_s))]
        found |= set(zip(job[ends].tolist(), start_s[ends].tolist(), strict=True))
    return np.array([key in found for key in zip(runs.job.tolist(), runs.start_s.tolist(), strict=True)], np.bool_)


def nobody_is_on_a_node_that_is_away(case: JobCase) -> Iterator[str]:
    """At no instant between its failure and its return does anything run on a node."""
    world, allocation = case.world, case.allocation
    assert world.site is not None
    assert allocation.places is not None
    if not world.site.failures.n_failures:
        return
    job, start_s, end_s = _runs_at(world, allocation)
    slack_s = rounding_s(end_s)
    for rows, gone_s, back_s in _by_failure(world, allocation):
        for at in rows[(start_s[rows] < back_s) & (gone_s < end_s[rows] - slack_s[rows])][:1].tolist():
            node = f"node {allocation.places.node[at]} of group {world.site.groups[allocation.places.group[at]]}"
            yield f"{node}: found job {job[at]} there, and it is away from {gone_s!r} s to {back_s!r} s"


def partitions_keep_their_hours(case: JobCase) -> Iterator[str]:
    """Jobs start in partitions that do so at that hour, but for those for which nodes are kept."""
    site, demands, runs = case.world.site, case.world.jobs.demands, case.stretches
    assert site is not None
    assert demands is not None
    kind = demands.of_job[runs.job]
    for partition, name in enumerate(site.partitions):
        rows = np.flatnonzero(site.hours.partition == partition)
        mine = np.flatnonzero((demands.partition[kind] == partition) & (demands.kept_of[kind] == FOR_ALL))
        last = np.searchsorted(site.hours.at_s[rows], runs.start_s[mine], "right")
        is_up = np.concatenate(([True], site.hours.is_up[rows]))[last]
        for at in mine[~is_up][:1].tolist():
            yield f"job {runs.job[at]}: found a start at {float(runs.start_s[at])!r} s, when partition {name} is not up"


def stopped_as_the_site_says(case: JobCase) -> Iterator[str]:
    """Who lost a node runs again only where the site requeues."""
    from joulewise.check.jobs.case import LOST, job_findings

    assert case.world.site is not None
    if case.world.site.requeues:
        return
    wrong = case.stretches.only((case.stretches.fate == LOST) & case.is_struck)
    yield from job_findings(
        "stretches of a job that lost a node", wrong.job, wrong.end_s, "none: it does not run again"
    )


def _runs_at(world: JobWorld, allocation: JobAllocation) -> tuple[Ints, Floats, Floats]:
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


def _by_failure(world: JobWorld, allocation: JobAllocation) -> Iterator[tuple[Counts, float, float]]:
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
