"""The executor at work on this machine, what it costs, and what the model makes of these costs for many workers."""

from __future__ import annotations

import dataclasses
import heapq
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import count, islice, product
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.executor import Costs, Job, Seen, costs_of, least_run_s, pace_of, predicted, simulated, steady
from benchmarks.measure import Case
from joulewise.study import parse_study, plan, run_study
from joulewise.study.parsing.study import Study
from joulewise.study.running import worker
from joulewise.study.running.engines.dask import Dask
from joulewise.study.running.engines.engine import Answer, Engine
from joulewise.study.running.engines.processes import Processes
from joulewise.study.running.execute import execute
from joulewise.study.running.work import Work
from joulewise.study.store.journal import Journal
from joulewise.study.store.store import DONE, Result, Store
from tests.strategies.dask_cluster import dask_cluster

LENGTHS = {"short": (50, 200), "middle": (5_000, 100), "long": (80_000, 24)}
"""Tasks a day of runs that take about 10, 50 and 500 ms on a quiet machine, and how many jobs are watched.

What every run has to do takes about 10 ms, so that none is shorter.
"""
LARGE = 8
"""How many runs a large job has, to tell what a job costs from what a run does."""
WATCHED = (1, 2)
SATURATING, SATURATING_RUNS = (50, 200, 1_000), 10_000
"""How many imaginary workers ask for more than a coordinator can give, and how many runs it has for them."""
WORKERS = (1, 10, 100, 1_000)
RUNS_MS = (10, 100, 1_000, 10_000)
POINTS = (1, 100)
"""How many points of a study share a world, and so may share a job."""

STUDY = """
name = "scaling"
trials = {trials}
seed = {seed}
keep = "none"
bound = "trivial"
[system]
generator = "oversubscribed"
task_types = 12
special_task_types = 4
special_counts = [1]
general_counts = [2, 3]
[workload]
generator = "day"
tasks_per_day = {tasks}
warm_up = "10 min"
day = "2 h"
[manager]
policy = "max-max-upt"
dropping_threshold = {thresholds}
"""


def study_of(trials: int, case: Case, tasks: int = 150, points: int = 1) -> Study:
    """Runs of a small system with so many tasks; its points share their worlds."""
    thresholds = [0.01 * number for number in range(points)]
    text = STUDY.format(trials=trials, seed=case.seed, tasks=tasks, thresholds=thresholds)
    return parse_study(text, "scaling.toml", Path())


def one_result(study: Study) -> dict[str, Any]:
    """What comes out of the first run of a study."""
    with TemporaryDirectory() as folder:
        results = run_study(dataclasses.replace(study, heading=dataclasses.replace(study.heading, trials=1)), folder, 1)
        row = results.runs.row(0, named=True)
    cells = next(iter(plan(study))).cells()
    found = {name: value for name, value in row.items() if name not in cells}
    return {**found, "status": DONE, "error": None}


class _Watching(Engine):
    """Notes what is seen of each job that comes back."""

    seen: list[Seen]

    def warm(self, job: worker.Job) -> None:
        """Have every worker do a job, so that each has loaded what runs need; of so many, a cluster gives each one."""
        for _ in range(self.n_workers):
            self.submit(job)
        n_answered = 0
        while n_answered < self.n_workers:
            n_answered += len(super().answers())  # type: ignore[safe-super] # an engine stands behind this class
        self.seen = []

    def answers(self) -> list[Answer]:
        """What came back, noted."""
        found: list[Answer] = super().answers()  # type: ignore[safe-super] # an engine stands behind this class
        now_s, spent_s = time.perf_counter(), time.process_time()
        for answer in found:
            runs_s = sum(result["run_s"] for result in answer.results)
            self.seen.append(Seen(now_s, spent_s, Job(len(answer.results), runs_s)))
        return found


