"""Instants of tables held against the clock of a world: zones, summer time, and what cannot be aligned."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.worlds.clock import Clock, both_s, given_clock, unix_s
from joulewise.worlds.series import Hours, aligned, lead_of, read_series
from joulewise.worlds.supply import SupplyParameters, read_supply

BERLIN, LORD_HOWE = ZoneInfo("Europe/Berlin"), ZoneInfo("Australia/Lord_Howe")


def at(text: str) -> float:
    return unix_s(datetime.fromisoformat(text))


def hours_of(folder: Path, instants: list[str], zone: tzinfo | None = None) -> Hours:
    """A table with the number of each row."""
    rows = "".join(f"{instant},{number}\n" for number, instant in enumerate(instants))
    (folder / "prices.csv").write_text("timestamp,price\n" + rows)
    return read_series("prices.csv", folder, None, "tariff_column", zone)


def log(begins: str, *, zone: tzinfo | None = None, is_local: bool = False) -> Clock:
    return Clock(at(begins), is_local, zone, is_of_log=True)


DAY_VALUES = np.arange(24.0)
DAY = [f"2026-03-01T{hour:02}:00" for hour in range(24)]


@pytest.mark.parametrize(
    ("instants", "clock", "first"),
    [
        ([hour + "Z" for hour in DAY], log("2026-03-01T05:00Z"), 5),
        ([hour + "+01:00" for hour in DAY], log("2026-03-01T05:00Z"), 6),
        (DAY, log("2026-03-01T05:00Z", zone=BERLIN), 6),
        (DAY, log("2026-03-01T05:00", is_local=True), 5),
        (DAY, Clock(at("2026-03-01T05:00"), is_local=True), 5),
        (["0", "1", "2"], log("2026-03-01T05:00Z"), 0),
    ],
)
def test_the_first_value_is_that_of_the_hour_of_instant_0(
    instants: list[str], clock: Clock, first: int, tmp_path: Path
) -> None:
    values = aligned(hours_of(tmp_path, instants, clock.zone), clock).tolist()
    assert values == [*range(first, len(instants)), *range(first)]


@given(begins=st.integers(0, 2 * 24), zone=st.sampled_from([BERLIN, ZoneInfo("America/New_York"), LORD_HOWE]))
@pytest.mark.parametrize("around", ["2026-03-08", "2026-03-29", "2026-04-05", "2026-10-04", "2026-10-25", "2026-11-01"])
def test_local_hours_follow_each_other_when_clocks_change(
    around: str, begins: int, zone: ZoneInfo, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A table in local time without offsets says the same as one with them, wherever it begins around a change."""
    start = datetime.fromisoformat(around).replace(tzinfo=zone).astimezone(UTC) - timedelta(hours=24 - begins)
    moments = [(start + timedelta(hours=hour)).astimezone(zone) for hour in range(30)]
    walls = [moment.replace(tzinfo=None).isoformat() for moment in moments]
    found = hours_of(tmp_path_factory.mktemp("hours"), walls, zone)
    assert (found.begins_s, found.is_local) == (start.timestamp(), False)


def test_what_clocks_skip_or_show_twice(tmp_path: Path) -> None:
    assert both_s(datetime(2026, 3, 29, 2, 30), BERLIN) is None
    first_s, second_s = both_s(datetime(2026, 10, 25, 2, 30), BERLIN) or (0.0, 0.0)
    assert second_s - first_s == 3600
    with pytest.raises(InputError, match=r"line 3, timestamp: found '2026-03-29T02:00'; clocks of .* forward"):
        hours_of(tmp_path, ["2026-03-29T01:00", "2026-03-29T02:00", "2026-03-29T03:00"], BERLIN)
    assert hours_of(tmp_path, ["2026-10-25T02:00", "2026-10-25T03:00"], BERLIN).begins_s == at("2026-10-25T01:00Z")
    with pytest.raises(InputError, match="2 h after the row above; must be one hour after"):
        hours_of(tmp_path, ["2026-10-25T01:00", "2026-10-25T02:00", "2026-10-25T03:00"], BERLIN)


