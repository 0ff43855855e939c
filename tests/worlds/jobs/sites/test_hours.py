"""Hours of partitions by the clock of a log, by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest

from joulewise.errors import InputError
from joulewise.model.kept import FOR_ALL
from joulewise.worlds.clock import Clock
from joulewise.worlds.jobs.sites.hours import Calendar, Window, window_of
from joulewise.worlds.jobs.sites.site import NodeGroup, Partition, SiteTables

BERLIN = ZoneInfo("Europe/Berlin")
MONDAY = datetime(2026, 3, 23, 12, tzinfo=BERLIN)
CLOCK = Clock(MONDAY.timestamp(), zone=BERLIN, is_of_log=True)
NIGHT = Partition(name="night", nodes=("cpu",), open=("Mon-Fri 20:00-06:00", "Sat-Sun"))


def calendar(partition: Partition = NIGHT, clock: Clock = CLOCK) -> Calendar:
    tables = SiteTables(name="s", nodes=(NodeGroup(name="cpu", count=1),), partitions=(partition,))
    return Calendar.of(tables, clock, 86_400.0)


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("Mon", Window((0,), 0, 1440)),
        ("Sat-Mon", Window((5, 6, 0), 0, 1440)),
        ("20:00-06:00", Window((0, 1, 2, 3, 4, 5, 6), 1200, 1800)),
        ("Tue 8:00-24:00", Window((1,), 480, 1440)),
        ("", None), ("Mon 8:00-8:00", None), ("Mon 24:00-25:00", None), ("monday", None), ("Mon8:00-9:00", None),
    ],
)  # fmt: skip
def test_windows_are_read(text: str, window: Window | None) -> None:
    assert window_of(text) == window


def test_a_night_partition_is_down_by_day_and_summer_time_counts() -> None:
    hours = calendar().hours()
    turns = [
        (datetime.fromtimestamp(CLOCK.zero_s + at_s, BERLIN).strftime("%a %H:%M"), bool(up))
        for at_s, up in zip(hours.at_s, hours.is_up, strict=True)
        if 0 <= at_s < 9 * 86_400
    ]
    assert turns[:4] == [("Mon 20:00", True), ("Tue 06:00", False), ("Tue 20:00", True), ("Wed 06:00", False)]
    assert turns[8:11] == [("Fri 20:00", True), ("Sat 06:00", False), ("Sun 00:00", True)] or turns[8:10] == [
        ("Fri 20:00", True), ("Mon 00:00", False)
    ], turns  # fmt: skip
    assert all(text.endswith(("06:00", "20:00", "00:00")) for text, _ in turns), "also after clocks were put forward"
    assert hours.is_up[-1], "years later nobody waits for ever"


@pytest.mark.parametrize(("hours", "n_days"), [("02:30-03:00", 8), ("02:30-03:15", 8), ("02:15-02:45", 9)])
def test_hours_that_clocks_skip_are_none(hours: str, n_days: int) -> None:
    found = calendar(replace(NIGHT, open=(hours,)))
    spans_s = found.open_s[0]
    assert (spans_s[:, 1] > spans_s[:, 0]).all()
    assert (np.diff(found.hours().at_s) >= 0).all()
    assert ((spans_s[:, 0] > 0) & (spans_s[:, 0] < 9 * 86_400)).sum() == n_days


def test_a_partition_that_drains_takes_no_jobs_but_starts_those_it_has() -> None:
    drains = calendar(replace(NIGHT, closed="drain"))
    assert drains.hours().at_s.size == 0
    frame = pl.DataFrame({"partition": [0, 0, 0], "why_not": ["", "is large", ""], "kept": [FOR_ALL] * 3})
    why = drains.turned_away(frame, np.array([0.0, 0.0, 9 * 3600.0]))["why_not"].to_list()
    assert why == ["partition night takes none at the hour at which they come", "is large", ""]
    assert calendar().turned_away(frame, np.zeros(3))["why_not"].to_list() == ["", "is large", ""]
    reserved = drains.turned_away(frame.with_columns(kept=0), np.zeros(3))["why_not"].to_list()
    assert reserved == ["", "is large", ""], "jobs with a reservation go by that alone"


def test_a_log_without_a_clock_or_without_its_zone_is_refused() -> None:
    with pytest.raises(InputError, match="open: found hours, Mon-Fri 20:00-06:00, Sat-Sun; the log") as caught:
        calendar(clock=Clock(is_of_log=True))
    assert "supply.begins_at does not count for them" in str(caught.value)
    with pytest.raises(InputError, match="which zone"):
        calendar(clock=CLOCK._replace(zone=None))
    assert calendar(clock=CLOCK._replace(zone=None, is_local=True)).hours().at_s.size
