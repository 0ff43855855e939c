"""The independent validator of parallel jobs: rules in tables, one line per finding."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from joulewise.check.findings import RELATIVE_TOLERANCE, rounding_s
from joulewise.check.jobs.case import CUT, LOST, JobCase, JobRule, JobStretches, SchedulerLike, job_findings
from joulewise.check.jobs.conditions import parts_start_together, ready_by_conditions
from joulewise.check.jobs.limits import LIMIT_RULES
from joulewise.check.jobs.sites import SITE_RULES
from joulewise.model.arrays import Bools, Floats
from joulewise.model.jobs import Fate, JobAllocation, JobWorld

_NEVER_S = 1e300


def check_jobs(world: JobWorld, allocation: JobAllocation, scheduler: SchedulerLike | None = None) -> list[str]:
    """Everything that is wrong with an allocation of jobs, one line each; empty when it is valid.

    Without a scheduler only physics is checked: every job accounted for, choices that exist, times that follow from
    them, no job before it is ready, no more nodes in use than are up. With one, its mapping events, overruns,
    dropping and preemption as well, and the energy and power that the world allows. Instants are held equal up to a
    few units in the last place, durations up to 1e-9 of themselves.
    """
    if allocation.fate.size != world.n_jobs:
        return [f"allocation: found {allocation.fate.size} jobs; expected the {world.n_jobs} of the world"]
    case = JobCase(world, allocation, scheduler)
    if (world.site is None) != (allocation.places is None):
        told = "no places" if allocation.places is None else "places"
        return [f"allocation: found {told}; expected them on a site, and nowhere else"]
    rules = PHYSICS if world.site is None else (*PHYSICS, *SITE_RULES)
    if scheduler is not None:
        rules = (*rules, *RULES_OF_SCHEDULERS, *LIMIT_RULES)
    return [line for rule in rules for line in rule(case)]


def _fates_are_known(case: JobCase) -> Iterator[str]:
    fate = case.allocation.fate
    wrong = np.flatnonzero((fate < min(Fate)) | (fate > max(Fate)))
    yield from job_findings("fate", wrong, fate[wrong], f"one of {', '.join(one.name for one in Fate)}")
    if case.world.site is None:
        yield from job_findings("fate", case.ended(Fate.CANCELLED), "CANCELLED", "any other: only sites cancel jobs")


def _only_what_ran_has_a_choice(case: JobCase) -> Iterator[str]:
    """An existing option and two instants for jobs that ran or were killed, and none for all others."""
    allocation = case.allocation
    wrong = np.flatnonzero(allocation.used & ~case.exists(np.arange(allocation.fate.size), allocation.option))
    yield from job_findings("option", wrong, allocation.option[wrong], "one that its type has")
    wrong = np.flatnonzero(~allocation.used & (allocation.option != -1))
    yield from job_findings("option of a job that did not run", wrong, allocation.option[wrong], -1)
    for name in ("start_s", "end_s"):
        instant_s = getattr(allocation, name)
        wrong = np.flatnonzero(allocation.used & ~np.isfinite(instant_s))
        yield from job_findings(name, wrong, instant_s[wrong], "an instant")
        wrong = np.flatnonzero(~allocation.used & ~np.isnan(instant_s))
        yield from job_findings(f"{name} of a job that did not run", wrong, instant_s[wrong], "nan")


def _pieces_exist(case: JobCase) -> Iterator[str]:
    pieces = case.allocation.pieces
    wrong = ~case.exists(pieces.job, pieces.option)
    yield from job_findings("option of a piece", pieces.job[wrong], pieces.option[wrong], "one that its type has")
    wrong = ~((pieces.end_s > pieces.start_s) & np.isfinite(pieces.end_s - pieces.start_s))
    yield from job_findings("end_s of a piece", pieces.job[wrong], pieces.end_s[wrong], "an instant after its start")


def _impossible_means_that_nothing_fits(case: JobCase) -> Iterator[str]:
    """A job without options is IMPOSSIBLE, whether it ever came or not, and none is that has an option that fits."""
    can_run, work = _can_run(case), case.world.jobs.work
    wrong = np.flatnonzero(can_run & (case.allocation.fate == Fate.IMPOSSIBLE))
    yield from job_findings("fate of a job with an option that fits", wrong, "IMPOSSIBLE", "any other")
    has_options = np.diff(case.world.types.first)[work.task_type] > 0
    wrong = np.flatnonzero(~has_options & (case.allocation.fate != Fate.IMPOSSIBLE))
    yield from job_findings("fate of a job without options", wrong, case.allocation.fate[wrong], "IMPOSSIBLE")


def _can_run(case: JobCase) -> Bools:
    """Which jobs have an option that is within the highest power that is ever allowed."""
    world, types = case.world, case.world.types
    cap_w = math.inf if world.supply.cap_w is None else float(world.supply.cap_w.max())
    least_w = case.all_idle_w - types.nodes * case.idle_w[types.cluster]
    fits = ~(world.supply.pue * types.power_w + least_w > cap_w)
    n_fit = np.concatenate(([0], np.cumsum(fits)))[types.first]
    return np.asarray(np.diff(n_fit)[world.jobs.work.task_type] > 0)


def _ready_when_conditions_are_met(case: JobCase) -> Iterator[str]:
    """A job is ready when it has arrived and its begin time, and all that it waits for or the first of that, came."""
    due_s = ready_by_conditions(case)
    is_s, must_be_s = (np.minimum(instant_s, _NEVER_S) for instant_s in (case.allocation.ready_s, due_s))
    wrong = np.flatnonzero(~(np.abs(is_s - must_be_s) <= rounding_s(must_be_s)))
    yield from job_findings("ready_s", wrong, case.allocation.ready_s[wrong], due_s[wrong])


def _start_when_ready(case: JobCase) -> Iterator[str]:
    rows = case.stretches
    ready_s = case.allocation.ready_s[rows.job]
    wrong = ~(rows.start_s >= ready_s)
    why = " (when it is ready) or later"
    yield from job_findings("start_s", rows.job[wrong], rows.start_s[wrong], ready_s[wrong], why)


def _one_stretch_at_a_time(case: JobCase) -> Iterator[str]:
    """A job runs again only after it was cut or lost, and not before that."""
    rows = case.stretches
    again = np.flatnonzero(rows.job[1:] == rows.job[:-1]) + 1
    wrong = again[(rows.fate[again - 1] >= 0) | (rows.start_s[again] < rows.end_s[again - 1])]
    yield from job_findings("start_s", rows.job[wrong], rows.start_s[wrong], "an instant after its stretches before")


def _end_after_the_true_time(case: JobCase) -> Iterator[str]:
    """A job that was never interrupted takes its true time; one that is killed its limit, which is shorter."""
    rows, types = case.stretches, case.world.types
    is_whole = ~np.isin(rows.job, case.allocation.pieces.job)
    for fate, length_s, name in ((Fate.RAN, types.time_s, "time"), (Fate.KILLED, types.allowed_s, "limit")):
        some = rows.only((rows.fate == fate) & is_whole)
        due_s = some.start_s + length_s[some.option]
        wrong = np.abs(some.end_s - due_s) > _slack_s(due_s, length_s[some.option])
        yield from job_findings("end_s", some.job[wrong], some.end_s[wrong], due_s[wrong], f" (start plus {name})")
    killed = rows.only(rows.fate == Fate.KILLED)
    wrong = types.time_s[killed.option] <= types.allowed_s[killed.option]
    yield from job_findings("fate of a job within its limit", killed.job[wrong], "KILLED", "RAN")


def _cut_stretches_stay_within_the_time(case: JobCase) -> Iterator[str]:
    """What was cut, lost or cancelled had not come to its end, whatever saving and restoring took."""
    rows, scheduler = case.stretches, case.scheduler
    spent_s = 0.0 if scheduler is None else scheduler.checkpoint_s + scheduler.restart_s
    rows = rows.only(np.isin(rows.fate, (CUT, LOST, Fate.CANCELLED)))
    length_s = case.world.types.time_s[rows.option] + spent_s
    due_s = rows.start_s + length_s
    wrong = rows.end_s > due_s + _slack_s(due_s, length_s)
    what, why = "end_s of a stretch that was cut or lost", " or earlier"
    yield from job_findings(what, rows.job[wrong], rows.end_s[wrong], due_s[wrong], why)


def _slack_s(at_s: Floats, length_s: Floats) -> Floats:
    return RELATIVE_TOLERANCE * length_s + rounding_s(at_s)


def _losses_need_a_failure(case: JobCase) -> Iterator[str]:
    rows, outages = case.stretches, case.world.outages
    if case.world.site is not None:
        return  # who is stopped there gives way, or is struck
    lost = rows.only(rows.fate == LOST)
    fails = ~outages.is_planned
    failures = set(zip(outages.cluster[fails].tolist(), outages.start_s[fails].tolist(), strict=True))
    keys = zip(case.world.types.cluster[lost.option].tolist(), lost.end_s.tolist(), strict=True)
    wrong = np.array([key not in failures for key in keys], bool)
    expected = "the start of a failure in its cluster"
    yield from job_findings("end_s of a lost stretch", lost.job[wrong], lost.end_s[wrong], expected)


def _nodes_are_there(case: JobCase) -> Iterator[str]:
    """At no instant are more nodes of a cluster in use than it has and are up; ends come before starts."""
    for cluster in range(case.world.clusters.n_clusters):
        at_s, used, up = _use_of(case, cluster)
        wrong = np.flatnonzero(used > np.maximum(up, 0))
        if wrong.size:
            first = wrong[0]
            found = f"found {used[first]} nodes in use; expected {max(up[first], 0)} or less"
            name = case.world.clusters.names[cluster]
            yield f"cluster {name} at {float(at_s[first])!r} s: {found} (one of {wrong.size} instants)"


def _use_of(case: JobCase, cluster: int) -> tuple[Floats, Floats, Floats]:
    """The instants of a change in a cluster, and from each on how many nodes are in use and how many are up."""
    rows, types, outages = case.stretches, case.world.types, case.world.outages
    here = types.cluster[rows.option] == cluster
    down = (outages.cluster == cluster) & (case.is_as_planned | ~outages.is_planned)
    parts = (
        (rows.start_s[here], types.nodes[rows.option][here], 0),
        (rows.end_s[here], -types.nodes[rows.option][here], 0),
        (outages.start_s[down], -outages.nodes[down], 1),
        (outages.end_s[down], outages.nodes[down], 1),
    )
    at_s, place = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
    changes = np.zeros((2, at_s.size), np.int64)
    sizes = [part[0].size for part in parts]
    np.add.at(changes, (np.repeat([part[2] for part in parts], sizes), place), np.concatenate([p[1] for p in parts]))
    used, lost = np.cumsum(changes, axis=1)
    return at_s, used, case.world.clusters.n_nodes[cluster] + lost


PHYSICS: tuple[JobRule, ...] = (
    _fates_are_known,
    _only_what_ran_has_a_choice,
    _pieces_exist,
    _impossible_means_that_nothing_fits,
    _ready_when_conditions_are_met,
    _start_when_ready,
    parts_start_together,
    _one_stretch_at_a_time,
    _end_after_the_true_time,
    _cut_stretches_stay_within_the_time,
    _losses_need_a_failure,
    _nodes_are_there,
)


def _overruns_are_handled(case: JobCase) -> Iterator[str]:
    """Jobs that take longer than they may are killed where that is the rule, and nowhere else."""
    assert case.scheduler is not None
    rows, types = case.stretches, case.world.types
    over = types.time_s[rows.option] > types.allowed_s[rows.option]
    kills = case.scheduler.overrun == "kill"
    wrong = (rows.fate == Fate.RAN) & over & kills
    yield from job_findings("fate of a job that runs past its limit", rows.job[wrong], "RAN", "KILLED")
    wrong = (rows.fate == Fate.KILLED) & (not kills)
    yield from job_findings(f"fate with overrun {case.scheduler.overrun!r}", rows.job[wrong], "KILLED", "RAN")


def _seen_by_a_mapping_event(case: JobCase) -> Iterator[str]:
    """Nothing starts before the first mapping event at which it is ready, which is in the counted window."""
    assert case.scheduler is not None
    rows, interval_s, work = _decided(case), case.scheduler.mapping_interval_s, case.world.jobs.work
    seen_s = case.allocation.ready_s[rows.job]
    if math.isfinite(interval_s):
        event = np.ceil(seen_s / interval_s)
        event -= (event - 1) * interval_s >= seen_s  # rounding of the quotient
        seen_s = event * interval_s
    wrong = rows.start_s < seen_s - rounding_s(seen_s)
    why = " (the first mapping event at which it is ready) or later"
    yield from job_findings("start_s", rows.job[wrong], rows.start_s[wrong], seen_s[wrong], why)
    wrong = seen_s > work.end_s
    why = " (the window's end) or earlier"
    yield from job_findings("first mapping event of a job that ran", rows.job[wrong], seen_s[wrong], work.end_s, why)


def _starts_by_the_clock(case: JobCase) -> Iterator[str]:
    """On a site that is looked at by the clock nothing starts between two mapping events."""
    assert case.scheduler is not None
    rows, interval_s = _decided(case), case.scheduler.mapping_interval_s
    if case.world.site is None or not math.isfinite(interval_s):
        return
    wrong = np.abs(rows.start_s - np.rint(rows.start_s / interval_s) * interval_s) > rounding_s(rows.start_s)
    expected = f"a whole multiple of {interval_s!r} s"
    yield from job_findings("start_s", rows.job[wrong], rows.start_s[wrong], expected)


def _decided(case: JobCase) -> JobStretches:
    """The stretches that the scheduler let begin: not those that ran already when it came."""
    opening = case.world.opening
    return case.stretches if opening is None else case.stretches.only(case.stretches.start_s >= opening.at_s)


def _last_event_s(case: JobCase) -> float:
    """No mapping event is later: the window's end or, without one, the event after the last thing that happens."""
    assert case.scheduler is not None
    if math.isfinite(case.world.jobs.work.end_s):
        return case.world.jobs.work.end_s
    happens_s = np.concatenate((case.allocation.ready_s, case.stretches.end_s, case.world.outages.end_s))
    interval_s = case.scheduler.mapping_interval_s
    return float(happens_s[np.isfinite(happens_s)].max(initial=0.0)) + (
        interval_s if math.isfinite(interval_s) else 0.0
    )


