"""Results of studies whose numbers are made up: nothing is simulated, all else is as `run_study` has it."""

from __future__ import annotations

import atexit
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from joulewise.study import Results, Run, parse_study, plan
from joulewise.study.store.store import DONE, FAILED, Store
from joulewise.study.store.tables import raw_table, typed
from tests.strategies.small import HEADING, MANAGER, QUICKLY, SYSTEM, WORKLOAD

Numbers = Callable[[Run], Mapping[str, Any] | None]
"""From a run to its metrics; None where it failed."""

STUDY = HEADING.replace("trials = 2", "trials = 10") + QUICKLY + SYSTEM + WORKLOAD + MANAGER
ABOUT = {
    "joulewise": "1.2.3",
    "results_version": 5,
    "python": "3.11",
    "machine": "a machine",
    "run_at": "2026-01-02",
    "study_hash": "ab",
    "files": {},
    "policies": {"random": {"title": "Random", "mode": "immediate"}},
}


def made_results(
    numbers: Numbers, changes: Mapping[str, str] | None = None, text: str = STUDY, **about: Any
) -> Results:
    """The results of a study, its text changed, with these numbers."""
    for old, new in (changes or {}).items():
        assert old in text
        text = text.replace(old, new)
    study = parse_study(text, "study.toml", Path())
    rows = raw_table(_row(run, numbers(run)) for run in plan(study))
    folder = Path(mkdtemp())
    atexit.register(shutil.rmtree, folder)
    store = Store(folder / study.name)
    store.write_table(store.runs_file, typed(rows.lazy()).collect())
    return Results(store.folder, study, {**ABOUT, **about})


def _row(run: Run, metrics: Mapping[str, Any] | None) -> dict[str, Any]:
    fate = {"status": FAILED, "error": "why"} if metrics is None else {"status": DONE, "error": None}
    return {**run.cells(), **fate, **(metrics or {})}
