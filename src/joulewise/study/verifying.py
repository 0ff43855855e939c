"""Stored results checked against the study: worlds made again, runs computed again, every column compared."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.progress import CancelToken
from joulewise.study.case import Note
from joulewise.study.judge import Judge, StoredRun
from joulewise.study.judging import judge_cells
from joulewise.study.planning import plan
from joulewise.study.results import Results, open_results
from joulewise.study.run import Run
from joulewise.study.store import DONE, runs_table
from joulewise.study.study import Study


@dataclass(frozen=True)
class Verdict:
    """One run, everything that does not hold of it and notes; `has_records`: its detail tables are stored."""

    run: str
    title: str
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    has_records: bool


@dataclass(frozen=True)
class Verification:
    """Stored results, and what is to be done to verify them."""

    results: Results
    stored: tuple[StoredRun, ...]

    @cached_property
    def again(self) -> tuple[StoredRun, ...]:
        """Those that are computed again."""
        hindrance = self.results.study.kind.hindrance
        done = {each.run.key: each for each in self.stored if each.row["status"] == DONE}
        return tuple(each for each in done.values() if not hindrance(each.run, each.row))

    @property
    def seconds(self) -> float:
        """How long the runs took that are computed again."""
        took = (each.row.get("run_s") for each in self.again)
        return math.fsum(took_s for took_s in took if isinstance(took_s, float) and math.isfinite(took_s))

    def verdicts(
        self, on_progress: Callable[[int, int], None] = lambda *_: None, cancel: CancelToken | None = None
    ) -> list[Verdict]:
        """Judge every run; `on_progress` gets how many of how many are judged; Cancelled when `cancel` asks for it."""
        cancel, n, judge = cancel or CancelToken(), len(self.stored), Judge(self.results)
        verdicts: dict[int, Verdict] = {}
        for i in sorted(range(n), key=lambda i: (self.stored[i].run.world_key, self.stored[i].run.key)):
            on_progress(len(verdicts), n)
            cancel.raise_if_cancelled(f"after {len(verdicts):,} of {n:,} runs were judged; nothing was changed")
            each = replace(self.stored[i])  # a copy, with which the tables that it reads are forgotten
            verdicts[i] = self._verdict(each, list(judge.findings(each)))
        on_progress(n, n)
        return [verdicts[i] for i in range(n)]

    def _verdict(self, stored: StoredRun, said: list[str]) -> Verdict:
        problems = (*stored.mislabelled, *(line for line in said if not isinstance(line, Note)))
        notes = tuple(str(line) for line in said if isinstance(line, Note))
        return Verdict(stored.run.key, self._title(stored.run), problems, notes, bool(stored.tables))

    def _title(self, run: Run) -> str:
        """What a person calls the run: the values of the swept keys and the trial."""
        cells = run.cells()
        return ", ".join([*(str(cells[axis]) for axis in self.results.study.axes), f"trial {run.trial}"])


def verify(
    folder: Path,
    on_progress: Callable[[int, int], None] = lambda *_: None,
    cancel: CancelToken | None = None,
    code: Path | None = None,
) -> list[Verdict]:
    """Judge every run in a results folder, as `to_verify` and `Verification.verdicts` do."""
    return to_verify(folder, code).verdicts(on_progress, cancel)


def to_verify(folder: Path, code: Path | None = None) -> Verification:
    """What there is to verify in a results folder; `code` is the folder of the study's files, whose code is trusted.

    Raises InputError when no run is done, when the folder or the files that its study names cannot be used, and when
    the study names code and no folder to take it from is given: nothing that came with results is run.
    """
    results = open_results(folder)
    results = replace(results, study=_with_code(results, code))
    runs = _planned(results)
    said = judge_cells(results.runs, runs_table(run.cells() for run in runs))
    rows = results.runs.iter_rows(named=True)
    stored = tuple(StoredRun(run, row, tuple(wrong), results) for run, row, wrong in zip(runs, rows, said, strict=True))
    if not any(each.row["status"] == DONE for each in stored):
        advice = "see why in the column `error` of its runs, then run the study again"
        raise InputError(
            Problem(str(folder), "holds no run that is done, so there is nothing to verify", advice=advice)
        )
    return Verification(results, stored)


# --- what may be run ---------------------------------------------------------------------------------------------


def _with_code(results: Results, code: Path | None) -> Study:
    """The study, whose files are in the folder of trusted code if one is given; InputError for code from elsewhere."""
    study = results.study
    named = dict.fromkeys(found for point in study.points for part in point.parts for found in part.code())
    if code is None:
        raise_if_any(_untrusted(results, key, spec) for key, spec in named)
        return study
    raise_if_any(_outside(key, spec, code) for key, spec in named if not _is_inside(spec, code))
    return replace(study, folder=code)


def _untrusted(results: Results, key: str, spec: str) -> Problem:
    return Problem(
        f"{results.folder}: {key}",
        f"would run {spec!r}, by its own account from {str(results.study.folder)!r}",
        "nothing that came with results is run",
        "read the file, put it into a folder of yours and name that with --trust-code FOLDER",
    )


def _outside(key: str, spec: str, code: Path) -> Problem:
    allowed = f"code is taken only from {str(code)!r}, the folder that you trust"
    return Problem(key, f"would run {spec!r}", allowed, "name the folder that holds it with --trust-code FOLDER")


def _is_inside(spec: str, folder: Path) -> bool:
    root = os.path.abspath(folder)
    return Path(os.path.normpath(Path(root, spec.partition(":")[0]))).is_relative_to(root)


def _planned(results: Results) -> tuple[Run, ...]:
    """The runs of the stored study; InputError when the files it names are not those it was run with."""
    stored = results.runs["run"].to_list()
    plans = (plan(results.study, has_gpu) for has_gpu in (None, False, True))
    runs = next((runs for runs in plans if [run.key for run in runs] == stored), None)
    if runs is None:
        files = ", ".join(results.about["files"]) or "this version of Joulewise"
        found = "holds runs of other inputs than the stored study now gives"
        problem = Problem(str(results.folder), found, f"{files} must be as it was", "run the study again")
        raise InputError(problem)
    return runs
