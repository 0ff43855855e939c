"""The tables of a results folder, read only as far as they are asked for, so that they need not fit into memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from joulewise.reading import damaged
from joulewise.study.answers.results import check_details, is_finished, study_in, those_in, unfinished
from joulewise.study.parsing.schema import study_keys
from joulewise.study.parsing.study import Study
from joulewise.study.spec.column import BOUND_COLUMNS, BOUNDS, FIRST_COLUMNS, RUNS, Column
from joulewise.study.store.proofs import Told, bound_files, proof_in, tabled
from joulewise.study.store.reading import check_columns
from joulewise.study.store.store import Store
from joulewise.study.store.stored import Stored
from joulewise.study.store.tables import is_study_key

RUN = "run"
_SOME = 6
"""How many columns of a table are its main ones: keys and names come first."""
_SCALARS = (bool, int, float, str)
_OF_RUN = r"([0-9a-f]{32})\.parquet$"
_PATH = "file of the row"
"""A column that no table of ours has."""


class ShownColumn(NamedTuple):
    """A column of a table of a folder, in words."""

    table: str
    column: str
    unit: str
    meaning: str


@dataclass(frozen=True)
class StoredTables:
    """The tables of a study: its runs, the detail tables of those that are kept, and the proofs of bounds."""

    store: Store
    study: Study
    runs: pl.LazyFrame
    keys: pl.DataFrame
    """Key and status of every run."""
    is_finished: bool

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every table that there may be."""
        details = dict.fromkeys(column.table for column in self.study.kind.columns)
        return tuple(dict.fromkeys((RUNS, *details, BOUNDS)))

    def scan(self, name: str) -> pl.LazyFrame:
        """A table; InputError where a file of it is damaged."""
        return {RUNS: lambda: self.runs, BOUNDS: self._bounds}.get(name, lambda: self._details(name))()

    def kept(self, name: str) -> list[Path]:
        """The files of a detail table, one for each run that has it."""
        runs = those_in(self.keys[RUN], self.store.detail_keys(name))
        return [self.store.detail_file(name, run) for run in sorted(runs)]

    def main_columns(self, name: str) -> list[str]:
        """The columns of a table that people ask for first: of runs what was swept and what `joulewise run` shows."""
        there = self.scan(name).collect_schema().names()
        if name != RUNS:
            return there[:_SOME]
        shown = [column.name for column in self.study.first_columns]
        return [column for column in (*self.study.axes, "trial", *shown) if column in there]

    def described(self, name: str) -> Iterator[ShownColumn]:
        """What the columns of a table mean; a `*` stands for any text."""
        columns = [column for column in self.study.kind.all_columns() if column.table == name]
        if name == RUNS:
            yield from self._described_runs(columns)
            return
        known = BOUND_COLUMNS if name == BOUNDS else (Column(name, RUN, "", "key of the run that the row is of"),)
        for column in (*known, *columns):
            yield ShownColumn(name, column.name, column.unit, column.meaning)

    def _described_runs(self, columns: Iterable[Column]) -> Iterator[ShownColumn]:
        """The columns that the table has, with what keys of the study mean."""
        keys = self._meanings()
        for name in self.runs.collect_schema().names():
            column = None if is_study_key(name) else next((c for c in columns if fnmatchcase(name, c.name)), None)
            unit, meaning = (column.unit, column.meaning) if column else ("", keys.get(name, "key of the study"))
            yield ShownColumn(RUNS, name, unit, meaning)

    def _meanings(self) -> Mapping[str, str]:
        """What the keys of such a study mean, by their columns."""
        sources = {"", *(name for section in self.study.kind.sections() for name in section.sources)}
        return {key.column: f"key of the study: {key.meaning}" for key in study_keys() if key.source in sources}

    # --- what tables are made of -------------------------------------------------------------------------------------

    def _details(self, name: str) -> pl.LazyFrame:
        """The rows of all kept runs, with a column `run`; names are texts, as runs may have others."""
        columns = [column for column in self.study.kind.columns if column.table == name]
        found = [
            table.select(pl.col(_PATH).str.extract(_OF_RUN).alias(RUN), pl.exclude(_PATH))
            for table in self._scanned(self.kept(name), columns)
        ]
        types = {bool: pl.Boolean(), str: pl.String()}
        schema = {column.name: types.get(column.holds, pl.Float64()) for column in columns}
        return pl.concat(found, how="diagonal_relaxed") if found else pl.LazyFrame(schema={RUN: pl.String(), **schema})

    def _scanned(self, paths: Iterable[Path], columns: Iterable[Column] = ()) -> Iterator[pl.LazyFrame]:
        """Files below each other, those of the same columns together, each row with the path of its file."""
        groups: dict[tuple[tuple[str, pl.DataType], ...], list[Path]] = {}
        for path in paths:
            groups.setdefault(tuple(self.store.schema(path).items()), []).append(path)
        for schema, members in groups.items():
            if columns:
                check_columns(members[0], pl.DataFrame(schema=dict(schema)), tuple(columns))
            table = pl.scan_parquet(members, glob=False, hive_partitioning=False, include_file_paths=_PATH)
            yield table.with_columns(pl.col(pl.Enum, pl.Categorical).cast(pl.String))

    def _bounds(self) -> pl.LazyFrame:
        """What is proven of the worlds of the runs: a row for each proof, or for each vertex of a curve."""
        worlds = self.runs.select(pl.col("world").unique()).collect(engine="streaming")
        there = set(worlds["world"])
        files = [file for file in sorted(bound_files(self.store.folder)) if file.world in there]
        told = [proof for file in files if file.is_proof and (proof := proof_in(file))]
        proofs = tabled(self.store).each(worlds.lazy(), self._proof)
        proofs |= {(proof.world, proof.kind): self._proof(proof) for proof in told}
        rows = [proofs[key] for key in sorted(proofs)]
        known = pl.LazyFrame(rows, infer_schema_length=None, schema_overrides=_OF_BOUNDS) if rows else pl.LazyFrame()
        curves = map(_curve, self._scanned(file.path for file in files if not file.is_proof))
        return pl.concat([pl.LazyFrame(schema=_OF_BOUNDS), known, *curves], how="diagonal_relaxed")

    def _proof(self, told: Told) -> dict[str, Any]:
        """The numbers and words of a proof."""
        proof = dict(_scalars(told.proof()))
        value = proof.pop(self.study.kind.proven, None)
        return {**proof, "world": told.world, "kind": told.kind, "value": value}


