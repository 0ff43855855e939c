"""What jobs may have together at a site while they run, or from when they come: as QOS, accounts and users say.

Of the qualities of service of a partition and of a job, the first that has a limit decides, that of the partition first
unless the job's goes `over_partition`. Where neither has it, those of the job's user and of all accounts above hold.
Jobs count for all of these, also where others decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import polars as pl

from joulewise.model.arrays import Bools, Counts, Floats
from joulewise.model.site import ANY_NUMBER, Limits
from joulewise.worlds.jobs.sites.associations import Associations
from joulewise.worlds.jobs.sites.ground import OF_A_GPU
from joulewise.worlds.jobs.sites.site import GPUS, Account, Qos, SiteTables, User

JOBS = "jobs"
_SCOPES = (("", None), ("_per_user", "user"), ("_per_account", "group"))
"""What the names of limits end with, and by which label of jobs these are counted."""

_NONE = -1


class Standing(NamedTuple):
    """What the limits of a job go by; its user is told only if it has limits of its own."""

    partition: int
    qos: str | None
    account: str | None
    user: str | None


class Standings(NamedTuple):
    """What the limits of jobs go by, each once, which of these each kind of jobs has, and the kind of each job.

    `labels` has the user and the account of each kind.
    """

    all: Sequence[Standing]
    of_kind: Sequence[int]
    labels: pl.DataFrame
    of_job: Counts

    def by_job(self, values: pl.Series) -> pl.Series:
        """What is told by standing, by job."""
        return values[np.array(self.of_kind, np.int64)][self.of_job]


class _Held(NamedTuple):
    """Limits that a job counts for: whose they are, by which label, on what and how much, and which of them bind it."""

    holder: str
    label: str | None
    most: Mapping[str, int]
    binding: frozenset[str]


_Source = Qos | Account | User
_Most = Callable[[_Source, str], Mapping[str, int]]
"""How much of what a scope of something that has limits may have."""


def limits_of(tables: SiteTables, log: pl.DataFrame, partition: pl.Series, uses: Sequence[Mapping[str, int]]) -> Limits:
    """The limits of a site on the running jobs of a log; `uses` says by class what a job has of everything."""
    return _limits(tables, log, partition, uses, _while_running)


def submissions_of(
    tables: SiteTables, log: pl.DataFrame, partition: pl.Series, uses: Sequence[Mapping[str, int]]
) -> Limits | None:
    """The limits of a site on jobs of a log that wait or run; None where it has none."""
    limits = _limits(tables, log, partition, uses, _from_submission)
    return limits if limits.names else None


def beyond(limits: Limits, come_s: Floats, gone_s: Floats) -> Bools:
    """Which jobs come when a holder of theirs has as many as it may, if jobs come and go at these instants.

    Of those that come at one instant the first in order do so before the others.
    """
    job, slot = np.nonzero(limits.holders >= 0)
    holder, n = limits.holders[job, slot].astype(np.int64), come_s.size
    order = np.argsort(come_s, kind="stable")
    rank, gone = np.empty(n, np.int64), np.searchsorted(come_s[order], gone_s, "left")  # who comes then sees it gone
    rank[order] = np.arange(n)
    seen = np.searchsorted(come_s[order], come_s, "right")
    first = holder * (n + 1)
    came, went = np.sort(first + rank[job]), np.sort(first + gone[job])
    n_come = np.searchsorted(came, first + rank[job], "left") - np.searchsorted(came, first, "left")
    n_gone = np.searchsorted(went, first + seen[job], "left") - np.searchsorted(went, first, "left")
    is_over = (slot < limits.n_binding) & (n_come - n_gone >= limits.most[holder, 0])
    found = np.zeros(n, np.bool_)
    found[job[is_over]] = True
    return found


def standings(tables: SiteTables, log: pl.DataFrame, partition: pl.Series) -> Standings:
    """What the limits of the jobs of a log go by."""
    associations = Associations(tables)
    frame = log.select(*(pl.col(name).cast(pl.String) for name in ("queue", "user", "group")))
    frame = frame.select(partition.alias("partition"), "queue", "user", "group")
    kinds = frame.unique(maintain_order=True).with_row_index("kind")
    of_job = frame.join(kinds, on=frame.columns, how="left", nulls_equal=True, maintain_order="left")["kind"]
    numbers: dict[Standing, int] = {}
    of_kind = []
    for _, number, qos, user, group in kinds.iter_rows():
        account = associations.account_of(group, user)
        own = user if (account or "", user or "") in associations.users else None
        of_kind.append(numbers.setdefault(Standing(number, qos, account, own), len(numbers)))
    return Standings(list(numbers), of_kind, kinds, of_job.to_numpy().astype(np.int64))


def _while_running(of: _Source, ending: str) -> Mapping[str, int]:
    limits = {JOBS: getattr(of, f"max_jobs{ending}", None), **getattr(of, f"max{ending}", {})}
    return {name: most for name, most in limits.items() if most is not None}


def _from_submission(of: _Source, ending: str) -> Mapping[str, int]:
    most = getattr(of, f"max_submitted{ending}", None)
    return {} if most is None else {JOBS: most}


def _limits(
    tables: SiteTables, log: pl.DataFrame, partition: pl.Series, uses: Sequence[Mapping[str, int]], most: _Most
) -> Limits:
    told = list[_Source]((*tables.qos, *tables.accounts, *tables.users))
    made, of_job = _Made(), np.zeros(log.height, np.int64)
    if any(most(of, ending) for of in told for ending, _ in _SCOPES):
        found, rules = standings(tables, log, partition), SiteLimits(tables)
        made = _Made.of(found, [list(rules.held(of, most)) for of in found.all])
        of_job = found.of_job
    what = made.what
    unit = np.array([unit_of(tables, name) for name in what], np.int64)
    amounts = [[limits.get(name, ANY_NUMBER) for name in what] for limits in made.most]
    return Limits(
        what,
        tuple(made.names),
        np.array(amounts, np.int64).reshape(len(amounts), len(what)) * unit,
        np.array([[use.get(name, 0) for name in what] for use in uses], np.int64).reshape(len(uses), len(what)),
        made.holders(of_job).astype(np.int32),
        made.n_counting,
    )


@dataclass(frozen=True)
class SiteLimits:
    """The limits of a site, and which of them a job has to do with."""

    tables: SiteTables
    associations: Associations = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "associations", Associations(self.tables))

    def qos_of(self, of: Standing) -> list[Qos]:
        """The qualities of service of a job, the first whose limits decide, each once."""
        by_name = {each.name: each for each in self.tables.qos}
        own, there = by_name.get(of.qos or ""), by_name.get(self.tables.partitions[of.partition].qos or "")
        order = (own, there) if own is not None and own.over_partition else (there, own)
        return list({each.name: each for each in order if each is not None}.values())

    def above(self, of: Standing) -> tuple[User | None, list[Account]]:
        """What is told of a job's user in its account, and of that and all accounts above; nothing if not known."""
        known, names = self.associations.accounts, self.associations.chain(of.account)
        user = self.associations.users.get((of.account or "", of.user or ""))
        return user, [known[name] for name in names if name in known]

    def held(self, of: Standing, most: _Most) -> Iterator[_Held]:
        """Everything that limits a job together with others, or that it counts for."""
        decided: dict[str, set[str]] = {ending: set() for ending, _ in _SCOPES}
        for qos in self.qos_of(of):
            for ending, label in _SCOPES:
                limits = most(qos, ending)
                yield _Held(qos.name, label, limits, frozenset(limits.keys() - decided[ending]))
                decided[ending] |= limits.keys()
        user, accounts = self.above(of)
        for account in accounts:
            limits = most(account, "")
            yield _Held(f"account/{account.name}", None, limits, frozenset(limits.keys() - decided[""]))
        if accounts:
            limits = self._of_each(user, accounts, most)
            binding = frozenset(limits.keys() - decided["_per_user"] - decided["_per_account"])
            yield _Held(f"account/{accounts[0].name}", "user", limits, binding)

    def _of_each(self, user: User | None, accounts: Sequence[Account], most: _Most) -> Mapping[str, int]:
        """The limits of one user: its own, or else those that the nearest account above has for each."""
        levels = [most(account, "_per_user") for account in reversed(accounts)]
        levels += [] if user is None else [most(user, "")]
        return {name: n for level in levels for name, n in level.items()}

    def of_one(self, of: Standing) -> Mapping[str, int]:
        """The most that a single job may have."""
        return {name: n for level in reversed(self._levels(of)) for name, n in level.max_per_job.items()}

    def longest_s(self, of: Standing) -> float | None:
        """The longest time limit of a job."""
        return next((level.max_time_s for level in self._levels(of) if level.max_time_s is not None), None)

    def _levels(self, of: Standing) -> Sequence[_Source]:
        """What has limits on a single job, the first that decides first."""
        user, accounts = self.above(of)
        return [*self.qos_of(of), *([] if user is None else [user]), *accounts]


