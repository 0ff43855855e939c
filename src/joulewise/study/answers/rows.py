"""The rows of `runs.parquet` held against the study: which there must be, and what they may say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joulewise.reading import damaged
from joulewise.study.answers.rounds import points_of, shares_of
from joulewise.study.parsing.study import Study
from joulewise.study.searches.judging import judge_cells
from joulewise.study.spec.column import FIRST_COLUMNS, RUNS, Column
from joulewise.study.spec.parts import Point
from joulewise.study.spec.run import Run
from joulewise.study.spec.trials import Share, stage_of
from joulewise.study.store.reading import KEY, check_columns
from joulewise.study.store.store import DONE, FAILED
from joulewise.study.store.tables import runs_table

if TYPE_CHECKING:
    import polars as pl

_NOT_OF_POINTS = ("run", "world", "bound")
"""What a row says besides its point and trial."""


def check_runs(path: Path, runs: pl.DataFrame, study: Study) -> None:
    """InputError where a table of runs is none of a study: in its columns, its rows, or what they say was run."""
    check_columns(path, runs, [*FIRST_COLUMNS, Column(RUNS, "*", "", "", holds=object)])
    said = _said(study, runs["trial"].to_list())
    if said.height != runs.height:
        raise damaged(path, "", f"found {runs.height} rows", f"the study has {said.height} at least")
    missing = next((name for name in said.columns if name not in runs.columns), None)
    if missing is not None:
        raise damaged(path, f"column {missing!r}", "is missing")
    for row, wrong in enumerate(judge_cells(runs, said)):
        if wrong:
            raise damaged(path, f"row {row}", wrong[0])
    _check_results(path, runs, study, said.columns)
    _check_fates(path, runs)


def _said(study: Study, trials: Sequence[Any]) -> pl.DataFrame:
    """What rows must say was run; points that are run once, as nothing is random there, are told by their trials."""
    points = _grown(study, trials) if study.grows else _points(study, trials)
    runs = (
        Run("", "", point, study.heading.seed, trial, False, "", stage=stage_of(trial) if study.tuning else "")
        for point, share in points
        for trial in share.numbers()
    )
    return runs_table(run.cells() for run in runs).drop(_NOT_OF_POINTS)


def _points(study: Study, trials: Sequence[Any]) -> Iterator[tuple[Point, Share]]:
    at = 0
    for point in study.points:
        n_trials = study.heading.trials if trials[at + 1 : at + 2] == [1] else 1
        yield point, Share(n_trials)
        at += n_trials


def _grown(study: Study, trials: Sequence[Any]) -> Iterator[tuple[Point, Share]]:
    """Points with as many trials as they have rows: how many these should be, `verify` finds out."""
    import polars as pl

    told = pl.DataFrame({"point": points_of(trials), "trial": trials}, strict=False)
    shares = shares_of(study, told)
    return ((point, share if share.n_trials else Share(1)) for point, share in zip(study.points, shares, strict=True))


def _check_results(path: Path, runs: pl.DataFrame, study: Study, said: Sequence[str]) -> None:
    """InputError where columns that came out are not those of the kind of study; nothing comes out where all failed."""
    columns = [column for column in study.kind.all_columns() if column.table == RUNS]
    if (runs["status"] == DONE).any():
        check_columns(path, runs.drop(name for name in said if "." in name), columns)


def _check_fates(path: Path, runs: pl.DataFrame) -> None:
    """InputError where keys are none, or rows do not say whether a run failed and why."""
    for name in ("run", "world"):
        if not runs[name].str.contains(KEY).fill_null(False).all():
            raise damaged(path, f"column {name!r}", "found what is no key", "must be 32 hexadecimal digits")
    done, failed = (runs["status"].eq_missing(status) for status in (DONE, FAILED))
    if not ((done & runs["error"].is_null()) | (failed & runs["error"].is_not_null())).all():
        raise damaged(path, "columns 'status' and 'error'", "found others", "must be done, or failed with an error")
