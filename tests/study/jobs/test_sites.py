"""Studies of sites: a log is replayed on shared nodes, stored, and held; no edit of what is stored goes unnoticed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from joulewise.errors import InputError
from joulewise.study import Results, open_results, parse_study, run_study, verify
from joulewise.study.spec.column import FINDINGS, JOBS, PLACES
from joulewise.study.store.store import Store

STUDY = """
name = "sited"
keep = "all"

[system]
site = "site.toml"

[workload]
trace = "log.txt"

[scheduler]
policy = ["fcfs", "easy", "conservative"]
"""

SITE = """
name = "oak"

[[nodes]]
name = "cpu"
count = 2
cores = 8
memory = "32 GiB"

[[nodes]]
name = "gpu"
count = 2
cores = 8
memory = "64 GiB"
gpus = {a100 = 2}
weight = 10

[[nodes]]
name = "wide"
count = 4
cores = 16

[[partition]]
name = "batch"
nodes = ["cpu", "gpu"]
default = true
max_time = "1 h"

[[partition]]
name = "gpu"
nodes = "gpu"
tier = 2

[[partition]]
name = "wide"
nodes = "wide"
sharing = "exclusive"
preemption = "requeue"

[[licence]]
name = "matlab"
count = 1
"""

HEADER = "JobID|Submit|ElapsedRaw|TimelimitRaw|AllocCPUS|AllocNodes|AllocTRES|Licenses|Partition|User|State"
ROWS = (
    "1|0|600|20|8|1|cpu=8,mem=16G||batch|ann",
    "2|10|600|20|4|1|cpu=4,mem=16G||batch|ben",
    "3|20|300|10|4|1|cpu=4,gres/gpu=2|matlab:1|gpu|ann",
    "4|30|300|10|4|1|cpu=4,gres/gpu=1||gpu|cas",
    "5|40|900|30|16|2|cpu=16||batch|ben",
    "6|50|120|5|2|1|cpu=2,gres/gpu=1|matlab:1|gpu|ann",
    "7|60|900|30|48|3|cpu=48||wide|cas",
    "8|70|600|20|32|2|cpu=32||wide|ann",
    "9|80|60|1|1|1|cpu=1||batch|ann",
    "10|90|60|100|1|1|cpu=1||batch|ann",
)


def log() -> str:
    """A log of sacct: some jobs ask for GPUs or the licence, one for more time than its partition allows."""
    lines = (row.split("|", 2) for row in ROWS)
    return "\n".join([HEADER, *(f"{job}|{1000 + int(at)}|{rest}|COMPLETED" for job, at, rest in lines)])


def run_sited(folder: Path, change: Callable[[str], str] = lambda text: text) -> Results:
    (folder / "site.toml").write_text(SITE)
    (folder / "log.txt").write_text(log())
    return run_study(parse_study(change(STUDY), "study.toml", folder), folder / "out", 1)


@pytest.fixture(scope="module")
def sited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files and the results of a small study, not to be changed."""
    folder = tmp_path_factory.mktemp("sited")
    run_sited(folder)
    return folder


def judged(folder: Path) -> list[tuple[str, ...]]:
    return [verdict.problems for verdict in verify(folder / "out", files=folder)]


def test_a_log_is_replayed_on_shared_nodes_and_what_is_stored_holds(sited: Path) -> None:
    results = open_results(sited / "out")
    assert results.failed.is_empty()
    assert judged(sited) == [()] * 3
    run = dict(results.runs.select("scheduler.policy", "run").iter_rows())["easy"]
    store = Store(sited / "out")
    jobs = store.read_table(store.detail_file(JOBS, run))
    places = store.read_table(store.detail_file(PLACES, run))
    assert jobs["fate"].to_list() == ["ran"] * 9 + ["impossible"]
    wait_s = dict(jobs.select("job_id", "wait_s").iter_rows())
    assert [wait_s[job] for job in ("1", "2", "3", "4", "7")] == [0] * 5
    assert wait_s["6"] == 320 - 50, "it waits for the licence that job 3 has, though a GPU is free"
    assert wait_s["8"] == 960 - 70, "one of four whole nodes is left"
    where = {job: (group, node) for job, group, node in places.select("job_id", "group", "node").iter_rows()}
    assert (where["1"], where["2"]) == (("cpu", 0), ("cpu", 1))
    assert (where["3"], where["4"]) == (("gpu", 0), ("gpu", 1))
    assert where["7"] == ("wide", None)
    found = dict(store.read_table(store.detail_file(FINDINGS, run)).select("key", "n").iter_rows())
    assert found["partition batch has a shorter time limit than they ask for"] == 1
    assert found["not replayed: partitions with preemption"] == 1
    assert not {key for key in found if key.startswith("asks for")}


