"""Users' code that takes too long is interrupted, in whichever thread it runs."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager

TIME_LIMIT_S = 600.0
"""How long a run, or loading a file, may take unless the policy says otherwise."""

_AGAIN_S = 1.0
"""Code that holds off its interruption is interrupted again after so long."""


class TimeUpError(BaseException):
    """A user's code took too long; no `except Exception` of its own catches this."""


@contextmanager
def within(limit_s: float) -> Iterator[threading.Event]:
    """Interrupt what takes longer than a limit, which then ends; the event says afterwards whether it was set."""
    thread, is_late, is_done = threading.get_ident(), threading.Event(), threading.Event()
    watch = threading.Thread(target=_interrupt_late, args=(thread, is_late, is_done, limit_s), daemon=True)
    watch.start()
    try:
        yield is_late
    except TimeUpError:
        pass
    finally:
        _end(watch, thread, is_done)


def _interrupt_late(thread: int, is_late: threading.Event, is_done: threading.Event, limit_s: float) -> None:
    """Raise in a thread, after the limit and again and again, until it is done."""
    while not is_done.wait(limit_s):
        is_late.set()
        _raise_in(thread, TimeUpError)
        limit_s = _AGAIN_S


def _end(watch: threading.Thread, thread: int, is_done: threading.Event) -> None:
    """Stop watching, and take back what was raised but has not arrived."""
    while True:
        try:
            is_done.set()
            watch.join()
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), None)
            return
        except TimeUpError:
            continue


def _raise_in(thread: int, error: type[BaseException]) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))
