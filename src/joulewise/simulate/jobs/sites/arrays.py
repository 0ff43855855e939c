"""What the kernels of a site work on, before anything has come."""

from __future__ import annotations

import math
from dataclasses import asdict, replace

import numpy as np

from joulewise.kernels.heap import empty_heap
from joulewise.kernels.jobs.sites import layout
from joulewise.kernels.jobs.sites.layout import (
    NOWHERE,
    Asks,
    Choice,
    Coming,
    Failing,
    Giving,
    Greed,
    Ground,
    Held,
    Hours,
    Kept,
    Limits,
    Lost,
    Outlook,
    Partitions,
    Planned,
    Ranked,
    Rooms,
    Running,
    SiteFates,
    SiteRules,
    SiteRun,
    Timed,
    Tried,
    Waiting,
)
from joulewise.kernels.jobs.sites.prices import UNKNOWN, SitePrices
from joulewise.kernels.live_prices import Gains
from joulewise.model import site as model
from joulewise.model.arrays import Bools, Counts
from joulewise.model.jobs import JobWorld
from joulewise.model.kept import FOR_ALL
from joulewise.model.opening import Opening
from joulewise.model.passes import Passes
from joulewise.model.preemption import Preemption
from joulewise.model.site import ANY_NUMBER, WHOLE, Demands, Site
from joulewise.policies.jobs.compile import compiled_objective
from joulewise.policies.jobs.layout import job_facts
from joulewise.policies.jobs.orders import UTILITY
from joulewise.policies.jobs.policy import ALL_JOBS
from joulewise.simulate.jobs import arrays as job_arrays
from joulewise.simulate.jobs.conditions import conditions_of, jobs_that_wait, largest_sum, later_of
from joulewise.simulate.jobs.scheduler import Scheduler
from joulewise.simulate.jobs.sites.in_turn import turns_of
from joulewise.simulate.jobs.sites.power import never_fits, power_of, prices_places
from joulewise.simulate.jobs.sites.shares import cores_of, priorities_on, shares_of, standing_on
from joulewise.simulate.jobs.sites.ways import Ways

_RING = 1024
PRICE_GAINS = Gains(idle=0.1, first_part=0.1, depth=1000.0)
"""Jobs of a site wait for hours without losing worth, so that prices begin low and may fall far."""
_MOST_ROWS = 64


def new_run(world: JobWorld, site: Site, ways: Ways, scheduler: Scheduler) -> SiteRun:
    """The site before anything has come."""
    ground, demands = _ground(site), ways.demands
    n, n_places, n_resources = world.n_jobs, ground.group.size, ground.free.shape[1]
    most_pieces, n_ahead = most_pieces_of(site, demands), _n_ahead(scheduler)
    n_queues = len(site.partitions) + len(site.kept.names)
    n_held = int(min(most_pieces.sum(), n_ahead * n_queues * largest_sum(world, most_pieces)))
    first = np.concatenate(([0], np.cumsum(most_pieces)))
    n_rows = min(demands.n_classes, _MOST_ROWS)
    n_pieces, by_class = int(first[-1]), np.zeros(demands.n_classes, np.int64)
    return SiteRun(
        ground,
        _asks(site, demands),
        _limits(demands.limits),
        _coming(world, scheduler),
        _ranked(world, site, demands, scheduler),
        _rules(site, scheduler, n_ahead),
        _greed(world, site, ways, scheduler),
        _no_times(n),
        _no_times(n),
        later_of(world, fits_of(world)),
        Planned(_zero(), _zero(), _zero(), np.empty(n), _ints(n)),
        layout.Pieces(
            first, np.zeros(n, np.int64), _ints(n_pieces), _ints(n_pieces), _ints(n_pieces), _ints(n_pieces),
            _ints(n_pieces), np.full(n_places, NOWHERE),
        ),
        Rooms(
            _zero(), _ints(_RING), np.full(n_rows, NOWHERE), np.zeros(n_rows, np.int64),
            np.zeros((n_rows, site.n_groups), np.int64),
            np.empty((n_rows, n_places), np.int64), np.empty((n_rows, n_places), np.int64),
        ),
        Outlook(
            np.zeros(n_places, np.int64), np.full(n_rows, NOWHERE), np.empty((n_rows, n_places), np.int64),
            np.empty((n_rows, n_places)), np.empty(n_places), _ints(n_resources),
        ),
        Held(
            _zero(), _ints(n_held), _ints(n_held), _ints(n_held), np.empty(n_held), np.empty(n_held),
            np.empty((n_held, n_resources), np.int64), _ints(n_held), np.full(n_places, NOWHERE), _ints(n_held),
            _ints(n_held),
        ),
        Choice(_zero(), np.zeros(n_places, np.int64), _zero(), _ints(n_places),
               np.empty((n_places, n_resources), np.int64), _ints(n_places), _zero(), _ints(n_places), _ints(n_places)),
        Waiting(_zero(), _ints(n), np.zeros(n), np.full(n, np.inf), _zero(), _ints(n)),
        Tried(_zero(), _zero() + 1, by_class - 1, by_class, np.zeros(demands.n_classes)),
        Partitions(
            np.zeros(n_queues, np.int64), np.zeros(n_queues, np.bool_), np.zeros(n_queues, np.bool_),
            np.concatenate((site.in_partition, np.zeros((len(site.kept.names), site.n_groups), np.bool_))),
            np.zeros(site.n_groups, np.bool_),
        ),
        conditions_of(world, scheduler, fits_of(world)),
        _kept(site, demands, ground),
        power_of(world, scheduler),
        np.full(n, np.nan),
    )  # fmt: skip


