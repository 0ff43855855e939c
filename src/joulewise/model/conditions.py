"""What must have happened before jobs may be looked at: other jobs, instants, and parts that start together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from joulewise.errors import Problem
from joulewise.model.arrays import Bools, Codes, Counts, Floats, Ints, freeze_fields

if TYPE_CHECKING:
    from typing import Self

NO_JOB = -1
ALONE = -1


class Kind(IntEnum):
    """What a job waits for another to have done.

    How that ended is what its log says. Where the log does not, it ended badly if it was killed at its limit; and
    whatever the log says, if a site cancelled it.
    """

    STARTED = 0
    ENDED = 1
    ENDED_WELL = 2
    ENDED_BADLY = 3


@dataclass(frozen=True, eq=False)
class Conditions:
    """What must have happened before jobs may be looked at, a row for each thing.

    A row says that `job` waits until `delay_s` after the job `on` has done what the `kind` says. A job waits for all of
    its rows or, where it is `any_of`, for the first of them. None is looked at before its `begin_s`. Jobs of one number
    in `together`, -1 for none, start at the same instant, as parts of one. Those that `failed` end badly whatever comes
    of them, and those that `succeeded` end well unless they are cancelled. These five have a value for each job; None
    stands for no such jobs.
    """

    job: Ints
    on: Ints
    kind: Codes
    delay_s: Floats
    any_of: Bools | None = None
    begin_s: Floats | None = None
    together: Ints | None = None
    failed: Bools | None = None
    succeeded: Bools | None = None

    def __post_init__(self) -> None:
        rows = {"job": np.int32, "on": np.int32, "kind": np.int8, "delay_s": np.float64}
        others = {"any_of": np.bool_, "begin_s": np.float64, "together": np.int32}
        freeze_fields(self, {**rows, **others, "failed": np.bool_, "succeeded": np.bool_})

    @classmethod
    def following(cls, after: Ints, delay_s: Floats | None = None) -> Self:
        """Each job may follow one other, -1 for none, so long after that has ended."""
        job = np.flatnonzero(after != NO_JOB)
        delays_s = np.zeros(job.size) if delay_s is None else delay_s[job]
        return cls(job.astype(np.int32), after[job], np.full(job.size, Kind.ENDED, np.int8), delays_s)

    @property
    def n_rows(self) -> int:
        return self.job.size

    @property
    def are_of_one_earlier_job(self) -> bool:
        """Whether all that any job waits for is that one job before it has ended."""
        others = (self.any_of, self.begin_s, self.together)
        is_one = np.unique(self.job).size == self.n_rows and (self.on < self.job).all()
        return bool(is_one and (self.kind == Kind.ENDED).all()) and all(column is None for column in others)

    def one_before(self, n_jobs: int) -> tuple[Ints, Floats]:
        """The one job that each follows, -1 for none, and how long after its end."""
        after, delay_s = np.full(n_jobs, NO_JOB, np.int32), np.zeros(n_jobs)
        after[self.job], delay_s[self.job] = self.on, self.delay_s
        return after, delay_s

    def ended_badly(self, is_killed: Bools, is_cancelled: Bools) -> Bools:
        """Which jobs ended badly, of which these were killed at their limits or cancelled, and these cancelled."""
        is_bad = is_killed if self.succeeded is None else is_killed & ~self.succeeded
        return np.asarray(is_bad | is_cancelled if self.failed is None else is_bad | is_cancelled | self.failed)

    def without(self, never: Bools) -> Self:
        """What is left where all that is waited for of jobs that `never` come counts as met."""
        met = never[self.on]
        if self.any_of is not None:
            is_enough = np.zeros(never.size, np.bool_)
            is_enough[self.job[met]] = True
            met = met | (is_enough & self.any_of)[self.job]
        return replace(self, job=self.job[~met], on=self.on[~met], kind=self.kind[~met], delay_s=self.delay_s[~met])


_OF_EACH_JOB = ("any_of", "begin_s", "together", "failed", "succeeded")


def condition_problems(conditions: Conditions, n_jobs: int) -> Iterator[Problem]:
    """Everything that is wrong with the conditions of so many jobs."""
    columns = {name: getattr(conditions, name) for name in _OF_EACH_JOB}
    for name, column in columns.items():
        if column is not None and column.shape != (n_jobs,):
            found = f"found {column.size} values"
            yield Problem(f"jobs.conditions.{name}", found, f"must be one for each of the {n_jobs} jobs")
            return
    sizes = {getattr(conditions, name).size for name in ("job", "on", "kind", "delay_s")}
    if len(sizes) != 1:
        yield Problem("jobs.conditions", f"found columns of {sorted(sizes)} rows", "all must be of one")
        return
    for name in ("job", "on"):
        column = getattr(conditions, name)
        if column.size and not (column.min() >= 0 and column.max() < n_jobs):
            found = f"found {column.min()} to {column.max()}"
            yield Problem(f"jobs.conditions.{name}", found, f"must be from 0 to {n_jobs - 1}")
            return
    if not np.isin(conditions.kind, list(Kind)).all():
        known = ", ".join(f"{kind.value} ({kind.name})" for kind in Kind)
        yield Problem("jobs.conditions.kind", f"found {sorted(set(conditions.kind.tolist()))}", f"must be of {known}")
    if not ((conditions.delay_s >= 0) & np.isfinite(conditions.delay_s)).all():
        yield Problem("jobs.conditions.delay_s", "found a value below 0 s or none", "must be 0 s or more, and finite")
    if conditions.begin_s is not None and not np.isfinite(conditions.begin_s).all():
        yield Problem("jobs.conditions.begin_s", "found a value that is no instant", "must be finite")
    for cycle in cycles_of(conditions, n_jobs):
        found = f"found that {' after '.join(f'job {job}' for job in cycle)}"
        yield Problem("jobs.conditions", found, "none may wait for itself, by whichever others")


def cycles_of(conditions: Conditions, n_jobs: int) -> list[list[int]]:
    """Jobs that wait for each other in a round, each list from a job to the same one; jobs that start together are one.

    A job for which any of several is enough waits in a round only if all of these do. Of rounds that share jobs one is
    told.
    """
    part = np.arange(n_jobs)
    if conditions.together is not None:
        number = conditions.together
        _, first, place = np.unique(number, return_index=True, return_inverse=True)
        part = np.where(number == ALONE, part, first[place])
    job, on = part[conditions.job], part[conditions.on]
    waits_for_later = on >= job
    if not waits_for_later.any():
        return []
    first, last = job[waits_for_later].min(), on[waits_for_later].max()  # every round has such a row at both its ends
    inside = (np.minimum(job, on) >= first) & (np.maximum(job, on) <= last)
    is_any = np.zeros(n_jobs, np.bool_) if conditions.any_of is None else conditions.any_of
    of_any = is_any[conditions.job]
    waits = np.ones(n_jobs, np.bool_)
    while True:  # who waits for nobody that waits does not, and is waited for by nobody
        stays = inside & waits[on]
        is_free = np.zeros(n_jobs, np.bool_)
        is_free[conditions.job[of_any & ~stays]] = True
        left = stays & ~is_free[conditions.job]
        now = np.zeros(n_jobs, np.bool_)
        now[job[left]] = True
        if (now == waits).all():
            return _rounds(conditions.job[left], job[left], on[left])
        waits = now


def _rounds(job: Ints, part: Counts, of: Counts) -> list[list[int]]:
    """One round through each of the rows that can be in one, as long as they share no jobs."""
    row_of = {int(number): row for row, number in enumerate(part.tolist())}
    seen: set[int] = set()
    found = []
    for start in row_of:
        path: list[int] = []
        at = start
        while at in row_of and at not in seen:
            seen.add(at)
            path.append(at)
            at = int(of[row_of[at]])
        if at in path:
            rows = [row_of[number] for number in path[path.index(at) :]]
            found.append([int(job[row]) for row in rows] + [int(job[rows[0]])])
    return found
