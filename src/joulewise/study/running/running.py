"""A study run to its end: what is stored already is reused, the rest is computed, all of it is merged."""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from joulewise._version import __version__
from joulewise.errors import InputError, Problem
from joulewise.files import locked, remove_leftovers
from joulewise.processes import available_cpus
from joulewise.progress import CancelToken, Progress, usual_telling
from joulewise.study.answers.results import Results
from joulewise.study.parsing.study import Study
from joulewise.study.running.engines.engine import Answer, Engine
from joulewise.study.running.engines.here import Here
from joulewise.study.running.engines.processes import Processes
from joulewise.study.running.execute import execute
from joulewise.study.running.needs import raise_if_too_large
from joulewise.study.running.pace import pace
from joulewise.study.running.planning import Plan
from joulewise.study.running.rounds import rounds
from joulewise.study.running.work import Work
from joulewise.study.running.worker import Job
from joulewise.study.spec.parts import RESULTS_VERSION
from joulewise.study.store.journal import Journal
from joulewise.study.store.merging import merge
from joulewise.study.store.store import OF_COMPUTING, Store

MAX_WORKERS = 1024
_RECENT_S, _LEAST_RECENT = 60.0, 16
"""The pace is that of the last minute, or of so many jobs; what was before the first one was waiting for workers."""
_ENOUGH, _ENOUGH_OF_FEW = 16, 0.25
"""So many runs, or such a part of fewer, tell how long the others take better than what is known beforehand."""


def default_folder(study: Study) -> Path:
    """Where results go by default."""
    return Path("results") / study.name


def run_study(
    study: Study,
    folder: Path | str | None = None,
    workers: int | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    cancel: CancelToken | None = None,
    engine: Engine | None = None,
) -> Results:
    """Run what is missing of a study in `workers` processes (all processors by default) and merge everything.

    The results are the same for any number of workers and any engine; where nothing changed since they were written,
    nothing is written again. `on_progress` is called in this thread when runs finish; where it is not given, a notebook
    shows a line. When interrupted, or cancelled by `cancel`, finished runs are kept and the next call goes on from
    there. Raises Cancelled then, and InputError when the folder belongs to something else or is being written, or when
    there is not so much memory or disk.
    """
    engine, cancel = engine or local_engine(workers), cancel or CancelToken()
    store = Store(Path(folder or default_folder(study)))
    store.check_owner(study.owner)
    with locked(store.folder):
        remove_leftovers(store.folder)
        counter = _Counter(on_progress or usual_telling())
        runs, seconds = _all_computed(study, store, engine, counter, cancel)
        about = describe(study, store, runs, engine.place if counter.progress.n_done else "")
        if not counter.progress.n_done and store.holds(study.owner, runs.table["run"], about):
            return Results(store.folder, study, store.marker() or about)
        store.claim(study.owner, about)
        about["seconds"] += seconds
        merge(store, runs, runs.table["run"], study.kind.in_order, partial(store.begin, study.owner, about))
        store.finish(study.owner, about)
        return Results(store.folder, study, about)


def local_engine(workers: int | None) -> Engine:
    """What computes runs on this machine: processes, or this one where one is enough."""
    if workers is not None and not 1 <= workers <= MAX_WORKERS:
        raise InputError(Problem("workers", f"found {workers}", f"must be from 1 to {MAX_WORKERS:,}"))
    workers = workers or available_cpus()
    return Here() if workers == 1 else Processes(workers)


def _all_computed(
    study: Study, store: Store, engine: Engine, counter: _Counter, cancel: CancelToken
) -> tuple[Plan, float]:
    """Have what is missing computed, round by round: all runs that there are then, and how many seconds that took."""
    began = time.perf_counter()
    with ExitStack() as stack:
        stack.callback(_tidy, store.folder)
        for work in rounds(study, store):
            counter.begin(work, engine.n_workers)
            if len(work):
                raise_if_too_large(study, work, store.folder, engine.memory_bytes)
                store.claim(study.owner, describe(study, store, work.plan, engine.place))
                if not counter.progress.n_done:
                    stack.enter_context(engine)
                _compute(work, engine, counter, cancel)
    counter.end()
    return work.plan, time.perf_counter() - began if counter.progress.n_done else 0.0


def _tidy(folder: Path) -> None:
    """Remove what processes left that were ended, where that is allowed; it is done again before the next run."""
    with suppress(OSError):
        remove_leftovers(folder)