class _Slot(NamedTuple):
    """A holder of jobs but for its user or account: limits on one `thing` or, where that is "", on all."""

    holder: str
    label: str | None
    thing: str
    most: Mapping[str, int]
    is_bound: bool


def _slots(held: _Held, is_parted: bool) -> list[_Slot]:
    """The holders of some limits: one for each thing, or one for all."""
    parts = {thing: {thing: n} for thing, n in held.most.items()} if is_parted else {"": held.most}
    return [_Slot(*held[:2], thing, most, most.keys() <= held.binding) for thing, most in parts.items()]


@dataclass
class _Made:
    """Holders while they are gathered, with what each may have, and by kind of jobs those that bind and only count."""

    names: list[str] = field(default_factory=list)
    most: list[Mapping[str, int]] = field(default_factory=list)
    rows: list[tuple[list[int], list[int]]] = field(default_factory=list)

    @staticmethod
    def of(standings: Standings, told: Sequence[Sequence[_Held]]) -> _Made:
        """The holders of kinds of jobs: one for all that is limited, or for each thing where not all of it binds."""
        every = [held for each in told for held in each]
        parted = {held[:2] for held in every if held.binding and len(held.binding) < len(held.most)}
        binds = {held[:2] for held in every if held.binding}
        slots = [
            [slot for held in each if held[:2] in binds for slot in _slots(held, held[:2] in parted)] for each in told
        ]
        made, numbers = _Made(), dict[tuple[str, str | None, str | None, str], int]()
        rows = zip(standings.of_kind, standings.labels["user"], standings.labels["group"], strict=True)
        for number, user, group in rows:
            binding, counting, values = list[int](), list[int](), {None: None, "user": user, "group": group}
            for holder, label, thing, most, is_bound in slots[number]:
                key = (holder, label, values[label], thing)
                at = numbers.setdefault(key, len(numbers))
                if at == len(made.names):
                    made.names.append("/".join(filter(None, key[:3])))
                    made.most.append(most)
                (binding if is_bound else counting).append(at)
            made.rows.append((binding, counting))
        return made

    @property
    def what(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for most in self.most for name in most))

    @property
    def n_counting(self) -> int:
        return max((len(counting) for _, counting in self.rows), default=0)

    def holders(self, of_job: Counts) -> Counts:
        """The holders of each job, those that bind it first."""
        n_binding = max((len(binding) for binding, _ in self.rows), default=0)
        table = np.full((max(len(self.rows), 1), n_binding + self.n_counting), _NONE)
        for row, (binding, counting) in enumerate(self.rows):
            table[row, : len(binding)] = binding
            table[row, n_binding : n_binding + len(counting)] = counting
        return table[of_job]


def unit_of(tables: SiteTables, name: str) -> int:
    """As how much one of a thing that is limited counts: GPUs are counted in parts."""
    return OF_A_GPU if name == GPUS or any(name in group.gpus for group in tables.nodes) else 1
