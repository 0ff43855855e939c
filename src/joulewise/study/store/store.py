"""A results folder: one part file per finished run, merged into one table; nothing is ever half written.

`study.json` marks the folder as ours and names its study. Runs are found again by their key, so that a
changed study computes only what is new; runs that it no longer asks for are set aside, not lost.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from joulewise.errors import InputError, Problem
from joulewise.files import sha256_of, write_atomic
from joulewise.parquet import sealed
from joulewise.reading import parsed, read_any_object, read_object
from joulewise.study.spec.run import Run
from joulewise.study.store.reading import Marker, StoredProof, StoredRow, read_parquet

if TYPE_CHECKING:
    import polars as pl

Found = TypeVar("Found")

SCHEMA_VERSION = 3
"""Raised whenever a file of a results folder changes its meaning."""

MARKER = "study.json"
_FOLDER_AGAIN = "remove the folder and run the study again"
DONE, FAILED = "done", "failed"
NO_BOUND = "none"
"""The bound of runs for which none is proven."""
_IDENTITY = ("run", "world", "variant", "trial", "seed")
_TEXT = ("variant", "error", "verdict")
OF_COMPUTING = ("run_at", "seconds", "machine", "python")
"""What the marker says of computing alone, which does not change where nothing is computed."""

Tables = Mapping[str, "pl.DataFrame"]
"""Detail tables of one run, by their names."""

Result = dict[str, Any]
"""What came out of one run: `status`, `error` and the metrics; in tables after what was run."""


@dataclass(frozen=True)
class Owner:
    """Whose results a folder holds: the name of a study, the whole path of its file, and the text of it."""

    name: str
    path: Path
    source: str


@dataclass(frozen=True)
class Store:
    """The files of one results folder."""

    folder: Path

    @property
    def runs_file(self) -> Path:
        return self.folder / "runs.parquet"

    @property
    def earlier_file(self) -> Path:
        return self.folder / "earlier.parquet"

    def population_file(self, key: str) -> Path:
        """The last population of a run, from which another may go on."""
        return self.folder / "populations" / f"{key}.npz"

    @property
    def study_file(self) -> Path:
        return self.folder / "study.toml"

    def part_file(self, key: str) -> Path:
        return self.folder / "parts" / f"{key}.json"

    def proof_file(self, world_key: str, kind: str) -> Path:
        return self.folder / "bounds" / f"{world_key}.{kind}.json"

    def certificate_file(self, world_key: str, kind: str) -> Path:
        return self.folder / "bounds" / f"{world_key}.{kind}.parquet"

    def detail_file(self, table: str, key: str) -> Path:
        """One of the detail tables of a run."""
        return self.folder / table / f"{key}.parquet"

    def marker(self) -> dict[str, Any] | None:
        """What the folder says about itself, or None when it says nothing; InputError when it is damaged."""
        path = self.folder / MARKER
        if not path.is_file():
            return None
        version = read_any_object(path, _FOLDER_AGAIN).get("schema_version")
        if version != SCHEMA_VERSION:
            allowed = f"this Joulewise reads version {SCHEMA_VERSION}"
            advice = "use the Joulewise that wrote it, or run the study again into another folder"
            raise InputError(Problem(str(path), f"found schema version {version!r}", allowed, advice))
        return read_object(path, Marker, _FOLDER_AGAIN)

    def check_owner(self, owner: Owner) -> None:
        """InputError when the folder holds anything but results of this study.

        A study may be edited, and its file may be moved; a file elsewhere with another text is another study.
        """
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(Problem(str(self.folder), "found a file", "the output must be a folder"))
        advice = "choose another folder with --out, or remove this one"
        marker = self.marker()
        if marker is not None and marker["name"] != owner.name:
            found = f"holds the results of the study {marker['name']!r}"
            raise InputError(Problem(str(self.folder), found, f"this study is {owner.name!r}", advice))
        if marker is not None and _path_of(marker) != owner.path and not self._holds_text(owner.source):
            found = f"holds the results of another study of this name, {_path_of(marker)}"
            raise InputError(Problem(str(self.folder), found, f"this study is {owner.path}", advice))
        if marker is None and self._is_in_use():
            found = "holds files that are not the results of a study"
            raise InputError(Problem(str(self.folder), found, "the output must be a new or empty folder", advice))

    def claim(self, owner: Owner, details: Mapping[str, Any]) -> None:
        """Mark a new folder as the study's; one that holds results keeps its heading until others replace them."""
        if self.marker() is None:
            self._mark(owner, details, is_finished=False)
            write_atomic(self.study_file, owner.source)

    def finish(self, owner: Owner, runs: Sequence[Run], details: Mapping[str, Any]) -> pl.DataFrame:
        """Replace the table of runs and the heading together: no reader gets one with an older other."""
        self._mark(owner, details, is_finished=False)
        table = self.merge(runs)
        write_atomic(self.study_file, owner.source)
        self._mark(owner, details, is_finished=True)
        return table

    def holds(self, owner: Owner, runs: Sequence[Run], details: Mapping[str, Any]) -> bool:
        """Whether the folder says all this already, of these runs, so that it need not be written again."""
        marker, table = self.marker() or {}, self._tabled_keys()
        says = {key: value for key, value in details.items() if key not in OF_COMPUTING}
        is_same = self._holds_text(owner.source) and marker.items() >= {"is_finished": True, **says}.items()
        return is_same and table == [run.key for run in runs]

    def stamp(self) -> str:
        """What tells finished results from all others: a hash of their heading and their table of runs."""
        return hashlib.sha256(f"{sha256_of(self.folder / MARKER)} {sha256_of(self.runs_file)}".encode()).hexdigest()

    def _mark(self, owner: Owner, details: Mapping[str, Any], *, is_finished: bool) -> None:
        marker = {"schema_version": SCHEMA_VERSION, "name": owner.name, "is_finished": is_finished, **details}
        write_atomic(self.folder / MARKER, json.dumps(marker, indent=2) + "\n")

    def write_part(self, run: Run, result: Result) -> None:
        """Store what was run and what came out."""
        part = {"schema_version": SCHEMA_VERSION, **run.cells(), **result}
        write_atomic(self.part_file(run.key), json.dumps(part, allow_nan=False) + "\n")

    def write_table(self, path: Path, table: pl.DataFrame) -> None:
        """Store a table as Parquet, with the schema version in its metadata, sealed by its place in the folder."""
        buffer = io.BytesIO()
        table.write_parquet(buffer, metadata={"schema_version": str(SCHEMA_VERSION)})
        write_atomic(path, sealed(buffer.getvalue(), self._name(path)))

    def read_table(
        self, path: Path, columns: Iterable[str] | None = None, *, must_be_sealed: bool = True
    ) -> pl.DataFrame:
        """A stored table, or those of these columns that it has; InputError when it is missing or damaged.

        Where it `must_be_sealed`, one that is not as `write_table` wrote it is damaged as well.
        """
        return read_parquet(path, columns, self._name(path) if must_be_sealed else "")

    def _name(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()

    def read_proof(self, world_key: str, kind: str, parse: Callable[[Any], Found]) -> Found | None:
        """The stored proof of a world's bound of a kind, as `parse` makes it of JSON values, or None."""
        path = self.proof_file(world_key, kind)
        return parsed(path, read_object(path, StoredProof)["proof"], parse) if path.exists() else None

    def write_proof(self, world_key: str, kind: str, proof: Mapping[str, Any]) -> None:
        """Store the proof of a world's bound for all runs on it."""
        stored = {"schema_version": SCHEMA_VERSION, "world": world_key, "proof": proof}
        write_atomic(self.proof_file(world_key, kind), json.dumps(stored) + "\n")

    def results(self) -> dict[str, Result]:
        """The results of all runs ever finished here, by run key; parts are newer than tables."""
        found = {**self._tabled(self.earlier_file), **self._tabled(self.runs_file)}
        for path in sorted((self.folder / "parts").glob("*.json")):
            part = read_object(path, StoredRow)
            del part["schema_version"]
            found[part["run"]] = part
        return found

    def write_details(self, run: Run, tables: Tables) -> None:
        """Store the detail tables of a run."""
        for name, table in tables.items():
            self.write_table(self.detail_file(name, run.key), table)

    def detail_files(self, key: str) -> dict[str, Path]:
        """The detail tables of a run that are there, by their names."""
        return {path.parent.name: path for path in sorted(self.folder.glob(f"*/{key}.parquet"))}

    def _has_details(self, run: Run, names: Sequence[str]) -> bool:
        return all(self.detail_file(name, run.key).is_file() for name in names)

    def is_finished(self, run: Run, result: Result | None, details: Sequence[str]) -> bool:
        """Whether a run need not be computed: it is done, its bound is proven, and its details are there if kept."""
        if result is None or result["status"] != DONE or not self._has_bound(run):
            return False
        return not run.keep or self._has_details(run, details)

    def _has_bound(self, run: Run) -> bool:
        """Whether what proves the bound of its world is there, whatever the kind of study, if there is to be one."""
        if run.bound == NO_BOUND:
            return True
        files = (self.proof_file(run.world_key, run.bound), self.certificate_file(run.world_key, run.bound))
        return any(path.is_file() for path in files)

    def merge(self, runs: Sequence[Run]) -> pl.DataFrame:
        """Write the table of the study's runs from all parts, then delete the parts; returns the table."""
        results = self.results()
        table = runs_table({**run.cells(), **_result_of(results[run.key])} for run in runs if run.key in results)
        wanted = {run.key for run in runs}
        others = runs_table(row for key, row in results.items() if key not in wanted)
        if not others.is_empty():
            self.write_table(self.earlier_file, others)
        self.write_table(self.runs_file, table)
        for path in (self.folder / "parts").glob("*.json"):
            path.unlink()
        return table

    def _tabled(self, path: Path) -> dict[str, Result]:
        if not path.is_file():
            return {}
        rows = self.read_table(path).iter_rows(named=True)
        return {row["run"]: row for row in rows}

    def _tabled_keys(self) -> list[str]:
        return self.read_table(self.runs_file, ["run"])["run"].to_list() if self.runs_file.is_file() else []

    def _holds_text(self, source: str) -> bool:
        return self.study_file.is_file() and self.study_file.read_bytes() == source.encode()

    def _is_in_use(self) -> bool:
        return self.folder.is_dir() and any(path.name != ".lock" for path in self.folder.iterdir())


def _result_of(row: Mapping[str, Any]) -> Result:
    """The columns of a row that came out of the run, not those that say what was run."""
    return {key: value for key, value in row.items() if not _is_study_key(key) and key not in _IDENTITY}


def _is_study_key(name: str) -> bool:
    """Whether a column is a key of the study, such as manager.policy; names of groups and levels follow a colon."""
    return "." in name.partition(":")[0]


def _path_of(marker: Mapping[str, Any]) -> Path:
    """Where the study file that a marker names was."""
    return Path(marker["study_folder"], marker["study_file"])


def _column_group(name: str) -> int:
    """Who, then what was run, then what came out."""
    return 0 if name in _IDENTITY else 1 if _is_study_key(name) else 2


def runs_table(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """The rows of runs as a table whose empty columns have a type that every reader of Parquet knows."""
    import polars as pl

    table = pl.DataFrame(list(rows), infer_schema_length=None)
    names: list[str] = sorted(table.columns, key=_column_group)
    empty = [name for name, kind in table.schema.items() if kind == pl.Null]
    texts = [name for name in empty if name in _TEXT or _is_study_key(name)]
    numbers = [name for name in empty if name not in texts]
    return table.select(names).with_columns(pl.col(texts).cast(pl.String), pl.col(numbers).cast(pl.Float64))
