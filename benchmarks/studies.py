"""What studies cost beside their runs: handing out, storing, planning, resuming and reporting them."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from benchmarks.measure import Bar, Case, Subject, peak_mb
from joulewise.present.results import write_report
from joulewise.study import parse_study, read_study, run_study
from joulewise.study.parsing.study import Study
from joulewise.study.running.engines.processes import begin
from joulewise.study.running.estimate import estimate
from joulewise.study.running.planning import plan
from joulewise.study.running.running import describe
from joulewise.study.running.work import Work
from joulewise.study.running.worker import Job, do
from joulewise.study.store.journal import Journal
from joulewise.study.store.keys import key_of
from joulewise.study.store.store import Store
from joulewise.study.verifying.verification import verify as verify_study

_SMALL = """
[system]
generator = "oversubscribed"
task_types = 12
special_task_types = 4
special_counts = [1]
general_counts = [2, 3]
[workload]
generator = "day"
warm_up = "10 min"
day = "2 h"
"""
_TENTHS = [i / 10 for i in range(10)]
_POLICIES = ("max-max-util", "max-max-upt", "max-max-upe", "prices", "min-min-comp", "sufferage", "weighted-util",
             "weighted-upt", "weighted-upe", "random-batch")  # fmt: skip
_LOADS = [150 + i for i in range(10)]


def _text(heading: str, decision: str, loads: object = 150) -> str:
    """A study whose worlds are made in no time."""
    return f'name = "studies"\nbound = "trivial"\n{heading}\n{_SMALL}tasks_per_day = {loads}\n[manager]\n{decision}\n'


def _study(folder: Path, heading: str, decision: str, loads: object = 150) -> Study:
    return parse_study(_text(heading, decision, loads), "studies.toml", folder)


def _seconds(do: Callable[[], object]) -> float:
    began_s = time.perf_counter()
    do()
    return time.perf_counter() - began_s


def _took(study: Study, folder: Path, workers: int) -> tuple[float, float]:
    """The seconds of a study, and those of its runs one after the other."""
    seconds = _seconds(lambda: run_study(study, folder, workers))
    return seconds, float(run_study(study, folder, workers).runs["run_s"].sum())


def overhead(case: Case) -> dict[str, float]:
    """What each run costs beside itself, in this process and over two."""
    n = 20 if case.smoke else 1_000
    with TemporaryDirectory() as place:
        folder, figures = Path(place), {}
        study = _study(folder, f'trials = {n}\nkeep = "none"\nseed = {case.seed}', 'policy = "random"')
        run_study(_study(folder, "trials = 4", 'policy = "random"'), folder / "warm", workers=2)
        for workers in (1, 2):
            seconds, of_runs = _took(study, folder / str(workers), workers)
            figures[f"overhead.{workers}_ms"] = 1e3 * max(seconds - of_runs / workers, 0.0) / n
        return figures


def _start_s(jobs: Sequence[Job]) -> float:
    """In a new worker: the processor seconds up to the end of its first job, less those of another one like it."""
    do(jobs[0])
    first_s = time.process_time()
    do(jobs[1])
    return 2 * first_s - time.process_time()


def efficiency(case: Case) -> dict[str, float]:
    """The part of two processes' time that goes into runs of some tenths of a second, a minute of them in all.

    Processors that share a core slow each other down; how much slower runs are where two go on is told as well.
    """
    n, load = (2, 1_000) if case.smoke else (210, 60_000)
    with TemporaryDirectory() as place:
        folder, decision = Path(place), 'policy = "max-max-upt"\ndropping_threshold = 0.5'
        text = (
            f'name = "studies"\nbound = "trivial"\nkeep = "none"\ntrials = {n}\nseed = {case.seed}\n[system]\n'
            f'generator = "oversubscribed"\n[workload]\ngenerator = "day"\ntasks_per_day = {load}\n'
            f"[manager]\n{decision}\n"
        )
        study = parse_study(text, "studies.toml", folder)
        if not case.smoke:
            warm = parse_study(text.replace(f"trials = {n}", "trials = 2"), "studies.toml", folder)
            run_study(warm, folder / "warm", workers=2)
        jobs = list(islice(Work(plan(study), Store(folder / "none")).jobs(2, 1), 2))
        with ProcessPoolExecutor(1, get_context("spawn"), initializer=begin) as pool:
            start_s = pool.submit(_start_s, jobs).result()
        alone, of_runs_alone = _took(study, folder / "one", workers=1)
        both, of_runs = _took(study, folder / "two", workers=2)
        return {
            "efficiency.run_s": of_runs / n,
            "efficiency.runs_s": alone,
            "efficiency.start_s": start_s,
            "efficiency.in_runs": of_runs / 2 / both,
            "efficiency.run_slower": of_runs / of_runs_alone,
            "efficiency.two": alone / 2 / both,
        }


def _fill(store: Store, study: Study) -> int:
    """Store made-up results of all runs as an engine would; how many there are."""
    with TemporaryDirectory() as place:
        one = run_study(_study(Path(place), "", 'policy = "random"'), Path(place) / "one", workers=1).runs.to_dicts()[0]
        proof = Store(Path(place) / "one").read_proof(one["world"], "trivial", dict)
    outcome = {name: value for name, value in one.items() if "." not in name.partition(":")[0]}
    runs = plan(study)
    store.claim(study.owner, describe(study, store, runs, "here"))
    for world in map(key_of, runs.table["world"].unique()):
        store.write_proof(world, "trivial", proof or {})
    with Journal(store) as journal:
        for piece in _pieces(iter(runs), 256):
            journal.append([{**outcome, **run.cells(), "utility": float(i)} for i, run in enumerate(piece)])
    return len(runs)


def _pieces(items: Iterator[Any], n: int) -> Iterator[list[Any]]:
    return iter(lambda: list(islice(items, n)), [])


def _large(folder: Path, case: Case, trials: int) -> Study:
    """A thousand runs for each trial; a smoke run has two policies and a load."""
    heading = f'trials = {trials}\nkeep = "none"\nseed = {case.seed}'
    policies, loads = (_POLICIES[:2], 150) if case.smoke else (_POLICIES, _LOADS)
    return _study(folder, heading, f"policy = {list(policies)}\ndropping_threshold = {_TENTHS}", loads)


def store(case: Case) -> dict[str, float]:
    """Runs appended, merged, and grouped by what was swept."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        study, there = _large(folder, case, 1 if case.smoke else 100), Store(folder / "many")
        n = 0
        began_s = time.perf_counter()
        n = _fill(there, study)
        appended_s = time.perf_counter() - began_s
        merged_s = _seconds(lambda: run_study(study, there.folder))
        results = run_study(study, there.folder)
        grouped = results.scan().group_by(study.axes).agg(pl.col("utility").mean(), pl.col("energy_j").std())
        return {
            "store.runs": n,
            "store.append_ms": 1e3 * appended_s / n,
            "store.merge_ms": 1e3 * merged_s / n,
            "store.grouped_s": _seconds(grouped.collect),
        }