def _drops_were_hopeless(case: JobCase) -> Iterator[str]:
    """A dropped job would have earned less than the threshold, started in its fastest option at the last event.

    The fastest is that by plans, which are all that a scheduler knows when it drops a job. A site also refuses jobs,
    but none whose holders may submit as many as they like.
    """
    assert case.scheduler is not None
    threshold, dropped = case.scheduler.dropping_threshold, case.ended(Fate.DROPPED)
    demands = case.world.jobs.demands
    if case.world.site is not None and demands is not None:
        dropped = dropped[(demands.admitted.holders[dropped] < 0).all(axis=1)]
    if threshold <= 0:
        yield from job_findings("fate", dropped, "DROPPED", "any other, because the dropping threshold is 0")
        return
    types, work = case.world.types, case.world.jobs.work
    kind = work.task_type[dropped]
    fastest_s = np.array([case.planned_s[types.first[t] : types.first[t + 1]].min(initial=math.inf) for t in kind])
    worth = work.utility(dropped, np.minimum(_last_event_s(case) + fastest_s, _NEVER_S))
    wrong = worth >= threshold + RELATIVE_TOLERANCE * np.maximum(threshold, work.scale[dropped])
    why = " (the dropping threshold)"
    yield from job_findings("utility at its worst", dropped[wrong], worth[wrong], f"less than {threshold!r}", why)


