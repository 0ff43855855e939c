"""Files that are never half written, folders that are never written by two processes, and texts in TOML."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import tomllib
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from joulewise.errors import CONTROL, InputError, JoulewiseError, Problem, raise_if_any

_LOCK = ".lock"
_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{32}\.tmp")
"""How `replacing` names what it writes."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that replaces it when the block ends well, and vanishes otherwise.

    What the system refuses is an OSError that names the path, whoever was writing.
    """
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with naming(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.touch(exist_ok=False)  # with the permissions that the user's umask gives to new files
            yield temporary
            sync(temporary)
            temporary.replace(path)
    finally:  # not before it is known that the disk is full
        with suppress(OSError):  # where nothing may be written, nothing may be removed either
            temporary.unlink(missing_ok=True)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """What the system refuses in here is an OSError that names the path, whoever was writing."""
    try:
        yield
    except JoulewiseError:
        raise
    except Exception as error:
        code = refusal_code(error) or (errno.ENOSPC if _is_full(path.parent) else 0)
        if not code:
            raise
        raise OSError(code, os.strerror(code), str(path)) from error


def _is_full(folder: Path) -> bool:
    return folder.is_dir() and os.statvfs(folder).f_bavail == 0


def sync(path: Path) -> None:
    """Have what was written to a file on disk."""
    with path.open("rb") as written:
        os.fsync(written.fileno())


def refusal_code(error: BaseException) -> int:
    """The system's number for an error, which Polars tells in words alone; 0 where there is none."""
    told = re.search(r"\(os error (\d+)\)", str(error))
    return int(told[1]) if told else getattr(error, "errno", None) or 0


def write_atomic(path: Path, data: str | bytes) -> None:
    """Write the whole file or leave what was there; a reader never sees a part of it."""
    with replacing(path) as temporary:
        temporary.write_bytes(data.encode() if isinstance(data, str) else data)


def write_changed(path: Path, data: str | bytes) -> None:
    """Write the whole file, unless it holds just this already."""
    content = data.encode() if isinstance(data, str) else data
    if not path.is_file() or path.read_bytes() != content:
        write_atomic(path, content)


def remove_leftovers(folder: Path) -> None:
    """Remove what processes that were ended while `replacing` left in a folder, and in those in it, while it is held.

    Links are not followed: what they lead to is not ours.
    """
    inner = (path for path in folder.iterdir() if path.is_dir() and not path.is_symlink())
    for path in (path for place in (folder, *inner) for path in place.glob(".*.tmp")):
        if is_leftover(path):
            path.unlink()


def is_leftover(path: Path) -> bool:
    """Whether a process that was ended while `replacing` left this."""
    return bool(_TEMPORARY.fullmatch(path.name)) and path.is_file() and not path.is_symlink()


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
        except OSError as error:  # a disk that knows no locks
            found = f"cannot be held for one process alone: {error.strerror or error}"
            raise InputError(Problem(str(folder), found, advice="choose a folder on another disk")) from None
        yield


def toml_text(name: str, folder: Path) -> str:
    """The text of a TOML file in a folder; `name` is what problems call it. InputError where there is none."""
    try:
        return (folder / name).read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(Problem(name, f"byte {error.start} is not UTF-8 text", "must be TOML in UTF-8")) from None
    except FileNotFoundError:
        raise InputError(Problem(name, "there is no such file", advice=f"looked in {folder.resolve()}")) from None
    except OSError as error:
        raise InputError(Problem(name, f"cannot be read: {error.strerror or error}")) from None


def toml_of(source: str, file_name: str) -> dict[str, Any]:
    """The keys of a TOML text; `file_name` is what problems call it. InputError where it is none, or holds what no file
    of ours needs: control characters in names, numbers beyond 64 bits, lists in lists in lists without an end."""
    try:
        keys = tomllib.loads(source)
    except RecursionError:
        raise InputError(Problem(file_name, "lists or tables lie too deep inside each other", _SHALLOW)) from None
    except ValueError as error:
        if not isinstance(error, tomllib.TOMLDecodeError):
            raise InputError(Problem(file_name, "found a number of thousands of digits", _SMALLER)) from None
        advice = "text needs quotes, lists need [ ], and each key may stand once in its section"
        raise InputError(Problem(file_name, f"not valid TOML: {error}", advice=advice)) from None
    raise_if_any(_strange_values(keys, file_name, ()))
    return keys


_DEEPEST = 12
_SHALLOW = f"they may be {_DEEPEST} deep"
_LARGEST = 2**63
_SMALLER = "must be below 9.2e18"
_TEXTS = ("description",)
"""Keys that hold a text of several lines; all others hold names."""


def _strange_values(value: object, file_name: str, at: tuple[str, ...]) -> Iterator[Problem]:
    where = f"{file_name}: {'.'.join(at)}"
    if len(at) > _DEEPEST:
        yield Problem(where, "lists or tables lie too deep inside each other", _SHALLOW)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _control_problems(key, f"{file_name}: {'.'.join((*at, key))}")
            yield from _strange_values(inner, file_name, (*at, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _strange_values(inner, file_name, (*at, str(number)))
    elif isinstance(value, str):
        yield from _control_problems(re.sub(r"[\r\n\t]", " ", value) if at[-1] in _TEXTS else value, where)
    elif isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        yield Problem(where, "found a number of more than 64 bits", _SMALLER)


def _control_problems(text: str, where: str) -> Iterator[Problem]:
    if CONTROL.search(text):
        yield Problem(where, f"found control characters in {text!r}", "must be text that can be printed")


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
