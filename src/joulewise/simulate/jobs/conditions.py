"""What jobs of a site wait for as its kernels see it, and what the schedulers of clusters do not know of that."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from joulewise.errors import Problem
from joulewise.kernels.jobs.sites import layout
from joulewise.kernels.jobs.sites.layout import NOWHERE, Timed
from joulewise.model.arrays import Bools, Counts, Floats, Ints
from joulewise.model.conditions import ALONE, Conditions
from joulewise.model.jobs import Jobs, JobWorld
from joulewise.simulate.jobs import arrays as job_arrays
from joulewise.simulate.jobs.scheduler import Scheduler


def conditions_of(world: JobWorld, scheduler: Scheduler, fits: Bools) -> layout.Conditions:
    """What jobs wait for, before anything has come; who fits nowhere never does, and who is killed ends badly."""
    n, told = world.n_jobs, world.jobs.conditions or _NONE
    order = np.argsort(told.on, kind="stable")
    rows = (told.job[order].astype(np.int64), told.kind[order].astype(np.int64), told.delay_s[order])
    part_of, first_part, part = _parts(told, n)
    return layout.Conditions(
        _first(told.on, n),
        *rows,
        np.bincount(told.job, minlength=n),
        _flags(told.any_of, n),
        _not_before_s(world.jobs),
        _is_bad(world, scheduler, told),
        ~fits,
        np.zeros(n, np.bool_),
        part_of,
        first_part,
        part,
        np.diff(first_part),
    )


def later_of(world: JobWorld, fits: Bools) -> Timed:
    """The jobs that wait for nothing but their begin times, with room for all that others wait for."""
    told = world.jobs.conditions or _NONE
    begin_s = _not_before_s(world.jobs)
    rows_of = np.bincount(told.job, minlength=world.n_jobs)
    comes = np.flatnonzero(fits & (rows_of == 0) & (begin_s > world.jobs.work.arrival_s))
    comes = comes[np.argsort(begin_s[comes], kind="stable")]
    n_most = world.n_jobs + told.n_rows
    at_s, job = np.empty(n_most), np.empty(n_most, np.int64)
    at_s[: comes.size], job[: comes.size] = begin_s[comes], comes
    return Timed(np.array([comes.size]), at_s, job)


def jobs_that_wait(jobs: Jobs) -> Bools:
    """Which jobs do not come when they arrive."""
    told = jobs.conditions or _NONE
    return np.asarray((_not_before_s(jobs) > jobs.work.arrival_s) | (np.bincount(told.job, minlength=jobs.n_jobs) > 0))


def largest_sum(world: JobWorld, amounts: Counts) -> int:
    """The largest amount of a job, or of all parts of one together."""
    return int(max(amounts.max(initial=0), sums_of_parts(world, amounts).max(initial=0)))


def sums_of_parts(world: JobWorld, amounts: Counts | Floats) -> Floats:
    """The amounts of all parts of each job together that has some."""
    part_of, _, part = _parts(world.jobs.conditions or _NONE, world.n_jobs)
    return np.asarray(np.bincount(part_of[part], amounts[part]), np.float64)


def has_parts(jobs: Jobs) -> bool:
    """Whether any jobs start together."""
    return bool(_parts(jobs.conditions or _NONE, jobs.n_jobs)[2].size)


def condition_misfits(world: JobWorld, scheduler: Scheduler) -> Iterator[Problem]:
    """What jobs wait for that a scheduler does not know."""
    told = world.jobs.conditions
    if told is None:
        return
    if world.site is None and not told.are_of_one_earlier_job:
        found = "found more than that jobs wait for one earlier job to have ended"
        allowed = "begin times, other dependencies and parts that start together are kept on sites alone"
        yield Problem("jobs.conditions", found, allowed, _LEAVE_OUT)
    if scheduler.policy.rule in _NOT_OF_PARTS and has_parts(world.jobs):
        found, allowed = f"found {scheduler.policy.name!r} with jobs with parts", _NOT_OF_PARTS[scheduler.policy.rule]
        yield Problem("scheduler.policy", found, allowed, _BACKFILL)
    if scheduler.passes == "slurm" and told.together is not None and not scheduler.policy.backfills:
        found = f"found {scheduler.policy.name!r} with Slurm's passes and jobs with parts"
        yield Problem("scheduler.policy", found, "Slurm starts parts together by backfilling alone", _BACKFILL)


_BACKFILL = 'take "easy", or give dependencies = "ignore" in [workload]'
_NOT_OF_PARTS = {
    "greedy": "parts start together by orders alone",
    "at-random": "groups drawn for each part may never have room for all of them",
}
"""Why some rules do not go together with parts that start together."""
_LEAVE_OUT = 'give dependencies = "ignore" in [workload], or describe the site in [system]'
_NO_INTS = np.empty(0, np.int32)
_NONE = Conditions(_NO_INTS, _NO_INTS, np.empty(0, np.int8), np.empty(0))


def _not_before_s(jobs: Jobs) -> Floats:
    """The arrival of each job, or its begin time if that is later."""
    told, arrival_s = jobs.conditions, jobs.work.arrival_s
    return np.maximum(arrival_s, arrival_s if told is None or told.begin_s is None else told.begin_s)


def _is_bad(world: JobWorld, scheduler: Scheduler, told: Conditions) -> Bools:
    """Which jobs end badly, before any is cancelled."""
    first, kind = world.types.first, world.jobs.work.task_type
    fits, is_killed = np.diff(first)[kind] > 0, np.zeros(world.n_jobs, np.bool_)
    is_killed[fits] = job_arrays.killed(world, scheduler)[first[kind[fits]]]
    return told.ended_badly(is_killed, np.zeros(world.n_jobs, np.bool_))


def _parts(told: Conditions, n: int) -> tuple[Counts, Counts, Counts]:
    """The job of which each is a part, numbered from 0, and the parts of each of those, from the first one on."""
    part_of = np.full(n, NOWHERE, np.int64)
    if told.together is None:
        return part_of, np.zeros(1, np.int64), np.empty(0, np.int64)
    _, number, n_parts = np.unique(told.together, return_inverse=True, return_counts=True)
    part = np.flatnonzero((told.together != ALONE) & (n_parts[number] > 1))
    numbers, part_of[part] = np.unique(told.together[part], return_inverse=True)
    return part_of, _first(part_of[part], numbers.size), part[np.argsort(part_of[part], kind="stable")]


def _first(of: Counts | Ints, n: int) -> Counts:
    """Where the rows of each of n numbers begin when they are sorted by it, and where the last ones end."""
    return np.concatenate(([0], np.cumsum(np.bincount(of, minlength=n)))).astype(np.int64)


def _flags(told: Bools | None, n: int) -> Bools:
    return np.zeros(n, np.bool_) if told is None else told.copy()
