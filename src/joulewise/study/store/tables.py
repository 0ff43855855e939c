"""Rows of runs as tables: who, what was run, what came out; types do not depend on how rows are cut into tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from joulewise.study.spec.run import Run

if TYPE_CHECKING:
    import polars as pl

    from joulewise.model.arrays import Codes, Counts, Ints

IDENTITY = ("run", "world", "variant", "trial", "stage", "seed")
_TEXT = ("variant", "error", "verdict")


def raw_table(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """The rows of runs as a table; a column without a value has no type yet."""
    import polars as pl

    table = pl.DataFrame(list(rows), infer_schema_length=None)
    return table.select(_in_groups(table.columns))


def said_table(runs: Sequence[Run]) -> pl.DataFrame:
    """What rows say was run: one for each of these runs, of which those of a point are told once."""
    import polars as pl

    points, at = list[dict[str, object]](), list[int]()
    for i, run in enumerate(runs):
        if not i or run.point is not runs[i - 1].point:
            points.append(run.point.cells())
        at.append(len(points) - 1)
    table = pl.concat([raw_table(run.identity() for run in runs), raw_table(points)[at]], how="horizontal")
    return table.select(_in_groups(table.columns))


def joined(tables: Iterable[pl.LazyFrame]) -> pl.LazyFrame:
    """Tables of runs below each other, as one table of all their rows would be."""
    import polars as pl

    table = pl.concat(list(tables), how="diagonal_relaxed")
    return typed(table.select(_in_groups(table.collect_schema().names())))


def typed(table: pl.LazyFrame) -> pl.LazyFrame:
    """A table whose columns without a value have a type."""
    import polars as pl

    empty = [name for name, kind in table.collect_schema().items() if kind == pl.Null]
    texts = [name for name in empty if name in _TEXT or is_study_key(name)]
    numbers = [name for name in empty if name not in texts]
    return table.with_columns(pl.col(texts).cast(pl.String), pl.col(numbers).cast(pl.Float64))


def named(names: Sequence[str], codes: Ints | Codes | Counts) -> pl.Series:
    """Codes as the names they stand for, stored once each."""
    import polars as pl

    return pl.Series(codes.astype(np.uint32)).cat.to(pl.Enum(names))


def results_of(names: Iterable[str]) -> list[str]:
    """Those of the names of columns that came out of a run, and do not say what was run."""
    return [name for name in names if _column_group(name) == _OUTCOME and name != "bound"]


def is_study_key(name: str) -> bool:
    """Whether a column is a key of the study, such as manager.policy; names of groups and levels follow a colon."""
    return "." in name.partition(":")[0]


_STUDY_KEY, _OUTCOME = 0, 1


def _in_groups(names: Iterable[str]) -> list[str]:
    """The names of columns by their group."""
    return sorted(names, key=_column_group)


def _column_group(name: str) -> int:
    """Who, one by one, then what was run, then what came out."""
    if name in IDENTITY:
        return IDENTITY.index(name) - len(IDENTITY)
    return _STUDY_KEY if is_study_key(name) else _OUTCOME
