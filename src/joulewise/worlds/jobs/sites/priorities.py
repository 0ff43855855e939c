"""Priorities of the jobs of a log, as a Slurm with the settings and the accounts of a site gives them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from joulewise.model.arrays import Floats, Ints
from joulewise.model.shares import NOBODY, Priorities, ShareTree
from joulewise.worlds.jobs.logs import Part
from joulewise.worlds.jobs.sites.ground import few
from joulewise.worlds.jobs.sites.limits import unit_of
from joulewise.worlds.jobs.sites.site import CORES, GPUS, MEMORY_MIB, NODES, ROOT, Partition, SiteTables
from joulewise.worlds.jobs.sites.slurm_settings import (
    CLASSIC_SHARES,
    MAX_TRES,
    NO_NORMAL_PART,
    NO_NORMAL_QOS,
    NO_NORMAL_TRES,
    PRIORITY_WEIGHTS,
    SMALL_RELATIVE_TO_TIME,
    setting_of,
)
from joulewise.worlds.jobs.sites.slurm_values import our_name
from joulewise.worlds.jobs.trace_jobs import TraceFinding, TraceJobs

MIB_OF_A_GIB = 1024
_MINUTE_S = 60.0
_STEPS_OF_USE = 2.0**20
"""What is used each second is a multiple of one such part, so that sums of it are exact."""


class Ranking(NamedTuple):
    """What priorities go by: by job its class and partition, by class its nodes, what it asks for, and what it has."""

    of_job: Ints
    partition: Ints
    nodes: Sequence[int]
    asks: Sequence[Mapping[str, int]]
    uses: Sequence[Mapping[str, int]]


def priorities_of(tables: SiteTables, jobs: TraceJobs, ranking: Ranking, findings: list[TraceFinding]) -> Priorities:
    """What decides who comes first; jobs without a place in the tree of accounts are noted."""
    _note_unknown(tables, findings)
    tree = _Tree.of(tables)
    of_job = tree.rows_of(jobs.log, findings)
    half_life_s = setting_of(tables.slurm, "prioritydecayhalflife")
    return Priorities(
        tree.made(),
        of_job,
        _used_per_s(tables, ranking),
        {
            "size": _size(tables, jobs, ranking),
            "partition": _partition(tables, ranking),
            "qos": _qos(tables, jobs.log["queue"]),
            "tres": _tres(tables, ranking),
        },
        _weights(tables.slurm),
        not _has_flag(tables, *CLASSIC_SHARES),
        half_life_s or math.inf,
        setting_of(tables.slurm, "fairsharedampeningfactor") or 1.0,
        setting_of(tables.slurm, "prioritymaxage"),
        setting_of(tables.slurm, "prioritycalcperiod"),
    )


def _note_unknown(tables: SiteTables, findings: list[TraceFinding]) -> None:
    """Note weights of what the site does not count."""
    names = [name for name, thing, _ in _tres_weights(tables) if not thing]
    if names:
        reason = f"weights of things that the site does not count ({few(names)})"
        findings.append(TraceFinding("priorities: unknown things", len(names), reason, "left aside", "lost"))


def _weights(slurm: Mapping[str, Any]) -> dict[str, float]:
    """What each factor counts; nothing is said of any where the site has no setting for that."""
    if not (slurm.keys() & {*PRIORITY_WEIGHTS.values(), "priorityweighttres"}):
        return {}
    weights = {name: setting_of(slurm, key) for name, key in PRIORITY_WEIGHTS.items()}
    return {**weights, "tres": float(bool(slurm.get("priorityweighttres")))}


def _has_flag(tables: SiteTables, *flags: str) -> bool:
    given: Any = tables.slurm.get("priorityflags", ())
    return any(flag in given for flag in flags)


# --- factors of jobs -------------------------------------------------------------------------------------------------


def _size(tables: SiteTables, jobs: TraceJobs, ranking: Ranking) -> Floats:
    """How large jobs are: the mean of their shares of nodes and of processors, or of these and their time limit."""
    n_nodes = sum(group.count for group in tables.nodes)
    n_cores = sum(group.count * group.cores for group in tables.nodes)
    nodes = np.array(ranking.nodes, np.float64)[ranking.of_job]
    cores = np.array([ask[CORES] for ask in ranking.asks], np.float64)[ranking.of_job]
    if _has_flag(tables, SMALL_RELATIVE_TO_TIME):
        limit_min = np.maximum(np.ceil(jobs.requested_s / _MINUTE_S), 1.0)
        size = np.maximum(nodes / n_nodes, cores / n_cores) / limit_min
    else:
        size = (nodes / n_nodes + cores / n_cores) / 2.0
    return np.clip(1.0 - size if tables.slurm.get("priorityfavorsmall") else size, 0.0, 1.0)


def _partition(tables: SiteTables, ranking: Ranking) -> Floats:
    """The priorities of partitions, as parts of the highest."""
    own = np.array([each.priority for each in tables.partitions], np.float64)
    return _normal(own, is_raw=_has_flag(tables, *NO_NORMAL_PART))[ranking.partition]


def _qos(tables: SiteTables, qos: pl.Series) -> Floats:
    """The priorities of qualities of service, as parts of the highest; 0 for those that the site does not have."""
    own = np.array([each.priority for each in tables.qos], np.float64)
    factors = _normal(own, is_raw=_has_flag(tables, *NO_NORMAL_QOS)).tolist()
    values = {each.name: factor for each, factor in zip(tables.qos, factors, strict=True)}
    return qos.cast(pl.String).replace_strict(values, default=0.0, return_dtype=pl.Float64).fill_null(0.0).to_numpy()


def _normal(values: Floats, *, is_raw: bool) -> Floats:
    return values if is_raw else values / max(values.max(initial=0.0), 1.0)


def _tres(tables: SiteTables, ranking: Ranking) -> Floats:
    """What jobs ask for, each thing as a part of what their partition has of it, times its weight."""
    weights, is_raw = _tres_weights(tables), _has_flag(tables, *NO_NORMAL_TRES)
    by_class = np.zeros((len(tables.partitions), len(ranking.asks)))
    for p, partition in enumerate(tables.partitions):
        has = _amounts_of(tables, partition)
        for _, thing, weight in weights:
            whole = unit_of(tables, thing) if is_raw else has.get(thing, 0)
            if whole:
                by_class[p] += [weight * ask.get(thing, 0) / whole for ask in ranking.asks]
    return by_class[ranking.partition, ranking.of_job]


def _tres_weights(tables: SiteTables) -> list[tuple[str, str, float]]:
    """What has a weight, as Slurm calls it and as the site does, and which."""
    weights: Any = tables.slurm.get("priorityweighttres", {})
    ours = {name.casefold(): name for partition in tables.partitions for name in _amounts_of(tables, partition)}
    return [(name, ours.get(our_name(name).casefold(), ""), weight) for name, weight in weights.items()]


def _amounts_of(tables: SiteTables, partition: Partition) -> dict[str, int]:
    """How much of everything a partition has, GPUs in parts; licences are those of the site."""
    has = {licence.name: licence.count for licence in tables.licences}
    for group in tables.nodes:
        if group.name in partition.nodes:
            of_node = {CORES: group.cores, NODES: 1, MEMORY_MIB: group.memory_mib or 0, GPUS: sum(group.gpus.values())}
            for name, n in {**of_node, **group.gpus, **group.other}.items():
                has[name] = has.get(name, 0) + n * group.count * unit_of(tables, name)
    return has


def _used_per_s(tables: SiteTables, ranking: Ranking) -> Floats:
    """What a second of each job counts: its processors, or what its partition bills."""
    used = np.array([use[CORES] for use in ranking.uses], np.float64)[ranking.of_job]
    licences = {licence.name for licence in tables.licences}
    for p, partition in enumerate(tables.partitions):
        if partition.billing:
            billed = [_billed(tables, partition, use, licences) for use in ranking.uses]
            here = ranking.partition == p
            used[here] = np.array(billed)[ranking.of_job[here]]
    return np.round(np.maximum(used, 0.0) * _STEPS_OF_USE) / _STEPS_OF_USE


def _billed(tables: SiteTables, partition: Partition, use: Mapping[str, int], licences: set[str]) -> float:
    """What a partition bills for what a job has; by the dearest thing of nodes alone where Slurm is told so."""
    parts: dict[bool, list[float]] = {True: [], False: [0.0]}
    for name, weight in partition.billing.items():
        unit = MIB_OF_A_GIB if name == MEMORY_MIB else unit_of(tables, name)
        parts[name in licences].append(weight * use.get(name, 0) / unit)
    on_nodes = max(parts[False]) if _has_flag(tables, MAX_TRES) else sum(parts[False])
    return on_nodes + sum(parts[True])


# --- the tree of accounts --------------------------------------------------------------------------------------------

_NO_SHARE = "they have none, and what they use counts for nobody"


class _Odd(NamedTuple):
    """What is odd about the accounts of jobs, what is done, and which part of a log's oddities that is."""

    reason: str
    done: str
    part: Part


