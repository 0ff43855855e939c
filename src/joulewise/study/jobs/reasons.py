"""Why jobs of a replay wait longer, or shorter, than their log says: what both sides' own records tell.

A job whose waits differ started first on one side, in the log or in the replay, and still waited on the other. What
held it there is looked for at the instant of its first start, in what ran and waited on that side then.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from joulewise.model.arrays import Bools, Codes, Counts, Floats, Ints
from joulewise.model.jobs import Fate, JobAllocation, JobWorld
from joulewise.model.site import Demands, Site
from joulewise.study.jobs.lacking import Drawn

if TYPE_CHECKING:
    from joulewise.worlds.jobs.traces import Trace

ALIKE_S = 60.0
"""Waits that differ by no more need no reason."""

_CAME_LATER = "follows a job that ended later"
_BEGINS_LATER = "waited for its begin time"
_LOST_NODES = "lost its nodes in the replay"
_SUSPENDED = "suspended in the replay"
_GAVE_WAY = "gave way in the replay"
_PAST_NODES = "log had more than the nodes have"
_PAST_LIMITS = "log had more than a limit allows"
_NOT_ELIGIBLE = "waited in the log: not eligible"
_ARRAY = "limit of its array"
_LIMIT, _PASSED, _FULL, _BEHIND = "a limit", "passed by its like", "nodes in use", "behind others"
_HOURS, _POWER, _ENERGY, _AWAY = "hours of its partition", "power cap", "energy budget", "nodes away"
_UNSURE, _ROOM = "perhaps nodes in use", "room"
_IN_REPLAY, _IN_LOG = "waited in the replay: {}", "waited in the log: {}"

REASONS = {
    _CAME_LATER: (
        "in the replay it came more than a minute later, as another job had to start or end first, or a part of it had "
        "to come"
    ),
    _BEGINS_LATER: "its begin time came more than a minute after it, and the replay counts its wait from then on",
    _LOST_NODES: "in the replay it had started, and ran again as nodes of it failed",
    _SUSPENDED: "in the replay it had started, and went on later as another job came first",
    _GAVE_WAY: "in the replay it had started, and ran again as another job came first",
    _PAST_NODES: (
        "it started first in the log, where the jobs that ran then, with it, need more of something than the nodes "
        "have that the model gives them, without those that are planned to be away"
    ),
    _PAST_LIMITS: (
        "it started first in the log, where the jobs that ran then, with it, had more than one of its limits allows "
        "in the model, or more licences than there are"
    ),
    _IN_REPLAY.format(_ARRAY): "as many tasks of its array ran as may run together",
    _IN_REPLAY.format(_LIMIT): "with it, one of its limits would have been passed, or licences were not enough",
    _IN_REPLAY.format(_HOURS): "its partition started no jobs then",
    _IN_REPLAY.format(_POWER): (
        "with it, more than the cap would have been drawn, then or at a full hour before its planned end, if it drew "
        "what it did when it ran and all that ran then did so as long as planned"
    ),
    _IN_REPLAY.format(_ENERGY): "it would have used more than was left of the energy of that day, as far as planned",
    _IN_REPLAY.format(_PASSED): (
        "a job ran that had come later and asks for just the same, nodes and time: an order of priority, what is "
        "planned with, or what was held ahead had put it first"
    ),
    _IN_REPLAY.format(_FULL): "the nodes that it may use had less of something free, in all, than it needs",
    _IN_REPLAY.format(_AWAY): (
        "these had less of something in all than it needs, as some of them had failed, or were planned to be away "
        "then or before the time that it asks for was over"
    ),
    _IN_REPLAY.format(_BEHIND): "these had enough in all, but a job that had come before waited for some of them too",
    _IN_REPLAY.format(_ROOM): (
        "these had enough in all, and nobody before it waited: no single nodes had enough, or something held them "
        "for jobs that came later, such as an order of priority or a reservation"
    ),
    _NOT_ELIGIBLE: "the log says that it could not start yet: a begin time, or a dependency",
    _IN_LOG.format(_ARRAY): "as many tasks of its array ran as may run together",
    _IN_LOG.format(_LIMIT): "with it, one of its limits would have been passed, or licences were not enough",
    _IN_LOG.format(_PASSED): (
        "a job ran that had come later and asks for just the same, nodes and time: an order of priority, a limit, or "
        "its user held it back"
    ),
    _IN_LOG.format(_FULL): "jobs that can run nowhere else left less of something, in all, than it needs",
    _IN_LOG.format(_AWAY): "with nodes that are planned to be away then, less of something was left than it needs",
    _IN_LOG.format(_BEHIND): "a job that had come before it waited for some of these nodes too",
    _IN_LOG.format(_UNSURE): "there was room only if jobs that may run elsewhere too did so, which no log tells",
    _IN_LOG.format(_ROOM): (
        "there was room in all, and nobody before it waited: what held it is not modelled or not logged, such as a "
        "reservation, nodes out of service that no table tells, or a user who held it back"
    ),
}
"""Every reason, the first that holds of a job in this order, and what it says."""


class _Ground(NamedTuple):
    """What nodes have and jobs need of them, be they of clusters or of a site.

    A row of `spans` is a set of groups of nodes, the first ones of one group each; `has` is what its nodes have of each
    resource. A job may run in the groups of `span`, and needs `asks` of each resource at least. Jobs of one number in
    `like` ask for just the same.
    """

    spans: Bools
    has: Counts
    span: Counts
    asks: Counts
    like: Counts


class _Uses(NamedTuple):
    """What is used, a row for each stretch: of which number, from when to when, and how much of each thing."""

    of: Counts | Ints
    start_s: Floats
    end_s: Floats
    amounts: Counts

    def and_of(self, others: _Uses) -> _Uses:
        """These rows and others."""
        return _Uses(
            np.concatenate((self.of, others.of)).astype(np.int64),
            np.concatenate((self.start_s, others.start_s)),
            np.concatenate((self.end_s, others.end_s)),
            np.concatenate((self.amounts, others.amounts)),
        )

    def together(self, rows: Bools) -> _Uses:
        """Some of the rows, as if all were of number 0."""
        return _Uses(np.zeros(int(rows.sum()), np.int64), self.start_s[rows], self.end_s[rows], self.amounts[rows])

    def level(self, of: Counts | Ints, at_s: Floats) -> Counts:
        """How much of these numbers is in use at these instants, with what starts and without what ends then."""
        instants = np.unique(np.concatenate((self.start_s, self.end_s)))

        def places(numbers: Counts | Ints, moments_s: Floats) -> Counts:
            ranks = np.searchsorted(instants, moments_s, side="right")
            return np.asarray(numbers.astype(np.int64) * (instants.size + 1) + ranks)

        def until(moments_s: Floats) -> Counts:
            keys = places(self.of, moments_s)
            order = np.argsort(keys, kind="stable")
            sums = np.concatenate((np.zeros((1, self.amounts.shape[1]), np.int64), np.cumsum(self.amounts[order], 0)))
            return np.asarray(sums[np.searchsorted(keys[order], places(of, at_s), side="right")])

        return np.asarray(until(self.start_s) - until(self.end_s))


class _Side(NamedTuple):
    """Who waited from when to when, by job; which jobs ran when, a row for each stretch; on which nodes; what was away.

    A job that never started waited for ever, one of which nothing is known never did.
    """

    ready_s: Floats
    until_s: Floats
    job: Counts | Ints
    start_s: Floats
    end_s: Floats
    nodes: _Uses
    away: _Uses

    @property
    def taken(self) -> _Uses:
        """The nodes that nobody else could have."""
        return self.nodes.and_of(self.away)


class _Asked(NamedTuple):
    """Jobs, and the instant of each that is looked at."""

    job: Counts
    at_s: Floats

    def only(self, which: Bools) -> _Asked:
        return _Asked(self.job[which], self.at_s[which])


def reasons(world: JobWorld, trace: Trace, allocation: JobAllocation, alike_s: float = ALIKE_S) -> Codes:
    """The place of each job's reason among REASONS; -1 where its waits differ by `alike_s` at most or are not known."""
    from joulewise.simulate.jobs.measures import job_times

    ground = _ground_of(world, trace)
    planned, away = _planned_away(world), _away(world)
    log, replay = _logged(world, trace, ground, planned), _replayed(world, allocation, away)
    more_s = job_times(world, allocation).wait_s - trace.logged_wait_s
    jobs = np.flatnonzero(np.abs(more_s) > alike_s)
    at_s = np.maximum(first_starts_s(world, trace, allocation), allocation.ready_s)
    asked, is_late = _Asked(jobs, at_s[jobs]), more_s[jobs] > 0
    found = np.full(world.n_jobs, -1, np.int8)
    late = asked.only(is_late)
    runs_into = _runs_into(ground, planned, late, trace.requested_s)
    found[jobs[is_late]] = _of_late(world, ground, log, replay, late, Drawn(world, allocation), runs_into)
    found[jobs[~is_late]] = _of_early(world, ground, log, asked.only(~is_late))
    came_later = allocation.ready_s - world.jobs.work.arrival_s > alike_s
    conditions = world.jobs.conditions
    begins_s = None if conditions is None else conditions.begin_s
    begins_later = came_later & (allocation.ready_s == begins_s) if begins_s is not None else np.zeros_like(came_later)
    facts = {_CAME_LATER: came_later, _BEGINS_LATER: begins_later}
    for name, holds in (*_interrupted(world, allocation).items(), *facts.items()):
        found[(found >= 0) & holds] = _CODES[name]
    return found


