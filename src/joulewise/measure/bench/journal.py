"""What happened in a laboratory, line by line: appended and forced to the disk, never rewritten.

Each line is a JSON object with the key `event`. A process that is killed, or a machine that loses its power, can at
most leave the last line unfinished; it is ignored by readers and cut by the next writer.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from joulewise.errors import InputError, Problem
from joulewise.reading import check_object, damaged

Record = dict[str, Any]
Schemas = Mapping[str, type[BaseModel]]
"""What records must say, by their event."""

_LINE = "remove the line; the others are whole"


@dataclass
class Journal:
    """An open journal: what it holds, and the file to which more is appended."""

    path: Path
    handle: int
    records: list[Record] = field(default_factory=list)

    def append(self, event: str, **facts: Any) -> Record:
        """Write one line and wait until the disk has it; NaN is written as null."""
        record = {"event": event, **_without_nan(facts)}
        line = (json.dumps(record, allow_nan=False, ensure_ascii=False) + "\n").encode()
        try:
            while line:
                line = line[os.write(self.handle, line) :]
            os.fsync(self.handle)
        except OSError as error:
            found = f"cannot be written: {error.strerror or error}"
            advice = "make room for it and run the same command again; what was measured before is kept"
            raise InputError(Problem(str(self.path), found, advice=advice)) from error
        self.records.append(record)
        return record


@contextmanager
def writing(path: Path, schemas: Schemas | None = None) -> Iterator[Journal]:
    """Open a journal to go on with it; an unfinished last line is cut first. InputError as `read_journal` raises it."""
    records, n_whole = _parsed(path, schemas or {})
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    try:
        if os.fstat(handle).st_size > n_whole:
            os.ftruncate(handle, n_whole)
        os.fsync(handle)
        _sync_folder(path.parent)
        yield Journal(path, handle, records)
    finally:
        os.close(handle)


def read_journal(path: Path, schemas: Schemas | None = None) -> list[Record]:
    """The records of a journal, which another process may be writing.

    InputError where one does not say what the schema of its event wants, if schemas are given.
    """
    return _parsed(path, schemas or {})[0]


def _parsed(path: Path, schemas: Schemas) -> tuple[list[Record], int]:
    """The records, and how many bytes of the file are whole lines; InputError for a line in the middle that is none."""
    lines = _lines(path)
    records = [_record(line) for line in lines]
    while records and records[-1] is None:
        records.pop()
    if None in records:
        where = f"{path}: line {records.index(None) + 1}"
        raise InputError(Problem(where, "is no line of a journal", advice=_LINE))
    whole = [record for record in records if record is not None]
    for number, record in enumerate(whole if schemas else (), 1):
        _check(f"{path}: line {number}", record, schemas)
    return whole, sum(map(len, lines[: len(records)]))


def _lines(path: Path) -> list[bytes]:
    """The lines of a journal, none where there is none yet; InputError where it cannot be read."""
    try:
        return path.read_bytes().splitlines(keepends=True) if path.exists() else []
    except OSError as error:
        raise damaged(
            path, "", f"cannot be read: {error.strerror or error}", advice="put it back, or remove it"
        ) from None


def _check(place: str, record: Record, schemas: Schemas) -> None:
    """InputError where a record does not say what its event must say."""
    event = record["event"]
    if not isinstance(event, str) or event not in schemas:
        raise damaged(place, "event", f"found {event!a}", f"must be {' or '.join(schemas)}", _LINE)
    check_object(place, record, schemas[event], _LINE)


def _record(line: bytes) -> Record | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if line.endswith(b"\n") and isinstance(record, dict) and "event" in record else None


def _without_nan(value: Any) -> Any:
    """The value with nothing in place of NaN, at any depth."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _without_nan(inner) for key, inner in value.items()}
    return [_without_nan(inner) for inner in value] if isinstance(value, list | tuple) else value


def _sync_folder(folder: Path) -> None:
    """Make sure that the disk knows of a new file."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
