"""Results of studies whose numbers are made up: nothing is simulated, all else is as `run_study` has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from joulewise.study import Results, Run, parse_study, plan
from joulewise.study.store.store import DONE, FAILED
from joulewise.study.store.tables import runs_table
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
    runs = runs_table(_row(run, numbers(run)) for run in plan(study))
    return Results(Path("results") / study.name, study, runs, {**ABOUT, **about})


def _row(run: Run, metrics: Mapping[str, Any] | None) -> dict[str, Any]:
    fate = {"status": FAILED, "error": "why"} if metrics is None else {"status": DONE, "error": None}
    return {**run.cells(), **fate, **(metrics or {})}