def first_starts_s(world: JobWorld, trace: Trace, allocation: JobAllocation) -> Floats:
    """The earlier one of the starts of each job, in the log and in the replay; NaN where one is not known."""
    return np.asarray(np.minimum(world.jobs.work.arrival_s + trace.logged_wait_s, allocation.start_s))


_CODES = {name: code for code, name in enumerate(REASONS)}


def _of_late(
    world: JobWorld, ground: _Ground, log: _Side, replay: _Side, asked: _Asked, drawn: Drawn, runs_into: Bools
) -> Codes:
    """Why jobs that had started in the log still waited in the replay."""
    return _first(
        {
            _PAST_NODES: _is_full(ground, log.taken, asked, waits=False),
            _PAST_LIMITS: _is_limited(world, log, asked, waits=False),
            _IN_REPLAY.format(_ARRAY): _is_limited(world, replay, asked, of_arrays=True),
            _IN_REPLAY.format(_LIMIT): _is_limited(world, replay, asked),
            _IN_REPLAY.format(_HOURS): _is_closed(world, asked),
            _IN_REPLAY.format(_POWER): drawn.lacks_power(*asked),
            _IN_REPLAY.format(_ENERGY): drawn.lacks_energy(*asked),
            _IN_REPLAY.format(_PASSED): _is_passed(ground, replay, asked),
            _IN_REPLAY.format(_FULL): _is_full(ground, replay.nodes, asked),
            _IN_REPLAY.format(_AWAY): runs_into | _is_full(ground, replay.taken, asked),
            _IN_REPLAY.format(_BEHIND): _is_behind(ground, replay, asked),
        },
        _IN_REPLAY.format(_ROOM),
    )


