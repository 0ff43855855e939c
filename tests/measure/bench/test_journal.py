"""Journals: whole lines only, whatever cut them."""

from __future__ import annotations

import errno
import math
from pathlib import Path

import pytest

from joulewise.errors import InputError
from joulewise.measure.bench.journal import read_journal, writing


def test_what_is_appended_is_read_again_with_null_for_nan(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    assert read_journal(path) == []
    with writing(path) as journal:
        journal.append("run", value=math.nan, inner=({"x": math.inf, "y": 1.5, "text": "a\nä"},))
    with writing(path) as journal:
        journal.append("idle")
        assert len(journal.records) == 2
    assert read_journal(path)[0] == {"event": "run", "value": None, "inner": [{"x": None, "y": 1.5, "text": "a\nä"}]}


@pytest.mark.parametrize("tail", [b'{"event": "ru', b'{"event": "run"}', b"\x00\x00\x00\n", b"[]\n{}\n", b"\xff"])
def test_an_unfinished_end_is_ignored_by_readers_and_cut_by_writers(tail: bytes, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"event": "one"}\n' + tail)
    assert read_journal(path) == [{"event": "one"}]
    assert path.read_bytes().endswith(tail)
    with writing(path) as journal:
        journal.append("two")
    assert path.read_bytes() == b'{"event": "one"}\n{"event": "two"}\n'


def test_a_damaged_line_in_the_middle_is_told(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"event": "one"}\nx\n{"event": "two"}\n')
    with pytest.raises(InputError, match="line 2: is no line of a journal"):
        read_journal(path)


def test_a_full_disk_is_told_and_loses_only_that_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int, line: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with writing(tmp_path / "journal.jsonl") as journal:
        journal.append("run")
        monkeypatch.setattr("os.write", full)
        with pytest.raises(InputError, match=r"No space left on device.*is kept"):
            journal.append("run")
    assert len(read_journal(tmp_path / "journal.jsonl")) == 1
