"""Logs in the Standard Workload Format: what a line means, and every way in which a file can be odd."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.worlds.jobs import logs, swf
from joulewise.worlds.jobs.trace_files import TraceTable, read_trace_table
from tests.strategies.cases import cases
from tools.data import data_folder

HEADER = """\
; Version: 2.2
; Installation: Somewhere
; Acknowledge: Somebody
; MaxRecords: 3
; UnixStartTime: 1000000000
; TimeZoneString: Europe/Paris
; MaxNodes: 1,024 (of 4 processors)
; MaxProcs: 4096
; Queue: 1 short
; Queue: 2 long
; Queue: 3 long
; Partition: 1
"""
LINE = "1 10 5 100 4 90.5 -1 8 200 2048 1 7 3 -1 2 1 -1 -1"


def job(number: int = 1, submit: object = 0, run: object = 10, procs: object = 1, status: object = 1) -> str:
    return f"{number} {submit} 0 {run} {procs} -1 -1 {procs} 60 -1 {status} 1 1 -1 -1 -1 -1 -1"


def read(folder: Path, text: str | bytes, name: str = "log.swf") -> TraceTable:
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return read_trace_table(name, folder)


def test_a_line_and_the_header(tmp_path: Path) -> None:
    table = read(tmp_path, HEADER + LINE + "\n")
    row = {name: value for name, value in table.jobs.row(0, named=True).items() if value is not None}
    assert row == {
        "job_id": "1", "submit_s": 10, "wait_s": 5, "run_s": 100, "requested_s": 200, "cores": 4, "requested_cores": 8,
        "cpu_s": 90.5, "requested_memory_kb": 2048, "status": "completed", "user": "7", "group": "3", "queue": "long",
        "partition": "1",
    }  # fmt: skip
    about = table.about
    assert (about.name, about.acknowledge, about.zone) == ("Somewhere", "Somebody", "Europe/Paris")
    assert (about.nodes, about.cores, about.records, about.start_unix_s) == (1024, 4096, 3, 1_000_000_000)
    assert len(about.comments) == 12
    assert table.odd == {}


def test_a_header_may_not_know_the_size(tmp_path: Path) -> None:
    lines = "".join(f"; {name}: -1\n" for name in ("MaxNodes", "MaxProcs", "MaxRecords", "UnixStartTime"))
    about = read(tmp_path, lines + LINE + "\n").about
    assert (about.nodes, about.cores, about.records, about.start_unix_s) == (None, None, None, None)
    assert read(tmp_path, f"; MaxProcs: dual-64 nodes\n{LINE}\n").about.cores == 64


def test_queues_of_one_name_are_told_apart(tmp_path: Path) -> None:
    lines = [LINE.replace(" 2 1 -1 -1", f" {queue} 1 -1 -1") for queue in (2, 3, 9)]
    assert read(tmp_path, HEADER + "\n".join(lines)).jobs["queue"].to_list() == ["long", "long (3)", "9"]


@pytest.mark.parametrize("piece", [60, 200, 2**23])
def test_pieces_do_not_matter(tmp_path: Path, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    lines = [job(i + 1, i * 3, int(rng.integers(0, 50)), int(rng.integers(1, 9))) for i in range(40)]
    text = HEADER + "\r\n".join(lines[:20]) + "\n; a comment in between\n\n" + "\n".join(lines[20:])
    whole = read(tmp_path, text)
    monkeypatch.setattr(logs, "PIECE_BYTES", piece)
    monkeypatch.setattr("joulewise.worlds.jobs.trace_files._START_BYTES", 30)
    again = read(tmp_path, text)
    assert again.jobs.equals(whole.jobs)
    assert (again.odd, again.about) == (whole.odd, whole.about)
    assert whole.jobs.height == 40


ODD = {
    "short line": ("1 2 3", "short line", 1),
    "text": ("total jobs: 17", "no numbers", 1),
    "half a number": (job(2).replace(" 60 ", " 6-0 "), "no numbers", 1),
    "too large a number": (job(2, "1e300"), "no numbers", 1),
    "long line": (job(2) + " 99 98", "long line", 2),
    "long line with a word": (job(2) + " gpu 2", "long line", 2),
    "a queue without a number": ("; Queue: fast", "name without a number", 1),
    "nan": (job(2, "nan"), "no numbers", 1),
    "fraction": (job(2, 0.5, 10.25), "fraction of a second", 2),
    "no submission": (job(2, -1), "no submission", 1),
    "part": (job(1, 0, 5, 1, 2), "part of a job", 1),
    "number again": (job(1, 5, 5), "number used again", 2),
    "the same line": (job(1), "repeated line", 1),
    "binary comment": ("; \xff\xfe caf\xe9", "comment in another code", 1),
}


@pytest.mark.parametrize(("line", "key", "n_jobs"), ODD.values(), ids=ODD)
def test_odd_lines_are_counted_and_the_others_stay(tmp_path: Path, line: str, key: str, n_jobs: int) -> None:
    table = read(tmp_path, f"; MaxProcs: 8\n{job(1)}\n{line}\n".encode("latin-1"))
    assert table.odd == {key: 1}
    assert table.jobs.height == n_jobs
    if key in ("short line", "no numbers", "long line"):
        assert table.at == {key: 3}


def test_columns_behind_the_last_are_told(tmp_path: Path) -> None:
    table = read(tmp_path, f"{job(1)}\n{job(2)} 4 a100\n{job(3)} 4\n{job(4)}")
    assert (table.odd, table.about.unread) == ({"long line": 2}, ("column 19", "column 20"))
    assert read(tmp_path, job(1) + " a100").about.unread == ("column 19",)
    assert read(tmp_path, job(1) + "\n" + job(2).replace(" 60 ", " x ") + " 4").odd == {"long line": 1, "no numbers": 1}


def test_fractions_round_lengths_up_and_instants_down(tmp_path: Path) -> None:
    row = read(tmp_path, job(1, 0.9, 10.1)).jobs.row(0, named=True)
    assert (row["submit_s"], row["run_s"]) == (0, 11)


def test_jobs_out_of_order_are_put_in_order(tmp_path: Path) -> None:
    table = read(tmp_path, "\n".join([job(1, 50), job(2, 20), job(3, 20), job(4, 60), job(5, 10)]))
    assert table.jobs["job_id"].to_list() == ["5", "2", "3", "1", "4"]
    assert table.odd == {"out of order": 3}


def test_gz_is_recognised_by_its_content(tmp_path: Path) -> None:
    packed = gzip.compress((HEADER + LINE).encode())
    assert read(tmp_path, packed, "log").jobs.height == 1
    assert read(tmp_path, gzip.compress(job(1).encode() + b"\n") + gzip.compress(job(2).encode())).jobs.height == 2


BROKEN = {
    "empty": b"",
    "blank": b"\n\n  \n",
    "comments alone": b"; MaxProcs: 3\n",
    "truncated gz": gzip.compress(("\n".join(job(i, i) for i in range(5000))).encode())[:-2000],
    "gz with a wrong byte": gzip.compress(job(1).encode())[:12] + b"\xff\xff\xff" + gzip.compress(job(1).encode())[15:],
    "zeros": b"; x\n" + bytes(100),
    "utf-16": HEADER.encode("utf-16"),
    "html": b"<html>404</html>",
    "a table": b"a,b\n1,2\n",
    "parquet cut short": b"PAR1 and no more",
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_files_that_are_no_logs_are_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputError, match=r"log\.swf"):
        read(tmp_path, content)


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_trace_table("absent.swf", tmp_path)
    with pytest.raises(InputError, match="found a folder"):
        read_trace_table(".", tmp_path)


@cases(divided_by=10)
@given(st.binary(max_size=300))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    log = swf.read_swf([data + b"\n", job(1).encode() + b"\n"])
    frames = list(log.pieces)
    assert sum(frame.height for frame in frames) >= 1
    assert log.n_lines == data.count(b"\n") + 2


FACTS = {
    "KTH-SP2-1996-2.1-cln.swf.gz": (27_992, 0, 0),
    "SDSC-BLUE-2000-4.2-cln.swf.gz": (243_306, 10_770, 23_434),
}


@pytest.mark.thorough("takes seconds; others look at less of it")
@pytest.mark.data
@pytest.mark.parametrize("name", FACTS)
def test_traces_of_the_archive(name: str) -> None:
    folder = data_folder()
    if folder is None or not (folder / "swf" / name).is_file():
        pytest.skip("there is no such trace")
    n, n_without_run, n_past = FACTS[name]
    jobs = read_trace_table(name, folder / "swf").jobs
    ran = pl.col("run_s").fill_null(0) > 0
    found = jobs.select(pl.len(), (~ran).sum().alias("none"), (pl.col("run_s") > pl.col("requested_s")).sum()).row(0)
    assert found[0:3:2] == (n, n_past)
    assert found[1] == n_without_run
