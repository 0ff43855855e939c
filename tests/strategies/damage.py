"""Folders that were damaged, or come from elsewhere: one thing in them is otherwise than it was written."""

from __future__ import annotations

import json
import math
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

Damage = Callable[[Path, random.Random], None]

VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 7, 10**30, 0.5, -1e308, math.inf, math.nan, "", "x", "1", "\u202e\x1b[31m",
    [], [1, "x"], {}, {"x": 1},
)  # fmt: skip
"""What may stand in place of a value."""


def damage(folder: Path, draw: random.Random) -> str:
    """Do one thing to one file of a folder; says what."""
    path = draw.choice(sorted(path for path in folder.rglob("*") if path.is_file() and path.name != ".lock"))
    ways = [*ANY, *OF_FORMAT.get(path.suffix, ()) * 3]
    way = draw.choice(ways)
    way(path, draw)
    return f"{way.__name__} {path.relative_to(folder)}"


# --- any file ----------------------------------------------------------------------------------------------------


def remove(path: Path, _: random.Random) -> None:
    path.unlink()


def empty(path: Path, _: random.Random) -> None:
    path.write_bytes(b"")


def cut(path: Path, draw: random.Random) -> None:
    path.write_bytes(path.read_bytes()[: draw.randrange(path.stat().st_size + 1)])


def make_folder(path: Path, _: random.Random) -> None:
    path.unlink()
    path.mkdir()


def change_bytes(path: Path, draw: random.Random) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(draw.randint(1, 4)):
        if content:
            content[draw.randrange(len(content))] = draw.randrange(256)
    path.write_bytes(content)


def take_another(path: Path, draw: random.Random) -> None:
    others = [other for other in path.parent.parent.rglob(f"*{path.suffix}") if other.is_file()]
    shutil.copyfile(draw.choice(sorted(others)), path.with_name("other"))
    path.with_name("other").replace(path)


# --- texts -------------------------------------------------------------------------------------------------------


def drop_line(path: Path, draw: random.Random) -> None:
    lines = path.read_text().splitlines(keepends=True)
    if lines:
        del lines[draw.randrange(len(lines))]
    path.write_text("".join(lines))


def repeat_line(path: Path, draw: random.Random) -> None:
    lines = path.read_text().splitlines(keepends=True)
    if lines:
        lines.insert(draw.randrange(len(lines)), draw.choice(lines))
    path.write_text("".join(lines))


def change_value(path: Path, draw: random.Random) -> None:
    """Another value at a random place of a JSON text."""
    _change_json(path, draw, lambda holder, key: holder.__setitem__(key, draw.choice(VALUES)))


def drop_value(path: Path, draw: random.Random) -> None:
    _change_json(path, draw, lambda holder, key: holder.__delitem__(key))


def _change_json(path: Path, draw: random.Random, change: Callable[[Any, Any], None]) -> None:
    lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
    at = draw.randrange(len(lines))
    value = {"whole": json.loads(lines[at])}
    holder, key = draw.choice(_places(value))
    change(holder, key)
    lines[at] = json.dumps(value.get("whole"))
    path.write_text("\n".join(lines) + "\n")


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every place of a JSON value: what holds it, and its key there."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [place for key in keys for place in ((value, key), *_places(value[key]))]


# --- tables ------------------------------------------------------------------------------------------------------


def _change_table(change: Callable[[pl.DataFrame, random.Random], pl.DataFrame]) -> Damage:
    def do(path: Path, draw: random.Random) -> None:
        change(pl.read_parquet(path), draw).write_parquet(path)

    do.__name__ = change.__name__
    return do


def _a_column(table: pl.DataFrame, draw: random.Random) -> pl.Series:
    return table[draw.choice(table.columns)]


def drop_column(table: pl.DataFrame, draw: random.Random) -> pl.DataFrame:
    return table.drop(_a_column(table, draw).name)


def rename_column(table: pl.DataFrame, draw: random.Random) -> pl.DataFrame:
    return table.rename({_a_column(table, draw).name: draw.choice(["x", "x.y", "", "a:b", "\x1b[31m"])})


def add_column(table: pl.DataFrame, draw: random.Random) -> pl.DataFrame:
    name = draw.choice(["x", "x.y", "utility_percent:x", "task_percent:x"])
    return table.with_columns(pl.lit(draw.choice([1.0, "x", None])).alias(name))


def retype_column(table: pl.DataFrame, draw: random.Random) -> pl.DataFrame:
    column = _a_column(table, draw)
    texts = [str(value) for value in column]
    others = [
        pl.Series(texts, dtype=pl.String),
        pl.Series(texts, dtype=pl.Categorical),
        pl.Series([text.encode() for text in texts], dtype=pl.Binary),
        pl.Series([[text] for text in texts], dtype=pl.List(pl.String)),
        pl.Series([{"x": text} for text in texts]),
        pl.Series([0.5] * len(texts), dtype=pl.Float64),
        pl.Series([1] * len(texts), dtype=pl.Int64),
        pl.Series([True] * len(texts), dtype=pl.Boolean),
        pl.Series([None] * len(texts), dtype=pl.Null),
        pl.Series([1] * len(texts), dtype=pl.Duration("us")),
        pl.Series([1] * len(texts), dtype=pl.Date),
        pl.Series([1] * len(texts), dtype=pl.Decimal(10, 2)),
    ]
    return table.with_columns(draw.choice(others).alias(column.name))


def change_cell(table: pl.DataFrame, draw: random.Random) -> pl.DataFrame:
    column = _a_column(table, draw)
    values = column.to_list()
    if values:
        value = draw.choice([None, *VALUES[1:14]])
        values[draw.randrange(len(values))] = value
    try:
        return table.with_columns(pl.Series(column.name, values, dtype=column.dtype, strict=False))
    except (pl.exceptions.PolarsError, TypeError, OverflowError):
        return table.drop(column.name)


def drop_rows(table: pl.DataFrame, draw: random.Random) -> pl.DataFrame:
    return table.head(draw.randrange(table.height + 1))


def repeat_rows(table: pl.DataFrame, draw: random.Random) -> pl.DataFrame:
    return pl.concat([table, table.head(draw.randrange(table.height + 1))])


def shuffle_rows(table: pl.DataFrame, draw: random.Random) -> pl.DataFrame:
    return table.sample(fraction=1.0, shuffle=True, seed=draw.randrange(1000))


ANY: tuple[Damage, ...] = (remove, empty, cut, make_folder, change_bytes, take_another)
_TABLE = tuple(
    _change_table(change)
    for change in (
        drop_column, rename_column, add_column, retype_column, change_cell, drop_rows, repeat_rows, shuffle_rows
    )
)  # fmt: skip
OF_FORMAT: dict[str, tuple[Damage, ...]] = {
    ".json": (change_value, drop_value),
    ".jsonl": (change_value, drop_value, drop_line, repeat_line),
    ".toml": (drop_line, repeat_line),
    ".parquet": _TABLE,
}
"""What else may be done to files, by their endings."""
