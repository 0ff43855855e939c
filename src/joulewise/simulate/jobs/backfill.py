"""The fast way through a trace: rigid jobs on one cluster, backfilled in order of arrival."""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import numpy as np

from joulewise.kernels.jobs import backfill as kernels
from joulewise.kernels.jobs.raising import Raising
from joulewise.kernels.jobs.rigid import Rigid, empty_queue, no_ends
from joulewise.kernels.jobs.timetable import new_book, room_for
from joulewise.model.arrays import Bools, Counts, Floats
from joulewise.model.conditions import NO_JOB
from joulewise.model.jobs import Fate, JobAllocation, JobWorld
from joulewise.policies.jobs.policy import ALL_JOBS
from joulewise.simulate.jobs.arrays import killed, raising_of, seen_times
from joulewise.simulate.jobs.scheduler import Scheduler

_easy: Any = kernels.easy
_conservative: Any = kernels.conservative

_NO_JOBS = Rigid(np.empty(0), np.empty(0), np.empty(0), np.empty(0, np.int64))
_NEVER_RAISED = Raising(np.empty(0), np.empty(0), np.empty(0, np.int64))


class Backfilled(NamedTuple):
    """What became of the jobs, at how many instants somebody waited for a decision, and the wall-clock time taken."""

    allocation: JobAllocation
    n_mapping_events: int
    mapping_s: float


def can_backfill_fast(world: JobWorld, scheduler: Scheduler) -> bool:
    """Whether `backfill` does what the scheduler says: EASY or conservative for rigid jobs on one cluster, no more."""
    return _is_plain_trace(world) and _is_plain_backfilling(scheduler)


def _is_plain_trace(world: JobWorld) -> bool:
    return (
        world.clusters.n_clusters == 1
        and bool((np.diff(world.types.first) <= 1).all())
        and world.jobs.conditions is None
        and world.jobs.work.end_s == math.inf
        and not world.supply.is_limited
        and world.outages.n_outages == 0
    )


def _is_plain_backfilling(scheduler: Scheduler) -> bool:
    policy = scheduler.policy
    return (
        policy.rule == "in-order"
        and policy.backfills
        and scheduler.order is not None
        and scheduler.order.priority is None
        and (scheduler.n_reservations == 1 or _is_conservative(scheduler))
        and scheduler.mapping_interval_s == math.inf
        and scheduler.dropping_threshold == 0
        and scheduler.energy_filter == "none"
        and not scheduler.preempts
        and scheduler.nodes == "counted"
    )


def _is_conservative(scheduler: Scheduler) -> bool:
    return scheduler.n_reservations == ALL_JOBS and scheduler.holds_until_start and scheduler.overrun != "unaware"


def backfill(world: JobWorld, scheduler: Scheduler) -> Backfilled:
    """Let a scheduler that this is made for (see can_backfill_fast) work through the world's jobs.

    EASY finds the reservation of the first in the queue again at every event; conservative moves all reservations
    forward in turn, in order of arrival, whenever a job ends before its planned end, and finds all of them again
    whenever a job outlives its plan.
    """
    types, work = world.types, world.jobs.work
    fits = np.diff(types.first)[work.task_type] > 0
    option = types.first[work.task_type[fits]]
    planned_s, time_s = seen_times(world, scheduler)
    jobs = Rigid(work.arrival_s[fits], time_s[option], planned_s[option], types.nodes[option].astype(np.int64))
    run = _run_easy if scheduler.n_reservations == 1 else _run_conservative
    n_nodes = int(world.clusters.n_nodes[0])
    run(_NO_JOBS, _NEVER_RAISED, n_nodes)  # compiles, or loads what was compiled
    raising = raising_of(world, scheduler, types.allowed_s[option], option.size)
    began = time.perf_counter()
    start_s, n_events = run(jobs, raising, n_nodes)
    mapping_s = time.perf_counter() - began
    is_killed = killed(world, scheduler)[option]
    return Backfilled(_allocation(world, fits, option, start_s, start_s + jobs.time_s, is_killed), n_events, mapping_s)


def _run_easy(jobs: Rigid, raising: Raising, n_nodes: int) -> tuple[Floats, int]:
    """When the jobs start, and the number of events."""
    n, start_s = jobs.nodes.size, np.empty(jobs.nodes.size)
    room = min(n, n_nodes)
    planned = kernels.no_planned_ends(room, n)
    return start_s, int(_easy(jobs, n_nodes, no_ends(room), planned, raising, empty_queue(n), start_s))


def _run_conservative(jobs: Rigid, raising: Raising, n_nodes: int) -> tuple[Floats, int]:
    """When the jobs start, and the number of events."""
    n, start_s = jobs.nodes.size, np.empty(jobs.nodes.size)
    book, ends = new_book(np.array([n_nodes]), room_for(n)), no_ends(min(n, n_nodes))
    return start_s, int(_conservative(jobs, book, ends, raising, np.empty(n), empty_queue(n), start_s))


def _allocation(
    world: JobWorld, fits: Bools, option: Counts, start_s: Floats, end_s: Floats, is_killed: Bools
) -> JobAllocation:
    """The jobs that fit have run; the others never will."""
    n = world.n_jobs
    options, fate = np.full(n, NO_JOB, np.int32), np.full(n, Fate.IMPOSSIBLE, np.int8)
    starts_s, ends_s = np.full(n, np.nan), np.full(n, np.nan)
    options[fits], starts_s[fits], ends_s[fits] = option, start_s, end_s
    fate[fits] = np.where(is_killed, Fate.KILLED, Fate.RAN)
    return JobAllocation(options, starts_s, ends_s, world.jobs.work.arrival_s, fate)
