"""The calendar of a world: which instant its instant 0 is, and where instants of tables are in it.

One rule for all tables. Numbers count from instant 0, or from the first submission of a log. Instants in ISO 8601 are
those of a calendar, and a world without a calendar, or with one that these cannot be held against, refuses them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, timedelta, tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.model.arrays import Floats
from joulewise.model.supply import HOUR_S
from joulewise.worlds.frames import InputTable

EXAMPLE = "2026-03-01T09:00+01:00"
ZONES = 'must be a time zone by its name in the IANA database, such as "Europe/Berlin"'

ISO = f'must be an instant in ISO 8601, such as "{EXAMPLE}"'
_WITH_OFFSET = "give it in UTC (Z), or with its offset (+01:00)"
_EPOCH = datetime(1970, 1, 1)


class Clock(NamedTuple):
    """What a calendar says at instant 0 of a world.

    `zero_s` is that instant in Unix seconds; None where no calendar goes with the world. Where it `is_local`, it is
    what a wall clock shows in a zone that is not known, taken for UTC. Instants without a zone are those of `zone`.
    What counts from the first submission counts from `first_s`. `is_of_log`: it is the clock of a log.
    """

    zero_s: float | None = None
    is_local: bool = False
    zone: tzinfo | None = None
    first_s: float = 0.0
    is_of_log: bool = False

    def begun_before(self, lead_s: float) -> Clock:
        """The clock of the same world if its instant 0 is earlier by so much."""
        zero_s = None if self.zero_s is None else self.zero_s - lead_s
        return self._replace(zero_s=zero_s, first_s=self.first_s + lead_s)

    def told(self, at_s: float) -> str:
        """What the calendar says at an instant of the world, such as "2026-03-01T09:00:00 UTC"; "" without one."""
        return "" if self.zero_s is None else told(self.zero_s + at_s, is_local=self.is_local)


NO_CLOCK = Clock()


class Moments(NamedTuple):
    """Instants of a calendar in Unix seconds; of a wall clock in no known zone, taken for UTC, where they are local."""

    at_s: Floats
    is_local: bool


def told(unix_s: float, *, is_local: bool) -> str:
    """A moment as people read it."""
    moment = _EPOCH + timedelta(seconds=unix_s)
    return f"{moment.isoformat(timespec='seconds')} {'local time' if is_local else 'UTC'}"


def zone_named(name: str) -> ZoneInfo | None:
    """The time zone of a name; None where there is none."""
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def instant_in(value: object) -> datetime | None:
    """A cell as an instant, None if it is none, or within a year of where the calendar ends."""
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    try:
        instant = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return instant if MINYEAR < instant.year < MAXYEAR else None


def read_moments(table: InputTable, column: str, zone: tzinfo | None, *, is_hourly: bool = False) -> Moments | None:
    """The instants in a column of a table; None where some are none, which is noted in the table.

    Those without a zone are of `zone`, if that is known. What its clocks skip is refused. What they show twice is
    refused as well, unless the table has a row for each hour: then the row beside it tells which of the two is meant.
    """
    instants = [instant_in(value) for value in table.frame[column]]
    unreadable = np.array([instant is None for instant in instants])
    table.report_rows(column, unreadable, ISO)
    given = [instant for instant in instants if instant is not None]
    if unreadable.any():
        return None
    has_zone = np.array([instant.tzinfo is not None for instant in given])
    if has_zone.any() and not has_zone.all():
        words = ("without", "with") if has_zone[0] else ("with", "without")
        allowed = f"must be {words[1]} a zone or UTC offset, as in the first row"
        table.report_rows(column, has_zone != has_zone[0], allowed, "give all times in UTC, or all with their offset")
        return None
    if not has_zone[0] and zone is not None:
        return _in_zone(table, column, given, zone, is_hourly=is_hourly)
    return Moments(np.array([unix_s(instant) for instant in given]), is_local=not has_zone[0])


def unix_s(instant: datetime) -> float:
    """The Unix seconds of an instant; one without a zone is taken for UTC."""
    return (instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant).timestamp()


def both_s(wall: datetime, zone: tzinfo) -> tuple[float, float] | None:
    """The Unix seconds at which clocks of a zone show this, twice where they are put back; None where they skip it."""
    found = [wall.replace(tzinfo=zone, fold=fold) for fold in (0, 1)]
    if found[0].astimezone(UTC).astimezone(zone).replace(tzinfo=None) != wall:
        return None
    return found[0].timestamp(), found[1].timestamp()


def _in_zone(
    table: InputTable, column: str, walls: Sequence[datetime], zone: tzinfo, *, is_hourly: bool
) -> Moments | None:
    found = [both_s(wall, zone) for wall in walls]
    is_skipped = np.array([pair is None for pair in found])
    table.report_rows(column, is_skipped, f"clocks of {zone} are put forward then and never show it", _WITH_OFFSET)
    pairs = np.array([(np.nan, np.nan) if pair is None else pair for pair in found])
    is_twice = pairs[:, 0] < pairs[:, 1]
    if not is_hourly:
        table.report_rows(column, is_twice, f"clocks of {zone} are put back then and show it twice", _WITH_OFFSET)
    at_s = pairs[:, 0].copy()
    for row in np.flatnonzero(is_twice):
        second_s = pairs[row, 1]
        to_neighbour_s = second_s - at_s[row - 1] if row else at_s[min(1, at_s.size - 1)] - second_s
        if to_neighbour_s == HOUR_S:
            at_s[row] = second_s
    return None if is_skipped.any() or (is_twice.any() and not is_hourly) else Moments(at_s, is_local=False)


def given_clock(begins_at: str, log: Clock, where: str) -> Clock:
    """The clock of a world that a study says to begin at an instant; InputError where its log tells when it does."""
    if log.zero_s is not None:
        found = f'found "{begins_at}", and a log that begins {log.told(0.0)}'
        raise InputError(Problem(where, found, "is for worlds without a calendar", "leave it out"))
    instant = instant_in(begins_at)
    assert instant is not None, "held against the form of instants before"
    if instant.tzinfo is not None or log.zone is None:
        return log._replace(zero_s=unix_s(instant), is_local=instant.tzinfo is None)
    pair = both_s(instant, log.zone)
    if pair is None or pair[0] < pair[1]:
        allowed = f"clocks of {log.zone} never show it" if pair is None else f"clocks of {log.zone} show it twice"
        raise InputError(Problem(where, f'found "{begins_at}"', allowed, _WITH_OFFSET))
    return log._replace(zero_s=pair[0], is_local=False)


def misfit(clock: Clock, where: str, first_s: float, *, is_local: bool) -> Problem | None:
    """Why moments, of which this is the first, cannot be held against a clock; None where they can."""
    found = f"found {told(first_s, is_local=is_local)}"
    if clock.zero_s is None:
        whose = "the log does not say when it begins" if clock.is_of_log else "the workload has no date"
        example = f"{(_EPOCH + timedelta(seconds=first_s)).isoformat()}{'' if is_local else 'Z'}"
        advice = f'say when instant 0 is, such as supply.begins_at = "{example}"; or give no dates'
        return Problem(where, found, whose, advice)
    if clock.is_local == is_local:
        return None
    whose = "the log's clock" if clock.is_of_log else "supply.begins_at"
    if clock.is_local:
        advice = 'say of which, workload.timezone = "Europe/Berlin"' if clock.is_of_log else "give it with its offset"
        return Problem(where, found, f"{whose} is local time of no known zone", advice)
    advice = "give instants in UTC (Z), or with their offset (+01:00)"
    advice += ', or say where they are, workload.timezone = "Europe/Berlin"' if clock.is_of_log else ""
    return Problem(where, found, f"{whose} is known in UTC, and of which zone this is, is not", advice)
