"""Rows of finished runs as they come in: appended to a journal, of which every so many lines become a Parquet fragment.

One process writes, the one that holds the folder. A journal that ends in half a line was being written when its process
was ended; that line is left out and its run is computed again. A fragment is whole before its lines are forgotten, so
that rows may be there twice and are never lost.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from joulewise.files import naming
from joulewise.reading import check_object, damaged, one_line
from joulewise.study.store.folder import SCHEMA_VERSION
from joulewise.study.store.proofs import gather
from joulewise.study.store.reading import StoredRow
from joulewise.study.store.store import Store
from joulewise.study.store.tables import raw_table

Row = dict[str, Any]
"""What was run and what came out, by the names of columns."""

_FRAGMENT_ROWS = 5_000
_ADVICE = "remove the line: its run is computed again"


class Journal:
    """Appends rows to the journal of a folder, which this process holds, behind those that were left there.

    To be used as a context, which ends with all rows on disk, whatever ends it.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._rows: list[Mapping[str, Any]] = []

    def __enter__(self) -> Journal:
        path = self.store.journal_file
        path.parent.mkdir(parents=True, exist_ok=True)
        self._rows = list(journal_rows(path))
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        os.ftruncate(self._file, os.pread(self._file, os.fstat(self._file).st_size, 0).rfind(b"\n") + 1)
        os.lseek(self._file, 0, os.SEEK_END)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            with naming(self.store.journal_file):
                os.fsync(self._file)
        finally:
            os.close(self._file)

    def append(self, rows: Sequence[Row]) -> None:
        """Add rows; they survive this process. OSError where there is no room, and then nothing is half written."""
        lines = (json.dumps({"schema_version": SCHEMA_VERSION, **row}, allow_nan=False) for row in rows)
        self._write(("\n".join(lines) + "\n").encode())
        self._rows += rows
        if len(self._rows) >= _FRAGMENT_ROWS:
            self._make_fragment()
            os.ftruncate(self._file, 0)
            os.lseek(self._file, 0, os.SEEK_SET)
            gather(self.store)

    def _write(self, data: bytes) -> None:
        start = os.lseek(self._file, 0, os.SEEK_CUR)
        with naming(self.store.journal_file):
            try:
                while data:
                    data = data[os.write(self._file, data) :]
            except OSError:
                os.ftruncate(self._file, start)
                os.lseek(self._file, start, os.SEEK_SET)
                raise

    def _make_fragment(self) -> None:
        if self._rows:
            self.store.write_table(self.store.next_fragment(), raw_table(self._rows))
            self._rows = []


def journal_rows(path: Path) -> Iterator[Row]:
    """The rows of a journal, none where there is none; InputError where a line other than the last is damaged."""
    if not path.is_file():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.endswith(b"\n"):
                yield _row(path, number, line)


def _row(path: Path, number: int, line: bytes) -> Row:
    place = f"line {number}"
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise damaged(path, place, f"is damaged: {one_line(error)}", advice=_ADVICE) from None
    check_object(f"{path}: {place}", row, StoredRow, _ADVICE)
    del row["schema_version"]
    return dict(row)
