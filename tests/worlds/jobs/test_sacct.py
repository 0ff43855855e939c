"""Logs of Slurm's accounting: tables and JSON of several versions, steps, arrays, and what cannot be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from joulewise.errors import InputError
from joulewise.worlds.jobs import logs
from joulewise.worlds.jobs.trace_files import TraceTable, read_trace_table

DATA = Path(__file__).parents[2] / "data"
FORMAT = "JobID|Submit|Start|ElapsedRaw|TimelimitRaw|AllocCPUS|State"


def read(folder: Path, text: str | bytes, name: str = "log.txt") -> TraceTable:
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return read_trace_table(name, folder)


def told(table: TraceTable, row: int) -> dict[str, Any]:
    return {name: value for name, value in table.jobs.row(row, named=True).items() if value is not None}


def test_steps_arrays_and_states() -> None:
    table = read_trace_table("sacct.txt", DATA)
    assert table.odd == {
        "job step": 2,
        "waiting array": 1,
        "wrong number of cells": 1,
        "part of a mixed job": 2,
        "not ended": 1,
    }
    assert table.at == {"wrong number of cells": 11}
    assert table.jobs["job_id"].to_list() == ["100", "101_1", "101_2", "102", "103+0", "103+1"]
    assert table.jobs["run_s"].to_list() == [600, 90_005, 40, 0, 1800, 1800]
    assert table.jobs["requested_s"].to_list() == [3600, 172_800, 172_800, None, None, None]
    assert table.jobs["wait_s"].to_list() == [10, 1140, 1200, None, 30, 30]
    assert table.jobs["status"].to_list() == ["completed", "timeout", "failed", "cancelled", "completed", "completed"]
    assert table.jobs["cores"].to_list() == [4, 96, 96, None, 32, 8]
    per_node = 16 * 2**20 * 2 / 96
    assert table.jobs["requested_memory_kb"].to_list()[:3] == [4_096_000, per_node, per_node]
    assert (table.jobs["reservation"].to_list()[-2:], table.jobs["energy_j"][0]) == (["urgent", "urgent"], 60_000)
    first = told(table, 0)
    assert (first["user"], first["group"], first["queue"], first["partition"]) == ("ana", "physics", "normal", "thin")


def test_times_in_seconds_and_a_bar_at_the_end_of_lines(tmp_path: Path) -> None:
    table = read(tmp_path, f"{FORMAT}|\n7|1700000000|1700000005|60|30|8|COMPLETED|\n")
    assert told(table, 0) == {
        "job_id": "7", "submit_s": 1_700_000_000, "wait_s": 5, "run_s": 60, "requested_s": 1800, "cores": 8,
        "status": "completed",
    }  # fmt: skip


def test_processors_from_trackable_resources(tmp_path: Path) -> None:
    text = "jobid|submit|elapsed|alloctres|reqtres\n7|2026-01-01T00:00:00|01:00|billing=9,cpu=4,mem=1G,node=2|cpu=3\n"
    found = told(read(tmp_path, text), 0)
    assert (found["cores"], found["requested_cores"], found["nodes"], found["run_s"]) == (4, 3, 2, 60)


def test_lists_put_together_by_hand(tmp_path: Path) -> None:
    lines = [f"{number}|170000{number:04d}|170000{number:04d}|60|30|8|COMPLETED" for number in range(50)]
    text = "\n".join([FORMAT, *lines[25:], FORMAT, "", *lines[:30]])
    table = read(tmp_path, text)
    assert table.odd == {"out of order": 30, "repeated line": 5}
    assert table.jobs["job_id"].to_list() == [str(number) for number in range(50)]


def test_pieces_and_codes_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (DATA / "sacct.txt").read_text().replace("prepare", "pr\xe9pare")
    whole = read(tmp_path, text)
    monkeypatch.setattr(logs, "PIECE_BYTES", 150)
    monkeypatch.setattr("joulewise.worlds.jobs.trace_files._START_BYTES", 100)
    again = read(tmp_path, text.encode("latin-1"))
    assert again.odd == {**whole.odd, "text in another code": 1}
    assert again.jobs.equals(whole.jobs)


def test_a_table_without_what_is_needed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not name Submit and one of ElapsedRaw") as caught:
        read(tmp_path, "JobID|AllocCPUS|State\n1|2|COMPLETED\n")
    assert "sacct --allusers" in str(caught.value)
    with pytest.raises(InputError, match="does not name JobID"):
        read(tmp_path, "1|2026-01-01T00:00:00|5\n")


def no_val(number: int | None) -> dict[str, Any]:
    return {"set": number is not None, "infinite": False, "number": number or 0}


OLD = {
    "job_id": 12,
    "array": {"job_id": 10, "task_id": 2, "task": None},
    "time": {"submission": 1000, "start": 1010, "end": 1070, "elapsed": 60, "limit": 5},
    "tres": {"allocated": [{"type": "cpu", "name": None, "count": 8}, {"type": "node", "name": None, "count": 2}]},
    "required": {"CPUs": 6, "memory": 2048},
    "state": {"current": "COMPLETED", "reason": "None"},
    "user": "ana",
    "account": "physics",
    "qos": "normal",
    "partition": "thin",
    "cluster": "alpha",
    "name": "sweep",
    "reservation": {"id": 0, "name": 0},
    "steps": [{"time": {"elapsed": 60}}],
}
NEW: dict[str, Any] = {
    **OLD,
    "array": {"job_id": 10, "task_id": no_val(2)},
    "time": {**OLD["time"], "limit": no_val(5)},  # type: ignore[dict-item]
    "required": {"CPUs": 6, "memory_per_cpu": no_val(None), "memory_per_node": no_val(None)},
    "state": {"current": ["COMPLETED"], "reason": "None"},
    "reservation": {"id": 0, "name": ""},
}


@pytest.mark.parametrize("job", [OLD, NEW], ids=["21.08", "24.11"])
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("piece", [17, 2**23])
def test_json_of_several_versions(
    tmp_path: Path, job: dict[str, Any], indent: int | None, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "PIECE_BYTES", piece)
    monkeypatch.setattr("joulewise.worlds.jobs.trace_files._START_BYTES", piece)
    never = {
        **NEW,
        "job_id": 13,
        "array": {"job_id": 0},
        "time": {"submission": 1100, "limit": no_val(None)},
        "tres": {},
    }
    running = {**NEW, "job_id": 14, "state": {"current": ["RUNNING"]}}
    log = {"meta": {"Slurm": {"release": "x"}}, "jobs": [job, never, running, "what?"], "errors": []}
    table = read(tmp_path, json.dumps(log, indent=indent), "log.json")
    assert table.odd == {"not ended": 1, "no record of a job": 1}
    found = told(table, 0)
    assert found == {
        "job_id": "10_2", "submit_s": 1000, "wait_s": 10, "run_s": 60, "requested_s": 300, "cores": 8,
        "requested_cores": 6, "nodes": 2, "status": "completed", "user": "ana", "group": "physics", "queue": "normal",
        "partition": "thin", "cluster": "alpha", "application": "sweep",
    }  # fmt: skip
    assert told(table, 1)["job_id"] == "13"
    assert table.jobs["run_s"][1] is None


def test_json_in_another_code_is_counted(tmp_path: Path) -> None:
    jobs = json.dumps({"jobs": [{**OLD, "user": name} for name in ("J\xfcrg", "Zo\xeb \u20ac", "\ud800", "ana")]})
    (tmp_path / "log.json").write_bytes(jobs.replace("J\\u00fcrg", "J\udcfcrg").encode("utf-8", "surrogateescape"))
    table = read_trace_table("log.json", tmp_path)
    assert table.odd["job in another code"] == 2
    assert table.jobs["user"].to_list() == ["J\xfcrg", "Zo\xeb \u20ac", "\ufffd", "ana"]


@pytest.mark.parametrize(
    "text",
    ['{"jobs": [{"job_id": 1}, {"job_i', "{}", '{"jobs": 3}', '{"jobs": [}', '{"jobs": []}', '{"jobs": [{"a": 1}]}'],
)
def test_json_that_is_cut_short_or_something_else_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"log\.json"):
        read(tmp_path, text, "log.json")
