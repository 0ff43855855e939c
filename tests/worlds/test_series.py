"""Hourly series: what is read, and every gap, repeat and mixture refused where it stands."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.worlds.series import read_series

START = datetime(2026, 3, 28, 12, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")


def read(folder: Path, text: str, column: str | None = None, *, positive: bool = False) -> list[float]:
    (folder / "prices.csv").write_text(text)
    return list(map(float, read_series("prices.csv", folder, column, "tariff_column", positive=positive).values))


def problems(folder: Path, text: str, column: str | None = None, *, positive: bool = False) -> list[str]:
    with pytest.raises(InputError) as caught:
        read(folder, text, column, positive=positive)
    return [str(problem) for problem in caught.value.problems]


def rows(*instants: str) -> str:
    return "timestamp,price\n" + "".join(f"{instant},{number}\n" for number, instant in enumerate(instants))


@pytest.mark.parametrize(
    "text",
    [
        "hour,price\n0,1\n1,0\n2,2.5\n",
        "when,price\n2026-01-31T22:00,1\n2026-01-31T23:00,0\n2026-02-01,2.5\n",
        "price,timestamp\n1,2026-01-31 22:00Z\n0,2026-01-31 23:00Z\n2.5,2026-02-01 00:00Z\n",
    ],
)
def test_hours_or_instants_in_any_column(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == [1.0, 0.0, 2.5]


def test_one_of_several_columns(tmp_path: Path) -> None:
    text = "hour,price,carbon\n0,1,30\n1,2,40\n"
    assert read(tmp_path, text, "carbon") == [30.0, 40.0]
    assert problems(tmp_path, text) == [
        "prices.csv: header: found 2 columns of values: price, carbon; must be one; "
        'say which, for example tariff_column = "price"'
    ]
    (unknown,) = problems(tmp_path, text, "carbn")
    assert unknown.endswith("must be one of price, carbon; did you mean 'carbon'?")


@given(n=st.integers(1, 60), is_utc=st.booleans())
def test_offsets_may_change_as_long_as_hours_follow_each_other(
    n: int, is_utc: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    zone = UTC if is_utc else BERLIN
    instants = [(START + timedelta(hours=i)).astimezone(zone).isoformat() for i in range(n)]
    assert read(tmp_path_factory.mktemp("series"), rows(*instants)) == [float(i) for i in range(n)]


def test_parquet_with_zones(tmp_path: Path) -> None:
    instants = [(START + timedelta(hours=i)).astimezone(BERLIN) for i in range(24)]
    frame = pl.DataFrame({"timestamp": pl.Series(instants, dtype=pl.Datetime("us", "Europe/Berlin")), "w": np.ones(24)})
    frame.write_parquet(tmp_path / "caps.parquet")
    assert read_series("caps.parquet", tmp_path, None, "power_cap_column").values.size == 24


LOCAL = "give times in UTC, or with their offset"


@pytest.mark.parametrize(
    ("instants", "words"),
    [
        (["2026-01-01T00:00Z", "2026-01-01T03:00Z"], "line 3, timestamp: found '2026-01-01T03:00Z', 3 h after"),
        (["2026-01-01T00:00Z", "2026-01-01T02:00Z"], "2 h after the row above; must be one hour after"),
        (["2026-03-29T01:00", "2026-03-29T03:00"], f"which leaves out an hour; .*{LOCAL}"),
        (["2026-10-25T02:00", "2026-10-25T02:00"], f"the same instant as in the row above; .*{LOCAL}"),
        (["2026-10-25T02:00", "2026-10-25T03:00", "2026-10-25T02:00"], f"line 4, .*1 h before .*; .*{LOCAL}"),
        (["2026-10-25T02:00Z", "2026-10-25T02:00Z"], "leave one of the rows out"),
        (["2026-10-25T05:00Z", "2026-10-25T02:00Z"], "3 h before the row above; .*; sort the table by time"),
        (["2026-01-01T00:00Z", "2026-01-01T00:30Z"], "30 min after the row above; .*give one mean value"),
        (["2026-01-01T00:00Z", "2026-01-01T00:15Z", "2026-01-01T00:30Z"], "found steps of 15 min; must be one row for"),
        (["2026-01-01T00:00Z", "2026-01-01T01:00"], "line 3, .*must be with a zone or UTC offset, as in the first row"),
        (["2026-01-01T00:00", "2026-01-01T01:00Z"], "line 3, .*must be without a zone or UTC offset"),
        (["2026-01-01T00:00Z", "2026-01-01T01:00+01:00"], "the same instant as in the row above"),
        (["2026-01-01T00:00Z", "1 o'clock"], "line 3, timestamp: found \"1 o'clock\"; must be an instant in ISO 8601"),
        (["2026-01-01T00:00Z", ""], "line 3, timestamp: found nothing; must be an instant"),
    ],
)  # fmt: skip
def test_wrong_instants_are_located(tmp_path: Path, instants: list[str], words: str) -> None:
    (line,) = problems(tmp_path, rows(*instants))
    assert re.search(words, line), line


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hour,price\n1,1\n2,1\n", "hour: found 1 in the first row; must start at 0"),
        ("hour,price\n0,1\n2,1\n", "line 3, hour: found '2'; must be one more than in the row above"),
        ("hour,price\n0,1\n1,1\n0,1\n", "hours count on over midnight: 24 comes after 23"),
        ("hour,price\n0,1\n1,-3\n", "line 3, price: found '-3'; must be a finite number of 0 or more"),
        ("hour,price\n0,1\n1,nan\n", "line 3, price: found 'nan'"),
        ("hour,price\n0,1\n1,\n", "line 3, price: found nothing"),
        ("hour,price\n", "has no rows"),
        ("", "is empty"),
        ("hour\n1\n", "found one column, 'hour'"),
    ],
)
def test_wrong_values_are_located(tmp_path: Path, text: str, words: str) -> None:
    assert words in problems(tmp_path, text)[0]


def test_powers_are_above_0(tmp_path: Path) -> None:
    assert "must be a finite number above 0" in problems(tmp_path, "hour,w\n0,5\n1,0\n", positive=True)[0]


def test_all_problems_come_together_and_many_are_counted(tmp_path: Path) -> None:
    zone = timezone(timedelta(hours=1))
    instants = [(START + timedelta(hours=i * i)).astimezone(zone).isoformat() for i in range(10)]
    found = problems(tmp_path, rows(*instants).replace(",9\n", ",-9\n"))
    assert len(found) == 1 + 5 + 1
    assert found[-1] == "prices.csv: timestamp: 3 more steps that are not one hour"