def _of_early(world: JobWorld, ground: _Ground, log: _Side, asked: _Asked) -> Codes:
    """Why jobs that had started in the replay still waited in the log."""
    return _first(
        {
            _NOT_ELIGIBLE: asked.at_s < log.ready_s[asked.job],
            _IN_LOG.format(_ARRAY): _is_limited(world, log, asked, of_arrays=True),
            _IN_LOG.format(_LIMIT): _is_limited(world, log, asked),
            _IN_LOG.format(_PASSED): _is_passed(ground, log, asked),
            _IN_LOG.format(_FULL): _is_full(ground, log.nodes, asked),
            _IN_LOG.format(_AWAY): _is_full(ground, log.taken, asked),
            _IN_LOG.format(_BEHIND): _is_behind(ground, log, asked),
            _IN_LOG.format(_UNSURE): _is_full(ground, log.taken, asked, is_sure=False),
        },
        _IN_LOG.format(_ROOM),
    )


def _first(tests: Mapping[str, Bools], otherwise: str) -> Codes:
    """The first reason that holds of each job."""
    codes = [np.int8(_CODES[name]) for name in tests]
    return np.asarray(np.select(list(tests.values()), codes, np.int8(_CODES[otherwise])))


# --- what held a job at an instant ----------------------------------------------------------------------


def _is_full(ground: _Ground, nodes: _Uses, asked: _Asked, *, waits: bool = True, is_sure: bool = True) -> Bools:
    """Whether the nodes that a job may use have too little in all, for it to run as well or, if it runs, for all.

    Jobs that may use other nodes too count only where that `is_sure` to be too much, or else as if they ran here.
    """
    needs, span_of = ground.asks[asked.job], ground.span[asked.job]
    used = needs * waits
    for span in np.unique(span_of):
        here = ground.spans[span]
        counts = (ground.spans & here).any(axis=1) & ~((ground.spans & ~here).any(axis=1) & is_sure)
        mine = span_of == span
        there = nodes.together(counts[nodes.of])
        used[mine] += there.level(np.zeros(int(mine.sum()), np.int64), asked.at_s[mine])
    return np.asarray(((used > ground.has[span_of]) & (needs > 0)).any(axis=1))


