"""Nodes of a site that are away for a time: maintenance and failures from a table, and failures at random."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from joulewise.errors import raise_if_any
from joulewise.model.arrays import Ints
from joulewise.model.failures import NodeFailures
from joulewise.model.kept import KeptNodes
from joulewise.model.site import Site
from joulewise.rng import generator
from joulewise.worlds.clock import Clock
from joulewise.worlds.frames import InputColumn, InputTable, read_table
from joulewise.worlds.jobs.node_outages import OUTAGE_COLUMNS, NodeOutageParameters, listed_outages
from joulewise.worlds.jobs.sites.reservations import last_nodes
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
    """What the site keeps, and for nobody what is planned to be away: where it is not said which, the last nodes.

    Of these first those that are not kept at that time.
    """
    kept = site.kept
    for number, row in enumerate(rows):
        n_nodes = int(site.n_nodes[row.group])
        is_then = (kept.start_s < row.end_s) & (row.start_s < kept.end_s)
        taken = kept.node[(kept.group == row.group) & is_then[kept.of]]
        nodes = last_nodes(n_nodes, set(taken.tolist()), row.n) if row.first < 0 else row.nodes(n_nodes)
        of = np.full(len(nodes), len(kept.names))
        kept = KeptNodes(
            (*kept.names, f"outage {number + 1}"),
            np.append(kept.start_s, row.start_s),
            np.append(kept.end_s, row.end_s),
            np.append(kept.of, of),
            np.append(kept.group, np.full(len(nodes), row.group)),
            np.append(kept.node, nodes),
        )
    return kept


def _drawn(site: Site, rows: list[_Row], seed: int, trial: int) -> list[_Away]:
    """The nodes of failures: where it is not said which, drawn from those that have not failed then."""
    rng, found = generator(seed, trial, "system.outages", "listed"), list[_Away]()
    for row in sorted(rows, key=lambda row: row.start_s):
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
