"""Studies of parallel jobs end to end: what they write, that it can be verified, and what is told before they run."""

from __future__ import annotations

import gzip
import math
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from joulewise.errors import InputError
from joulewise.study import Results, read_study, verify
from joulewise.study.jobs.schedule import JobsKind, scheduler_of
from joulewise.study.kinds.keeping import forget_worlds
from joulewise.study.parsing.schema import study_keys
from joulewise.study.running.planning import plan
from joulewise.study.spec.column import CLUSTERS as CLUSTER_TABLE
from joulewise.study.spec.column import FINDINGS, JOB_TRACES, JOB_TYPES, JOBS, PIECES, QUEUES, RUNS, USERS
from joulewise.study.spec.source import Draw
from joulewise.study.spec.trials import BLOCKS, STAGE
from joulewise.study.store.store import Store
from joulewise.worlds.jobs.traces import Trace, TraceParameters, load_trace
from tests.strategies.small import MANAGER, SYSTEM
from tests.strategies.small_jobs import (
    CLUSTERS,
    LOG,
    LOGGED,
    TABLED,
    Change,
    job_study,
    logged_study,
    run_jobs,
    tabled_study,
)
from tests.strategies.sources import EXAMPLES
from tools import small_site, small_trace


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run_jobs(job_study(CLUSTERS), tmp_path_factory.mktemp("clusters"))


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run_jobs(logged_study(tmp_path_factory.mktemp("log")), tmp_path_factory.mktemp("logged"))


