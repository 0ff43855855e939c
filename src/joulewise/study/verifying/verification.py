"""Stored results held against the study: all runs looked at, those drawn computed again, every column compared."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.progress import CancelToken
from joulewise.study.answers.results import Results, open_results
from joulewise.study.kinds.case import Note
from joulewise.study.parsing.study import Study
from joulewise.study.running.pace import pace
from joulewise.study.running.planning import Plan, plan
from joulewise.study.running.rounds import last_round
from joulewise.study.spec.parts import Part
from joulewise.study.store.keys import key_of, numbers_of
from joulewise.study.store.store import FAILED, Store
from joulewise.study.verifying.costs import costs_of
from joulewise.study.verifying.drawing import Drawing, draw
from joulewise.study.verifying.judge import Judge, StoredRun
from joulewise.study.verifying.sight import PIECE_ROWS, Sight, changed, kept_runs, look, unsealed

if TYPE_CHECKING:
    import polars as pl

_SEED_BITS = 32
"""Few digits to type, and more seeds than anybody can prepare for."""


@dataclass(frozen=True)
class Verdict:
    """One run by its values of the swept keys, everything that does not hold of it, and notes.

    `has_records`: its detail tables are stored. `is_drawn`: it was judged whole, and not only looked at.
    """

    run: str
    point: dict[str, Any]
    trial: int
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    has_records: bool
    is_drawn: bool


@dataclass(frozen=True)
class Verification:
    """Stored results with what is seen of all runs, and those that are drawn to be judged whole."""

    results: Results
    runs: Plan
    sight: Sight
    drawing: Drawing

    @property
    def n_runs(self) -> int:
        """How many runs there are."""
        return len(self.runs)

    @cached_property
    def n_again(self) -> int:
        """How many are computed again."""
        return sum(self.sight.can[at] for at in self.drawing.drawn["at"])

    @property
    def seconds(self) -> float:
        """About how long it takes: nothing that is stored says so, as anybody may have changed it."""
        return pace() * self.drawing.seconds

    @cached_property
    def problems(self) -> tuple[str, ...]:
        """What does not hold of the folder: where not all is judged, that its table of runs is not as it was."""
        file = Store(self.results.folder).runs_file
        return () if self.drawing.is_whole else tuple(changed(self.results, file, file.name))

    def verdicts(
        self, on_progress: Callable[[int, int], None] = lambda *_: None, cancel: CancelToken | None = None
    ) -> list[Verdict]:
        """Judge every run that is drawn, and tell of the others what was seen of them, in the order of the study.

        `on_progress` gets how many of how many are judged; Cancelled when `cancel` asks for it.
        """
        cancel, n, judge = cancel or CancelToken(), self.drawing.drawn.height, Judge(self.results)
        verdicts, rows = dict(self._others()), self._drawn_rows()
        n_others = len(verdicts)
        order = self.drawing.drawn.select("world", "run", "at").with_row_index("row").sort("world", "run", "row")
        for row, at in order.select("row", "at").iter_rows():
            n_done = len(verdicts) - n_others
            on_progress(n_done, n)
            cancel.raise_if_cancelled(f"after {n_done:,} of {n:,} runs were judged; nothing was changed")
            stored = StoredRun(self.runs[at], rows.row(row, named=True), self.results)
            said = list(judge.findings(stored))
            has_records = bool(stored.tables) and stored.row["status"] != FAILED
            verdicts[at] = self._verdict(at, said, has_records=has_records, is_drawn=True)
        on_progress(n, n)
        return [verdicts[at] for at in sorted(verdicts)]

    def _drawn_rows(self) -> pl.DataFrame:
        """The rows of the runs that are drawn, read a piece at a time."""
        import polars as pl

        drawn, rows = self.drawing.drawn["at"], self.results.scan()
        firsts = range(0, self.n_runs, PIECE_ROWS)
        pieces = ((first, drawn.filter(drawn.is_between(first, first + PIECE_ROWS - 1))) for first in firsts)
        return pl.concat([rows.slice(first, PIECE_ROWS).collect()[there - first] for first, there in pieces])

    def _others(self) -> Iterator[tuple[int, Verdict]]:
        """What is to be said of runs that are not drawn, by the numbers of their rows."""
        others = self.drawing.costs.join(self.drawing.drawn.select("at"), on="at", how="anti", maintain_order="left")
        kept, keys = kept_runs(self.results), self.runs.table["run"]
        for at in others["at"]:
            run = key_of(keys[at])
            said = [*self.sight.lacking.get(at, ()), *(unsealed(self.results, run) if run in kept else ())]
            if said or at in self.sight.labels:
                yield at, self._verdict(at, said, has_records=run in kept, is_drawn=False)

    def _verdict(self, at: int, said: Sequence[str], *, has_records: bool, is_drawn: bool) -> Verdict:
        run, labels = self.runs[at], self.sight.labels.get(at, ())
        problems = (*labels, *(line for line in said if not isinstance(line, Note)))
        notes = tuple(str(line) for line in said if isinstance(line, Note))
        cells = run.cells()
        point = {axis: cells[axis] for axis in self.results.study.axes}
        return Verdict(run.key, point, run.trial, problems, notes, has_records, is_drawn)


def verify(
    folder: Path,
    on_progress: Callable[[int, int], None] = lambda *_: None,
    cancel: CancelToken | None = None,
    code: Path | None = None,
    files: Path | None = None,
    *,
    every: bool = False,
    seed: int | None = None,
) -> list[Verdict]:
    """Judge the runs in a results folder, as `to_verify` and `Verification.verdicts` do."""
    return to_verify(folder, code, files, every=every, seed=seed).verdicts(on_progress, cancel)


def to_verify(
    folder: Path, code: Path | None = None, files: Path | None = None, *, every: bool = False, seed: int | None = None
) -> Verification:
    """What there is to verify in a results folder; `files` is where the study's files are, and `code` one whose code is
    trusted as well.

    All runs are looked at, and `every` one is judged whole if that is asked for or short; else as many of them as half
    the cost of running the study allows, drawn by the `seed`, by default one that nobody knows before.

    Raises InputError when the folder or the files that its study names cannot be used, when these are elsewhere than
    below the places that are given (else the working folder and the results), and when the study names code and no
    folder to take it from is given: nothing that came with results is run.
    """
    results = open_results(folder, must_be_sealed=False)
    results = replace(results, study=_with_files(results, code, files))
    runs = _planned(results)
    sight = look(results, runs)
    seed = secrets.randbits(_SEED_BITS) if seed is None else seed
    return Verification(results, runs, sight, draw(costs_of(runs, sight.is_judged), seed, every=every))


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


def _planned(results: Results) -> Plan:
    """The runs of the stored study; InputError when the files it names are not those it was run with."""
    plans = (last_round(plan(results.study, has_gpu), results.told) for has_gpu in (None, False, True))
    there = results.scan().select(numbers_of("run")).collect().to_series()
    runs = next((runs for runs in plans if runs.table["run"].equals(there)), None)
    if runs is None:
        files = ", ".join(results.about["files"]) or "this version of Joulewise"
        found = "holds runs of other inputs than the stored study now gives"
        problem = Problem(str(results.folder), found, f"{files} must be as it was", "run the study again")
        raise InputError(problem)
    return runs
