"""Proofs of bounds: small files at first, gathered into tables, so that a folder of many worlds has few files.

A table is whole before the files that it replaces go: a proof may be in two places for a moment, and is never in none.
Readers hold no lock: who finds no file looks at the tables that are there afterwards.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from joulewise.errors import InputError
from joulewise.reading import any_object, check_object, damaged, one_line, read_text
from joulewise.study.store.reading import StoredProof

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from joulewise.study.store.folder import Folder

Found = TypeVar("Found")

BOUNDS_FOLDER = "bounds"
OF_PROOFS = "bounds-"
"""How the names of fragments begin that hold proofs."""
PROOFS_AT_ONCE = 1_000
"""Rows of a group, which is what looking one up reads."""
_FRAGMENT_PROOFS = 5_000
_NAME = re.compile(r"([0-9a-f]{32})\.(.+)\.(?:json|parquet)")
_FRAGMENT = re.compile(rf"{OF_PROOFS}\d+\.parquet")
_TEXTS_AT_HAND = 4
_DIGITS = 16
"""The first of a key, which are eight bytes."""
_NONE = np.empty(0, np.uint64)

Worlds = Mapping[str, "NDArray[np.uint64]"]
"""How keys of worlds begin, in order, by the kind of the bound that is proven."""


class BoundFile(NamedTuple):
    """A small file with the proof or the certificate of a world's bound."""

    path: Path
    world: str
    kind: str

    @property
    def is_proof(self) -> bool:
        return self.path.suffix == ".json"


class Told(NamedTuple):
    """A stored proof: of which bound, where it is, and its text."""

    world: str
    kind: str
    place: str
    text: str

    def proof(self) -> dict[str, Any]:
        """What it says; InputError where it is none."""
        found = any_object(self.place, self.text)
        check_object(self.place, found, StoredProof)
        return dict(found["proof"])


def bound_files(folder: Path) -> Iterator[BoundFile]:
    """The small files of a results folder, in any order."""
    with suppress(FileNotFoundError), os.scandir(folder / BOUNDS_FOLDER) as entries:
        for entry in entries:
            if name := _NAME.fullmatch(entry.name):
                yield BoundFile(Path(entry.path), name[1], name[2])


def proof_in(file: BoundFile) -> Told | None:
    """The proof in a small file, or None where there is none, as after it was gathered."""
    try:
        return Told(file.world, file.kind, str(file.path), read_text(file.path))
    except InputError:
        if file.path.exists():
            raise
    return None


def gather(store: Folder) -> None:
    """Move proofs from small files into fragments; one that is no text becomes what no reader takes for a proof."""
    import polars as pl

    files = (file for file in bound_files(store.folder) if file.is_proof)
    while piece := list(islice(files, _FRAGMENT_PROOFS)):
        texts = [file.path.read_text(encoding="utf-8", errors="backslashreplace") for file in piece]
        table = pl.LazyFrame({"world": [f.world for f in piece], "kind": [f.kind for f in piece], "proof": texts})
        store.sink_table(store.next_fragment(OF_PROOFS), table.sort("world", "kind"), PROOFS_AT_ONCE)
        for file in piece:
            file.path.unlink(missing_ok=True)


class _Table(NamedTuple):
    """A table of proofs as it is now, by a text, as they are compared whenever one is looked up."""

    path: str
    written_ns: int
    size: int
    inode: int


def _tables(store: Folder) -> list[_Table]:
    """Those of a folder, the newest first; the merged one is looked at last, as fragments go after it is written."""
    found, fragments = [], str(store.fragments)
    names = sorted(filter(_FRAGMENT.fullmatch, os.listdir(fragments)), reverse=True) if store.fragments.is_dir() else ()
    for path in (*(f"{fragments}/{name}" for name in names), str(store.bounds_file)):
        with suppress(FileNotFoundError):
            about = os.stat(path)
            found.append(_Table(path, about.st_mtime_ns, about.st_size, about.st_ino))
    return found


def _told(table: _Table, world: str, kind: str, text: str) -> Told:
    return Told(world, kind, f"{table.path}: {world}.{kind}", text)


