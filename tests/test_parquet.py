"""Damaged Parquet files are refused before they end the process, and nothing is printed about them."""

from __future__ import annotations

import datetime
import io
import sys
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from joulewise import parquet
from joulewise.parquet import ParquetError, reading_parquet, sealed

MANY = 3000
FRAME = pl.DataFrame({
    "number": [1, None, 3] * (MANY // 3),
    "text": ["a", None, "long"] * (MANY // 3),
    "list": [[1, 2], [], None] * (MANY // 3),
    "inner": [{"a": 1, "b": "c"}] * MANY,
    "flag": [True, False, None] * (MANY // 3),
    "nothing": [None] * MANY,
    "name": pl.Series(["a", "b", "c"] * (MANY // 3), dtype=pl.Enum(list("abcdefgh"))),
    "at": [datetime.datetime(2026, 1, 1)] * MANY,
})  # fmt: skip


@pytest.mark.parametrize(
    "options", [{}, {"compression": "gzip"}, {"row_group_size": 1000}, {"data_page_size": 4096}, {"statistics": "full"}]
)
@pytest.mark.parametrize("frame", [FRAME, FRAME.clear()])
def test_whole_files_are_read(frame: pl.DataFrame, options: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "[1]*?.parquet"
    frame.write_parquet(path, **options)
    with reading_parquet(path) as table:
        assert table.collect().equals(frame)


def pages_of(path: Path) -> tuple[bytes, int]:
    """The bytes of a file of six equal texts, and where its page says how many values it has."""
    pl.DataFrame({"state": ["failed"] * 6}).write_parquet(path, compression="uncompressed")
    data = path.read_bytes()
    return data, data.index(bytes([0x2C, 0x15, 0x0C])) + 2


@pytest.mark.parametrize("count", [0x41, 0x0A])  # -33, which is taken for 2**64 - 33 and ends the process, and 5
def test_a_wrong_number_of_values_is_told(count: int, tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    data, at = pages_of(path)
    path.write_bytes(data[:at] + bytes([count]) + data[at + 1 :])
    with pytest.raises(ParquetError, match="damaged"), reading_parquet(path):
        pass


def test_a_seal_tells_what_was_changed_or_moved(tmp_path: Path) -> None:
    buffer, path = io.BytesIO(), tmp_path / "table.parquet"
    FRAME.write_parquet(buffer)
    path.write_bytes(sealed(buffer.getvalue(), "here"))
    with reading_parquet(path, "here") as table:
        assert table.collect().equals(FRAME)
    with pytest.raises(ParquetError, match="not as Joulewise wrote it"), reading_parquet(path, "there"):
        pass
    FRAME.write_parquet(path)
    with pytest.raises(ParquetError, match="not as Joulewise wrote it"), reading_parquet(path, "here"):
        pass


def is_refused(path: Path) -> bool:
    try:
        with reading_parquet(path) as table:
            table.collect()
    except ParquetError:
        return True
    return False


def test_more_values_than_memory_holds_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.parquet"
    FRAME.write_parquet(path)
    monkeypatch.setattr(parquet, "MOST_CELLS", FRAME.height * FRAME.width - 1)
    with pytest.raises(ParquetError, match="it says that it has 3,000 rows"), reading_parquet(path):
        pass


def test_a_path_that_may_not_be_read_is_not_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(parquet, "_check", refuse)
    with pytest.raises(PermissionError), reading_parquet(tmp_path / "table.parquet"):
        pass


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process without threads; the one that runs tests may have some."""
    monkeypatch.setattr(threading, "active_count", lambda: 1)


@pytest.mark.usefixtures("alone")
def test_every_byte_may_be_another(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "table.parquet"
    data, _ = pages_of(path)
    refused = []
    for at in range(0, len(data), 3):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        refused.append(is_refused(path))
    assert sum(refused) > len(refused) // 4
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("alone")
def test_what_others_print_meanwhile_is_printed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "table.parquet"
    FRAME.write_parquet(path)
    with reading_parquet(path):
        sys.stderr.write("still here\n")
    assert capfd.readouterr().err == "still here\n"
