"""What a site is: groups of nodes, partitions, licences, qualities of service, accounts and reservations.

Times are in seconds and memory in MiB. Whatever a site leaves open is None or empty: it limits nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

ROOT = "root"
"""The account of which all others are a part."""

DENIED = "-"
"""What is before names of those who may not have something."""

SHARINGS = ("shared", "exclusive")
PARTITION_STATES = ("up", "down", "drain", "inactive")
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
PREEMPTIONS = ("off", "requeue", "suspend", "cancel")

CORES, NODES, GPUS, MEMORY_MIB = "cores", "nodes", "gpus", "memory_mib"
"""What is limited everywhere; beside these, kinds of GPUs, other things of nodes, and licences have their own names."""

Amounts: TypeAlias = Mapping[str, int]
"""How much of what: `CORES`, `NODES`, `GPUS` of all kinds together, `MEMORY_MIB`, or the name of a thing that a site
has."""

Instant: TypeAlias = float | datetime
"""Seconds after the first submission of a log; or an instant, by the clock of the log where it has no zone."""

Setting: TypeAlias = bool | int | float | str | tuple[str, ...] | Mapping[str, float]
"""Times are in seconds."""


def _is(kind: str, text: str) -> dict[str, str]:
    """What is known of a key of a table: how it is written, and what it means."""
    return {"kind": kind, "help": text}


@dataclass(frozen=True, kw_only=True)
class NodeGroup:
    """Nodes that are alike. `gpus` are those of a node, by kind; `other` are other things that are counted on it.

    `memory_mib` is None where memory is not counted.
    """

    name: str = field(metadata=_is("name", "name of the group, which partitions and reservations use"))
    count: int = field(metadata=_is("count", "number of its nodes"))
    cores: int = field(default=1, metadata=_is("count", "processors of a node, as the site's scheduler counts them"))
    memory_mib: int | None = field(
        default=None, metadata=_is("memory", "memory of a node that jobs may have; not counted if left out")
    )
    gpus: Mapping[str, int] = field(
        default_factory=dict, metadata=_is("things", "GPUs of a node by kind; {gpu = 4} where no kind is known")
    )
    other: Mapping[str, int] = field(
        default_factory=dict, metadata=_is("things", "other things that are counted on a node, by name")
    )
    features: tuple[str, ...] = field(default=(), metadata=_is("names", "what jobs may ask for by name"))
    weight: int = field(default=1, metadata=_is("number", "groups of a lower weight are taken first"))
    idle_power_w: float | None = field(
        default=None, metadata=_is("power", "what a node draws without a job; not known if left out")
    )
    core_power_w: float | None = field(
        default=None, metadata=_is("power", "what it draws more for each processor that jobs have")
    )
    gpu_power_w: float | None = field(
        default=None, metadata=_is("power", "what it draws more for each GPU that jobs have, of whatever kind")
    )


@dataclass(frozen=True, kw_only=True)
class Partition:
    """Nodes under one set of limits. `nodes` names groups; None is no limit.

    `accounts` and `qos_of_jobs` name who may use it: all where they are empty, but for those who are denied. `qos`
    names the quality of service whose limits hold for the partition as a whole.
    """

    name: str = field(metadata=_is("name", "name of the partition, as jobs name it"))
    nodes: tuple[str, ...] = field(
        metadata=_is("names", "names of its groups of nodes; a group may be in several partitions")
    )
    default: bool = field(default=False, metadata=_is("flag", "whether jobs come here that name no partition"))
    state: str = field(
        default="up", metadata=_is("state", "up; down: no job starts; drain: no job is taken; inactive: neither")
    )
    open: tuple[str, ...] = field(
        default=(),
        metadata=_is("hours", 'hours at which it is up, by the clock of the log: ["Mon-Fri 18:00-08:00", "Sat-Sun"]'),
    )
    closed: str = field(
        default="down", metadata=_is("state", "its state at all other hours, if it has some at which it is open")
    )
    tier: int = field(default=1, metadata=_is("number", "on shared nodes, jobs of a higher tier come first"))
    priority: int = field(
        default=1, metadata=_is("number", "what the weight of partitions is multiplied by, against the largest")
    )
    sharing: str = field(
        default="shared", metadata=_is("sharing", "shared: jobs get processors; exclusive: whole nodes")
    )
    max_time_s: float | None = field(default=None, metadata=_is("time", "longest time limit of a job"))
    default_time_s: float | None = field(
        default=None, metadata=_is("time", "time limit of jobs that ask for none; max_time if left out")
    )
    min_nodes: int = field(default=0, metadata=_is("number", "fewest nodes of a job"))
    max_nodes: int | None = field(default=None, metadata=_is("limit", "most nodes of a job"))
    max_cores_per_node: int | None = field(
        default=None, metadata=_is("limit", "most processors of a node that jobs of this partition may have")
    )
    qos: str | None = field(
        default=None, metadata=_is("name", "quality of service whose limits hold for all jobs here together")
    )
    accounts: tuple[str, ...] = field(
        default=(), metadata=_is("names", "accounts that may use it, with their parts; all if left out")
    )
    denied_accounts: tuple[str, ...] = field(
        default=(), metadata=_is("names", "accounts that may not use it, with their parts")
    )
    qos_of_jobs: tuple[str, ...] = field(
        default=(), metadata=_is("names", "qualities of service that may use it; all if left out")
    )
    denied_qos: tuple[str, ...] = field(default=(), metadata=_is("names", "qualities of service that may not use it"))
    preemption: str | None = field(
        default=None, metadata=_is("preemption", "what becomes of its jobs that give way; as [slurm] says if left out")
    )
    grace_s: float = field(default=0.0, metadata=_is("time from 0", "time that a job which gives way still has"))
    billing: Mapping[str, float] = field(
        default_factory=dict,
        metadata=_is(
            "billing",
            "what a second of its jobs counts as used: for each processor, GPU, GiB of memory, ...; left out: one for "
            "each processor",
        ),
    )


@dataclass(frozen=True, kw_only=True)
class Licence:
    """A thing that is counted for the whole site."""

    name: str = field(metadata=_is("name", "name of the licence"))
    count: int = field(metadata=_is("count", "how many there are"))


@dataclass(frozen=True, kw_only=True)
class Qos:
    """A quality of service: what its jobs may have, all together (`max_jobs`, `max`), each user, account or job.

    None, and amounts that are left out, are no limits.
    """

    name: str = field(metadata=_is("name", "name of the quality of service"))
    priority: int = field(
        default=0, metadata=_is("number", "what the weight of QOS is multiplied by, against the largest")
    )
    max_time_s: float | None = field(default=None, metadata=_is("time", "longest time limit of a job"))
    max_jobs: int | None = field(default=None, metadata=_is("limit", "most jobs that run, all together"))
    max_jobs_per_user: int | None = field(default=None, metadata=_is("limit", "most jobs of a user that run"))
    max_jobs_per_account: int | None = field(default=None, metadata=_is("limit", "most jobs of an account that run"))
    max_submitted: int | None = field(default=None, metadata=_is("limit", "most jobs that run or wait, all together"))
    max_submitted_per_user: int | None = field(
        default=None, metadata=_is("limit", "most jobs of a user that run or wait")
    )
    max_submitted_per_account: int | None = field(
        default=None, metadata=_is("limit", "most jobs of an account that run or wait")
    )
    max: Amounts = field(default_factory=dict, metadata=_is("amounts", "most that its running jobs have, all together"))
    max_per_user: Amounts = field(
        default_factory=dict, metadata=_is("amounts", "most that the running jobs of a user have")
    )
    max_per_account: Amounts = field(
        default_factory=dict, metadata=_is("amounts", "most that the running jobs of an account have")
    )
    max_per_job: Amounts = field(default_factory=dict, metadata=_is("amounts", "most that a job may have"))
    preempts: tuple[str, ...] = field(
        default=(), metadata=_is("names", "qualities of service whose jobs give way to those of this one")
    )
    preemption: str | None = field(
        default=None, metadata=_is("preemption", "what becomes of its jobs that give way; as [slurm] says if left out")
    )
    grace_s: float = field(default=0.0, metadata=_is("time from 0", "time that a job which gives way still has"))
    over_partition: bool = field(
        default=False,
        metadata=_is("flag", "whether its limits come before those of the partition's QOS, as OverPartQOS has it"),
    )


@dataclass(frozen=True, kw_only=True)
class Account:
    """A part of another account, with its shares of what that one gets; `users` are its leaves, with theirs.

    `max_jobs`, `max_submitted` and `max` limit what it has together with all its parts. The other limits hold for each
    of its users, and for those of its parts that have none of their own. The account `ROOT` is there without being
    written; if it is, it has no parent.
    """

    name: str = field(metadata=_is("name", "name of the account"))
    parent: str | None = field(
        default=None, metadata=_is("name", f"account that it is a part of; {ROOT!r} if left out")
    )
    shares: int = field(default=1, metadata=_is("number", "its shares among the parts and users of its parent"))
    users: Mapping[str, int] = field(default_factory=dict, metadata=_is("shares", "its users with their shares"))
    max_jobs: int | None = field(default=None, metadata=_is("limit", "most jobs that run, of it and its parts"))
    max_submitted: int | None = field(
        default=None, metadata=_is("limit", "most jobs that run or wait, of it and its parts together")
    )
    max: Amounts = field(
        default_factory=dict, metadata=_is("amounts", "most that running jobs of it and its parts have together")
    )
    max_jobs_per_user: int | None = field(default=None, metadata=_is("limit", "most jobs of each user that run"))
    max_submitted_per_user: int | None = field(
        default=None, metadata=_is("limit", "most jobs of each user that run or wait")
    )
    max_per_job: Amounts = field(default_factory=dict, metadata=_is("amounts", "most that a job may have"))
    max_time_s: float | None = field(default=None, metadata=_is("time", "longest time limit of a job"))


@dataclass(frozen=True, kw_only=True)
class User:
    """A user with limits of its own in an account, which take the place of those that the account has for each user."""

    name: str = field(metadata=_is("name", "name of the user"))
    account: str = field(metadata=_is("name", "account in which the limits hold"))
    max_jobs: int | None = field(default=None, metadata=_is("limit", "most jobs that run"))
    max_submitted: int | None = field(default=None, metadata=_is("limit", "most jobs that run or wait"))
    max: Amounts = field(default_factory=dict, metadata=_is("amounts", "most that the running jobs have"))
    max_per_job: Amounts = field(default_factory=dict, metadata=_is("amounts", "most that a job may have"))
    max_time_s: float | None = field(default=None, metadata=_is("time", "longest time limit of a job"))


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """Nodes that are kept from `start` to `end` for jobs of these users and accounts; for nobody if there are none.

    Where it names both, a job must be of both. Names with a minus before them are those of who may not have them.
    """

    name: str = field(metadata=_is("name", "name of the reservation"))
    start: Instant = field(
        metadata=_is("instant", 'when it begins: "2026-03-01T09:00", or a time after the first submission, "2 h"')
    )
    end: Instant = field(metadata=_is("instant", "when it ends, in the same way"))
    nodes: Mapping[str, int] = field(metadata=_is("things", "numbers of nodes, by group"))
    users: tuple[str, ...] = field(default=(), metadata=_is("names", 'users who may have them; ["-ann"]: all but her'))
    accounts: tuple[str, ...] = field(
        default=(),
        metadata=_is("names", 'accounts, with their parts, that may have them; ["-lab"]: all but it'),
    )


@dataclass(frozen=True, kw_only=True)
class SiteTables:
    """A site as it stands in a file. `slurm` holds settings of its scheduler, under Slurm's own names in lower case."""

    name: str
    nodes: tuple[NodeGroup, ...]
    partitions: tuple[Partition, ...] = ()
    licences: tuple[Licence, ...] = ()
    qos: tuple[Qos, ...] = ()
    accounts: tuple[Account, ...] = ()
    users: tuple[User, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    slurm: Mapping[str, Setting] = field(default_factory=dict)
