"""Priorities on a site as its kernels see them: the tree of accounts as arrays, weights, and what stands."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from joulewise.errors import Problem
from joulewise.kernels.jobs.sites.shares import Shares
from joulewise.model.arrays import Counts, Floats
from joulewise.model.jobs import JobWorld
from joulewise.model.shares import NOBODY, Priorities, ShareTree, equal_shares
from joulewise.policies.jobs.orders import SITE_WEIGHTS, WEIGHTS, by_shares
from joulewise.policies.jobs.policy import JobOrder
from joulewise.simulate.jobs.scheduler import Scheduler

_NOT_SEEN_S = -math.inf


def priorities_on(world: JobWorld) -> Priorities:
    """What decides on a site who comes first; where nothing is told, all users have equal shares."""
    assert world.jobs.demands is not None
    told = world.jobs.demands.priorities
    if told is not None:
        return told
    label, cores = world.jobs.labels.get("user"), cores_of(world)
    names, codes = ((), np.full(world.n_jobs, -1, np.int32)) if label is None else (label.names, label.codes)
    return equal_shares(names, codes, cores, {"size": cores / world.clusters.n_nodes[0]})


def cores_of(world: JobWorld) -> Floats:
    """The processors of each job; 0 where it fits nowhere."""
    first, types = world.types.first, world.jobs.work.task_type
    fits = np.diff(first)[types] > 0
    cores = np.zeros(world.n_jobs)
    cores[fits] = world.types.nodes[first[types[fits]]]
    return cores


def weights_on(priorities: Priorities, scheduler: Scheduler) -> dict[str, float]:
    """What each factor counts: as the scheduler says, else as the site does; where that says nothing, as elsewhere."""
    none = dict.fromkeys((*WEIGHTS, *SITE_WEIGHTS), 0.0)
    return {**none, **(priorities.weights or WEIGHTS), **scheduler.weights}


def order_on(priorities: Priorities, scheduler: Scheduler) -> JobOrder:
    """The multifactor order of a site: in whole numbers where all weights are the site's, as Slurm's."""
    weights, is_whole = weights_on(priorities, scheduler), bool(priorities.weights) and not scheduler.weights
    return by_shares(weights["age"], weights["fair_share"], priorities.oldest_s, is_whole)


def standing_on(world: JobWorld, priorities: Priorities, scheduler: Scheduler) -> Floats:
    """What each job's priority has beside age and fair share: all that does not change."""
    weights = weights_on(priorities, scheduler)
    total = np.zeros(world.n_jobs)
    for name, factor in factors_on(world, scheduler).items():
        total += weights[name] * factor
    return total


def factors_on(world: JobWorld, scheduler: Scheduler) -> dict[str, Floats]:
    """What else of jobs counts, by name: what the site tells of them, and the places of their queues."""
    label, queue = world.jobs.labels.get("queue"), np.zeros(world.n_jobs)
    if label is not None:
        queue = np.array([scheduler.standing.get(name, 0.0) for name in (*label.names, "")])[label.codes]
    return {**priorities_on(world).factors, "queue": queue}


def shares_of(priorities: Priorities, scheduler: Scheduler) -> Shares:
    """The tree of which nobody has used anything yet."""
    tree, n = priorities.tree, priorities.tree.n_rows
    part, whole_part = parts_of(tree)
    n_parts = np.bincount(tree.parent[1:], minlength=n)
    half_life_s = priorities.half_life_s if scheduler.usage_half_life_s is None else scheduler.half_life_s
    return Shares(
        tree.parent.astype(np.int64), tree.is_user.copy(), part, whole_part,
        np.concatenate(([0], np.cumsum(n_parts))), np.argsort(tree.parent[1:], kind="stable") + 1,
        np.zeros(n), np.zeros(n), np.zeros(n), priorities.of_job.astype(np.int64), priorities.used_per_s.copy(),
        np.zeros(n + 1), np.array([_NOT_SEEN_S]), np.zeros(n), np.zeros(n + 1, np.int64), _ints(n), _ints(n), _ints(n),
        np.zeros(n, np.bool_), priorities.is_fair_tree, math.log(2.0) / half_life_s, priorities.dampening,
        priorities.period_s,
    )  # fmt: skip


def parts_of(tree: ShareTree) -> tuple[Floats, Floats]:
    """Of each row its part of the shares of its siblings, 0 where these have none, and its part of the whole."""
    of_siblings = np.bincount(tree.parent[1:], tree.shares[1:], tree.n_rows)
    part = np.ones(tree.n_rows)
    part[1:] = tree.shares[1:] / np.maximum(of_siblings[tree.parent[1:]], 1.0)
    whole = part.copy()
    for row in range(1, tree.n_rows):
        whole[row] *= whole[tree.parent[row]]
    return part, whole


def share_misfits(world: JobWorld, scheduler: Scheduler) -> Iterator[Problem]:
    """Weights that no job has anything to do with."""
    if not scheduler.policy.is_weighted:
        return
    priorities = priorities_on(world)
    weights = weights_on(priorities, scheduler)
    if not any(weights.values()):
        allowed = "without any weight all jobs have one priority"
        yield Problem("scheduler.weights", "found no weight above 0, nor does the site have one", allowed, _GIVE)
    for name in sorted(scheduler.weights.keys() - priorities.factors.keys() - {"age", "fair_share", "queue"}):
        allowed = f"the site says nothing of it; it has {', '.join(priorities.factors)}"
        yield Problem(f"scheduler.weights.{name}", "found it", allowed, "leave it out")
    if scheduler.standing and not weights["queue"]:
        found, allowed = "found places of queues", "they count nothing: the weight of queue is 0"
        yield Problem("scheduler.standing", found, allowed, "give weights = {queue = 1000}, or leave standing out")
    if weights["fair_share"] and world.n_jobs and (priorities.of_job == NOBODY).all():
        found, allowed = "found a weight of fair shares", "no job is of a user or an account of the site"
        yield Problem("scheduler.weights.fair_share", found, allowed, _TREE)


_GIVE = "give weights = {age = 1000, fair_share = 10000}, or priorityweightage and others in [slurm] of the site"
_TREE = "write [[account]] for those of the log, or give weights = {fair_share = 0}"


def _ints(n: int) -> Counts:
    return np.zeros(n, np.int64)
