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
    """When each job could start by its conditions, found job by job; infinite where one never came."""
    conditions, arrival_s = case.world.jobs.conditions, case.world.jobs.work.arrival_s
    if conditions is None:
        return arrival_s
    due_s = arrival_s if conditions.begin_s is None else np.maximum(arrival_s, conditions.begin_s)
    found = dict(enumerate(due_s.tolist()))
    waits: defaultdict[int, list[float]] = defaultdict(list)
    for job, on, kind, delay_s in zip(
        *(column.tolist() for column in (conditions.job, conditions.on, conditions.kind, conditions.delay_s)),
        strict=True,
    ):
        waits[job].append(_came_s(case, on, kind) + delay_s)
    for job, instants in waits.items():
        is_first = conditions.any_of is not None and conditions.any_of[job]
        found[job] = max(found[job], min(instants) if is_first else max(instants))
    for parts in _parts(case):
        latest_s = max(found[job] for job in parts)
        found.update(dict.fromkeys(parts, latest_s))
    return np.array([found[job] for job in range(arrival_s.size)])


def _came_s(case: JobCase, job: int, kind: int) -> float:
    """When a job did what another waits for."""
    allocation, conditions = case.allocation, case.world.jobs.conditions
    if not allocation.used[job]:
        return math.inf
    if kind == Kind.STARTED:
        return float(allocation.start_s[job])
    assert conditions is not None
    failed = conditions.failed is not None and bool(conditions.failed[job])
    is_bad = failed or int(allocation.fate[job]) == Fate.KILLED
    if (kind == Kind.ENDED_WELL and is_bad) or (kind == Kind.ENDED_BADLY and not is_bad):
        return math.inf
    return float(allocation.end_s[job])


def _parts(case: JobCase) -> list[list[int]]:
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
    for parts in _parts(case):
        others = np.array(parts)[start_s[parts] != start_s[parts[0]]]
        why = f" (with job {parts[0]}, of which it is a part)"
        yield from job_findings("start_s", others, start_s[others], start_s[parts[0]], why)
