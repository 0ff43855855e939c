"""Whether jobs of a site that were stopped gave way to others that may stop them, after they had run long enough."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from joulewise.check.findings import rounding_s
from joulewise.check.jobs.case import CUT, LOST, JobCase, JobRule, job_findings
from joulewise.model.arrays import Bools, Counts, Floats, Ints
from joulewise.model.jobs import Fate
from joulewise.model.preemption import Preemption


class _Stopped(NamedTuple):
    """Jobs that were stopped: of which kind, from when to when they ran, and when that was decided."""

    job: Ints | Counts
    of: Ints
    start_s: Floats
    end_s: Floats
    decided_s: Floats
    is_cancelled: Bools
    is_suspended: Bools

    def only(self, rows: Bools) -> _Stopped:
        return _Stopped(*(column[rows] for column in self))  # type: ignore[arg-type]


def _the_stopped_had_to(case: JobCase) -> Iterator[str]:
    """Who is stopped is of a kind that others stop, ran long enough, and goes on or runs again if it may."""
    giving, stopped = _giving(case), _stopped(case)
    may = np.concatenate((giving.stops.any(axis=0), [False]))[stopped.of]
    what = "end_s of a job that was stopped"
    yield from job_findings(what, stopped.job[~may], stopped.end_s[~may], "none: nobody may stop it")
    stopped = stopped.only(may)
    wrong = giving.cancels[stopped.of] != stopped.is_cancelled
    wrong |= giving.suspended[stopped.of] != stopped.is_suspended
    yield from job_findings("fate of a job that was stopped", stopped.job[wrong], "another", "as its kind gives way")
    ran_s = stopped.decided_s - stopped.start_s
    wrong = ~((ran_s > 0) & (ran_s >= giving.exempt_s - rounding_s(stopped.end_s)))
    yield from job_findings(what, stopped.job[wrong], stopped.end_s[wrong], "later: it had not run for long enough")
    waited = np.zeros(stopped.job.size, np.bool_)
    for of in range(len(giving.names)):
        come_s, start_s = _waits(case, giving.of_job == of)
        n_waiting = np.searchsorted(come_s, stopped.decided_s, "right") - np.searchsorted(start_s, stopped.decided_s)
        waited |= giving.stops[of][stopped.of] & (n_waiting > 0)
    found = stopped.only(~waited)
    yield from job_findings(what, found.job, found.end_s, "none: nobody waited that may stop it")


def _who_stops_takes_the_nodes(case: JobCase) -> Iterator[str]:
    """A job that may stop it starts on its nodes at the instant at which one is stopped.

    Where some have a grace, who is not suspended may be stopped before.
    """
    giving, stopped = _giving(case), _stopped(case)
    stopped = stopped.only(stopped.is_suspended | (not giving.grace_s.any()))
    if not stopped.job.size:
        return
    at = _places(case)
    starts: dict[float, list[int]] = {}
    for job, start_s in at:
        starts.setdefault(start_s, []).append(job)
    rows = zip(stopped.job.tolist(), stopped.of.tolist(), stopped.start_s.tolist(), stopped.end_s.tolist(), strict=True)
    wrong = [
        (job, end_s)
        for job, of, start_s, end_s in rows
        if not any(
            giving.of_job[other] >= 0
            and giving.stops[giving.of_job[other], of]
            and at[other, end_s] & at.get((job, start_s), set())
            for other in starts.get(end_s, ())
        )
    ]
    jobs, ends_s = np.array([job for job, _ in wrong], np.int64), np.array([end_s for _, end_s in wrong])
    yield from job_findings("end_s of a job that was stopped", jobs, ends_s, "the start of a job that takes its nodes")


def _who_runs_again_runs_whole(case: JobCase) -> Iterator[str]:
    """A job that was stopped takes its true time, or its limit, when it runs again."""
    rows, types = case.stretches, case.world.types
    again = rows.only(np.isin(rows.job, rows.job[rows.fate == LOST]) & (rows.fate >= 0))
    again = again.only(again.fate != Fate.CANCELLED)
    length_s = np.where(again.fate == Fate.KILLED, types.allowed_s[again.option], types.time_s[again.option])
    due_s = again.start_s + length_s
    wrong = np.abs(again.end_s - due_s) > 1e-9 * length_s + rounding_s(due_s)
    yield from job_findings("end_s of a job that runs again", again.job[wrong], again.end_s[wrong], due_s[wrong])


def _who_is_suspended_goes_on(case: JobCase) -> Iterator[str]:
    """A job that was suspended goes on on the same nodes, when something ends there that ran in the meantime."""
    rows = case.stretches
    if not case.goes_on.any():
        return
    at, ends = _places(case), dict[tuple[int, int], list[float]]()
    for job, start_s, end_s in zip(rows.job.tolist(), rows.start_s.tolist(), rows.end_s.tolist(), strict=True):
        for place in at.get((job, start_s), ()):
            ends.setdefault(place, []).append(end_s)
    moved, early = [], []
    for row in np.flatnonzero(case.goes_on).tolist():
        job, start_s = int(rows.job[row]), float(rows.start_s[row])
        mine = at.get((job, start_s), set())
        moved += [row] if mine != at.get((job, float(rows.start_s[row - 1])), set()) else []
        early += [] if any(start_s in ends.get(place, ()) for place in mine) else [row]
    yield from job_findings("places of a job that goes on", rows.job[moved], "others", "those that it had")
    what, expected = "start_s of a job that goes on", "the end of another on its nodes"
    yield from job_findings(what, rows.job[early], rows.start_s[early], expected)


def _who_is_killed_had_its_time(case: JobCase) -> Iterator[str]:
    """A job that was suspended, and killed at its limit, ran for that long in all."""
    rows, types = case.stretches, case.world.types
    ran_s = np.bincount(rows.job, np.where(rows.fate == LOST, 0.0, rows.end_s - rows.start_s), case.world.n_jobs)
    last = rows.only(case.goes_on & (rows.fate == Fate.KILLED))
    limit_s = types.allowed_s[last.option]
    wrong = np.abs(ran_s[last.job] - limit_s) > 1e-9 * limit_s + 64 * rounding_s(last.end_s)
    yield from job_findings("time of a job that was suspended", last.job[wrong], ran_s[last.job][wrong], limit_s[wrong])


def _giving(case: JobCase) -> Preemption:
    assert case.world.jobs.demands is not None
    return case.world.jobs.demands.giving


def _stopped(case: JobCase) -> _Stopped:
    """All that were stopped but by failures; of a job of no quality of service that was decided when it ended."""
    giving, rows = _giving(case), case.stretches.only(~case.is_struck)
    rows = rows.only(np.isin(rows.fate, (LOST, CUT, Fate.CANCELLED)))
    of = giving.of_job[rows.job]
    grace_s = np.concatenate((giving.grace_s, [0.0]))[of]
    decided_s = rows.end_s - grace_s
    return _Stopped(rows.job, of, rows.start_s, rows.end_s, decided_s, rows.fate == Fate.CANCELLED, rows.fate == CUT)


def _waits(case: JobCase, jobs: Bools) -> tuple[Floats, Floats]:
    """The instants, in order, at which some jobs begin to wait, and at which they start."""
    allocation, rows = case.allocation, case.stretches
    came = jobs & np.isfinite(allocation.ready_s) & ~np.isin(allocation.fate, (Fate.DROPPED, Fate.IMPOSSIBLE))
    mine = rows.only(jobs[rows.job])
    come_s = np.concatenate((allocation.ready_s[came], mine.end_s[mine.fate == LOST]))
    return np.sort(come_s), np.sort(rows.start_s[jobs[rows.job] & ~case.goes_on])


def _places(case: JobCase) -> dict[tuple[int, float], set[tuple[int, int]]]:
    """The nodes of each stretch, by its job and its start."""
    places, allocation = case.allocation.places, case.allocation
    assert places is not None
    found: dict[tuple[int, float], set[tuple[int, int]]] = {}
    columns = (places.job, places.stretch_of, places.group, places.node)
    n_jobs, lost_s = allocation.start_s.size, allocation.pieces.start_s
    for job, stretch, group, node in zip(*(column.tolist() for column in columns), strict=True):
        if 0 <= job < n_jobs and stretch < lost_s.size:
            start_s = float(allocation.start_s[job] if stretch < 0 else lost_s[stretch])
            found.setdefault((job, start_s), set()).add((group, node))
    return found


RULES_OF_GIVING_WAY: tuple[JobRule, ...] = (
    _the_stopped_had_to,
    _who_stops_takes_the_nodes,
    _who_runs_again_runs_whole,
    _who_is_suspended_goes_on,
    _who_is_killed_had_its_time,
)
"""What holds of jobs of a site that give way."""
