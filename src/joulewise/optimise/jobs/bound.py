"""A proven bound on what any schedule of parallel jobs, even one that knows the future, can earn.

Node-seconds of each cluster and joules have prices: a job on n nodes pays n times the price of its cluster over all
of its run. Nodes of a cluster are identical, so that "never more in use than there are" is all that a schedule must
keep, and nothing is lost by counting them. What is lost is that jobs cannot be split: a job that takes most of a
cluster may fit in no schedule and still gain at prices, so the bound is looser the larger jobs are. The power cap,
outages, dependencies, mapping events and what planners do not know are left out, which only raises it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from joulewise.kernels.layout import Options
from joulewise.kernels.prices import CountedWindow, RunCosts, TaskMarket
from joulewise.model.arrays import Floats
from joulewise.model.clusters import JobTypes
from joulewise.model.horizon import closed, earned_later, idle_from_s
from joulewise.model.jobs import JobWorld
from joulewise.optimise.bounds import BoundKind, ceiling
from joulewise.optimise.pieces import MarketInPieces, bound_in_pieces
from joulewise.optimise.price_market import (
    STAGES,
    Certificate,
    PriceBound,
    PriceMarket,
    energy_periods,
    least_standby_w,
)
from joulewise.policies.layout import tasks_of, utilities_of
from joulewise.visible import Visible


@dataclass(frozen=True, eq=False)
class JobBound(Visible, looks="jobs"):
    """A bound on utility; prices prove one of kind "prices", reasoning on each job alone a trivial one.

    With `preempts` it holds for jobs that run in pieces as well.
    """

    kind: BoundKind
    value: float
    certificate: Certificate | None = None
    preempts: bool = False

    def as_json(self) -> dict[str, Any]:
        """The bound and its proof as JSON values."""
        certificate = self.certificate and self.certificate.as_json()
        return {"kind": self.kind, "value": self.value, "certificate": certificate, "preempts": self.preempts}

    @staticmethod
    def from_json(stored: dict[str, Any]) -> JobBound:
        """The bound that JSON values hold; InputError when its prices are none."""
        certificate = stored["certificate"] and Certificate.from_json(stored["certificate"])
        return JobBound(stored["kind"], float(stored["value"]), certificate, stored["preempts"])


def job_bound(world: JobWorld, kind: BoundKind = "prices", *, preempts: bool = False) -> JobBound:
    """A bound on the utility of the counted window that no schedule of the world's jobs exceeds.

    With `preempts` jobs may run in pieces, all of one option. Prices need jobs that run somewhere; else the bound is
    the trivial one. They take about two seconds for a day of 10,000 jobs.
    """
    if kind == "trivial" or not world.types.n_options:
        return JobBound("trivial", job_ceiling(world), preempts=preempts)
    best = bound_in_pieces(job_market(world)) if preempts else _bound(world)
    return JobBound("prices", best.value, best.certificate, preempts)


def _bound(world: JobWorld) -> PriceBound:
    """The best of the prices that a search finds and of no prices."""
    market = job_market(world)
    return min(market.search(STAGES), market.for_nothing(), key=lambda bound: bound.value)


def certified_job_bound(world: JobWorld, certificate: Certificate, *, preempts: bool = False) -> float:
    """The bound that prices prove, in one pass; it is valid for any prices. Raises InputError on a misfit."""
    return job_market(world, preempts=preempts).certified(certificate)


def job_ceiling(world: JobWorld) -> float:
    """The trivial bound: what jobs would earn at most if each had its clusters for itself."""
    return ceiling(world.jobs.work, world.types.fastest_s[world.jobs.work.task_type])


def job_market(world: JobWorld, *, preempts: bool = False) -> PriceMarket:
    """The jobs of a world and what there is for them, in its window or in one closed for prices."""
    order = np.lexsort((world.types.time_s, world.types.of_option))  # fastest first
    options, runs = _options(world.types, order), _runs(world, order)
    share_s = runs.nodes * options.exec_s / world.clusters.n_nodes[options.machine_type]
    idle_s = idle_from_s(world.jobs.work, options.first, options.machine_type, share_s, options.exec_s)
    work = closed(world.jobs.work, idle_s)
    period_s, edges_s = energy_periods(work, world.supply)
    window = CountedWindow(work.start_s, work.end_s, period_s, work.is_prorated)
    later = earned_later(world.jobs.work, work.end_s, options.first)
    facts = TaskMarket(tasks_of(work), utilities_of(work.shapes), options, runs, window, later)
    kind = MarketInPieces if preempts else PriceMarket
    return kind(facts, world.clusters.n_nodes, _budgets_j(world, edges_s), idle_s)


def _options(types: JobTypes, order: Any) -> Options:
    """The options of each type, fastest first; what one uses is what it really takes, not what is planned."""
    energy_j = np.nan_to_num(types.power_w) * types.time_s
    return Options(
        types.first.copy(),
        types.cluster[order],
        types.pstate[order],
        types.time_s[order],
        energy_j[order],
        np.arange(order.size, dtype=np.int32),
    )


def _runs(world: JobWorld, order: Any) -> RunCosts:
    """How many nodes runs take, and what they add to standby power; nothing where their power is not known."""
    types, n_jobs = world.types, world.n_jobs
    nodes = types.nodes[order].astype(np.float64)
    least_w = least_standby_w(world.clusters.standby, world.clusters.n_clusters)[types.cluster[order]]
    cost_w = np.nan_to_num(world.supply.pue * (types.power_w[order] - nodes * least_w))
    return RunCosts(nodes, cost_w, np.ones(n_jobs), np.zeros(n_jobs, np.int64), np.ones(1))


def _budgets_j(world: JobWorld, edges_s: Floats) -> Floats:
    """What runs may add in each period to the least standby energy of nodes that are up."""
    supply, outages, clusters = world.supply, world.outages, world.clusters
    standby_w = supply.pue * least_standby_w(clusters.standby, clusters.n_clusters)
    site_w = 0.0 if world.site is None else supply.pue * world.site.idle_w
    spent_j = np.diff(edges_s) * (float(clusters.n_nodes @ standby_w) + site_w)
    down = zip(outages.cluster, outages.nodes, outages.start_s, outages.end_s, strict=True)
    for cluster, nodes, start_s, end_s in down:
        spent_j -= nodes * standby_w[cluster] * np.diff(np.clip(edges_s, start_s, end_s))
    return np.asarray(np.maximum(supply.budget_j - spent_j, 0.0))
