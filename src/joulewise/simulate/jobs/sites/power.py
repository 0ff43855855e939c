"""Power and energy of a site as its kernels see them."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from joulewise.errors import Problem
from joulewise.kernels.jobs.energy import new_job_ledger
from joulewise.kernels.jobs.sites.layout import Power
from joulewise.kernels.jobs.sites.power import MW_PER_W
from joulewise.model.arrays import Bools, Counts, Floats
from joulewise.model.jobs import JobWorld
from joulewise.model.site_power import pieces_w
from joulewise.model.supply import HOUR_S
from joulewise.policies.jobs.compile import looks_at_energy
from joulewise.policies.jobs.limits import job_limits
from joulewise.simulate.jobs.arrays import seen_facts, seen_times
from joulewise.simulate.jobs.conditions import sums_of_parts
from joulewise.simulate.jobs.scheduler import Scheduler
from joulewise.units import count

_ROUNDING = 1e-9
"""Of milliwatts that are rounded up, so that the rounding of their computation does not count."""


def power_of(world: JobWorld, scheduler: Scheduler) -> Power:
    """What jobs draw, of which nothing is drawn yet."""
    limits = job_limits(world, seen_facts(world, scheduler)[0])
    is_limited, is_by_place = world.supply.is_limited, world.site is not None and world.site.power is not None
    n, ledger = world.n_jobs if is_limited else 0, new_job_ledger(limits)
    if world.opening is not None and limits.has_budget:
        ledger.used_j[limits.n_before + int((world.opening.at_s - limits.start_s) // limits.day_s)] += (
            world.opening.used_j
        )
    return Power(
        is_limited, is_by_place, prices_places(world, scheduler), limits, ledger, _least_mw(world),
        _pieces_mw(world), np.zeros(n, np.int64), np.zeros(n), np.zeros(1, np.int64),
        np.zeros(_n_hours(world, scheduler), np.int64), _hours_to_rise(limits.cap_mw),
    )  # fmt: skip


def never_fits(world: JobWorld) -> Bools:
    """Which jobs draw more at least than the highest cap leaves them."""
    types = world.types
    found = np.zeros(types.n_types, np.bool_)
    found[types.of_option] = never_allowed(world, types.power_w)
    return np.asarray(found[world.jobs.work.task_type])


def never_allowed(world: JobWorld, power_w: Floats) -> Bools:
    """Which powers of jobs are more than the highest cap leaves beside idle nodes."""
    cap_w, idle_w = world.supply.cap_w, 0.0 if world.site is None else world.site.idle_w
    return np.asarray(world.supply.pue * (power_w + idle_w) > (math.inf if cap_w is None else float(cap_w.max())))


def power_misfits(world: JobWorld) -> Iterator[Problem]:
    """Parts that draw more together than is ever allowed: none of them would start, without a word."""
    first, kind = world.types.first, world.jobs.work.task_type
    has_option, power_w = np.diff(first)[kind] > 0, np.zeros(world.n_jobs)
    power_w[has_option] = np.nan_to_num(world.types.power_w[first[kind[has_option]]])
    n = int(never_allowed(world, sums_of_parts(world, power_w)).sum())
    if n:
        found = f"found {count(n, 'job')} whose parts draw more together than the highest cap leaves"
        yield Problem("supply", found, "they start together", 'give a higher cap, or workload.dependencies = "ignore"')


def prices_places(world: JobWorld, scheduler: Scheduler) -> bool:
    """Whether a policy goes by energy, and what a job uses depends on the nodes that it gets."""
    site, demands, objective = world.site, world.jobs.demands, scheduler.policy.objective
    if objective is None or site is None or site.power is None or demands is None or not looks_at_energy(objective):
        return False
    may, by_piece = demands.gives > 0, pieces_w(site, demands)
    return any(
        np.unique(values[may[k]]).size > 1
        for k in range(demands.n_classes)
        for values in (by_piece[k], demands.gives[k])
    )


def _least_mw(world: JobWorld) -> Counts:
    """What each job draws at least, or just that where it does not depend on the place; 0 where it is not known."""
    first, power_w = world.types.first[world.jobs.work.task_type], world.types.power_w
    has_option = np.diff(world.types.first)[world.jobs.work.task_type] > 0
    least = np.zeros(world.n_jobs, np.int64)
    least[has_option] = _whole_mw(world, np.nan_to_num(power_w[first[has_option]]))
    return least


def _pieces_mw(world: JobWorld) -> Counts:
    """What a piece of each class draws in each group; nothing where that is not known."""
    site, demands = world.site, world.jobs.demands
    if site is None or demands is None or site.power is None:
        return np.zeros((0, 0), np.int64)
    return _whole_mw(world, pieces_w(site, demands))


def _whole_mw(world: JobWorld, power_w: Floats) -> Counts:
    """Powers at the meter, in whole milliwatts, rounded up."""
    return np.asarray(np.ceil(world.supply.pue * power_w * MW_PER_W * (1 - _ROUNDING)), np.int64)


def _n_hours(world: JobWorld, scheduler: Scheduler) -> int:
    """More hours than are between the start of a job and the planned end of another; 0 for a cap that lasts."""
    cap_w, (planned_s, time_s) = world.supply.cap_w, seen_times(world, scheduler)
    if cap_w is None or cap_w.size == 1:
        return 0
    return 3 + math.ceil((float(planned_s.max(initial=0.0)) + float(time_s.max(initial=0.0))) / HOUR_S)


def _hours_to_rise(cap_mw: Counts) -> Counts:
    """After how many hours the cap of each hour is next above that of the hour before; 0 for never."""
    n, rises = cap_mw.size, np.flatnonzero(np.roll(cap_mw, -1) > cap_mw)
    if not rises.size:
        return np.zeros(n, np.int64)
    return np.asarray(((rises[None, :] - np.arange(n)[:, None]) % n).min(axis=1) + 1)
