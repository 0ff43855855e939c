"""Traces as worlds: conventions, machines, dependencies, predictions, and files that logs are imported to."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.model.clusters import Clusters, ClusterSystem
from joulewise.model.jobs import JobWorld
from joulewise.worlds.jobs import trace_report
from joulewise.worlds.jobs.logs import LOG_COLUMNS, READING, SCHEMA, frame_of
from joulewise.worlds.jobs.trace_files import import_log, read_trace_table
from joulewise.worlds.jobs.trace_jobs import TraceConventions, planned_times
from joulewise.worlds.jobs.traces import Trace, TraceParameters, load_trace, read_trace
from tests.strategies.cases import cases

HEADER = "; MaxNodes: 4\n; MaxProcs: 16\n; UnixStartTime: 1000\n; Queue: 1 short\n"
TWO = ClusterSystem(Clusters(("thin", "fat"), np.array([10, 2]), np.array([4, 64]), np.array([1, 1])))


def line(number: int, submit: int, run: int = 10, asked: int = 4, request: int = 60, **more: int) -> str:
    other = {"used": asked if asked > 0 else 4, "wait": 0, "user": 1, "queue": 1, "after": -1, "think": -1} | more
    return (
        f"{number} {submit} {other['wait']} {run} {other['used']} -1 -1 {asked} {request} -1 1 {other['user']} 1 -1 "
        f"{other['queue']} -1 {other['after']} {other['think']}"
    )


def load(folder: Path, lines: list[str], header: str = HEADER, system: ClusterSystem | None = None, **p: Any) -> Trace:
    (folder / "log.swf").write_text(header + "\n".join(lines))
    trace = load_trace(TraceParameters(trace="log.swf", **p), system, folder)
    JobWorld(trace.system.clusters, trace.system.types, trace.jobs)
    return trace


def counted(trace: Trace) -> dict[str, int]:
    return {finding.key: finding.n for finding in trace.findings}


def test_a_trace_has_a_type_for_each_job_and_starts_at_0(tmp_path: Path) -> None:
    trace = load(tmp_path, [line(7, 500), line(8, 520, run=30, asked=16)])
    types, jobs = trace.system.types, trace.jobs
    assert trace.system.clusters.n_nodes.tolist() == [16]
    assert jobs.work.arrival_s.tolist() == [0, 20]
    assert jobs.work.task_type.tolist() == [0, 1]
    assert (types.first.tolist(), types.nodes.tolist()) == ([0, 1, 2], [4, 16])
    assert (types.time_s.tolist(), types.planned_s.tolist()) == ([10, 30], [60, 60])
    assert (trace.job_id.to_list(), trace.requested_s.tolist()) == (["7", "8"], [60, 60])
    assert (jobs.labels["queue"].names, jobs.labels["queue"].codes.tolist()) == (("short",), [0, 0])
    assert set(jobs.labels) == {"user", "group", "queue"}
    assert trace.findings == ()
    system, same = read_trace(TraceParameters(trace="log.swf"), None, tmp_path)
    assert np.array_equal(same.work.arrival_s, jobs.work.arrival_s)
    assert system.types.n_types == 2


CONVENTIONS = {
    "no run time": (line(2, 1, run=0), {}, "no run time", 1),
    "run time not known": (line(2, 1, run=-1), {}, "no run time", 1),
    "kept as a second": (line(2, 1, run=0), {"no_run_time": "one-second"}, "no run time", 2),
    "no requested processors": (line(2, 1, asked=-1), {}, "no requested processors", 2),
    "no allocated processors": (line(2, 1, used=0), {"processors": "allocated"}, "no allocated processors", 2),
    "no processors": (line(2, 1, used=-1, asked=0), {}, "no processors", 1),
    "other processors": (line(2, 1, used=6), {}, "other processors", 2),
    "no request": (line(2, 1, request=-1), {}, "no requested time", 2),
    "no request, dropped": (line(2, 1, request=0), {"no_request": "drop"}, "no requested time", 1),
    "past the request": (line(2, 1, run=70), {}, "past the request", 2),
    "too large": (line(2, 1, asked=17), {}, "too large", 2),
}


@pytest.mark.parametrize(("odd", "p", "key", "n"), CONVENTIONS.values(), ids=CONVENTIONS)
def test_conventions(tmp_path: Path, odd: str, p: dict[str, Any], key: str, n: int) -> None:
    trace = load(tmp_path, [line(1, 0), odd], **p)
    assert counted(trace) == {key: 1}
    assert trace.jobs.n_jobs == n
    if key == "no requested time" and n == 2:
        assert trace.system.types.planned_s.tolist() == [60, 10]
    if key == "too large":
        assert np.diff(trace.system.types.first).tolist() == [1, 0]


def test_processors_are_those_that_were_asked_for_or_given(tmp_path: Path) -> None:
    lines = [line(1, 0, used=8, asked=3), line(2, 1, used=5, asked=-1)]
    assert load(tmp_path, lines).system.types.nodes.tolist() == [3, 5]
    assert load(tmp_path, lines, processors="allocated").system.types.nodes.tolist() == [8, 5]


SLURM = "JobID|Submit|Eligible|Start|Elapsed|Timelimit|AllocCPUS|ReqCPUS|AllocTRES|ReqTRES|Constraints|Reservation"


def load_slurm(folder: Path, *lines: str, **p: Any) -> Trace:
    (folder / "log.txt").write_text("\n".join((SLURM, *lines)))
    return load_trace(TraceParameters(trace="log.txt", machine_processors=64, **p), None, folder)


def test_jobs_of_slurm_get_what_they_were_given_unless_a_study_says_otherwise(tmp_path: Path) -> None:
    line = "1|1000|1000|1000|1:00|2:00|8|3||||"
    assert load_slurm(tmp_path, line).system.types.nodes.tolist() == [8]
    assert load_slurm(tmp_path, line, processors="requested").system.types.nodes.tolist() == [3]
    found = {finding.key: finding for finding in load_slurm(tmp_path, line).findings}
    assert found["other processors"].done == "replayed with the allocated ones"


def test_jobs_come_when_they_could_first_start(tmp_path: Path) -> None:
    lines = ("1|1000|1500|1600|1:00|2:00|1|1||||", "2|1100|1100|1200|1:00|2:00|1|1||||")
    moved, plain = (load_slurm(tmp_path, *lines, arrival=arrival) for arrival in ("eligible", "submission"))
    assert (moved.job_id.to_list(), moved.jobs.work.arrival_s.tolist()) == (["2", "1"], [0, 400])
    assert (plain.job_id.to_list(), plain.jobs.work.arrival_s.tolist()) == (["1", "2"], [0, 100])
    assert [trace.findings[0].part for trace in (moved, plain)] == ["changed", "lost"]
    recent = load_slurm(tmp_path, *lines, span_s=400.0)
    assert recent.job_id.to_list() == ["2"]


def test_what_clusters_lack_is_lost_and_said_so(tmp_path: Path) -> None:
    lines = (
        "1|1000|1000|1000|1:00|2:00|1|1|cpu=1,gres/gpu=1|cpu=1,gres/gpu=1,license/m=1,mem=4G|ib|course",
        "2|1000|1000|1000|1:00|2:00|1|1|cpu=1|cpu=1||",
    )
    found = {finding.key: (finding.n, finding.part) for finding in load_slurm(tmp_path, *lines).findings}
    keys = ("asks for GPUs", "asks for memory", "asks for licences", "asks for features", "in a reservation")
    assert found == dict.fromkeys(keys, (1, "lost"))


def test_a_span_of_the_log(tmp_path: Path) -> None:
    lines = [line(number, 100 * number) for number in range(1, 9)]
    trace = load(tmp_path, lines, from_s=150.0, span_s=300.0)
    assert trace.job_id.to_list() == ["3", "4", "5"]
    assert trace.jobs.work.arrival_s.tolist() == [0, 100, 200]
    with pytest.raises(InputError, match="no job is left to replay"):
        load(tmp_path, lines, from_s=1e6)


def test_nodes_of_the_logs_own_machine(tmp_path: Path) -> None:
    trace = load(tmp_path, [line(1, 0, asked=5)], unit="node")
    assert (trace.system.clusters.n_nodes.tolist(), trace.system.clusters.cores_per_node.tolist()) == ([4], [4])
    assert trace.system.types.nodes.tolist() == [2]
    with pytest.raises(InputError, match="so that nodes differ"):
        load(tmp_path, [line(1, 0)], "; MaxNodes: 3\n; MaxProcs: 16\n", unit="node")
    with pytest.raises(InputError, match="how many processors its machine has; its largest job has 4 processors"):
        load(tmp_path, [line(1, 0)], "")
    with pytest.raises(InputError, match=r"how many nodes its machine has; .*; give workload\.machine_nodes, or"):
        load(tmp_path, [line(1, 0)], "; MaxProcs: 16\n", unit="node")
    assert load(tmp_path, [line(1, 0)], "", machine_processors=8).system.clusters.n_nodes.tolist() == [8]
    assert load(tmp_path, [line(1, 0)], "; MaxNodes: 4\n").system.clusters.n_nodes.tolist() == [4]


def test_clusters_of_a_study_in_place_of_the_machine(tmp_path: Path) -> None:
    trace = load(tmp_path, [line(1, 0, asked=40), line(2, 1, asked=41), line(3, 2, asked=129)], "", TWO)
    types = trace.system.types
    assert types.first.tolist() == [0, 2, 3, 3]
    assert list(zip(types.cluster.tolist(), types.nodes.tolist(), strict=True)) == [(0, 10), (1, 1), (1, 1)]
    assert counted(trace) == {"too large": 1}
    with pytest.raises(InputError) as caught:
        load(tmp_path, [line(1, 0)], "", TWO, unit="node", machine_processors=5)
    assert [problem.where for problem in caught.value.problems] == ["workload.unit", "workload.machine_processors"]


def test_pstates_take_longer_in_whole_seconds(tmp_path: Path) -> None:
    types = load(tmp_path, [line(1, 0, run=10)], pstates=3).system.types
    assert types.pstate.tolist() == [0, 1, 2]
    assert types.time_s.tolist() == [10, math.ceil(10 / math.sqrt(0.75)), math.ceil(10 / math.sqrt(0.5))]
    assert types.power_w.tolist() == [60, 45, 30]


def test_dependencies_and_think_times(tmp_path: Path) -> None:
    lines = [
        line(1, 0),
        line(2, 5, asked=99),
        line(3, 10, after=1, think=7),
        line(4, 20, after=77),
        line(5, 30, after=6),
        line(6, 40, after=2),
        line(7, 50, after=3),
    ]
    trace = load(tmp_path, lines)
    assert trace.jobs.conditions is not None
    after, think_s = trace.jobs.conditions.one_before(trace.jobs.n_jobs)
    assert after.tolist() == [-1, -1, 0, -1, -1, -1, 2]
    assert think_s.tolist() == [0, 0, 7, 0, 0, 0, 0]
    kept = {"follows an absent job": 1, "follows a later job": 1, "follows a job that fits nowhere": 1, "too large": 1}
    assert counted(trace) == kept
    assert load(tmp_path, lines, dependencies="ignore").jobs.conditions is None
    assert load(tmp_path, lines[:1]).jobs.conditions is None


def test_a_job_follows_the_last_one_of_its_number(tmp_path: Path) -> None:
    """Before it, that is: one of the same number that comes later is another job."""
    trace = load(
        tmp_path, [line(1, 0), line(1, 3), line(2, 10, after=1), line(1, 20), line(4, 30, after=9), line(9, 31)]
    )
    assert trace.jobs.conditions is not None
    assert trace.jobs.conditions.one_before(6)[0].tolist() == [-1, -1, 1, -1, -1, -1]
    assert counted(trace) == {"number used again": 2, "follows a later job": 1}


Row = tuple[int, int, int, int, int, int]


def plain_last(rows: list[Row], at: int, alike: tuple[int, ...], n: int) -> list[int]:
    """What the last jobs that are like this one in some columns, and had ended when it came, had run."""
    ended = sorted(
        (row[2] + row[3] + row[4], i, row[4])
        for i, row in enumerate(rows)
        if all(row[column] == rows[at][column] >= 0 for column in alike) and row[2] + row[3] + row[4] <= rows[at][2]
    )
    return [run for *_, run in ended[-n:]]


def plain_recent(rows: list[Row], at: int) -> int:
    """The mean of a user's last two jobs that had ended."""
    last, request = plain_last(rows, at, (0,), 2), rows[at][-1]
    return min(request, math.ceil(sum(last) / 2)) if len(last) == 2 else request