def _is_limited(world: JobWorld, side: _Side, asked: _Asked, *, waits: bool = True, of_arrays: bool = False) -> Bools:
    """Whether a limit of a job, or the number of licences, does not let it run as well or, if it runs, is passed.

    It may be asked for the limits of arrays alone.
    """
    from joulewise.worlds.jobs.sites.arrays import ARRAY

    found, demands = np.zeros(asked.job.size, np.bool_), world.jobs.demands
    if world.site is None or demands is None:
        return found
    limits, kind = demands.limits, demands.of_job
    row, slot = np.nonzero(limits.holders[side.job] >= 0)
    job = side.job[row]
    held = _Uses(limits.holders[job, slot], side.start_s[row], side.end_s[row], limits.uses[kind[job]])
    is_array = np.array([name.startswith(f"{ARRAY} ") for name in limits.names], np.bool_)
    for holder in limits.binding[asked.job].T if row.size else ():
        needs, who = limits.uses[kind[asked.job]], np.maximum(holder, 0)
        used = held.level(who, asked.at_s) + needs * waits
        counts = (holder >= 0) & (is_array[who] | (not of_arrays))
        found |= counts & ((used > limits.most[who]) & (needs > 0)).any(axis=1)
    if of_arrays:
        return found
    everywhere, needs = np.zeros(side.job.size, np.int64), demands.licences[kind[asked.job]]
    lent = _Uses(everywhere, side.start_s, side.end_s, demands.licences[kind[side.job]])
    used = lent.level(np.zeros(asked.job.size, np.int64), asked.at_s) + needs * waits
    return np.asarray(found | ((used > world.site.n_licences) & (needs > 0)).any(axis=1))


def _is_passed(ground: _Ground, side: _Side, asked: _Asked) -> Bools:
    """Whether a job runs that had come later and asks for just the same: it started while this one waited."""
    found = np.zeros(asked.job.size, np.bool_)
    rows = np.flatnonzero(np.isin(ground.like[side.job], ground.like[asked.job]))
    rows = rows[np.argsort(side.start_s[rows], kind="stable")]
    jobs = side.job[rows]
    starts = zip(
        side.start_s[rows].tolist(), ground.like[jobs].tolist(), side.ready_s[jobs].tolist(), side.end_s[rows].tolist(),
        strict=True,
    )  # fmt: skip
    latest = defaultdict[int, list[tuple[float, float]]](list)
    start = next(starts, None)
    for row in np.argsort(asked.at_s, kind="stable").tolist():
        at_s, job = float(asked.at_s[row]), asked.job[row]
        while start is not None and start[0] <= at_s:
            _, like, ready_s, end_s = start
            heappush(latest[like], (-ready_s, end_s))
            start = next(starts, None)
        running = latest[int(ground.like[job])]
        while running and running[0][1] <= at_s:
            heappop(running)
        found[row] = bool(running) and -running[0][0] > side.ready_s[job]
    return found


def _is_behind(ground: _Ground, side: _Side, asked: _Asked) -> Bools:
    """Whether a job that had come before it, and may use some of the same nodes, waited too."""
    order = np.argsort(side.ready_s, kind="stable")
    span_of = ground.span[asked.job]
    found = np.zeros(asked.job.size, np.bool_)
    latest_s = np.empty(order.size)
    for span in np.unique(span_of):
        shares = (ground.spans & ground.spans[span]).any(axis=1)[ground.span]
        until_s = np.maximum.accumulate(np.where(shares, side.until_s, -np.inf)[order])
        latest_s[order] = np.concatenate(([-np.inf], until_s[:-1]))
        mine = span_of == span
        found[mine] = latest_s[asked.job[mine]] > asked.at_s[mine]
    return found


def _is_closed(world: JobWorld, asked: _Asked) -> Bools:
    """Whether the partition of a job starts none at an instant, by its last turn until then."""
    found, demands = np.zeros(asked.job.size, np.bool_), world.jobs.demands
    if world.site is None or demands is None:
        return found
    hours, partition = world.site.hours, demands.partition[demands.of_job[asked.job]]
    for number in np.unique(hours.partition).tolist():
        turns, mine = hours.partition == number, partition == number
        is_up = np.concatenate(([True], hours.is_up[turns]))
        found[mine] = ~is_up[np.searchsorted(hours.at_s[turns], asked.at_s[mine], side="right")]
    return found


