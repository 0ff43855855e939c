"""What a worker process does: build a world once, run managers on it, write each run's part file."""

from __future__ import annotations

import math
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joulewise.errors import InputError, JoulewiseError
from joulewise.files import sha256_of
from joulewise.study import details
from joulewise.study.planning import Run
from joulewise.study.sources import Draw, build_manager, build_world
from joulewise.study.store import DONE, FAILED, Result, Store

if TYPE_CHECKING:
    from joulewise.model import Allocation, World
    from joulewise.optimise import Proof

CACHED_WORLDS = 2


@dataclass(frozen=True)
class Job:
    """Runs on one world, done by one worker after each other."""

    runs: tuple[Run, ...]
    study_folder: Path
    results_folder: Path


@dataclass(frozen=True)
class Finished:
    """That a run is stored, and how it went."""

    key: str
    error: str | None


def do(job: Job) -> list[Finished]:
    """Do the runs of a job; a run that fails is stored with its error and the others go on."""
    return [do_run(run, job) for run in job.runs]


def do_run(run: Run, job: Job) -> Finished:
    """Compute and store one run."""
    store = Store(job.results_folder)
    try:
        result = _compute(run, job, store)
    except Exception as error:  # whatever a user's heuristic raises must not stop the other runs
        result = {"status": FAILED, "error": _reason(error)}
    store.write_part(run, result)
    return Finished(run.key, result["error"])


def _compute(run: Run, job: Job, store: Store) -> Result:
    from joulewise.check import check_allocation
    from joulewise.simulate import measures, simulate
    from joulewise.worlds.heterogeneity import heterogeneity_metrics

    started_s = time.perf_counter()
    draw = Draw(run.seed, run.trial, job.study_folder)
    _check_files(run, job.study_folder)
    world = world_of(run, draw)
    manager = build_manager(run.point.manager, draw)
    _check_files(run, job.study_folder)  # once more, for what changed while it was read
    outcome = simulate(world, manager, run.seed, run.trial)
    broken = check_allocation(world, outcome.allocation, manager)
    if broken:
        raise JoulewiseError(f"the allocation breaks {len(broken)} rules; the first: {broken[0]}")
    metrics, proof = measures(world, outcome), _proof(run, world, store)
    metrics["maximum_utility"], metrics["utility_bound"] = proof.maximum_utility, proof.utility_bound
    metrics |= shares(metrics["utility"], proof.maximum_utility, proof.utility_bound)
    metrics |= heterogeneity_metrics(world.system)
    if run.keep:
        _write_details(run, world, outcome.allocation, store)
    seconds = time.perf_counter() - started_s
    return {"status": DONE, "error": None, **_without_nan(metrics), "run_s": seconds}


def _write_details(run: Run, world: World, allocation: Allocation, store: Store) -> None:
    store.write_table(store.records_file(run.key), details.records(world, allocation))
    store.write_table(store.traces_file(run.key), details.trace(world, allocation))
    if allocation.lost.task.size:
        store.write_table(store.losses_file(run.key), details.losses(allocation))


def _check_files(run: Run, folder: Path) -> None:
    """Raise JoulewiseError when a file no longer holds what the run's key stands for."""
    for name, content in run.files:
        if not (folder / name).is_file() or sha256_of(folder / name) != content:
            raise JoulewiseError(f"{name} changed while the study was running; run it again")


def shares(utility: float, maximum_utility: float, utility_bound: float) -> dict[str, float]:
    """The columns in percent that follow from the utility and its two bounds; NaN where a bound is 0."""
    return {
        "utility_percent": 100 * _share(utility, maximum_utility),
        "possible_percent": 100 * _share(utility, utility_bound),
    }


def _share(part: float, whole: float) -> float:
    """A part of something that may be nothing."""
    return part / whole if whole > 0 else math.nan


def _proof(run: Run, world: World, store: Store) -> Proof:
    """The proof of the world's bound: stored if known, else found and stored for the other runs on it."""
    from joulewise.optimise import Proof, prove

    known = store.read_proof(run.world_key, run.bound)
    if known is not None:
        return Proof.from_json(known)
    proof = prove(world, run.bound)
    store.write_proof(run.world_key, run.bound, proof.as_json())
    return proof


_worlds: dict[str, World] = {}
"""The last worlds of this process, by key; consecutive runs share them."""


def world_of(run: Run, draw: Draw) -> World:
    """The world of a run, made anew unless this process has just made it."""
    if run.world_key not in _worlds:
        if len(_worlds) == CACHED_WORLDS:
            del _worlds[next(iter(_worlds))]
        world = build_world(run.point.world, draw)
        _check_files(run, draw.folder)
        _worlds[run.world_key] = world
    return _worlds[run.world_key]


def _without_nan(metrics: dict[str, Any]) -> dict[str, Any]:
    """Missing is None in files."""
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in metrics.items()}


def _reason(error: Exception) -> str:
    """An error in one line; one that is not ours says where it was raised."""
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, InputError | JoulewiseError):
        return text
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {text} ({Path(place.filename).name}, line {place.lineno})"
