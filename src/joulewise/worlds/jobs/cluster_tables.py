"""Clusters and job types from tables: times and powers by number of nodes, with straight lines between them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from joulewise.errors import InputError, Problem, attempt, raise_if_any
from joulewise.model.arrays import Counts, Ints
from joulewise.model.clusters import NO_TYPES, Clusters, ClusterSystem, JobTypes, NodeStandby
from joulewise.worlds.frames import MOST_WHOLE, InputColumn, InputTable, read_table
from joulewise.worlds.jobs.node_outages import NodeOutageParameters
from joulewise.worlds.outages import failure_problems
from joulewise.worlds.parameters import explained

_CLUSTER = InputColumn("cluster", "", "name of the cluster", True)
_N_NODES = InputColumn("nodes", "", "number of its nodes", True)
_CORES = InputColumn("cores_per_node", "", "number of cores of a node; 1 if empty")
_PROCESSORS = InputColumn("processors_per_node", "", "number of processors of a node; 1 if empty")
_STANDBY = (
    (InputColumn("idle_w", "W", "power of a node that is on and runs nothing; 0 if empty"), 0.0),
    (InputColumn("sleep_w", "W", "power of a node that sleeps; 0 if empty"), 0.0),
    (InputColumn("boot_w", "W", "power of a node while it wakes up; 0 if empty"), 0.0),
    (InputColumn("sleep_after_s", "s", "a node sleeps after this time without a job; never if empty"), math.inf),
    (InputColumn("boot_s", "s", "time that a node needs to wake up; 0 if empty"), 0.0),
)
"""The columns of `NodeStandby`, in its order, and what an empty cell stands for."""

CLUSTER_COLUMNS = (_CLUSTER, _N_NODES, _CORES, _PROCESSORS, *(column for column, _ in _STANDBY))

_JOB_TYPE = InputColumn("job_type", "", "name of the job type", True)
_OF_CLUSTER = InputColumn("cluster", "", "name of a cluster, as in clusters", True)
_PSTATE = InputColumn("pstate", "", "number of the P-state, 0 for the fastest; 0 if empty")
_NODES = InputColumn("nodes", "", "number of nodes that the job has", True)
_TIME = InputColumn("time_s", "s", "execution time on them", True)
_POWER = InputColumn("power_w", "W", "power of all of them together; not known if the column is left out")

JOB_TIME_COLUMNS = (_JOB_TYPE, _OF_CLUSTER, _PSTATE, _NODES, _TIME, _POWER)

Numbers: TypeAlias = NDArray[Any]

_MOST_PSTATE = 127


class TypeOptions(NamedTuple):
    """Options of job types, one row each."""

    cluster: Numbers
    pstate: Numbers
    nodes: Numbers
    time_s: Numbers
    power_w: Numbers


@dataclass(frozen=True, kw_only=True)
class ClusterTables(NodeOutageParameters):
    """The files that describe clusters and job types; names are relative to the folder they are read from.

    Raises InputError with every problem of the failures.
    """

    clusters: str = field(metadata={"help": "table of clusters, one row each", "file": True})
    job_times: str | None = explained(
        None,
        "table of times and powers by job type, cluster and number of nodes; left out where jobs have times of their "
        "own",
        file=True,
    )

    def __post_init__(self) -> None:
        raise_if_any(failure_problems(self))


def read_clusters(tables: ClusterTables, folder: Path = Path()) -> ClusterSystem:
    """The clusters and the job types that tables in this folder describe; InputError with every problem.

    Each row of the times is an option: a manager may choose among the numbers of nodes that are listed.
    """
    problems: list[Problem] = []
    clusters = attempt(problems, _clusters, tables.clusters, folder)
    types = NO_TYPES if tables.job_times is None else attempt(problems, _job_types, tables.job_times, folder, clusters)
    if clusters is None or types is None:
        raise InputError(*problems)
    return ClusterSystem(clusters, types)


def _clusters(name: str, folder: Path) -> Clusters:
    table = read_table(name, folder)
    table.check_columns(CLUSTER_COLUMNS)
    raise_if_any(table.problems)
    names = table.texts(_CLUSTER.name)
    table.report_rows(_CLUSTER.name, names.is_null().to_numpy(), "the cluster must have a name")
    table.report_rows(_CLUSTER.name, ~names.is_first_distinct().to_numpy(), "each cluster may have one row")
    n_nodes = table.whole(_N_NODES, 1)
    cores, processors = (table.whole(column, 1, 1.0) for column in (_CORES, _PROCESSORS))
    standby = [table.quantity(column, missing) for column, missing in _STANDBY]
    table.report_rows(_STANDBY[1][0].name, standby[1] > standby[0], "must not be above idle_w")
    raise_if_any(table.problems)
    has_standby = any(column.name in table.columns for column, _ in _STANDBY)
    of_nodes = NodeStandby(*standby) if has_standby else None
    return Clusters(tuple(names.to_list()), n_nodes, cores, processors, of_nodes)


def _job_types(name: str, folder: Path, clusters: Clusters | None) -> JobTypes:
    """The job types of a table; without clusters, what is wrong in it alone is found, and no types."""
    table = read_table(name, folder)
    table.check_columns(JOB_TIME_COLUMNS)
    raise_if_any(table.problems)
    types = table.texts(_JOB_TYPE.name)
    table.report_rows(_JOB_TYPE.name, types.is_null().to_numpy(), "the job type must have a name")
    names = tuple(types.drop_nulls().unique(maintain_order=True))
    job_type = np.array([-1 if name is None else names.index(name) for name in types])
    known = clusters.names if clusters else tuple(table.texts(_OF_CLUSTER.name).drop_nulls().unique())
    cluster = table.codes(_OF_CLUSTER.name, known, "cluster")
    pstate, nodes = table.whole(_PSTATE, 0, 0.0), table.whole(_NODES, 1)
    time_s = table.quantity(_TIME, positive=True)
    has_power = _POWER.name in table.columns
    power_w = table.quantity(_POWER) if has_power else np.full(time_s.size, np.nan)
    n_nodes = clusters.n_nodes if clusters else np.full(len(known), MOST_WHOLE)
    _check_options(table, n_nodes, (job_type, cluster, pstate, nodes))
    raise_if_any(table.problems)
    if clusters is None:
        return NO_TYPES
    order = np.lexsort((nodes, pstate, cluster, job_type))
    first = np.searchsorted(job_type[order], np.arange(len(names) + 1))
    options = TypeOptions(cluster, pstate, nodes, time_s, power_w)
    return types_of(names, first, TypeOptions(*(column[order] for column in options)))


def _check_options(table: InputTable, n_nodes: Counts, keys: tuple[Counts | Ints, ...]) -> None:
    """Note options that stand twice, and those of more nodes than their cluster has."""
    _, cluster, pstate, nodes = keys
    has_cluster = cluster >= 0
    too_large = has_cluster & (nodes > n_nodes[cluster])
    table.report_rows(_NODES.name, too_large, "must be at most the nodes that the cluster has")
    if _PSTATE.name in table.columns:
        table.report_rows(_PSTATE.name, pstate > _MOST_PSTATE, f"must be at most {_MOST_PSTATE}")
    rows = np.stack(keys, axis=1)
    _, at = np.unique(rows, axis=0, return_index=True)
    repeated = np.ones(len(rows), np.bool_)
    repeated[at] = False
    allowed = "each number of nodes may have one row for a job type, cluster and P-state"
    table.report_rows(_NODES.name, repeated & has_cluster, allowed)


def options_of(types: JobTypes, job_type: int) -> TypeOptions:
    """The options of a job type."""
    rows = slice(int(types.first[job_type]), int(types.first[job_type + 1]))
    return TypeOptions(*(getattr(types, name)[rows] for name in TypeOptions._fields))


def types_of(names: tuple[str, ...], first: Counts, options: TypeOptions, stretch: Numbers | float = 1.0) -> JobTypes:
    """Job types of these options, of which the first rows are given; true times are `stretch` times what is planned."""
    cluster, nodes = (options[column].astype(np.int32) for column in (0, 2))
    true_s, pstate = options.time_s * stretch, options.pstate.astype(np.int8)
    return JobTypes(names, first, cluster, pstate, nodes, true_s, options.time_s, options.power_w)


def rigid_types(clusters: Clusters, nodes: Numbers, time_s: Numbers, planned_s: Numbers, node_w: Numbers) -> JobTypes:
    """A type for each job, with one option on every cluster that has the nodes it needs there: `nodes[job, cluster]`.

    A job for which no cluster has nodes enough has no option. `node_w` is the power of each of its nodes.
    """
    job, cluster = np.nonzero(nodes <= clusters.n_nodes)
    first = np.searchsorted(job, np.arange(len(nodes) + 1))
    n = nodes[job, cluster]
    options = TypeOptions(cluster, np.zeros(job.size, np.int8), n, planned_s[job], n * node_w[job])
    return replace(types_of((), first, options), time_s=time_s[job])


def with_nodes(options: TypeOptions, n_nodes: Counts) -> TypeOptions:
    """What a job type may choose with given numbers of nodes, one for each cluster.

    Times and powers lie on straight lines between those of the numbers of nodes that are listed. A cluster for which
    the number is below or above all listed ones is no option.
    """
    rows = np.array(list(_interpolated(options, n_nodes))).reshape(-1, len(TypeOptions._fields))
    return TypeOptions(*rows.T)


def _interpolated(options: TypeOptions, n_nodes: Counts) -> Iterator[tuple[int, int, int, float, float]]:
    pairs = np.unique(np.stack((options.cluster, options.pstate), axis=1), axis=0)
    for cluster, pstate in pairs.tolist():
        listed = (options.cluster == cluster) & (options.pstate == pstate)
        nodes, n = options.nodes[listed], int(n_nodes[cluster])
        if nodes.min() <= n <= nodes.max():
            order = np.argsort(nodes)
            time_s, power_w = (float(np.interp(n, nodes[order], values[listed][order])) for values in options[3:])
            yield cluster, pstate, n, time_s, power_w