def _resume_and_report(place: str, case: Case, trials: int) -> dict[str, float]:
    """Plan, resume and report a finished study, in a process of its own: seconds, and the most memory."""
    folder = Path(place)
    study = _large(folder, case, trials)
    planned_s = _seconds(lambda: plan(study).table)
    resumed_s = _seconds(lambda: run_study(study, folder / "many"))
    reported_s = _seconds(lambda: write_report(run_study(study, folder / "many")))
    return {"million.planned_s": planned_s, "million.resumed_s": resumed_s, "million.reported_s": reported_s,
            "million.most_mb": peak_mb()}  # fmt: skip


def million(case: Case) -> dict[str, float]:
    """A million runs planned, resumed and reported."""
    trials = 1 if case.smoke else 1_000
    with TemporaryDirectory() as place:
        _fill(Store(Path(place) / "many"), _large(Path(place), case, trials))
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            return pool.submit(_resume_and_report, place, case, trials).result()


def check(case: Case) -> dict[str, float]:
    """A sweep of a million points checked: 100 worlds, and 10,000 ways to decide."""
    n = 2 if case.smoke else 100
    decision = f"policy = {list(_POLICIES)}\ndropping_threshold = {[i / n for i in range(n)]}\n"
    intervals = [f"{60 + i} s" for i in range(10)]
    with TemporaryDirectory() as place:
        folder = Path(place)
        began_s = time.perf_counter()
        study = _study(folder, "", f"{decision}mapping_interval = {intervals}", [150 + i for i in range(n)])
        estimate(study, folder / "none")
        return {"check.points": len(study.points), "check.s": time.perf_counter() - began_s}


