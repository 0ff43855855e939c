"""Whether jobs that share the nodes of a site have what they asked for, and no node gives more than it has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from joulewise.check.jobs.case import CUT, JobCase, JobRule, job_findings
from joulewise.check.jobs.conditions import parts_of
from joulewise.check.jobs.failing import nobody_is_on_a_node_that_is_away, partitions_keep_their_hours
from joulewise.check.jobs.giving import RULES_OF_GIVING_WAY
from joulewise.model.arrays import Bools, Counts, Floats, Ints
from joulewise.model.jobs import Fate
from joulewise.model.site import ANY_NUMBER, LAST, Demands, Places, Site


def _places_are_told(case: JobCase) -> Iterator[str]:
    """Stretches of running have places that exist and that their jobs may use, each once, and nothing else has any."""
    site, _, places = _parts(case)
    last = places.stretch_of == LAST
    wrong = np.setdiff1d(np.flatnonzero(case.allocation.used), places.job[last])
    yield from job_findings("places of a job that ran", wrong, "none", "where it ran")
    wrong = np.setdiff1d(np.arange(case.allocation.pieces.job.size), places.stretch_of[~last])
    yield from job_findings("places of a stretch that was lost", case.allocation.pieces.job[wrong], "none", "some")
    wrong = np.setdiff1d(places.job[last], np.flatnonzero(case.allocation.used))
    yield from job_findings("places of a job that did not run", wrong, "some", "none")
    rows = ~_are_stretches(case) & ~last
    yield from job_findings("places of a stretch", places.job[rows], "some", "none: it had no such stretch")
    rows = ~_are_rows(case)
    yield from job_findings("group of a piece", places.job[rows], places.group[rows], "one that its partition has")
    there = _are_rows(case)
    most = np.where(_are_counted(case), 0, site.n_nodes)[np.where(there, places.group, 0)]
    rows = there & ~((places.node >= np.where(most > 0, 0, -1)) & (places.node < most))
    yield from job_findings("node of a piece", places.job[rows], places.node[rows], "a node of its group")
    columns = np.stack((places.job, places.group, places.node, places.stretch_of))
    _, first = np.unique(columns, axis=1, return_index=True)
    again = np.setdiff1d(np.arange(places.job.size), first)
    yield from job_findings("node of a piece", places.job[again], places.node[again], "one that is told once")


def _jobs_have_what_they_ask(case: JobCase) -> Iterator[str]:
    """A job has the units that it needs and no piece to spare, and on each node no more pieces than it may."""
    _, demands, places = _parts(case)
    rows = np.flatnonzero(_are_rows(case))
    job, group, pieces = places.job[rows], places.group[rows], places.pieces[rows]
    kind = demands.of_job[job]
    gives = demands.gives[kind, group]
    most = np.where(_are_counted(case)[group], ANY_NUMBER, demands.most[kind])
    wrong = (pieces < 1) | (pieces > most)
    yield from job_findings("pieces on a node", job[wrong], pieces[wrong], "1 or more, as many as it may have there")
    n, lost = case.world.n_jobs, case.allocation.pieces.job
    stretch = np.where(places.stretch_of[rows] == LAST, job, n + places.stretch_of[rows])
    has = np.bincount(stretch, pieces * gives, n + lost.size).astype(np.int64)
    last = np.zeros(has.size, np.int64)
    np.maximum.at(last, stretch, gives)
    ran = np.concatenate((np.flatnonzero(case.allocation.used), n + np.arange(lost.size)))
    of = np.concatenate((np.arange(n), lost))[ran]
    needed = demands.units[demands.of_job[np.clip(of, 0, max(n - 1, 0))]]
    wrong = (has[ran] < needed) | (has[ran] - last[ran] >= needed)
    yield from job_findings("units", of[wrong], has[ran][wrong], needed[wrong])


def _nodes_have_what_they_give(case: JobCase) -> Iterator[str]:
    """At no instant is more of a resource in use on a node than it has, nor more nodes of a counted group.

    Who is suspended has all but its processors in the meantime.
    """
    site, demands, places = _parts(case)
    rows = np.flatnonzero(_are_rows(case))
    job, group, pieces = places.job[rows], places.group[rows], places.pieces[rows]
    times, kept = _times(case, rows), _times(case, rows, keeps=True)
    counted = _are_counted(case)
    first = np.concatenate(([0], np.cumsum(np.where(counted, 1, site.n_nodes))))
    place = first[group] + np.where(counted[group], 0, places.node[rows])
    for r, name in enumerate(site.resources):
        is_whole = site.gives_wholes[demands.partition[demands.of_job[job]]]
        has = site.capacity[group, r]
        needs = np.where(is_whole, has, demands.need[demands.of_job[job], group, r]) * pieces
        used = _Times(times.start_s, np.where(site.is_given_up[group, r], times.end_s, kept.end_s))
        for at in _too_much(used, place, np.where(counted[group], 0, needs), has):
            node = f"node {places.node[rows[at]]} of group {site.groups[group[at]]}"
            yield f"{node}: found more {name} in use at {times.start(at)} than the {has[at]} that it has"
    for at in _too_much(times, place, np.where(counted[group], pieces, 0), site.n_nodes[group]):
        where, has = site.groups[group[at]], site.n_nodes[group[at]]
        yield f"group {where}: found more nodes in use at {times.start(at)} than the {has} that it has"


def _licences_suffice(case: JobCase) -> Iterator[str]:
    """At no instant are more licences in use than the site has."""
    site, demands, _ = _parts(case)
    runs = case.stretches
    times = _Times(runs.start_s, _had_until_s(case))
    everywhere = np.zeros(runs.job.size, np.int64)
    for i, name in enumerate(site.licences):
        needs = demands.licences[demands.of_job[runs.job], i]
        for at in _too_much(times, everywhere, needs, np.full(runs.job.size, site.n_licences[i])):
            has = site.n_licences[i]
            yield f"licence {name}: found more in use at {times.start(at)} than the {has} that there are"


def _limits_are_kept(case: JobCase) -> Iterator[str]:
    """At no instant have the running jobs of a holder more together than it may have."""
    _, demands, _ = _parts(case)
    limits, runs = demands.limits, case.stretches
    row, slot = np.nonzero(limits.holders[runs.job] >= 0)
    job, holder = runs.job[row], limits.holders[runs.job][row, slot]
    times = _Times(runs.start_s[row], _had_until_s(case)[row])
    for w, name in enumerate(limits.what):
        uses = limits.uses[demands.of_job[job], w]
        only_counts = (slot >= limits.n_binding) | (uses == 0)
        has = np.where(only_counts, np.iinfo(np.int64).max, limits.most[holder, w])
        for at in _too_much(times, holder, uses, has, only_counts):
            who = limits.names[holder[at]]
            yield f"limit of {who}: found more {name} in use at {times.start(at)} than the {has[at]} allowed"


def _refused_are_those_beyond_a_limit(case: JobCase) -> Iterator[str]:
    """Of no holder more submitted jobs wait and run than may, and jobs are refused only where one holder has as many.

    Parts of a job are refused together, as one of them is; until then those before it wait.
    """
    limits, allocation, come_s = _parts(case)[1].admitted, case.allocation, case.world.jobs.work.arrival_s
    is_refused = allocation.fate == Fate.DROPPED
    came = (come_s <= case.world.jobs.work.end_s) & (allocation.fate != Fate.IMPOSSIBLE)
    gone_s = np.where(allocation.used, allocation.end_s, np.inf)
    is_due = np.zeros(came.size, np.bool_)
    may_have_waited = is_refused & np.isin(np.arange(came.size), [job for parts in parts_of(case) for job in parts])
    for holder, name in enumerate(limits.names):
        mine, bound = ((of == holder).any(axis=1) & came for of in (limits.holders, limits.binding))
        asked, most = np.flatnonzero(bound), int(limits.most[holder, 0])
        n_most = np.cumsum(mine & may_have_waited)[asked]
        n_come, n_gone = (np.sort(at_s[mine & ~is_refused]) for at_s in (come_s, gone_s))
        at_s = come_s[asked]
        n_there = np.searchsorted(n_come, at_s, "right") - np.searchsorted(n_gone, at_s, "right")
        is_due[asked] |= n_there + n_most - may_have_waited[asked] >= most
        others_s = np.sort(come_s[mine & ~bound & ~is_refused])  # those of one instant may come behind it
        n_there -= np.searchsorted(others_s, at_s, "right") - np.searchsorted(others_s, at_s)
        for at in asked[(n_there > most) & ~is_refused[asked]][:1].tolist():
            when = float(come_s[at])
            yield f"submissions of {name}: found more jobs at {when!r} s than the {most} that may wait and run"
    if case.scheduler is not None and case.scheduler.dropping_threshold > 0:
        return  # then jobs are dropped that no limit refuses
    for parts in parts_of(case):
        is_due[parts] = is_due[parts].any()
    wrong = np.flatnonzero(is_refused & ~is_due)
    yield from job_findings("fate of a job that no limit refuses", wrong, "DROPPED", "any other")


def _what_is_kept_is_kept(case: JobCase) -> Iterator[str]:
    """Jobs for which nodes are kept run on these alone, and others only if they end before, as planned, or start after.

    Both hold of plans: a job that outlives its own may go on, as may one that was suspended.
    """
    site, demands, places = _parts(case)
    kept, rows = site.kept, np.flatnonzero(_are_rows(case))
    begun_s, later = _times(case, rows).start_s, case.stretches.only(case.goes_on)
    goes_on = np.isin(_pairs(places.job[rows], begun_s), _pairs(later.job, later.start_s))
    rows = rows[~goes_on]
    job, start_s = places.job[rows], begun_s[~goes_on]
    own = demands.kept_of[demands.of_job[job]]
    until_s = start_s + case.planned_s[_options(case, rows)] if rows.size else start_s
    width = int(site.n_nodes.max(initial=0)) + 1
    node, kept_node = (part.group * np.int64(width) + part.node for part in (places, kept))
    has_own = np.zeros(rows.size, np.bool_)
    for of, name in enumerate(kept.names):
        there = np.isin(node[rows], kept_node[kept.of == of])
        begin_s, end_s = kept.start_s[of], kept.end_s[of]
        has_own |= there & (own == of) & (begin_s <= start_s) & (until_s <= end_s)
        wrong = there & (own != of) & (start_s < end_s) & (begin_s < until_s)
        yield from job_findings(f"start_s on a node of {name}", job[wrong], start_s[wrong], "one of jobs that may")
    wrong = (own >= 0) & ~has_own
    yield from job_findings("place of a job for which nodes are kept", job[wrong], "another", "one of these, in time")


class _Times(NamedTuple):
    """From when to when each row counts."""

    start_s: Floats
    end_s: Floats

    def start(self, row: int) -> str:
        return f"{float(self.start_s[row])!r} s"


def _pairs(job: Ints, start_s: Floats) -> Floats:
    """Jobs with instants, as numbers that can be compared."""
    return np.asarray(job + 1j * start_s)


def _had_until_s(case: JobCase) -> Floats:
    """Until when what each stretch has of licences and limits counts: of one that is suspended, until it goes on."""
    rows, until_s = case.stretches, case.stretches.end_s.copy()
    until_s[rows.fate == CUT] = np.inf
    after = np.flatnonzero(case.goes_on)
    until_s[after - 1] = rows.start_s[after]
    return until_s


def _are_counted(case: JobCase) -> Bools:
    """Which groups are only counted: a run may tell the nodes apart of those that need only be."""
    site, _, places = _parts(case)
    return np.asarray(site.is_counted & ~np.isin(np.arange(site.n_groups), places.group[places.node >= 0]))


def _times(case: JobCase, rows: Counts, *, keeps: bool = False) -> _Times:
    """When jobs ran at these places, or kept something there."""
    places, allocation = _parts(case)[2], case.allocation
    job, stretch, lost = places.job[rows], places.stretch_of[rows], allocation.pieces
    if not lost.job.size:
        return _Times(allocation.start_s[job], allocation.end_s[job])
    is_last, lost_end_s = stretch == LAST, case.kept_until_s if keeps else lost.end_s
    return _Times(
        np.where(is_last, allocation.start_s[job], lost.start_s[stretch]),
        np.where(is_last, allocation.end_s[job], lost_end_s[stretch]),
    )


def _options(case: JobCase, rows: Counts) -> Ints:
    """By which options jobs ran at these places."""
    places, allocation = _parts(case)[2], case.allocation
    option = allocation.option[places.job[rows]]
    if allocation.pieces.job.size:
        stretch = places.stretch_of[rows]
        option = np.where(stretch == LAST, option, allocation.pieces.option[stretch])
    return np.asarray(np.clip(option, 0, max(case.world.types.n_options - 1, 0)))


def _parts(case: JobCase) -> tuple[Site, Demands, Places]:
    site, demands, places = case.world.site, case.world.jobs.demands, case.allocation.places
    assert site is not None
    assert demands is not None
    assert places is not None
    return site, demands, places


def _are_rows(case: JobCase) -> Bools:
    """Which pieces are of jobs that ran, in a group that they may use."""
    site, demands, places = _parts(case)
    named = (places.job >= 0) & (places.job < case.world.n_jobs) & (places.group >= 0) & (places.group < site.n_groups)
    kind = demands.of_job[np.where(named, places.job, 0)]
    group = np.where(named, places.group, 0)
    may = (demands.gives[kind, group] > 0) & site.in_partition[demands.partition[kind], group]
    return np.asarray(named & may & _are_stretches(case))


def _are_stretches(case: JobCase) -> Bools:
    """Which pieces are of the last stretch of a job that ran, or of one that it had before."""
    places, lost = _parts(case)[2], case.allocation.pieces
    stretch, is_job = places.stretch_of, (places.job >= 0) & (places.job < case.world.n_jobs)
    job = np.where(is_job, places.job, 0)
    found = is_job & (stretch == LAST) & case.allocation.used[job]
    if lost.job.size:
        before = (stretch >= 0) & (stretch < lost.job.size)
        of = np.where(before, stretch, 0)
        found |= before & (lost.job[of] == places.job) & np.isfinite(lost.start_s[of]) & np.isfinite(lost.end_s[of])
    return np.asarray(found)


def _too_much(
    times: _Times, place: Counts | Ints, needs: Counts, has: Counts, is_late: Bools | None = None
) -> Iterator[int]:
    """The first row at each place from whose start on more is in use there than there is; ends come before starts.

    Of starts at one instant those that are late come last.
    """
    n = times.start_s.size
    at_s, change = np.concatenate((times.end_s, times.start_s)), np.concatenate((-needs, needs))
    is_start = np.arange(at_s.size) >= n
    where = np.concatenate((place, place))
    rank = is_start.astype(np.int64)
    rank[n:] += 0 if is_late is None else is_late
    order = np.lexsort((rank, at_s, where))
    used = np.cumsum(change[order])
    row = order % max(n, 1)
    over = np.flatnonzero((used > has[row]) & is_start[order])
    _, first = np.unique(where[order][over], return_index=True)
    yield from row[over[first]].tolist()


SITE_RULES: tuple[JobRule, ...] = (
    _places_are_told,
    _jobs_have_what_they_ask,
    _nodes_have_what_they_give,
    _licences_suffice,
    _limits_are_kept,
    _what_is_kept_is_kept,
    _refused_are_those_beyond_a_limit,
    nobody_is_on_a_node_that_is_away,
    partitions_keep_their_hours,
    *RULES_OF_GIVING_WAY,
)
"""What holds on a site; each rule supposes that the allocation tells places."""
