"""Nodes of a site that are away for a time: maintenance and failures from a table, and failures at random."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.model.arrays import Ints
from joulewise.model.failures import NodeFailures
from joulewise.model.kept import KeptNodes
from joulewise.model.site import Site
from joulewise.rng import generator
from joulewise.worlds.clock import Clock
from joulewise.worlds.frames import InputColumn, InputTable, read_table
from joulewise.worlds.jobs.node_outages import OUTAGE_COLUMNS, NodeOutageParameters, listed_outages
from joulewise.worlds.outages import draw_outages

_NODES = OUTAGE_COLUMNS[1]
_GROUP = InputColumn("group", "", "on a site, in place of cluster: name of the group; may be left out if there is one")
_FIRST = InputColumn(
    "first_node",
    "",
    "on a site: number of the first of the nodes in its group, from 0, after which the others come; left out: those "
    "that are planned are the last of the group, those that fail are drawn",
)
SITE_OUTAGE_COLUMNS = (_GROUP, _FIRST)


class _Row(NamedTuple):
    """Nodes of a group, of which the first is -1 where that is not said, from when to when."""

    group: int
    n: int
    first: int
    start_s: float
    end_s: float

    def nodes(self, n_nodes: int) -> list[int]:
        return list(range(self.first, min(self.first + self.n, n_nodes)))


class _Away(NamedTuple):
    """A node that is away."""

    group: int
    node: int
    start_s: float
    end_s: float


def with_outages(
    site: Site, asked: NodeOutageParameters, until_s: float, clock: Clock, folder: Path, seed: int, trial: int
) -> Site:
    """The site with the outages of one trial: planned ones are kept for nobody, and failures come unforeseen.

    Failures at random begin up to an instant. InputError with every problem of the table.
    """
    failed: list[_Away] = []
    if asked.outages:
        rows, is_planned = _read(read_table(asked.outages, folder), site, clock)
        planned, others = (
            [row for row, is_it in zip(rows, is_planned, strict=True) if is_it is of] for of in (True, False)
        )
        raise_if_any(_too_many(asked.outages, site, planned))
        site = replace(site, kept=_with_planned(site, planned))
        failed += _drawn(site, others, seed, trial)
    if asked.mtbf_s is not None:
        failed += _at_random(site, asked, until_s, seed, trial)
    return replace(site, failures=_failures(failed)) if failed else site


def _read(table: InputTable, site: Site, clock: Clock) -> tuple[list[_Row], list[bool]]:
    """The rows of a table that are not over at instant 0, and which of them are planned."""
    found = listed_outages(table, clock, (_GROUP, _NODES, _FIRST))
    group = _group(table, site)
    has = np.where(group >= 0, site.n_nodes[np.maximum(group, 0)], np.inf)
    table.report_rows(_NODES.name, found.nodes > has, "must be at most the nodes that the group has")
    first = np.full(group.size, -1.0)
    if _FIRST.name in table.columns:
        is_given = table.numbers(_FIRST.name).is_given
        first = table.quantity(_FIRST, -1.0)
        is_whole = ~is_given | (first == np.floor(first))
        table.report_rows(_FIRST.name, ~is_whole, "must be a whole number from 0 on")
        beyond = is_given & (found.nodes <= has) & (first + found.nodes > has)
        table.report_rows(_FIRST.name, beyond, "must have as many nodes from it on in its group")
    raise_if_any(table.problems)
    goes_on = np.flatnonzero(found.end_s > 0)
    columns = (group, found.nodes.astype(np.int64), first.astype(np.int64), np.maximum(found.start_s, 0.0), found.end_s)
    rows = [_Row(*row) for row in zip(*(column[goes_on].tolist() for column in columns), strict=True)]
    return rows, found.is_planned[goes_on].tolist()


def _group(table: InputTable, site: Site) -> Ints:
    """The number of each row's group; with one group it need not be named."""
    if _GROUP.name in table.columns:
        return table.codes(_GROUP.name, site.groups, "group")
    if site.n_groups > 1:
        table.add(f"has no column {_GROUP.name!r}", f"the site has {site.n_groups} groups", column="header")
    return np.zeros(table.frame.height, np.int32)


