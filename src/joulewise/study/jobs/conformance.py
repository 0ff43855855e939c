"""The conformance suite for policies of parallel jobs, built in or of a stranger: `joulewise check-policy`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joulewise.check.jobs.allocation import check_jobs
from joulewise.model.clusters import Clusters, JobTypes
from joulewise.model.jobs import NO_OUTAGES, JobAllocation, Jobs, JobWorld, Label, NodeOutages
from joulewise.model.supply import NO_LIMITS, Supply
from joulewise.model.utility import UtilityShapes, constant, linear, step
from joulewise.model.workload import Workload
from joulewise.policies.jobs.heuristic import find_job_policy
from joulewise.rng import generator
from joulewise.simulate.jobs.run import JobOutcome, simulate_jobs
from joulewise.simulate.jobs.scheduler import Scheduler
from joulewise.study.jobs.foresight import foresight
from joulewise.study.jobs.site_trials import site_trials
from joulewise.study.kinds.conformance import PolicyCheck, Trial, held_against_all, other_names

_SIZES = (1, 2, 5, 20, 100)
_LARGEST = 300
_N_NODES = (8, 16)
_CROWD_S = 500.0


# Worlds, from small to large


def small_job_world(n_jobs: int, supply: Supply = NO_LIMITS, outages: NodeOutages = NO_OUTAGES) -> JobWorld:
    """Jobs of four types on two clusters, two P-states each; most end before they are planned to."""
    rng, sizes = generator(n_jobs, "study.jobs.conformance"), np.array(_N_NODES)
    cluster, pstate = np.tile(np.array([0, 0, 1, 1], np.int32), 4), np.tile(np.array([0, 1, 0, 1], np.int8), 4)
    nodes = np.repeat(rng.integers(1, sizes + 1, (4, 2), np.int32).ravel(), 2)
    planned_s = np.repeat(rng.integers(100, 1000, 4), 4) * np.array([1.0, 1.5])[pstate]
    power_w = nodes * np.array([100.0, 60.0])[pstate]
    types = JobTypes((), np.arange(0, 17, 4), cluster, pstate, nodes, np.ceil(0.7 * planned_s), planned_s, power_w)
    arrival_s = np.sort(rng.integers(0, 100 * n_jobs, n_jobs)).astype(np.float64)
    task_type, shape = (rng.integers(0, n, n_jobs, np.int32) for n in (4, 3))
    scale, hold_s, end_s = rng.choice([1.0, 2.0, 4.0], n_jobs), np.zeros(n_jobs), 100.0 * n_jobs + 20_000.0
    shapes = UtilityShapes.of([constant(), linear(20_000.0), step(9000.0)])
    work = Workload(arrival_s, task_type, shape, scale, hold_s, shapes, 0.0, end_s)
    users = {"user": Label(("ann", "bob"), rng.integers(-1, 2, n_jobs, np.int32))}
    clusters = Clusters(("a", "b"), sizes, np.array([4, 2]), np.array([1, 1]))
    return JobWorld(clusters, types, Jobs(work, labels=users), supply, outages)


class JobTrial(Trial):
    """A policy in a world, with some switches of its scheduler."""

    work = "job"
    columns = ("option", "start_s", "end_s", "ready_s", "fate")

    def run(self) -> JobOutcome:
        """The outcome of a run."""
        return simulate_jobs(self.world, self.manager, seed=1, trial=2)

    def findings(self) -> list[str]:
        """What is wrong with the allocation."""
        return check_jobs(self.world, self.outcome.allocation, self.manager)

    def elsewhere(self) -> JobTrial:
        """The policy in another world."""
        return replace(self, world=small_job_world(7), manager=Scheduler(self.policy))

    def renamed(self) -> JobTrial:
        """The policy in the same world with other names."""
        return replace(self, world=renamed(self.world))

    def gathered(self) -> JobTrial:
        """The policy in a like world, in which jobs arrive in crowds and are worth differently much."""
        work, rng = self.world.jobs.work, generator(0, "study.jobs.conformance", "worth")
        scale = work.scale * rng.uniform(1.0, 1.5, work.n_tasks)
        crowded = replace(work, arrival_s=work.arrival_s // _CROWD_S * _CROWD_S, scale=scale)
        return self._with(replace(self.world.jobs, work=crowded))

    def listed(self, order: NDArray[Any]) -> JobTrial:
        """The policy in the same world with its jobs in another order."""
        jobs = self.world.jobs
        labels = {name: replace(label, codes=label.codes[order]) for name, label in jobs.labels.items()}
        demands = None if jobs.demands is None else jobs.demands.of_some(order)
        return self._with(replace(jobs, work=jobs.work.some(order), labels=labels, demands=demands))

    def foresight(self, part: float) -> str:
        """What starts otherwise if another future comes after a part of the jobs, or nothing."""

        def decide(world: JobWorld) -> JobAllocation:
            allocation: JobAllocation = replace(self, world=world).again().allocation
            return allocation

        return foresight(self.world, self.outcome.allocation, part, decide)

    def arrival_s(self) -> NDArray[Any]:
        """When the jobs arrive."""
        return np.asarray(self.world.jobs.work.arrival_s)

    def _with(self, jobs: Jobs) -> JobTrial:
        return replace(self, world=replace(self.world, jobs=jobs))

    def parts(self) -> Iterable[Any]:
        """The parts of the world."""
        world = self.world
        jobs, work = world.jobs, world.jobs.work
        return (
            world.clusters,
            world.types,
            jobs,
            work,
            work.shapes,
            *jobs.labels.values(),
            world.supply,
            world.outages,
            *_parts_of_site(world),
        )

    def has_run(self) -> bool:
        """Whether any job had nodes until it ended."""
        return bool(self.outcome.allocation.used.any())


def unlike(world: JobWorld) -> JobWorld:
    """The same world, where each job is of a type of its own, as those of logs are."""
    types, work = world.types, world.jobs.work
    n = np.diff(types.first)[work.task_type]
    first = np.concatenate(([0], np.cumsum(n)))
    rows = np.repeat(types.first[work.task_type] - first[:-1], n) + np.arange(first[-1])
    columns = ("cluster", "pstate", "nodes", "time_s", "planned_s", "power_w")
    own = replace(types, first=first, **{name: getattr(types, name)[rows] for name in columns})
    return replace(
        world,
        types=own,
        jobs=replace(world.jobs, work=replace(work, task_type=np.arange(work.n_tasks, dtype=np.int32))),
    )


def _parts_of_site(world: JobWorld) -> Iterator[Any]:
    """What a world has where jobs share the nodes of a site."""
    site, demands = world.site, world.jobs.demands
    if site is not None and demands is not None:
        yield from (site, site.failures, site.hours, site.kept, site.power, demands, demands.limits)


def trials(spec: str, folder: Path) -> Iterator[JobTrial]:
    """The trials of a policy, from small to large; InputError when there is no such policy."""
    policy = find_job_policy(spec, "check-policy", folder)
    for n_jobs in _SIZES:
        yield JobTrial(f"{n_jobs} jobs", policy, small_job_world(n_jobs), Scheduler(policy))
    minutes, budget, cap = Scheduler(policy, 60.0), Supply(2e7, day_s=6000.0), Supply(cap_w=np.array([2500.0, 1600.0]))
    yield JobTrial("20 jobs, an event a minute", policy, small_job_world(20), minutes)
    yield JobTrial("20 jobs, some without hope", policy, small_job_world(20), Scheduler(policy, dropping_threshold=0.5))
    yield JobTrial("20 jobs, a budget", policy, small_job_world(20, budget), Scheduler(policy))
    yield JobTrial("20 jobs, a power cap", policy, small_job_world(20, cap), Scheduler(policy))
    yield JobTrial("20 jobs, nodes that fail", policy, small_job_world(20, outages=_outages()), Scheduler(policy))
    yield JobTrial("20 jobs, some suspended", policy, small_job_world(20), Scheduler(policy, preempts=True))
    yield JobTrial("20 jobs, all unlike", policy, unlike(small_job_world(20)), Scheduler(policy))
    for what, world in site_trials(20).items() if policy.own is None else ():
        yield JobTrial(f"20 jobs, {what}", policy, world, Scheduler(policy))
    yield JobTrial(f"{_LARGEST} jobs", policy, small_job_world(_LARGEST), Scheduler(policy))


def _outages() -> NodeOutages:
    """A maintenance of half a cluster, and a failure of a quarter of the other."""
    return NodeOutages(
        np.array([0, 1]), np.array([4, 4]), np.array([800.0, 500.0]), np.array([1500.0, 3000.0]),
        np.array([True, False]), np.array([0.0, 0.5]),
    )  # fmt: skip


def check_policy(spec: str, folder: Path) -> Iterator[PolicyCheck]:
    """Hold a policy against every check; InputError when there is no such policy."""
    return held_against_all(partial(trials, spec, folder))


def renamed(world: JobWorld) -> JobWorld:
    """The same world with other names, their order turned round."""
    labels = {name: replace(label, names=other_names(label.names)) for name, label in world.jobs.labels.items()}
    clusters = replace(world.clusters, names=other_names(world.clusters.names))
    site = world.site
    if site is not None:
        site = replace(site, groups=other_names(site.groups), partitions=other_names(site.partitions))
    return replace(world, clusters=clusters, site=site, jobs=replace(world.jobs, labels=labels))
