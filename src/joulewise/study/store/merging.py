"""Rows of finished runs merged into the table of a study, piece by piece: memory does not grow with the number of runs.

What a study no longer asks for is set aside first, and stays set aside even where it is asked for again: whatever ends
a merge, each row is in one table at least. Readers have the table that was there until the new one is whole beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice, pairwise
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

from joulewise.files import naming
from joulewise.study.spec.run import Run
from joulewise.study.store.proofs import OF_PROOFS, PROOFS_AT_ONCE, gather
from joulewise.study.store.store import Store
from joulewise.study.store.stored import Stored
from joulewise.study.store.tables import joined, said_table

if TYPE_CHECKING:
    import polars as pl

PIECE_ROWS = 20_000
_PROOFS_BYTES = 32_000_000
"""So much of tables of proofs is merged at once."""
_PIECES = ".merging"

Order = Callable[[Sequence[str]], list[str]]
"""From the names of columns that came out to the order in which a kind of study has them."""


def merge(
    store: Store, runs: Iterable[Run], keys: pl.Series, order: Order, begin: Callable[[], object] = lambda: None
) -> None:
    """Write the table of these runs, whose keys are these, from all rows that are there; then forget the fragments.

    `begin` is called when all is written and the table of runs is about to be replaced: until then, it is read.
    """
    merge_proofs(store)
    stored = Stored(store)
    with _aside(store.folder / _PIECES) as folder:
        if unwanted := _written(stored.others(keys), folder / "earlier"):
            store.sink_table(store.earlier_file, _newest(store.earlier_file, unwanted))
        table = _one_by_one(_written(_wanted(stored, runs, stored.places(keys)), folder / "runs"))
        with store.replacing_table(store.runs_file, table.select(order(table.collect_schema().names()))):
            begin()
    for path in (*store.fragment_files(), store.journal_file):
        path.unlink(missing_ok=True)


def merge_proofs(store: Store) -> None:
    """Write the table of all proofs from all places where they are; then forget the fragments."""
    import polars as pl

    gather(store)
    fragments = store.fragment_files(OF_PROOFS)
    if fragments:
        tables = [path for path in (store.bounds_file, *fragments) if path.is_file()]
        with _aside(store.folder / _PIECES) as folder:
            parts = _written(_by_world(store, tables), folder / "bounds")
            store.sink_table(store.bounds_file, pl.concat(parts), PROOFS_AT_ONCE)
    for path in fragments:
        path.unlink()


def _by_world(store: Store, tables: list[Path]) -> Iterator[pl.DataFrame]:
    """The proofs in tables in the order of worlds, whose keys are spread evenly: the newest of each bound."""
    import polars as pl

    for path in tables:
        store.schema(path)  # which is as it was written
    n_parts = 1 + sum(path.stat().st_size for path in tables) // _PROOFS_BYTES
    ends = [*(f"{16**32 * part // n_parts:032x}" for part in range(n_parts)), "g"]
    rows, world = pl.scan_parquet(tables, glob=False), pl.col("world")
    for first, end in pairwise(ends):
        found = rows.filter(world >= first, world < end).collect()
        yield found.unique(["world", "kind"], keep="last", maintain_order=True).sort("world", "kind")


@contextmanager
def _aside(folder: Path) -> Iterator[Path]:
    """An empty folder for what is needed in the block alone."""
    rmtree(folder, ignore_errors=True)
    try:
        yield folder
    finally:
        rmtree(folder, ignore_errors=True)


def _written(pieces: Iterable[pl.DataFrame], folder: Path) -> list[pl.LazyFrame]:
    """Tables that are written one by one, to be read when they are needed."""
    import polars as pl

    paths = []
    for number, piece in enumerate(pieces):
        folder.mkdir(parents=True, exist_ok=True)
        paths.append(folder / f"{number}.parquet")
        with naming(paths[-1]):
            piece.write_parquet(paths[-1])
    return [pl.scan_parquet(path, glob=False) for path in paths]


def _one_by_one(tables: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
    """Tables below each other, of which few are in memory at a time; Polars would read many ahead."""
    import polars as pl
    from polars.io.plugins import register_io_source

    schema = joined(tables).collect_schema()

    def read(columns: list[str] | None, *_: object) -> Iterator[pl.DataFrame]:
        whole = (joined([pl.LazyFrame(schema=schema), table]) for table in tables)
        return (table.select(columns or schema.names()).collect() for table in whole)

    return register_io_source(read, schema=schema)


def _wanted(stored: Stored, runs: Iterable[Run], places: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The rows of the study, whose runs are in these places: what is run, and what came out."""
    import polars as pl

    left = iter(runs)
    for there in places.iter_slices(PIECE_ROWS):
        is_there, piece = there["file"].is_not_null(), list(islice(left, PIECE_ROWS))
        if is_there.any():
            said = said_table(piece).filter(is_there)
            yield pl.concat([said, stored.results(there.filter(is_there))], how="horizontal")


def _newest(earlier: Path, unwanted: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
    """What was set aside, with what is new."""
    import polars as pl

    there = [pl.scan_parquet(earlier, glob=False)] if earlier.is_file() else []
    return joined([*there, *unwanted]).unique("run", keep="last", maintain_order=True)
