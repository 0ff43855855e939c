"""Worlds of parallel jobs as a study describes them: clusters, jobs, outages and supply put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from joulewise.errors import Problem, raise_if_any
from joulewise.study.jobs.sources import TRACE
from joulewise.study.spec.parts import WorldParts
from joulewise.study.spec.sections import build_supply
from joulewise.study.spec.source import Draw
from joulewise.units import energy, power

if TYPE_CHECKING:
    from collections.abc import Iterator

    from joulewise.model import Supply
    from joulewise.model.clusters import ClusterSystem, TypeTraits
    from joulewise.model.jobs import Jobs, JobWorld
    from joulewise.model.site import Site
    from joulewise.worlds.clock import Clock
    from joulewise.worlds.jobs.traces import Trace


class Scene(NamedTuple):
    """A world of parallel jobs, and what its sources tell besides: of job types, or of the log it was read from.

    `clock` is that of the world, whose instant 0 is that of its log, or the beginning of an hour of dated tables.
    """

    world: JobWorld
    traits: TypeTraits | None
    trace: Trace | None
    clock: Clock


def build_scene(parts: WorldParts, made: Any, draw: Draw) -> Scene:
    """The world of one trial, of the jobs on their clusters that its sources made; InputError when it is none."""
    from joulewise.model.jobs import NO_OUTAGES, JobWorld
    from joulewise.worlds.clock import NO_CLOCK
    from joulewise.worlds.jobs.node_outages import last_failure_s, node_outages
    from joulewise.worlds.jobs.sites.outages import with_outages
    from joulewise.worlds.series import lead_of
    from joulewise.worlds.supply import clock_of, read_hours

    trace = made if parts.workload.source == TRACE else None
    found: ClusterSystem
    jobs: Jobs
    found, jobs = (made.system, made.jobs) if trace else made
    clock = clock_of(parts.supply.parameters, trace.clock if trace else NO_CLOCK)
    if trace:
        lead_s = lead_of(read_hours(parts.supply.parameters, draw.folder, clock).values(), clock)
        jobs, clock = jobs.later(lead_s), clock.begun_before(lead_s)
    supply = build_supply(parts.supply, draw, clock)
    raise_if_any(_limit_problems(supply, found, trace.site if trace else None))
    until_s = last_failure_s(jobs.work.end_s, float(jobs.work.arrival_s[-1]))
    asked, site = parts.system.parameters, trace.site if trace else None
    outages = NO_OUTAGES
    if trace and site:
        site = with_outages(site.later(lead_s), asked, until_s, clock, draw.folder, draw.seed, draw.trial)
    else:
        outages = node_outages(asked, found.clusters, until_s, draw.seed, draw.trial, draw.folder, clock)
    return Scene(JobWorld(found.clusters, found.types, jobs, supply, outages, site), found.traits, trace, clock)


def _limit_problems(supply: Supply, system: ClusterSystem, site: Site | None) -> Iterator[Problem]:
    """Limits that leave nothing to run any job with."""
    import numpy as np

    types, clusters = system.types, system.clusters
    if not supply.is_limited or not types.n_options or np.isnan(types.power_w).any():
        return  # without powers nothing can be limited, which whoever schedules says
    idle_w = np.zeros(clusters.n_clusters) if clusters.standby is None else clusters.standby.idle_w
    site_w = 0.0 if site is None else site.idle_w
    standing_w = supply.pue * (float((clusters.n_nodes * idle_w).sum()) + site_w)
    extra_w = supply.pue * (types.power_w - types.nodes * idle_w[types.cluster])
    needed_j = float((extra_w * types.planned_s).min()) + standing_w * supply.day_s
    if supply.budget_j < needed_j:
        key = "budget_total" if supply.is_total else "budget"
        allowed = f"must be {energy(needed_j)} or more: the idle nodes of a day and the cheapest job"
        yield Problem(f"supply.{key}", f"found {energy(supply.budget_j)}", allowed)
    needed_w = float(extra_w.min()) + standing_w
    if supply.cap_w is not None and supply.cap_w.max() < needed_w:
        allowed = f"must be {power(needed_w)} or more at some hour: the idle nodes and the job of least power"
        yield Problem("supply.power_cap", f"found {power(float(supply.cap_w.max()))} at most", allowed)
