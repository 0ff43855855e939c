"""Power of clusters, as the facility's meter sees it: what jobs draw, and what nodes draw between them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from joulewise.model.arrays import Counts, Floats, Ints
from joulewise.model.jobs import JobAllocation, JobWorld
from joulewise.model.site_power import drawn_w
from joulewise.simulate.power import Draws

NOTHING = Draws(np.empty(0), np.empty(0), np.empty(0))


class RunStretches(NamedTuple):
    """All stretches of running, one row each: first the last one of every job that had nodes, then all others."""

    job: Counts
    option: Ints
    start_s: Floats
    end_s: Floats


def stretches(allocation: JobAllocation) -> RunStretches:
    """When jobs ran, those stretches included that did not complete one."""
    used, pieces = np.flatnonzero(allocation.used), allocation.pieces
    return RunStretches(
        np.concatenate((used, pieces.job)),
        np.concatenate((allocation.option[used], pieces.option)),
        np.concatenate((allocation.start_s[used], pieces.start_s)),
        np.concatenate((allocation.end_s[used], pieces.end_s)),
    )


def job_draws(world: JobWorld, allocation: JobAllocation) -> Draws:
    """One for each stretch of running; NaN without power figures. A site's with powers is on top of idle nodes."""
    runs, site, demands = stretches(allocation), world.site, world.jobs.demands
    power_w = world.types.power_w[runs.option]
    if site is not None and site.power is not None and demands is not None and allocation.places is not None:
        power_w = drawn_w(site, demands, allocation.places, np.flatnonzero(allocation.used), allocation.pieces.job.size)
    return Draws(runs.start_s, runs.end_s, world.supply.pue * power_w)


def has_power(world: JobWorld) -> bool:
    """Whether the power of every option is known."""
    return bool(np.isfinite(world.types.power_w).all())


def node_draws(world: JobWorld, allocation: JobAllocation) -> Draws:
    """What nodes draw while they run nothing and are not out; all are idle at 0 s. Of a site that is what they draw
    without jobs, all the time.

    Nodes of a cluster are alike: those that were freed last are given first, so that the others sleep longest. A node
    that sleeps boots so that it is ready at the start of its next job, which waits for nothing.
    """
    standby = world.clusters.standby
    if world.site is not None and world.site.power is not None:
        return Draws(np.zeros(1), np.full(1, math.inf), np.array([world.supply.pue * world.site.idle_w]))
    if standby is None:
        return NOTHING
    gaps = [_gaps(world, allocation, cluster) for cluster in range(world.clusters.n_clusters)]
    cluster = np.repeat(np.arange(len(gaps)), [len(rows) for rows in gaps])
    count, from_s, to_s, boots = np.concatenate([np.array(rows, float).reshape(-1, 4) for rows in gaps]).T
    sleeps_s = from_s + standby.sleep_after_s[cluster]
    boots_s = to_s - np.where(boots > 0, standby.boot_s[cluster], 0.0)
    sleeps = sleeps_s < boots_s
    sleeps_s, boots_s = np.where(sleeps, sleeps_s, to_s), np.where(sleeps, boots_s, to_s)
    power_w = np.concatenate([count * watts[cluster] for watts in (standby.idle_w, standby.sleep_w, standby.boot_w)])
    edges_s = np.concatenate((from_s, sleeps_s, boots_s)), np.concatenate((sleeps_s, boots_s, to_s))
    return Draws(*edges_s, world.supply.pue * power_w)


_Gap = tuple[int, float, float, bool]
"""This many nodes, free from one instant to another, and whether a job starts on them then."""


def _gaps(world: JobWorld, allocation: JobAllocation, cluster: int) -> list[_Gap]:
    """The stretches in which nodes of a cluster are free, together where they are so from and to the same instants."""
    stack = [(int(world.clusters.n_nodes[cluster]), 0.0)]
    gaps: list[_Gap] = []
    for at_s, change, n_out in _changes(world, allocation, cluster):
        if change > 0:
            stack.append((change, at_s))
            continue
        gaps += _taken(stack, -change - n_out, at_s, boots=True)
        gaps += _taken(stack, n_out, at_s, boots=False)
    return gaps + [(count, from_s, math.inf, False) for count, from_s in stack]


def _taken(stack: list[tuple[int, float]], wanted: int, at_s: float, *, boots: bool) -> Iterator[_Gap]:
    """Take this many nodes from the top of the stack of free ones, and tell how long they were free."""
    while wanted > 0:
        count, from_s = stack.pop()
        taken = min(count, wanted)
        if taken < count:
            stack.append((count - taken, from_s))
        wanted -= taken
        yield taken, from_s, at_s, boots


def _changes(world: JobWorld, allocation: JobAllocation, cluster: int) -> Iterator[tuple[float, int, int]]:
    """Instants at which the number of free nodes changes, by how many, and how many of those lost just go out."""
    runs, out, types = stretches(allocation), world.outages, world.types
    here, down = types.cluster[runs.option] == cluster, out.cluster == cluster
    nodes, lost = types.nodes[runs.option[here]].astype(np.int64), out.nodes[down].astype(np.int64)
    edges_s = np.concatenate((runs.start_s[here], runs.end_s[here], out.start_s[down], out.end_s[down]))
    change = np.concatenate((-nodes, nodes, -lost, lost))
    gone = np.concatenate((np.zeros(2 * nodes.size, np.int64), lost, np.zeros(lost.size, np.int64)))
    at_s, where = np.unique(edges_s, return_inverse=True)
    total, n_out = (np.bincount(where, values, at_s.size).astype(np.int64) for values in (change, gone))
    for instant_s, by, goes in zip(at_s.tolist(), total.tolist(), n_out.tolist(), strict=True):
        if by:
            yield instant_s, by, min(goes, max(-by, 0))
