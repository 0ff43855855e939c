"""Nodes that cannot be used for a time: maintenance and reservations from a table, and failures at random."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.model.arrays import Ints
from joulewise.model.clusters import Clusters
from joulewise.model.jobs import NO_OUTAGES, NodeOutages
from joulewise.rng import generator
from joulewise.worlds.frames import InputColumn, InputTable, read_table
from joulewise.worlds.outages import FailureParameters, draw_outages
from joulewise.worlds.parameters import explained

_CLUSTER = InputColumn("cluster", "", "name of the cluster; may be left out if there is one")
_NODES = InputColumn("nodes", "", "how many of its nodes cannot be used", True)
_START = InputColumn("start_s", "s", "instant from which on they cannot be used", True)
_END = InputColumn("end_s", "s", "instant at which they can be used again", True)
_PLANNED = InputColumn(
    "planned",
    "",
    "true: known from the start, nothing runs into it; false: a failure that ends the jobs that run there; true if "
    "empty",
)

OUTAGE_COLUMNS = (_CLUSTER, _NODES, _START, _END, _PLANNED)

_ANSWERS = ("false", "true")


@dataclass(frozen=True, kw_only=True)
class NodeOutageParameters(FailureParameters):
    """When nodes cannot be used; by default they always can."""

    outages: str | None = explained(
        None, "table of nodes that cannot be used for a time: maintenance, reservations, failures", file=True
    )


def node_outages(
    parameters: NodeOutageParameters, clusters: Clusters, end_s: float, seed: int, trial: int, folder: Path
) -> NodeOutages:
    """The outages of one trial by their start: those of the table, and failures of nodes that begin before `end_s`.

    Failures take only nodes that are not out already. InputError with every problem of the table, or if more nodes are
    planned to be out than there are.
    """
    parts = [_read(parameters.outages, clusters, seed, trial, folder)] if parameters.outages else []
    if parameters.mtbf_s is not None:
        parts.append(_failures(parameters, clusters, end_s, seed, trial))
    if not parts:
        return NO_OUTAGES
    return of_nodes_that_are_there(_joined(parts), clusters)


def of_nodes_that_are_there(outages: NodeOutages, clusters: Clusters) -> NodeOutages:
    """The outages by their start, of nodes that are not out already: planned ones come first, then earlier failures.

    Where one of these ends before it, an outage has the nodes from then on.
    """
    parts = []
    for cluster, n_nodes in enumerate(clusters.n_nodes.tolist()):
        here = NodeOutages(**{name: getattr(outages, name)[outages.cluster == cluster] for name in _NAMES})
        parts.append(here if here.most_out(here.cluster == cluster) <= n_nodes else _without_doubles(here, n_nodes))
    return _joined(parts)


_NAMES = tuple(field.name for field in dataclasses.fields(NodeOutages))


def _joined(parts: Sequence[NodeOutages]) -> NodeOutages:
    """All outages of some lists, by their start."""
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _NAMES}
    order = np.argsort(columns["start_s"], kind="stable")
    return NodeOutages(**{name: column[order] for name, column in columns.items()})


def _without_doubles(outages: NodeOutages, n_nodes: int) -> NodeOutages:
    """The outages of a cluster, each in as many rows as it takes to have out only what others leave."""
    order = np.lexsort((outages.start_s, ~outages.is_planned))
    start_s, end_s, wanted = outages.start_s[order], outages.end_s[order], outages.nodes[order].astype(np.int64)
    since: list[list[tuple[int, float]]] = [[] for _ in order]
    rows: list[tuple[int, int, float, float]] = []
    had = np.zeros_like(wanted)
    for at_s in np.unique(np.concatenate((start_s, end_s))).tolist():
        out = np.where((start_s <= at_s) & (at_s < end_s), wanted, 0)
        has = np.clip(n_nodes - (np.cumsum(out) - out), 0, out)
        for k in np.flatnonzero(has != had).tolist():
            rows += [(k, *back, at_s) for back in _changed(since[k], int(has[k] - had[k]), at_s)]
        had = has
    of, nodes, from_s, to_s = np.array(rows).T
    at = order[of.astype(np.int64)]
    return NodeOutages(
        outages.cluster[at], nodes.astype(np.int32), from_s, to_s, outages.is_planned[at], outages.lot[at]
    )  # fmt: skip


def _changed(since: list[tuple[int, float]], by: int, at_s: float) -> Iterator[tuple[int, float]]:
    """Note nodes that go out, or take those back that went out last; yields these, and since when they were out."""
    if by > 0:
        since.append((by, at_s))
    while by < 0:
        nodes, from_s = since.pop()
        back = min(nodes, -by)
        if back < nodes:
            since.append((nodes - back, from_s))
        by += back
        yield back, from_s


def _failures(p: FailureParameters, clusters: Clusters, end_s: float, seed: int, trial: int) -> NodeOutages:
    outages = draw_outages(p, int(clusters.n_nodes.sum()), end_s, seed, trial)
    n = outages.start_s.size
    cluster = np.repeat(np.arange(clusters.n_clusters, dtype=np.int32), clusters.n_nodes)[outages.machine]
    lot = generator(seed, trial, "system.outages", "lots").random(n)
    return NodeOutages(cluster, np.ones(n, np.int32), outages.start_s, outages.end_s, np.zeros(n, np.bool_), lot)


def _read(name: str, clusters: Clusters, seed: int, trial: int, folder: Path) -> NodeOutages:
    table = read_table(name, folder)
    table.check_columns(OUTAGE_COLUMNS)
    n = table.frame.height
    cluster = _cluster(table, clusters)
    nodes, start_s, end_s = (table.quantity(column) for column in (_NODES, _START, _END))
    is_planned = np.ones(n, np.bool_)
    if _PLANNED.name in table.columns:
        is_planned = table.codes(_PLANNED.name, _ANSWERS, "answer", default=1) == 1
    table.report_rows(_NODES.name, ~((nodes >= 1) & (nodes == np.floor(nodes))), "must be a whole number above 0")
    too_many = (cluster >= 0) & (nodes > clusters.n_nodes[cluster])
    table.report_rows(_NODES.name, too_many, "must be at most the nodes that the cluster has")
    table.report_rows(_END.name, ~(end_s > start_s), f"must be after {_START.name}")
    raise_if_any(table.problems)
    lot = generator(seed, trial, "system.outages", "listed").random(n)
    outages = NodeOutages(cluster, nodes.astype(np.int32), start_s, end_s, is_planned, lot)
    raise_if_any(_too_many(table, clusters, outages))
    return outages


def _cluster(table: InputTable, clusters: Clusters) -> Ints:
    """The number of each row's cluster; with one cluster it need not be named."""
    if _CLUSTER.name in table.columns:
        return table.codes(_CLUSTER.name, clusters.names, "cluster")
    if clusters.n_clusters > 1:
        table.add(f"has no column {_CLUSTER.name!r}", f"there are {clusters.n_clusters} clusters", column="header")
    return np.zeros(table.frame.height, np.int32)


def _too_many(table: InputTable, clusters: Clusters, outages: NodeOutages) -> Iterator[Problem]:
    """Clusters of which more nodes than there are would be out at one instant, as is planned."""
    for cluster, name in enumerate(clusters.names):
        most = outages.most_out((outages.cluster == cluster) & outages.is_planned)
        if most > clusters.n_nodes[cluster]:
            found = f"found {most} nodes of cluster {name} out at once"
            yield Problem(table.name, found, f"it has {clusters.n_nodes[cluster]}")


def last_failure_s(end_s: float, last_arrival_s: float) -> float:
    """Until when failures are drawn: the end of the counted window or, if there is none, the last arrival."""
    return end_s if math.isfinite(end_s) else last_arrival_s
