"""What every policy of our tables came to on every set, as the package brings it."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import polars as pl

from joulewise.files import replacing
from joulewise.study.arena.rows import ROWS
from joulewise.study.arena.sets import WorldSet
from joulewise.study.store.reading import read_parquet

KEPT = Path(str(files(__package__) / "kept.parquet"))
_STAMP = "stamp"
_AS_KEPT = pl.Schema({**ROWS, "slices": pl.List(pl.Float32), "event_ms": pl.Float32()})
"""Columns that are only shown, and need fewer digits."""


def kept_rows(world_set: WorldSet) -> pl.DataFrame:
    """The rows of a set as it is now; none where that, or the version of results, was another then."""
    return _kept().filter(pl.col(_STAMP) == world_set.stamp).drop(_STAMP).cast(ROWS)


def unkept(world_set: WorldSet) -> list[str]:
    """The policies of our table of which nothing is kept."""
    there = set(kept_rows(world_set)["policy"])
    return [policy for policy in world_set.table() if policy not in there]


def keep(world_set: WorldSet, rows: pl.DataFrame) -> None:
    """Keep rows of a set beside those that are kept of other policies of our table, and of other sets."""
    names, others = set(rows["policy"]), _kept()
    new = rows.cast(_AS_KEPT).select(pl.lit(world_set.stamp).alias(_STAMP), pl.all())
    is_of_set = pl.col(_STAMP).str.starts_with(world_set.stamp.partition(",")[0])
    stays = pl.col("policy").is_in(list(world_set.table().keys() - names)) & (pl.col(_STAMP) == world_set.stamp)
    table = pl.concat([others.filter(~is_of_set | stays), new])
    with replacing(KEPT) as temporary:
        table.write_parquet(temporary, compression="zstd", compression_level=19, statistics=False)


def _kept() -> pl.DataFrame:
    if not KEPT.is_file():
        return pl.DataFrame(schema={_STAMP: pl.String(), **_AS_KEPT})
    return read_parquet(KEPT)