class Tabled:
    """The proofs in the tables of a folder; eight bytes for each are at hand."""

    def __init__(self, store: Folder) -> None:
        self.store = store
        self._worlds: Mapping[_Table, Worlds] = {}

    def lacking(self, bounds: Collection[tuple[str, str]]) -> list[tuple[str, str]]:
        """Those of bounds, by world and kind, of which there is no proof."""
        return self._looked(lambda tables: [each for each in bounds if not any(self._with(tables, *each))])

    def find(self, world: str, kind: str) -> Told | None:
        """A proof, or None; InputError where a table is damaged."""

        def look(tables: list[_Table]) -> Told | None:
            read = ((table, _text(self.store, table, world, kind)) for table in self._with(tables, world, kind))
            return next((_told(table, world, kind, text) for table, text in read if text is not None), None)

        return self._looked(look)

    def keys(self) -> pl.DataFrame:
        """World and kind of each."""
        import polars as pl

        none = pl.LazyFrame(schema={"world": pl.String, "kind": pl.String})
        return self._looked(
            lambda tables: pl.concat(
                [none, *(_scanned(self.store, table).select("world", "kind") for table in tables)]
            ).collect()
        )

    def each(self, worlds: pl.LazyFrame, tell: Callable[[Told], Found]) -> dict[tuple[str, str], Found]:
        """What is told of each proof of these worlds."""

        def look(tables: list[_Table]) -> dict[tuple[str, str], Found]:
            found: dict[tuple[str, str], Found] = {}
            for table in reversed(tables):
                rows = _scanned(self.store, table).join(worlds, on="world", how="semi")
                for batch in rows.select("world", "kind", "proof").collect_batches(engine="streaming"):
                    for world, kind, text in batch.iter_rows():
                        found[world, kind] = tell(_told(table, world, kind, text))
            return found

        return self._looked(look)

    def _looked(self, look: Callable[[list[_Table]], Found]) -> Found:
        """What is found in the tables; they are looked at again where they were merged meanwhile."""
        from polars.exceptions import PanicException, PolarsError

        there = _tables(self.store)
        try:
            return look(there)
        except (InputError, OSError):
            if there == _tables(self.store):
                raise
        except (PolarsError, PanicException) as error:
            if there == _tables(self.store):
                raise damaged(self.store.bounds_file, "", f"cannot be read: {one_line(error)}") from None
        return self._looked(look)

    def _with(self, tables: list[_Table], world: str, kind: str) -> Iterator[_Table]:
        """The tables that have a proof, or, most rarely, one of a world whose key begins likewise."""
        known, start = self._worlds, np.uint64(int(world[:_DIGITS], 16))
        self._worlds = {table: known[table] if table in known else _worlds(self.store, table) for table in tables}
        for table, by_kind in self._worlds.items():
            starts = by_kind.get(kind, _NONE)
            at = starts.searchsorted(start)
            if at < starts.size and starts[at] == start:
                yield table


@lru_cache(maxsize=2)
def tabled(store: Folder) -> Tabled:
    """The proofs in the tables of a folder, those of the last ones at hand."""
    return Tabled(store)


def _worlds(store: Folder, table: _Table) -> Worlds:
    """Those of a table; whoever reads a proof of it looks for its seal."""
    import polars as pl

    texts = dict.fromkeys(("world", "kind", "proof"), pl.String)
    start = pl.col("world").str.head(_DIGITS).str.to_integer(base=16, dtype=pl.UInt64)
    with store.reading(Path(table.path), must_be_sealed=False) as rows:
        found = rows.match_to_schema(texts).select("kind", start).collect(engine="streaming")
    parts = found.sort("world").partition_by("kind", as_dict=True, include_key=False)
    return {kind: part["world"].to_numpy() for (kind,), part in parts.items()}


@lru_cache(maxsize=_TEXTS_AT_HAND)
def _text(store: Folder, table: _Table, world: str, kind: str) -> str | None:
    """A proof in a table, or None; runs on a world follow each other."""
    import polars as pl

    row = (pl.col("world") == world) & (pl.col("kind") == kind)
    found = _scanned(store, table).filter(row).select("proof").collect()["proof"]
    return str(found[-1]) if len(found) else None


def _scanned(store: Folder, table: _Table) -> pl.LazyFrame:
    """A table that is as it was written; InputError where it is not."""
    import polars as pl

    _check(store, table)
    return pl.scan_parquet(table.path, glob=False)


@lru_cache(maxsize=1_000)
def _check(store: Folder, table: _Table) -> None:
    store.schema(Path(table.path))