@pytest.fixture(scope="module")
def tabled(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run_jobs(tabled_study(tmp_path_factory.mktemp("tables")), tmp_path_factory.mktemp("tabled"))


@pytest.fixture(params=["drawn", "logged", "tabled"])
def results(request: pytest.FixtureRequest) -> Results:
    found: Results = request.getfixturevalue(request.param)
    return found


def documented(table: str) -> list[str]:
    return [column.name for column in JobsKind().all_columns() if column.table == table]


def test_every_run_is_done_and_holds(results: Results) -> None:
    assert results.failed.is_empty(), results.failed["error"].to_list()
    verdicts = verify(results.folder, files=results.study.folder)
    assert {verdict.problems for verdict in verdicts} == {()}
    assert [verdict.has_records for verdict in verdicts] == (results.runs["trial"] == 0).to_list()


def test_every_column_that_is_written_is_documented(results: Results) -> None:
    wanted = documented(RUNS)
    written = [name for name in results.runs.columns if "." not in name.partition(":")[0]]
    assert {next((w for w in wanted if fnmatchcase(name, w)), name) for name in written} == set(wanted) - {
        STAGE,
        BLOCKS,
    }
    keys = {name for name in results.runs.columns if "." in name.partition(":")[0]}
    assert keys <= {key.column for key in study_keys()}
    for table in (JOBS, JOB_TRACES, CLUSTER_TABLE, JOB_TYPES, USERS, QUEUES, FINDINGS):
        there = results.details(table).columns[1:]
        assert there == [name for name in documented(table) if name in there]
    uncapped = [name for name in documented(JOB_TRACES) if name != "power_cap_w"]
    assert results.details(JOB_TRACES).columns[1:] == uncapped


def test_what_is_earned_lies_below_the_bound(drawn: Results) -> None:
    runs = drawn.runs
    assert (runs["utility"] <= runs["utility_bound"] * (1 + 1e-9)).all()
    assert (runs["energy_j"] <= runs["budget_j"] * (1 + 1e-9)).all()
    assert runs.group_by("trial").agg(pl.col("world").n_unique())["world"].to_list() == [1, 1]
    assert set(runs["bound"]) == {"prices"}


def test_use_over_time_sums_up_to_the_metrics(results: Results) -> None:
    steps = results.details(JOB_TRACES)
    for row in results.runs.filter(pl.col("trial") == 0).iter_rows(named=True):
        mine = steps.filter(pl.col("run") == row["run"])
        length_s = float(mine["step_s"].sum())
        for name, metric in (("busy_percent", "busy_percent"), ("queue_length", "mean_queue_length")):
            assert float((mine[name] * mine["step_s"]).sum()) / float(length_s) == pytest.approx(
                row[metric], rel=1e-6, abs=1e-9
            )
        assert mine["utility_cumulative"][-1] == pytest.approx(row["utility"])
        if row["energy_j"] is not None:
            assert (mine["power_w"] * mine["step_s"]).sum() == pytest.approx(row["energy_j"])


def test_a_log_is_replayed_on_its_own_machine(logged: Results) -> None:
    """By hand: EASY starts 1 and, as 2 waits for all nodes, 3 behind it: 1 asked for 200 s, 3 for 80 s."""
    easy = logged.runs.row(by_predicate=pl.col("scheduler.policy") == "easy", named=True)
    jobs = logged.details(JOBS).filter(pl.col("run") == easy["run"])
    starts = dict(zip(jobs["job_id"], jobs["start_s"], strict=True))
    assert starts == {"1": 0.0, "2": 100.0, "3": 20.0, "5": 150.0, "6": None}
    assert jobs["fate"].to_list() == ["ran", "ran", "ran", "ran", "impossible"]
    assert jobs["user"].to_list() == ["1", "2", "1", "2", "3"]
    assert jobs["requested_s"].to_list() == [200.0, 50.0, 80.0, 40.0, 60.0]
    assert (easy["jobs_impossible"], easy["users"], easy["bound"]) == (1, 3, "none")
    assert easy["energy_per_job_j"] == pytest.approx(easy["energy_j"] / 4)
    assert easy["makespan_s"] == 210.0
    reasons = " ".join(logged.details(FINDINGS)["reason"])
    assert "no cluster" in reasons
    assert logged.details(USERS).filter(pl.col("run") == easy["run"])["jobs"].to_list() == [2, 2, 1]


def test_tables_of_ones_own(tabled: Results) -> None:
    """By hand: two jobs start on a at once, one by one, the next two on b with the number of nodes listed first."""
    jobs = tabled.details(JOBS)
    assert jobs["start_s"].to_list() == [0.0, 5.0, 7.0, 9.0]
    assert jobs["cluster"].to_list() == ["a", "a", "b", "b"]
    assert jobs["energy_j"].null_count() == 4
    assert tabled.details(CLUSTER_TABLE)["n_nodes"].to_list() == [4, 8]
    assert tabled.details(USERS)["user"].to_list() == ["ann", "bob"]


def test_a_changed_start_is_found(logged: Results, tmp_path: Path) -> None:
    store = Store(logged.folder)
    run = logged.runs["run"][0]
    path = store.detail_file(JOBS, run)
    kept = store.read_table(path)
    store.write_table(path, kept.with_columns(pl.col("start_s") + 1.0))
    verdict = next(verdict for verdict in verify(logged.folder, files=logged.study.folder) if verdict.run == run)
    store.write_table(path, kept)
    assert verdict.problems == ("jobs: start_s: 1 is stored, 0 comes out",)


def test_a_log_is_read_once_to_check_and_to_run_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(parameters: TraceParameters, *rest: Any) -> Trace:
        read.append(parameters.trace)
        return load_trace(parameters, *rest)

    forget_worlds()
    monkeypatch.setattr("joulewise.study.jobs.sources.load_trace", counted)
    study = logged_study(tmp_path, check=True)
    assert run_jobs(study, tmp_path / "results").runs.height == 2
    assert read == ["log.swf"]
    (tmp_path / "log.swf").write_text(LOG.replace("1 0 -1 100", "1 0 -1 90"))
    run_jobs(study, tmp_path / "changed")
    assert read == ["log.swf"] * 2  # another content is another world


def test_a_day_of_the_papers_is_mapped_each_minute_and_a_log_at_every_change(tmp_path: Path) -> None:
    day, log = job_study(CLUSTERS).points[0], logged_study(tmp_path).points[0]
    for point, interval_s in ((day, 60.0), (log, math.inf)):
        scheduler = scheduler_of(point.workload, JobsKind().build(point.decision, Draw(0, 0, tmp_path)))
        assert scheduler.mapping_interval_s == interval_s


def test_a_log_is_run_once_unless_chance_decides(tmp_path: Path) -> None:
    study = logged_study(tmp_path, lambda text: "trials = 3\n" + text.replace('"conservative"', '"random"'))
    assert [run.trial for run in plan(study)] == [0, 0, 1, 2]


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_suspended_and_lost_jobs_leave_pieces(tmp_path: Path) -> None:
    switches = 'preempts = true\ncheckpoint = "1 min"\nrestart = "30 s"\n'
    failing = 'generator = "clusters"\nmtbf = "40 h"\nmttr = "1 h"'
    study = job_study(
        CLUSTERS,
        lambda text: text.replace('["easy", "max-upe", "random"]', '"max-util"').replace("trials = 2", "")
        .replace('[supply]\nbudget = "300 MJ"', "")
        .replace('generator = "clusters"', failing).replace("jobs_per_day = 120", "jobs_per_day = 300") + switches,
    )  # fmt: skip
    results = run_jobs(study, tmp_path)
    assert results.failed.is_empty(), results.failed["error"].to_list()
    assert {verdict.problems for verdict in verify(results.folder)} == {()}
    pieces = results.details(PIECES)
    assert pieces.columns[1:] == [name for name in documented(PIECES) if name != "job_id"]  # which only logs give
    assert set(pieces["is_lost"]) == {False, True}
    assert results.runs["bound"].to_list() == ["preemptive-prices"]


def test_an_order_of_ones_own(tmp_path: Path) -> None:
    own = """
import joulewise

@joulewise.jobs.heuristic()
def widest(wait_s, planned_s, nodes, size, resources, usage, standing):
    \"\"\"Most nodes first.\"\"\"
    return nodes
"""
    (tmp_path / "own.py").write_text(own)
    study = logged_study(tmp_path, lambda text: text.replace('["easy", "conservative"]', '"own.py:widest"'), check=True)
    results = run_jobs(study, tmp_path / "out")
    assert results.failed.is_empty(), results.failed["error"].to_list()
    assert results.about["policies"]["own.py:widest"] == {"title": "widest", "mode": "in-order"}


# --- mistakes -----------------------------------------------------------------------------------------------------


def put(old: str, new: str) -> Change:
    return lambda text: text.replace(old, new)


def after(more: str) -> Change:
    return lambda text: text + more


BAD: dict[str, tuple[str, Change, str]] = {
    "a system of machines": (
        CLUSTERS, put('"clusters"\ncores', '"oversubscribed"\ncores'),
        "system.generator: found 'oversubscribed'; is for studies with [manager] or [optimise]",
    ),
    "a day of tasks": (
        CLUSTERS, put('"parallel-day"', '"day"'),
        "workload.generator: found 'day'; is for studies with [manager]; here, give jobs or trace, or generator = "
        '"parallel-day" or "lublin"',
    ),
    "clusters with a manager": (
        CLUSTERS.partition("[scheduler]")[0] + MANAGER, lambda t: t,
        "system.generator: found 'clusters'; is for studies with [scheduler]; here, give etc_s, or generator = ",
    ),
    "a log with a manager": (
        "name = 'a'" + SYSTEM + "[workload]\ntrace = 'log.swf'" + MANAGER, lambda t: t,
        "workload.trace: found 'log.swf'; is for studies with [scheduler]",
    ),
    "both sections": (CLUSTERS, after(MANAGER), "found [manager] and [scheduler]; a study has one of them"),
    "a serial policy": (CLUSTERS, put('"easy"', '"max-max-upt"'), "scheduler.policy: found 'max-max-upt'"),
    "a policy that is misspelt": (CLUSTERS, put('"easy"', '"esay"'), "found 'esay'; must be one of"),
    "no clusters": (
        CLUSTERS, lambda t: t[: t.index("[system]")] + t[t.index("[workload]") :],
        "system: found none, or 'as-logged', for the workload 'parallel-day'; only a trace comes with a machine",
    ),
    "a filter without a budget": (
        CLUSTERS, lambda t: t.replace('[supply]\nbudget = "300 MJ"', "") + 'energy_filter = "per-task"',
        "scheduler.energy_filter: found per-task without a budget",
    ),
    "a budget that is too small": (CLUSTERS, put("300 MJ", "1 J"), "supply.budget: found 1 J; must be"),
    "leniency without a filter": (CLUSTERS, after("leniency = 2.0"), "scheduler.leniency: found 2; multiplies"),
    "a tariff for nobody": (CLUSTERS, after("follows_tariff = true"), "scheduler.follows_tariff: found true; needs a"),
    "leniency that adapts and is given": (
        CLUSTERS, after('energy_filter = "per-task"\nadapts_leniency = true\nleniency = [1.0, 2.0]'),
        "scheduler.leniency: found 2 with adapts_leniency = true; cannot be given where it adapts",
    ),
    "ties for nobody": (
        LOGGED, after('cluster_ties = "fastest"'), "scheduler.cluster_ties: found 'fastest'; is for policies",
    ),
    "nothing held ahead": (
        LOGGED, lambda t: t.replace('["easy", "conservative"]', '"fcfs"') + 'commitment = "place-holders"',
        "scheduler.commitment: found 'place-holders'; says how nodes are held ahead",
    ),
    "an overrun that cannot be": (CLUSTERS, after('overrun = "kill"'), "scheduler.overrun: found 'kill'; is for jobs"),
    "a checkpoint for nobody": (CLUSTERS, after('checkpoint = "1 min"'), "scheduler.checkpoint: found 1 min; is for"),
    "weights for nobody": (CLUSTERS, after("weights = {age = 2}"), "scheduler.weights: found weights with the policy"),
    "a weight of nothing": (
        CLUSTERS, lambda t: t.replace('["easy", "max-upe", "random"]', '"multifactor"') + "weights = {old = 2}",
        "scheduler.weights: found 'old'; must be one of age",
    ),
    "reservations by name": (CLUSTERS, after('reservations_for = "all"'), "must be a whole number"),
    "no interval": (CLUSTERS, after("mapping_interval = 60"), "found 60 without a unit"),
    "energy without power": (
        TABLED, put('"easy"', '"max-upe"'), "looks at energy, but there are options without power",
    ),
    "a budget without an end": (
        LOGGED, after('[supply]\nbudget = "1 GJ"'),
        "workload.end: found a counted window without an end; must end where a budget may keep jobs waiting without "
        "end; "
        'set workload.end = "2 d"',
    ),
    "a limit without power": (TABLED, after('[supply]\npower_cap = "1 kW"'), "found no power for option 0"),
    "no log": (LOGGED, put("log.swf", "nothing.swf"), "nothing.swf"),
    "failures without repair": (LOGGED, after('[system]\nmtbf = "1 h"'), "system.mttr: missing; mtbf and mttr"),
    "no outages": (LOGGED, after("[system]\noutages = 'none.csv'"), "none.csv: there is no such file"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_mistakes_are_told_before_anything_runs(name: str, tmp_path: Path) -> None:
    text, change, expected = BAD[name]
    logged_study(tmp_path)
    tabled_study(tmp_path)
    with pytest.raises(InputError) as caught:
        job_study(text, change, tmp_path, check=True)
    assert any(expected in line for line in str(caught.value).splitlines()), str(caught.value)


STRONG = {
    "log.txt": "JobID|Submit|Elapsed|AllocCPUS|ReqCPUS|ReqTRES\n1|1000|1:00|2|1|cpu=1,gres/gpu=1,license/matlab=1\n",
    "clusters.csv": "cluster,nodes,cores_per_node,idle_w\na,4,4,10\nb,8,1,0\n",
    "jobs.csv": "arrival_s,nodes,time_s,power_w\n0,2,9,10\n1,9,9,10\n2,1,9,900\n",
    "caps.csv": "hour,cap_w\n0,900\n1,45\n2,45\n3,900\n",
    "short.csv": "timestamp,cost\n1969-12-31T22:16:50Z,1\n1969-12-31T23:16:50Z,2\n",
    "outages.csv": "nodes,start_s,end_s\n1,5,9\n",
    "dated.csv": "nodes,start,end\n1,1970-01-01T00:00Z,1970-01-01T00:01Z\n1,1970-01-01T00:17Z,1970-01-01T00:18Z\n"
    "1,1970-01-02T00:00Z,1970-01-03T00:00Z\n",
    "rules.toml": '[[rule]]\nname = "misspelt"\nuser = ["no-such-user"]\npriority = "high"\n',
}
WARNED: dict[str, tuple[str, Change, str]] = {
    "a job of a log that is too large": (
        LOGGED, lambda t: t,
        "log.swf: 1 of 5 jobs fits on no cluster allowed to them; the first is job 6, of 9 processors; "
        "the largest cluster, machine, has 8 processors; such jobs never start",
    ),
    "a job of a table that is too large": (
        TABLED, put('job_times = "times.csv"', ""),
        "jobs.csv: 1 of 3 jobs fits on no cluster allowed to them; the first is in line 3, of 9 nodes; "
        "the largest cluster, b, has 8 nodes; such jobs never start",
    ),
    "a rule for nobody": (
        LOGGED, put('trace = "log.swf"', 'trace = "log.swf"\nrules = "rules.toml"'),
        "study.toml: workload.rules: found rules that hold for no job: misspelt; they change nothing",
    ),
    "a job above the cap": (
        TABLED, lambda t: t.replace('job_times = "times.csv"', "") + '[supply]\npower_cap = "900 W"',
        "study.toml: supply.power_cap: 1 of 3 jobs draws more; the first is in line 4; "
        "with it nodes draw 930 W or more, and 900 W is the most allowed; such jobs never start",
    ),
    "a job too long for the hours of a cap": (
        TABLED, lambda t: (
            t.replace('job_times = "times.csv"', "").replace("[scheduler]", 'end = "1 d"\n[scheduler]')
            + '[supply]\npower_cap_by_hour = "caps.csv"'
        ),
        "study.toml: supply.power_cap_by_hour: 1 of 3 jobs needs more power for longer than it allows; the first is in "
        "line 2; with it nodes draw 80 W for 2.5 h, which is allowed for 2 h in a row at most; such jobs never "
        "start",
    ),
    "GPUs of a log": (
        LOGGED, put('"log.swf"', '"log.txt"\nmachine_processors = 8'),
        "study.toml: workload.trace: found 1 jobs with GPUs, 1 jobs with licences; clusters have processors alone; "
        "such jobs are replayed as if there were enough of everything else",
    ),
    "processors that Slurm gave": (
        LOGGED, put('"log.swf"', '"log.txt"\nmachine_processors = 8'),
        "study.toml: workload.processors: 1 jobs that were given other processors than they requested; replayed with "
        'the allocated ones; processors = "requested" takes what they asked for',
    ),
    "hours of a log": (
        LOGGED, after('[supply]\ntariff = "caps.csv"'),
        "study.toml: supply.tariff: found 4 hours without dates, and jobs of a log; they count from the first job, "
        'submitted 1970-01-01T00:16:40 UTC; give dates, in a column `timestamp` or `start` and `end`, such as '
        '"2026-01-31T13:00Z"',
    ),
    "hours that end before the log": (
        LOGGED, after('[supply]\ntariff = "short.csv"'),
        "study.toml: supply.tariff: found hours that end 40 s before the last job is submitted; the last job comes "
        "1970-01-01T00:17:30 UTC; its first hours count again from then on",
    ),
    "outages without dates": (
        LOGGED, after('[system]\noutages = "outages.csv"'),
        "study.toml: system.outages: found 1 outage without dates, and jobs of a log; it counts from the first job, "
        'submitted 1970-01-01T00:16:40 UTC; give dates, in a column `timestamp` or `start` and `end`, such as '
        '"2026-01-31T13:00Z"',
    ),
    "outages out of the log": (
        LOGGED, after('[system]\noutages = "dated.csv"'),
        "study.toml: system.outages: found 1 of 3 outages that is later than the last job, submitted "
        "1970-01-01T00:17:30 UTC; it changes only what jobs that still wait or run then find",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WARNED)
def test_jobs_that_never_start_are_told_and_no_mistake(name: str, tmp_path: Path) -> None:
    text, change, expected = WARNED[name]
    logged_study(tmp_path)
    for file, rows in STRONG.items():
        (tmp_path / file).write_text(rows)
    if "hours of a cap" in name:
        (tmp_path / "jobs.csv").write_text("arrival_s,nodes,time_s,power_w\n0,2,9000,30\n1,1,9,30\n2,1,9,30\n")
    found = job_study(text, change, tmp_path, check=True).warnings
    assert expected in [str(warning) for warning in found]


DATED = "timestamp,cost\n1970-01-01T00:00Z,1\n1970-01-01T01:00Z,2\n1970-01-01T02:00Z,3\n"


def test_a_log_begins_with_the_hour_of_its_dated_tables(tmp_path: Path) -> None:
    """The log begins at 00:16:40: instant 0 is midnight, and everything of the log comes 1,000 s later."""
    (tmp_path / "tariff.csv").write_text(DATED)
    (tmp_path / "late.csv").write_text(DATED.replace("T0", "T1"))
    (tmp_path / "outages.csv").write_text("nodes,start_s,end_s\n1,5,9\n")
    change = after('[system]\noutages = "outages.csv"\n[supply]\ntariff = "tariff.csv"')
    point = logged_study(tmp_path, change, check=True).points[0]
    scene = JobsKind().build_world(point.world, Draw(1, 0, tmp_path))
    world = scene.world
    assert world.jobs.work.arrival_s.tolist() == [1000, 1010, 1020, 1040, 1050]
    assert (world.jobs.work.start_s, world.outages.start_s.tolist()) == (1000, [1005])
    assert world.supply.tariff is not None
    assert world.supply.tariff.tolist() == [1, 2, 3]
    assert (scene.clock.told(0), scene.clock.first_s) == ("1970-01-01T00:00:00 UTC", 1000)
    with pytest.raises(InputError, match=r"late.csv: timestamp: found hours from 1970-01-01T10:00:00 UTC on, .* later"):
        logged_study(tmp_path, after('[supply]\ntariff = "late.csv"'), check=True)
    with pytest.raises(InputError, match=r"supply.begins_at: .*a log that begins 1970-01-01T00:16:40 UTC"):
        logged_study(tmp_path, after('[supply]\nbegins_at = "1970-01-01"\ntariff = "tariff.csv"'), check=True)


def test_a_dated_tariff_changes_no_start(tmp_path: Path) -> None:
    (tmp_path / "tariff.csv").write_text(DATED)
    found = run_jobs(logged_study(tmp_path, after('[supply]\ntariff = "tariff.csv"')), tmp_path / "out")
    assert {verdict.problems for verdict in verify(found.folder, files=found.study.folder)} == {()}
    easy = found.runs.row(by_predicate=pl.col("scheduler.policy") == "easy", named=True)
    jobs = found.details(JOBS).filter(pl.col("run") == easy["run"])
    assert (jobs["start_s"] - 1000).to_list() == [0.0, 100.0, 20.0, 150.0, None]
    assert easy["makespan_s"] == 210.0
    said = " ".join(JobsKind().sentences(found.runs, []))
    assert "Tables with dates are held against the clock of the log" in said


def test_the_policy_prices_follows_a_tariff(tmp_path: Path) -> None:
    (tmp_path / "tariff.csv").write_text("hour,cost\n" + "".join(f"{hour},{hour % 2 + 1}\n" for hour in range(24)))
    text = CLUSTERS.replace('["easy", "max-upe", "random"]', '"prices"') + "follows_tariff = true\n"
    with_tariff = put("[supply]", '[supply]\ntariff = "tariff.csv"\ntariff_column = "cost"\ntariff_unit = "EUR"')
    assert job_study(text, with_tariff, tmp_path, check=True).points


@pytest.mark.parametrize("change", [lambda text: text, after('[system]\ngenerator = "as-logged"')])
def test_a_log_needs_no_system(change: Callable[[str], str], tmp_path: Path) -> None:
    study = logged_study(tmp_path, change, check=True)
    assert {point.system.source for point in study.points} == {"as-logged"}


def test_the_examples_are_of_this_kind() -> None:
    assert {read_study(EXAMPLES / name).kind.name for name in ("clusters.toml", "trace.toml", "gpu-site.toml")} == {
        "jobs"
    }


def test_the_logs_of_the_examples_are_what_their_makers_write() -> None:
    assert gzip.decompress(small_trace.PATH.read_bytes()).decode() == small_trace.small_trace()
    assert gzip.decompress(small_site.PATH.read_bytes()).decode() == small_site.small_site()


def test_types_that_differ_in_nodes_alone_share_their_name() -> None:
    from joulewise.study.jobs.names import names_of

    found = names_of(("A", "B", "A"), np.array([0, 2, 1, -1]))
    assert found.to_list() == ["A", "A", "B", None]
