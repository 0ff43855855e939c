"""Tables in a results folder: nothing is ever half written, and each is sealed by its place."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from joulewise.files import replacing, sync, write_atomic
from joulewise.parquet import seal, sealed
from joulewise.study.store.reading import read_parquet, reading_table

if TYPE_CHECKING:
    import polars as pl

SCHEMA_VERSION = 4
"""Raised whenever a file of a results folder changes its meaning."""

_ROWS_AT_ONCE = 20_000
"""Of a table that need not fit into memory: whoever reads it has a few such groups of rows at a time."""


@dataclass(frozen=True)
class Folder:
    """A folder, and what all files in it have in common."""

    folder: Path

    @property
    def fragments(self) -> Path:
        """What is not merged yet."""
        return self.folder / "fragments"

    def fragment_files(self, of: str = "") -> list[Path]:
        """Rows that are not merged yet, of runs or of what the names begin with, from the oldest on."""
        return sorted(self.fragments.glob(f"{of}[0-9]*.parquet"))

    def next_fragment(self, of: str = "") -> Path:
        """Where the next ones go."""
        numbers = [int(path.stem.removeprefix(of)) for path in self.fragment_files(of)]
        return self.fragments / f"{of}{max(numbers, default=0) + 1:06}.parquet"

    @property
    def bounds_file(self) -> Path:
        """Proofs of bounds: world, kind and what a file of its own would hold, by world."""
        return self.folder / "bounds.parquet"

    def write_table(self, path: Path, table: pl.DataFrame) -> None:
        """Store a table as Parquet, with the schema version in its metadata, sealed by its place in the folder."""
        buffer = io.BytesIO()
        table.write_parquet(buffer, metadata={"schema_version": str(SCHEMA_VERSION)})
        write_atomic(path, sealed(buffer.getvalue(), self._name(path)))

    def sink_table(self, path: Path, table: pl.LazyFrame, rows_at_once: int = _ROWS_AT_ONCE) -> None:
        """Store a table that need not fit into memory, likewise."""
        with self.replacing_table(path, table, rows_at_once):
            pass

    @contextmanager
    def replacing_table(self, path: Path, table: pl.LazyFrame, rows_at_once: int = _ROWS_AT_ONCE) -> Iterator[None]:
        """The same, for a block that begins when all is on disk, and after which it is in its place."""
        with replacing(path) as temporary:
            about = {"schema_version": str(SCHEMA_VERSION)}
            table.sink_parquet(temporary, metadata=about, row_group_size=rows_at_once)
            seal(temporary, self._name(path))
            sync(temporary)
            yield

    def read_table(
        self, path: Path, columns: Iterable[str] | None = None, *, must_be_sealed: bool = True
    ) -> pl.DataFrame:
        """A stored table, or those of these columns that it has; InputError when it is missing or damaged.

        Where it `must_be_sealed`, one that is not as `write_table` wrote it is damaged as well.
        """
        return read_parquet(path, columns, self._name(path) if must_be_sealed else "")

    @contextmanager
    def reading(self, path: Path, *, must_be_sealed: bool = True) -> Iterator[pl.LazyFrame]:
        """A stored table for a block that reads what it needs of it; InputError as `read_table` raises it."""
        with reading_table(path, self._name(path) if must_be_sealed else "") as table:
            yield table

    def schema(self, path: Path) -> pl.Schema:
        """The columns of a stored table; InputError when it is missing, damaged, or not as it was written."""
        with self.reading(path) as table:
            return table.collect_schema()

    def scan(self, path: Path) -> pl.LazyFrame:
        """A stored table, read as far as it is asked for; InputError as `schema` raises it."""
        import polars as pl

        self.schema(path)
        return pl.scan_parquet(path, glob=False)

    def _name(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()