_OF_BOUNDS: Mapping[str, pl.DataType] = {"world": pl.String(), "kind": pl.String(), "value": pl.Float64()}


def stored_tables(folder: Path | str, *, so_far: bool = False) -> StoredTables:
    """The tables of a results folder; InputError where it holds none, or they were changed since.

    Of a study that is unfinished they have the rows that there are `so_far`, where that is asked for and there are any.
    """
    folder = Path(folder)
    study, about = study_in(folder)
    store, is_whole = Store(folder), is_finished(Store(folder), about)
    if not is_whole and not (so_far and Stored(store).index.height):
        raise unfinished(folder)
    path, runs = (store.runs_file, store.scan(store.runs_file)) if is_whole else (store.fragments, Stored(store).rows())
    schema = runs.collect_schema()
    check_columns(path, pl.DataFrame(schema=schema), [*FIRST_COLUMNS, Column(RUNS, "*", "", "")])
    missing = next((axis for axis in study.axes if axis not in schema), None)
    if missing is not None:
        raise damaged(path, f"column {missing!r}", "is missing")
    keys = runs.select(RUN, "status").collect()
    check_details(store, study, keys)
    return StoredTables(store, study, runs, keys, is_whole)


def _scalars(found: Mapping[str, Any], inside: str = "") -> Iterator[tuple[str, Any]]:
    """The values of an object that are no lists, and those of objects in it."""
    for name, value in found.items():
        if isinstance(value, dict):
            yield from _scalars(value, f"{inside}{name}.")
        elif isinstance(value, _SCALARS):
            yield f"{inside}{name}", value


def _curve(table: pl.LazyFrame) -> pl.LazyFrame:
    """The vertices of bounds that are curves; lists of prices are left out."""
    key = pl.col(_PATH).str.extract_groups(r"(?<world>[0-9a-f]{32})\.(?<kind>[^/]+)\.parquet$")
    lists = [name for name, kind in table.collect_schema().items() if kind.is_nested()]
    return table.select(key.struct.field("world", "kind"), pl.exclude(_PATH, *lists))
