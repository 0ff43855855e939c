"""Jobs on a site whose nodes they may share: partitions with queues of their own, and packing by a stated rule."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from joulewise.kernels.jobs.sites.events import run_site
from joulewise.kernels.jobs.sites.layout import NOWHERE, Lost, SiteFates, SiteRun
from joulewise.kernels.jobs.sites.opening import open_site
from joulewise.model.conditions import NO_JOB
from joulewise.model.jobs import Fate, JobAllocation, JobWorld, Pieces
from joulewise.model.site import LAST, Places, Site
from joulewise.policies.jobs.compile import compiled_order
from joulewise.policies.jobs.orders import BY_ARRIVAL
from joulewise.policies.jobs.policy import JobOrder
from joulewise.simulate.jobs import arrays as job_arrays
from joulewise.simulate.jobs.ready import ready_times
from joulewise.simulate.jobs.scheduler import Scheduler
from joulewise.simulate.jobs.sites.arrays import fits_of, new_fates, new_run, running_at
from joulewise.simulate.jobs.sites.shares import order_on, priorities_on
from joulewise.simulate.jobs.sites.ways import told_apart, ways_of

_run_site: Any = run_site
_open_site: Any = open_site
_BEFORE_ALL_S = -1.0


class Sited(NamedTuple):
    """What became of the jobs, at how many instants somebody waited for a decision, and the wall-clock time taken."""

    allocation: JobAllocation
    n_mapping_events: int
    mapping_s: float


def run_on_site(world: JobWorld, scheduler: Scheduler, seed: int = 0, trial: int = 0) -> Sited:
    """Let a scheduler work through the jobs of a site, until its window ends or all are done.

    `seed` and `trial` feed a policy that draws at random.
    """
    assert world.site is not None
    assert world.jobs.demands is not None
    site = told_apart(world.site, world.jobs.demands, scheduler)
    ways = ways_of(replace(world, site=site), scheduler, seed, trial)
    demands = ways.demands
    conditions = None if world.jobs.conditions is None else world.jobs.conditions.without(~fits_of(world))
    world = replace(world, site=site, jobs=replace(world.jobs, demands=demands, conditions=conditions))
    priority = compiled_order(_order(world, scheduler))
    n_lost = world.n_jobs if demands.giving.stops.any() or site.failures.n_failures else 0
    while True:
        state = new_run(world, site, ways, scheduler)
        fates = new_fates(state, site, demands, n_lost)
        _run_site(state, fates, priority, _BEFORE_ALL_S)  # compiles, or loads what was compiled
        if world.opening is not None:
            _open_site(state, running_at(site, world.opening))
        began = time.perf_counter()
        n_events = int(_run_site(state, fates, priority, world.jobs.work.end_s))
        mapping_s = time.perf_counter() - began
        if not fates.lost.is_full[0]:
            break
        n_lost *= 2
    return Sited(_allocation(world, site, state, fates, scheduler), n_events, mapping_s)


def _order(world: JobWorld, scheduler: Scheduler) -> JobOrder:
    return order_on(priorities_on(world), scheduler) if scheduler.policy.is_weighted else scheduler.order or BY_ARRIVAL


def _allocation(world: JobWorld, site: Site, state: SiteRun, fates: SiteFates, scheduler: Scheduler) -> JobAllocation:
    """What was decided."""
    n, start_s, fits = world.n_jobs, state.start_s, fits_of(world)
    start_s[fates.giving.is_suspended], state.pieces.n[fates.giving.is_suspended] = math.nan, 0
    ran, is_cancelled = np.isfinite(start_s), fates.giving.is_cancelled
    option, fate = np.full(n, NO_JOB, np.int32), np.full(n, Fate.WAITING, np.int8)
    option[ran] = world.types.first[world.jobs.work.task_type[ran]]
    fate[ran] = np.where(job_arrays.killed(world, scheduler)[option[ran]], Fate.KILLED, Fate.RAN)
    fate[is_cancelled] = Fate.CANCELLED
    fate[~fits] = Fate.IMPOSSIBLE
    fate[fates.is_refused] = Fate.DROPPED
    end_s = start_s + state.coming.time_s
    lost = fates.lost
    n_lost = int(lost.n[0])
    job = lost.job[:n_lost].astype(np.int32)
    choice = world.types.first[world.jobs.work.task_type[job]].astype(np.int32)
    pieces = Pieces(
        job, choice, lost.start_s[:n_lost].copy(), lost.end_s[:n_lost].copy(), ~lost.goes_on[:n_lost]
    )  # fmt: skip
    first_s = start_s.copy()
    np.fmin.at(first_s, job, pieces.start_s)
    ready_s = ready_times(world, first_s, end_s, fate == Fate.KILLED, is_cancelled)
    return JobAllocation(option, start_s, end_s, ready_s, fate, pieces, _places(site, state, lost))


def _places(site: Site, state: SiteRun, lost: Lost) -> Places:
    """Where jobs ran: in their last stretches, and before in those that were lost."""
    pieces = state.pieces
    job = np.repeat(np.arange(pieces.n.size), pieces.n)
    row = pieces.first[:-1][job] + (np.arange(job.size) - np.repeat(np.cumsum(pieces.n) - pieces.n, pieces.n))
    before = slice(int(lost.n_rows[0]))
    stretch = np.concatenate((np.full(job.size, LAST), lost.stretch[before]))
    job = np.concatenate((job, lost.job[lost.stretch[before]]))
    place = np.concatenate((pieces.place[row], lost.place[before]))
    n_pieces = np.concatenate((pieces.n_pieces[row], lost.n_pieces[before]))
    group = state.ground.group[place]
    node = np.where(site.is_counted[group], NOWHERE, place - state.ground.first[group])
    columns = (job.astype(np.int32), group.astype(np.int32), node.astype(np.int32), n_pieces)
    return Places(*columns, stretch if lost.n[0] else None)
