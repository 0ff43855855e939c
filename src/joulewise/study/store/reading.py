"""What the files of a results folder must be: schemas of its objects, and types of the columns of its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from joulewise.parquet import ParquetError, reading_parquet
from joulewise.reading import Strict, damaged

if TYPE_CHECKING:
    import polars as pl

    from joulewise.study.spec.column import Column

KEY = r"^[0-9a-f]{32}$"
"""What keys of runs and worlds look like; they are also names of files."""
_Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Title(Strict):
    """How reports call what is compared."""

    title: str
    mode: str


class Marker(Strict):
    """What a results folder says of itself."""

    schema_version: int
    name: str
    is_finished: bool
    joulewise: str
    results_version: int
    python: str
    machine: str
    run_at: str
    seconds: _Seconds
    trials: Annotated[int, Field(ge=1, le=100_000)]
    study_file: str
    study_folder: str
    files: dict[str, str]
    policies: dict[str, Title]
    study_hash: str


class StoredRow(Strict):
    """What the file of one finished run says."""

    __pydantic_extra__: dict[str, str | int | float | bool | None]
    schema_version: int
    run: Annotated[str, Field(pattern=KEY)]
    status: Literal["done", "failed"]
    error: str | None


class StoredProof(Strict):
    """What the file of a proven bound says."""

    proof: dict[str, Any]


# --- tables ------------------------------------------------------------------------------------------------------


def read_parquet(path: Path, columns: Iterable[str] | None = None, name: str = "") -> pl.DataFrame:
    """A table, or those of these columns that it has; with a name, it must be sealed by that."""
    try:
        with reading_parquet(path, name) as table:
            there = table.collect_schema().names()
            return table.select(there if columns is None else sorted(set(columns).intersection(there))).collect()
    except ParquetError as error:
        raise damaged(path, "", f"cannot be read: {error.why}") from None


def parquet_schema(path: Path, name: str) -> pl.Schema:
    """The names and types of the columns of a table that must be sealed by a name."""
    try:
        with reading_parquet(path, name) as table:
            return table.collect_schema()
    except ParquetError as error:
        raise damaged(path, "", f"cannot be read: {error.why}") from None


def check_columns(path: Path, table: pl.DataFrame, columns: Sequence[Column]) -> None:
    """InputError where a table has other columns than these, or lacks one that is not optional, or of another type."""
    for name in table.columns:
        column = next((column for column in columns if fnmatchcase(name, column.name)), None)
        if column is None:
            raise damaged(path, f"column {name!r}", "found it", "no such table has it")
        problem = _misfit(table[name], column.holds)
        if problem:
            raise damaged(path, f"column {name!r}", *problem)
    lacking = [column.name for column in columns if not _is_there(column, table.columns)]
    if lacking:
        raise damaged(path, f"column {lacking[0]!r}", "is missing")


def _is_there(column: Column, names: Sequence[str]) -> bool:
    return column.is_optional or "*" in column.name or column.name in names


def _misfit(values: pl.Series, holds: type) -> tuple[str, str] | None:
    """What is found and allowed where values are not of a type; those that are all missing are of any."""
    fits, words = TYPES[holds]
    if values.null_count() < values.len() and not fits(values.dtype):
        return f"found {values.dtype}", f"must be {words}"
    if values.dtype.is_float() and values.is_infinite().any():
        return "found an infinite number", "must be finite or missing"
    return None


def _is_number(kind: pl.DataType) -> bool:
    return kind.is_numeric() and not kind.is_decimal()


def _is_text(kind: pl.DataType) -> bool:
    import polars as pl

    return isinstance(kind, pl.String | pl.Enum)


def _is_flag(kind: pl.DataType) -> bool:
    import polars as pl

    return isinstance(kind, pl.Boolean)


def _is_plain(kind: pl.DataType) -> bool:
    return _is_number(kind) or _is_text(kind) or _is_flag(kind)


TYPES: Mapping[type, tuple[Callable[[pl.DataType], bool], str]] = {
    float: (_is_number, "numbers"),
    str: (_is_text, "texts"),
    bool: (_is_flag, "true or false"),
    object: (_is_plain, "numbers, texts, or true or false"),
}
"""What columns may hold: whether a type of a table is that, and how it is called."""
