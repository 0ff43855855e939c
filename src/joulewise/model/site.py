"""A site: nodes with several resources in groups of identical ones, partitions of them, and what jobs ask for there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.model.arrays import Bools, Counts, Floats, Ints, freeze_fields
from joulewise.model.failures import NO_FAILURES, NodeFailures
from joulewise.model.hours import ALWAYS, Hours
from joulewise.model.kept import FOR_ALL, NOTHING_KEPT, KeptNodes
from joulewise.model.passes import USUAL, Passes
from joulewise.model.preemption import Preemption, nobody_gives_way
from joulewise.model.shares import Priorities

LAST = -1
ANY_NUMBER = 2**31 - 1
"""More than any node has of anything."""

WHOLE = 2**32
"""What all of a resource of a node counts where leftovers are compared."""


@dataclass(frozen=True, eq=False)
class NodePower:
    """What a node of each group of a site draws without a job, and `more_w[g, r]` for each of resource r in use."""

    idle_w: Floats
    more_w: Floats

    def __post_init__(self) -> None:
        freeze_fields(self, {"idle_w": np.float64, "more_w": np.float64})


@dataclass(frozen=True, eq=False)
class Site:
    """Groups of identical nodes with what each node has, and the partitions through which jobs get them.

    `capacity` has a row for each group and a column for each resource, as whole numbers. Groups of lower `weight` are
    taken first. `in_partition` says which groups each partition has. Jobs of a partition of higher `tier` come first.
    A partition that `gives_wholes` gives whole nodes, any other lets jobs share them. `licences` are counted for the
    whole site, `passes` are those of its Slurm, and some nodes may be `kept` for some jobs. With `tells_apart` no group
    is only counted. Jobs on a node that is in `failures` run again if the site `requeues`, or else end badly.
    Partitions start jobs at their `hours`. Without `power` it is not known what nodes draw. Raises InputError with
    every problem found.
    """

    resources: tuple[str, ...]
    groups: tuple[str, ...]
    n_nodes: Counts
    capacity: Counts
    weight: Counts
    partitions: tuple[str, ...]
    in_partition: Bools
    tier: Counts
    gives_wholes: Bools
    licences: tuple[str, ...]
    n_licences: Counts
    passes: Passes = USUAL
    kept: KeptNodes = NOTHING_KEPT
    tells_apart: bool = False
    failures: NodeFailures = NO_FAILURES
    requeues: bool = True
    hours: Hours = ALWAYS
    power: NodePower | None = None

    def __post_init__(self) -> None:
        ints = dict.fromkeys(("n_nodes", "capacity", "weight", "tier", "n_licences"), np.int64)
        freeze_fields(self, {**ints, "in_partition": np.bool_, "gives_wholes": np.bool_})
        raise_if_any(_site_problems(self))

    @property
    def n_groups(self) -> int:
        return len(self.groups)

    @property
    def idle_w(self) -> float:
        """What all nodes together draw without a job; 0 where it is not known."""
        return 0.0 if self.power is None else float(self.n_nodes @ self.power.idle_w)

    @property
    def is_counted(self) -> Bools:
        """Which groups need only be counted: all their partitions give whole nodes, none of which is kept or fails."""
        shares = self.in_partition & ~self.gives_wholes[:, None]
        told_apart = np.concatenate((self.kept.group, self.failures.group))
        is_needed = np.isin(np.arange(self.n_groups), told_apart) | self.tells_apart
        return np.asarray(~shares.any(axis=0) & ~is_needed)

    @property
    def is_given_up(self) -> Bools:
        """Which resources of each group a job gives up that is suspended: processors, however counted, and what of a
        resource is not counted there. The first resource is the processors.
        """
        first = self.resources[0] if self.resources else ""
        processors = [name == first or name.startswith(f"{first} of ") for name in self.resources]
        return np.asarray(np.array(processors, np.bool_) | (self.capacity == ANY_NUMBER))

    def later(self, by_s: float) -> Site:
        """The same site, where all that has its time is so much later."""
        times = {name: getattr(self, name).later(by_s) for name in ("kept", "failures", "hours")}
        return replace(self, **times) if by_s else self


@dataclass(frozen=True, eq=False)
class Limits:
    """How much the jobs of holders, such as a user or a quality of service, may have together while they count.

    Holder b may have `most[b, w]` of the w-th of `what`; a job of class k has `uses[k, w]`. The holders of
    a job are in its row of `holders`, filled up with -1. Those in the last `n_counting` columns count what it has, and
    do not bind it: it may start though they have all that they may.
    """

    what: tuple[str, ...]
    names: tuple[str, ...]
    most: Counts
    uses: Counts
    holders: Ints
    n_counting: int = 0

    def __post_init__(self) -> None:
        freeze_fields(self, {"most": np.int64, "uses": np.int64, "holders": np.int32})

    @property
    def n_binding(self) -> int:
        """How many columns of holders bind their jobs."""
        return int(self.holders.shape[1]) - self.n_counting

    @property
    def binding(self) -> Ints:
        """The holders that bind each job."""
        return self.holders[:, : self.n_binding]

    def of_some(self, jobs: Counts) -> Limits:
        """The limits of some of the jobs, in this order."""
        return replace(self, holders=self.holders[jobs])

    def allow(self, of_job: Ints) -> Bools:
        """Which jobs their holders allow where nothing else runs."""
        allowed = np.ones(of_job.size, np.bool_)
        for holder in self.binding.T if self.names else ():
            allowed &= (holder < 0) | (self.uses[of_job] <= self.most[np.maximum(holder, 0)]).all(axis=1)
        return allowed


@dataclass(frozen=True, eq=False)
class Demands:
    """What jobs ask of a site; those of one class ask for the same, and `of_job` is the class of each.

    A job of class k runs in one `partition`, in the groups where `gives[k, g]` is above 0. It needs `units[k]`, in
    pieces, each on one node: a piece takes `need[k, g]` of the resources of a node of group g and gives `gives[k, g]`
    units; at most `most[k]` go to one node. Of a group that is counted a piece is a whole node, whatever it needs.
    `limits` say how much the holders of jobs may have, and `priorities` who comes first; without, users are equal.
    `submitted` says how many jobs holders may have that wait or run: one more is refused when it comes. `kept` tells
    for each class which of the site's kept nodes it has, -1 for none; without, no class has any. `preemption` says who
    gives way to whom.
    """

    of_job: Ints
    partition: Ints
    units: Counts
    most: Counts
    need: Counts
    gives: Counts
    licences: Counts
    limits: Limits
    priorities: Priorities | None = None
    kept: Ints | None = None
    submitted: Limits | None = None
    preemption: Preemption | None = None

    def __post_init__(self) -> None:
        ints = dict.fromkeys(("units", "most", "need", "gives", "licences"), np.int64)
        freeze_fields(self, {"of_job": np.int32, "partition": np.int32, "kept": np.int32, **ints})

    @property
    def n_classes(self) -> int:
        return self.partition.size

    def of_some(self, jobs: Counts) -> Demands:
        """What some of the jobs ask for, in this order."""
        return replace(
            self,
            of_job=self.of_job[jobs],
            limits=self.limits.of_some(jobs),
            priorities=None if self.priorities is None else self.priorities.of_some(jobs),
            submitted=None if self.submitted is None else self.submitted.of_some(jobs),
            preemption=None if self.preemption is None else self.preemption.of_some(jobs),
        )

    @property
    def kept_of(self) -> Ints:
        """Which of the site's kept nodes each class has, -1 for none."""
        return np.full(self.n_classes, FOR_ALL, np.int32) if self.kept is None else self.kept

    def can_start(self, site: Site) -> Bools:
        """Which jobs can start where nothing else runs."""
        return np.asarray(self.fit(site)[self.of_job] & self.limits.allow(self.of_job))

    @property
    def admitted(self) -> Limits:
        """How many jobs holders may have that wait or run."""
        return no_limits(self.of_job.size, self.n_classes) if self.submitted is None else self.submitted

    @property
    def giving(self) -> Preemption:
        """Who gives way to whom."""
        return nobody_gives_way(self.of_job.size) if self.preemption is None else self.preemption

    def fit(self, site: Site) -> Bools:
        """Which classes fit where nothing else runs."""
        counted, n_nodes = site.is_counted, site.kept.nodes_for(self.kept_of, site.n_nodes)
        with np.errstate(divide="ignore"):
            room = np.where(self.need > 0, site.capacity // np.maximum(self.need, 1), ANY_NUMBER).min(axis=2)
        on_node = np.where(counted, (room > 0).astype(np.int64), np.minimum(room, self.most[:, None]))
        has_units = (on_node * self.gives * n_nodes).sum(axis=1) >= self.units
        return np.asarray(has_units & (self.licences <= site.n_licences).all(axis=1))


def no_limits(n_jobs: int, n_classes: int) -> Limits:
    """Nobody's jobs are limited."""
    nothing = np.empty((0, 0), np.int64)
    return Limits((), (), nothing, np.empty((n_classes, 0), np.int64), np.empty((n_jobs, 0), np.int32))


@dataclass(frozen=True, eq=False)
class Places:
    """Where jobs ran, a row for each piece: so many of a job's pieces on a node, or on nodes of a counted group.

    A `node` is its number in its group, -1 where nodes are only counted. `stretch` tells in which of the allocation's
    pieces of running that was, -1 for the last one of a job; without it was the last one of all.
    """

    job: Ints
    group: Ints
    node: Ints
    pieces: Counts
    stretch: Ints | None = None

    def __post_init__(self) -> None:
        ints = dict.fromkeys(("job", "group", "node", "stretch"), np.int32)
        freeze_fields(self, {**ints, "pieces": np.int64})

    @property
    def stretch_of(self) -> Ints:
        """In which of the allocation's pieces of running each was, -1 for the last one of its job."""
        return np.full(self.job.size, LAST, np.int32) if self.stretch is None else self.stretch


def _site_problems(site: Site) -> Iterator[Problem]:
    n, n_partitions = len(site.groups), len(site.partitions)
    shapes = {
        "n_nodes": (n,),
        "capacity": (n, len(site.resources)),
        "weight": (n,),
        "in_partition": (n_partitions, n),
        "tier": (n_partitions,),
        "gives_wholes": (n_partitions,),
        "n_licences": (len(site.licences),),
    }
    for name, shape in shapes.items():
        if getattr(site, name).shape != shape:
            yield Problem(f"site.{name}", f"found the shape {getattr(site, name).shape}", f"must be {shape}")
            return
    if site.power is not None:
        yield from _power_problems(site.power, site)
    for name in ("resources", "groups", "partitions", "licences"):
        names = getattr(site, name)
        if len(set(names)) < len(names):
            yield Problem(f"site.{name}", f"found {list(names)}", "must all differ")
    for name in ("n_nodes", "capacity", "n_licences"):
        if (getattr(site, name) < 0).any():
            yield Problem(f"site.{name}", f"found {getattr(site, name).min()}", "must be 0 or more")
    for name, of in (("kept", site.kept), ("failures", site.failures)):
        has_group = (of.group >= 0) & (of.group < n)
        n_nodes = site.n_nodes[np.clip(of.group, 0, n - 1)]
        if not (has_group & (of.node >= 0) & (of.node < n_nodes)).all():
            yield Problem(f"site.{name}", "found nodes that no group has", "must be nodes of its groups")
    if site.hours.at_s.size and not (0 <= site.hours.partition.min() <= site.hours.partition.max() < n_partitions):
        yield Problem("site.hours", "found partitions that there are not", "must be partitions of its own")
    for row in np.flatnonzero(~site.in_partition.any(axis=1)):
        yield Problem(f"site: partition {site.partitions[row]}", "found no nodes", "must have a group of nodes")


def _power_problems(power: NodePower, site: Site) -> Iterator[Problem]:
    for name, shape in {"idle_w": (site.n_groups,), "more_w": site.capacity.shape}.items():
        values = getattr(power, name)
        if values.shape != shape:
            yield Problem(f"site.power.{name}", f"found the shape {values.shape}", f"must be {shape}")
        elif not (np.isfinite(values) & (values >= 0)).all():
            yield Problem(f"site.power.{name}", f"found {values.tolist()}", "must be 0 W or more, and finite")
