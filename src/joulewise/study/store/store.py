"""The files of a results folder; nothing is ever half written.

`study.json` marks the folder as ours and names its study. Runs are found again by their key, so that a
changed study computes only what is new; runs that it no longer asks for are set aside, not lost.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from joulewise.errors import InputError, Problem
from joulewise.files import is_leftover, sha256_of, write_atomic
from joulewise.reading import parsed, read_any_object, read_object
from joulewise.study.spec.run import Run
from joulewise.study.store.folder import SCHEMA_VERSION, Folder
from joulewise.study.store.keys import numbers_of
from joulewise.study.store.proofs import BOUNDS_FOLDER, BoundFile, Told, bound_files, proof_in, tabled
from joulewise.study.store.reading import Marker

if TYPE_CHECKING:
    import polars as pl

Found = TypeVar("Found")

MARKER = "study.json"
_FOLDER_AGAIN = "remove the folder and run the study again"
DONE, FAILED = "done", "failed"
NO_BOUND = "none"
"""The bound of runs for which none is proven."""
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
class Store(Folder):
    """The files of one results folder."""

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

    @property
    def journal_file(self) -> Path:
        """The newest rows, a line each."""
        return self.fragments / "journal.jsonl"

    def proof_file(self, world_key: str, kind: str) -> Path:
        """The proof of a bound until it is gathered into a table."""
        return self.folder / BOUNDS_FOLDER / f"{world_key}.{kind}.json"

    def certificate_file(self, world_key: str, kind: str) -> Path:
        return self.folder / BOUNDS_FOLDER / f"{world_key}.{kind}.parquet"

    def detail_file(self, table: str, key: str) -> Path:
        """One of the detail tables of a run."""
        return self.folder / table / f"{key}.parquet"

    def own_folder(self, name: str, advice: str) -> Path:
        """A folder in that of the results; InputError where a link to another place has its name."""
        place = self.folder / name
        if place.is_symlink():
            raise InputError(
                Problem(str(place), "is a link to another place", "must be a folder of the results", advice)
            )
        return place

    def contents(self, pattern: str = "**/*") -> dict[str, bytes]:
        """What files hold, by their names in the folder: all of them, or those of a pattern."""
        files = (path for path in sorted(self.folder.glob(pattern)) if path.is_file())
        return {self._name(path): path.read_bytes() for path in files}

    def proofs(self, world_key: str, kinds: Iterable[str]) -> dict[str, bytes]:
        """What is proven of a world, as files hold it or would."""
        files = self.contents(f"{BOUNDS_FOLDER}/{world_key}.*")
        found = [proof for kind in kinds if (proof := tabled(self).find(world_key, kind))]
        told = {self._name(self.proof_file(world_key, proof.kind)): proof.text.encode() for proof in found}
        return told | files

    def add(self, contents: Mapping[str, bytes]) -> None:
        """Write files that another store has, as they are there."""
        for name, content in contents.items():
            write_atomic(self.folder / name, content)

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

    def begin(self, owner: Owner, details: Mapping[str, Any]) -> None:
        """Mark the folder as being rewritten, for a moment: no reader gets a table with an older heading."""
        self._mark(owner, details, is_finished=False)

    def finish(self, owner: Owner, details: Mapping[str, Any]) -> None:
        """Mark the folder as finished, with the heading of its new table."""
        write_atomic(self.study_file, owner.source)
        self._mark(owner, details, is_finished=True)

    def holds(self, owner: Owner, runs: pl.Series, details: Mapping[str, Any]) -> bool:
        """Whether the folder says all this already, of runs with these keys, so that it need not be written again."""
        marker = self.marker() or {}
        says = {key: value for key, value in details.items() if key not in OF_COMPUTING}
        is_same = self._holds_text(owner.source) and marker.items() >= {"is_finished": True, **says}.items()
        if not is_same:
            return False
        with self.reading(self.runs_file) as rows:
            return rows.select(numbers_of("run")).collect(engine="streaming").to_series().equals(runs)

    def stamp(self) -> str:
        """What tells finished results from all others: a hash of their heading and their table of runs."""
        return hashlib.sha256(f"{sha256_of(self.folder / MARKER)} {sha256_of(self.runs_file)}".encode()).hexdigest()

    def _mark(self, owner: Owner, details: Mapping[str, Any], *, is_finished: bool) -> None:
        marker = {"schema_version": SCHEMA_VERSION, "name": owner.name, "is_finished": is_finished, **details}
        write_atomic(self.folder / MARKER, json.dumps(marker, indent=2) + "\n")

    def read_proof(self, world_key: str, kind: str, parse: Callable[[Any], Found]) -> Found | None:
        """The stored proof of a world's bound of a kind, as `parse` makes it of JSON values, or None."""
        told = self.told_proof(world_key, kind)
        return parsed(told.place, told.proof(), parse) if told else None

    def told_proof(self, world_key: str, kind: str) -> Told | None:
        """The same as it is stored: in a file of its own, or in a table."""
        file = BoundFile(self.proof_file(world_key, kind), world_key, kind)
        return proof_in(file) or tabled(self).find(world_key, kind)

    def unproven(self, bounds: Collection[tuple[str, str]]) -> list[tuple[str, str]]:
        """Those of bounds, by world and kind, that are not proven yet."""
        return [each for each in tabled(self).lacking(bounds) if not self.proof_file(*each).is_file()]

    def proven(self) -> pl.DataFrame:
        """All that is proven, by `world` and `kind`."""
        import polars as pl

        files = [(file.world, file.kind) for file in bound_files(self.folder)]
        tables = tabled(self).keys()
        return tables.vstack(pl.DataFrame(files, schema=tables.schema, orient="row")).unique()

    def write_proof(self, world_key: str, kind: str, proof: Mapping[str, Any]) -> None:
        """Store the proof of a world's bound for all runs on it."""
        stored = {"schema_version": SCHEMA_VERSION, "world": world_key, "proof": proof}
        write_atomic(self.proof_file(world_key, kind), json.dumps(stored) + "\n")

    def write_details(self, run: Run, tables: Tables) -> None:
        """Store the detail tables of a run."""
        for name, table in tables.items():
            self.write_table(self.detail_file(name, run.key), table)

    def detail_keys(self, table: str) -> set[str]:
        """The runs of which there is this detail table."""
        return {path.stem for path in (self.folder / table).glob("*.parquet")}

    def detail_files(self, key: str) -> dict[str, Path]:
        """The detail tables of a run that are there, by their names."""
        return {path.parent.name: path for path in sorted(self.folder.glob(f"*/{key}.parquet"))}

    @property
    def study_place(self) -> Path | None:
        """Where the file of the study was that these are results of; None where they are of none."""
        marker = self.marker()
        return None if marker is None else _path_of(marker)

    def _holds_text(self, source: str) -> bool:
        return self.study_file.is_file() and self.study_file.read_bytes() == source.encode()

    def _is_in_use(self) -> bool:
        """Whether anything is there but what a study leaves that was ended before it could mark its folder."""
        there = self.folder.iterdir() if self.folder.is_dir() else ()
        return any(path.name != ".lock" and not is_leftover(path) for path in there)


def _path_of(marker: Mapping[str, Any]) -> Path:
    """Where the study file that a marker names was."""
    return Path(marker["study_folder"], marker["study_file"])
