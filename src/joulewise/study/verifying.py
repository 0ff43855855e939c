"""Stored results held against the study: worlds made anew, allocations checked, utilities recomputed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.study import details
from joulewise.study.planning import Run, plan
from joulewise.study.results import Results, open_results
from joulewise.study.sources import Draw, build_manager
from joulewise.study.store import DONE, Store
from joulewise.study.worker import shares, world_of

if TYPE_CHECKING:
    from joulewise.model import World

_RELATIVE_ROUNDING = 3e-9  # the bound is stored rounded up by 1e-9


@dataclass(frozen=True)
class Verdict:
    """One run and everything that does not hold of it; `has_records`: its stored allocation was judged.

    The allocations of other runs are not stored, so that they are simulated again.
    """

    run: str
    title: str
    problems: tuple[str, ...]
    has_records: bool


def verify(folder: Path, on_progress: Callable[[int, int], None] = lambda *_: None) -> list[Verdict]:
    """Judge every run that is done; `on_progress` is told how many of how many are judged.

    Raises InputError when there is no such run, or the folder or the files that its study names cannot be used.
    """
    results = open_results(folder)
    rows = {row["run"]: row for row in results.runs.iter_rows(named=True)}
    runs = {run.key: run for run in _planned(results) if rows[run.key]["status"] == DONE}
    if not runs:
        advice = "see why in the column `error` of its runs, then run the study again"
        raise InputError(
            Problem(str(folder), "holds no run that is done, so there is nothing to verify", advice=advice)
        )
    verdicts = {}
    for i, run in enumerate(sorted(runs.values(), key=lambda run: run.world_key)):
        on_progress(i, len(runs))
        verdicts[run.key] = _verdict(run, rows[run.key], results)
    on_progress(len(runs), len(runs))
    return [verdicts[key] for key in runs]


def _verdict(run: Run, row: dict[str, Any], results: Results) -> Verdict:
    has_records = Store(results.folder).records_file(run.key).is_file()
    problems = (*_problems(run, row, results, has_records=has_records), *_derived(row))
    return Verdict(run.key, _title(run, results), problems, has_records)


def _derived(row: dict[str, Any]) -> Iterator[str]:
    """Columns that do not follow from the others of their row."""
    for name, value in shares(row["utility"], row["maximum_utility"], row["utility_bound"]).items():
        yield from _differs(f"runs: {name}", row[name], value)


def _planned(results: Results) -> tuple[Run, ...]:
    """The runs of the stored study; InputError when the files it names are not those it was run with."""
    runs = plan(results.study)
    if {run.key for run in runs} != set(results.runs["run"]):
        files = ", ".join(results.about.get("files", {})) or "this version of Joulewise"
        found = "holds runs of other inputs than the stored study now gives"
        problem = Problem(str(results.folder), found, f"{files} must be as it was", "run the study again")
        raise InputError(problem)
    return runs


def _problems(run: Run, row: dict[str, Any], results: Results, *, has_records: bool) -> Iterator[str]:
    from joulewise.check import check_allocation, recompute, run_energy_j
    from joulewise.simulate import measures, simulate

    store, draw = Store(results.folder), Draw(run.seed, run.trial, results.study.folder)
    world, manager = world_of(run, draw), build_manager(run.point.manager, draw)
    if has_records:
        table = store.read_table(store.records_file(run.key))
        if table.height != world.workload.n_tasks:
            yield f"{table.height} records, but the workload has {world.workload.n_tasks} tasks"
            return
        lost = store.losses_file(run.key)
        allocation = details.allocation_of(table, store.read_table(lost) if lost.is_file() else None)
        yield from _differs("records: arrival_s", table["arrival_s"].to_numpy(), world.workload.arrival_s)
        yield from _differs("records: utility", float(table["utility"].sum()), row["utility"])
        yield from _differs("records: energy_j", table["energy_j"].to_numpy(), run_energy_j(world, allocation))
    else:
        outcome = simulate(world, manager, run.seed, run.trial)
        allocation, found = outcome.allocation, measures(world, outcome)
        for name in ("mapping_events", "late_events"):
            yield from _differs(f"runs: {name}", row[name], found[name])
    yield from check_allocation(world, allocation, manager)
    for name, value in recompute(world, allocation).items():
        yield from _differs(f"runs: {name}", row[name], value)
    yield from _bounds(run, row, world, store)


def _bounds(run: Run, row: dict[str, Any], world: World, store: Store) -> Iterator[str]:
    """What does not hold of the bounds in a run's row and of their stored proof."""
    from joulewise.check import dual_value
    from joulewise.optimise import Proof, maximum_utility, utility_ceiling

    stored = store.read_proof(run.world_key, run.bound)
    if stored is None:
        yield "bounds: the proof of the world's bound is missing"
        return
    prices = Proof.from_json(stored).certificate
    bound = utility_ceiling(world) if prices is None else dual_value(world, prices.per_s, prices.per_j)
    for name, anew in (("maximum_utility", maximum_utility(world)), ("utility_bound", bound)):
        yield from _differs(f"bounds: {name}", stored[name], anew)
        yield from _differs(f"runs: {name}", row[name], anew)


def _differs(what: str, stored: Any, recomputed: Any) -> Iterator[str]:
    """That numbers differ by more than rounding; what is missing in a file must come out as not a number."""
    there, anew = np.ravel(np.asarray(stored, float)), np.ravel(np.asarray(recomputed, float))
    alike = np.isclose(there, anew, rtol=_RELATIVE_ROUNDING, atol=_RELATIVE_ROUNDING, equal_nan=True)
    if not alike.all():
        first = int(np.argmin(alike))
        yield f"{what}: {there[first]:.12g} is stored, {anew[first]:.12g} comes out"


def _title(run: Run, results: Results) -> str:
    """What a person calls the run: the values of the swept keys and the trial."""
    cells = run.cells()
    return ", ".join([*(str(cells[axis]) for axis in results.study.axes), f"trial {run.trial}"])
