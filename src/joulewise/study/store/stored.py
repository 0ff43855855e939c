"""All rows that a results folder holds, by the key of their run: newest first, wherever they are.

There is no index to be kept in step with the files: two of their columns are one, and are read in no time.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from joulewise.study.store.journal import journal_rows
from joulewise.study.store.keys import numbers_of
from joulewise.study.store.store import DONE, Store
from joulewise.study.store.tables import joined, raw_table, results_of

if TYPE_CHECKING:
    import polars as pl

_FILES_AT_ONCE = 4
"""Fragments are about in the order of the plan, so that few of them are needed at a time."""


@dataclass(frozen=True)
class Stored:
    """The rows of a folder: those set aside, those merged, then fragments as they came, and the journal."""

    store: Store
    _at_hand: dict[int, pl.DataFrame] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def files(self) -> list[Path]:
        """From the oldest to the newest."""
        store = self.store
        paths = (store.earlier_file, store.runs_file, *store.fragment_files(), store.journal_file)
        return [path for path in paths if path.is_file() and path.stat().st_size]

    @cached_property
    def index(self) -> pl.DataFrame:
        """Where the newest row of each run is: run, `file`, `row`, and whether it is `done`, in the order of runs."""
        import polars as pl

        schema = {"run": pl.UInt128, "row": pl.UInt32, "file": pl.UInt32, "done": pl.Boolean}
        found = [pl.DataFrame(schema=schema), *map(self._indexed, range(len(self.files)))]
        in_order = pl.concat(found).sort("run", maintain_order=True, nulls_last=True)
        return in_order.filter(pl.col("run").is_last_distinct())

    def _indexed(self, file: int) -> pl.DataFrame:

        path = self.files[file]
        if path == self.store.journal_file:
            return _index(self._read(file, ["run", "status"]).lazy(), file).collect()
        with self.store.reading(path) as rows:
            return _index(rows, file).collect(engine="streaming")

    def rows(self) -> pl.LazyFrame:
        """The newest row of each run, but for those set aside, in the order of files; there must be some."""
        newest, store = raw_table(journal_rows(self.store.journal_file)), self.store
        tables = [store.scan(path) for path in self.files if path not in (store.earlier_file, store.journal_file)]
        return joined([*tables, newest.lazy()]).unique("run", keep="last", maintain_order=True)

    def places(self, runs: pl.Series) -> pl.DataFrame:
        """The `file` and the `row` of each of the runs with these keys, in their order, and whether it is `done`.

        Nothing where none is there.
        """
        import polars as pl

        return self.index.select(pl.col("file", "row", "done").gather(self._at(runs)))

    def _at(self, runs: pl.Series) -> pl.Series:
        """Where in the index each of these runs is, if it is there."""
        keys = self.index["run"].drop_nulls()
        at = keys.search_sorted(runs)
        at = at.set(at == keys.len(), None)
        return at.set(keys.gather(at) != runs, None)

    def results(self, places: pl.DataFrame, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """What came out of the runs in these places, in their order, with a column for whatever one has.

        Or those of these columns that there are; `status` must be among them.
        """
        import polars as pl

        parts = [
            self._outcomes(int(file), there["row"], columns).with_columns(at=there["at"])
            for (file,), there in _by_file(places.with_row_index("at"))
        ]
        return pl.concat(parts, how="diagonal_relaxed").sort("at").drop("at")

    def others(self, runs: pl.Series) -> Iterator[pl.DataFrame]:
        """The rows that are the newest of their runs, and of none with these keys, but for those set aside."""
        is_wanted = np.zeros(self.index.height, bool)
        is_wanted[self._at(runs).drop_nulls()] = True
        others = self.index.filter(~is_wanted).sort("file", "row")
        for (file,), there in _by_file(others):
            if self.files[file] != self.store.earlier_file:
                yield self._rows(file, there["row"])

    def _outcomes(self, file: int, rows: pl.Series, columns: Sequence[str] | None) -> pl.DataFrame:
        table = self._rows(file, rows) if columns is None else self._read(file, columns)[rows]
        return table.select(results_of(table.columns))

    def _rows(self, file: int, rows: pl.Series) -> pl.DataFrame:
        """Rows of a file; of a table of many, what lies between them is read, which is about as much."""
        path, at = self.files[file], rows.to_numpy().astype(np.int64)
        if path not in (self.store.runs_file, self.store.earlier_file):
            return self._table(file)[rows]
        with self.store.reading(path, must_be_sealed=False) as table:  # it was seen to be sealed when it was indexed
            there: pl.DataFrame = table.slice(at.min(), int(np.ptp(at)) + 1).collect()
        return there[at - int(at.min())]

    def _table(self, file: int) -> pl.DataFrame:
        """The table of a file; the last few are at hand."""
        if file not in self._at_hand:
            while len(self._at_hand) >= _FILES_AT_ONCE:
                del self._at_hand[next(iter(self._at_hand))]
            self._at_hand[file] = self._read(file)
        return self._at_hand[file]

    def _read(self, file: int, columns: Sequence[str] | None = None) -> pl.DataFrame:
        import polars as pl

        path = self.files[file]
        if path != self.store.journal_file:
            return self.store.read_table(path, columns)
        table = raw_table(journal_rows(path))
        if table.is_empty():  # it ends in its first line
            table = pl.DataFrame(schema=dict.fromkeys(columns or (), pl.String))
        return table if columns is None else table.select(name for name in columns if name in table.columns)


def _index(rows: pl.LazyFrame, file: int) -> pl.LazyFrame:
    """The part of the index that is about the rows of a file."""
    import polars as pl

    is_done = pl.col("status").eq_missing(DONE)
    return rows.with_row_index("row").select(numbers_of("run"), "row", file=pl.lit(file, pl.UInt32), done=is_done)


def _by_file(places: pl.DataFrame) -> ItemsView[tuple[Any, ...], pl.DataFrame]:
    """Places by the number of their file."""
    return places.partition_by("file", as_dict=True, maintain_order=True).items()
