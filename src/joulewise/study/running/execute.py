"""Runs spread over local processes: started by spawn, ended with their parent, deaf to Ctrl-C."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing.process import BaseProcess
from pathlib import Path

from joulewise.processes import HEED_S, end, follow_parent, for_children, give_back_memory
from joulewise.progress import CancelToken
from joulewise.study.kinds.keeping import forget_worlds
from joulewise.study.running.worker import Finished, Job, do, do_run
from joulewise.study.spec.run import Run
from joulewise.study.store.store import FAILED, Store

Report = Callable[[Finished], None]
Folders = tuple[Path, Path]
"""Those of the files that the study names, and of its results."""

_JOBS_PER_WORKER = 8
_LARGEST_JOB = 4


def execute(runs: Sequence[Run], folders: Folders, workers: int, report: Report, cancel: CancelToken) -> None:
    """Do the runs with this many processes (one: in this process) and report each as it is stored.

    Raises Cancelled as soon as that is asked for: before the next run, or while it waits for processes.
    """
    try:
        _here(runs, folders, report, cancel) if workers == 1 else _there(runs, folders, workers, report, cancel)
    finally:
        forget_worlds()


def _here(runs: Sequence[Run], folders: Folders, report: Report, cancel: CancelToken) -> None:
    for job in _jobs(runs, *folders, size=1):
        cancel.raise_if_cancelled()
        report(do_run(job.runs[0], job))


def _there(runs: Sequence[Run], folders: Folders, workers: int, report: Report, cancel: CancelToken) -> None:
    forget_worlds()  # processes make their own
    give_back_memory()
    size = min(max(len(runs) // (_JOBS_PER_WORKER * workers), 1), _LARGEST_JOB)
    left = list(_jobs(runs, *folders, size))
    while left:
        lost = _in_processes(left, workers, report, cancel)
        for job in lost[:workers]:  # jobs are begun in order, so these were being done when a process died
            _one_by_one(job, report, cancel)
        left = lost[workers:]


def _jobs(runs: Sequence[Run], study_folder: Path, results_folder: Path, size: int) -> Iterator[Job]:
    """Runs of one world together, so that it is built once, in jobs small enough to balance."""
    worlds: dict[str, list[Run]] = {}
    for run in runs:
        worlds.setdefault(run.world_key, []).append(run)
    for same_world in worlds.values():
        for start in range(0, len(same_world), size):
            yield Job(tuple(same_world[start : start + size]), study_folder, results_folder)


def _in_processes(jobs: list[Job], workers: int, report: Report, cancel: CancelToken) -> list[Job]:
    """Do the jobs in a pool; returns those that were lost because a process died."""
    pool = ProcessPoolExecutor(min(workers, len(jobs)), multiprocessing.get_context("spawn"), initializer=follow_parent)
    done: set[Job] = set()
    children: list[BaseProcess] = []
    try:
        with for_children() as children:
            pending: dict[Future[list[Finished]], Job] = {pool.submit(do, job): job for job in jobs}
        left = set(pending)
        while left:
            cancel.raise_if_cancelled()
            ready, left = wait(left, HEED_S, FIRST_COMPLETED)
            done |= {pending[future] for future in ready if _collect(future, report)}
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        end(children)
        raise
    pool.shutdown()
    return [job for job in jobs if job not in done]


def _collect(future: Future[list[Finished]], report: Report) -> bool:
    """Report the runs of a job that has come back; False when it was lost with its process."""
    try:
        finished = future.result()
    except BrokenProcessPool:
        return False
    for run in finished:
        report(run)
    return True


def _one_by_one(job: Job, report: Report, cancel: CancelToken) -> None:
    """Do each run of a lost job in a process of its own, and store those whose process dies as failed."""
    for run in job.runs:
        alone = replace(job, runs=(run,))
        if _in_processes([alone], 1, report, cancel):
            error = "the process that ran it died; was it out of memory?"
            Store(job.results_folder).write_part(run, {"status": FAILED, "error": error})
            report(Finished(run.key, error))
