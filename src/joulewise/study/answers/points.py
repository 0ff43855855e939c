"""Which point of a study is held against which of another: those that agree in what both sweep.

Keys whose values the two have in common must agree; keys in which they have nothing in common are what is compared, and
each value of one meets each of the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

import polars as pl

from joulewise.errors import InputError, Problem
from joulewise.study.answers.sides import Side, axes_of
from joulewise.study.parsing.study import VARIANT

STUDY = "study"
AGAINST = "against:"
"""Before a key: the value of it at the point that is subtracted."""
MOST = 10_000
"""Points that are held against each other; more could not be read, and their correction would leave nothing."""


def points_of(sides: Sequence[Side]) -> list[pl.DataFrame]:
    """The points of each side: the keys that vary anywhere, and `is_fixed`.

    A point is fixed where it was run once though the study asked for more trials, as nothing is random there.
    """
    keys = _varying(sides)
    tables = [_points(side, keys) for side in sides]
    types = {key: reduce(_common, [_type(table[key]) for table in tables]) for key in keys}
    return [table.with_columns(pl.col(key).cast(kind) for key, kind in types.items()) for table in tables]


def _varying(sides: Sequence[Side]) -> list[str]:
    """The keys that have several values on some side, or other ones on another; swept keys come first."""
    keys = list(axes_of(sides) | dict.fromkeys(key for side in sides for key in side.keys))
    return [key for key in keys if len({value for side in sides for value in side.said.get(key, (None,))}) > 1]


def _points(side: Side, keys: Sequence[str]) -> pl.DataFrame:
    """The points of a side, as its rows have their keys; there is one where there are no keys."""
    rows = keys_in(side.rows, dict.fromkeys(key for key in keys if key not in side.keys))
    is_fixed = (pl.len() == 1) & (side.results.study.heading.trials > 1)
    return (
        rows.group_by(*keys, "seed", maintain_order=True)
        .agg(is_fixed=is_fixed)
        .drop("seed")
        .collect(engine="streaming")
    )


def keys_in(rows: pl.LazyFrame, types: Mapping[str, pl.DataType | None]) -> pl.LazyFrame:
    """Rows with keys in these types; keys that they lack have no value."""
    there = rows.collect_schema().names()
    keys = (
        (pl.col(key) if key in there else pl.lit(None)).cast(kind or pl.Null()).alias(key)
        for key, kind in types.items()
    )
    return rows.with_columns(keys)


def _type(column: pl.Series) -> pl.DataType:
    return pl.Null() if column.null_count() == column.len() else column.dtype


def _common(one: pl.DataType, other: pl.DataType) -> pl.DataType:
    """The type in which values of both can be compared."""
    known = [kind for kind in (one, other) if kind != pl.Null]
    if len({str(kind) for kind in known}) <= 1:
        return known[0] if known else pl.Null()
    return pl.Float64() if all(kind.is_numeric() for kind in known) else pl.String()


def matched(base: Side, side: Side, base_points: pl.DataFrame, points: pl.DataFrame) -> pl.DataFrame:
    """The pairs of points of a side and the base: `study`, the keys of one, and those of the base behind `against:`.

    `is_fixed` and `is_base_fixed` say where nothing is random. InputError where no point has a partner, or where there
    are too many pairs.
    """
    keys = [name for name in points.columns if name != "is_fixed"]
    on = [key for key in _agreeing(base, side, keys) if _share(base_points[key], points[key])]
    marks = {"on:": pl.lit(0), **{f"on:{key}": pl.col(key) for key in on}}
    met, theirs = points.with_columns(**marks), base_points.with_columns(**marks)
    _check(base, side, _n_pairs(theirs, met, list(marks)), on)
    theirs = theirs.rename({**{key: f"{AGAINST}{key}" for key in keys}, "is_fixed": "is_base_fixed"})
    pairs = met.join(theirs, on=list(marks), nulls_equal=True, maintain_order="left_right")
    return pairs.drop(list(marks)).select(pl.lit(side.label).alias(STUDY), pl.all())


def _n_pairs(base_points: pl.DataFrame, points: pl.DataFrame, on: Sequence[str]) -> int:
    """How many pairs of points agree in some keys."""
    counts = (table.group_by(on).agg(pl.len().cast(pl.Int64)) for table in (base_points, points))
    both = reduce(lambda one, other: one.join(other, on=on, nulls_equal=True), counts)
    return int((both["len"] * both["len_right"]).sum())


def _agreeing(base: Side, side: Side, keys: Sequence[str]) -> list[str]:
    """The keys in which points may have to agree: swept ones; all where variants of other names hide what they set."""
    axes = axes_of((base, side))
    names = [_variants(each) for each in (base, side)]
    hides = VARIANT in axes and not names[0] & names[1]
    return [key for key in keys if hides or key in axes]


def _variants(side: Side) -> set[str]:
    return set(side.said[VARIANT]) - {None}


def _share(one: pl.Series, other: pl.Series) -> bool:
    """Whether two columns have a value in common."""
    return bool(set(one.to_list()) & set(other.to_list()))


def _check(base: Side, side: Side, n: int, on: Sequence[str]) -> None:
    """InputError where nothing can be compared, or more than anybody could read."""
    where, advice = f"{side.label} against {base.label}", "name points, such as FOLDER:policy=easy"
    if n == 0:
        found = f"no point of one agrees with one of the other in all of {', '.join(on)}"
        raise InputError(Problem(where, found, "at least one must", advice))
    if n > MOST:
        raise InputError(Problem(where, f"found {n:,} pairs of points", f"must be {MOST:,} at most", advice))
