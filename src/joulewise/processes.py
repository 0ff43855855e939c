"""Processes that work for this one: started by spawn, ended with their parent, deaf to Ctrl-C."""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType

HEED_S = 0.5
"""How often waiting for a process looks up: libraries may keep a Ctrl-C from ending a wait without a limit."""

ONE_THREAD = {"POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Each process is one thread: the processes are the parallelism."""

_MEMORY_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Where the system says how much memory is ours."""

_STARTING = threading.Lock()
_TOLD_OF_COMPILING: list[Callable[[bool], object]] = []
_REQUESTS_TO_END = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def available_cpus() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory_limit() -> float:
    """How many bytes of memory all processes here may use together: those of the machine, or of its share of them."""
    limits = [float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))]
    for path in _MEMORY_LIMITS:
        with suppress(OSError, ValueError):  # "max" is no limit
            limits.append(float(path.read_text()))
    return min(limits)


def give_back_memory() -> None:
    """Hand memory that nothing in this process uses back to the system, where the C library can be asked to."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Look for garbage seldom: who compiles or imports makes very many objects that stay, and looking took a tenth."""
    before = gc.get_threshold()
    gc.set_threshold(100_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def tell_of_compiling(told: Callable[[bool], object]) -> None:
    """Have a function called with True whenever this process begins to compile, and with False when that is done."""
    _TOLD_OF_COMPILING.append(told)


@contextmanager
def compiling() -> Iterator[None]:
    """In here, something is compiled, which takes its time once and for all."""
    for told in _TOLD_OF_COMPILING:
        told(True)
    try:
        yield
    finally:
        for told in _TOLD_OF_COMPILING:
            told(False)


def follow_parent() -> None:
    """In a worker: leave Ctrl-C to the parent, and end when the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def undisturbed() -> Iterator[None]:
    """In here, a request to end waits for the end of the block: for what must not be left half done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []
    before = {number: signal.signal(number, lambda told_by, _: waiting.append(told_by)) for number in _REQUESTS_TO_END}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
        for told_by in waiting:
            signal.raise_signal(told_by)


@contextmanager
def for_children() -> Iterator[list[BaseProcess]]:
    """Start processes in here: they inherit one thread each, and a Ctrl-C that only the parent hears.

    Workers need nothing of the program that started them, so it is not passed to them: a script would otherwise
    be run again in each of them, unless it keeps its calls under `if __name__ == "__main__"`. The processes that were
    started are in the list afterwards. One thread at a time starts processes, and a Ctrl-C waits until it has.
    """
    with undisturbed(), _STARTING:
        before, started = set(multiprocessing.active_children()), list[BaseProcess]()
        saved = {name: os.environ.get(name) for name in ONE_THREAD}
        os.environ.update(ONE_THREAD)
        program = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield started
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            sys.modules["__main__"] = program
            for name, value in saved.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})
            started.extend(child for child in multiprocessing.active_children() if child not in before)


def end(children: Iterable[BaseProcess]) -> None:
    """End processes, and wait until they are gone; a Ctrl-C meanwhile waits as well."""
    ended = list(children)
    with undisturbed():
        for child in ended:
            child.terminate()
        for child in ended:
            while child.is_alive():  # a pool's thread may be waiting for it too, and be first to learn of its end
                child.join(HEED_S)
