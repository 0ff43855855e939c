"""From the hours of partitions to when they start and take jobs, by the clock of a log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np
import polars as pl

from joulewise.errors import Problem, raise_if_any
from joulewise.model.arrays import Bools, Floats
from joulewise.model.hours import Hours
from joulewise.model.kept import FOR_ALL
from joulewise.worlds.clock import Clock, misfit
from joulewise.worlds.jobs.sites.site import DAYS, Partition, SiteTables

_DAY = "|".join(DAYS)
_TIME = r"(\d\d?):(\d\d)"
_WINDOW = re.compile(rf"(?:({_DAY})(?:-({_DAY}))?)?(?:(?:^|\s+){_TIME}-{_TIME})?")
_DAY_MIN = 24 * 60
_LEAD = timedelta(days=8)
_AFTER = timedelta(days=5 * 365)
"""How long after its last submission a log is replayed with hours; from then on partitions are up."""

_NO_CALENDAR = "leave the hours out: they go by the log's own calendar, and supply.begins_at does not count for them"

STARTS, TAKES = ("up", "drain"), ("up", "down")
"""The states in which a partition starts jobs, and in which it takes them."""


class Window(NamedTuple):
    """Hours of some days of the week, from Monday, 0, on; those that end on the next day end after 24 h."""

    days: tuple[int, ...]
    from_min: int
    until_min: int


def window_of(text: str) -> Window | None:
    """The hours of a text, such as "Mon-Fri 18:00-08:00", "Sat-Sun" or "20:00-24:00"; None if it tells none."""
    found = _WINDOW.fullmatch(text.strip())
    if found is None or not found[0]:
        return None
    first = DAYS.index(found[1]) if found[1] else 0
    last = DAYS.index(found[2]) if found[2] else (first if found[1] else len(DAYS) - 1)
    days = tuple((first + n) % len(DAYS) for n in range((last - first) % len(DAYS) + 1))
    if found[3] is None:
        return Window(days, 0, _DAY_MIN)
    hour, minute, to_hour, to_minute = (int(found[k]) for k in (3, 4, 5, 6))
    from_min, until_min = 60 * hour + minute, 60 * to_hour + to_minute
    if minute > 59 or to_minute > 59 or from_min >= _DAY_MIN or until_min > _DAY_MIN or from_min == until_min:
        return None
    return Window(days, from_min, until_min if until_min > from_min else until_min + _DAY_MIN)


class Calendar(NamedTuple):
    """From when to when partitions are open, one row each in order, of those that have hours, by their number."""

    tables: SiteTables
    open_s: Mapping[int, Floats]

    @staticmethod
    def of(tables: SiteTables, clock: Clock, last_s: float) -> Calendar:
        """The calendar over a log with this clock, and for years after its last submission. InputError without one."""
        having = {number: each for number, each in enumerate(tables.partitions) if each.open}
        raise_if_any([problem for each in having.values() for problem in _misfits(each, clock)])
        return Calendar(tables, {number: _spans(each, clock, last_s) for number, each in having.items()})

    def hours(self) -> Hours:
        """When partitions begin, and stop, to start jobs."""
        rows = [row for number in self.open_s for row in self._turns(number)]
        at_s, partition, is_up = np.array(sorted(rows)).reshape(-1, 3).T
        return Hours(at_s, partition, is_up)

    def _turns(self, number: int) -> Iterator[tuple[float, int, bool]]:
        """When a partition begins or stops to start jobs; it stops before its first hours, and not after the last."""
        if self.tables.partitions[number].closed in STARTS:
            return
        spans = self.open_s[number].tolist()
        yield spans[0][0] - _LEAD.total_seconds(), number, False
        for start_s, end_s in spans:
            yield start_s, number, True
            yield end_s, number, False
        yield end_s, number, True

    def turned_away(self, frame: pl.DataFrame, submit_s: Floats) -> pl.DataFrame:
        """The jobs of a log, where those that come when their partition takes none would never start.

        Those with a reservation go by that alone.
        """
        why, by_hours = frame["why_not"].to_numpy().copy(), (frame["kept"] == FOR_ALL).to_numpy()
        for number, spans_s in self.open_s.items():
            partition = self.tables.partitions[number]
            is_late = _are_outside(spans_s, submit_s) & by_hours & (frame["partition"] == number).to_numpy()
            if partition.closed not in TAKES:
                why[is_late & (why == "")] = f"partition {partition.name} takes none at the hour at which they come"
        return frame.with_columns(why_not=pl.Series(why, dtype=pl.String))


def _misfits(partition: Partition, clock: Clock) -> Iterator[Problem]:
    """Why hours cannot be told by a clock."""
    if clock.zone is not None and clock.zero_s is not None:
        return
    where = f"system.site: partition {partition.name!r}, open"
    problem = misfit(clock, where, clock.zero_s or 0.0, is_local=True)
    if problem is not None:
        advice = problem.advice if clock.zero_s is not None else _NO_CALENDAR
        yield replace(problem, found=f"found hours, {', '.join(partition.open)}", advice=advice)


def _are_outside(spans_s: Floats, at_s: Floats) -> Bools:
    row = np.searchsorted(spans_s[:, 0], at_s, "right") - 1
    return np.asarray((row < 0) | (at_s >= spans_s[np.maximum(row, 0), 1]))


def _spans(partition: Partition, clock: Clock, last_s: float) -> Floats:
    """From when to when a partition is open, from days before instant 0 to years after the last submission."""
    assert clock.zero_s is not None
    zone = clock.zone or UTC
    day = datetime.fromtimestamp(clock.zero_s, zone).replace(tzinfo=None, hour=0, minute=0, second=0) - _LEAD
    until = datetime.fromtimestamp(clock.zero_s + last_s, zone).replace(tzinfo=None) + _AFTER
    windows, found = [window for text in partition.open if (window := window_of(text))], []
    while day < until:
        for window in windows:
            if day.weekday() in window.days:
                ends = (day + timedelta(minutes=minutes) for minutes in (window.from_min, window.until_min))
                start_s, end_s = (end.replace(tzinfo=zone).timestamp() - clock.zero_s for end in ends)
                found += [[start_s, end_s]] if start_s < end_s else []  # not if clocks are put forward over its end
        day += timedelta(days=1)
    return _merged(sorted(found))


def _merged(spans: Sequence[Sequence[float]]) -> Floats:
    """Spans in order as those that they make together."""
    found = [list(spans[0])]
    for start_s, end_s in spans[1:]:
        if start_s <= found[-1][1]:
            found[-1][1] = max(found[-1][1], end_s)
        else:
            found.append([start_s, end_s])
    return np.array(found)