def _compute(work: Work, engine: Engine, counter: _Counter, cancel: CancelToken) -> None:
    """Have the work done and its rows stored."""
    with Journal(work.store) as journal:

        def take(answer: Answer) -> None:
            pairs = zip(answer.job.runs, answer.results, strict=True)
            journal.append([{**run.cells(), **result} for run, result in pairs])
            counter.count(answer)

        def look() -> None:
            cancel.raise_if_cancelled()
            counter.tell(engine.news, engine.n_there)

        def try_again(job: Job) -> None:
            counter.try_again(job, engine.n_died)

        execute(work.jobs(engine.n_workers, engine.most_runs), engine, take, look, try_again)


class _Counter:
    """Counts finished runs and passes the count on; says of each round how many there are, of one that is there last.

    Runs that are there already are those of the last round but for what was done since.
    """

    def __init__(self, on_progress: Callable[[Progress], None]) -> None:
        self.progress, self.on_progress = Progress(0, 0, 0, 0), on_progress
        self._recent: deque[tuple[float, int]] = deque()
        self._run_s, self._n_workers = 0.0, 1
        self._again: set[str] = set()

    def begin(self, work: Work, n_workers: int) -> None:
        """Count a round in, and say so if there is anything to do, for so many workers."""
        done = self.progress.n_done
        self.progress = replace(self.progress, n_total=done + len(work), n_reused=work.n_there - done)
        if len(work):
            self._run_s, self._n_workers = pace() * work.seconds / len(work), n_workers
            self._tell()

    def end(self) -> None:
        """Say what was there if there was nothing to do."""
        if not self.progress.n_total:
            self.on_progress(self.progress)

    def tell(self, news: str, n_workers: int) -> None:
        """Note how many workers are there, and say what is new about them."""
        is_new = news != self.progress.now
        self.progress = replace(self.progress, now=news, n_workers=n_workers)
        if is_new:
            self._tell()

    def try_again(self, job: Job, n_died: int) -> None:
        """Count the runs of a job in that was lost."""
        self._again.update(run.key for run in job.runs)
        self.progress = replace(self.progress, n_died=n_died, n_again=len(self._again))
        self._tell()

    def count(self, answer: Answer) -> None:
        """Count the runs of a job."""
        runs_per_s = self._pace(self.progress.n_done + len(answer.results))
        for result in answer.results:
            n_done, n_failed = self.progress.n_done + 1, self.progress.n_failed + (result["error"] is not None)
            why = result["error"] or self.progress.why
            self.progress = replace(self.progress, n_done=n_done, n_failed=n_failed, runs_per_s=runs_per_s, why=why)
            self._tell()

    def _tell(self) -> None:
        self.progress = replace(self.progress, left_s=self._left_s())
        self.on_progress(self.progress)

    def _left_s(self) -> float | None:
        """About how long the others take: as is known beforehand, if it is, until enough runs tell."""
        now = self.progress
        n_left = now.n_total - now.n_done
        if now.runs_per_s and now.n_done >= min(_ENOUGH, _ENOUGH_OF_FEW * now.n_total):
            return n_left / now.runs_per_s
        return self._run_s * n_left / max(min(now.n_workers or self._n_workers, n_left), 1) if self._run_s else None

    def _pace(self, n_done: int) -> float:
        """How many runs a second were done lately, now that so many are."""
        self._recent.append((time.monotonic(), n_done))
        now_s = self._recent[-1][0]
        while len(self._recent) > _LEAST_RECENT and self._recent[0][0] < now_s - _RECENT_S:
            self._recent.popleft()
        then_s, n_then = self._recent[0]
        return (n_done - n_then) / (now_s - then_s) if now_s > then_s else 0.0


def describe(study: Study, store: Store, runs: Plan, place: str) -> dict[str, Any]:
    """What the folder says of itself: versions, the place of computing, where files were found and what they held.

    Where nothing is computed, and there is no place for it, who computed it stays: results may have come from another
    machine.
    """
    earlier = store.marker() or {}
    stays = {} if place else {key: earlier[key] for key in OF_COMPUTING if key in earlier}
    files = runs.files
    return {
        "joulewise": __version__,
        "results_version": RESULTS_VERSION,
        "python": platform.python_version(),
        "machine": place,
        "run_at": datetime.now(UTC).isoformat(timespec="seconds"),
        **stays,
        "seconds": float(earlier.get("seconds", 0.0)),
        "trials": study.heading.trials,
        "study_file": study.file_name,
        "study_folder": str(study.folder.resolve()),
        "files": files,
        "policies": study.kind.titles(study.decisions, study.folder),
        "study_hash": hashlib.sha256(json.dumps([study.source, files]).encode()).hexdigest()[:16],
    }
