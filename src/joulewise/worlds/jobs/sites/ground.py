"""From a described site to what jobs can be placed on: whole numbers of resources on nodes, by group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from joulewise.model.arrays import Counts
from joulewise.model.clusters import Clusters
from joulewise.model.kept import NOTHING_KEPT, KeptNodes
from joulewise.model.site import ANY_NUMBER, NodePower, Site
from joulewise.worlds.clock import NO_CLOCK, Clock
from joulewise.worlds.jobs.sites.passes import passes_of
from joulewise.worlds.jobs.sites.site import (
    CORES,
    GPUS,
    MEMORY_MIB,
    NodeGroup,
    Partition,
    SiteTables,
)
from joulewise.worlds.jobs.sites.slurm_settings import not_obeyed
from joulewise.worlds.jobs.trace_jobs import TraceFinding

OF_A_GPU = 1000
"""GPUs are counted in thousandths, as jobs may ask for a part of one."""

_MOST_NAMES = 6

_NOT_OF_PARTITIONS: Mapping[str, object] = {
    "preemption": None,
    "grace_s": 0.0,
}  # fmt: skip
"""What jobs are not held to of partitions, unless it is as usual."""

_OF_TIERS = ("partitions with preemption", "partitions with grace")
"""What counts of these where jobs give way by the tiers of partitions."""


def site_of(tables: SiteTables, clock: Clock = NO_CLOCK, kept: KeptNodes = NOTHING_KEPT) -> Site:
    """The site for jobs to be placed on, over a log with this clock."""
    groups, partitions = tables.nodes, tables.partitions
    names = resources_of(tables)
    return Site(
        names,
        tuple(group.name for group in groups),
        _counts([group.count for group in groups]),
        _counts([[has.get(name, 0) for name in names] for has in (_has(tables, group) for group in groups)]),
        _counts([group.weight for group in groups]),
        tuple(partition.name for partition in partitions),
        np.array([[group.name in partition.nodes for group in groups] for partition in partitions]),
        _counts([partition.tier for partition in partitions]),
        np.array([partition.sharing == "exclusive" for partition in partitions]),
        tuple(licence.name for licence in tables.licences),
        _counts([licence.count for licence in tables.licences]),
        passes_of(tables, clock),
        kept,
        power=_power(groups, names),
        requeues=tables.slurm.get("jobrequeue") is not False,
    )


def _power(groups: tuple[NodeGroup, ...], names: tuple[str, ...]) -> NodePower | None:
    """What nodes draw; None where it is not known."""
    if any(group.idle_power_w is None for group in groups):
        return None
    rates = [{CORES: group.core_power_w or 0.0, GPUS: (group.gpu_power_w or 0.0) / OF_A_GPU} for group in groups]
    return NodePower(
        np.array([group.idle_power_w for group in groups]),
        np.array([[rate.get(name, 0.0) for name in names] for rate in rates]),
    )


def with_partitions(tables: SiteTables) -> SiteTables:
    """A site with partitions: where it has none, one of all its nodes, which jobs share."""
    if tables.partitions:
        return tables
    everything = Partition(name="all", nodes=tuple(group.name for group in tables.nodes), default=True)
    return replace(tables, partitions=(everything,))


def clusters_of(tables: SiteTables) -> Clusters:
    """The processors of a site as one cluster."""
    n_cores = sum(group.count * group.cores for group in tables.nodes)
    return Clusters((tables.name,), np.array([n_cores]), np.array([1]), np.array([1]))


def resources_of(tables: SiteTables) -> tuple[str, ...]:
    """What is counted on nodes: processors, memory, GPUs, kinds of GPUs where nodes have several, and other things.

    A partition that may use a part of each node alone has its processors counted once more.
    """
    mixed = dict.fromkeys(kind for group in tables.nodes if len(group.gpus) > 1 for kind in group.gpus)
    others = dict.fromkeys(name for group in tables.nodes for name in group.other)
    capped = (capped_cores(partition) for partition in tables.partitions if partition.max_cores_per_node is not None)
    return tuple(dict.fromkeys((CORES, MEMORY_MIB, GPUS, *mixed, *others, *capped)))


def capped_cores(partition: Partition) -> str:
    """The resource that counts what the jobs of a partition have of a node."""
    return f"{CORES} of {partition.name}"


def _has(tables: SiteTables, group: NodeGroup) -> dict[str, int]:
    """What a node of a group has of each resource that it has."""
    kinds = {kind: OF_A_GPU * number for kind, number in group.gpus.items()}
    memory_mib = ANY_NUMBER if group.memory_mib is None else group.memory_mib
    counted = {CORES: group.cores, MEMORY_MIB: memory_mib, GPUS: sum(kinds.values())}
    caps = {capped_cores(each): min(each.max_cores_per_node or group.cores, group.cores) for each in tables.partitions}
    return {**group.other, **kinds, **counted, **caps}


def _counts(values: object) -> Counts:
    return np.array(values, np.int64)


def not_replayed(tables: SiteTables) -> list[TraceFinding]:
    """What a site has that its jobs are not held to, one finding for each."""
    found: list[tuple[str, list[str]]] = []
    for key, usual in _NOT_OF_PARTITIONS.items():
        names = [each.name for each in tables.partitions if getattr(each, key) != usual]
        found += [(f"partitions with {key.removesuffix('_s')}", names)] if names else []
    if str(tables.slurm.get("preempttype", "")).casefold().endswith("partition_prio"):
        found = [(what, names) for what, names in found if what not in _OF_TIERS]
    settings = not_obeyed(tables.slurm)
    found += [("settings of Slurm", settings)] if settings else []
    return [
        TraceFinding(f"not replayed: {what}", len(names), f"{what} of the site ({few(names)})", "not replayed", "lost")
        for what, names in found
    ]


def few(names: list[str]) -> str:
    """The first of some names."""
    return ", ".join(names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")