def again(case: Case) -> dict[str, float]:
    """A finished study run again, with its report: the seconds in this process, and the processor's by the command."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        decision = f"policy = {list(_POLICIES[: 2 if case.smoke else 8])}\ndropping_threshold = [0, 0.5]"
        (folder / "once.toml").write_text(_text(f"trials = {2 if case.smoke else 6}", decision))
        study = read_study(folder / "once.toml")
        write_report(run_study(study, folder / "once"))
        command = [sys.executable, "-m", "joulewise", "run", str(folder / "once.toml"), "--out", str(folder / "once")]
        return {
            "again.s": _seconds(lambda: run_study(study, folder / "once")),
            "again.processor_s": min(_processor_seconds(command) for _ in range(1 if case.smoke else 5)),
        }


def _processor_seconds(command: Sequence[str]) -> float:
    """The processor seconds, the system's among them, of a command that says nothing here."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _verified(case: Case, decision: str, trials: int) -> Study:
    """A study that takes minutes to run, or, at a fiftieth of its size, no time."""
    trials, part = (2, 0.02) if case.smoke else (trials, 1.0)
    text = decision.format(tasks=int(20_000 * part), moves=int(4_000_000 * part))
    return parse_study(f'name = "verified"\ntrials = {trials}\nseed = {case.seed}\n{text}', "verified.toml", Path())


_DAYS = """
[system]
generator = "oversubscribed"
[workload]
generator = "day"
tasks_per_day = {tasks}
[manager]
policy = ["max-max-upt", "max-max-upe", "min-min-comp", "weighted-upt", "random"]
dropping_threshold = 0.5
"""
_FRONTS = """
[system]
generator = "oversubscribed"
[workload]
generator = "bag"
[optimise]
goal = "front"
method = "annealing"
moves = {moves}
"""


def _run_and_verified(study: Study) -> float:
    """The seconds of verifying a study over those of running it, both in this process."""
    with TemporaryDirectory() as place:
        run_s = _seconds(lambda: run_study(study, Path(place) / "out", workers=1))
        return _seconds(lambda: verify_study(Path(place) / "out")) / run_s


def verify(case: Case) -> dict[str, float]:
    """Studies that take a minute or more verified, over the seconds of their runs; kernels are compiled before."""
    figures = {}
    for name, (text, trials) in {"days": (_DAYS, 40), "fronts": (_FRONTS, 250)}.items():
        ratio = _run_and_verified(_verified(replace(case, smoke=True), text, trials))
        figures[f"verify.{name}"] = ratio if case.smoke else _run_and_verified(_verified(case, text, trials))
    return {**figures, "verify.most": max(figures.values())}


SUBJECT = Subject(
    "studies",
    {"overhead": overhead, "efficiency": efficiency, "store": store, "million": million, "check": check,
     "again": again, "verify": verify},
    [
        Bar("seconds beside each run, in ms: this process", "overhead.1_ms", "at most", 5),
        Bar("seconds beside each run, in ms: two processes", "overhead.2_ms", "at most", 5),
        Bar("the part of two processes' time that goes into a minute of runs", "efficiency.in_runs", "at least", 0.9),
        Bar("100,000 runs grouped, in s", "store.grouped_s", "at most", 2),
        Bar("a million runs planned, resumed and reported: MB at most", "million.most_mb", "at most", 500),
        Bar("a sweep of a million points checked, in s", "check.s", "at most", 10),
        Bar("a finished study run again, in s", "again.s", "at most", 1),
        Bar("the command for that: processor seconds", "again.processor_s", "at most", 1),
        Bar("a finished study verified: seconds over those of its run", "verify.most", "at most", 0.5),
    ],
)  # fmt: skip