def _runs_into(ground: _Ground, planned: _Uses, asked: _Asked, requested_s: Floats) -> Bools:
    """Whether nodes are planned to be away, so that a job has too few, before the time that it asks for is over."""
    found, until_s = np.zeros(asked.job.size, np.bool_), asked.at_s + requested_s[asked.job]
    for begin_s in np.unique(planned.start_s).tolist():
        meets = (asked.at_s < begin_s) & (begin_s < until_s)
        found[meets] |= _is_full(ground, planned, _Asked(asked.job[meets], np.full(int(meets.sum()), begin_s)))
    return found


def _interrupted(world: JobWorld, allocation: JobAllocation) -> dict[str, Bools]:
    """Which jobs had started and did not go on: as they gave way, were suspended, or lost their nodes."""
    pieces, jobs = allocation.pieces, np.arange(world.n_jobs)
    has_failed = pieces.is_lost & (world.site is None or _are_struck(world.site, allocation))
    rows = {_GAVE_WAY: pieces.is_lost & ~has_failed, _SUSPENDED: ~pieces.is_lost, _LOST_NODES: has_failed}
    return {name: np.isin(jobs, pieces.job[which]) for name, which in rows.items()}


def _are_struck(site: Site, allocation: JobAllocation) -> Bools:
    """Which pieces of running ended as a node failed on which they were."""
    pieces, places, failures = allocation.pieces, allocation.places, site.failures
    found = np.zeros(pieces.job.size, np.bool_)
    if places is None or not failures.n_failures:
        return found
    begins = set(zip(failures.group.tolist(), failures.node.tolist(), failures.start_s.tolist(), strict=True))
    before = np.flatnonzero(places.stretch_of >= 0)
    stretch = places.stretch_of[before]
    columns = (places.group[before], places.node[before], pieces.end_s[stretch])
    is_hit = [row in begins for row in zip(*(column.tolist() for column in columns), strict=True)]
    found[stretch[np.array(is_hit, np.bool_)]] = True
    return found


# --- both sides -----------------------------------------------------------------------------------------


def _logged(world: JobWorld, trace: Trace, ground: _Ground, away: _Uses) -> _Side:
    """What the log has: of the nodes of a job only which they may have been."""
    arrival_s = world.jobs.work.arrival_s
    start_s = arrival_s + trace.logged_wait_s
    job = np.flatnonzero(np.isfinite(start_s))
    end_s = start_s + trace.logged_run_s
    nodes = _Uses(ground.span[job], start_s[job], end_s[job], ground.asks[job])
    until_s = np.where(np.isfinite(start_s), start_s, -np.inf)
    return _Side(arrival_s + trace.logged_eligible_s, until_s, job, start_s[job], end_s[job], nodes, away)


def _replayed(world: JobWorld, allocation: JobAllocation, away: _Uses) -> _Side:
    """What came out in the replay."""
    from joulewise.simulate.jobs.power import stretches

    runs, types, places = stretches(allocation), world.types, allocation.places
    waits = allocation.fate == Fate.WAITING
    until_s = np.where(allocation.used, allocation.start_s, np.where(waits, np.inf, -np.inf))
    np.minimum.at(until_s, allocation.pieces.job, allocation.pieces.start_s)
    if world.site is None or places is None:
        cluster = types.cluster[runs.option]
        cores = types.nodes[runs.option] * world.clusters.cores_per_node[cluster]
        nodes = _Uses(cluster, runs.start_s, runs.end_s, cores[:, None])
    else:
        demands, job, group = _demands(world), places.job, places.group
        taken = _of_a_piece(world.site, demands)[demands.of_job[job], group] * places.pieces[:, None]
        nodes = _Uses(group, *allocation.times_of_places, taken)
    return _Side(allocation.ready_s, until_s, runs.job, runs.start_s, runs.end_s, nodes, away)


def _planned_away(world: JobWorld) -> _Uses:
    """The nodes that are planned to be away, as if somebody used them."""
    if world.site is None:
        return _out(world, world.outages.is_planned)
    return _nodes_away(world.site, _kept_for_nobody(world.site, _demands(world)))


def _away(world: JobWorld) -> _Uses:
    """The nodes that are away, planned or failed, as if somebody used them."""
    if world.site is None:
        return _out(world, np.ones(world.outages.n_outages, np.bool_))
    failed = world.site.failures
    columns = (failed.group, failed.node, failed.start_s, failed.end_s)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    return _nodes_away(world.site, [*rows, *_kept_for_nobody(world.site, _demands(world))])