def test_jobs_that_never_start_are_told_with_the_reason_before_anything_is_run(sited: Path) -> None:
    study = parse_study(STUDY, "study.toml", sited, check_inputs=True)
    assert [str(warning) for warning in study.warnings] == [
        "log.txt: 1 of 10 jobs can never start on the site; the first is job 10; partition batch has a shorter time "
        "limit than they ask for (1); such jobs never start"
    ]


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_jobs_that_wait_for_what_never_comes_are_told_before_anything_is_run(sited: Path, tmp_path: Path) -> None:
    shutil.copy(sited / "site.toml", tmp_path)
    head = "JobID|Submit|Start|ElapsedRaw|AllocCPUS|State|Partition|Dependency"
    rows = ("1|1000|1000|60|1|FAILED|batch|", "2|1001|Unknown|60|1|COMPLETED|batch|afterok:1")
    (tmp_path / "log.txt").write_text("\n".join((head, *rows, "")))
    study = parse_study(STUDY, "study.toml", tmp_path, check_inputs=True)
    assert [str(warning) for warning in study.warnings] == [
        "study.toml: workload.dependencies: found 1 jobs that wait for what cannot come any more, such as the good end "
        'of one that failed; never start, as in Slurm; dependencies = "ignore" starts them, and keeps no other '
        "condition either"
    ]
    results = run_study(study, tmp_path / "out")
    assert results.runs["jobs_waiting"].to_list() == [1, 1, 1]
    assert judged(tmp_path) == [()] * 3


EDITS: dict[str, dict[str, Any]] = {
    JOBS: {
        "job_id": "2", "user": "ben", "partition": "gpu", "arrival_s": 1.0, "ready_s": 1.0, "fate": "killed",
        "option": 1, "cluster": None, "pstate": 1, "nodes": 9, "cores": 9, "planned_s": 1.0, "true_s": 1.0,
        "requested_s": 1.0, "start_s": 1.0, "end_s": 1.0, "wait_s": 1.0, "bounded_slowdown": 9.0,
    },
    PLACES: {"job": 1, "job_id": "2", "partition": "gpu", "group": "gpu", "node": 1, "pieces": 2},
}  # fmt: skip
"""Another value for the first row of each column."""


def edited(folder: Path, sited: Path, table: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> tuple[str, ...]:
    """What is said of a run of which a table was changed; nothing is said of the others."""
    shutil.copytree(sited, folder, dirs_exist_ok=True)
    run, store = open_results(folder / "out").runs["run"][1], Store(folder / "out")
    path = store.detail_file(table, run)
    store.write_table(path, change(store.read_table(path)))
    first, second, third = judged(folder)
    assert (first, third) == ((), ())
    return second


@pytest.mark.parametrize(
    ("table", "column"), [(table, column) for table, columns in EDITS.items() for column in columns]
)
def test_an_edit_of_what_is_stored_is_found(table: str, column: str, sited: Path, tmp_path: Path) -> None:
    def change(rows: pl.DataFrame) -> pl.DataFrame:
        values = rows[column].to_list()
        assert values[0] != EDITS[table][column]
        values[0] = EDITS[table][column]
        return rows.with_columns(pl.Series(column, values, rows[column].dtype))

    assert edited(tmp_path, sited, table, change)


CHANGES: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "a row less": lambda rows: rows[1:],
    "no rows": lambda rows: rows[:0],
    "a row twice": lambda rows: pl.concat((rows, rows[:1])),
    "another order": lambda rows: rows[::-1],
}


@pytest.mark.parametrize("what", CHANGES)
def test_places_that_are_not_those_of_the_run_are_found(what: str, sited: Path, tmp_path: Path) -> None:
    assert edited(tmp_path, sited, PLACES, CHANGES[what])


def test_tables_of_places_that_are_damaged_or_gone_are_told(sited: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="column 'node': is missing"):
        edited(tmp_path, sited, PLACES, lambda rows: rows.drop("node"))
    run, store = open_results(sited / "out").runs["run"][1], Store(tmp_path / "out")
    store.detail_file(PLACES, run).unlink()
    assert any("places" in problem for problem in judged(tmp_path)[1])


REFUSED = {
    "workload.end": ('"fcfs", "easy", "conservative"', '"prices"'),
    "scheduler.dropping_threshold": ("[scheduler]", "[scheduler]\ndropping_threshold = 0.5"),
    "scheduler.energy_filter": ("[scheduler]", '[scheduler]\nenergy_filter = "per-task"'),
}