def plain_quantile(rows: list[Row], at: int) -> int:
    """The shortest time that two thirds of a user's last five jobs of the program kept, or of all programs."""
    request = rows[at][-1]
    for alike in ((0, 1), (0,)):
        last = plain_last(rows, at, alike, 5)
        if len(last) >= 2:
            return min(request, next(run for run in sorted(last) if 3 * sum(r <= run for r in last) >= 2 * len(last)))
    return request


ROW = st.tuples(
    *(st.integers(low, high) for low, high in ((-1, 2), (-1, 1), (0, 60), (0, 20), (1, 40), (1, 60)))
)  # user, program, submission, wait, run time, request


@cases(divided_by=10)
@given(st.lists(ROW, min_size=1, max_size=25))
def test_predictions_are_those_of_a_plain_look_back(rows: list[Row]) -> None:
    rows.sort(key=lambda row: row[2])
    user, program, submit, wait, run, request = zip(*rows, strict=True)
    names = {"user": user, "application": program}
    texts = {name: [str(code) if code >= 0 else None for code in codes] for name, codes in names.items()}
    log = frame_of({**texts, "submit_s": submit, "wait_s": wait}, len(rows))
    quantile = TraceConventions(planned="quantile", planned_quantile=2 / 3, planned_jobs=5)
    for p, plain in ((TraceConventions(planned="recent"), plain_recent), (quantile, plain_quantile)):
        found = planned_times(log, np.array(run, float), np.array(request, float), p)
        assert found.tolist() == [plain(rows, at) for at in range(len(rows))]