class _WatchedProcesses(_Watching, Processes):
    def warm(self, job: worker.Job) -> None:
        """Have the processes meet as well, as the first of them that was ready may have done all jobs."""
        super().warm(job)
        assert self._pool is not None
        with TemporaryDirectory() as folder:
            met = [self._pool.submit(_meet, job, Path(folder), self.n_workers) for _ in range(self.n_workers)]
            for each in met:
                each.result()


def _meet(job: worker.Job, folder: Path, n: int) -> None:
    """In a process: do a job and wait until so many processes have done it."""
    worker.do(job)
    (folder / str(os.getpid())).touch()
    while len(list(folder.iterdir())) < n:
        time.sleep(0.01)


class _WatchedDask(_Watching, Dask):
    pass


class _Imaginary(Engine):
    """Workers that are not there: each answers a job with the same result when the made-up time of its runs is over."""

    def __init__(self, n_workers: int, run_s: float, result: Result) -> None:
        self._run_s, self._result = run_s, {**result, "run_s": run_s}
        self._free_at_s = [0.0] * n_workers
        self._out: list[tuple[float, int, worker.Job]] = []
        self._numbers = count()

    @property
    def n_workers(self) -> int:
        """How many there would be."""
        return len(self._free_at_s)

    def __enter__(self) -> _Imaginary:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        pass

    def submit(self, job: worker.Job) -> None:
        """Take a job for the worker that is free first."""
        begin_s = max(time.perf_counter(), self._free_at_s[0])
        end_s = begin_s + len(job.runs) * self._run_s
        heapq.heapreplace(self._free_at_s, end_s)
        heapq.heappush(self._out, (end_s, next(self._numbers), job))

    def answers(self) -> list[Answer]:
        """What is over; waits for the first that will be."""
        time.sleep(max(self._out[0][0] - time.perf_counter(), 0.0))
        found, now_s = [], time.perf_counter()
        while self._out and self._out[0][0] <= now_s:
            job = heapq.heappop(self._out)[-1]
            found.append(Answer(job, [self._result] * len(job.runs)))
        return found


class _WatchedImaginary(_Watching, _Imaginary):
    pass


@contextmanager
def _local(n_workers: int) -> Iterator[_Watching]:
    yield _WatchedProcesses(n_workers)


@contextmanager
def _dask(n_workers: int) -> Iterator[_Watching]:
    """A cluster on this machine, its scheduler in a process of its own."""
    with TemporaryDirectory() as folder, dask_cluster(Path(folder), n_workers) as cluster:
        yield _WatchedDask(cluster.address)


ENGINES: Mapping[str, Callable[[int], AbstractContextManager[_Watching]]] = {"local": _local, "dask": _dask}


def _watched(name: str, length: str, most_runs: int, n_workers: int, case: Case) -> Sequence[Seen]:
    """What was seen of a study at work."""
    tasks, n_jobs = (50, 24) if case.smoke else LENGTHS[length]
    with ENGINES[name](n_workers) as engine:
        return _seen_of(study_of(n_jobs, case, tasks, most_runs), engine, n_workers, most_runs)


def _seen_of(study: Study, engine: _Watching, n_workers: int, most_runs: int) -> Sequence[Seen]:
    runs = plan(study)
    with TemporaryDirectory() as folder, Journal(Store(Path(folder))) as journal:

        def take(answer: Answer) -> None:
            pairs = zip(answer.job.runs, answer.results, strict=True)
            journal.append([{**run.cells(), **result} for run, result in pairs])

        work = Work(runs, Store(Path(folder)))
        with engine:
            while engine.n_workers < n_workers:
                engine.answers()  # waits until they have joined
            engine.warm(next(work.jobs(n_workers, most_runs)))
            execute(work.jobs(n_workers, most_runs), engine, take, lambda: None)
    return engine.seen


