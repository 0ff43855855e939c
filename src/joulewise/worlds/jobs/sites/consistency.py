"""What does not go together in a site: names that nothing has, limits that no job keeps, trees that are none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from graphlib import CycleError, TopologicalSorter
from typing import Any, TypeAlias

from joulewise.errors import Problem, unknown_name
from joulewise.units import count, duration
from joulewise.worlds.jobs.sites.site import (
    CORES,
    DENIED,
    GPUS,
    MEMORY_MIB,
    NODES,
    ROOT,
    Account,
    NodeGroup,
    Partition,
    Qos,
    Reservation,
    SiteTables,
    User,
)

Place: TypeAlias = Callable[[Any, str], str]
"""Where a key of a table stands; of a table as a whole where the key is ""."""

_OF_ALL = (CORES, NODES, GPUS, MEMORY_MIB, "memory")
_CLOSED = "down"
"""What partitions are at hours at which they are not open, where nothing else is said."""
_AMOUNTS = ("max", "max_per_user", "max_per_account", "max_per_job")


def inconsistencies(site: SiteTables, place: Place, broken: Mapping[str, Sequence[str]]) -> Iterator[Problem]:
    """Everything in a site that does not go together; each table for itself is as it must be.

    `broken` names, by section, tables that are not: they are no part of the site, and others may speak of them.
    """
    tables = (site.nodes, site.partitions, site.licences, site.qos, site.accounts, site.reservations)
    for table in tables:
        yield from _repeated(table, place)
    yield from _of_users(site, place)
    yield from _of_things(site, place)
    yield from _of_powers(site.nodes, place)
    if not broken.get("partition"):
        yield from _of_default(site.partitions, place)
    n_nodes = {group.name: group.count for group in site.nodes}
    groups = [*n_nodes, *broken.get("nodes", ())]
    qos = [*(each.name for each in site.qos), *broken.get("qos", ())]
    for partition in site.partitions:
        yield from _unknown(partition, "nodes", partition.nodes, groups, "a group of [[nodes]]", place)
        yield from _unknown(partition, "qos", filter(None, [partition.qos]), qos, "a [[qos]]", place)
        yield from _unknown(partition, "qos_of_jobs", partition.qos_of_jobs, qos, "a [[qos]]", place)
        yield from _unknown(partition, "denied_qos", partition.denied_qos, qos, "a [[qos]]", place)
        yield from _of_partition(partition, n_nodes, place)
    for reservation in site.reservations:
        yield from _unknown(reservation, "nodes", reservation.nodes, groups, "a group of [[nodes]]", place)
        yield from _of_reservation(reservation, n_nodes, place)
    for each in site.qos:
        yield from _unknown(each, "preempts", each.preempts, qos, "a [[qos]]", place)
    if not (broken.get("nodes") or broken.get("licence")):
        yield from _of_amounts(site, place)
    yield from _of_preempting(site.qos, place)
    yield from _of_closed(site, place)
    yield from _of_accounts(site, [ROOT, *(each.name for each in site.accounts), *broken.get("account", ())], place)


def _repeated(tables: Sequence[Any], place: Place) -> Iterator[Problem]:
    seen: set[str] = set()
    for table in tables:
        if table.name in seen:
            yield Problem(place(table, "name"), f"found {table.name!r} again", "each name may stand once")
        seen.add(table.name)


def _unknown(
    table: object, key: str, names: Iterable[str], known: Iterable[str], what: str, place: Place
) -> Iterator[Problem]:
    known = list(known)
    for name in names:
        if name not in known and known:
            yield unknown_name(place(table, key), name, known)
        elif name not in known:
            yield Problem(place(table, key), f"found {name!r}", f"must be the name of {what}", "there is none")


def _of_things(site: SiteTables, place: Place) -> Iterator[Problem]:
    """Things that share a name, so that no limit could say which of them it means."""
    owners: dict[str, str] = dict.fromkeys(_OF_ALL, "what every site limits")
    things = [
        *((group, "gpus", name, "a kind of GPU") for group in site.nodes for name in group.gpus),
        *((group, "other", name, "another thing of nodes") for group in site.nodes for name in group.other),
        *((licence, "name", licence.name, "a licence") for licence in site.licences),
    ]
    for table, key, name, what in things:
        if owners.setdefault(name, what) != what:
            found = f"found {name!r}, which is {owners[name]} already"
            yield Problem(place(table, key), found, "things that are limited must have different names", "rename one")


def _of_powers(groups: Sequence[NodeGroup], place: Place) -> Iterator[Problem]:
    """Groups whose powers are not all known where some are."""
    if not any((group.idle_power_w, group.core_power_w, group.gpu_power_w) != (None,) * 3 for group in groups):
        return
    for group in groups:
        powers = {"idle_power": group.idle_power_w, "core_power": group.core_power_w}
        powers |= {"gpu_power": group.gpu_power_w} if group.gpus else {}
        missing = [key for key, power_w in powers.items() if power_w is None]
        if missing:
            found, allowed = f"has no {' and no '.join(missing)}", "powers must be known of all nodes, or of none"
            yield Problem(place(group, missing[0]), found, allowed, "give it, or leave all powers out")
        if group.gpu_power_w is not None and not group.gpus:
            found, allowed = "found a power of GPUs, and nodes without one", "is for nodes with GPUs"
            yield Problem(place(group, "gpu_power"), found, allowed, "leave it out, or give gpus")


def _of_default(partitions: Sequence[Partition], place: Place) -> Iterator[Problem]:
    defaults = [partition for partition in partitions if partition.default]
    allowed = "jobs that name no partition must come to one"
    if len(partitions) > 1 and not defaults:
        names = ", ".join(partition.name for partition in partitions)
        yield Problem(place(None, "partition"), f"none of {names} has default = true", allowed, "give it to one")
    for partition in defaults[1:]:
        found = f"found true, as of {defaults[0].name!r}"
        yield Problem(place(partition, "default"), found, allowed, "take it away from the others")


def _of_partition(partition: Partition, n_nodes: Mapping[str, int], place: Place) -> Iterator[Problem]:
    longest_s, usual_s = partition.max_time_s, partition.default_time_s
    if longest_s is not None and usual_s is not None and usual_s > longest_s:
        found, allowed = f"found {duration(usual_s)}", f"must not be above max_time, {duration(longest_s)}"
        yield Problem(place(partition, "default_time"), found, allowed, "lower it, or raise max_time")
    if partition.max_nodes is not None and partition.min_nodes > partition.max_nodes:
        found = f"found {partition.min_nodes:,}"
        allowed = f"must not be above max_nodes, {partition.max_nodes:,}: no job could start"
        yield Problem(place(partition, "min_nodes"), found, allowed, "lower it, or raise max_nodes")
    if partition.open and (partition.state != "up" or partition.closed == "up"):
        key, allowed = ("closed", "must be another state") if partition.closed == "up" else ("state", 'must be "up"')
        found = f"found {getattr(partition, key)!r}, and hours at which it is open"
        yield Problem(place(partition, key), found, allowed, "or leave open out")
    if not partition.open and partition.closed != _CLOSED:
        found, allowed = f"found {partition.closed!r}, and no hours", "is the state at hours at which it is not open"
        yield Problem(place(partition, "closed"), found, allowed, "give open, or leave it out")
    there = sum(n_nodes.get(name, 0) for name in partition.nodes)
    if partition.min_nodes > there and all(name in n_nodes for name in partition.nodes):
        found, allowed = (
            f"found {partition.min_nodes:,}",
            f"the partition has {count(there, 'node')}: no job could start",
        )
        yield Problem(place(partition, "min_nodes"), found, allowed, "lower it, or name more groups of nodes")


def _of_reservation(reservation: Reservation, n_nodes: Mapping[str, int], place: Place) -> Iterator[Problem]:
    for key, names in {"users": reservation.users, "accounts": reservation.accounts}.items():
        if len({name.startswith(DENIED) for name in names}) > 1:
            found, allowed = f"found {', '.join(names)}", "names have a minus before them all, or none has"
            yield Problem(place(reservation, key), found, allowed, "name those who may, or all who may not")
    for name, n in reservation.nodes.items():
        if n > n_nodes.get(name, n):
            found, allowed = f"found {n:,} of {name!r}", f"there are {n_nodes[name]:,}"
            yield Problem(place(reservation, "nodes"), found, allowed, "reserve fewer")
    start, end = reservation.start, reservation.end
    ways = {(isinstance(at, datetime), isinstance(at, datetime) and at.tzinfo is not None) for at in (start, end)}
    if len(ways) > 1:
        found = f"found {start} and {end}"
        allowed = "start and end must be written in the same way: both as dates, with zones or without, or as times"
        yield Problem(place(reservation, "end"), found, allowed)
    elif end <= start:  # type: ignore[operator]  # both are of one type here
        yield Problem(place(reservation, "end"), f"found {end}", f"must be after its start, {start}")


def _of_amounts(site: SiteTables, place: Place) -> Iterator[Problem]:
    """Limits on, and bills for, things that the site does not have."""
    of_nodes = (name for group in site.nodes for name in (*group.gpus, *group.other))
    things = dict.fromkeys((CORES, NODES, GPUS, MEMORY_MIB, *of_nodes, *(licence.name for licence in site.licences)))
    shown = ["memory" if name == MEMORY_MIB else name for name in things]
    limited: list[Qos | Account | User] = [*site.qos, *site.accounts, *site.users]
    named: list[tuple[Qos | Account | User | Partition, str]]
    named = [(each, key) for each in limited for key in _AMOUNTS if hasattr(each, key)]
    named += [(partition, "billing") for partition in site.partitions]
    for table, key in named:
        unknown = (name for name in getattr(table, key) if name not in things)
        yield from (unknown_name(place(table, key), name, shown) for name in unknown)


def _of_preempting(all_qos: Sequence[Qos], place: Place) -> Iterator[Problem]:
    by_name = {qos.name: qos for qos in all_qos}
    for loop in _loops({qos.name: qos.preempts for qos in all_qos}):
        found = f"found {' preempts '.join(loop)}"
        yield Problem(place(by_name[loop[0]], "preempts"), found, "jobs may not give way to each other in a circle")


def _of_accounts(site: SiteTables, names: Sequence[str], place: Place) -> Iterator[Problem]:
    for partition in site.partitions if site.accounts else ():
        yield from _unknown(partition, "accounts", partition.accounts, names, "an [[account]]", place)
        yield from _unknown(partition, "denied_accounts", partition.denied_accounts, names, "an [[account]]", place)
    for reservation in site.reservations if site.accounts else ():
        named = [name.removeprefix(DENIED) for name in reservation.accounts]
        yield from _unknown(reservation, "accounts", named, names, "an [[account]]", place)
    for user in site.users:
        yield from _unknown(user, "account", [user.account], names, "an [[account]]", place)
    for account in site.accounts:
        if account.name == ROOT and account.parent is not None:
            yield Problem(place(account, "parent"), f"found {account.parent!r}", f"{ROOT!r} is a part of nothing")
        elif account.parent is not None and account.parent not in names:
            orphan = unknown_name(place(account, "parent"), account.parent, names)
            advice = orphan.advice or "write an [[account]] of that name, or leave parent out"
            yield Problem(orphan.where, f"{orphan.found}, which is no account", orphan.allowed, advice)
    by_name = {account.name: account for account in site.accounts if account.name != ROOT}
    for loop in _loops({name: [account.parent] if account.parent else [] for name, account in by_name.items()}):
        found, allowed = f"found {' in '.join(loop)}", f"accounts must be a tree that ends at {ROOT!r}"
        yield Problem(place(by_name[loop[0]], "parent"), found, allowed, "give one of them another parent")


def _of_users(site: SiteTables, place: Place) -> Iterator[Problem]:
    """Users whose limits stand twice."""
    seen: set[tuple[str, str]] = set()
    for user in site.users:
        if (user.account, user.name) in seen:
            found = f"found {user.name!r} of {user.account!r} again"
            yield Problem(place(user, "name"), found, "each user may stand once in an account")
        seen.add((user.account, user.name))


def _of_closed(site: SiteTables, place: Place) -> Iterator[Problem]:
    """Partitions that no job may use, for whom they are for or by what their limits allow."""
    by_name = {qos.name: qos for qos in site.qos}
    for partition in site.partitions:
        for allowed, denied, what in (
            ("accounts", "denied_accounts", "account"),
            ("qos_of_jobs", "denied_qos", "quality of service"),
        ):
            names, others = getattr(partition, allowed), getattr(partition, denied)
            if names and others:
                found = f"found {', '.join(others)}, and {allowed} too"
                said = f"each {what} that {allowed} does not name is denied anyway, and those that it names are not"
                yield Problem(place(partition, denied), found, said, "leave one of the two out")
        qos = by_name.get(partition.qos or "")
        most = min((limits[NODES] for limits in _limits_of(qos) if NODES in limits), default=None)
        if most is not None and qos is not None and partition.min_nodes > most:
            found = f"found {partition.min_nodes:,}"
            said = f"jobs here may have {count(most, 'node')} by the QOS {qos.name!r}: no job could start"
            yield Problem(place(partition, "min_nodes"), found, said, "lower it, or raise that limit")


def _limits_of(qos: Qos | None) -> list[Mapping[str, int]]:
    return [] if qos is None else [qos.max, qos.max_per_user, qos.max_per_account, qos.max_per_job]


def _loops(before: Mapping[str, Iterable[Any]]) -> Iterator[list[str]]:
    """Names of which each leads to the next, and the last is the first; loops that share no name."""
    left = {name: list(after) for name, after in before.items()}
    while True:
        try:
            TopologicalSorter(left).prepare()
            return
        except CycleError as error:
            loop = list(reversed(error.args[1]))
        yield loop
        left = {name: [to for to in after if to not in loop] for name, after in left.items() if name not in loop}
