"""Whether nobody has a node of a site that is away, and jobs start while their partitions are up."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from joulewise.check.findings import rounding_s
from joulewise.check.jobs.case import JobCase
from joulewise.check.jobs.struck import by_failure, runs_at
from joulewise.model.kept import FOR_ALL


def nobody_is_on_a_node_that_is_away(case: JobCase) -> Iterator[str]:
    """At no instant between its failure and its return does anything run on a node."""
    world, allocation = case.world, case.allocation
    assert world.site is not None
    assert allocation.places is not None
    if not world.site.failures.n_failures:
        return
    job, start_s, end_s = runs_at(world, allocation)
    slack_s = rounding_s(end_s)
    for rows, gone_s, back_s in by_failure(world, allocation):
        for at in rows[(start_s[rows] < back_s) & (gone_s < end_s[rows] - slack_s[rows])][:1].tolist():
            node = f"node {allocation.places.node[at]} of group {world.site.groups[allocation.places.group[at]]}"
            yield f"{node}: found job {job[at]} there, and it is away from {gone_s!r} s to {back_s!r} s"


def partitions_keep_their_hours(case: JobCase) -> Iterator[str]:
    """Jobs start in partitions that do so at that hour, but for those for which nodes are kept.

    Who was suspended may go on at any.
    """
    site, demands, runs = case.world.site, case.world.jobs.demands, case.stretches.only(~case.goes_on)
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
