"""Jobs that are lost with their workers: who is tried again, who fails, and what waits meanwhile."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from joulewise.cli.run import run_shown
from joulewise.study import plan
from joulewise.study.running.engines import processes
from joulewise.study.running.engines.engine import DIED, Answer, Engine
from joulewise.study.running.engines.here import Here
from joulewise.study.running.engines.processes import Processes
from joulewise.study.running.execute import execute
from joulewise.study.running.worker import Job
from tests.strategies.dying import FATAL, do_or_die, is_fatal
from tests.strategies.small import QUICKLY, small

N_RUNS = 64
PLANNED = plan(small(lambda text: QUICKLY + text.replace("trials = 2", f"trials = {N_RUNS // 4}")))
RUNS = tuple(replace(run, stage=FATAL) if at in (0, 17, 18, 63) else run for at, run in enumerate(PLANNED))


class Mortal(Engine):
    """Workers that die of some runs, and with one of them what all have, or only what it has."""

    n_workers = 0

    def __init__(self, n_workers: int, *, together: bool) -> None:
        self.n_workers, self.together = n_workers, together
        self.out: list[Job] = []
        self.given: list[Job] = []

    def __enter__(self) -> Mortal:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, job: Job) -> None:
        self.out.append(job)
        self.given.append(job)

    def answers(self) -> list[Answer]:
        computed, self.out = self.out[: self.n_workers], self.out[self.n_workers :]
        if self.together and any(map(is_fatal, computed)):
            lost, self.out = [*computed, *self.out], []
            return [Answer(job, [], DIED) for job in lost]
        return [Answer(job, [], DIED) if is_fatal(job) else Answer(job, do_or_die(job)) for job in computed]


def jobs_of(size: int) -> Iterator[Job]:
    return (Job(RUNS[at : at + size], Path(), Path()) for at in range(0, N_RUNS, size))


def errors(engine: Engine, jobs: Iterator[Job]) -> list[str | None]:
    """The error of each run, each answered once."""
    answers: list[Answer] = []
    execute(jobs, engine, answers.append, lambda: None)
    told = [
        (run.key, result["error"]) for job, results, _ in answers for run, result in zip(job.runs, results, strict=True)
    ]
    assert len(told) == N_RUNS
    return [dict(told)[run.key] for run in RUNS]


EXPECTED = [DIED if run.stage == FATAL else None for run in RUNS]


@pytest.mark.parametrize("together", [True, False], ids=["together", "apart"])
@pytest.mark.parametrize("n_workers", [2, 8])
@pytest.mark.parametrize("size", [1, 4, 16, 64])
def test_only_runs_that_a_worker_dies_of_fail(size: int, n_workers: int, *, together: bool) -> None:
    engine = Mortal(n_workers, together=together)
    assert errors(engine, jobs_of(size)) == EXPECTED
    tries = Counter(run.key for job in engine.given for run in job.runs)
    assert max(tries.values()) <= size.bit_length() - 1 + 3


class Proving(Mortal):
    """Notes whether a job of a world is given while the one that opens it is not done."""

    opening: Job | None = None
    is_early = False

    def submit(self, job: Job) -> None:
        self.is_early |= self.opening is not None
        self.opening = job if job.opens else None
        super().submit(job)

    def answers(self) -> list[Answer]:
        self.opening = None
        return super().answers()


def test_what_is_left_of_a_lost_job_that_opens_a_world_waits_until_it_is_open() -> None:
    world = sorted(RUNS[:16], key=lambda run: run.stage != FATAL)  # as if they were of one
    runs = tuple(replace(run, world_key="one") for run in world)
    engine, answers = Proving(2, together=False), list[Answer]()
    execute(
        iter([Job(runs[:8], Path(), Path(), opens=True), Job(runs[8:], Path(), Path())]),
        engine,
        answers.append,
        lambda: None,
    )
    assert sorted(len(answer.job.runs) for answer in answers) == [1, 1, 2, 4, 8]
    assert not engine.is_early
    assert [job.opens for job in engine.given if job.runs[0] == runs[0]] == [True] * 6


class Breaking(ProcessPoolExecutor):
    """The first of these loses a process between its second and third job, and leaves what it has unanswered."""

    n_made = 0

    def __init__(self, *_: object, **__: object) -> None:
        super().__init__(1)
        Breaking.n_made += 1
        self.is_first, self.n_given = Breaking.n_made == 1, 0

    def submit(self, call: Any, *arguments: Any, **_: Any) -> Future[Any]:  # type: ignore[override]
        self.n_given += 1
        if self.is_first and self.n_given == 3:
            raise BrokenProcessPool
        future: Future[Any] = Future()
        if not self.is_first or self.n_given == 1:
            future.set_result(call(*arguments))
        return future


def test_a_pool_that_breaks_while_jobs_are_given_loses_only_what_is_not_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processes, "do", do_or_die)
    monkeypatch.setattr(processes, "ProcessPoolExecutor", Breaking)
    jobs = [Job((run,), Path(), Path()) for run in RUNS[1:4]]
    with Processes(2) as engine:
        for job in jobs:
            engine.submit(job)
        answers = [*engine.answers(), *engine.answers()]
    assert Breaking.n_made == 2
    assert [(answer.job, answer.lost) for answer in answers] == [(jobs[0], ""), (jobs[1], DIED), (jobs[2], "")]


@pytest.mark.thorough("starts processes anew two dozen times")
def test_processes_fail_only_runs_that_one_of_them_dies_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "do", do_or_die)
    with Processes(2) as engine:
        assert errors(engine, jobs_of(16)) == EXPECTED


class Forgetful(Here):
    """Loses its first job twice."""

    def answers(self) -> list[Answer]:
        if self.n_died == 2:
            return super().answers()
        self.n_died += 1
        return [Answer(self._jobs.popleft(), [], DIED)]


_LEFT = re.compile(r", about .* left")


def test_losses_are_told_while_a_study_runs_and_when_it_is_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joulewise.cli.output.LINE_EVERY_S", 0.0)
    results = run_shown(small(lambda text: QUICKLY + text), tmp_path, None, Forgetful(), quiet=False)
    assert results.failed.is_empty()
    *live, last = capsys.readouterr().err.splitlines()
    assert "Running small: 0 of 8 (1 worker died; 1 run tried again)" in [_LEFT.sub("", line) for line in live]
    assert last == "2 workers died; 1 run tried again."
