"""Nodes that cannot be used for a time: maintenance and reservations from a table, and failures at random."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.model.arrays import Bools, Floats, Ints
from joulewise.model.clusters import Clusters
from joulewise.model.jobs import NO_OUTAGES, NodeOutages
from joulewise.rng import generator
from joulewise.units import count, duration
from joulewise.worlds.clock import NO_CLOCK, Clock, misfit, read_moments
from joulewise.worlds.frames import InputColumn, InputTable, read_table
from joulewise.worlds.outages import FailureParameters, draw_outages
from joulewise.worlds.parameters import explained

_CLUSTER = InputColumn("cluster", "", "name of the cluster; may be left out if there is one")
_NODES = InputColumn("nodes", "", "how many of its nodes cannot be used", True)
_START = InputColumn("start_s", "s", "from when on they cannot be used, counted from the first submission of a log")
_END = InputColumn("end_s", "s", "when they can be used again")
_FROM = InputColumn("start", "", 'in place of start_s: the same as an instant in ISO 8601, such as "2026-01-31T13:00Z"')
_UNTIL = InputColumn("end", "", "in place of end_s, with start")
_PLANNED = InputColumn(
    "planned",
    "",
    "true: known from the start, nothing runs into it; false: a failure that ends the jobs that run there; true if "
    "empty",
)

OUTAGE_COLUMNS = (_CLUSTER, _NODES, _START, _END, _FROM, _UNTIL, _PLANNED)

_ANSWERS = ("false", "true")


@dataclass(frozen=True, kw_only=True)
class NodeOutageParameters(FailureParameters):
    """When nodes cannot be used; by default they always can."""

    outages: str | None = explained(
        None, "table of nodes that cannot be used for a time: maintenance, reservations, failures", file=True
    )


def node_outages(
    parameters: NodeOutageParameters,
    clusters: Clusters,
    end_s: float,
    seed: int,
    trial: int,
    folder: Path,
    clock: Clock = NO_CLOCK,
) -> NodeOutages:
    """The outages of one trial by their start: those of the table, and failures of nodes that begin before `end_s`.

    Dates are held against the clock. What is over by instant 0 is left out, and what goes on then begins there.
    Failures take only nodes that are not out already. InputError with every problem of the table, or if more nodes are
    planned to be out than there are.
    """
    parts = [_read(parameters.outages, clusters, seed, trial, folder, clock)] if parameters.outages else []
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


class OutageTimes(NamedTuple):
    """From when to when each row of a table is, from instant 0 of the world on, and whether the table has dates."""

    start_s: Floats
    end_s: Floats
    is_dated: bool


def outage_times(table: InputTable, clock: Clock, of: Sequence[InputColumn] = (_CLUSTER, _NODES)) -> OutageTimes:
    """The times of a table of outages by the clock of its world; what is wrong with them is noted in the table."""
    is_dated = bool({_FROM.name, _UNTIL.name} & set(table.columns))
    columns = (_FROM, _UNTIL) if is_dated else (_START, _END)
    table.check_columns((*of, *(column._replace(required=True) for column in columns), _PLANNED))
    if not is_dated:
        start_s, end_s = (clock.first_s + table.quantity(column) for column in columns)
        return OutageTimes(start_s, end_s, is_dated)
    start_s, end_s = (_since_zero(table, column.name, clock) for column in columns)
    return OutageTimes(start_s, end_s, is_dated)


def _since_zero(table: InputTable, column: str, clock: Clock) -> Floats:
    """The instants in a column, from instant 0 of the world on; NaN, and a report, where there are none."""
    none = np.full(table.frame.height, np.nan)
    moments = read_moments(table, column, clock.zone) if column in table.columns else None
    if moments is None:
        return none
    problem = misfit(clock, table.where(column=column), float(moments.at_s[0]), is_local=moments.is_local)
    if problem is not None:
        table.problems.append(problem)
        return none
    assert clock.zero_s is not None
    return np.asarray(moments.at_s - clock.zero_s)


class ListedOutages(NamedTuple):
    """The rows of a table: how many nodes, from when to when, and which are planned."""

    nodes: Floats
    start_s: Floats
    end_s: Floats
    is_planned: Bools
    is_dated: bool


def listed_outages(table: InputTable, clock: Clock, of: Sequence[InputColumn] = (_CLUSTER, _NODES)) -> ListedOutages:
    """The rows of a table by the clock of its world; what is wrong with them is noted in the table."""
    start_s, end_s, is_dated = outage_times(table, clock, of)
    n = table.frame.height
    nodes = table.quantity(_NODES)
    is_planned = np.ones(n, np.bool_)
    if _PLANNED.name in table.columns:
        is_planned = table.codes(_PLANNED.name, _ANSWERS, "answer", default=1) == 1
    table.report_rows(_NODES.name, ~((nodes >= 1) & (nodes == np.floor(nodes))), "must be a whole number above 0")
    begin, end = (_FROM, _UNTIL) if is_dated else (_START, _END)
    is_known = np.isfinite(start_s) & np.isfinite(end_s) if is_dated else np.ones(n, np.bool_)
    table.report_rows(end.name, is_known & ~(end_s > start_s), f"must be after {begin.name}")
    if is_dated and not table.problems and not (end_s > 0).any():
        found = f"found {count(n, 'outage')}, the last of which is over {duration(float(-end_s.max()))} before"
        table.add(found, f"must reach {clock.told(0.0)}, with which the simulation begins", column=end.name)
    return ListedOutages(nodes, start_s, end_s, is_planned, is_dated)


def _read(name: str, clusters: Clusters, seed: int, trial: int, folder: Path, clock: Clock) -> NodeOutages:
    table = read_table(name, folder)
    nodes, start_s, end_s, is_planned, is_dated = listed_outages(table, clock)
    cluster = _cluster(table, clusters)
    too_many = (cluster >= 0) & (nodes > clusters.n_nodes[cluster])
    table.report_rows(_NODES.name, too_many, "must be at most the nodes that the cluster has")
    raise_if_any(table.problems)
    lot = generator(seed, trial, "system.outages", "listed").random(nodes.size)
    outages = NodeOutages(cluster, nodes.astype(np.int32), start_s, end_s, is_planned, lot)
    if is_dated:
        outages = _from_zero(outages)
    raise_if_any(_too_many(table, clusters, outages))
    return outages


def _from_zero(outages: NodeOutages) -> NodeOutages:
    """What is left of the outages from instant 0 on."""
    goes_on = outages.end_s > 0
    rows = {name: getattr(outages, name)[goes_on] for name in _NAMES}
    return NodeOutages(**{**rows, "start_s": np.maximum(rows["start_s"], 0.0)})


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
