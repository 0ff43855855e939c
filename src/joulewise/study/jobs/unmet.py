"""Names in the file of a site that no job of the log is of, and what jobs of a log ask for that the site lacks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, NamedTuple

from joulewise.errors import Problem
from joulewise.study.jobs.sources import SITE
from joulewise.study.jobs.worlds import Scene
from joulewise.study.spec.parts import WorldParts
from joulewise.study.spec.source import Draw
from joulewise.units import count, noun

if TYPE_CHECKING:
    from joulewise.model.jobs import JobWorld
    from joulewise.worlds.jobs.sites.site import Account, Qos, SiteTables, User

_WHERE = "system.site"
_CHECK = "see whether the log writes them in another way"
_FEW_PERCENT = 5
"""A counted window in which fewer of the jobs are submitted is worth a word."""


class _Met(NamedTuple):
    """The accounts of which jobs of a log are, with all of which these are parts; their users, pairs of both, and QOS.

    Each is None where the log does not tell it of any job.
    """

    accounts: Collection[str] | None
    users: Collection[str] | None
    pairs: Collection[tuple[str, str]] | None
    qos: Collection[str] | None


def names_without_jobs(parts: WorldParts, scene: Scene, draw: Draw) -> Iterator[Problem]:
    """Accounts, users and QOS with limits, on lists and of reservations, of which no job of the log is."""
    from joulewise.worlds.jobs.sites.site_file import read_site

    if parts.system.source != SITE or scene.trace is None:
        return
    tables = read_site(parts.system.parameters.site, draw.folder)
    met = _met(tables, scene.world)
    yield from _limits_without_jobs(tables, met)
    yield from _lists_without_jobs(tables, met)


def licences_not_counted(scene: Scene) -> Iterator[Problem]:
    """Licences that jobs of a log ask for and their site does not have."""
    from joulewise.worlds.jobs.sites.demands import ABSENT_LICENCES

    for finding in () if scene.trace is None else scene.trace.findings:
        if finding.key == ABSENT_LICENCES:
            yield Problem(_WHERE, f"found {finding.n:,} {finding.reason}", finding.done, "write a [[licence]] for each")


def jobs_outside_window(scene: Scene) -> Iterator[Problem]:
    """That hardly any job of a log is submitted in the counted window, so that all means are of these few."""
    work = scene.world.jobs.work
    n = int(((work.arrival_s >= work.start_s) & (work.arrival_s <= work.end_s)).sum())
    if scene.trace is not None and 100 * n < _FEW_PERCENT * work.n_tasks:
        found = f"found a counted window in which {n:,} of {count(work.n_tasks, 'job')} {noun(n, 'comes', 'come')}"
        advice = "see whether they are times after the first submission"
        yield Problem("workload.start and workload.end", found, "waits are told of these alone", advice)


def _met(tables: SiteTables, world: JobWorld) -> _Met:
    from joulewise.worlds.jobs.sites.associations import Associations

    associations = Associations(tables)
    told = {name: _named(world, name) for name in ("group", "user", "queue")}
    pairs = {
        (account, user or "")
        for group, user in set(zip(told["group"], told["user"], strict=True))
        if (account := associations.account_of(group, user)) is not None
    }
    return _Met(
        {name for account, _ in pairs for name in associations.chain(account)} if pairs else None,
        {name for name in told["user"] if name is not None} or None,
        pairs or None,
        {name for name in told["queue"] if name is not None} or None,
    )


def _named(world: JobWorld, name: str) -> Sequence[str | None]:
    """The user, group or queue of each job; None where that is not known."""
    label = world.jobs.labels.get(name)
    if label is None:
        return [None] * world.n_jobs
    return [label.names[code] if code >= 0 else None for code in label.codes.tolist()]


def _limits_without_jobs(tables: SiteTables, met: _Met) -> Iterator[Problem]:
    """Limits that hold nobody; those of the QOS of a partition hold its jobs."""
    of_partitions = {partition.qos for partition in tables.partitions}
    qos = [each.name for each in tables.qos if _limits(each) and each.name not in of_partitions]
    accounts = [each.name for each in tables.accounts if _limits(each)]
    pairs = [(each.account, each.name) for each in tables.users if _limits(each)]
    lost_users = [f"{user} of {account}" for account, user in pairs if (account, user) not in (met.pairs or ())]
    for word, names, is_told in (
        ("account", _without(accounts, met.accounts), met.accounts is not None),
        ("user", lost_users, met.pairs is not None),
        ("QOS", _without(qos, met.qos), met.qos is not None),
    ):
        if names:
            yield _unmet(word, names, "has limits", "have limits", "they hold nobody", is_told=is_told)


def _lists_without_jobs(tables: SiteTables, met: _Met) -> Iterator[Problem]:
    """Names of those who are denied, and of those for whom nodes are reserved."""
    from joulewise.worlds.jobs.sites.site import DENIED

    denied, kept = "partitions are closed to", "reservations are for"
    reserved = tables.reservations
    for word, what, written, known in (
        ("account", denied, [name for each in tables.partitions for name in each.denied_accounts], met.accounts),
        ("QOS", denied, [name for each in tables.partitions for name in each.denied_qos], met.qos),
        ("account", kept, [name.removeprefix(DENIED) for each in reserved for name in each.accounts], met.accounts),
        ("user", kept, [name.removeprefix(DENIED) for each in reserved for name in each.users], met.users),
    ):
        names = _without(written, known)
        if names:
            said = f"that {what}"
            yield _unmet(
                word,
                names,
                said,
                said,
                "naming it changes nothing" if len(names) == 1 else "naming them changes nothing",
                is_told=known is not None,
            )


def _without(names: Sequence[str], met: Collection[str] | None) -> list[str]:
    return [name for name in dict.fromkeys(names) if name not in (met or ())]


def _unmet(word: str, names: list[str], one: str, several: str, so: str, *, is_told: bool) -> Problem:
    from joulewise.worlds.jobs.sites.ground import few

    n, plural = len(names), word if word == "QOS" else f"{word}s"
    said = one if one.startswith("that") else f"that {noun(n, one, several)}"
    why = f"no job of the log is of {noun(n, 'it', 'them')}" if is_told else f"the log tells no {word} of its jobs"
    advice = _CHECK if is_told else ""
    return Problem(_WHERE, f"found {noun(n, word, plural)} {said} ({few(names)})", f"{why}: {so}", advice)


def _limits(of: Account | Qos | User) -> bool:
    """Whether something has a limit on what jobs may have."""
    return any(getattr(of, each.name) not in (None, {}) for each in fields(of) if each.name.startswith("max"))