def _ground(site: Site) -> Ground:
    """All nodes without a job: a counted group is one place that has its nodes in place of resources."""
    n_places, capacity = _n_places(site), _capacity(site)
    first = np.concatenate(([0], np.cumsum(n_places)))
    group = np.repeat(np.arange(site.n_groups), n_places)
    rank = np.unique(site.weight, return_inverse=True)[1].astype(np.int64)
    worth = WHOLE // np.maximum(capacity, 1)
    spare = (capacity * worth).sum(axis=1)
    return Ground(
        first,
        group,
        capacity[group],
        spare[group],
        rank,
        np.argsort(rank, kind="stable"),
        worth,
        site.n_licences.copy(),
    )


def _n_places(site: Site) -> Counts:
    """How many places each group has."""
    return np.where(site.is_counted, 1, site.n_nodes)


def _capacity(site: Site) -> Counts:
    """What a place of each group has."""
    counted, capacity = site.is_counted, site.capacity.copy()
    capacity[counted] = 0
    capacity[counted, 0] = site.n_nodes[counted]
    return capacity


def _giving(preemption: Preemption, n_classes: int, coming: Coming) -> Giving:
    """Who gives way to whom; nobody has yet."""
    n = coming.time_s.size
    return Giving(
        preemption.of_job.astype(np.int64), preemption.stops.copy(), preemption.priority.copy(),
        preemption.grace_s.copy(), preemption.cancels.copy(), preemption.suspended.copy(), float(preemption.exempt_s),
        n_classes, coming.time_s.copy(), coming.planned_s.copy(), np.zeros(n, np.bool_), np.zeros(n, np.bool_),
        np.zeros(n, np.bool_), np.zeros(n, np.bool_), _zero(), _ints(n), np.full(n, -np.inf), np.zeros(1, np.bool_),
        np.zeros(n, np.bool_), _ints(n),
    )  # fmt: skip


def _nothing_lost(n: int, n_rows: int) -> Lost:
    """Room for so many stretches that are lost, with so many pieces in all."""
    return Lost(
        _zero(), _ints(n), np.empty(n), np.empty(n), np.zeros(n, np.bool_), _zero(), _ints(n_rows), _ints(n_rows),
        _ints(n_rows), np.zeros(1, np.bool_),
    )  # fmt: skip


def _limits(limits: model.Limits) -> Limits:
    """Limits of which nothing is used."""
    used, holders = np.zeros_like(limits.most), limits.holders.astype(np.int64)
    return Limits(limits.most.copy(), used, limits.uses.copy(), holders, limits.n_binding)


