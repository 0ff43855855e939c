"""Logs of Slurm's accounting: tables and JSON of several versions, steps, arrays, and what cannot be read."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.worlds.jobs import logs
from joulewise.worlds.jobs.logs import Log, LogAbout
from joulewise.worlds.jobs.sacct_records import NAMES, frame_of_records
from joulewise.worlds.jobs.submit_lines import own_options
from joulewise.worlds.jobs.trace_files import TraceTable, read_trace_table
from tests.strategies.cases import cases

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
        "bar in a name": 1,
        "part of a mixed job": 2,
        "not ended": 1,
    }
    assert table.at == {"bar in a name": 11}
    assert table.jobs["job_id"].to_list() == ["100", "101_1", "101_2", "102", "103+0", "103+1", "104"]
    assert table.jobs["run_s"].to_list() == [600, 90_005, 40, 0, 1800, 1800, 1800]
    assert table.jobs["requested_s"].to_list() == [3600, 172_800, 172_800, None, None, None, 3600]
    assert table.jobs["wait_s"].to_list() == [10, 1140, 1200, None, 30, 30, 30]
    ends = ["completed", "timeout", "failed", "cancelled", "completed", "completed", "completed"]
    assert table.jobs["status"].to_list() == ends
    assert table.jobs["cores"].to_list() == [4, 96, 96, None, 32, 8, 8]
    assert table.jobs["application"][-1] == "a|b"
    per_node = 16 * 2**20 * 2 / 96
    assert table.jobs["requested_memory_kb"].to_list()[:3] == [4_096_000, per_node, per_node]
    assert (table.jobs["reservation"].to_list()[4:6], table.jobs["energy_j"][0]) == (["urgent", "urgent"], 60_000)
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


WIDE = "JobID|JobName|Submit|Eligible|Start|ElapsedRaw|AllocCPUS|ReqCPUS|AllocTRES|ReqTRES|State|Constraints|ExitCode"
AT = "2026-03-01T09:00:00"


def wide(number: int, given: str = "", asked: str = "", **cells: str) -> str:
    told = {
        "name": "a", "submit": AT, "eligible": AT, "start": AT, "elapsed": "60", "cores": "8", "asked_cores": "8",
        "given": given, "asked": asked, "state": "COMPLETED", "features": "",
    } | cells  # fmt: skip
    return f"{number}|{'|'.join(told.values())}|0:0"


TRES = {
    "the sum and each kind": ("cpu=8,gres/gpu:a100=3,gres/gpu:v100=1,gres/gpu=4", 4.0, "a100=3,v100=1"),
    "kinds alone": ("gres/gpu:a100=3,gres/gpu:v100=1", 4.0, "a100=3,v100=1"),
    "one kind": ("cpu=8,gres/gpu:a100=4,gres/gpu=4,node=1", 4.0, "a100"),
    "one kind of some": ("gres/gpu=4,gres/gpu:a100=3", 4.0, "a100=3"),
    "no kind": ("gres/gpu=2,billing=7", 2.0, None),
    "an older form": ("gres/gpu:a100:3", 3.0, "a100"),
    "an older form without a kind": ("gres/gpu:3", 3.0, None),
    "a kind with dots": ("gres/gpu:a100_1g.5gb=2", 2.0, "a100_1g.5gb"),
    "none": ("cpu=8,gres/gpumem=5,node=1", None, None),
    "nothing": ("gres/gpu=0", None, None),
}


@pytest.mark.parametrize(("text", "n", "kind"), TRES.values(), ids=TRES)
def test_gpus_are_counted_once(tmp_path: Path, text: str, n: float | None, kind: str | None) -> None:
    jobs = read(tmp_path, "\n".join((WIDE, wide(1, text), wide(2, "cpu=8", text)))).jobs
    assert jobs.select("gpus", "gpu_kind").rows() == [(n, kind), (None, None)]
    assert jobs.select("requested_gpus", "requested_gpu_kind").rows() == [(None, None), (n, kind)]


def test_memory_licences_and_what_is_not_read_among_resources(tmp_path: Path) -> None:
    given = "cpu=8,energy=3,gres/nvme=2,license/matlab=1,mem=16G,node=1"
    table = read(
        tmp_path,
        "\n".join((WIDE, wide(1, given), wide(2, given, "cpu=8,license/a@b=2,license/c=1,mem=8192M"), wide(3))),
    )
    assert table.jobs["requested_memory_kb"].to_list() == [2 * 2**20, 2**20, None]
    assert table.jobs["licences"].to_list() == ["matlab=1", "a@b=2,c=1", None]
    assert table.odd == {"other resource": 2, "memory as given": 1}
    assert table.about.unread == ("ExitCode",)
    named = read(tmp_path, "JobID|Submit|Elapsed|ReqCPUS|Licenses|ReqMem\n1|1000|1:00|2|a:2,b|0n\n")
    assert (named.jobs["licences"][0], named.jobs["requested_memory_kb"][0]) == ("a=2,b=1", None)


def test_jobs_that_could_not_start_at_once(tmp_path: Path) -> None:
    later, before = "2026-03-01T10:00:00", "2026-03-01T08:00:00"
    lines = (wide(1, eligible=later, start=later), wide(2, eligible=before), wide(3, eligible="Unknown"))
    jobs = read(tmp_path, "\n".join((WIDE, *lines))).jobs
    assert jobs.select("eligible_s", "wait_s").rows() == [(3600, 3600), (0, 0), (None, 0)]


ZONES = {
    "ahead": ("2026-03-01T09:00:00+0100", 8.0),
    "behind, with a colon": ("2026-03-01 09:00:00-03:30", 12.5),
    "UTC": ("2026-03-01T09:00:00Z", 9.0),
    "with a blank": ("2026-03-01T09:00:00.5 +0000", 9.0),
    "seconds": ("1772355600", 9.0),
}


@pytest.mark.parametrize(("text", "hour"), ZONES.values(), ids=ZONES)
def test_times_with_zones(tmp_path: Path, text: str, hour: float) -> None:
    table = read(tmp_path, f"{WIDE}\n{wide(1, submit=text, eligible=text, start=text)}\n")
    midnight = 1_772_323_200
    assert (table.jobs["submit_s"][0], table.jobs["wait_s"][0]) == (midnight + hour * 3600, 0)
    assert (table.about.clock, table.odd) == ("UTC", {})
    mixed = read(tmp_path, f"{WIDE}\n{wide(1, submit=text)}\n{wide(2)}\n")
    assert (mixed.about.clock, mixed.odd["no zone"]) == ("UTC", 1)
    assert read(tmp_path, f"{WIDE}\n{wide(2)}\n").about.clock == "local time"


INSTANTS = st.tuples(
    st.datetimes(datetime(2001, 1, 1), datetime(2099, 1, 1)),
    st.sampled_from((None, "", "+0000", "-1130", "+05:45")),
    st.sampled_from("T "),
)


@cases(divided_by=10)
@given(st.lists(INSTANTS, min_size=1, max_size=20))
def test_instants_are_those_of_python(told: list[tuple[datetime, str | None, str]]) -> None:
    """A zone of None stands for seconds since 1970."""
    cells, expected = [], []
    for instant, zone, between in told:
        at = instant.replace(microsecond=0, tzinfo=UTC)
        text = at.strftime(f"%Y-%m-%d{between}%H:%M:%S")
        cells.append(f"{at.timestamp():.0f}" if zone is None else text + zone)
        expected.append(datetime.fromisoformat(f"{text}{zone or '+00:00'}").timestamp())
    records = pl.DataFrame({"id": [str(i) for i in range(len(cells))], "submit": cells})
    empty = {name: pl.lit(None, pl.String) for name in NAMES if name not in records.columns}
    jobs = frame_of_records(Log(LogAbout("")), records.with_columns(**empty))
    assert jobs["submit_s"].to_list() == expected


BARS = {
    "a name": ({"name": "a|b|c"}, "application", "a|b|c"),
    "a choice of features": ({"features": "haswell|broadwell"}, "features", "haswell|broadwell"),
    "both": ({"name": "a|b", "features": "c|d"}, "features", "c|d"),
    "a line in a line": ({"name": f"a|{AT}|x"}, "application", None),
}


@pytest.mark.parametrize(("cells", "column", "text"), BARS.values(), ids=BARS)
def test_bars_in_what_people_write(tmp_path: Path, cells: dict[str, str], column: str, text: str | None) -> None:
    """They are put together only where one way of it fits."""
    table = read(tmp_path, f"{WIDE}\n{wide(1, **cells)}\n{wide(2)}\n")
    assert table.jobs.filter(job_id="1")[column].to_list() == ([text] if text else [])
    key = "bar in a name" if text else "wrong number of cells"
    assert (table.odd, table.at) == ({key: 1}, {key: 2})


def test_two_names_side_by_side_are_not_guessed_at(tmp_path: Path) -> None:
    table = read(tmp_path, "JobID|JobName|Comment|Submit|Elapsed|NCPUS\n1|a|b|c|1000|1:00|2\n2|a|b|1000|1:00|2\n")
    assert table.odd == {"wrong number of cells": 1}
    plain = read(tmp_path, "JobID|Submit|Elapsed|NCPUS\n1|1000|1:00|2|\n2|1000|1:00|2\n")
    assert plain.odd == {"wrong number of cells": 1}


def test_cells_in_no_known_form_are_counted_and_placed(tmp_path: Path) -> None:
    table = read(tmp_path, "\n".join((WIDE, wide(1), wide(2, elapsed="an hour"), wide(3, start="noon"))))
    assert (table.odd["unreadable cell"], table.at["unreadable cell"]) == (2, 3)
    assert table.jobs["run_s"].to_list() == [60, None, 60]


def test_everything_wrong_with_a_file_is_told_at_once(tmp_path: Path) -> None:
    lines = (wide(number, submit="1 Mar 09:00", elapsed="an hour") for number in (1, 2))
    with pytest.raises(InputError) as caught:
        read(tmp_path, "\n".join((WIDE, *lines, wide(3)[:30])))
    assert [(problem.where, problem.found[:40]) for problem in caught.value.problems] == [
        ("log.txt: line 4", "the file ends within this line, after 4 o"[:40]),
        ("log.txt: line 2, Submit", "found '1 Mar 09:00', as in all lines"),
        ("log.txt: line 2, ElapsedRaw", "found 'an hour', as in all lines"),
    ]
    assert all(problem.advice for problem in caught.value.problems)
    with pytest.raises(InputError, match="line 2: 2 of 2 lines, of which this is the first, have other cells"):
        read(tmp_path, f"{WIDE}\n1|2|3\n4|5|6\n")


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
GPUS = [
    {"type": "gres", "name": "gpu", "count": 2},
    {"type": "gres", "name": "gpu:a100", "count": 2},
    {"type": "mem", "name": "", "count": 16384},
    {"type": "license", "name": "matlab", "count": 1},
]
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


def test_json_tells_gpus_memory_licences_and_features(tmp_path: Path) -> None:
    asked = [*OLD["tres"]["allocated"], *GPUS]  # type: ignore[index]
    job = {
        **NEW,
        "time": {**NEW["time"], "eligible": 1005},
        "tres": {"allocated": asked, "requested": asked},
        "constraints": "zen3",
    }
    old, new = (told(read(tmp_path, json.dumps({"jobs": [each]})), 0) for each in (job, {**job, "licenses": "ansys:2"}))
    assert {name: old[name] for name in ("gpus", "gpu_kind", "requested_gpus", "requested_gpu_kind")} == {
        "gpus": 2.0, "gpu_kind": "a100", "requested_gpus": 2.0, "requested_gpu_kind": "a100",
    }  # fmt: skip
    assert (old["requested_memory_kb"], old["eligible_s"], old["features"]) == (2 * 2**20, 5, "zen3")
    assert (old["licences"], new["licences"]) == ("matlab=1", "ansys=2")


def test_json_tells_what_jobs_wait_for(tmp_path: Path) -> None:
    limits = {"max": {"running": {"tasks": 3}}}
    line = "sbatch --array=0-9%3 --begin=1970-01-01T00:20:00 -d singleton job.sh"
    jobs = [
        {**NEW, "array": {"job_id": 10, "task_id": 2, "limits": limits}, "submit_line": line},
        {**NEW, "array": {"job_id": 0}, "het": {"job_id": 20, "job_offset": 1}},
        {**NEW, "array": {"job_id": 11, "task_id": 2, "limits": {"max": {"running": {"tasks": 0}}}}},
    ]
    table = read(tmp_path, json.dumps({"jobs": jobs}), "log.json")
    assert table.odd == {"part of a mixed job": 1, "begin in another zone": 1}
    assert table.jobs["job_id"].to_list() == ["10_2", "20+1", "11_2"]
    assert table.jobs["array_limit"].to_list() == [3, None, None]
    first = told(table, 0)
    assert (first["dependency"], first["begin_s"]) == ("singleton", 200)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("srun --x11 --dependency=afterok:5 ./a", " --dependency=afterok:5"),
        ("srun --exact -d afterok:1 job.sh", " --dependency=afterok:1"),
        ("sbatch --stepmgr --begin=now+60 job.sh", " --begin=now+60"),
        ("srun --kill-on-bad-exit -d afterok:3 ./a", " --dependency=afterok:3"),
        ("sbatch --of-tomorrow -d afterok:1 job.sh", " --dependency=afterok:1"),
        ("srun --x11 ./a --begin now", ""),
        ("sbatch -p long -d afterok:1 job.sh --begin=now", " --dependency=afterok:1"),
    ],
)
def test_options_of_a_submission_are_found_behind_others_that_stand_alone(line: str, wanted: str) -> None:
    assert own_options(pl.Series([line])).to_list() == [wanted]


def test_json_of_another_command_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="in the layout of squeue and scontrol"):
        read(tmp_path, json.dumps({"jobs": [{"job_id": 1, "submit_time": 1000, "cpus": 4}]}), "log.json")


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