@pytest.mark.parametrize("where", REFUSED)
def test_what_is_not_modelled_on_a_site_is_refused(where: str, tmp_path: Path) -> None:
    failed = run_sited(tmp_path, lambda text: text.replace(*REFUSED[where])).failed
    assert failed.height
    assert all(where in error for error in failed["error"])


def test_nodes_of_a_site_fail_and_are_serviced_and_what_is_stored_holds(sited: Path, tmp_path: Path) -> None:
    (tmp_path / "outages.csv").write_text(
        "group,nodes,first_node,start_s,end_s,planned\ncpu,1,0,0,7200,true\ngpu,1,0,60,120,false\nwide,4,0,90,200,false\n"
    )
    more = 'outages = "outages.csv"\nmtbf = "30 min"\nmttr = "1 min"\n\n[workload]'
    results = run_sited(tmp_path, lambda text: text.replace("[workload]", more))
    assert results.failed.is_empty()
    assert judged(tmp_path) == [()] * 3
    assert results.runs["runs_lost"].to_list() == [3] * 3


NIGHTLY = SITE.replace("default = true", 'default = true\nopen = ["Mon-Fri 18:00-08:00", "Sat-Sun"]')


def test_partitions_start_jobs_at_their_hours(tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text(NIGHTLY)
    (tmp_path / "log.txt").write_text(
        "JobID|Submit|ElapsedRaw|TimelimitRaw|AllocCPUS|AllocNodes|Partition|User|State\n"
        "1|2026-03-03T07:50:00|1800|60|8|1|batch|ann|COMPLETED\n"
        "2|2026-03-03T08:00:00|600|60|8|1|batch|ann|COMPLETED\n"
        "3|2026-03-03T17:00:00|600|60|8|1|batch|ann|COMPLETED\n"
    )
    study = STUDY.replace('"log.txt"', '"log.txt"\ntimezone = "Europe/Berlin"')
    results = run_study(parse_study(study, "study.toml", tmp_path), tmp_path / "out", 1)
    assert results.failed.is_empty(), results.failed["error"].to_list()
    assert judged(tmp_path) == [()] * 3
    store, run = Store(tmp_path / "out"), results.runs["run"][0]
    jobs = store.read_table(store.detail_file(JOBS, run))
    assert jobs["start_s"].to_list() == [0, 36_600, 36_600], "the one that runs goes on, others wait until 18:00"


def test_a_cap_limits_a_site_and_what_is_stored_holds(tmp_path: Path) -> None:
    lines = ('idle_power = "20 W"', 'core_power = "5 W"')
    powers = SITE.replace("count = 2\n", "count = 2\n" + "\n".join(lines) + "\n")
    powers = powers.replace("count = 4\n", "count = 4\n" + "\n".join(lines) + "\n")
    powers = powers.replace("weight = 10", 'weight = 10\ngpu_power = "100 W"')
    (tmp_path / "site.toml").write_text(powers)
    (tmp_path / "log.txt").write_text(log())
    text = STUDY.replace("[scheduler]", '[supply]\npower_cap = "560 W"\n\n[scheduler]')
    results = run_study(parse_study(text, "study.toml", tmp_path), tmp_path / "out", 1)
    assert results.failed.is_empty()
    assert judged(tmp_path) == [()] * 3
    assert all(peak_w <= 560 for peak_w in results.runs["energy_peak_w"])
    assert all(idle_j > 0 for idle_j in results.runs["standby_energy_j"])


SHARED = """
name = "elm"

[[nodes]]
name = "cpu"
count = 1
cores = 8

[[qos]]
name = "urgent"
priority = 5

[[account]]
name = "physics"
users = {ann = 1, ben = 1}

[slurm]
priorityweightfairshare = 1000
priorityweightqos = 2000
priorityflags = ["incr_only"]
"""

HEADER_OF_SHARES = "JobID|Submit|ElapsedRaw|TimelimitRaw|AllocCPUS|AllocNodes|Partition|User|Account|QOS|State"
ROWS_OF_SHARES = (
    "1|1000|600|20|8|1|all|ann|physics|normal|COMPLETED",
    "2|1010|600|20|8|1|all|ann|physics|normal|COMPLETED",
    "3|1020|600|20|8|1|all|ben|physics|normal|COMPLETED",
    "4|1900|600|20|8|1|all|zoe|geo|normal|COMPLETED",
    "5|1910|600|20|8|1|all|zoe|geo|urgent|COMPLETED",
)


def run_shared(folder: Path, *more: str, site: str = SHARED) -> Results:
    """A study of users of one account who want the whole site, and a user of no account."""
    (folder / "site.toml").write_text(site)
    (folder / "log.txt").write_text("\n".join([HEADER_OF_SHARES, *ROWS_OF_SHARES]))
    study = STUDY.replace('["fcfs", "easy", "conservative"]', "\n".join(['"multifactor"', *more]))
    return run_study(parse_study(study, "study.toml", folder), folder / "out", 1)


def waits_of(folder: Path) -> dict[str, float]:
    store, run = Store(folder / "out"), open_results(folder / "out").runs["run"][0]
    return dict(store.read_table(store.detail_file(JOBS, run)).select("job_id", "wait_s").iter_rows())


def test_jobs_come_by_the_priorities_of_their_site(tmp_path: Path) -> None:
    """Ben has used nothing of his share when the first job ends; zoe has no share, but an urgent job."""
    assert run_shared(tmp_path).failed.is_empty()
    assert judged(tmp_path) == [()]
    assert waits_of(tmp_path) == {"1": 0, "3": 600 - 20, "5": 1200 - 910, "2": 1800 - 10, "4": 2400 - 900}
    store, run = Store(tmp_path / "out"), open_results(tmp_path / "out").runs["run"][0]
    found = dict(store.read_table(store.detail_file(FINDINGS, run)).select("key", "n").iter_rows())
    assert found["fair shares: jobs of accounts that the site does not have"] == 2
    assert found["not replayed: settings of Slurm"] == 1


def test_weights_of_a_study_take_the_place_of_those_of_the_site(tmp_path: Path) -> None:
    assert run_shared(tmp_path, "weights = {qos = 0, fair_share = 0, age = 1}").failed.is_empty()
    assert waits_of(tmp_path) == {"1": 0, "2": 590, "3": 1180, "4": 900, "5": 1490}


def test_what_a_site_says_of_its_slurm_is_told_where_no_scheduler_goes_by_it(tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text(SHARED + "bf_interval = 60\n")
    (tmp_path / "log.txt").write_text("\n".join([HEADER_OF_SHARES, *ROWS_OF_SHARES]))

    def warned(policies: str) -> tuple[bool, bool]:
        text = STUDY.replace('["fcfs", "easy", "conservative"]', policies)
        said = " ".join(map(str, parse_study(text, "study.toml", tmp_path, check_inputs=True).warnings))
        return 'policy = "multifactor" does' in said, 'passes = "slurm" goes by them' in said

    assert warned('["fcfs", "easy"]') == (True, True)
    assert warned('["fcfs", "multifactor"]') == (False, True)
    assert warned('"easy"\npasses = "slurm"') == (True, False)


def test_weights_and_places_without_effect_are_told(tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text(SHARED)
    (tmp_path / "log.txt").write_text("\n".join([HEADER_OF_SHARES, *ROWS_OF_SHARES]))
    more = '"multifactor"\nweights = {partition = 5, queue = 7, qos = 3}\nstanding = {nobody = 1}'
    text = STUDY.replace('["fcfs", "easy", "conservative"]', more)
    said = [str(each) for each in parse_study(text, "study.toml", tmp_path, check_inputs=True).warnings]
    for name, advice in (("partition", "each [[partition]]"), ("queue", "give standing")):
        assert any(f"weights.{name}" in one and "all jobs have the same" in one and advice in one for one in said), said
    assert not any("weights.qos" in one for one in said)
    assert any("standing" in one and "nobody" in one and "no job is of such a queue" in one for one in said), said


REFUSED_WEIGHTS: dict[str, tuple[str, Callable[[str], str]]] = {
    "no weight above 0": ("weights = {qos = 0, fair_share = 0}", lambda site: site),
    "the weight of queue is 0": ("standing = {normal = 1}", lambda site: site),
    "no job is of a user or an account": ("", lambda site: site.replace('"physics"', '"other"')),
}


@pytest.mark.parametrize("said", REFUSED_WEIGHTS)
def test_weights_of_nothing_are_refused(said: str, tmp_path: Path) -> None:
    more, change = REFUSED_WEIGHTS[said]
    failed = run_shared(tmp_path, more, site=change(SHARED)).failed
    assert [said in error for error in failed["error"]] == [True]


GIVING = """
name = "elm"

[[nodes]]
name = "cpu"
count = 2
cores = 8

[[partition]]
name = "batch"
nodes = ["cpu"]

[[qos]]
name = "high"
preempts = ["low", "cheap"]
max_submitted_per_user = 2

[[qos]]
name = "low"
preemption = "requeue"

[[qos]]
name = "cheap"
preemption = "cancel"
priority = 5

[[reservation]]
name = "course"
start = "1 h"
end = "2 h"
nodes = {cpu = 1}
users = ["cas"]
"""
WHO_GIVES_WAY = """JobID|Submit|ElapsedRaw|TimelimitRaw|AllocCPUS|AllocNodes|QOS|User|Reservation|State
1|1000|600|10|8|1|low|ann||COMPLETED
2|1000|600|10|8|1|cheap|ann||COMPLETED
3|1100|300|5|8|1|high|ben||COMPLETED
4|1200|300|5|8|1|high|ben||COMPLETED
5|1250|300|5|8|1|high|ben||COMPLETED
6|4500|600|10|8|1|low|ann||COMPLETED
7|1300|600|20|8|1|low|cas|course|COMPLETED
"""


def test_jobs_are_refused_give_way_and_have_reserved_nodes_and_all_that_holds(tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text(GIVING)
    (tmp_path / "log.txt").write_text(WHO_GIVES_WAY)
    study = STUDY.replace('["fcfs", "easy", "conservative"]', '"easy"')
    results = run_study(parse_study(study, "study.toml", tmp_path), tmp_path / "out", 1)
    assert results.failed.is_empty()
    assert judged(tmp_path) == [()]
    store, run = Store(tmp_path / "out"), results.runs["run"][0]
    jobs = store.read_table(store.detail_file(JOBS, run))
    told = {row["job_id"]: (row["fate"], row["start_s"], row["end_s"]) for row in jobs.iter_rows(named=True)}
    assert told["3"] == ("ran", 100, 400)
    assert told["1"] == ("ran", 400, 1000), "of the lowest priority, and so the first that gives way; it runs again"
    assert told["4"] == ("ran", 200, 500)
    assert told["2"] == ("cancelled", 0, 200), "for job 4"
    assert told["5"] == ("dropped", None, None), "two of its user run"
    assert told["7"] == ("ran", 3600, 4200), "on the node that is kept for it"
    assert told["6"] == ("ran", 3500, 4100), "on the other one"
    assert results.runs.select("jobs_dropped", "jobs_killed", "jobs_cancelled", "runs_lost").row(0) == (1, 0, 1, 1)
    places = store.read_table(store.detail_file(PLACES, run))
    where = {
        job: node for job, node, stretch in places.select("job_id", "node", "stretch").iter_rows() if stretch is None
    }
    assert (where["7"], where["6"]) == (1, 0)
    assert places["stretch"].drop_nulls().to_list() == [0]


TIERS = """
name = "elm"

[[nodes]]
name = "cpu"
count = 2
cores = 8

[[partition]]
name = "low"
nodes = ["cpu"]
sharing = "exclusive"
default = true

[[partition]]
name = "high"
nodes = ["cpu"]
sharing = "exclusive"
tier = 2

[slurm]
preempttype = "preempt/partition_prio"
preemptmode = ["suspend", "gang"]
"""
WHO_IS_SUSPENDED = """JobID|Submit|ElapsedRaw|TimelimitRaw|AllocCPUS|AllocNodes|Partition|User|State
1|1000|600|10|8|1|low|ann|COMPLETED
2|1000|600|10|8|1|low|ann|COMPLETED
3|1100|300|5|8|1|high|ben|COMPLETED
4|1150|100|5|8|1|low|cas|COMPLETED
"""


@pytest.mark.parametrize("passes", ["", 'passes = "slurm"\n'])
def test_jobs_of_lower_tiers_are_suspended_and_go_on(tmp_path: Path, passes: str) -> None:
    (tmp_path / "site.toml").write_text(TIERS)
    (tmp_path / "log.txt").write_text(WHO_IS_SUSPENDED)
    study = STUDY.replace('policy = ["fcfs", "easy", "conservative"]', f'{passes}policy = "easy"')
    results = run_study(parse_study(study, "study.toml", tmp_path), tmp_path / "out", 1)
    assert results.failed.is_empty()
    assert judged(tmp_path) == [()]
    store, run = Store(tmp_path / "out"), results.runs["run"][0]
    jobs = store.read_table(store.detail_file(JOBS, run))
    told = {row["job_id"]: (row["start_s"], row["end_s"]) for row in jobs.iter_rows(named=True)}
    assert told == {"1": (0, 600), "2": (400, 900), "3": (100, 400), "4": (600, 700)}
    assert results.runs.select("runs_preempted", "runs_lost").row(0) == (1, 0)
