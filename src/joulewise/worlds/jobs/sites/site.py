"""What a site is: groups of nodes, partitions, licences, qualities of service, accounts and reservations.

Times are in seconds and memory in MiB. Whatever a site leaves open is None or empty: it limits nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

ROOT = "root"
"""The account of which all others are a part."""

SHARINGS = ("shared", "exclusive")
PARTITION_STATES = ("up", "down", "drain", "inactive")
PREEMPTIONS = ("off", "requeue", "suspend", "cancel")

CORES, NODES, GPUS, MEMORY_MIB = "cores", "nodes", "gpus", "memory_mib"
"""What is limited everywhere; beside these, kinds of GPUs, other things of nodes, and licences have their own names."""

Amounts: TypeAlias = Mapping[str, int]
"""How much of what: `CORES`, `NODES`, `GPUS` of all kinds together, `MEMORY_MIB`, or the name of a thing that a site
has."""

Instant: TypeAlias = float | datetime
"""Seconds after the first submission of a log; or an instant of the calendar, without a zone by the clock of the log."""

Setting: TypeAlias = bool | int | float | str | tuple[str, ...]


def _key(kind: str, text: str, default: Any = None) -> Any:
    """A key of a table with a default; `kind` says how it is written."""
    return field(default=default, metadata={"kind": kind, "help": text})


def _many(kind: str, text: str) -> Any:
    """A key of a table that holds names with numbers, none where it is left out."""
    return field(default_factory=dict, metadata={"kind": kind, "help": text})


def _must(kind: str, text: str) -> Any:
    """A key that each table must have."""
    return field(metadata={"kind": kind, "help": text})


@dataclass(frozen=True, kw_only=True)
class NodeGroup:
    """Nodes that are alike. `gpus` are those of a node, by kind; `other` are other things that are counted on it.

    `memory_mib` is None where memory is not counted.
    """

    name: str = _must("name", "name of the group, which partitions and reservations use")
    count: int = _must("count", "number of its nodes")
    cores: int = _key("count", "processors of a node, as the site's scheduler counts them", 1)
    memory_mib: int | None = _key("memory", "memory of a node that jobs may have; not counted if left out")
    gpus: Mapping[str, int] = _many("things", "GPUs of a node by kind; {gpu = 4} where no kind is known")
    other: Mapping[str, int] = _many("things", "other things that are counted on a node, by name")
    features: tuple[str, ...] = _key("names", "what jobs may ask for by name", ())
    weight: int = _key("number", "groups of a lower weight are taken first", 1)


@dataclass(frozen=True, kw_only=True)
class Partition:
    """Nodes under one set of limits. `nodes` names groups; None is no limit.

    `accounts` and `qos_of_jobs` name who may use it: all where they are empty. `qos` names the quality of service whose
    limits hold for the partition as a whole.
    """

    name: str = _must("name", "name of the partition, as jobs name it")
    nodes: tuple[str, ...] = _must("names", "names of its groups of nodes; a group may be in several partitions")
    default: bool = _key("flag", "whether jobs come here that name no partition", False)
    state: str = _key("state", "up; down: no job starts; drain: no job is taken; inactive: neither", "up")
    tier: int = _key("number", "on shared nodes, jobs of a higher tier come first", 1)
    priority: int = _key("number", "what the weight of partitions is multiplied by, against the largest", 1)
    sharing: str = _key("sharing", "shared: jobs get processors; exclusive: whole nodes", "shared")
    max_time_s: float | None = _key("time", "longest time limit of a job")
    default_time_s: float | None = _key("time", "time limit of jobs that ask for none; max_time if left out")
    min_nodes: int = _key("number", "fewest nodes of a job", 0)
    max_nodes: int | None = _key("count", "most nodes of a job")
    max_cores_per_node: int | None = _key("count", "most processors of a node that jobs of this partition may have")
    qos: str | None = _key("name", "quality of service whose limits hold for all jobs here together")
    accounts: tuple[str, ...] = _key("names", "accounts that may use it; all if left out", ())
    qos_of_jobs: tuple[str, ...] = _key("names", "qualities of service that may use it; all if left out", ())
    preemption: str | None = _key(
        "preemption", "what becomes of its jobs when they give way; as [slurm] says if left out"
    )
    grace_s: float = _key("time from 0", "time that a job which gives way still has", 0.0)


@dataclass(frozen=True, kw_only=True)
class Licence:
    """A thing that is counted for the whole site."""

    name: str = _must("name", "name of the licence")
    count: int = _must("count", "how many there are")


@dataclass(frozen=True, kw_only=True)
class Qos:
    """A quality of service: what its jobs may have, all together (`max_jobs`, `max`), each user, account or job.

    None, and amounts that are left out, are no limits.
    """

    name: str = _must("name", "name of the quality of service")
    priority: int = _key("number", "what the weight of QOS is multiplied by, against the largest", 0)
    max_time_s: float | None = _key("time", "longest time limit of a job")
    max_jobs: int | None = _key("count", "most jobs that run, all together")
    max_jobs_per_user: int | None = _key("count", "most jobs of a user that run")
    max_jobs_per_account: int | None = _key("count", "most jobs of an account that run")
    max_submitted: int | None = _key("count", "most jobs that run or wait, all together")
    max_submitted_per_user: int | None = _key("count", "most jobs of a user that run or wait")
    max_submitted_per_account: int | None = _key("count", "most jobs of an account that run or wait")
    max: Amounts = _many("amounts", "most that its running jobs have, all together")
    max_per_user: Amounts = _many("amounts", "most that the running jobs of a user have")
    max_per_account: Amounts = _many("amounts", "most that the running jobs of an account have")
    max_per_job: Amounts = _many("amounts", "most that a job may have")
    preempts: tuple[str, ...] = _key("names", "qualities of service whose jobs give way to those of this one", ())
    preemption: str | None = _key(
        "preemption", "what becomes of its jobs when they give way; as [slurm] says if left out"
    )
    grace_s: float = _key("time from 0", "time that a job which gives way still has", 0.0)


@dataclass(frozen=True, kw_only=True)
class Account:
    """A part of another account, with its shares of what that one gets; `users` are its leaves, with theirs.

    The account `ROOT` is there without being written; if it is, it has no parent.
    """

    name: str = _must("name", "name of the account")
    parent: str | None = _key("name", f"account that it is a part of; {ROOT!r} if left out")
    shares: int = _key("number", "its shares among the parts and users of its parent", 1)
    users: Mapping[str, int] = _many("shares", "its users with their shares")


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """Nodes that are kept from `start` to `end` for jobs of these users and accounts; for nobody if there are none."""

    name: str = _must("name", "name of the reservation")
    start: Instant = _must("instant", 'when it begins: "2026-03-01T09:00", or a time after the first submission, "2 h"')
    end: Instant = _must("instant", "when it ends, in the same way")
    nodes: Mapping[str, int] = _must("things", "numbers of nodes, by group")
    users: tuple[str, ...] = _key("names", "users whose jobs may have them", ())
    accounts: tuple[str, ...] = _key("names", "accounts whose jobs may have them", ())


@dataclass(frozen=True, kw_only=True)
class Site:
    """A site as it stands in a file. `slurm` holds settings of its scheduler, under Slurm's own names in lower case."""

    name: str
    nodes: tuple[NodeGroup, ...]
    partitions: tuple[Partition, ...] = ()
    licences: tuple[Licence, ...] = ()
    qos: tuple[Qos, ...] = ()
    accounts: tuple[Account, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    slurm: Mapping[str, Setting] = field(default_factory=dict)
