"""A world of parallel jobs and a scheduler as the kernels of the event loop see them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from joulewise.kernels.jobs import state as job_state
from joulewise.kernels.jobs.energy import JobLimits, n_cap_commitments
from joulewise.kernels.jobs.greedy import GreedyRules
from joulewise.kernels.jobs.layout import JobFacts, JobOptions
from joulewise.kernels.jobs.live_prices import JobPrices, new_job_prices
from joulewise.kernels.jobs.orders import LARGE, MEDIUM, SMALL, Standings, Usage
from joulewise.kernels.jobs.outages import Broken, NodeOutages, new_broken
from joulewise.kernels.jobs.pinned import NO_PINS, Pins, new_pins
from joulewise.kernels.jobs.raising import Raising
from joulewise.kernels.jobs.state import JobRules
from joulewise.kernels.jobs.timetable import Book, new_book, room_for
from joulewise.kernels.live_prices import Gains
from joulewise.model.arrays import Bools, Counts, Floats, Ints
from joulewise.model.jobs import JobWorld
from joulewise.policies.jobs.layout import job_facts
from joulewise.simulate.jobs.scheduler import RAISING_STEPS_S, Scheduler

PRICE_GAINS = Gains(idle=0.1)
"""How prices move: as for serial tasks, but more nodes stay free between jobs of many nodes that run ever so well."""

_MOST_RECORDED = 100_000

_RULES = {
    "greedy": job_state.GREEDY,
    "in-order": job_state.IN_ORDER,
    "in-queues": job_state.IN_QUEUES,
    "at-random": job_state.AT_RANDOM,
    "assigned": job_state.ASSIGNED,
}


def rules_of(world: JobWorld, scheduler: Scheduler) -> JobRules:
    """The scheduler's switches in numbers."""
    policy, is_unaware = scheduler.policy, _is_unaware(world, scheduler)
    is_permanent = scheduler.holds_until_start and not is_unaware
    return JobRules(
        rule=_RULES[policy.rule],
        interval_s=scheduler.mapping_interval_s,
        n_ahead=scheduler.n_reservations,
        is_permanent=is_permanent,
        compresses=is_permanent and policy.rule != "greedy",
        backfills=policy.backfills,
        by_arrival=policy.rule == "at-random" or (scheduler.order is not None and scheduler.order.priority is None),
        by_fastest=scheduler.cluster_ties == "fastest",
        is_unaware=is_unaware,
        preempts=scheduler.preempts,
        checkpoint_s=scheduler.checkpoint_s,
        restart_s=scheduler.restart_s,
        per_cycle=np.array(scheduler.per_cycle, np.int64),
    )


def _is_unaware(world: JobWorld, scheduler: Scheduler) -> bool:
    """Whether jobs outlive plans that nothing corrects: plans are then made again at every event."""
    return scheduler.overrun == "unaware" and bool(outlived(world, scheduler).any())


def greed_of(world: JobWorld, scheduler: Scheduler) -> GreedyRules:
    """What the greedy, and dropping, go by."""
    policy = scheduler.policy
    return GreedyRules(
        threshold=scheduler.dropping_threshold if scheduler.dropping_threshold > 0 else -math.inf,
        drops_options=scheduler.dropping_by == "option",
        is_permanent=scheduler.holds_until_start and not _is_unaware(world, scheduler),
        declines=policy.declines,
        falls_with_time=policy.objective is not None and policy.objective.falls_with_time,
    )


def prices_of(world: JobWorld, scheduler: Scheduler) -> JobPrices:
    """Prices for a policy that finds them itself, with room to record them at every event up to a great many."""
    n_events = 2 * world.n_jobs + 1
    if math.isfinite(scheduler.mapping_interval_s) and math.isfinite(world.jobs.work.end_s):
        n_events = math.ceil(world.jobs.work.end_s / scheduler.mapping_interval_s) + 1
    is_used = scheduler.policy.is_priced
    n_recorded = min(n_events, _MOST_RECORDED) if is_used else 0
    return new_job_prices(world.clusters.n_clusters, PRICE_GAINS, n_recorded, is_used=is_used)


