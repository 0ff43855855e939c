"""Jobs on a site whose nodes they may share: partitions with queues of their own, and packing by a stated rule."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import numpy as np

from joulewise.errors import Problem
from joulewise.kernels.heap import empty_heap
from joulewise.kernels.jobs.sites import layout
from joulewise.kernels.jobs.sites.events import run_site
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
from joulewise.kernels.jobs.sites.opening import open_site
from joulewise.kernels.jobs.sites.prices import UNKNOWN, SitePrices
from joulewise.kernels.live_prices import Gains
from joulewise.model import site as model
from joulewise.model.arrays import Bools, Counts
from joulewise.model.conditions import NO_JOB
from joulewise.model.jobs import Fate, JobAllocation, JobWorld, Pieces
from joulewise.model.kept import FOR_ALL
from joulewise.model.opening import Opening
from joulewise.model.passes import Passes
from joulewise.model.preemption import Preemption
from joulewise.model.site import ANY_NUMBER, LAST, Demands, Places, Site
from joulewise.policies.jobs.compile import compiled_objective, compiled_order
from joulewise.policies.jobs.layout import job_facts
from joulewise.policies.jobs.limits import advice_to_end
from joulewise.policies.jobs.orders import BY_ARRIVAL, UTILITY
from joulewise.policies.jobs.policy import ALL_JOBS, JobOrder
from joulewise.simulate.jobs import arrays as job_arrays
from joulewise.simulate.jobs.conditions import (
    condition_misfits,
    conditions_of,
    has_parts,
    jobs_that_wait,
    largest_sum,
    later_of,
)
from joulewise.simulate.jobs.in_turn import turns_of
from joulewise.simulate.jobs.ready import ready_times
from joulewise.simulate.jobs.scheduler import Scheduler
from joulewise.simulate.jobs.shares import cores_of, order_on, priorities_on, share_misfits, shares_of, standing_on
from joulewise.simulate.jobs.site_power import never_fits, power_of, prices_places
from joulewise.simulate.jobs.ways import Ways, only_ways, ways_at_random, ways_by_group

_run_site: Any = run_site
_open_site: Any = open_site
_BEFORE_ALL_S = -1.0
_WHOLE = 2**32
"""What all of a resource of a node counts where leftovers are compared."""
_RING = 1024
PRICE_GAINS = Gains(idle=0.1, first_part=0.1, depth=1000.0)
"""Jobs of a site wait for hours without losing worth, so that prices begin low and may fall far."""
_MOST_ROWS = 64
MOST_PIECES = 200_000_000
"""Room for this many is about 3 GB of addresses; memory is what is in use at a time."""


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
    site = _told_apart(world.site, world.jobs.demands, scheduler)
    ways = _ways(replace(world, site=site), scheduler, seed, trial)
    demands = ways.demands
    world = replace(world, site=site, jobs=replace(world.jobs, demands=demands))
    priority = compiled_order(_order(world, scheduler))
    n_lost = world.n_jobs if demands.giving.stops.any() or site.failures.n_failures else 0
    while True:
        state = _new_run(world, site, ways, scheduler)
        fates = _fates(state, site, demands, n_lost)
        _run_site(state, fates, priority, _BEFORE_ALL_S)  # compiles, or loads what was compiled
        if world.opening is not None:
            _open_site(state, _running(site, world.opening))
        began = time.perf_counter()
        n_events = int(_run_site(state, fates, priority, world.jobs.work.end_s))
        mapping_s = time.perf_counter() - began
        if not fates.lost.is_full[0]:
            break
        n_lost *= 2
    return Sited(_allocation(world, site, state, fates, scheduler), n_events, mapping_s)


def _told_apart(site: Site, demands: Demands, scheduler: Scheduler) -> Site:
    """A site with no groups that are only counted where nodes are held, or shared by suspended jobs, one by one."""
    is_needed = scheduler.passes == "slurm" or bool(demands.giving.suspended.any())
    return replace(site, tells_apart=True) if is_needed else site


def _ways(world: JobWorld, scheduler: Scheduler, seed: int, trial: int) -> Ways:
    """In which ways jobs may run, by what a policy chooses between."""
    site, demands = world.site, world.jobs.demands
    assert site is not None
    assert demands is not None
    if scheduler.policy.is_priced:
        return ways_by_group(site, demands)
    if scheduler.policy.rule == "at-random":
        return only_ways(ways_at_random(world, site, demands, seed, trial))
    return only_ways(demands)


def _order(world: JobWorld, scheduler: Scheduler) -> JobOrder:
    return order_on(priorities_on(world), scheduler) if scheduler.policy.is_weighted else scheduler.order or BY_ARRIVAL


def site_misfits(world: JobWorld, scheduler: Scheduler) -> Iterator[Problem]:
    """Every reason for which a scheduler cannot work on a site."""
    policy, kept = scheduler.policy, "must be left out on a site whose nodes jobs share"
    if policy.rule == "assigned":
        found = f"found {policy.name!r}, which decides by the state of clusters"
        allowed = "the policies of the table, and orders and objectives of your own, work on a site"
        yield Problem("scheduler.policy", found, allowed, "write it as priority(...) or value(...)")
    yield from _worth_misfits(world, scheduler)
    switches = {
        "energy_filter": scheduler.energy_filter != "none",
        "preempts": scheduler.preempts,
        "nodes": scheduler.nodes != "counted",
        "commitment": scheduler.commitment == "reservations",
    }
    yield from (Problem(f"scheduler.{name}", "found it", kept) for name, is_on in switches.items() if is_on)
    if scheduler.overrun in ("kill", "steps") and job_arrays.outlived(world, scheduler).any():
        found, allowed = (
            f"found {scheduler.overrun!r}, and jobs that run longer than planned",
            "plans are not raised here",
        )
        advice = 'use overrun = "raise" or "unaware", or planned = "requested" with overrun = "kill"'
        yield Problem("scheduler.overrun", found, allowed, advice)
    yield from share_misfits(world, scheduler)
    yield from _pass_misfits(scheduler)
    yield from _suspension_misfits(world, scheduler)
    yield from _opening_misfits(world, scheduler)
    yield from condition_misfits(world, scheduler)
    if policy.rule == "greedy" and world.jobs.demands is not None and world.jobs.demands.giving.stops.any():
        found, allowed = f"found {policy.name!r}, and jobs that give way", "they do so to others by orders alone"
        yield Problem("scheduler.policy", found, allowed, 'use "multifactor", or take preempts from the [[qos]]')
    if world.outages.n_outages:
        advice = "those of a site are what it keeps for nobody, and its failures"
        yield Problem("system", "found outages or failures of clusters", kept, advice)
    if world.site is not None and world.site.failures.n_failures and has_parts(world.jobs):
        found, allowed = (
            "found nodes that fail, and jobs whose parts start together",
            "lost parts would run again alone",
        )
        yield Problem("system", found, allowed, 'leave failures out, or use workload.dependencies = "ignore"')
    if world.jobs.demands is not None and world.site is not None:
        demands = world.jobs.demands
        n_pieces = int(_most_pieces(_told_apart(world.site, demands, scheduler), demands).sum())
        if n_pieces > MOST_PIECES:
            yield Problem("workload", f"found jobs of {n_pieces:,} pieces", f"must be {MOST_PIECES:,} at most")


def _suspension_misfits(world: JobWorld, scheduler: Scheduler) -> Iterator[Problem]:
    """Who stands still keeps its memory on its nodes, and goes on when it can, whatever power there is then."""
    if world.site is None or world.jobs.demands is None or not world.jobs.demands.giving.suspended.any():
        return
    advice = 'use preemption = "requeue" or "cancel", or leave the other out'
    if world.supply.is_limited:
        found, allowed = "found a limit of energy or power, and jobs that are suspended", "they go on without asking"
        yield Problem("supply", found, allowed, advice)
    if world.site.failures.n_failures:
        found, allowed = "found nodes that fail, and jobs that are suspended", "they would go on on nodes that are away"
        yield Problem("system", found, allowed, advice)
    if math.isfinite(scheduler.mapping_interval_s):
        found, allowed = "found it, and jobs that are suspended", "they go on as soon as they can"
        yield Problem("scheduler.mapping_interval", found, allowed, advice)


def _opening_misfits(world: JobWorld, scheduler: Scheduler) -> Iterator[Problem]:
    """What a site in the midst of its work cannot tell: who was refused, what users have used, who gave way."""
    demands, policy = world.jobs.demands, scheduler.policy
    if world.opening is None or demands is None:
        return
    if demands.admitted.names or demands.giving.stops.any():
        found, allowed = "found limits on submissions, or jobs that give way", "are not known of what came before"
        yield Problem("opening", found, allowed, "leave max_submitted and preempts out")
    if policy.is_weighted and scheduler.weights.get("fair_share", 1.0) != 0:
        found, allowed = f"found {policy.name!r} with fair shares", "what users have used before is not known"
        yield Problem("scheduler.policy", found, allowed, "give fair_share the weight 0, or use another policy")


def _worth_misfits(world: JobWorld, scheduler: Scheduler) -> Iterator[Problem]:
    """What only policies that know worth can go by, and windows without an end in which jobs might wait for ever."""
    policy = scheduler.policy
    if scheduler.dropping_threshold > 0 and policy.rule != "greedy":
        found, allowed = f"found it with the policy {policy.name!r}", "on a site only those with an objective drop jobs"
        yield Problem("scheduler.dropping_threshold", found, allowed, "leave it out, or use max-util")
    if scheduler.dropping_threshold > 0 and scheduler.dropping_by != "task":
        found, allowed = f"found {scheduler.dropping_by!r}", "jobs of a site run as long wherever they do"
        yield Problem("scheduler.dropping_by", found, allowed, "leave it out")
    if scheduler.passes == "slurm" and math.isfinite(scheduler.mapping_interval_s):
        found, allowed = "found it with passes = 'slurm'", "these have intervals of their own"
        yield Problem("scheduler.mapping_interval", found, allowed, "leave one of them out")
    may_wait = policy.declines or math.isfinite(scheduler.mapping_interval_s)
    if may_wait and not math.isfinite(world.jobs.work.end_s):
        why = "must end where jobs that are declined, or looked at by the clock, may wait without end"
        yield Problem("workload.end", "found a counted window without an end", why, advice_to_end(world))


def _pass_misfits(scheduler: Scheduler) -> Iterator[Problem]:
    """Slurm goes by an order."""
    if scheduler.passes == "slurm" and scheduler.policy.rule != "in-order":
        found, allowed = f"found 'slurm' with the policy {scheduler.policy.name!r}", "Slurm's jobs go in an order"
        yield Problem("scheduler.passes", found, allowed, 'leave it out, or use policy = "multifactor"')


def _new_run(world: JobWorld, site: Site, ways: Ways, scheduler: Scheduler) -> SiteRun:
    """The site before anything has come."""
    ground, demands = _ground(site), ways.demands
    n, n_places, n_resources = world.n_jobs, ground.group.size, ground.free.shape[1]
    most_pieces, n_ahead = _most_pieces(site, demands), _n_ahead(scheduler)
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
        later_of(world, _fits(world)),
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
        conditions_of(world, scheduler, _fits(world)),
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
    worth = _WHOLE // np.maximum(capacity, 1)
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


def _fates(run: SiteRun, site: Site, demands: Demands, n_lost: int) -> SiteFates:
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


def _most_pieces(site: Site, demands: Demands) -> Counts:
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
    fits, option, energy_j = _fits(world), world.types.first[world.jobs.work.task_type], np.zeros(n)
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
    fits = _fits(world)
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


def _running(site: Site, opening: Opening) -> Running:
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


def _fits(world: JobWorld) -> Bools:
    """Which jobs fit somewhere, with what they draw."""
    return np.asarray((np.diff(world.types.first)[world.jobs.work.task_type] > 0) & ~never_fits(world))


def _ranked(world: JobWorld, site: Site, demands: Demands, scheduler: Scheduler) -> Ranked:
    """What priorities go by, where nodes are the processors of a site."""
    planned_s, _ = job_arrays.seen_times(world, scheduler)
    fits, option = _fits(world), world.types.first[world.jobs.work.task_type]
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


def _allocation(world: JobWorld, site: Site, state: SiteRun, fates: SiteFates, scheduler: Scheduler) -> JobAllocation:
    """What was decided."""
    n, start_s, fits = world.n_jobs, state.start_s, _fits(world)
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
