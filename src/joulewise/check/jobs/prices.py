"""The bound of parallel jobs a second time: what given prices prove, straight from the definition, in numpy alone."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from joulewise.check.gains import gains_of
from joulewise.check.pieces import gains_in_pieces
from joulewise.check.priced import PricedChoices, PricedMarket, energy_income, period_edges_s, priced
from joulewise.model.arrays import Floats
from joulewise.model.jobs import JobWorld


def job_dual_value(world: JobWorld, per_s: Floats, per_j: ArrayLike = 0.0, *, preempts: bool = False) -> float:
    """The bound on utility that prices prove, not rounded up: the owner's income plus every job's best gain.

    `per_s` is a price per node-second by [cluster, slot], the slots of equal length from 0 to the end of the counted
    window, or of that closed for prices; `per_j` one per joule spent in each counted day of a daily budget, or else in
    the window. A job pays for all of its nodes as long as it really runs; with `preempts` it may run in pieces, all of
    one option. Raises InputError for prices that do not fit.
    """
    market = _market(world, per_s, per_j)
    node_time = float(world.clusters.n_nodes @ market.paid[:, -1])
    gains = best_job_gains(world, per_s, per_j, preempts=preempts)
    return node_time + energy_income(market, _left_j(world, market)) + float(gains.sum())


def best_job_gains(world: JobWorld, per_s: Floats, per_j: ArrayLike, *, preempts: bool = False) -> Floats:
    """The most that each job gains at these prices over all its runs, and 0 if none gains it anything."""
    market = _market(world, per_s, per_j)
    return gains_in_pieces(market, per_s) if preempts else gains_of(market)


def _market(world: JobWorld, per_s: Floats, per_j: ArrayLike) -> PricedMarket:
    types, clusters = world.types, world.clusters
    cost_w = world.supply.pue * (types.power_w - types.nodes * _standby_w(world)[types.cluster])
    cost_w = np.where(np.isnan(cost_w), 0.0, cost_w)  # what is not known costs nothing
    cluster, nodes = types.cluster.astype(np.int64), types.nodes.astype(np.float64)
    choices = PricedChoices(types.first, cluster, nodes, types.time_s, cost_w)
    return priced(world.jobs.work, world.supply, clusters.n_nodes, choices, (per_s, per_j))


def _standby_w(world: JobWorld) -> Floats:
    """The least that a node of each cluster draws whatever it does: asleep, waking up, or idle if it is always on."""
    standby = world.clusters.standby
    if standby is None:
        return np.zeros(world.clusters.n_clusters)
    waking_w = np.where(standby.boot_s > 0, standby.boot_w, math.inf)
    return np.where(standby.sleep_after_s < math.inf, np.minimum(standby.sleep_w, waking_w), standby.idle_w)


def _left_j(world: JobWorld, market: PricedMarket) -> Floats:
    """What the standby of all nodes that are not down leaves of the budget of each energy period."""
    edges_s, outages = period_edges_s(market.work, world.supply), world.outages
    standby_w, left_j = world.supply.pue * _standby_w(world), []
    for from_s, to_s in pairwise(edges_s):
        down_s = np.maximum(np.minimum(outages.end_s, to_s) - np.maximum(outages.start_s, from_s), 0.0)
        down_s = np.bincount(outages.cluster, outages.nodes * down_s, world.clusters.n_clusters)
        spent_j = standby_w @ (world.clusters.n_nodes * (to_s - from_s) - down_s)
        left_j.append(max(world.supply.budget_j - float(spent_j), 0.0))
    return np.array(left_j)