def outlived(world: JobWorld, scheduler: Scheduler) -> Bools:
    """Which options take longer than the scheduler plans with when they start."""
    planned_s, time_s = seen_times(world, scheduler)
    return np.asarray(time_s > planned_s)


def killed(world: JobWorld, scheduler: Scheduler) -> Bools:
    """Which options end at their limit."""
    return np.asarray((world.types.time_s > world.types.allowed_s) & (scheduler.overrun == "kill"))


def seen_times(world: JobWorld, scheduler: Scheduler) -> tuple[Floats, Floats]:
    """What each option is planned to take when it starts, as the scheduler goes by it, and what it takes."""
    types = world.types
    time_s = np.where(killed(world, scheduler), types.allowed_s, types.time_s)
    planned_s = np.maximum(types.planned_s, time_s) if scheduler.overrun == "raise" else types.planned_s
    return planned_s, time_s


def raising_of(world: JobWorld, scheduler: Scheduler, limit_s: Floats, n_jobs: int) -> Raising:
    """How plans are raised that are outlived, if any is; `limit_s` is of each option, or of each of so many jobs."""
    raises = scheduler.overrun in ("kill", "steps") and outlived(world, scheduler).any()
    return Raising(np.array(RAISING_STEPS_S if raises else ()), limit_s, np.zeros(n_jobs, np.int64))


def seen_facts(world: JobWorld, scheduler: Scheduler) -> tuple[JobFacts, Ints]:
    """The world as the scheduler goes by it, and the numbers of the options it looks at."""
    facts = job_facts(world)
    options = facts.options
    planned_s, time_s = seen_times(world, scheduler)
    options = options._replace(
        planned_s=planned_s,
        time_s=time_s,
        energy_j=options.power_w * planned_s,
        resources=np.asarray(planned_s * options.nodes * facts.cores[options.cluster], np.float64),
    )
    seen = np.ones(planned_s.size, np.bool_) if scheduler.policy.all_pstates else _in_first_pstate(options)
    before = np.concatenate(([0], np.cumsum(seen)))
    columns: Any = (column[seen] for column in options[1:])
    return facts._replace(options=JobOptions(before[options.first], *columns)), np.flatnonzero(seen).astype(np.int32)


def _type_of(options: JobOptions) -> Counts:
    return np.repeat(np.arange(options.first.size - 1), np.diff(options.first))


def _in_first_pstate(options: JobOptions) -> Bools:
    """Whether an option is in the fastest P-state that its type has on its cluster."""
    n_clusters = int(options.cluster.max(initial=0)) + 1
    place = _type_of(options) * n_clusters + options.cluster
    lowest = np.full(int(place.max(initial=0)) + 1, np.iinfo(np.int8).max)
    np.minimum.at(lowest, place, options.pstate)
    return np.asarray(options.pstate == lowest[place])


def last_end_s(world: JobWorld, facts: JobFacts) -> float:
    """An instant by which all is over: the window's end and what may run on then, or all jobs one after another."""
    longest_s = np.zeros(facts.options.first.size - 1)
    np.maximum.at(longest_s, _type_of(facts.options), np.maximum(facts.options.planned_s, facts.options.time_s))
    work = world.jobs.work
    if math.isfinite(work.end_s):
        return work.end_s + float(longest_s.max(initial=0.0))
    return float(facts.tasks.arrival_s[-1] + longest_s[work.task_type].sum() + facts.think_s.sum())


def books_of(
    world: JobWorld, scheduler: Scheduler, facts: JobFacts, limits: JobLimits, until_s: float
) -> tuple[Book, Book]:
    """The book and another one to try plans in; they share their pins."""
    pins = pins_of(world, scheduler, facts)
    book, trial = _book_of(world, limits, until_s), _book_of(world, limits, until_s)
    return book._replace(pins=pins), trial._replace(pins=pins._replace(sees_plans=True))


def _book_of(world: JobWorld, limits: JobLimits, until_s: float) -> Book:
    """An empty book with a row for each cluster and, under a cap, one for power."""
    n_commitments = world.n_jobs + world.outages.n_outages + n_cap_commitments(limits, until_s)
    power = [limits.cap_mw.max()] if limits.has_cap else []
    return new_book(np.array([*world.clusters.n_nodes, *power], np.int64), room_for(n_commitments))


