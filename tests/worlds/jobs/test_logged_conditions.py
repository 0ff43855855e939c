"""What jobs of a log wait for: dependencies as Slurm writes them, begin times, limits of arrays, parts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from joulewise.check.jobs.allocation import check_jobs
from joulewise.errors import InputError
from joulewise.kernels.jobs.sites import permuting
from joulewise.model.jobs import Fate, JobWorld
from joulewise.policies.jobs.table import JOB_POLICIES
from joulewise.simulate.jobs.run import simulate_jobs
from joulewise.simulate.jobs.scheduler import Scheduler
from joulewise.worlds.jobs.dependencies import OddDependencyError, dependencies_in
from joulewise.worlds.jobs.sites.side_by_side import IN_ANY_ORDER
from joulewise.worlds.jobs.sites.site import NodeGroup, Partition, Qos, Reservation, SiteTables
from joulewise.worlds.jobs.trace_files import import_log, read_trace_table
from joulewise.worlds.jobs.trace_report import report_on
from joulewise.worlds.jobs.traces import Trace, TraceParameters, load_trace

HEAD = "JobID|Submit|Start|ElapsedRaw|TimelimitRaw|AllocCPUS|State|User|JobName|Dependency|Begin|ArrayTaskLimit\n"
SITE = SiteTables(
    name="s", nodes=(NodeGroup(name="cpu", count=4, cores=2),), partitions=(Partition(name="p", nodes=("cpu",)),)
)


def line(job: str, submit: int = 0, run: int = 60, cores: int = 1, **more: Any) -> str:
    """A line of sacct with what a table of squeue could add to it; when it started is not told unless it is said."""
    cells = {"state": "COMPLETED", "user": "ana", "name": "a", "dependency": "", "begin": "", "limit": "", **more}
    start = cells.pop("start", None)
    times = [f"2026-01-01T00:{at // 60:02}:{at % 60:02}" if at is not None else "Unknown" for at in (submit, start)]
    return "|".join(map(str, (job, *times, run, 60, cores, *cells.values()))) + "\n"


def load(folder: Path, *lines: str, system: SiteTables | None = SITE, **changes: Any) -> Trace:
    (folder / "log.txt").write_text(HEAD + "".join(lines))
    more: dict[str, Any] = {} if system else {"machine_processors": 8}
    return load_trace(TraceParameters(trace="log.txt", **more, **changes), system, folder)


def run(trace: Trace, name: str = "easy") -> dict[str, float]:
    """When each job starts."""
    world = JobWorld(trace.system.clusters, trace.system.types, trace.jobs, site=trace.site)
    allocation = simulate_jobs(world, Scheduler(JOB_POLICIES[name])).allocation
    return dict(zip(trace.job_id.to_list(), allocation.start_s.tolist(), strict=True))


def counted(trace: Trace) -> dict[str, int]:
    return {found.key: found.n for found in trace.findings}


LATER = {
    "afterany:1": 60, "afterok:1": 60, "after:1": 0, "after:1+2": 120, "afterany:1:2": 100, "afterok:1,after:1+2": 120,
    "afterok:1?afterany:2": 60, "afterok:1(unfulfilled)": 60, "afterany:77": 0, "afterany:77?afterok:1": 0,
    "afternotok:2": 100, "afterok:3_*": 30, "afterany:3": 30, "afterok:3_1": 20, "aftercorr:3": 30, "afterok:9+1": 40,
}  # fmt: skip
"""When a job starts that waits so: job 1 runs for 60 s, job 2 fails after 100 s, 3 is an array and 9 a mixed job."""


@pytest.mark.parametrize("text", LATER)
def test_jobs_wait_as_slurm_says(text: str, tmp_path: Path) -> None:
    before = (
        line("1"), line("2", run=100, state="FAILED"), line("3_1", run=20), line("3_2", run=30), line("9+0", run=40),
        line("9+1", run=40),
    )  # fmt: skip
    trace = load(tmp_path, *before, line("50_2" if "corr" in text else "50", dependency=text))
    assert run(trace)[trace.job_id[-1]] == LATER[text]


def test_a_singleton_waits_for_all_before_it_of_its_name_and_user(tmp_path: Path) -> None:
    first = (line("1"), line("2", name="b", run=500), line("3", run=100), line("4", user="bob", run=700))
    starts = run(load(tmp_path, *first, *(line(str(n), n, dependency="singleton") for n in (5, 6)), line("7", 7)))
    assert starts == {"1": 0, "2": 0, "3": 0, "4": 0, "5": 100, "6": 160, "7": 7}


def test_a_singleton_without_a_name_does_not_wait(tmp_path: Path) -> None:
    trace = load(tmp_path, line("1", name=""), line("2", 5, name="", dependency="singleton"))
    assert run(trace) == {"1": 0, "2": 5}
    assert counted(trace)["one of a name, without a name"] == 1


def test_begin_times_limits_of_arrays_and_parts(tmp_path: Path) -> None:
    tasks = (line(f"3_{n}", limit=2, run=50) for n in range(5))
    begin = line("4", begin="2026-01-01T00:05:00", start=300)
    trace = load(tmp_path, line("1", cores=8, run=20), *tasks, begin)
    starts = run(trace)
    assert [starts[f"3_{n}"] for n in range(5)] == [20, 20, 70, 70, 120]
    assert starts["4"] == 300
    assert trace.jobs.demands is not None
    assert trace.jobs.demands.limits.names == ("array 3",)
    mixed = run(load(tmp_path, line("1", cores=6), line("9+0", 5, cores=4), line("9+1", 5, cores=4), line("10", 6)))
    assert mixed == {"1": 0, "9+0": 60, "9+1": 60, "10": 120}  # it fits before, and would delay the parts


def test_what_waits_for_what_cannot_come_never_starts(tmp_path: Path) -> None:
    failed = line("1", state="FAILED")
    trace = load(tmp_path, failed, line("2", dependency="afterok:1"), line("3", dependency="afterany:2"))
    world = JobWorld(trace.system.clusters, trace.system.types, trace.jobs, site=trace.site)
    allocation = simulate_jobs(world, Scheduler(JOB_POLICIES["easy"])).allocation
    assert allocation.fate.tolist() == [Fate.RAN, Fate.WAITING, Fate.WAITING]
    assert np.isinf(allocation.ready_s[1:]).all()
    assert counted(trace)["never met"] == 2


def test_what_is_not_there_is_met_and_told(tmp_path: Path) -> None:
    trace = load(tmp_path, line("1", cores=99), line("2", dependency="afterok:1"), line("3", dependency="afterok:8"))
    assert trace.jobs.conditions is None
    counts = counted(trace)
    assert (counts["depends on a job that fits nowhere"], counts["depends on an absent job"]) == (1, 1)
    early = load(tmp_path, line("1", run=400), line("2", begin="2026-01-01T00:05:00", start=10))
    assert early.jobs.conditions is None
    assert counted(early)["begins before its begin time"] == 1


def test_parts_that_can_never_run_together(tmp_path: Path) -> None:
    trace = load(tmp_path, line("9+0", cores=6), line("9+1", cores=4), line("8+0", cores=99), line("8+1"), line("1"))
    assert np.diff(trace.system.types.first).tolist() == [0, 0, 0, 0, 1]
    told = [found.reason for found in trace.findings]
    assert any("they need 10 processors together, and their nodes have 8 processors" in reason for reason in told)
    assert any("another part of them fits nowhere" in reason for reason in told)


def test_parts_whose_limits_forbid_them_together(tmp_path: Path) -> None:
    few = replace(
        SITE, qos=(Qos(name="few", max_jobs_per_user=1),), partitions=(replace(SITE.partitions[0], qos="few"),)
    )
    trace = load(tmp_path, line("9+0"), line("9+1"), line("1"), system=few)
    assert np.diff(trace.system.types.first).tolist() == [0, 0, 1]
    said = "a limit of few/user/ana does not allow their jobs together"
    assert counted(trace)[said] == 2


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load(
            tmp_path,
            line("1", dependency="afterok:3"),
            line("2", dependency="afterwards:1"),
            line("3", dependency="afterany:1"),
            line("4", dependency="afterok:4"),
            line("5", dependency="afterok:x"),
            line("6", dependency="afterok:1,afterany:2?after:3"),
            line("7", begin="2026-01-05T00:00:00"),
            line("8", begin="2026-01-05T00:00:00"),
        )
    said = [str(problem) for problem in caught.value.problems]
    assert len(said) == 6
    assert "job 2: found 'afterwards' in 'afterwards:1'; must be of after, afterany, afterok" in said[0]
    assert "job 4: found 'afterok:4', which is a dependency on itself" in said[1]
    assert "job 5: found 'afterok:x'; must be like afterok:17" in said[2]
    assert "job 6: found both" in said[3]
    assert "begin time of job 7 and 1 other: found 4 d after its submission, which is outside the log" in said[4]
    assert "found a cycle: 1 after 3 after 1; none would ever start" in said[5]
    assert all('dependencies = "ignore"' in text for text in said)
    with pytest.raises(InputError) as caught:
        load(tmp_path, line("1_1", limit=-1), line("2", dependency="afterwards:1"))
    assert ["found -1" in str(problem) for problem in caught.value.problems] == [True, False]


def test_a_limit_of_0_is_none(tmp_path: Path) -> None:
    trace = load(tmp_path, *(line(f"3_{n}", limit=0, cores=2, run=50) for n in range(5)))
    assert list(run(trace).values()) == [0, 0, 0, 0, 50]


def test_what_the_log_contradicts_counts_as_met(tmp_path: Path) -> None:
    trace = load(
        tmp_path,
        line("1", state="FAILED", start=0),
        line("2", start=60, dependency="afterok:1"),  # released by hand
        line("3", start=5, dependency="afterany:1"),
        line("4", start=70, dependency="afterok:1?afternotok:1"),  # one of the two had come
        line("5", start=0, dependency="after:1+2,afterok:77"),
        line("6", start=59, dependency="afterany:1"),  # within a second
        line("7", dependency="afterok:1"),  # nobody knows whether it ever started
        line("8", start=60, dependency="afternotok:6"),
    )
    starts = run(trace)
    assert [starts[job] for job in "234568"] == [0, 0, 60, 0, 60, 0]
    assert np.isnan(starts["7"])
    counts = counted(trace)
    assert (counts["started without it"], counts["depends on an absent job"], counts["never met"]) == (4, 1, 1)


def test_an_import_tells_what_the_log_contradicts(tmp_path: Path) -> None:
    log, out = tmp_path / "log.txt", tmp_path / "log.parquet"
    log.write_text(HEAD + line("1", state="FAILED", start=0) + line("2", start=60, dependency="afterok:1"))
    report = report_on(out, import_log(log, out))
    assert [found.n for found in report.findings if found.key == "started without it"] == [1]


def test_how_a_job_ended_is_the_word_of_the_log(tmp_path: Path) -> None:
    late = (line("1", run=7200), line("2", run=7200, state=""), line("3", dependency="afterok:1"))
    trace = load(tmp_path, *late, line("4", dependency="afterok:2"), line("5", dependency="afternotok:1"))
    world = JobWorld(trace.system.clusters, trace.system.types, trace.jobs, site=trace.site)
    scheduler = Scheduler(JOB_POLICIES["easy"], overrun="kill")
    allocation = simulate_jobs(world, scheduler).allocation
    assert allocation.start_s[2] == 3600, "the log says that job 1 ended well"
    assert np.isnan(allocation.start_s[3:]).all(), "of job 2 it says nothing, and the replay kills it"
    assert check_jobs(world, allocation, scheduler) == []
    assert counted(trace)["never met"] == 1


def test_any_of_several_is_no_cycle_where_one_can_come(tmp_path: Path) -> None:
    first = line("1", dependency="afterany:2?afterany:3")
    trace = load(tmp_path, first, line("2", dependency="afterany:1"), line("3"))
    assert run(trace) == {"1": 60, "2": 120, "3": 0}
    with pytest.raises(InputError, match="found a cycle: 1 after 3 after 1"):
        load(tmp_path, first, line("2", dependency="afterany:1"), line("3", dependency="afterany:1"))


def test_kinds_that_are_not_replayed_as_they_are(tmp_path: Path) -> None:
    trace = load(tmp_path, line("1"), line("2", dependency="afterburstbuffer:1"), line("3", dependency="expand:1"))
    assert run(trace) == {"1": 0, "2": 60, "3": 0}
    counts = counted(trace)
    assert (counts["afterburstbuffer"], counts["expand"]) == (1, 1)


def test_parts_without_the_others_are_told(tmp_path: Path) -> None:
    assert "part without the others" not in counted(load(tmp_path, line("9+0"), line("9+1")))
    trace = load(tmp_path, line("9+0"), line("9+2"), line("8+0"), line("7+0"), line("7+1"))
    assert counted(trace)["part without the others"] == 3


TWO_KINDS = SiteTables(
    name="s",
    nodes=(NodeGroup(name="a", count=1, cores=2), NodeGroup(name="b", count=1, cores=4)),
    partitions=(
        Partition(name="both", nodes=("a", "b"), default=True),
        Partition(name="small", nodes=("a",)),
    ),
)
IN_PARTITIONS = "JobID|Submit|ElapsedRaw|TimelimitRaw|AllocCPUS|AllocNodes|State|Partition\n"


@pytest.mark.parametrize("name", ["fcfs", "easy", "conservative"])
def test_no_part_takes_what_only_another_can_use(name: str, tmp_path: Path) -> None:
    rows = [("9+0", 2, "both"), ("9+1", 2, "small"), ("10", 1, "both")]
    lines = [f"{job}|2026-01-01T00:00:00|60|60|{cores}|1|COMPLETED|{at}\n" for job, cores, at in rows]
    (tmp_path / "log.txt").write_text(IN_PARTITIONS + "".join(lines))
    trace = load_trace(TraceParameters(trace="log.txt"), TWO_KINDS, tmp_path)
    assert run(trace, name) == {"9+0": 0, "9+1": 0, "10": 0}


def test_parts_that_find_no_places_in_any_order_are_refused(tmp_path: Path) -> None:
    three = replace(SITE, nodes=(NodeGroup(name="cpu", count=3, cores=4),))
    rows = [("9+0", 3), ("9+1", 3), ("9+2", 3), ("9+3", 3)]
    lines = [f"{job}|2026-01-01T00:00:00|60|60|{cores}|1|COMPLETED|p\n" for job, cores in rows]
    (tmp_path / "log.txt").write_text(IN_PARTITIONS + "".join(lines))
    trace = load_trace(TraceParameters(trace="log.txt"), three, tmp_path)
    assert np.diff(trace.system.types.first).tolist() == [0, 0, 0, 0]
    assert any("in whatever order they are given their nodes" in found.reason for found in trace.findings)
    assert IN_ANY_ORDER == permuting.IN_ANY_ORDER


def test_a_limit_that_a_job_cannot_keep_is_told_once(tmp_path: Path) -> None:
    most = replace(SITE, qos=(Qos(name="few", max={"cores": 2}),), partitions=(replace(SITE.partitions[0], qos="few"),))
    trace = load(tmp_path, line("1", cores=3), line("2", cores=2), system=most)
    told = [found.reason for found in trace.findings if "the site would never start" in found.reason]
    assert told == ["jobs that the site would never start: few may have 2 processors in all"]


def test_jobs_of_one_instant_are_beyond_a_limit_on_submissions(tmp_path: Path) -> None:
    few = replace(SITE, qos=(Qos(name="few", max_submitted=2),), partitions=(replace(SITE.partitions[0], qos="few"),))
    trace = load(tmp_path, *(line(f"3_{n}", run=50) for n in range(5)), system=few)
    assert counted(trace)["beyond max_submitted"] == 3


def test_jobs_count_from_their_submission_on(tmp_path: Path) -> None:
    few = replace(SITE, qos=(Qos(name="few", max_submitted=2),), partitions=(replace(SITE.partitions[0], qos="few"),))
    chain = (line("1"), line("2", 1, dependency="afterany:1"), line("3", 2), line("4", 70), line("5", 71))
    trace = load(tmp_path, *chain, system=few)
    world = JobWorld(trace.system.clusters, trace.system.types, trace.jobs, site=trace.site)
    allocation = simulate_jobs(world, Scheduler(JOB_POLICIES["easy"])).allocation
    assert allocation.fate.tolist() == [Fate.RAN, Fate.RAN, Fate.DROPPED, Fate.RAN, Fate.DROPPED]
    assert check_jobs(world, allocation) == []


def test_reservations_for_some_do_not_go_with_resamples(tmp_path: Path) -> None:
    mine = Reservation(name="course", start=0.0, end=3600.0, nodes={"cpu": 1}, users=("ana",))
    days = [f"{n}|2026-01-0{n}T00:00:00|60|60|1|1|COMPLETED|p\n" for n in range(1, 9)]
    (tmp_path / "log.txt").write_text(IN_PARTITIONS + "".join(days))
    tables = replace(SITE, reservations=(mine,))
    with pytest.raises(InputError, match=r"workload.resample: found reservations for users or accounts \(course\)"):
        load_trace(TraceParameters(trace="log.txt", resample_s=86_400.0), tables, tmp_path)


def test_on_clusters_jobs_wait_for_one_earlier_job_alone(tmp_path: Path) -> None:
    chain = (line("1"), line("2", dependency="afterany:1"))
    assert run(load(tmp_path, *chain, system=None)) == {"1": 0, "2": 60}
    with pytest.raises(InputError, match=r"found jobs with dependency and jobs with array_limit, and clusters"):
        load(tmp_path, *chain, line("3_1", limit=1, dependency="after:1"), system=None)
    free = load(tmp_path, *chain, line("3_1", limit=1, dependency="after:1"), system=None, dependencies="ignore")
    assert free.jobs.conditions is None


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("sbatch --dependency=afterok:17:18 -t 5 job.sh", {"dependency": "afterok:17:18"}),
        ("sbatch -d singleton job.sh -d 5", {"dependency": "singleton"}),
        ("sbatch -a 0-99%5 job.sh", {"array_limit": 5}),
        ("sbatch --array=1,3,7-9%2 job.sh", {"array_limit": 2}),
        ("sbatch --begin=now+2hours job.sh", {"begin_s": 7200}),
        ("sbatch --begin=now+90 job.sh", {"begin_s": 90}),
        ("sbatch -b 2026-01-01T00:02 job.sh", {"begin_s": 120}),
        ("sbatch --begin=now job.sh", {}),
        ("sbatch job.sh -b 32 --depth 2", {}),
        ("sbatch --wrap='run --dependency=afterok:1 -a 0-9%3' -d after:5", {"dependency": "after:5"}),
        ("sbatch --wrap='run --dependency=afterok:1'", {}),
        ('sbatch --job-name="a -b now+60 b" -b now+90 job.sh', {"begin_s": 90}),
        ("sbatch -H --exclusive job.sh --dependency=afterok:1", {}),
        ("srun --dep=afterok:1 -n 4 prog --begin=now+60", {"dependency": "afterok:1"}),
        ("sbatch --dependency=afterok:1 --dependency=afterok:2 job.sh", {"dependency": "afterok:2"}),
        ("sbatch --begin='now + 2 hours' job.sh", {"begin_s": 7200}),
        ("sbatch --job-name=ana's -dafterok:1 job.sh", {"dependency": "afterok:1"}),
    ],
)
def test_what_the_command_of_submission_says(command: str, wanted: dict[str, Any], tmp_path: Path) -> None:
    head = "JobID|Submit|Start|ElapsedRaw|AllocCPUS|SubmitLine\n"
    (tmp_path / "log.txt").write_text(f"{head}1|2026-01-01T00:00:00|2026-01-01T00:00:00|60|1|{command}\n")
    table = read_trace_table("log.txt", tmp_path)
    row = table.jobs.row(0, named=True)
    assert {name: row[name] for name in ("dependency", "begin_s", "array_limit") if row[name] is not None} == wanted
    assert table.odd == {}


def test_begin_times_in_another_form_or_zone_are_told(tmp_path: Path) -> None:
    head = "JobID|Submit|Start|ElapsedRaw|AllocCPUS|Begin|SubmitLine\n"
    rows = (
        "1|2026-01-01T00:00:00|2026-01-01T00:00:00|60|1||sbatch --begin=teatime x\n"
        "2|2026-01-01T00:00:00Z|2026-01-01T00:00:00Z|60|1|2026-01-01T01:00:00|\n"
    )
    (tmp_path / "log.txt").write_text(head + rows)
    odd = read_trace_table("log.txt", tmp_path).odd
    assert (odd["odd begin time"], odd["begin in another zone"]) == (1, 1)


def test_delays_are_of_starts_alone() -> None:
    found = dependencies_in("after:5+10:6,afterany:7+1")
    assert [(each.word, each.job, each.delay_s) for each in found.each] == [
        ("after", "5", 600.0), ("after", "6", 0.0), ("afterany", "7+1", 0.0),
    ]  # fmt: skip
    with pytest.raises(OddDependencyError, match="found 'singleton:5'"):
        dependencies_in("singleton:5")