_NO_ACCOUNT = _Odd("jobs without an account", _NO_SHARE, "lost")
_ONLY_ACCOUNT = _Odd("jobs without an account whose user has one alone", "taken as of that", "guessed")
_UNKNOWN_ACCOUNT = _Odd("jobs of accounts that the site does not have", _NO_SHARE, "lost")
_NEW_USER = _Odd("jobs of users that their account does not have", "these get one share in it", "guessed")


@dataclass
class _Tree:
    """Accounts and users while the tree is made; `row_of` tells where an account, or a user of one, is."""

    names: list[str]
    parent: list[int]
    shares: list[int]
    row_of: dict[tuple[str, str | None], int]
    accounts_of: dict[str, list[str]] = field(default_factory=dict)
    is_flat: bool = False

    @staticmethod
    def of(tables: SiteTables) -> _Tree:
        """The tree as the site has it."""
        tree = _Tree([ROOT], [NOBODY], [1], {(ROOT, None): 0}, is_flat=not tables.accounts)
        for account in _from_the_root(tables):
            if account.name != ROOT:
                tree.add(account.name, None, account.parent or ROOT, account.shares)
        for account in tables.accounts:
            for user, shares in account.users.items():
                tree.add(account.name, user, account.name, shares)
        return tree

    def add(self, account: str, user: str | None, parent: str, shares: int) -> int:
        """A row for an account, or for a user of one."""
        row = self.row_of[account, user] = len(self.names)
        self.names.append(account if user is None else f"{account}/{user}")
        self.parent.append(self.row_of[parent, None])
        self.shares.append(shares)
        if user is not None:
            self.accounts_of.setdefault(user, []).append(account)
        return row

    def made(self) -> ShareTree:
        is_user = np.zeros(len(self.names), np.bool_)
        is_user[[row for (_, user), row in self.row_of.items() if user is not None]] = True
        return ShareTree(tuple(self.names), np.array(self.parent), np.array(self.shares), is_user)

    def rows_of(self, log: pl.DataFrame, findings: list[TraceFinding]) -> Ints:
        """The row of each job; what is odd about that is noted."""
        frame = log.select(account=pl.col("group").cast(pl.String), user=pl.col("user").cast(pl.String))
        pairs = frame.unique(maintain_order=True).with_row_index("pair")
        of_job = frame.join(pairs, on=["account", "user"], how="left", nulls_equal=True, maintain_order="left")["pair"]
        told: dict[_Odd, list[int]] = {}
        rows = []
        for pair, account, user in pairs.iter_rows():
            row, odd = self.row(account, user)
            rows.append(row)
            if odd:
                told.setdefault(odd, []).append(pair)
        for (reason, done, part), odd_pairs in told.items():
            names = few(list(dict.fromkeys(self._name(*pairs.row(pair)[1:]) for pair in odd_pairs)))
            n = int(of_job.is_in(odd_pairs).sum())
            findings.append(TraceFinding(f"fair shares: {reason}", n, f"{reason} ({names})", done, part))
        return np.asarray(np.array(rows, np.int32)[of_job.to_numpy()])

    def row(self, account: str | None, user: str | None) -> tuple[int, _Odd | None]:
        """Where a user of an account is, and what is odd about that."""
        name, odd = user or "", None
        if self.is_flat:
            account = ROOT
        elif account is None:
            possible = self.accounts_of.get(name, [])
            if len(possible) != 1:
                return NOBODY, _NO_ACCOUNT
            account, odd = possible[0], _ONLY_ACCOUNT
        if (account, None) not in self.row_of:
            return NOBODY, _UNKNOWN_ACCOUNT
        if (account, name) in self.row_of:
            return self.row_of[account, name], odd
        return self.add(account, name, account, 1), None if self.is_flat else _NEW_USER

    def _name(self, account: str | None, user: str | None) -> str:
        return "/".join(filter(None, (account, user))) or "of nobody"


def _from_the_root(tables: SiteTables) -> Iterator[Any]:
    """Accounts, each behind what it is a part of."""
    below: dict[str, list[Any]] = {}
    for account in tables.accounts:
        if account.name != ROOT:
            below.setdefault(account.parent or ROOT, []).append(account)
    waiting = [ROOT]
    while waiting:
        parts = below.get(waiting.pop(0), [])
        yield from parts
        waiting += [account.name for account in parts]
