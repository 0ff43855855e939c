"""What a Slurm is at an instant: its site with the names of its nodes, the state of these, and its queue."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.slurm.calls import Caller, Patience, ask
from joulewise.slurm.nodes import NodeNow, ask_nodes, nodes_of_text
from joulewise.slurm.policy import PowerParameters
from joulewise.slurm.queue import QueuedJob, ask_queue, queue_of_text
from joulewise.slurm.versions import Version, version_of
from joulewise.worlds.jobs.sites.hostlists import compacted
from joulewise.worlds.jobs.sites.site import NodeGroup, SiteTables
from joulewise.worlds.jobs.sites.slurm_config import site_of_slurm
from joulewise.worlds.jobs.sites.slurm_text import FORMS, read_slurm

Members = Mapping[str, tuple[str, ...]]
"""The names of the nodes of each group, in order."""

_SHOWN = ("node", "partition", "config")
_AS_OF = re.compile(r"Configuration data as of (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)")
_NOT_PLANNED = ("preempttype",)
"""Settings of Slurm that a plan does not go by: nobody is asked to give way."""


class Snapshot(NamedTuple):
    """A Slurm as it answered, at an instant of its own clock in seconds since 1970."""

    at_s: float
    version: Version
    site: SiteTables
    members: Members
    nodes: Mapping[str, NodeNow]
    jobs: Sequence[QueuedJob]


def snapshot_of(caller: Caller, patience: Patience, sleep: Callable[[float], object] = time.sleep) -> Snapshot:
    """Ask a Slurm for all that is decided by. InputError where it says what is not known, SlurmError where nothing."""
    version = version_of(ask(caller, ("scontrol", "--version"), patience, sleep))
    queue, nodes = ask_queue(), ask_nodes()
    jobs = queue_of_text(ask(caller, queue.command, patience, sleep), queue.mark)
    states = nodes_of_text(ask(caller, nodes.command, patience, sleep), nodes.mark)
    texts = {what: ask(caller, ("scontrol", "show", what), patience, sleep) for what in _SHOWN}
    shown = FORMS[0]
    imported = site_of_slurm(
        read_slurm([(Path(f"scontrol show {what}"), text, shown) for what, text in texts.items()]), "site"
    )
    kept = {key: value for key, value in imported.site.slurm.items() if key not in _NOT_PLANNED}
    site = replace(imported.site, slurm=kept)
    return Snapshot(_instant(texts["config"]), version, site, imported.members, states, jobs)


def _instant(text: str) -> float:
    """When Slurm says that it is, in UTC."""
    found = _AS_OF.search(text)
    if not found:
        raise InputError(
            Problem("scontrol show config", "does not tell the time", 'must begin with "Configuration data as of"')
        )
    return datetime.fromisoformat(found[1]).replace(tzinfo=UTC).timestamp()


# --- power --------------------------------------------------------------------------------------------------


def with_powers(
    tables: SiteTables, members: Members, powers: Sequence[PowerParameters], name: str, *, are_needed: bool
) -> tuple[SiteTables, Members]:
    """The site with what its nodes draw; groups whose nodes differ in that become several.

    InputError for what names no node and, where powers are needed, for nodes without any.
    """
    named = [set(row.names) for row in powers]
    rows = {
        node: next((at for at, row in enumerate(powers) if node in named[at] or row.feature in group.features), None)
        for group in tables.nodes
        for node in members[group.name]
    }
    raise_if_any(_power_problems(tables, powers, rows, name, are_needed=are_needed))
    groups, names, parts = list[NodeGroup](), dict[str, tuple[str, ...]](), dict[str, list[str]]()
    taken = {group.name for group in tables.nodes}
    for group in tables.nodes:
        alike: dict[int | None, list[str]] = {}
        for node in members[group.name]:
            alike.setdefault(rows[node], []).append(node)
        for number, (row, nodes) in enumerate(alike.items()):
            own = group.name if number == 0 else _free_name(group.name, taken)
            groups.append(_powered(replace(group, name=own, count=len(nodes)), None if row is None else powers[row]))
            names[own] = tuple(nodes)
            parts.setdefault(group.name, []).append(own)
    partitions = tuple(
        replace(each, nodes=tuple(own for name in each.nodes for own in parts[name])) for each in tables.partitions
    )
    return replace(tables, nodes=tuple(groups), partitions=partitions), names


def _free_name(stem: str, taken: set[str]) -> str:
    number = 2
    while f"{stem}-{number}" in taken:
        number += 1
    taken.add(f"{stem}-{number}")
    return f"{stem}-{number}"


def _powered(group: NodeGroup, power: PowerParameters | None) -> NodeGroup:
    """A group with what its nodes draw, as far as that is known."""
    if power is None:
        return group
    rates = {key: getattr(power, key) for key in ("idle_power_w", "core_power_w", "gpu_power_w")}
    return replace(group, **rates)


def _power_problems(
    tables: SiteTables,
    powers: Sequence[PowerParameters],
    rows: Mapping[str, int | None],
    name: str,
    *,
    are_needed: bool,
) -> Iterator[Problem]:
    features = list(dict.fromkeys(feature for group in tables.nodes for feature in group.features))
    for at, power in enumerate(powers):
        absent = [node for node in power.names if node not in rows]
        if absent:
            found, advice = f"found {compacted(absent)[:80]}", "scontrol show node shows them"
            yield Problem(f"{name}: power[{at}].nodes", found, "must be nodes of this Slurm", advice)
        if power.feature is not None and power.feature not in features:
            found, allowed = f"found {power.feature!r}", f"must be one of {', '.join(features) or 'none'}"
            yield Problem(f"{name}: power[{at}].feature", found, allowed)
    without = [node for node, row in rows.items() if row is None]
    if without and are_needed:
        found = f"does not tell what {compacted(without)[:80]} draw"
        yield Problem(f"{name}: power", found, "must be known where energy or power is limited", "add a [[power]]")