def pins_of(world: JobWorld, scheduler: Scheduler, facts: JobFacts) -> Pins:
    """Pins of nodes, if the scheduler has any, with room for every job on as many nodes as it may choose."""
    if scheduler.nodes == "counted":
        return NO_PINS
    return new_pins(world.clusters.n_nodes, world.n_jobs, most_pins(world, facts))


def most_pins(world: JobWorld, facts: JobFacts) -> int:
    """How many nodes all jobs together could have, each at most once at a time."""
    most = np.zeros(facts.options.first.size - 1, np.int64)
    np.maximum.at(most, _type_of(facts.options), facts.options.nodes)
    return int(most[world.jobs.work.task_type].sum())


def room_for_pieces(world: JobWorld, scheduler: Scheduler) -> Broken:
    """Room for what failing nodes can break, and for every job to be suspended once."""
    outages = world.outages
    n_failures = int(outages.nodes[~outages.is_planned].sum())
    return new_broken(n_failures + (world.n_jobs if scheduler.preempts else 0))


def usage_of(world: JobWorld, scheduler: Scheduler) -> Usage:
    """No user has used anything yet; jobs of unknown users, if there are any, count as those of one more user."""
    label = world.jobs.labels.get("user")
    names, codes = ((), np.full(world.n_jobs, -1)) if label is None else (label.names, label.codes)
    is_unknown = codes < 0
    user = np.where(is_unknown, len(names), codes)
    everybody = np.zeros(len(names) + int(is_unknown.any()) + 1)
    decay_per_s = math.log(2.0) / scheduler.half_life_s
    return Usage(user.astype(np.int64), everybody, everybody.copy(), everybody.copy(), decay_per_s)


def standings_of(world: JobWorld, scheduler: Scheduler, facts: JobFacts) -> Standings:
    """What orders know of job types and of the queues of jobs."""
    label, standing = world.jobs.labels.get("queue"), np.zeros(world.n_jobs)
    if label is not None:
        by_code = np.array([scheduler.standing.get(name, 0.0) for name in label.names] + [0.0])
        standing = by_code[label.codes]
    return Standings(_fastest(facts.options), _size_class(facts.options, scheduler.queue_thresholds), standing)


def _fastest(options: JobOptions) -> Counts:
    """The first of the options of each type that is planned to take the least time; -1 without options."""
    types = _type_of(options)
    order = np.lexsort((options.planned_s, types))
    fastest = np.full(options.first.size - 1, -1, np.int64)
    fastest[types[order][::-1]] = order[::-1]
    return fastest


def _size_class(options: JobOptions, thresholds: tuple[float, float]) -> Counts:
    """Large, medium or small by a type's mean core-seconds over its clusters, as a share of the highest."""
    types, n = _type_of(options), np.diff(options.first)
    mean: Floats = np.bincount(types, options.resources, n.size) / np.maximum(n, 1)
    return classes_of_size(mean, thresholds)


def classes_of_size(resources: Floats, thresholds: tuple[float, float]) -> Counts:
    """Large, medium or small by core-seconds as a share of the most."""
    share = resources / max(resources.max(initial=0.0), np.finfo(np.float64).tiny)
    low, high = thresholds
    return np.where(share > high, LARGE, np.where(share < low, SMALL, MEDIUM)).astype(np.int64)


def outages_of(world: JobWorld) -> NodeOutages:
    """The outages by their start, planned ones first, and when they change what is there."""
    outages = world.outages
    order = np.lexsort((~outages.is_planned, outages.start_s))
    cluster, nodes = outages.cluster[order].astype(np.int64), outages.nodes[order].astype(np.int64)
    start_s, end_s, is_planned = outages.start_s[order], outages.end_s[order], outages.is_planned[order]
    ends_s = end_s[np.isfinite(end_s)]
    change_s = np.unique(np.concatenate((start_s[~is_planned], ends_s)))
    out = np.where(is_planned, nodes, 0)
    room = np.empty(world.n_jobs, np.int64)
    return NodeOutages(cluster, nodes, start_s, end_s, is_planned, outages.lot[order], out, change_s, room)
