"""A site: nodes with several resources in groups of identical ones, partitions of them, and what jobs ask for there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.model.arrays import Bools, Counts, Ints, freeze_fields
from joulewise.model.kept import FOR_ALL, NOTHING_KEPT, KeptNodes
from joulewise.model.passes import USUAL, Passes
from joulewise.model.preemption import Preemption, nobody_gives_way
from joulewise.model.shares import Priorities

LAST = -1
ANY_NUMBER = 2**31 - 1
"""More than any node has of anything."""


@dataclass(frozen=True, eq=False)
class Site:
    """Groups of identical nodes with what each node has, and the partitions through which jobs get them.

    `capacity` has a row for each group and a column for each resource, as whole numbers. Groups of lower `weight` are
    taken first. `in_partition` says which groups each partition has. Jobs of a partition of higher `tier` come first.
    A partition that `gives_wholes` gives whole nodes, any other lets jobs share them. `licences` are counted for the
    whole site, `passes` are those of its Slurm, and some nodes may be `kept` for some jobs. With `tells_apart` no group
    is only counted. Raises InputError with every problem found.
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

    def __post_init__(self) -> None:
        ints = dict.fromkeys(("n_nodes", "capacity", "weight", "tier", "n_licences"), np.int64)
        freeze_fields(self, {**ints, "in_partition": np.bool_, "gives_wholes": np.bool_})
        raise_if_any(_site_problems(self))

    @property
    def n_groups(self) -> int:
        return len(self.groups)

    @property
    def is_counted(self) -> Bools:
        """Which groups need only be counted, as all their partitions give whole nodes and none of these is kept."""
        shares = self.in_partition & ~self.gives_wholes[:, None]
        is_needed = np.isin(np.arange(self.n_groups), self.kept.group) | self.tells_apart
        return np.asarray(~shares.any(axis=0) & ~is_needed)

    @property
    def is_given_up(self) -> Bools:
        """Which resources of each group a job gives up that is suspended: processors, however counted, and what of a
        resource is not counted there. The first resource is the processors.
        """
        first = self.resources[0] if self.resources else ""
        processors = [name == first or name.startswith(f"{first} of ") for name in self.resources]
        return np.asarray(np.array(processors, np.bool_) | (self.capacity == ANY_NUMBER))


@dataclass(frozen=True, eq=False)
class Limits:
    """How much the jobs of holders, such as a user or a quality of service, may have together while they count.

    Holder b may have `most[b, w]` of the w-th of `what`; a job of class k has `uses[k, w]`. The holders of
    a job are in its row of `holders`, filled up with -1.
    """

    what: tuple[str, ...]
    names: tuple[str, ...]
    most: Counts
    uses: Counts
    holders: Ints

    def __post_init__(self) -> None:
        freeze_fields(self, {"most": np.int64, "uses": np.int64, "holders": np.int32})

    def allow(self, of_job: Ints) -> Bools:
        """Which jobs their holders allow where nothing else runs."""
        allowed = np.ones(of_job.size, np.bool_)
        for holder in self.holders.T if self.names else ():
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

    @property
    def kept_of(self) -> Ints:
        """Which of the site's kept nodes each class has, -1 for none."""
        return np.full(self.n_classes, FOR_ALL, np.int32) if self.kept is None else self.kept

    def can_start(self, site: Site) -> Bools:
        """Which jobs can start where nothing else runs."""
        return np.asarray(self._fit(site)[self.of_job] & self.limits.allow(self.of_job))

    @property
    def admitted(self) -> Limits:
        """How many jobs holders may have that wait or run."""
        return no_limits(self.of_job.size, self.n_classes) if self.submitted is None else self.submitted

    @property
    def giving(self) -> Preemption:
        """Who gives way to whom."""
        return nobody_gives_way(self.of_job.size) if self.preemption is None else self.preemption

    def _fit(self, site: Site) -> Bools:
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
    for name in ("resources", "groups", "partitions", "licences"):
        names = getattr(site, name)
        if len(set(names)) < len(names):
            yield Problem(f"site.{name}", f"found {list(names)}", "must all differ")
    for name in ("n_nodes", "capacity", "n_licences"):
        if (getattr(site, name) < 0).any():
            yield Problem(f"site.{name}", f"found {getattr(site, name).min()}", "must be 0 or more")
    kept = site.kept
    if (
        kept.n_nodes
        and not (
            (kept.group >= 0)
            & (kept.group < n)
            & (kept.node >= 0)
            & (kept.node < site.n_nodes[np.clip(kept.group, 0, n - 1)])
        ).all()
    ):
        yield Problem("site.kept", "found nodes that no group has", "must be nodes of its groups")
    for row in np.flatnonzero(~site.in_partition.any(axis=1)):
        yield Problem(f"site: partition {site.partitions[row]}", "found no nodes", "must have a group of nodes")
