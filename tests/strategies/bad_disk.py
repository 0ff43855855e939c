"""Disks that are full or read-only from some moment on: one whose doors refuse, and a real one with little room."""

from __future__ import annotations

import errno
import io
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest

PAGE = 4096


@dataclass
class BadDisk:
    """Lets so many things be written below a folder, and refuses all that follow."""

    folder: Path
    n_allowed: int
    code: int = errno.ENOSPC
    refused: list[str] = field(default_factory=list)
    """The doors that were closed, in order."""
    n_asked: int = 0

    def ask(self, door: str, place: object) -> None:
        """Count something that is to be written, or refuse it."""
        path = f"/proc/self/fd/{place}" if isinstance(place, int) else os.fspath(place)  # type: ignore[call-overload]
        path = os.readlink(path) if isinstance(place, int) else path
        if not str(path).startswith(str(self.folder)):
            return
        self.n_asked += 1
        if self.n_asked > self.n_allowed:
            self.refused.append(door)
            raise self.error(door, place)

    def error(self, door: str, place: object) -> Exception:
        """What is said by whoever stands at a door; Polars has words alone."""
        words = os.strerror(self.code)
        if door.startswith("polars"):
            return pl.exceptions.ComputeError(f"{words} (os error {self.code})")
        return OSError(self.code, words) if isinstance(place, int) else OSError(self.code, words, str(place))


@contextmanager
def bad_disk(folder: Path, n_allowed: int, code: int = errno.ENOSPC) -> Iterator[BadDisk]:
    """A disk that lets so many things be written below a folder; where it is read-only, nothing is removed either."""
    disk = BadDisk(folder, n_allowed, code)
    with pytest.MonkeyPatch.context() as patch:
        for owner, name, writes in _DOORS:
            is_closed = name != "unlink" or code == errno.EROFS
            if is_closed:
                patch.setattr(owner, name, _guarded(disk, owner, name, writes))
        yield disk


def _guarded(disk: BadDisk, owner: Any, name: str, writes: Callable[[tuple[Any, ...]], object]) -> Callable[..., Any]:
    function = getattr(owner, name)
    door = f"polars.{name}" if owner in (pl.DataFrame, pl.LazyFrame) else name

    def guarded(*given: Any, **named: Any) -> Any:
        place = writes(given)
        if place is not None:
            disk.ask(door, place)
        return function(*given, **named)

    return guarded


def _first(given: tuple[Any, ...]) -> object:
    return given[0]


def _second_path(given: tuple[Any, ...]) -> object:
    return given[1] if isinstance(given[1], str | Path) else None


def _if_created(given: tuple[Any, ...]) -> object:
    return given[0] if given[1] & (os.O_WRONLY | os.O_RDWR) else None


def _if_written(given: tuple[Any, ...]) -> object:
    mode = given[1] if len(given) > 1 else "r"
    return given[0] if set(mode) & set("wax+") and isinstance(given[0], str | Path) else None


_DOORS: tuple[tuple[Any, str, Callable[[tuple[Any, ...]], object]], ...] = (
    (os, "open", _if_created), (os, "write", _first), (os, "fsync", _first), (os, "mkdir", _first),
    (os, "replace", _first), (os, "unlink", _first), (io, "open", _if_written),
    (pl.DataFrame, "write_parquet", _second_path), (pl.LazyFrame, "sink_parquet", _second_path),
)  # fmt: skip
"""Whatever we write goes through one of these: what has the function, its name, and what it is about to write to."""


# --- a real one --------------------------------------------------------------------------------------------------


def can_mount(place: Path) -> bool:
    """Whether disks may be made here."""
    if os.geteuid() != 0:
        return False
    with mounted(place, 16) as is_there:
        return is_there


@contextmanager
def mounted(place: Path, n_pages: int) -> Iterator[bool]:
    """A disk in memory of so many pages in a place, and whether it may be had."""
    place.mkdir(parents=True, exist_ok=True)
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={n_pages * PAGE}", "tmpfs", str(place)], capture_output=True, check=False
    )
    try:
        yield made.returncode == 0
    finally:
        if made.returncode == 0:
            subprocess.run(["umount", "--lazy", str(place)], check=True)


def remount(place: Path, options: str) -> None:
    """Change what a disk allows."""
    subprocess.run(["mount", "-o", f"remount,{options}", str(place)], check=True)


def fill(disk: Path, n_free: int) -> Path:
    """Leave so many pages of a disk free; the file that takes the others."""
    filler = disk / "filler"
    there = os.statvfs(disk)
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(there.f_bavail - n_free, 1) * there.f_bsize)
    return filler
