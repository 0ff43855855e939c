"""The rows of `runs.parquet` held against the study: which there must be, and what they may say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joulewise.errors import InputError
from joulewise.reading import damaged
from joulewise.study.answers.rounds import points_of, shares_of
from joulewise.study.parsing.study import Study
from joulewise.study.searches.judging import judge_cells
from joulewise.study.spec.column import FIRST_COLUMNS, RUNS, Column
from joulewise.study.spec.parts import Point
from joulewise.study.spec.run import Run
from joulewise.study.spec.trials import BLOCKS, Share, stage_of
from joulewise.study.store.reading import KEY, check_columns
from joulewise.study.store.store import DONE, FAILED
from joulewise.study.store.tables import is_study_key, said_table

if TYPE_CHECKING:
    import polars as pl

_NOT_OF_POINTS = ("run", "world", "bound")
"""What a row says besides its point and trial."""
_PIECE_ROWS = 20_000
"""So many rows are looked at at once, so that memory does not grow with a study."""


def check_runs(path: Path, table: pl.LazyFrame, study: Study) -> None:
    """InputError where a table of runs is none of a study: in its columns, its rows, or what they say was run."""
    trials = table.select("trial").collect()["trial"].to_list()
    wanted, at = _runs(study, trials), 0
    while piece := list(islice(wanted, _PIECE_ROWS)):
        rows = table.slice(at, len(piece)).collect()
        check_columns(path, rows, [*FIRST_COLUMNS, Column(RUNS, "*", "", "", holds=object)])
        _check_said(path, rows, said_table(piece).drop(_NOT_OF_POINTS), at)
        _check_results(path, rows, study)
        _check_fates(path, rows)
        at += len(piece)
    if at != len(trials):
        raise _other_number(path, len(trials), at)


def _runs(study: Study, trials: Sequence[Any]) -> Iterator[Run]:
    """The runs of which there must be rows; points that are run once, as nothing is random there, are told by these."""
    for point, share in _grown(study, trials) if study.grows else _points(study, trials):
        for trial in share.numbers():
            stage = stage_of(trial) if study.tuning else ""
            yield Run("", "", point, study.heading.seed, trial, False, "", stage=stage)


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


def _other_number(path: Path, found: int, wanted: int) -> InputError:
    return damaged(path, "", f"found {found} rows", f"the study has {wanted} at least")


def _check_said(path: Path, rows: pl.DataFrame, said: pl.DataFrame, first: int) -> None:
    """InputError where rows, of which this is the first, do not say what was run."""
    if said.height != rows.height:
        raise _other_number(path, first + rows.height, first + said.height)
    missing = next((name for name in said.columns if name not in rows.columns), None)
    if missing is not None:
        raise damaged(path, f"column {missing!r}", "is missing")
    unlike = [name for name in said.columns if not _is_same(rows[name], said[name])]
    for row, wrong in enumerate(judge_cells(rows, said.select(unlike)), first):
        if wrong:
            raise damaged(path, f"row {row}", wrong[0])


def _is_same(stored: pl.Series, said: pl.Series) -> bool:
    """Whether two columns are the same at sight; numbers may be whole here and have fractions in other rows."""
    are_numbers = stored.dtype.is_numeric() and said.dtype.is_numeric()
    return stored.equals(said.cast(stored.dtype)) if are_numbers else stored.dtype == said.dtype and stored.equals(said)


def _check_results(path: Path, runs: pl.DataFrame, study: Study) -> None:
    """InputError where columns that came out are not those of the kind of study; nothing comes out where all failed."""
    columns = [column for column in study.kind.all_columns() if column.table == RUNS]
    if (runs["status"] == DONE).any():
        check_columns(path, runs.drop(name for name in runs.columns if is_study_key(name)), columns)
        if BLOCKS not in runs.columns and all(map(study.kind.resamples, study.workloads)):
            raise damaged(path, f"column {BLOCKS!r}", "is missing", "resamples of a log have it")


def _check_fates(path: Path, runs: pl.DataFrame) -> None:
    """InputError where keys are none, or rows do not say whether a run failed and why."""
    for name in ("run", "world"):
        if not runs[name].str.contains(KEY).fill_null(False).all():
            raise damaged(path, f"column {name!r}", "found what is no key", "must be 32 hexadecimal digits")
    done, failed = (runs["status"].eq_missing(status) for status in (DONE, FAILED))
    if not ((done & runs["error"].is_null()) | (failed & runs["error"].is_not_null())).all():
        raise damaged(path, "columns 'status' and 'error'", "found others", "must be done, or failed with an error")
