"""One laboratory per machine, which ends in order whatever signal ends it."""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from joulewise.errors import InputError, Problem
from joulewise.measure.bench.runner import last_lines

SHARED = Path("/tmp")
"""A folder that all users and all their shells have in common, whatever they call their own temporary folder."""

_LOCK = "joulewise-laboratory.lock"
_FOR_ALL = 0o666
_MOST_BYTES = 1000
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def only_laboratory(folder: Path) -> Iterator[None]:
    """Hold this machine; InputError when another laboratory holds it. The system lets go of it when a process ends.

    All users share one file, which says who measures where.
    """
    path = SHARED / _LOCK
    handle = _opened(path)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        found = f"another laboratory is measuring on this machine: {_holder(handle)}"
        os.close(handle)
        raise InputError(Problem(str(path), found, "both would disturb each other", "wait for it")) from error
    try:
        with suppress(OSError):
            os.ftruncate(handle, 0)
            os.write(handle, f"process {os.getpid()} for {folder.resolve()}\n".encode())
        yield
    finally:
        os.close(handle)


def _opened(path: Path) -> int:
    """The file, made where it is not there; what another user made may have to do with being read.

    InputError where it is anything but a file of its own: anybody may put something else of that name into /tmp.
    """
    found = ""
    for access in (os.O_RDWR, os.O_RDWR | _NEW, os.O_RDONLY):
        try:
            handle = os.open(path, access | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, _FOR_ALL)
        except OSError as error:
            found = f"cannot be opened: {error.strerror or error}"
            continue
        if access & os.O_CREAT:
            os.fchmod(handle, _FOR_ALL)
        if _is_own_file(os.fstat(handle)):
            return handle
        os.close(handle)
        found = "is no file, or has another name as well"
        break
    raise InputError(Problem(str(path), found, "keeps laboratories apart", "remove it"))


_NEW = os.O_CREAT | os.O_EXCL


def _is_own_file(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) and status.st_nlink == 1


def _holder(handle: int) -> str:
    """What the file says about its holder; anybody may have written it."""
    return last_lines(os.pread(handle, _MOST_BYTES, 0).decode(errors="replace")) or "unknown"


@contextmanager
def ending_in_order() -> Iterator[None]:
    """In here, a request to end (SIGTERM) and a closed terminal (SIGHUP) are like Ctrl-C, unless they are ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heeded = [number for number in _SIGNALS if signal.getsignal(number) == signal.SIG_DFL]
    for number in heeded:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in heeded:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, frame: object) -> NoReturn:
    del number, frame
    raise KeyboardInterrupt