def new_fates(run: SiteRun, site: Site, demands: Demands, n_lost: int) -> SiteFates:
    """Nothing has become of any job; with room for so many stretches that are lost."""
    n, n_pieces = run.start_s.size, run.pieces.job.size
    return SiteFates(
        _limits(demands.admitted),
        np.zeros(n, np.bool_),
        _giving(demands.giving, demands.n_classes, run.coming),
        _nothing_lost(n_lost, n_lost // max(n, 1) * n_pieces),
        _failing(site, run.ground, run.kept),
        Hours(site.hours.at_s.copy(), site.hours.partition.astype(np.int64), site.hours.is_up.copy(), _zero()),
    )


def _failing(site: Site, ground: Ground, kept: Kept) -> Failing:
    """The nodes that fail: of what is kept theirs are the last numbers, one for each."""
    failures = site.failures
    place = ground.first[failures.group] + failures.node
    of = len(site.kept.names) + np.unique(place, return_inverse=True)[1].astype(np.int64)
    n_known = np.array([np.isfinite(kept.at_s).sum()])
    columns = (failures.start_s.copy(), failures.end_s.copy(), place, of)
    return Failing(*columns, _zero(), n_known, site.requeues)


def _kept(site: Site, demands: Demands, ground: Ground) -> Kept:
    """What is kept for some jobs, by place and by time; for nobody, and at no time yet, where nodes fail."""
    kept, failures, n_places = site.kept, site.failures, ground.group.size
    place = ground.first[kept.group] + kept.node
    fails = np.unique(ground.first[failures.group] + failures.node)
    everywhere = np.concatenate((place, fails))
    of = np.concatenate((kept.of, len(kept.names) + np.arange(fails.size)))
    by_place = np.argsort(everywhere, kind="stable")
    first = np.concatenate(([0], np.cumsum(np.bincount(everywhere, minlength=n_places))))
    never_s, unknown = np.full(fails.size, np.inf), np.zeros(failures.n_failures, np.int64)
    at_s = np.concatenate((kept.start_s[kept.of], kept.end_s[kept.of], unknown + np.inf))
    by_time = np.argsort(at_s, kind="stable")
    return Kept(
        first, of[by_place].astype(np.int64), demands.kept_of.astype(np.int64),
        np.concatenate((kept.start_s, never_s)), np.concatenate((kept.end_s, never_s)), at_s[by_time],
        np.concatenate((place, place, unknown))[by_time], _zero(),
    )  # fmt: skip


def _asks(site: Site, demands: Demands) -> Asks:
    """What classes ask for; of a counted group a piece is one of its nodes.

    Jobs for which nodes are kept queue for these alone. Where jobs are suspended each class has another row of needs:
    what it gives then.
    """
    counted = site.is_counted
    need = np.where(site.gives_wholes[demands.partition][:, None, None], site.capacity, demands.need)
    need[:, counted] = 0
    need[:, counted, 0] = 1
    if demands.giving.suspended.any():
        need = np.concatenate((need, np.where(site.is_given_up, need, 0)))
    may = (demands.need <= site.capacity).all(axis=2)
    gives, most = np.where(may, demands.gives, 0), np.where(counted, ANY_NUMBER, demands.most[:, None])
    return Asks(
        demands.of_job.astype(np.int64),
        np.where(demands.kept_of == FOR_ALL, demands.partition, len(site.partitions) + demands.kept_of).astype(
            np.int64
        ),
        demands.units.copy(),
        most,
        need,
        gives,
        ((gives == 0) | ((gives == 1) & (most == 1))).all(axis=1),
        demands.licences.copy(),
    )


def most_pieces_of(site: Site, demands: Demands) -> Counts:
    """At how many places each job could run at most."""
    may = demands.gives > 0
    places, needed = (
        (may * _n_places(site)).sum(axis=1),
        np.where(may, -(-demands.units[:, None] // np.maximum(demands.gives, 1)), 0),
    )
    return np.asarray(np.minimum(places, needed.max(axis=1, initial=0))[demands.of_job])


def _rules(site: Site, scheduler: Scheduler, n_ahead: int) -> SiteRules:
    in_passes = scheduler.passes == "slurm"
    passes = site.passes if in_passes else Passes(resolution_s=0.0, window_s=math.inf)
    policy = scheduler.policy
    if not policy.backfills:
        passes = replace(passes, interval_s=math.inf)
    orders = (_is_by_arrival(scheduler), policy.is_weighted)
    mapping_s = scheduler.mapping_interval_s
    return SiteRules(n_ahead, policy.backfills, *orders, in_passes, **asdict(passes), mapping_s=mapping_s)


def _greed(world: JobWorld, site: Site, ways: Ways, scheduler: Scheduler) -> Greed:
    """What a policy with an objective goes by; nothing of it is used where jobs go in an order."""
    objective, facts, n = scheduler.policy.objective, job_facts(world), world.n_jobs
    planned_s, _ = job_arrays.seen_times(world, scheduler)
    fits, option, energy_j = fits_of(world), world.types.first[world.jobs.work.task_type], np.zeros(n)
    energy_j[fits] = (facts.options.power_w * planned_s)[option[fits]]
    return Greed(
        objective is not None,
        objective is not None and objective.falls_with_time and not prices_places(world, scheduler),
        scheduler.policy.declines,
        scheduler.dropping_threshold, compiled_objective(objective or UTILITY), facts.tasks, facts.utilities, energy_j,
        ways.demands.of_job.astype(np.int64), ways.first.copy(), ways.option.copy(),
        _prices(site, ways.demands, is_used=scheduler.policy.is_priced), empty_heap(n), _ints(n), np.empty(n), _zero(),
        _zero(), _zero(),
    )  # fmt: skip


def _prices(site: Site, demands: Demands, *, is_used: bool) -> SitePrices:
    """Prices that are not known yet."""
    whole = np.ravel(_capacity(site) * _n_places(site)[:, None])
    n, n_classes, per_s = whole.size, demands.n_classes, np.where(whole > 0, UNKNOWN, 0.0)
    return SitePrices(
        is_used, per_s, per_s.copy(), whole,
        np.zeros(n_classes), np.zeros(n_classes, np.int64), _zero(), np.full(1, -1.0), np.zeros(n), np.zeros(n),
        PRICE_GAINS,
    )  # fmt: skip


def _n_ahead(scheduler: Scheduler) -> int:
    """For how many jobs of each partition nodes are held ahead: in Slurm's passes for all that are tested."""
    if scheduler.passes == "slurm" and scheduler.reservations_for is None:
        return ANY_NUMBER
    return ANY_NUMBER if scheduler.n_reservations == ALL_JOBS else scheduler.n_reservations


def _is_by_arrival(scheduler: Scheduler) -> bool:
    has_no_priority = scheduler.order is None or scheduler.order.priority is None
    return has_no_priority and scheduler.policy.rule != "in-queues"


def _coming(world: JobWorld, scheduler: Scheduler) -> Coming:
    """When jobs come and how long they run; those that fit nowhere never come."""
    jobs, types = world.jobs, world.types
    planned_s, time_s = job_arrays.seen_times(world, scheduler)
    fits = fits_of(world)
    option = types.first[jobs.work.task_type]
    arrival_s = jobs.work.arrival_s.copy()
    runs_s, plans_s = np.full(fits.size, np.inf), np.full(fits.size, np.inf)
    runs_s[fits], plans_s[fits] = time_s[option[fits]], planned_s[option[fits]]
    waits, since_s, opening = jobs_that_wait(jobs) | ~fits, np.full(fits.size, np.inf), world.opening
    if opening is not None:
        was_there = arrival_s < opening.at_s
        since_s[was_there] = arrival_s[was_there]
        arrival_s, waits = np.maximum(arrival_s, opening.at_s), waits | opening.runs
    return Coming(arrival_s, runs_s, plans_s, waits, since_s)


def running_at(site: Site, opening: Opening) -> Running:
    """What runs already, in order of its start."""
    places, jobs = opening.places, np.flatnonzero(opening.runs)
    jobs = jobs[np.argsort(opening.since_s[jobs], kind="stable")]
    rank = np.zeros(opening.since_s.size, np.int64)
    rank[jobs] = np.arange(jobs.size)
    rows = np.argsort(rank[places.job], kind="stable")
    first = np.concatenate(([0], np.cumsum(np.bincount(places.job, minlength=opening.since_s.size)[jobs])))
    begins = np.concatenate(([0], np.cumsum(_n_places(site))))
    place = begins[places.group[rows]] + np.maximum(places.node[rows], 0)
    return Running(jobs, opening.since_s[jobs], first, place, places.pieces[rows].copy())


def fits_of(world: JobWorld) -> Bools:
    """Which jobs fit somewhere, with what they draw."""
    return np.asarray((np.diff(world.types.first)[world.jobs.work.task_type] > 0) & ~never_fits(world))


def _ranked(world: JobWorld, site: Site, demands: Demands, scheduler: Scheduler) -> Ranked:
    """What priorities go by, where nodes are the processors of a site."""
    planned_s, _ = job_arrays.seen_times(world, scheduler)
    fits, option = fits_of(world), world.types.first[world.jobs.work.task_type]
    cores, resources, priorities = cores_of(world), np.zeros(world.n_jobs), priorities_on(world)
    resources[fits] = planned_s[option[fits]] * cores[fits]
    return Ranked(
        site.tier[demands.partition][demands.of_job],
        cores,
        cores / world.clusters.n_nodes[0],
        resources,
        standing_on(world, priorities, scheduler),
        shares_of(priorities, scheduler),
        turns_of(site, resources, scheduler),
    )


def _no_times(n: int) -> Timed:
    return Timed(_zero(), np.empty(n), _ints(n))


def _zero() -> Counts:
    return np.zeros(1, np.int64)


def _ints(n: int) -> Counts:
    return np.empty(n, np.int64)
