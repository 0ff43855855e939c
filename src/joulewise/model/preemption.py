"""Who gives way to whom on a site, and what becomes of those who do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.model.arrays import Bools, Counts, Floats, Ints, freeze_fields


@dataclass(frozen=True, eq=False)
class Preemption:
    """Kinds of jobs, of which `of_job` is that of each job, -1 for none that gives way or stops others.

    They are qualities of service, or partitions. Jobs of kind a may stop those of b where `stops[a, b]`, of lower
    `priority` first. These have `grace_s` more, and run again from their start or, where that `cancels`, not again;
    where it `suspends` (None: nowhere) they keep all but the processors of their nodes, and go on later. Nobody gives
    way within `exempt_s` of its start.
    """

    names: tuple[str, ...]
    of_job: Ints
    stops: Bools
    priority: Counts
    grace_s: Floats
    cancels: Bools
    exempt_s: float = 0.0
    suspends: Bools | None = None

    def __post_init__(self) -> None:
        kinds = {"of_job": np.int32, "stops": np.bool_, "priority": np.int64, "grace_s": np.float64}
        freeze_fields(self, {**kinds, "cancels": np.bool_, "suspends": np.bool_})
        raise_if_any(_problems(self))

    def of_some(self, jobs: Counts) -> Preemption:
        """The kinds of some of the jobs, in this order."""
        return replace(self, of_job=self.of_job[jobs])

    @property
    def suspended(self) -> Bools:
        """Of which kinds the jobs that give way are suspended."""
        return np.zeros(len(self.names), np.bool_) if self.suspends is None else self.suspends


def nobody_gives_way(n_jobs: int) -> Preemption:
    """No job stops another."""
    none = np.empty(0)
    stops, is_none = np.empty((0, 0), np.bool_), none.astype(np.bool_)
    return Preemption((), np.full(n_jobs, -1, np.int32), stops, none.astype(np.int64), none, is_none)


def _problems(of: Preemption) -> Iterator[Problem]:
    n = len(of.names)
    shapes = {"stops": (n, n), "priority": (n,), "grace_s": (n,), "cancels": (n,), "suspended": (n,)}
    for name, shape in shapes.items():
        if getattr(of, name).shape != shape:
            yield Problem(f"preemption.{name}", f"found the shape {getattr(of, name).shape}", f"must be {shape}")
            return
    if (of.suspended & (of.cancels | (of.grace_s > 0))).any():
        found = "found kinds of jobs that are suspended, and cancelled or with a grace"
        yield Problem("preemption.suspends", found, "who is suspended is so at once, and goes on")
    if of.of_job.size and not (of.of_job.min() >= -1 and of.of_job.max() < n):
        found = f"found {of.of_job.min()} to {of.of_job.max()}"
        yield Problem("preemption.of_job", found, f"must be from -1 to {n - 1}")
    if not ((of.grace_s >= 0) & np.isfinite(of.grace_s)).all():
        yield Problem("preemption.grace_s", "found a time below 0 s or none", "must be 0 s or more, and finite")
    reached = of.stops
    for _ in range(n):
        reached = reached | (reached.astype(np.int64) @ of.stops.astype(np.int64) > 0)
    if reached.diagonal().any():
        yield Problem("preemption.stops", "found a circle", "jobs may not give way to each other in a circle")