def test_requests_can_be_nearer_to_what_jobs_take(tmp_path: Path) -> None:
    """The one that asked for 60 s and took 10 asks for 35 with half the slack; one that took longer asks as ever."""
    lines = [line(1, 0, run=10), line(2, 5, run=70)]
    for scale, requests in ((1.0, [60, 60]), (0.5, [35, 60]), (0.0, [10, 60]), (2.0, [110, 60])):
        trace = load(tmp_path, lines, requested_scale=scale)
        assert trace.requested_s.tolist() == requests
        assert trace.system.types.planned_s.tolist() == trace.system.types.allowed_s.tolist() == requests
        assert trace.jobs.work.hold_s.tolist() == [120, 120], "what jobs are worth does not depend on it"


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"planned_quantile": 0.5}, r"planned_quantile: found 0\.5 with planned = .requested.; is for planned"),
        ({"planned": "recent", "planned_jobs": 5}, "planned_jobs: found 5 with planned = .recent.; is for planned"),
        ({"planned": "quantile", "planned_quantile": 0.0}, r"planned_quantile: found 0\.0; must be above 0, and 1"),
        ({"planned": "quantile", "planned_jobs": 1}, "planned_jobs: found 1; must be 2 or more"),
        ({"requested_scale": -0.5}, r"requested_scale: found -0\.5; must be 0 or more"),
        ({"requested_scale": math.nan}, "requested_scale: found nan; must be 0 or more"),
    ],
)
def test_predictions_that_cannot_be(keys: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        TraceParameters(trace="log.swf", **keys)


SACCT = "JobID|Submit|Start|End|ElapsedRaw|AllocCPUS\n"


def sacct_jobs(folder: Path, submitted: list[str], **p: Any) -> Trace:
    lines = [f"{i + 1}|{at}|{at}|{at}|60|1" for i, at in enumerate(submitted)]
    (folder / "log.txt").write_text(SACCT + "\n".join(lines) + "\n")
    return load_trace(TraceParameters(trace="log.txt", machine_processors=4, **p), None, folder)


def test_local_times_of_a_log_are_put_right_where_its_zone_is_known(tmp_path: Path) -> None:
    """Clocks go from 02:00 to 03:00: whoever comes half an hour before and after that comes an hour apart, not two."""
    night = ["2026-03-29T01:30:00", "2026-03-29T03:30:00"]
    plain = sacct_jobs(tmp_path, night)
    assert plain.jobs.work.arrival_s.tolist() == [0, 7200]
    assert (plain.clock.told(0), plain.clock.is_local) == ("2026-03-29T01:30:00 local time", True)
    placed = sacct_jobs(tmp_path, night, timezone="Europe/Berlin")
    assert placed.jobs.work.arrival_s.tolist() == [0, 3600]
    assert placed.clock.told(0) == "2026-03-29T00:30:00 UTC"
    assert not {"shown twice", "skipped"} & {finding.key for finding in placed.findings}


def test_local_times_that_clocks_show_twice_or_skip(tmp_path: Path) -> None:
    autumn = ["2026-10-25T01:30:00", "2026-10-25T02:30:00", "2026-10-25T03:30:00"]
    trace = sacct_jobs(tmp_path, autumn, timezone="Europe/Berlin")
    assert trace.jobs.work.arrival_s.tolist() == [0, 3600, 3 * 3600]
    assert counted(trace)["shown twice"] == 1
    spring = ["2026-03-29T01:30:00", "2026-03-29T02:30:00", "2026-03-29T03:45:00"]
    trace = sacct_jobs(tmp_path, spring, timezone="Europe/Berlin")
    assert trace.jobs.work.arrival_s.tolist() == [0, 3600, 4500]
    assert counted(trace)["skipped"] == 1
    with pytest.raises(InputError, match=r"workload\.timezone: found 'Berlin'; must be a time zone by its name"):
        TraceParameters(trace="log.txt", timezone="Berlin")


def test_the_clock_of_a_log_is_that_of_the_first_job_that_is_replayed(tmp_path: Path) -> None:
    lines = [line(1, 50), line(2, 100)]
    header = HEADER + "; TimeZoneString: Europe/Paris\n"
    assert load(tmp_path, lines, header).clock == (1050.0, False, ZoneInfo("Europe/Paris"), 0.0, True)
    assert load(tmp_path, lines, header, from_s=10.0, timezone="Asia/Tokyo").clock[:3] == (
        1100.0, False, ZoneInfo("Asia/Tokyo"),
    )  # fmt: skip
    assert load(tmp_path, lines, "; MaxProcs: 16\n").clock == (None, False, None, 0.0, True)


def test_what_is_planned_can_be_chosen(tmp_path: Path) -> None:
    lines = [line(1, 0, run=10), line(2, 5, run=21), line(3, 100, run=5), line(4, 101, run=5, user=-1)]
    found = {
        p: load(tmp_path, lines, planned=p).system.types.planned_s.tolist() for p in ("requested", "true", "recent")
    }
    assert found == {"requested": [60] * 4, "true": [10, 21, 5, 5], "recent": [60, 60, 16, 60]}


def test_parameters_that_make_no_sense_are_told_all_at_once() -> None:
    with pytest.raises(InputError) as caught:
        TraceParameters(
            trace="x", from_s=-1.0, span_s=0.0, machine_processors=0, start_s=5.0, end_s=4.0, pstates=4,
            power_fractions=(0.5, 1.0),
        )  # fmt: skip
    assert len(caught.value.problems) == 6


def test_an_import_is_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joulewise.worlds.jobs.logs.PIECE_BYTES", 400)
    monkeypatch.setattr(trace_report, "_ROWS_AT_ONCE", 7)
    rng = np.random.default_rng(1)
    lines = [
        line(i, int(rng.integers(0, 50)), run=int(rng.integers(0, 9)), asked=int(rng.integers(-1, 19)))
        for i in range(1, 60)
    ]
    (tmp_path / "log.swf").write_text(HEADER + "\n".join([*lines, lines[3], "broken"]))
    table = import_log(tmp_path / "log.swf", tmp_path / "log.parquet")
    direct, imported = (read_trace_table(f"log.{ending}", tmp_path) for ending in ("swf", "parquet"))
    assert imported.jobs.equals(direct.jobs)
    assert (imported.about, imported.odd, imported.at) == (direct.about, direct.odd, direct.at)
    assert (table.odd["repeated line"], table.odd["no numbers"]) == (1, 1)
    traces = [load_trace(TraceParameters(trace=f"log.{ending}"), None, tmp_path) for ending in ("swf", "parquet")]
    assert traces[0].findings == traces[1].findings
    report = trace_report.report_on(tmp_path / "log.parquet", table)
    assert (report.n_logged, report.n_jobs) == (59, int((np.diff(traces[0].system.types.first) > 0).sum()))
    assert {f.key: f.n for f in report.findings} == counted(traces[0])
    assert {f.part for f in report.findings} == {"changed", "guessed", "lost"}
    assert (report.read["job_id"], report.read["gpus"]) == (59, 0)
    assert report.span_s >= traces[0].jobs.work.arrival_s[-1]
    assert {path.name for path in tmp_path.iterdir()} == {"log.swf", "log.parquet"}


def test_other_parquet_files_are_refused(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "other.parquet")
    with pytest.raises(InputError, match="of something else"):
        read_trace_table("other.parquet", tmp_path)
    pl.DataFrame({"a": [1]}).write_parquet(
        tmp_path / "old.parquet", metadata={"joulewise_jobs": '{"schema_version": 0}'}
    )
    with pytest.raises(InputError, match=r"found version 0.*import the log again"):
        read_trace_table("old.parquet", tmp_path)
    with pytest.raises(InputError, match="must be a log"):
        import_log(tmp_path / "other.parquet", tmp_path / "x.parquet")


def test_columns_and_oddities_are_explained() -> None:
    assert len(SCHEMA) == len(LOG_COLUMNS)
    assert all(column.meaning for column in LOG_COLUMNS)
    assert all(oddity.reason and oddity.done for oddity in READING.values())
