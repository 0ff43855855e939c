"""Schedules and records of a results folder as files for others: a table each, with the point and trial of each row."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import polars as pl

from joulewise.errors import InputError, Problem, raise_if_any, unknown_name
from joulewise.files import replacing, sha256_of, write_atomic
from joulewise.reading import damaged, read_any_object
from joulewise.study.answers.tables import RUN, ShownColumn, StoredTables, stored_tables
from joulewise.study.spec.column import BOUNDS, RUNS
from joulewise.study.spec.trials import STAGE

FOLDER = "export"
_MARKER = "export.json"
_COLUMNS = "columns.csv"
_AWAY = "remove it, or choose another folder with --out"
_SAMPLE = 2_000
"""How many rows tell how long the rows of a table are."""


def _to_csv(table: pl.LazyFrame, path: Path) -> None:
    table.sink_csv(path, engine="streaming")


def _to_parquet(table: pl.LazyFrame, path: Path) -> None:
    table.sink_parquet(path, engine="streaming")


FORMATS: Mapping[str, Callable[[pl.LazyFrame, Path], None]] = {"csv": _to_csv, "parquet": _to_parquet}
"""What files can be, and what writes a table as such."""


@dataclass(frozen=True)
class ExportFolder:
    """A folder of exported files, of which it knows what it wrote: others are never overwritten."""

    path: Path

    def write(self, name: str, make: Callable[[Path], object]) -> Path:
        """Write a file, as `make` does at the path that it gets; InputError where another one is in its place."""
        path = self.path / name
        raise_if_any(self.problems([name]))
        with replacing(path) as temporary:
            make(temporary)
            known = {**self._written, name: sha256_of(temporary)}
        write_atomic(self.path / _MARKER, json.dumps({"files": known}, indent=2) + "\n")
        return path

    def problems(self, names: list[str]) -> Iterator[Problem]:
        """What keeps files of these names from being written."""
        if self.path.exists() and not self.path.is_dir():
            yield Problem(str(self.path), "is a file", "must be a folder")
            return
        written = self._written
        for path in (self.path / name for name in names):
            is_ours = path.is_file() and not path.is_symlink() and written.get(path.name) == sha256_of(path)
            if not is_ours and (path.exists() or path.is_symlink()):
                yield Problem(str(path), "is there, and is not as an export wrote it", advice=_AWAY)

    @property
    def _written(self) -> dict[str, Any]:
        """The hashes of the files that were written here."""
        marker = self.path / _MARKER
        if not marker.is_file():
            return {}
        files = read_any_object(marker, _AWAY).get("files")
        if not isinstance(files, dict):
            raise damaged(marker, "files", "is missing", "must say what was exported here", _AWAY)
        return files


@dataclass(frozen=True)
class Export:
    """What is to be exported of a folder, in which format and where to."""

    tables: StoredTables
    kind: str
    folder: ExportFolder

    @cached_property
    def names(self) -> list[str]:
        """The detail tables that some run has."""
        details = (name for name in self.tables.names if name not in (RUNS, BOUNDS))
        return [name for name in details if self.tables.kept(name)]

    @cached_property
    def n_rows(self) -> int:
        """The rows of all files."""
        counts = [self._table(name).select(pl.len()) for name in self.names]
        return sum(int(found.item()) for found in pl.collect_all(counts, engine="streaming"))

    @cached_property
    def n_bytes(self) -> int:
        """About how large the files are."""
        return round(sum(map(self._bytes_of, self.names)))

    def check(self) -> None:
        """InputError where there is nothing to export, no room for it, or something else in its place."""
        store = self.tables.store
        if not self.names:
            found, advice = "keeps no detail tables", 'keep = "first" or "all" in the study, and running it again, does'
            raise InputError(Problem(str(store.folder), found, advice=advice))
        whole = self.folder.path.absolute()
        free = shutil.disk_usage(next(path for path in (whole, *whole.parents) if path.exists())).free
        problems = [*self.folder.problems([*map(self._file_of, self.names), _COLUMNS])]
        if self.n_bytes > free:
            problems.append(
                Problem(str(self.folder.path), f"needs {self.n_bytes:,} bytes", f"the disk has {free:,} left")
            )
        raise_if_any(problems)

    def write(self, on_progress: Callable[[int, int, str], object] = lambda _done, _total, _doing: None) -> list[Path]:
        """Write every table and what their columns mean; the paths of all."""
        written = []
        for number, name in enumerate(self.names):
            on_progress(number, len(self.names), name)
            written.append(self.folder.write(self._file_of(name), partial(self._sink, name)))
        meanings = pl.DataFrame([column for name in self.names for column in self._described(name)], orient="row")
        return [*written, self.folder.write(_COLUMNS, meanings.write_csv)]

    def _sink(self, name: str, path: Path) -> None:
        FORMATS[self.kind](self._table(name), path)

    def _file_of(self, name: str) -> str:
        return f"{name}.{self.kind}"

    def _table(self, name: str) -> pl.LazyFrame:
        """A detail table with the point and trial of its run, a row for each point of a run."""
        runs = self.tables.scan(RUNS).select(RUN, *self._point)
        details = self.tables.scan(name)
        own = [column for column in details.collect_schema().names() if column != RUN]
        renamed = {column: f"{column} of the run" for column in self._point if column in own}
        joined = details.join(runs.rename(renamed), on=RUN, how="inner", maintain_order="left")
        return joined.select(RUN, *(renamed.get(column, column) for column in self._point), *own)

    @property
    def _point(self) -> list[str]:
        """The columns that say which point and trial a run is of, and what for where some trials tune."""
        return [*self.tables.study.axes, "trial", *([STAGE] if self.tables.study.tuning else [])]

    def _bytes_of(self, name: str) -> float:
        """The length of some rows as text, or of the stored files, taken as that of all."""
        table, n_stored = self._table(name), self.tables.scan(name).select(pl.len())
        n_rows, n_own = (int(f.item()) for f in pl.collect_all([table.select(pl.len()), n_stored], engine="streaming"))
        if self.kind == "csv":
            sample = table.head(_SAMPLE).collect(engine="streaming")
            return len(sample.write_csv()) * n_rows / max(sample.height, 1)
        return sum(path.stat().st_size for path in self.tables.kept(name)) * n_rows / max(n_own, 1)

    def _described(self, name: str) -> Iterator[ShownColumn]:
        """What the columns of a file mean."""
        of_runs = {column.column: column for column in self.tables.described(RUNS)}
        own = {column.column: column for column in self.tables.described(name)}
        for column in self._table(name).collect_schema().names():
            meant = own.get(column) or of_runs[column.removesuffix(" of the run")]
            yield meant._replace(table=name, column=column)


def to_export(folder: Path | str, kind: str = "csv", out: Path | None = None) -> Export:
    """What exporting the detail tables of a results folder takes; InputError where that cannot be done."""
    raise_if_any([unknown_name("format", kind, FORMATS)] if kind not in FORMATS else [])
    tables = stored_tables(folder)
    place = out or tables.store.own_folder(FOLDER, "remove the link, or choose another folder with --out")
    export = Export(tables, kind, ExportFolder(place))
    export.check()
    return export
