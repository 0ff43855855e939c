"""Stored results checked against the study: worlds made again, decisions checked, columns recomputed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joulewise.errors import InputError, Problem
from joulewise.progress import CancelToken
from joulewise.study.case import Case, Note
from joulewise.study.planning import plan
from joulewise.study.results import Results, open_results
from joulewise.study.run import Run
from joulewise.study.source import Draw
from joulewise.study.store import DONE, Store
from joulewise.study.worker import world_of


@dataclass(frozen=True)
class Verdict:
    """One run, everything that does not hold of it and notes; `has_records`: its stored allocation was judged.

    The allocations of other runs are not stored, so that they are computed again.
    """

    run: str
    title: str
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    has_records: bool


def verify(
    folder: Path, on_progress: Callable[[int, int], None] = lambda *_: None, cancel: CancelToken | None = None
) -> list[Verdict]:
    """Judge every run that is done; `on_progress` gets how many of how many are judged.

    Raises InputError when there is no such run, or the folder or the files that its study names cannot be used, and
    Cancelled when `cancel` asks for that.
    """
    cancel = cancel or CancelToken()
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
        cancel.raise_if_cancelled(f"after {i:,} of {len(runs):,} runs were judged; nothing was changed")
        verdicts[run.key] = _verdict(run, rows[run.key], results)
    on_progress(len(runs), len(runs))
    return [verdicts[key] for key in runs]


def _verdict(run: Run, row: dict[str, Any], results: Results) -> Verdict:
    store, kind = Store(results.folder), results.study.kind
    draw = Draw(run.seed, run.trial, results.study.folder)
    case = Case(run, world_of(run, draw), kind.build(run.point.decision, draw), store)
    stored = store.read_details(run, kind.tables)
    said = list(kind.judge(case, row, stored))
    problems = tuple(line for line in said if not isinstance(line, Note))
    notes = tuple(str(line) for line in said if isinstance(line, Note))
    return Verdict(run.key, _title(run, results), problems, notes, stored is not None)


def _planned(results: Results) -> tuple[Run, ...]:
    """The runs of the stored study; InputError when the files it names are not those it was run with."""
    stored = set(results.runs["run"])
    plans = (plan(results.study, has_gpu) for has_gpu in (None, False, True))
    runs = next((runs for runs in plans if {run.key for run in runs} == stored), None)
    if runs is None:
        files = ", ".join(results.about.get("files", {})) or "this version of Joulewise"
        found = "holds runs of other inputs than the stored study now gives"
        problem = Problem(str(results.folder), found, f"{files} must be as it was", "run the study again")
        raise InputError(problem)
    return runs


def _title(run: Run, results: Results) -> str:
    """What a person calls the run: the values of the swept keys and the trial."""
    cells = run.cells()
    return ", ".join([*(str(cells[axis]) for axis in results.study.axes), f"trial {run.trial}"])
