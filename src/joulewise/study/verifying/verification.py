"""Stored results checked against the study: worlds made again, runs computed again, every column compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.progress import CancelToken
from joulewise.study.answers.results import Results, open_results
from joulewise.study.kinds.case import Note
from joulewise.study.parsing.study import Study
from joulewise.study.running.pace import pace
from joulewise.study.running.planning import plan
from joulewise.study.running.rounds import last_round
from joulewise.study.searches.judging import judge_cells
from joulewise.study.spec.parts import Part
from joulewise.study.spec.run import Run
from joulewise.study.store.store import FAILED, Store
from joulewise.study.store.tables import said_table
from joulewise.study.verifying.judge import Judge, StoredRun


@dataclass(frozen=True)
class Verdict:
    """One run by its values of the swept keys, everything that does not hold of it, and notes.

    `has_records`: its detail tables are stored.
    """

    run: str
    point: dict[str, Any]
    trial: int
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
        runs = {each.run.key: each for each in self.stored}
        return tuple(each for each in runs.values() if not hindrance(each.run, each.row))

    @property
    def seconds(self) -> float:
        """About how long computing again takes: nothing that is stored says so, as anybody may have changed it."""
        study, runs = self.results.study, [each.run for each in self.again]
        return pace() * study.kind.verifying * study.kind.seconds(runs, Store(self.results.folder), study.folder)

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
        has_records = bool(stored.tables) and stored.row["status"] != FAILED
        cells = stored.run.cells()
        point = {axis: cells[axis] for axis in self.results.study.axes}
        return Verdict(stored.run.key, point, stored.run.trial, problems, notes, has_records)


def verify(
    folder: Path,
    on_progress: Callable[[int, int], None] = lambda *_: None,
    cancel: CancelToken | None = None,
    code: Path | None = None,
    files: Path | None = None,
) -> list[Verdict]:
    """Judge every run in a results folder, as `to_verify` and `Verification.verdicts` do."""
    return to_verify(folder, code, files).verdicts(on_progress, cancel)


def to_verify(folder: Path, code: Path | None = None, files: Path | None = None) -> Verification:
    """What there is to verify in a results folder; `files` is where the study's files are, and `code` one whose code is
    trusted as well.

    Raises InputError when the folder or the files that its study names cannot be used, when these are elsewhere than
    below the places that are given (else the working folder and the results), and when the study names code and no
    folder to take it from is given: nothing that came with results is run.
    """
    results = open_results(folder, must_be_sealed=False)
    results = replace(results, study=_with_files(results, code, files))
    runs = _planned(results)
    said = judge_cells(results.runs, said_table(runs))
    rows = results.runs.iter_rows(named=True)
    stored = tuple(StoredRun(run, row, tuple(wrong), results) for run, row, wrong in zip(runs, rows, said, strict=True))
    return Verification(results, stored)


# --- what may be read and run ------------------------------------------------------------------------------------


def _with_files(results: Results, code: Path | None, files: Path | None) -> Study:
    """The study with the folder of its files; InputError for code that is not trusted, and for files from elsewhere."""
    if code and files:
        raise InputError(Problem("--files", "found beside --trust-code", "--trust-code names the folder of all files"))
    given = code or files
    if given and not given.is_dir():
        raise InputError(Problem(str(given), "there is no such folder", "must hold the files of the study"))
    parts = dict.fromkeys(part for point in results.study.points for part in point.parts)
    study = replace(results.study, folder=given or results.study.folder)
    if code is None:
        raise_if_any(_untrusted(results, *named) for named in dict.fromkeys(_named(parts, Part.code)))
    places = [given] if given else [Path(), results.folder]
    named = ((key, study.folder / name) for key, name in dict.fromkeys(_named(parts, Part.files)))
    raise_if_any(_outside(key, path, places) for key, path in named if path.exists() and not _is_in(path, places))
    return study


def _named(parts: Iterable[Part], read: Callable[[Part], Iterator[tuple[str, str]]]) -> Iterator[tuple[str, str]]:
    """The keys of sections that name something, and what they name."""
    return ((f"{part.section}.{key}", name) for part in parts for key, name in read(part))


def _untrusted(results: Results, key: str, spec: str) -> Problem:
    return Problem(
        f"{results.folder}: {key}",
        f"would run {spec!r}, by its own account from {str(results.study.folder)!r}",
        "nothing that came with results is run",
        "read the file, put it into a folder of yours and name that with --trust-code FOLDER",
    )


def _outside(key: str, path: Path, places: Sequence[Path]) -> Problem:
    allowed = f"files are taken only from below {' and '.join(repr(str(place.resolve())) for place in places)}"
    advice = "name the folder that holds it with --files FOLDER, or with --trust-code FOLDER where it is code"
    return Problem(key, f"would read {str(path)!r}", allowed, advice)


def _is_in(path: Path, places: Iterable[Path]) -> bool:
    """Whether a path is a file below one of these, wherever links lead."""
    return path.is_file() and any(path.resolve().is_relative_to(place.resolve()) for place in places)


def _planned(results: Results) -> Sequence[Run]:
    """The runs of the stored study; InputError when the files it names are not those it was run with."""
    plans = (last_round(plan(results.study, has_gpu), results.told) for has_gpu in (None, False, True))
    runs = next((runs for runs in plans if runs.table["run"].equals(results.runs["run"])), None)
    if runs is None:
        files = ", ".join(results.about["files"]) or "this version of Joulewise"
        found = "holds runs of other inputs than the stored study now gives"
        problem = Problem(str(results.folder), found, f"{files} must be as it was", "run the study again")
        raise InputError(problem)
    return runs
