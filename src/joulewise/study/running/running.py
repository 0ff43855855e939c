"""A study run to its end: what is stored already is reused, the rest is computed, all of it is merged."""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from joulewise._version import __version__
from joulewise.errors import InputError, Problem
from joulewise.files import locked, remove_leftovers
from joulewise.processes import available_cpus
from joulewise.progress import CancelToken, Progress
from joulewise.study.answers.results import Results
from joulewise.study.parsing.study import Study
from joulewise.study.running.execute import execute
from joulewise.study.running.needs import raise_if_too_large
from joulewise.study.running.planning import plan
from joulewise.study.running.worker import Finished
from joulewise.study.spec.parts import RESULTS_VERSION
from joulewise.study.spec.run import Run
from joulewise.study.store.store import OF_COMPUTING, Store
from joulewise.units import count

MAX_WORKERS = 1024


def default_folder(study: Study) -> Path:
    """Where results go by default."""
    return Path("results") / study.name


def run_study(
    study: Study,
    folder: Path | str | None = None,
    workers: int | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
    cancel: CancelToken | None = None,
) -> Results:
    """Run what is missing of a study in `workers` processes (all processors by default) and merge everything.

    The results are the same for any number of workers; where nothing changed since they were written, nothing is
    written again. `on_progress` is called in this thread when runs finish. When
    interrupted, or cancelled by `cancel`, finished runs are kept and the next call goes on from there. Raises Cancelled
    then, and InputError when the folder belongs to something else or is being written, or when there is not so much
    memory or disk.
    """
    workers, cancel = _checked_workers(workers), cancel or CancelToken()
    store = Store(Path(folder or default_folder(study)))
    store.check_owner(study.owner)
    runs = plan(study)
    with locked(store.folder):
        remove_leftovers(store.folder)
        missing = missing_runs(study, store, runs)
        about = _about(study, store, runs, is_computed=bool(missing))
        if not missing and store.holds(study.owner, runs, about):
            _counter(missing, runs, on_progress)
            return Results(store.folder, study, store.read_table(store.runs_file), store.marker() or about)
        raise_if_too_large(study, missing, store.folder)
        store.claim(study.owner, about)
        began = time.perf_counter()
        try:
            execute(missing, (study.folder, store.folder), workers, _counter(missing, runs, on_progress), cancel)
        finally:
            remove_leftovers(store.folder)  # of processes that were ended
        about["seconds"] += time.perf_counter() - began
        table = store.finish(study.owner, runs, about)
    return Results(store.folder, study, table, about)


def missing_runs(study: Study, store: Store, runs: tuple[Run, ...]) -> list[Run]:
    """The runs that must be computed, each computation once."""
    results, details = store.results(), study.kind.tables
    by_key: dict[str, Run] = {}
    for run in runs:
        same = by_key.get(run.key)
        if same is None or (run.keep and not same.keep):
            by_key[run.key] = run
    return [run for run in by_key.values() if not store.is_finished(run, results.get(run.key), details)]


def _counter(
    missing: list[Run], runs: tuple[Run, ...], on_progress: Callable[[Progress], None]
) -> Callable[[Finished], None]:
    """What counts finished runs and passes the count on; says at once how many there are."""
    progress = Progress(len(missing), 0, 0, len({run.key for run in runs}) - len(missing))
    on_progress(progress)

    def report(finished: Finished) -> None:
        nonlocal progress
        n_failed = progress.n_failed + (finished.error is not None)
        progress = replace(progress, n_done=progress.n_done + 1, n_failed=n_failed)
        on_progress(progress)

    return report


def _checked_workers(workers: int | None) -> int:
    if workers is None:
        return available_cpus()
    if not 1 <= workers <= MAX_WORKERS:
        raise InputError(Problem("workers", f"found {workers}", f"must be from 1 to {MAX_WORKERS:,}"))
    return workers


def _about(study: Study, store: Store, runs: tuple[Run, ...], *, is_computed: bool) -> dict[str, Any]:
    """What the folder says of itself: versions, machine, where files were found and what they held.

    Where nothing is computed, who computed it stays: results may have come from another machine.
    """
    earlier = store.marker() or {}
    stays = {} if is_computed else {key: earlier[key] for key in OF_COMPUTING if key in earlier}
    files = dict(sorted({file for run in runs for file in run.files}))
    return {
        "joulewise": __version__,
        "results_version": RESULTS_VERSION,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {count(available_cpus(), 'processor')}",
        "run_at": datetime.now(UTC).isoformat(timespec="seconds"),
        **stays,
        "seconds": float(earlier.get("seconds", 0.0)),
        "trials": study.heading.trials,
        "study_file": study.file_name,
        "study_folder": str(study.folder.resolve()),
        "files": files,
        "policies": study.kind.titles(study.points, study.folder),
        "study_hash": hashlib.sha256(json.dumps([study.source, files]).encode()).hexdigest()[:16],
    }
