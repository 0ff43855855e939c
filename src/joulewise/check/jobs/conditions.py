"""Whether jobs waited for what they had to wait for, and parts of one job started together."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from joulewise.check.jobs.case import JobCase, job_findings
from joulewise.model.arrays import Floats
from joulewise.model.conditions import ALONE, Kind
from joulewise.model.jobs import Fate


def ready_by_conditions(case: JobCase) -> Floats:
    """When each job could start by its conditions, found job by job; infinite where one never came.

    On a site all that is waited for of jobs that are impossible counts as met.
    """
    conditions, arrival_s = case.world.jobs.conditions, case.world.jobs.work.arrival_s
    if conditions is None:
        return arrival_s
    due_s = arrival_s if conditions.begin_s is None else np.maximum(arrival_s, conditions.begin_s)
    found = dict(enumerate(due_s.tolist()))
    did_s, is_site = _did_s(case), case.world.site is not None
    never = set(np.flatnonzero(case.allocation.fate == Fate.IMPOSSIBLE).tolist()) if is_site else set[int]()
    waits: defaultdict[int, list[float]] = defaultdict(list)
    columns = (conditions.job, conditions.on, conditions.kind, conditions.delay_s)
    for job, on, kind, delay_s in zip(*(column.tolist() for column in columns), strict=True):
        waits[job].append(-math.inf if on in never else did_s[kind][on] + delay_s)
    is_first = set() if conditions.any_of is None else set(np.flatnonzero(conditions.any_of).tolist())
    for job, instants in waits.items():
        found[job] = max(found[job], min(instants) if job in is_first else max(instants))
    for parts in parts_of(case):
        latest_s = max(found[job] for job in parts)
        found.update(dict.fromkeys(parts, latest_s))
    return np.array([found[job] for job in range(arrival_s.size)])


def _did_s(case: JobCase) -> dict[int, list[float]]:
    """By what others may wait for, when each job did it; infinite where it did not."""
    allocation, conditions = case.allocation, case.world.jobs.conditions
    used, is_cancelled = allocation.used, allocation.fate == Fate.CANCELLED
    is_bad = allocation.fate == Fate.KILLED
    if conditions is not None and conditions.succeeded is not None:
        is_bad = is_bad & ~conditions.succeeded
    is_bad = is_bad | is_cancelled
    if conditions is not None and conditions.failed is not None:
        is_bad = is_bad | conditions.failed
    first_s = np.where(used, allocation.start_s, math.inf)
    for job, start_s in zip(allocation.pieces.job.tolist(), allocation.pieces.start_s.tolist(), strict=True):
        first_s[job] = min(first_s[job], start_s)
    columns = {
        Kind.STARTED: (first_s, np.isfinite(first_s)),
        Kind.ENDED: (allocation.end_s, used),
        Kind.ENDED_WELL: (allocation.end_s, used & ~is_bad),
        Kind.ENDED_BADLY: (allocation.end_s, used & is_bad),
    }
    return {int(kind): np.where(did, at_s, math.inf).tolist() for kind, (at_s, did) in columns.items()}


def parts_of(case: JobCase) -> list[list[int]]:
    """The jobs of each number that start together."""
    conditions = case.world.jobs.conditions
    if conditions is None or conditions.together is None:
        return []
    parts: defaultdict[int, list[int]] = defaultdict(list)
    for job in np.flatnonzero(conditions.together != ALONE).tolist():
        parts[int(conditions.together[job])].append(job)
    return list(parts.values())


def parts_start_together(case: JobCase) -> Iterator[str]:
    """All parts of one job start at the same instant, or none does."""
    start_s = np.where(case.allocation.used, case.allocation.start_s, math.inf)
    for parts in parts_of(case):
        others = np.array(parts)[start_s[parts] != start_s[parts[0]]]
        why = f" (with job {parts[0]}, of which it is a part)"
        yield from job_findings("start_s", others, start_s[others], start_s[parts[0]], why)
