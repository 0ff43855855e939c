"""Parallel jobs as columns, the world they come to, and what became of each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from types import MappingProxyType

import numpy as np

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.model.arrays import Bools, Codes, Floats, Ints, freeze_fields
from joulewise.model.clusters import Clusters, JobTypes
from joulewise.model.conditions import Conditions, condition_problems
from joulewise.model.kept import FOR_ALL
from joulewise.model.opening import Opening
from joulewise.model.site import Demands, Places, Site
from joulewise.model.supply import NO_LIMITS, Supply
from joulewise.model.workload import Workload
from joulewise.visible import Visible


@dataclass(frozen=True, eq=False)
class Label:
    """Who or what each job belongs to, such as its user: a number for each job, -1 where it is not known."""

    names: tuple[str, ...]
    codes: Ints

    def __post_init__(self) -> None:
        freeze_fields(self, {"codes": np.int32})


@dataclass(frozen=True, eq=False)
class Jobs(Visible, looks="jobs"):
    """Jobs in order of arrival: their types, arrivals and utility functions are those of the tasks of `work`.

    Job i arrives at `work.arrival_s[i]`, and may have to wait for what the `conditions` say. `labels` (user, group,
    queue) are for priorities, summaries and figures. `demands` are what jobs ask of a site.
    """

    work: Workload
    conditions: Conditions | None = None
    labels: Mapping[str, Label] = field(default_factory=dict)
    demands: Demands | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", MappingProxyType(dict(self.labels)))
        raise_if_any(_job_problems(self))

    @property
    def n_jobs(self) -> int:
        return self.work.n_tasks

    def later(self, by_s: float) -> Jobs:
        """The same jobs, and the same counted window, so much later."""
        if not by_s:
            return self
        work = self.work
        moved = replace(work, arrival_s=work.arrival_s + by_s, start_s=work.start_s + by_s, end_s=work.end_s + by_s)
        conditions = self.conditions
        if conditions is not None and conditions.begin_s is not None:
            conditions = replace(conditions, begin_s=conditions.begin_s + by_s)
        return replace(self, work=moved, conditions=conditions)


@dataclass(frozen=True, eq=False)
class NodeOutages:
    """Times in which this many nodes of a cluster cannot be used, one row each.

    One that `is_planned` (maintenance, a reservation for others) is known from the start and nothing is planned into
    it. Any other is a failure: it is known when it comes, and takes nodes as chance has it by `lot` in [0, 1): the
    nodes of running jobs come first, in order of their start, then those without a job. At no instant may a cluster
    have more nodes out than it has.
    """

    cluster: Ints
    nodes: Ints
    start_s: Floats
    end_s: Floats
    is_planned: Bools
    lot: Floats

    def __post_init__(self) -> None:
        floats = dict.fromkeys(("start_s", "end_s", "lot"), np.float64)
        freeze_fields(self, {"cluster": np.int32, "nodes": np.int32, **floats, "is_planned": np.bool_})

    @property
    def n_outages(self) -> int:
        return self.cluster.size

    def most_out(self, rows: Bools) -> int:
        """How many nodes these rows have out together at most."""
        edges_s = np.concatenate((self.end_s[rows], self.start_s[rows]))
        change = np.concatenate((-self.nodes[rows], self.nodes[rows]))
        return int(np.cumsum(change[np.argsort(edges_s, kind="stable")]).max(initial=0))


_NO_INTS, _NO_FLOATS = np.empty(0, np.int32), np.empty(0)
NO_OUTAGES = NodeOutages(_NO_INTS, _NO_INTS, _NO_FLOATS, _NO_FLOATS, np.empty(0, np.bool_), _NO_FLOATS)


@dataclass(frozen=True, eq=False)
class JobWorld(Visible, looks="jobs"):
    """Clusters, what each type of job may choose on them, the jobs, and what limits and disturbs them.

    Where jobs share the nodes of a `site`, that says where they fit. It is then one cluster whose nodes are the site's
    processors, and each type has one option, as many processors as its jobs ask for. An `opening` says what runs there
    already when decisions begin.
    """

    clusters: Clusters
    types: JobTypes
    jobs: Jobs
    supply: Supply = NO_LIMITS
    outages: NodeOutages = NO_OUTAGES
    site: Site | None = None
    opening: Opening | None = None

    def __post_init__(self) -> None:
        raise_if_any(_misfits(self))

    @property
    def n_jobs(self) -> int:
        return self.jobs.n_jobs


class Fate(IntEnum):
    """What became of a job when the simulation ended: killed at its limit, cancelled by a site, ..."""

    WAITING = 0
    RAN = 1
    DROPPED = 2
    KILLED = 3
    IMPOSSIBLE = 4
    CANCELLED = 5


@dataclass(frozen=True, eq=False)
class Pieces:
    """Stretches of running that did not complete a job, one row each: preempted, or lost to a failing node."""

    job: Ints
    option: Ints
    start_s: Floats
    end_s: Floats
    is_lost: Bools

    def __post_init__(self) -> None:
        ints = dict.fromkeys(("job", "option"), np.int32)
        freeze_fields(self, {**ints, "start_s": np.float64, "end_s": np.float64, "is_lost": np.bool_})


NO_PIECES = Pieces(_NO_INTS, _NO_INTS, _NO_FLOATS, _NO_FLOATS, np.empty(0, np.bool_))


@dataclass(frozen=True, eq=False)
class JobAllocation(Visible, looks="jobs"):
    """One row per job; the option is -1 and the instants NaN unless the fate is RAN, KILLED or CANCELLED.

    `start_s` and `end_s` are those of the last stretch of running, which completed the job or in which it was killed
    at its limit or cancelled; `pieces` are all others. `ready_s` is when it could have started: its arrival, or later
    where it had to wait for what its conditions say; infinite where that never came. A job that fits nowhere is
    IMPOSSIBLE. On a site, `places` tells the nodes of each job.
    """

    option: Ints
    start_s: Floats
    end_s: Floats
    ready_s: Floats
    fate: Codes
    pieces: Pieces = NO_PIECES
    places: Places | None = None

    def __post_init__(self) -> None:
        floats = dict.fromkeys(("start_s", "end_s", "ready_s"), np.float64)
        freeze_fields(self, {"option": np.int32, **floats, "fate": np.int8})
        sizes = {getattr(self, name).size for name in ("option", *floats, "fate")}
        if len(sizes) != 1:
            raise InputError(Problem("job allocation", f"found columns of {sorted(sizes)} rows", "all must be of one"))

    @property
    def ran(self) -> Bools:
        """Which jobs ran to their end."""
        return np.asarray(self.fate == Fate.RAN)

    @property
    def times_of_places(self) -> tuple[Floats, Floats]:
        """From when to when jobs were at each of the places."""
        assert self.places is not None
        return _times_of(self, self.places)

    @property
    def used(self) -> Bools:
        """Which jobs had nodes until they ended, or were killed or cancelled."""
        return np.asarray((self.fate == Fate.RAN) | self.is_cut_short)

    @property
    def served(self) -> Bools:
        """Which jobs had nodes for as long as they could: those that ran to their end or their limit."""
        return np.asarray((self.fate == Fate.RAN) | (self.fate == Fate.KILLED))

    @property
    def is_cut_short(self) -> Bools:
        """Which jobs had nodes, and ended badly."""
        return np.asarray((self.fate == Fate.KILLED) | (self.fate == Fate.CANCELLED))


def _times_of(allocation: JobAllocation, places: Places) -> tuple[Floats, Floats]:
    start_s, end_s = allocation.start_s[places.job], allocation.end_s[places.job]
    if places.stretch is None:
        return start_s, end_s
    pieces, before = allocation.pieces, np.flatnonzero(places.stretch >= 0)
    start_s[before], end_s[before] = pieces.start_s[places.stretch[before]], pieces.end_s[places.stretch[before]]
    return start_s, end_s


def _job_problems(jobs: Jobs) -> Iterator[Problem]:
    n = jobs.n_jobs
    for name, label in jobs.labels.items():
        if label.codes.shape != (n,):
            found = f"found {label.codes.size} values"
            yield Problem(f"jobs.labels.{name}", found, f"must be one for each of the {n} jobs")
    if jobs.conditions is not None:
        yield from condition_problems(jobs.conditions, n)


def _misfits(world: JobWorld) -> Iterator[Problem]:
    types, n_clusters = world.types, world.clusters.n_clusters
    if types.cluster.max(initial=0) >= n_clusters:
        found = f"found cluster {types.cluster.max()}"
        yield Problem("job types.cluster", found, f"must be one of the {n_clusters} clusters, from 0")
        return
    too_large = types.nodes > world.clusters.n_nodes[types.cluster]
    if too_large.any():
        at = int(np.flatnonzero(too_large)[0])
        found = f"found {types.nodes[at]} nodes of cluster {world.clusters.names[types.cluster[at]]}"
        allowed = f"must be at most the {world.clusters.n_nodes[types.cluster[at]]} that it has"
        yield Problem(f"job types.nodes: option {at}", found, allowed, "leave out options that do not fit")
    if world.jobs.work.task_type.max(initial=0) >= types.n_types:
        found = f"found type {world.jobs.work.task_type.max()}"
        yield Problem("jobs.task_type", found, f"must be one of the {types.n_types} job types, from 0")
    yield from _site_misfits(world)
    yield from _opening_misfits(world)
    outages = world.outages
    if outages.n_outages and (outages.cluster.max() >= n_clusters or outages.cluster.min() < 0):
        yield Problem("outages.cluster", f"found {outages.cluster.max()}", f"must be from 0 to {n_clusters - 1}")
    if not (outages.end_s > outages.start_s).all():
        yield Problem("outages", "found an end that is not after its start", "must end after it starts")
        return
    for cluster, name in enumerate(world.clusters.names):
        most = outages.most_out(outages.cluster == cluster)
        if most > world.clusters.n_nodes[cluster]:
            found = f"found {most} nodes of cluster {name} out at once"
            yield Problem("outages.nodes", found, f"must be at most the {world.clusters.n_nodes[cluster]} that it has")


def _opening_misfits(world: JobWorld) -> Iterator[Problem]:
    """An opening of another site, or of other jobs."""
    opening, site = world.opening, world.site
    if opening is None:
        return
    if site is None or opening.since_s.shape != (world.n_jobs,):
        yield Problem("opening", "found one of other jobs, or without a site", "must be of a site and its jobs")
        return
    places = opening.places
    has_group = (places.group >= 0) & (places.group < site.n_groups)
    n_nodes = site.n_nodes[np.clip(places.group, 0, site.n_groups - 1)]
    if not (has_group & (places.node >= -1) & (places.node < n_nodes) & (places.pieces >= 1)).all():
        yield Problem("opening.places", "found places that the site lacks", "must be pieces on nodes of its groups")


def _site_misfits(world: JobWorld) -> Iterator[Problem]:
    """A site without demands, or demands of another one."""
    site, demands = world.site, world.jobs.demands
    if (site is None) != (demands is None):
        found = "found a site, but not what jobs ask of it" if demands is None else "found demands, but no site"
        yield Problem("site", found, "must come together")
    if site is None or demands is None:
        return
    if world.clusters.n_clusters != 1:
        yield Problem("site", f"found {world.clusters.n_clusters} clusters", "must be one, of the site's processors")
    if demands.of_job.shape != (world.n_jobs,):
        found = f"found {demands.of_job.size} values"
        yield Problem("jobs.demands.of_job", found, f"must be one for each of the {world.n_jobs} jobs")
    if demands.priorities is not None and demands.priorities.of_job.shape != (world.n_jobs,):
        found = f"found {demands.priorities.of_job.size} values"
        yield Problem("jobs.demands.priorities.of_job", found, f"must be one for each of the {world.n_jobs} jobs")
    n, n_holders = demands.n_classes, len(demands.limits.names)
    shapes = {
        "units": (n,),
        "most": (n,),
        "need": (n, site.n_groups, len(site.resources)),
        "gives": (n, site.n_groups),
        "licences": (n, len(site.licences)),
    }
    for name, shape in shapes.items():
        if getattr(demands, name).shape != shape:
            yield Problem(f"jobs.demands.{name}", f"found the shape {getattr(demands, name).shape}", f"must be {shape}")
    for name, shape in {"uses": (n, len(demands.limits.what)), "most": (n_holders, len(demands.limits.what))}.items():
        if getattr(demands.limits, name).shape != shape:
            found = f"found the shape {getattr(demands.limits, name).shape}"
            yield Problem(f"jobs.demands.limits.{name}", found, f"must be {shape}")
    columns = (
        ("of_job", demands.of_job, 0, n),
        ("partition", demands.partition, 0, len(site.partitions)),
        ("kept", demands.kept_of, FOR_ALL, len(site.kept.names)),
    )
    for name, values, least, most in columns:
        if values.size and not (values.min() >= least and values.max() < most):
            found = f"found {values.min()} to {values.max()}"
            yield Problem(f"jobs.demands.{name}", found, f"must be from {least} to {most - 1}")
