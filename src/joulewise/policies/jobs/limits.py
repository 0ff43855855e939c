"""What a world of parallel jobs may use, as kernels see it: budget, cap, and what each option costs."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.kernels.jobs.energy import NO_FILTER, PER_RESOURCE, PER_TASK, JobLimits
from joulewise.kernels.jobs.layout import JobFacts
from joulewise.kernels.jobs.sites.power import MW_PER_W
from joulewise.model.arrays import Floats
from joulewise.model.jobs import JobWorld

_FILTERS = {"none": NO_FILTER, "per-task": PER_TASK, "per-resource": PER_RESOURCE}
_DAY_S = 86_400.0

ADAPTIVE = "adaptive"


def job_limits(
    world: JobWorld,
    facts: JobFacts,
    energy_filter: str = "none",
    leniency: float | str = 1.0,
    *,
    follows_tariff: bool = False,
) -> JobLimits:
    """The world's limits and the filter in use; InputError where they do not fit.

    A leniency of "adaptive" follows how fast energy is used. Costs are what options are planned to use
    on top of nodes without a job, so `facts` must have the planned times that the scheduler goes by.
    """
    raise_if_any(_problems(world, energy_filter))
    supply, work, options = world.supply, world.jobs.work, facts.options
    has_budget = math.isfinite(supply.budget_j)
    idle_w = np.zeros(facts.n_nodes.size) if world.clusters.standby is None else world.clusters.standby.idle_w
    reserve_w = float(supply.pue * (facts.n_nodes @ idle_w + _site_w(world)))
    cost_w = np.nan_to_num(options.power_w - supply.pue * idle_w[options.cluster] * options.nodes)
    cost_j = cost_w * options.planned_s
    per_resource = energy_filter == "per-resource"
    tariff = supply.tariff if follows_tariff else None
    return JobLimits(
        has_budget=has_budget,
        is_total=supply.is_total,
        budget_j=supply.budget_j,
        start_s=work.start_s,
        day_s=supply.day_s,
        n_before=math.ceil(work.start_s / supply.day_s) if has_budget else 0,
        n_days=math.ceil((work.end_s - work.start_s) / supply.day_s) if has_budget else 1,
        reserve_w=reserve_w,
        latest_s=work.end_s,
        has_cap=supply.cap_w is not None,
        cap_mw=_cap_mw(supply.cap_w, reserve_w),
        factor=np.ones(1) if tariff is None else tariff / tariff.mean(),
        cost_w=cost_w,
        cost_j=cost_j,
        power_mw=np.ceil(np.maximum(cost_w, 0.0) * MW_PER_W).astype(np.int64),
        filter_key=cost_j / options.resources if per_resource else cost_j.copy(),
        filtering=_FILTERS[energy_filter] if has_budget else NO_FILTER,
        is_adaptive=leniency == ADAPTIVE,
        leniency=1.0 if leniency == ADAPTIVE else float(leniency),
        mean_resources=_mean_by_type(facts, options.resources),
        mean_cost_j=_mean_by_type(facts, cost_j),
        n_cores=float(facts.n_nodes @ facts.cores),
    )


def _site_w(world: JobWorld) -> float:
    """What the nodes of a site draw without a job."""
    return 0.0 if world.site is None else world.site.idle_w


def advice_to_end(world: JobWorld) -> str:
    """How to give a window without an end one: a day after the last arrival, say."""
    days = math.ceil(float(world.jobs.work.arrival_s[-1]) / _DAY_S) + 1
    return f'set workload.end = "{days} d", say; traces and tables of jobs have that key'


def _cap_mw(cap_w: Floats | None, reserve_w: float) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The cap by the hour in whole milliwatts, less what nodes draw without jobs."""
    if cap_w is None:
        return np.zeros(1, np.int64)
    return np.floor((cap_w - reserve_w) * MW_PER_W).astype(np.int64)


def _mean_by_type(facts: JobFacts, values: Floats) -> float:
    """The mean over job types of the mean over what each may choose; 0 when no type can run."""
    first = facts.options.first
    n = np.diff(first)
    if not n.any():
        return 0.0
    sums = np.add.reduceat(values, first[:-1][n > 0])
    return float((sums / n[n > 0]).mean())


def _problems(world: JobWorld, energy_filter: str) -> Iterator[Problem]:
    supply, types, standby = world.supply, world.types, world.clusters.standby
    if supply.is_limited and np.isnan(types.power_w).any():
        at = int(np.flatnonzero(np.isnan(types.power_w))[0])
        found = f"found no power for option {at} in a world with a budget or a power cap"
        advice = "give powers, or rules for them"
        if world.site is not None:
            advice = "give idle_power and core_power of [[nodes]] in the file of the site, or rules for jobs"
        yield Problem("job types.power_w", found, "must be known for every option", advice)
    if math.isfinite(supply.budget_j) and not math.isfinite(world.jobs.work.end_s):
        found = "found a counted window without an end"
        allowed = "must end where a budget may keep jobs waiting without end"
        yield Problem("workload.end", found, allowed, advice_to_end(world))
    if energy_filter != "none" and not math.isfinite(supply.budget_j):
        found = f"found {energy_filter} without a budget"
        yield Problem("scheduler.energy_filter", found, "shares out a budget", "give supply.budget")
    if supply.cap_w is not None:
        of_clusters_w = 0.0 if standby is None else float(world.clusters.n_nodes @ standby.idle_w)
        idle_w = supply.pue * (of_clusters_w + _site_w(world))
        if idle_w > supply.cap_w.min():
            found = f"found {supply.cap_w.min():g} W, but nodes without jobs alone draw {idle_w:g} W"
            yield Problem("supply.power_cap", found, "must be above what idle nodes draw")
