"""Worlds of parallel jobs and schedulers that do not go together, found without simulating anything."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.model.jobs import JobWorld
from joulewise.policies.jobs.compile import compiled_objective, compiled_order, looks_at_energy
from joulewise.policies.jobs.layout import job_facts
from joulewise.policies.jobs.limits import advice_to_end, job_limits
from joulewise.policies.jobs.orders import SITE_WEIGHTS
from joulewise.simulate.jobs.arrays import most_pins, outlived
from joulewise.simulate.jobs.conditions import condition_misfits
from joulewise.simulate.jobs.scheduler import Scheduler
from joulewise.simulate.jobs.sites.misfits import site_misfits

MOST_PINS = 100_000_000
"""Room for this many is about 4 GB of addresses; memory is what is in use at a time."""


def job_misfits(world: JobWorld, scheduler: Scheduler) -> Iterator[Problem]:
    """Every reason for which `simulate_jobs` would refuse to let the scheduler work in the world."""
    try:
        job_limits(world, job_facts(world), scheduler.energy_filter, scheduler.leniency)
    except InputError as error:
        yield from error.problems
    yield from _policy_problems(world, scheduler)
    yield from _window_problems(world, scheduler)
    unkept = list(_unkept_plans(world, scheduler))
    yield from unkept
    if world.site is not None:
        yield from site_misfits(world, scheduler)
        return
    yield from condition_misfits(world, scheduler)
    if scheduler.passes != "always":
        found, allowed = f"found {scheduler.passes!r} in a world without a site", "are those of the Slurm of a site"
        yield Problem("scheduler.passes", found, allowed, "leave it out, or describe the site")
    for name in scheduler.weights:
        if name in SITE_WEIGHTS:
            found, allowed = "found it on clusters", "only the file of a site has partitions, QOS and what they count"
            yield Problem(f"scheduler.weights.{name}", found, allowed, "leave it out")
    yield from _pin_problems(world, scheduler)
    if not unkept and outlived(world, scheduler).any():
        yield from _outlived_problems(world, scheduler)
    if scheduler.preempts and math.isfinite(world.supply.budget_j):
        found, allowed = "found a budget of energy", "suspended jobs use more than was granted to them"
        yield Problem("scheduler.preempts", found, allowed, "leave preempts out, or the budget")
    label = world.jobs.labels.get("queue")
    for name in scheduler.standing:
        if label is None or name not in label.names:
            queues = "none" if label is None else ", ".join(label.names)
            yield Problem("scheduler.standing", f"found the queue {name!r}", f"the jobs' queues are: {queues}")


def _outlived_problems(world: JobWorld, scheduler: Scheduler) -> Iterator[Problem]:
    """What only plans can keep that hold, where jobs outlive them; a cap that never changes needs no plans."""
    supply, found = world.supply, f"found {scheduler.overrun!r}, and jobs that run longer than planned"
    changes = supply.cap_w is not None and supply.cap_w.size > 1
    if math.isfinite(supply.budget_j) or changes or world.outages.is_planned.any():
        allowed = "budgets of energy, caps by the hour and planned outages are kept by planned times, which must hold"
        yield Problem("scheduler.overrun", found, allowed, _PLAN_BETTER)
    if scheduler.preempts:
        yield Problem(
            "scheduler.preempts", found, "plans must hold where jobs are suspended", f"leave it out, or {_PLAN_BETTER}"
        )


_PLAN_BETTER = 'use overrun = "raise", or plans that hold, such as planned = "requested" with overrun = "kill"'


def _pin_problems(world: JobWorld, scheduler: Scheduler) -> Iterator[Problem]:
    """What named nodes do not know: nodes that are out, jobs that outlive their plan, more than there is room for."""
    if scheduler.nodes == "counted":
        return
    advice = 'use nodes = "counted"'
    if world.outages.n_outages:
        yield Problem("scheduler.nodes", "found 'pinned' in a world with outages", "these do not name nodes", advice)
    if outlived(world, scheduler).any():
        found = f"found 'pinned' with overrun {scheduler.overrun!r} and jobs that run longer than planned"
        yield Problem("scheduler.nodes", found, "what is pinned must be free when its time comes", advice)
    n_pins = most_pins(world, job_facts(world))
    if n_pins > MOST_PINS:
        found = f"found 'pinned' with jobs that could have {n_pins:,} nodes, all of them together"
        yield Problem("scheduler.nodes", found, f"must be {MOST_PINS:,} at most", advice)


def _policy_problems(world: JobWorld, scheduler: Scheduler) -> Iterator[Problem]:
    objective, order = scheduler.policy.objective, scheduler.order
    try:
        if order is not None and order.priority is not None:
            compiled_order(order)
        if objective is not None:
            compiled_objective(objective)
    except InputError as error:
        yield from error.problems
        return
    if objective is not None and looks_at_energy(objective) and np.isnan(world.types.power_w).any():
        found = f"the policy {scheduler.policy.name} looks at energy, but there are options without power figures"
        yield Problem("scheduler.policy", found, advice="give powers, or rules for them")


def _unkept_plans(world: JobWorld, scheduler: Scheduler) -> Iterator[Problem]:
    """Plans that jobs may outlive where limits are kept by them."""
    if scheduler.overrun == "unaware" and (world.supply.is_limited or world.outages.is_planned.any()):
        found = "found 'unaware' in a world with limits of energy or power, or planned outages"
        allowed = "these are kept by planned times, which must then hold"
        yield Problem("scheduler.overrun", found, allowed, 'use "raise" or "kill"')


def _window_problems(world: JobWorld, scheduler: Scheduler) -> Iterator[Problem]:
    cap_w = world.supply.cap_w
    may_wait = (cap_w is not None and cap_w.size > 1) or scheduler.policy.declines
    if may_wait and not math.isfinite(world.jobs.work.end_s):
        found = "found a counted window without an end"
        why = "must end where a changing cap or declined choices may keep jobs waiting without end"
        yield Problem("workload.end", found, why, advice_to_end(world))