def _with_planned(site: Site, rows: list[_Row]) -> KeptNodes:
    """What the site keeps, and for nobody what is planned to be away."""
    kept, nodes = site.kept, _planned_nodes(site, rows)
    sizes, first = [len(some) for some in nodes], len(kept.names)
    return KeptNodes(
        (*kept.names, *(f"outage {number + 1}" for number in range(len(rows)))),
        np.concatenate((kept.start_s, [row.start_s for row in rows])),
        np.concatenate((kept.end_s, [row.end_s for row in rows])),
        np.concatenate((kept.of, np.repeat(np.arange(first, first + len(rows)), sizes))),
        np.concatenate((kept.group, np.repeat(np.array([row.group for row in rows], np.int64), sizes))),
        np.concatenate((kept.node, np.array([node for some in nodes for node in some], np.int64))),
    )


def _planned_nodes(site: Site, rows: list[_Row]) -> list[list[int]]:
    """The nodes of each row: where it is not said which, the last ones that no other row has at some time of it.

    Of these first those that are not kept then, and then those that are kept for some.
    """
    kept, found = site.kept, [row.nodes(int(site.n_nodes[row.group])) if row.first >= 0 else [] for row in rows]
    for number, row in enumerate(rows):
        if row.first < 0:
            others = (k for k, other in enumerate(rows) if other.group == row.group and _meet(row, other))
            away = {node for k in others for node in found[k]}
            is_then = (kept.start_s < row.end_s) & (row.start_s < kept.end_s)
            taken = set(kept.node[(kept.group == row.group) & is_then[kept.of]].tolist())
            found[number] = _chosen(int(site.n_nodes[row.group]), away, taken, row.n)
    return found


def _meet(row: _Row, other: _Row) -> bool:
    return row.start_s < other.end_s and other.start_s < row.end_s


def _chosen(n_nodes: int, away: set[int], taken: set[int], wanted: int) -> list[int]:
    """The last nodes of a group that are there and not taken; where there are too few, of the taken ones as well."""
    by_choice = sorted(range(n_nodes), key=lambda node: (node in away, node in taken, -node))
    return sorted(by_choice[:wanted])


def _too_many(name: str, site: Site, rows: list[_Row]) -> Iterator[Problem]:
    """Groups of which more nodes than there are would be away at one instant, as is planned."""
    for group, of in enumerate(site.groups):
        here = [row for row in rows if row.group == group]
        n_nodes = int(site.n_nodes[group])
        most = max((_n_away([row for row in here if row.start_s <= at.start_s < row.end_s]) for at in here), default=0)
        if most > n_nodes:
            advice = "say the same first_node where rows mean the same nodes"
            yield Problem(name, f"found {most} nodes of group {of} away at once", f"it has {n_nodes}", advice)


def _n_away(rows: list[_Row]) -> int:
    """How many nodes of a group some rows have away together: where it is said which, each node once."""
    told = {node for row in rows if row.first >= 0 for node in range(row.first, row.first + row.n)}
    return len(told) + sum(row.n for row in rows if row.first < 0)


def _drawn(site: Site, rows: list[_Row], seed: int, trial: int) -> list[_Away]:
    """The nodes of failures: where it is not said which, drawn from those that have not failed then.

    Of those that fail at one instant, the nodes that are said come first.
    """
    rng, found = generator(seed, trial, "system.outages", "listed"), list[_Away]()
    for row in sorted(rows, key=lambda row: (row.start_s, row.first < 0)):
        order = rng.permutation(int(site.n_nodes[row.group])).tolist()
        away = {each.node for each in found if each.group == row.group and each.end_s > row.start_s}
        drawn = [node for node in order if node not in away][: row.n]
        nodes = drawn if row.first < 0 else row.nodes(len(order))
        found += [_Away(row.group, node, row.start_s, row.end_s) for node in nodes]
    return found


def _at_random(site: Site, asked: NodeOutageParameters, until_s: float, seed: int, trial: int) -> list[_Away]:
    outages = draw_outages(asked, int(site.n_nodes.sum()), until_s, seed, trial)
    first = np.cumsum(site.n_nodes) - site.n_nodes
    group = np.searchsorted(first, outages.machine, "right") - 1
    columns = (group, outages.machine - first[group], outages.start_s, outages.end_s)
    return [_Away(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def _failures(away: Iterable[_Away]) -> NodeFailures:
    """The failures by their start; those of a node that overlap are one."""
    found: list[_Away] = []
    for each in sorted(away):
        last = found[-1] if found else None
        if last is not None and last[:2] == each[:2] and each.start_s <= last.end_s:
            found[-1] = last._replace(end_s=max(last.end_s, each.end_s))
        else:
            found.append(each)
    columns = list(zip(*sorted(found, key=lambda each: (each.start_s, each)), strict=True))
    group, node, start_s, end_s = (np.array(column) for column in columns)
    return NodeFailures(group, node, start_s, end_s)
