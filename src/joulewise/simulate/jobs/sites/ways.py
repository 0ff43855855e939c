"""The ways in which jobs of a site may run: in one of its groups each, for policies that choose between groups."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from joulewise.model.arrays import Counts
from joulewise.model.jobs import JobWorld
from joulewise.model.site import Demands, Limits, Site
from joulewise.model.site_power import least_w
from joulewise.rng import generator
from joulewise.simulate.jobs.scheduler import Scheduler
from joulewise.simulate.jobs.sites.power import never_allowed


class Ways(NamedTuple):
    """Demands with classes for the ways of others: those of class k are `option[first[k]:first[k + 1]]`.

    A class that fits in several groups, each alone, has a way for each of these; any other is its own only way.
    """

    demands: Demands
    first: Counts
    option: Counts


def only_ways(demands: Demands) -> Ways:
    """Every class is its own way."""
    n = demands.n_classes
    return Ways(demands, np.arange(n + 1), np.arange(n))


def ways_by_group(site: Site, demands: Demands) -> Ways:
    """Every class has its ways by group."""
    kinds, groups = np.nonzero(demands.gives > 0)
    alone = _in_one_group(demands, kinds, groups)
    fits = alone.fit(site)
    kinds, groups = kinds[fits], groups[fits]
    n, n_ways = demands.n_classes, np.bincount(kinds, minlength=demands.n_classes)
    has_choice = n_ways[kinds] > 1
    kinds, groups = kinds[has_choice], groups[has_choice]
    of = np.concatenate((np.flatnonzero(n_ways <= 1), kinds))
    option = np.concatenate((np.flatnonzero(n_ways <= 1), n + np.arange(kinds.size)))
    first = np.concatenate(([0], np.cumsum(np.bincount(of, minlength=n))))
    return Ways(_with(demands, kinds, groups), first, option[np.argsort(of, kind="stable")])


def ways_at_random(world: JobWorld, site: Site, demands: Demands, seed: int, trial: int) -> Demands:
    """Demands of which each job has one of its ways that a cap allows, each as likely."""
    ways = _allowed(world, site, ways_by_group(site, demands))
    rng = generator(seed, "jobs", trial, "random")
    n_ways = np.diff(ways.first)[demands.of_job]
    drawn = np.floor(rng.random(world.n_jobs) * n_ways).astype(np.int64)
    return replace(ways.demands, of_job=ways.option[ways.first[demands.of_job] + drawn])


def _allowed(world: JobWorld, site: Site, ways: Ways) -> Ways:
    """The ways that draw no more than the highest cap leaves; all of a class of which none does."""
    if site.power is None:
        return ways
    n_ways = np.diff(ways.first)
    of = np.repeat(np.arange(n_ways.size), n_ways)
    may = ~never_allowed(world, least_w(site, ways.demands)[ways.option])
    may |= np.bincount(of, may, n_ways.size)[of] == 0
    return Ways(
        ways.demands, np.concatenate(([0], np.cumsum(np.bincount(of[may], minlength=n_ways.size)))), ways.option[may]
    )


def _in_one_group(demands: Demands, kinds: Counts, groups: Counts) -> Demands:
    """Classes that ask for what `kinds` do, each in one of the groups."""
    here = groups[:, None] == np.arange(demands.gives.shape[1])
    return replace(
        demands, partition=demands.partition[kinds], units=demands.units[kinds], most=demands.most[kinds],
        need=demands.need[kinds], gives=np.where(here, demands.gives[kinds], 0), licences=demands.licences[kinds],
        limits=_uses_of(demands.limits, kinds), kept=demands.kept_of[kinds],
        submitted=None if demands.submitted is None else _uses_of(demands.submitted, kinds),
    )  # fmt: skip


def _with(demands: Demands, kinds: Counts, groups: Counts) -> Demands:
    """Demands with classes behind their own that ask for what `kinds` do, each in one of the groups."""
    every = np.arange(demands.n_classes)
    both = _in_one_group(demands, np.concatenate((every, kinds)), np.concatenate((np.zeros_like(every), groups)))
    return replace(both, gives=np.concatenate((demands.gives, both.gives[every.size :])))


def _uses_of(limits: Limits, kinds: Counts) -> Limits:
    return replace(limits, uses=limits.uses[kinds])


def told_apart(site: Site, demands: Demands, scheduler: Scheduler) -> Site:
    """A site with no groups that are only counted where nodes are held, or shared by suspended jobs, one by one."""
    is_needed = scheduler.passes == "slurm" or bool(demands.giving.suspended.any())
    return replace(site, tells_apart=True) if is_needed else site


def ways_of(world: JobWorld, scheduler: Scheduler, seed: int, trial: int) -> Ways:
    """In which ways jobs may run, by what a policy chooses between."""
    site, demands = world.site, world.jobs.demands
    assert site is not None
    assert demands is not None
    if scheduler.policy.is_priced:
        return ways_by_group(site, demands)
    if scheduler.policy.rule == "at-random":
        return only_ways(ways_at_random(world, site, demands, seed, trial))
    return only_ways(demands)
