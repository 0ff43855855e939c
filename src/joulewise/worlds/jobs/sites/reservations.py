"""From the reservations of a site's file to nodes that are kept by the clock of a log, and the jobs that have them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import numpy as np
import polars as pl

from joulewise.errors import Problem, raise_if_any
from joulewise.model.kept import FOR_ALL, KeptNodes
from joulewise.worlds.clock import Clock, both_s, misfit, unix_s
from joulewise.worlds.jobs.sites.associations import Associations
from joulewise.worlds.jobs.sites.ground import few
from joulewise.worlds.jobs.sites.site import DENIED, Instant, Reservation, SiteTables
from joulewise.worlds.jobs.trace_jobs import TraceFinding

OF_BEFORE = "reservations of before"
"""The key of the finding on reservations that are over when the log begins."""


class _Span(NamedTuple):
    """A reservation with its times from instant 0 of the log on."""

    reservation: Reservation
    start_s: float
    end_s: float

    @property
    def is_for_nobody(self) -> bool:
        return not (self.reservation.users or self.reservation.accounts)


def kept_nodes(tables: SiteTables, clock: Clock, findings: list[TraceFinding]) -> KeptNodes:
    """The nodes that reservations keep, by the clock of a log; those that are over when it begins are noted.

    Of each group a reservation has the last nodes that no other has at some time that both last. One for nobody, such
    as maintenance, comes after all others, and takes nodes of those as well where no more are left. InputError with
    every problem.
    """
    problems: list[Problem] = []
    spans = _spans(tables.reservations, clock, problems)
    past = [span.reservation.name for span in spans if span.end_s <= 0]
    if past:
        reason = f"reservations that are over when the log begins ({few(past)})"
        findings.append(TraceFinding(OF_BEFORE, len(past), reason, "not replayed", "lost"))
    spans = sorted((span for span in spans if span.end_s > 0), key=lambda span: (span.is_for_nobody, span.start_s))
    sizes = {group.name: group.count for group in tables.nodes}
    rows: list[tuple[int, int, int]] = []
    for of, span in enumerate(spans):
        at_once = {k for k, other in enumerate(spans) if other.start_s < span.end_s and span.start_s < other.end_s}
        for group, (name, n_nodes) in enumerate(sizes.items()):
            wanted = span.reservation.nodes.get(name, 0)
            taken = {node for other, there, node in rows if there == group and other in at_once}
            if wanted > n_nodes - len(taken) and not span.is_for_nobody:
                found = f"found {wanted:,} of {name!r}, of which others have {len(taken):,} at that time"
                where = f"system.site: reservation {span.reservation.name!r}, nodes"
                problems.append(Problem(where, found, f"there are {n_nodes:,}", "reserve fewer, or at another time"))
            rows += [(of, group, node) for node in last_nodes(n_nodes, taken, wanted)]
    raise_if_any(problems)
    of_row, group_of, node_of = np.array(rows, np.int32).reshape(-1, 3).T
    times = np.array([(span.start_s, span.end_s) for span in spans]).reshape(-1, 2)
    return KeptNodes(tuple(s.reservation.name for s in spans), times[:, 0], times[:, 1], of_row, group_of, node_of)


def last_nodes(n_nodes: int, taken: set[int], wanted: int) -> list[int]:
    """The last nodes of a group that are not taken; where there are too few, of the taken ones as well."""
    by_choice = sorted(range(n_nodes), key=lambda node: (node in taken, -node))
    return sorted(by_choice[:wanted])


def _spans(reservations: Sequence[Reservation], clock: Clock, problems: list[Problem]) -> list[_Span]:
    """All reservations whose times can be told by a clock; what is wrong with the others is noted."""
    spans = []
    for each in reservations:
        at_s = [
            _since_zero(getattr(each, key), clock, f"system.site: reservation {each.name!r}, {key}", problems)
            for key in ("start", "end")
        ]
        if at_s[0] is not None and at_s[1] is not None:
            spans.append(_Span(each, at_s[0], at_s[1]))
    return spans


def _since_zero(instant: Instant, clock: Clock, where: str, problems: list[Problem]) -> float | None:
    """When something is, from instant 0 of the log on; None where its clock does not tell, which is noted."""
    if not isinstance(instant, datetime):
        return clock.first_s + instant
    is_local, at_s = instant.tzinfo is None, unix_s(instant)
    if clock.zero_s is None:
        found = f"found {instant.isoformat()}"
        advice = 'give times after its first submission, such as "2 h"; supply.begins_at does not count for these'
        problems.append(Problem(where, found, "the log does not say when it begins", advice))
        return None
    if is_local and clock.zone is not None:
        pair = both_s(instant, clock.zone)
        if pair is None or pair[0] < pair[1]:
            said = f"clocks of {clock.zone} {'never show it' if pair is None else 'show it twice'}"
            problems.append(Problem(where, f"found {instant.isoformat()}", said, "give it with its offset (+01:00)"))
            return None
        is_local, at_s = False, pair[0]
    problem = misfit(clock, where, at_s, is_local=is_local)
    if problem is not None:
        problems.append(problem)
        return None
    return at_s - clock.zero_s


def kept_of(kept: KeptNodes, log: pl.DataFrame, findings: list[TraceFinding]) -> pl.Series:
    """Which of the kept nodes each job of a log has: those of the reservation in which it ran; -1 for none.

    Jobs of reservations that are not replayed are noted.
    """
    named = log["reservation"].cast(pl.String)
    numbers = {name: of for of, name in enumerate(kept.names)}
    found = named.replace_strict(numbers, default=FOR_ALL, return_dtype=pl.Int64)
    absent = named.filter((found == FOR_ALL) & named.is_not_null())
    if absent.len():
        reason = (
            f"jobs in reservations that the site does not have ({few(absent.unique(maintain_order=True).to_list())})"
        )
        findings.append(TraceFinding("in a reservation", absent.len(), reason, "replayed as any other", "lost"))
    return found


def may_not_have(
    tables: SiteTables, kept: KeptNodes, of: pl.Series, log: pl.DataFrame, limit_s: pl.Series
) -> pl.Series:
    """Why jobs may not run in their reservation, "" where they may."""
    rows = pl.DataFrame({"name": kept.names, "length_s": kept.end_s - kept.start_s})
    jobs = pl.DataFrame({"of": of, "user": log["user"].cast(pl.String), "account": log["group"].cast(pl.String)})
    joined = jobs.with_columns(limit_s=limit_s, may=_may_have(tables, kept, jobs)).join(
        rows.with_row_index("of").with_columns(pl.col("of").cast(pl.Int64)), on="of", how="left", maintain_order="left"
    )
    why = (
        pl.when(~pl.col("may"))
        .then(pl.format("reservation {} is for others", "name"))
        .when(pl.col("limit_s") > pl.col("length_s"))
        .then(pl.format("reservation {} is shorter than they ask for", "name"))
    )
    return joined.select(why=pl.when(pl.col("of") == FOR_ALL).then(pl.lit("")).otherwise(why).fill_null(""))["why"]


def _may_have(tables: SiteTables, kept: KeptNodes, jobs: pl.DataFrame) -> pl.Series:
    """Whether a reservation is for the user and the account of each job that has one."""
    by_name, associations = {each.name: each for each in tables.reservations}, Associations(tables)
    kinds = jobs.unique(maintain_order=True)
    may = []
    for of, user, account in kinds.iter_rows():
        name = associations.account_of(account, user)
        may.append(of == FOR_ALL or _is_for(by_name[kept.names[of]], user, associations.chain(name)))
    joined = jobs.join(
        kinds.with_columns(may=pl.Series(may, dtype=pl.Boolean)), on=jobs.columns, how="left", nulls_equal=True,
        maintain_order="left",
    )  # fmt: skip
    return joined["may"]


def _is_for(reservation: Reservation, user: str | None, accounts: Sequence[str]) -> bool:
    """Whether a reservation is for a user of an account, which comes with all above: both must be, where it names both.

    What the log does not tell keeps nobody out.
    """
    named = ((reservation.users, [] if user is None else [user]), (reservation.accounts, accounts))
    return any(names for names, _ in named) and all(_are_named(names, own) for names, own in named)


def _are_named(names: Sequence[str], own: Sequence[str]) -> bool:
    """Whether one of one's own names is among some or, where these have a minus before them, none of them is."""
    if not names or not own:
        return True
    if names[0].startswith(DENIED):
        return not any(f"{DENIED}{name}" in names for name in own)
    return any(name in names for name in own)
