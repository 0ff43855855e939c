"""Sites and schedulers that do not go together, found without simulating anything."""

from __future__ import annotations

import math
from collections.abc import Iterator

from joulewise.errors import Problem
from joulewise.model.jobs import JobWorld
from joulewise.policies.jobs.limits import advice_to_end
from joulewise.simulate.jobs import arrays as job_arrays
from joulewise.simulate.jobs.conditions import condition_misfits, has_parts
from joulewise.simulate.jobs.scheduler import Scheduler
from joulewise.simulate.jobs.sites.arrays import fits_of, most_pieces_of
from joulewise.simulate.jobs.sites.power import power_misfits
from joulewise.simulate.jobs.sites.shares import share_misfits
from joulewise.simulate.jobs.sites.ways import told_apart

MOST_PIECES = 200_000_000
"""Room for this many is about 3 GB of addresses; memory is what is in use at a time."""


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
        advice = 'use overrun = "raise", or planned = "requested" with overrun = "kill"'
        yield Problem("scheduler.overrun", found, allowed, advice)
    yield from share_misfits(world, scheduler)
    yield from _pass_misfits(scheduler)
    yield from _suspension_misfits(world, scheduler)
    yield from _opening_misfits(world, scheduler)
    yield from condition_misfits(world, scheduler)
    yield from power_misfits(world)
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
        n_pieces = int(most_pieces_of(told_apart(world.site, demands, scheduler), demands).sum())
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
    if (world.opening.runs & ~fits_of(world)).any():
        found, allowed = "found jobs that run and would never start here", "what runs must fit, also below a cap"
        yield Problem("opening", found, allowed, "keep their nodes for nobody in place of them")
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