def saturated(case: Case) -> dict[str, float]:
    """What a coordinator costs for each job, and its pace, where workers want twice as many jobs as it can give.

    The model has the cost that one worker shows, so that a cost that grows with workers is seen.
    """
    job_s = _spent_s(_imagined(1, 0.0, case))
    figures = {"saturated.1.job_ms": 1e3 * job_s}
    for n in (2,) if case.smoke else SATURATING:
        run_s = 0.5 * n * job_s
        seen = _imagined(n, run_s, case)
        measured = pace_of(seen, n).runs_per_s
        model = pace_of(simulated([Job(1, run_s)] * len(seen), n, Costs(job_s, 0.0, 0.0, 0.0)), n).runs_per_s
        rows = {"job_ms": 1e3 * _spent_s(steady(seen, n)), "run_ms": 1e3 * run_s, "measured": measured, "model": model}
        rows["model_over_measured"] = model / measured
        figures |= {f"saturated.{n}.{each}": value for each, value in rows.items()}
    return figures


def _imagined(n_workers: int, run_s: float, case: Case) -> Sequence[Seen]:
    """What was seen of a study of imaginary workers, each job of one run."""
    study = study_of(24 if case.smoke else SATURATING_RUNS, case)
    return _seen_of(study, _WatchedImaginary(n_workers, run_s, one_result(study)), n_workers, 1)


def _spent_s(seen: Sequence[Seen]) -> float:
    """How long the coordinator worked for each job."""
    return (seen[-1].spent_s - seen[0].spent_s) / (len(seen) - 1)


def workers(case: Case) -> dict[str, float]:
    """What executors cost, how busy one and two workers are beside what the model says, and what it says of many.

    A smoke run watches local processes alone: a cluster takes seconds to begin.
    """
    figures: dict[str, float] = {}
    for name in islice(ENGINES, 1 if case.smoke else None):
        costs = _costs(name, case)
        figures |= {f"cost.{name}.{each}_ms": 1e3 * value for each, value in costs._asdict().items()}
        for length, n in islice(product(LENGTHS, WATCHED), 1 if case.smoke else None):
            place = f"workers.{name}.{length}.{n}"
            figures |= {f"{place}.{each}": value for each, value in _beside_model(name, length, n, costs, case).items()}
        figures |= {f"model.{name}.{each}": value for each, value in _of_many(costs, case).items()}
    return figures


def _repeats(case: Case) -> int:
    """How often an executor is watched; the middle of what was seen counts."""
    return 1 if case.smoke else 3


def _costs(name: str, case: Case) -> Costs:
    """What one worker shows of the costs of an executor."""
    found = [
        costs_of(*(steady(_watched(name, "short", n, 1, case), 1) for n in (1, LARGE))) for _ in range(_repeats(case))
    ]
    return Costs(*map(median, zip(*found, strict=True)))


def _beside_model(name: str, length: str, n_workers: int, costs: Costs, case: Case) -> dict[str, float]:
    """How busy workers were, and how busy the model says that the same jobs keep them."""
    rows = [_compared(_watched(name, length, 1, n_workers, case), n_workers, costs) for _ in range(_repeats(case))]
    middle = {each: median(row[each] for row in rows) for each in rows[0]}
    return {**middle, "model_over_busy": middle["model"] / middle["busy"]}


def _compared(seen: Sequence[Seen], n_workers: int, costs: Costs) -> dict[str, float]:
    jobs = [each.job for each in seen]
    return {
        "run_ms": 1e3 * sum(job.seconds for job in jobs) / sum(job.n_runs for job in jobs),
        "busy": pace_of(seen, n_workers).busy,
        "model": pace_of(simulated(jobs, n_workers, costs), n_workers).busy,
    }


def _of_many(costs: Costs, case: Case) -> dict[str, float]:
    """How busy up to 1,000 workers would be, by length of runs, and how long runs must be."""
    figures: dict[str, float] = {}
    for points, n in product(POINTS, WORKERS[: 2 if case.smoke else None]):
        place = f"{points}.{n}"
        for run_ms in RUNS_MS:
            pace = predicted(run_ms / 1e3, n, costs, points)
            figures |= {f"{place}.{run_ms}_ms.busy": pace.busy, f"{place}.{run_ms}_ms.runs_per_s": pace.runs_per_s}
        figures[f"{place}.least_run_s"] = least_run_s(n, costs, points)
    return figures
