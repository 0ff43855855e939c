"""Files that are never half written, folders that are never written by two processes, and texts in TOML."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import tomllib
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from joulewise.errors import InputError, Problem

_LOCK = ".lock"
_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{32}\.tmp")
"""How `replacing` names what it writes."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that replaces it when the block ends well, and vanishes otherwise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        temporary.touch(exist_ok=False)  # with the permissions that the user's umask gives to new files
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_atomic(path: Path, data: str | bytes) -> None:
    """Write the whole file or leave what was there; a reader never sees a part of it."""
    with replacing(path) as temporary:
        temporary.write_bytes(data.encode() if isinstance(data, str) else data)


def remove_leftovers(*folders: Path) -> None:
    """Remove what processes that were ended while `replacing` left in these folders; only while these are held."""
    for path in (path for folder in folders for path in folder.glob(".*.tmp")):
        if _TEMPORARY.fullmatch(path.name) and path.is_file() and not path.is_symlink():
            path.unlink()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Make a folder and hold it for this process; InputError when it cannot be made, or another one holds it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        found = f"cannot be made: {error.strerror or error}"
        raise InputError(Problem(str(folder), found, advice="choose another folder with --out")) from None
    with (folder / _LOCK).open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            problem = Problem(
                str(folder), "another process is writing here", advice="wait for it, or choose another folder"
            )
            raise InputError(problem) from error
        yield


def toml_of(source: str, file_name: str) -> dict[str, Any]:
    """The keys of a TOML text; `file_name` is what the problem calls it where it is none."""
    try:
        return tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        advice = "text needs quotes, lists need [ ], and each key may stand once in its section"
        raise InputError(Problem(file_name, f"not valid TOML: {error}", advice=advice)) from None


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
