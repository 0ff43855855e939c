"""Ctrl-C: the first one ends a command, more of them change nothing, and the end comes soon."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from joulewise.cli.codes import INTERRUPTED

GRACE_S = 1.5
"""How long an interrupted command may take to end in order."""

_last_words: list[Callable[[], str]] = []


@contextmanager
def ending_soon() -> Iterator[None]:
    """In here the first Ctrl-C raises KeyboardInterrupt, and what is not over soon after it is ended with all children.

    Further ones are ignored: each could hit what clears up after the first. Where Ctrl-C is not Python's own to handle,
    all stays as it is.
    """
    is_ours = threading.current_thread() is threading.main_thread()
    if not is_ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    told, telling = os.pipe()
    os.set_blocking(telling, False)
    before = signal.set_wakeup_fd(telling, warn_on_full_buffer=False)  # told at once, even while a kernel runs
    threading.Thread(target=_watch, args=(told,), daemon=True).start()
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is not _interrupt:
            _end_in_order()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.set_wakeup_fd(before)
        os.close(telling)


def take_time() -> None:
    """From here on a command ends when it is done with that: a laboratory puts its machine back as it was."""
    if threading.current_thread() is threading.main_thread():
        signal.set_wakeup_fd(-1)


@contextmanager
def last_words(words: Callable[[], str]) -> Iterator[None]:
    """In here, this is what is said, once, after Ctrl-C."""
    _last_words.append(words)
    try:
        yield
    except KeyboardInterrupt:
        _say_last_words()
        raise
    finally:
        _last_words.clear()


def _say_last_words() -> None:
    with suppress(IndexError, OSError, ValueError):
        print(_last_words.pop()(), file=sys.stderr, flush=True)


def _interrupt(number: int, frame: object) -> NoReturn:
    del frame
    signal.signal(number, signal.SIG_IGN)
    sys.unraisablehook = _unless_interrupted
    raise KeyboardInterrupt


def _unless_interrupted(lost: Any) -> None:
    """Tell of an error that nobody could catch, unless it is the Ctrl-C itself, which hit the end of an object."""
    if lost.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(lost)


def _watch(told: int) -> None:
    """Wait for a Ctrl-C, and then for the end; without the one, return when nobody can tell any more."""
    while signals := os.read(told, 1):
        if signals[0] == signal.SIGINT:
            time.sleep(GRACE_S)
            _end_now()
    os.close(told)


def _end_in_order() -> NoReturn:
    """End without Python's own way out, which waits for threads and looks at every object once more."""
    with suppress(AttributeError, OSError, ValueError):  # closed, full, or nobody reads it
        sys.stdout.flush()
    _kill_children()
    atexit._run_exitfuncs()
    os._exit(INTERRUPTED)


def _end_now() -> NoReturn:
    _kill_children()
    _say_last_words()
    os._exit(INTERRUPTED)


def _kill_children() -> None:
    for child in multiprocessing.active_children():
        child.kill()
