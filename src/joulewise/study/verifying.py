"""Stored results held against the study: worlds made anew, allocations checked, utilities recomputed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.study import details
from joulewise.study.planning import Run, plan
from joulewise.study.results import Results, open_results
from joulewise.study.sources import Draw, build_manager, build_world
from joulewise.study.store import DONE, Store

_RELATIVE_ROUNDING = 1e-9


@dataclass(frozen=True)
class Verdict:
    """One stored run and everything that does not hold of it."""

    run: str
    title: str
    problems: tuple[str, ...]


def verify(folder: Path, on_progress: Callable[[int, int], None] = lambda *_: None) -> list[Verdict]:
    """Judge every run whose records are stored; `on_progress` is told how many of how many are judged.

    Raises InputError when the folder or the files that its study names cannot be used.
    """
    results = open_results(folder)
    rows = {row["run"]: row for row in results.runs.iter_rows(named=True)}
    runs = {run.key: run for run in _planned(results) if run.key in rows and rows[run.key]["status"] == DONE}
    store = Store(folder)
    kept = [run for run in runs.values() if store.records_file(run.key).is_file()]
    verdicts = []
    for i, run in enumerate(kept):
        on_progress(i, len(kept))
        problems = tuple(_problems(run, rows[run.key], results, store))
        verdicts.append(Verdict(run.key, _title(run, results), problems))
    on_progress(len(kept), len(kept))
    return verdicts


def _planned(results: Results) -> tuple[Run, ...]:
    """The runs of the stored study; InputError when the files it names are not those it was run with."""
    runs = plan(results.study)
    if {run.key for run in runs} != set(results.runs["run"]):
        files = ", ".join(results.about.get("files", {})) or "this version of Joulewise"
        found = "holds runs of other inputs than the stored study now gives"
        problem = Problem(str(results.folder), found, f"{files} must be as it was", "run the study again")
        raise InputError(problem)
    return runs


def _problems(run: Run, row: dict[str, Any], results: Results, store: Store) -> Iterator[str]:
    from joulewise.check import check_allocation, recompute
    from joulewise.optimise import Proof, recheck

    draw = Draw(run.seed, run.trial, results.study.folder)
    world = build_world(run.point.system, run.point.workload, draw)
    table = store.read_table(store.records_file(run.key))
    if table.height != world.workload.n_tasks:
        yield f"{table.height} records, but the workload has {world.workload.n_tasks} tasks"
        return
    allocation = details.allocation_of(table)
    yield from check_allocation(world, allocation, build_manager(run.point.manager, draw))
    yield from _differs("records: arrival_s", table["arrival_s"].to_numpy(), world.workload.arrival_s)
    for name, value in recompute(world, allocation).items():
        yield from _differs(f"runs: {name}", row[name], value)
    yield from _differs("records: utility", float(table["utility"].sum()), row["utility"])
    stored = store.read_proof(run.world_key, run.bound)
    if stored is None:
        yield "bounds: the proof of the world's bound is missing"
        return
    proof = recheck(world, Proof.from_json(stored))
    for name in ("maximum_utility", "utility_bound"):
        yield from _differs(f"bounds: {name}", stored[name], getattr(proof, name))
        yield from _differs(f"runs: {name}", row[name], getattr(proof, name))


def _differs(what: str, stored: Any, recomputed: Any) -> Iterator[str]:
    if not np.allclose(stored, recomputed, rtol=_RELATIVE_ROUNDING, atol=_RELATIVE_ROUNDING):
        stored, recomputed = np.ravel(stored), np.ravel(recomputed)
        first = int(np.argmin(np.isclose(stored, recomputed, rtol=_RELATIVE_ROUNDING, atol=_RELATIVE_ROUNDING)))
        yield f"{what}: {stored[first]!r} is stored, {recomputed[first]!r} comes out"


def _title(run: Run, results: Results) -> str:
    """What a person calls the run: the values of the swept keys and the trial."""
    cells = run.cells()
    return ", ".join([*(str(cells[axis]) for axis in results.study.axes), f"trial {run.trial}"])
