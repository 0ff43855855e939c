"""Whether jobs that share the nodes of a site have what they asked for, and no node gives more than it has."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from joulewise.check.jobs.case import JobCase, JobRule, job_findings
from joulewise.model.arrays import Bools, Counts, Floats, Ints
from joulewise.model.jobs import Fate
from joulewise.model.site import ANY_NUMBER, Demands, Places, Site


def _places_are_told(case: JobCase) -> Iterator[str]:
    """Jobs that ran have places that exist and that they may use, each once, and no others have any."""
    site, _, places = _parts(case)
    wrong = np.setdiff1d(np.flatnonzero(case.allocation.used), places.job)
    yield from job_findings("places of a job that ran", wrong, "none", "where it ran")
    wrong = np.setdiff1d(places.job, np.flatnonzero(case.allocation.used))
    yield from job_findings("places of a job that did not run", wrong, "some", "none")
    rows = ~_are_rows(case)
    yield from job_findings("group of a piece", places.job[rows], places.group[rows], "one that its partition has")
    there = _are_rows(case)
    most = np.where(site.is_counted, 0, site.n_nodes)[np.where(there, places.group, 0)]
    rows = there & ~((places.node >= np.where(most > 0, 0, -1)) & (places.node < most))
    yield from job_findings("node of a piece", places.job[rows], places.node[rows], "a node of its group")
    _, first = np.unique(np.stack((places.job, places.group, places.node)), axis=1, return_index=True)
    again = np.setdiff1d(np.arange(places.job.size), first)
    yield from job_findings("node of a piece", places.job[again], places.node[again], "one that is told once")


def _jobs_have_what_they_ask(case: JobCase) -> Iterator[str]:
    """A job has the units that it needs and no piece to spare, and on each node no more pieces than it may."""
    site, demands, places = _parts(case)
    rows = np.flatnonzero(_are_rows(case))
    job, group, pieces = places.job[rows], places.group[rows], places.pieces[rows]
    kind = demands.of_job[job]
    gives = demands.gives[kind, group]
    most = np.where(site.is_counted[group], ANY_NUMBER, demands.most[kind])
    wrong = (pieces < 1) | (pieces > most)
    yield from job_findings("pieces on a node", job[wrong], pieces[wrong], "1 or more, as many as it may have there")
    n = case.world.n_jobs
    has, last = np.bincount(job, pieces * gives, n).astype(np.int64), np.zeros(n, np.int64)
    np.maximum.at(last, job, gives)
    used = np.flatnonzero(case.allocation.used)
    needed = demands.units[demands.of_job[used]]
    wrong = (has[used] < needed) | (has[used] - last[used] >= needed)
    yield from job_findings("units", used[wrong], has[used][wrong], needed[wrong])


def _nodes_have_what_they_give(case: JobCase) -> Iterator[str]:
    """At no instant is more of a resource in use on a node than it has, nor more nodes of a counted group."""
    site, demands, places = _parts(case)
    rows = np.flatnonzero(_are_rows(case))
    job, group, pieces = places.job[rows], places.group[rows], places.pieces[rows]
    counted = site.is_counted
    first = np.concatenate(([0], np.cumsum(np.where(counted, 1, site.n_nodes))))
    place = first[group] + np.where(counted[group], 0, places.node[rows])
    for r, name in enumerate(site.resources):
        needs = demands.need[demands.of_job[job], group, r] * pieces
        has = site.capacity[group, r]
        for at in _too_much(case, job, place, np.where(counted[group], 0, needs), has):
            node = f"node {places.node[rows[at]]} of group {site.groups[group[at]]}"
            yield f"{node}: found more {name} in use at {_start(case, job[at])} than the {has[at]} that it has"
    for at in _too_much(case, job, place, np.where(counted[group], pieces, 0), site.n_nodes[group]):
        where, has = site.groups[group[at]], site.n_nodes[group[at]]
        yield f"group {where}: found more nodes in use at {_start(case, job[at])} than the {has} that it has"


def _licences_suffice(case: JobCase) -> Iterator[str]:
    """At no instant are more licences in use than the site has."""
    site, demands, _ = _parts(case)
    job = np.flatnonzero(case.allocation.used)
    everywhere = np.zeros(job.size, np.int64)
    for i, name in enumerate(site.licences):
        needs = demands.licences[demands.of_job[job], i]
        for at in _too_much(case, job, everywhere, needs, np.full(job.size, site.n_licences[i])):
            has = site.n_licences[i]
            yield f"licence {name}: found more in use at {_start(case, job[at])} than the {has} that there are"


def _limits_are_kept(case: JobCase) -> Iterator[str]:
    """At no instant have the running jobs of a holder more together than it may have."""
    _, demands, _ = _parts(case)
    limits = demands.limits
    used = np.flatnonzero(case.allocation.used)
    row, slot = np.nonzero(limits.holders[used] >= 0)
    job, holder = used[row], limits.holders[used][row, slot]
    for w, name in enumerate(limits.what):
        uses, has = limits.uses[demands.of_job[job], w], limits.most[holder, w]
        for at in _too_much(case, job, holder, uses, has):
            who = limits.names[holder[at]]
            yield f"limit of {who}: found more {name} in use at {_start(case, job[at])} than the {has[at]} allowed"


def _refused_are_those_beyond_a_limit(case: JobCase) -> Iterator[str]:
    """Of no holder more jobs wait and run than may, and jobs are refused only where one holder has as many."""
    limits, allocation = _parts(case)[1].admitted, case.allocation
    fate = allocation.fate
    is_refused = fate == Fate.DROPPED
    came = (
        np.isfinite(allocation.ready_s) & (allocation.ready_s <= case.world.jobs.work.end_s) & (fate != Fate.IMPOSSIBLE)
    )
    gone_s = np.where(allocation.used, allocation.end_s, np.inf)
    is_due = np.zeros(fate.size, np.bool_)
    for holder, name in enumerate(limits.names):
        mine = (limits.holders == holder).any(axis=1) & came
        there, asked = np.flatnonzero(mine & ~is_refused), np.flatnonzero(mine)
        n_come, n_gone = (np.sort(at_s[there]) for at_s in (allocation.ready_s, gone_s))
        at_s = allocation.ready_s[asked]
        n_there = np.searchsorted(n_come, at_s, "right") - np.searchsorted(n_gone, at_s, "right")
        most = int(limits.most[holder, 0])
        is_due[asked] |= n_there >= most
        for at in asked[(n_there > most) & ~is_refused[asked]][:1].tolist():
            when = float(allocation.ready_s[at])
            yield f"submissions of {name}: found more jobs at {when!r} s than the {most} that may wait and run"
    wrong = np.flatnonzero(is_refused & ~is_due)
    yield from job_findings("fate of a job that no limit refuses", wrong, "DROPPED", "any other")


def _what_is_kept_is_kept(case: JobCase) -> Iterator[str]:
    """Jobs for which nodes are kept run on these alone, and others only if they end before, as planned, or start after.

    Both hold of plans: a job that outlives its own may go on.
    """
    site, demands, places = _parts(case)
    kept, rows = site.kept, np.flatnonzero(_are_rows(case))
    job, start_s = places.job[rows], case.allocation.start_s[places.job[rows]]
    option = np.clip(case.allocation.option[job], 0, max(case.world.types.n_options - 1, 0))
    until_s, own = start_s + case.planned_s[option], demands.kept_of[demands.of_job[job]]
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


def _start(case: JobCase, job: int) -> str:
    return f"{float(case.allocation.start_s[job])!r} s"


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
    return np.asarray(named & may & case.allocation.used[np.where(named, places.job, 0)])


def _too_much(case: JobCase, job: Counts | Ints, place: Counts | Ints, needs: Counts, has: Counts) -> Iterator[int]:
    """The first row at each place from whose start on more is in use there than there is; ends come before starts."""
    start_s: Floats = case.allocation.start_s[job]
    end_s: Floats = case.allocation.end_s[job]
    at_s, change = np.concatenate((end_s, start_s)), np.concatenate((-needs, needs))
    is_start = np.arange(at_s.size) >= job.size
    where = np.concatenate((place, place))
    order = np.lexsort((is_start, at_s, where))
    used = np.cumsum(change[order])
    row = order % max(job.size, 1)
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
)
"""What holds on a site; each rule supposes that the allocation tells places."""