@pytest.mark.parametrize(
    ("instants", "clock", "words"),
    [
        (["2026-03-01T05:00Z"], log("2026-03-01T04:00Z"), r"which is 1 h later; .*begin the table earlier"),
        (
            ["2026-03-01T05:00Z"],
            log("2026-03-03T09:00Z"),
            r"for 2 hours; must have the hour of 2026-03-03T09:00:00 UTC",
        ),
        (["2026-03-01T05:00Z"], log("2026-03-03T07:00Z"), "it ends 2 d before: go on with it"),
        (["2026-03-01T05:00Z"], log("2026-03-01T05:20Z"), "in the middle of one; begin both at the same minute"),
        (["2026-03-01T05:00Z"], Clock(), 'the workload has no date; .*supply.begins_at = "2026-03-01T05:00:00Z"; or'),
        (["2026-03-01T05:00"], Clock(is_of_log=True), 'the log does not say .*begins_at = "2026-03-01T05:00:00"; or'),
        (
            ["2026-03-01T05:00Z"],
            log("2026-03-01T05:00", is_local=True),
            "local time of no known zone; say of which, work",
        ),
        (["2026-03-01T05:00"], log("2026-03-01T05:00Z"), "and of which zone this is, is not; .*workload.timezone"),
        (["2026-03-01T05:00"], Clock(at("2026-03-01T05:00Z")), "supply.begins_at is known in UTC"),
        (
            ["2026-03-01T05:00Z"],
            Clock(at("2026-03-01T05:00"), is_local=True),
            "supply.begins_at is local .* its offset",
        ),
        (["0"], Clock(at("2026-03-01T05:00Z"), first_s=60.0), "found hours without dates, beside a table with dates"),
    ],
)
def test_what_cannot_be_aligned_is_refused(instants: list[str], clock: Clock, words: str, tmp_path: Path) -> None:
    (first,) = instants
    second = first.replace("T05", "T06") if "T" in first else "1"
    with pytest.raises(InputError, match=words):
        aligned(hours_of(tmp_path, [first, second], clock.zone), clock)


def test_a_simulation_begins_with_an_hour_of_its_tables() -> None:
    clock = log("2026-03-01T05:20Z")
    assert lead_of([], clock) == lead_of([Hours(DAY_VALUES, "caps")], clock) == 0
    whole = Hours(DAY_VALUES, "caps", at("2026-03-01T00:00Z"))
    half = Hours(DAY_VALUES, "tariff", at("2026-03-01T00:30Z"))
    assert lead_of([whole], clock) == 20 * 60
    assert aligned(whole, clock.begun_before(20 * 60)).tolist()[:2] == [5, 6]
    assert clock.begun_before(20 * 60).first_s == 20 * 60
    with pytest.raises(InputError, match="caps: found hours that begin at another minute than those of tariff"):
        lead_of([whole, half], clock)


def test_a_study_may_say_when_its_workload_begins(tmp_path: Path) -> None:
    (tmp_path / "caps.csv").write_text("timestamp,w\n2026-03-01T00:00Z,100\n2026-03-01T01:00Z,200\n")
    supply = read_supply(SupplyParameters(power_cap_by_hour="caps.csv", begins_at="2026-03-01T02:00+01:00"), tmp_path)
    assert supply.cap_w is not None
    assert supply.cap_w.tolist() == [200, 100]
    with pytest.raises(InputError, match=r"supply.begins_at: found \"tomorrow\"; must be an instant in ISO 8601"):
        SupplyParameters(begins_at="tomorrow")


def test_when_a_log_does_not_say_when_it_begins() -> None:
    unknown = Clock(zone=BERLIN, is_of_log=True)
    assert given_clock("2026-07-01T12:00", unknown, "here").zero_s == at("2026-07-01T10:00Z")
    assert given_clock("2026-07-01T12:00Z", unknown, "here").zero_s == at("2026-07-01T12:00Z")
    for wall, words in (("2026-03-29T02:30", "never show it"), ("2026-10-25T02:30", "show it twice")):
        with pytest.raises(InputError, match=words):
            given_clock(wall, unknown, "here")
    with pytest.raises(InputError, match=r"and a log that begins 2026-03-01T05:00:00 UTC; .*leave it out"):
        given_clock("2026-07-01T12:00Z", log("2026-03-01T05:00Z"), "here")