def _only_preemption_cuts(case: JobCase) -> Iterator[str]:
    assert case.scheduler is not None
    rows = case.stretches
    if case.world.site is not None:
        return  # who gives way there has rules of its own
    wrong = (rows.fate == CUT) & (not case.scheduler.preempts)
    yield from job_findings("fate of a piece", rows.job[wrong], "preempted", "lost, because nothing preempts")


def _interrupted_jobs_do_all_their_work(case: JobCase) -> Iterator[str]:
    """What the stretches of an interrupted job that ran have done, but for those that were lost, is all of its work.

    Saving takes the last `checkpoint_s` of a stretch that was cut, restoring the first `restart_s` of every stretch
    after one.
    """
    assert case.scheduler is not None
    rows, time_s = case.stretches, case.world.types.time_s
    cut = np.cumsum(rows.fate == CUT) - (rows.fate == CUT)
    first = np.searchsorted(rows.job, rows.job)
    is_resumed = cut > cut[first]
    spent_s = case.scheduler.restart_s * is_resumed + case.scheduler.checkpoint_s * (rows.fate == CUT)
    share = np.where(rows.fate == LOST, 0.0, (rows.end_s - rows.start_s - spent_s) / time_s[rows.option])
    done = np.bincount(rows.job, share, case.world.n_jobs)
    jobs = np.intersect1d(case.ended(Fate.RAN), case.allocation.pieces.job)
    slack = 1e-6 + np.spacing(case.allocation.end_s[jobs]) * 64 / time_s[case.allocation.option[jobs]]
    wrong = np.abs(done[jobs] - 1.0) > slack
    yield from job_findings("work done by an interrupted job", jobs[wrong], done[jobs][wrong], 1.0)


RULES_OF_SCHEDULERS: tuple[JobRule, ...] = (
    _overruns_are_handled,
    _seen_by_a_mapping_event,
    _starts_by_the_clock,
    _drops_were_hopeless,
    _only_preemption_cuts,
    _interrupted_jobs_do_all_their_work,
)
