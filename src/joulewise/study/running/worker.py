"""What a worker does with a job: build its world once, decide in it run by run, and say what came out."""

from __future__ import annotations

import errno
import math
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joulewise.errors import InputError, JoulewiseError
from joulewise.files import refusal_code, sha256_of
from joulewise.study.kinds.case import Case
from joulewise.study.kinds.keeping import kept_world
from joulewise.study.kinds.systems import kind_of
from joulewise.study.spec.run import Run
from joulewise.study.spec.source import Draw
from joulewise.study.store.store import DONE, FAILED, Result, Store

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
"""What ends a study, as no run could be stored."""


@dataclass(frozen=True)
class Job:
    """Runs on one world, done by one worker after each other; one that `opens` a world has to prove its bound.

    `n_lost` is how often it was lost with a worker.
    """

    runs: tuple[Run, ...]
    study_folder: Path
    results_folder: Path
    opens: bool = False
    n_lost: int = 0


def do(job: Job) -> list[Result]:
    """What comes out of the runs of a job; one that fails has its error, and the others go on.

    Proofs and details are written to the results folder; rows are for whoever gave the job to store.
    """
    return [_do_run(run, job) for run in job.runs]


def failure(why: str) -> Result:
    """What comes out of a run that fails."""
    return {"status": FAILED, "error": why}


def _do_run(run: Run, job: Job) -> Result:
    try:
        return _compute(run, job, Store(job.results_folder))
    except OSError as error:
        if refusal_code(error) in NO_ROOM:
            raise
        return failure(reason_of(error))
    except Exception as error:  # whatever a user's heuristic raises must not stop the other runs
        return failure(reason_of(error))


def _compute(run: Run, job: Job, store: Store) -> Result:
    from joulewise.kernels.jit import mark_kernels_compiled

    started_s = time.perf_counter()
    draw, kind = Draw(run.seed, run.trial, job.study_folder), kind_of(run.point.decision)
    _check_files(run, job.study_folder)
    world = world_of(run, draw)
    decision = kind.build(run.point.decision, draw)
    _check_files(run, job.study_folder)  # once more, for what changed while it was read
    outcome = kind.compute(Case(run, world, decision, store))
    mark_kernels_compiled(kind.name)
    if run.keep:
        store.write_details(run, outcome.tables())
    seconds = time.perf_counter() - started_s
    return {"status": DONE, "error": None, **_without_nan(outcome.columns), "run_s": seconds}


def _check_files(run: Run, folder: Path) -> None:
    """Raise JoulewiseError when a file no longer holds what the run's key stands for."""
    for name, content in run.files:
        if not (folder / name).is_file() or sha256_of(folder / name) != content:
            raise JoulewiseError(f"{name} changed while the study was running; run it again")


def world_of(run: Run, draw: Draw) -> Any:
    """The world of a run, made again unless this process has just made it."""
    kind = kind_of(run.point.decision)

    def make() -> Any:
        world = kind.build_world(run.point.world, draw)
        _check_files(run, draw.folder)
        return world

    return kept_world(kind, run.world_key, make)


def _without_nan(metrics: dict[str, Any]) -> dict[str, Any]:
    """Missing is None in files."""
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in metrics.items()}


def reason_of(error: Exception) -> str:
    """An error in one line; one that is not ours says where it was raised."""
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, InputError | JoulewiseError):
        return text
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {text} ({Path(place.filename).name}, line {place.lineno})"
