"""Clusters of identical nodes, and what parallel jobs of each type may choose on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.model.arrays import Codes, Counts, Floats, Ints, freeze_fields
from joulewise.visible import Visible


@dataclass(frozen=True, eq=False)
class NodeStandby:
    """What a node of each cluster draws without a job: it idles, sleeps after a while, and boots for the next job.

    Powers are of one node. A node that has idled for `sleep_after_s` sleeps; with that infinite it idles for ever. The
    boot of a node that slept is metered afterwards, as `boot_w` in the `boot_s` before its job starts. It delays no job
    yet. Power cap and budget set aside the idle power of all nodes, and do not see what a boot draws above it.
    """

    idle_w: Floats
    sleep_w: Floats
    boot_w: Floats
    sleep_after_s: Floats
    boot_s: Floats

    def __post_init__(self) -> None:
        names = ("idle_w", "sleep_w", "boot_w", "sleep_after_s", "boot_s")
        freeze_fields(self, dict.fromkeys(names, np.float64))


@dataclass(frozen=True, eq=False)
class Clusters(Visible, looks="jobs"):
    """Clusters of identical nodes; a node is what is given to a job, as a whole.

    All columns have one row for each cluster. Without `standby`, nodes without a job draw nothing.
    Raises InputError with every problem found.
    """

    names: tuple[str, ...]
    n_nodes: Counts
    cores_per_node: Counts
    processors_per_node: Counts
    standby: NodeStandby | None = None

    def __post_init__(self) -> None:
        freeze_fields(self, dict.fromkeys(("n_nodes", "cores_per_node", "processors_per_node"), np.int64))
        raise_if_any(_cluster_problems(self))

    @property
    def n_clusters(self) -> int:
        return len(self.names)

    @property
    def n_cores(self) -> int:
        """The cores of all clusters together."""
        return int((self.n_nodes * self.cores_per_node).sum())


@dataclass(frozen=True, eq=False)
class JobTypes(Visible, looks="jobs"):
    """What a job of type t may choose: the options from row `first[t]` to `first[t + 1]`.

    An option is a number of nodes of one cluster, all in one P-state. With it a job runs for `time_s`; the planner
    knows only that it takes `planned_s`. All its nodes together draw `power_w` (NaN where that is not known). A type
    may have several options on one cluster: P-states, or numbers of nodes where the job can use more or fewer. A type
    without options runs nowhere. A job may use its nodes for `limit_s`, where that is not what is planned.
    """

    names: tuple[str, ...]
    first: Counts
    cluster: Ints
    pstate: Codes
    nodes: Ints
    time_s: Floats
    planned_s: Floats
    power_w: Floats
    limit_s: Floats | None = None

    def __post_init__(self) -> None:
        floats = dict.fromkeys(("time_s", "planned_s", "power_w", "limit_s"), np.float64)
        dtypes = {"first": np.int64, "cluster": np.int32, "pstate": np.int8, "nodes": np.int32, **floats}
        freeze_fields(self, dtypes)
        raise_if_any(_type_problems(self))

    @property
    def n_types(self) -> int:
        return self.first.size - 1

    @property
    def n_options(self) -> int:
        return self.cluster.size

    @property
    def n_pstates(self) -> int:
        return int(self.pstate.max(initial=0)) + 1

    @property
    def of_option(self) -> Counts:
        """The type that each option is one of."""
        return np.repeat(np.arange(self.n_types), np.diff(self.first))

    @property
    def allowed_s(self) -> Floats:
        """After how long each option ends at the latest where jobs are killed: their limits, or else their plans."""
        return self.planned_s if self.limit_s is None else self.limit_s

    @property
    def fastest_s(self) -> Floats:
        """The shortest true time of each type; infinite for one that runs nowhere."""
        fastest_s = np.full(self.n_types, np.inf)
        np.minimum.at(fastest_s, self.of_option, self.time_s)
        return fastest_s

    @property
    def energy_j(self) -> Floats:
        """What each option is planned to use, without what the facility adds."""
        return np.asarray(self.power_w * self.planned_s)


@dataclass(frozen=True, eq=False)
class TypeTraits:
    """What else a generator knows of each job type, one row each.

    A job of it starts with `utility`, is of the levels `priority` and `urgency`, asks for `cores`, and takes
    `single_s` where it is not parallel.
    """

    utility: Floats
    priority: Codes
    urgency: Codes
    cores: Counts
    single_s: Floats

    def __post_init__(self) -> None:
        codes = dict.fromkeys(("priority", "urgency"), np.int8)
        freeze_fields(self, {"utility": np.float64, **codes, "cores": np.int64, "single_s": np.float64})


def _cluster_problems(clusters: Clusters) -> Iterator[Problem]:
    n = len(clusters.names)
    if n == 0:
        yield Problem("clusters", "found none", "there must be at least one")
    if len(set(clusters.names)) < n:
        yield Problem("clusters.name", f"found {list(clusters.names)}", "must all differ")
    for name in ("n_nodes", "cores_per_node", "processors_per_node"):
        column = getattr(clusters, name)
        if column.shape != (n,):
            yield Problem(
                f"clusters.{name}", f"found {column.size} values", f"must be one for each of the {n} clusters"
            )
        elif (column < 1).any():
            yield Problem(f"clusters.{name}", f"found {column.min()}", "must be 1 or more")
    if clusters.standby is not None:
        yield from _standby_problems(clusters.standby, n)


def _standby_problems(standby: NodeStandby, n: int) -> Iterator[Problem]:
    for name, column in vars(standby).items():
        if column.shape != (n,):
            yield Problem(
                f"clusters.{name}", f"found {column.size} values", f"must be one for each of the {n} clusters"
            )
        elif not (column >= 0).all() or (name != "sleep_after_s" and not np.isfinite(column).all()):
            yield Problem(f"clusters.{name}", f"found {column.tolist()}", "must be 0 or more, and finite")


def _type_problems(types: JobTypes) -> Iterator[Problem]:
    n = types.cluster.size
    if types.first.size < 2 or types.first[0] != 0 or types.first[-1] != n or (np.diff(types.first) < 0).any():
        yield Problem("job types", f"found options from {types.first[:3].tolist()}...", f"must rise from 0 to {n}")
    if len(types.names) not in (0, types.first.size - 1):
        yield Problem("job types", f"found {len(types.names)} names", f"must be none or {types.first.size - 1}")
    rules = (
        ("cluster", types.cluster, types.cluster < 0, "must be the number of a cluster, from 0"),
        ("pstate", types.pstate, types.pstate < 0, "must be the number of a P-state, from 0"),
        ("nodes", types.nodes, types.nodes < 1, "must be 1 or more"),
        ("time_s", types.time_s, ~((types.time_s > 0) & np.isfinite(types.time_s)), "must be above 0 s, and finite"),
        ("planned_s", types.planned_s, ~((types.planned_s > 0) & np.isfinite(types.planned_s)), "must be above 0 s"),
        ("limit_s", types.allowed_s, ~((types.allowed_s > 0) & np.isfinite(types.allowed_s)), "must be above 0 s"),
        ("power_w", types.power_w, types.power_w < 0, "must be 0 W or more"),
    )
    for name, values, wrong, allowed in rules:
        if values.shape != (n,):
            yield Problem(f"job types.{name}", f"found {values.size} values", f"must be one for each of {n} options")
        elif wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            yield Problem(f"job types.{name}: option {at}", f"found {values[at]}", allowed)


_NONE = np.empty(0, np.int32)
NO_TYPES = JobTypes((), np.zeros(2, np.int64), _NONE, _NONE.astype(np.int8), _NONE, *(np.empty(0) for _ in range(3)))
"""One type that runs nowhere, where jobs come with types of their own."""


@dataclass(frozen=True, eq=False)
class ClusterSystem(Visible, looks="jobs"):
    """Clusters and what each type of job may choose on them; `traits` where a generator knows more of the types."""

    clusters: Clusters
    types: JobTypes = NO_TYPES
    traits: TypeTraits | None = None