_Node = tuple[int, int, float, float]
"""A node of a group, by both their numbers, and from when to when it is away."""


def _kept_for_nobody(site: Site, demands: Demands) -> list[_Node]:
    """The nodes that are kept for none of the jobs."""
    kept = site.kept
    rows = np.flatnonzero(~np.isin(kept.of, demands.kept_of))
    columns = (kept.group[rows], kept.node[rows], kept.start_s[kept.of[rows]], kept.end_s[kept.of[rows]])
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _nodes_away(site: Site, rows: list[_Node]) -> _Uses:
    """All that nodes have, as used while they are away; each node once at a time."""
    found: list[_Node] = []
    for group, node, start_s, end_s in sorted(rows):
        if found and found[-1][:2] == (group, node) and start_s <= found[-1][3]:
            found[-1] = (group, node, found[-1][2], max(found[-1][3], end_s))
        else:
            found.append((group, node, start_s, end_s))
    of, from_s, to_s = (np.array([row[k] for row in found]) for k in (0, 2, 3))
    of = of.astype(np.int64)
    return _Uses(of, from_s, to_s, site.capacity[of])


def _out(world: JobWorld, rows: Bools) -> _Uses:
    """The nodes of clusters that are out of service, as if somebody used them."""
    outages = world.outages
    cluster = outages.cluster[rows]
    cores = outages.nodes[rows] * world.clusters.cores_per_node[cluster]
    return _Uses(cluster, outages.start_s[rows], outages.end_s[rows], cores[:, None])


# --- what there is --------------------------------------------------------------------------------------


def _ground_of(world: JobWorld, trace: Trace) -> _Ground:
    may, least, has, kind = _of_clusters(world) if world.site is None else _of_site(world.site, _demands(world))
    number = _alike(may)
    sets = may[np.unique(number, return_index=True)[1]]
    spans = np.concatenate((np.eye(may.shape[1], dtype=np.bool_), sets))
    runs = np.asarray(may.any(axis=1))
    asks = np.where(runs[:, None], least, 0)[kind]
    span = may.shape[1] + number[kind]
    like = _alike(np.column_stack((span, asks, trace.requested_s)))
    return _Ground(spans, spans.astype(np.int64) @ has, span, asks, like)


def _alike(rows: Bools | Floats) -> Counts:
    """A number for each row, from 0, which is the same where rows are."""
    number = np.zeros(rows.shape[0], np.int64)
    for column in rows.T:
        codes = np.unique(column, return_inverse=True)[1]
        number = np.unique(number * (codes.max(initial=0) + 1) + codes, return_inverse=True)[1]
    return number


class _Kinds(NamedTuple):
    """Kinds of jobs: the groups of nodes that each may use, and the least that it takes; what groups have, and jobs."""

    may: Bools
    least: Counts
    has: Counts
    of_job: Ints


def _of_clusters(world: JobWorld) -> _Kinds:
    """Nodes by cluster; what counts are their processors."""
    types, clusters = world.types, world.clusters
    may = np.zeros((types.n_types, clusters.n_clusters), np.bool_)
    may[types.of_option, types.cluster] = True
    least = np.full(types.n_types, np.iinfo(np.int64).max)
    np.minimum.at(least, types.of_option, types.nodes * clusters.cores_per_node[types.cluster])
    has = clusters.n_nodes * clusters.cores_per_node
    return _Kinds(may, least[:, None], has[:, None], world.jobs.work.task_type)


def _of_site(site: Site, demands: Demands) -> _Kinds:
    """Nodes by group with all that they have; a job needs what it takes where that is least."""
    may = demands.gives > 0
    n_pieces = -(-demands.units[:, None] // np.maximum(demands.gives, 1))
    takes = _of_a_piece(site, demands) * n_pieces[:, :, None]
    least = np.where(may[:, :, None], takes, np.iinfo(np.int64).max).min(axis=1)
    return _Kinds(may, least, site.n_nodes[:, None] * site.capacity, demands.of_job)


def _of_a_piece(site: Site, demands: Demands) -> Counts:
    """What a piece of each class takes of each resource by group: all that a node has where nodes are only counted."""
    return np.asarray(np.where(site.is_counted[:, None], site.capacity, demands.need))


def _demands(world: JobWorld) -> Demands:
    assert world.jobs.demands is not None
    return world.jobs.demands
