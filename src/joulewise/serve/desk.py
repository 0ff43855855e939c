"""Where solves happen: a few processes beside the pages, each with limits of time and memory.

A question is a function of a module and what it is given. The same question asked again while it is answered is
answered once; the newest answers are kept.
"""

from __future__ import annotations

import multiprocessing
import pickle
import queue
import resource
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, ParamSpec, TypeVar, cast

from joulewise.errors import InputError, JoulewiseError, Problem
from joulewise.processes import available_cpus, end, follow_parent, for_children, tell_of_compiling
from joulewise.units import duration, size

Given = ParamSpec("Given")
Found = TypeVar("Found")

SECONDS = 20.0
COMPILING_S = 300.0
"""So long may compiling take, once on a machine, beside the seconds of a question."""
MEMORY_BYTES = 2e9
MOST_WORKERS = 4
MOST_WAITING = 64
"""So many questions may wait; more are refused, so that answers do not come when nobody waits for them any more."""
MOST_KEPT, MOST_KEPT_BYTES = 512, 64e6
"""So many answers are kept, and so large may they be together: figures of a whole day are."""
_COMPILING, _COMPILED = b"compiling", b"compiled"
_ASK_LESS = "ask for less: fewer tasks, fewer trials, or a smaller change"
_BUSY = "wait a moment, and ask again"


class BusyError(JoulewiseError):
    """There is too much to do."""


@dataclass
class Desk:
    """Workers that answer questions, each for so many seconds and with so many bytes beyond what it starts with.

    Code of a study is run only where the desk `allows_code`.
    """

    allows_code: bool = False
    seconds: float = SECONDS
    memory_bytes: float = MEMORY_BYTES
    n_workers: int = field(default_factory=lambda: min(available_cpus(), MOST_WORKERS))
    _idle: queue.LifoQueue[_Worker] = field(default_factory=queue.LifoQueue, init=False, repr=False)
    _all: list[_Worker] = field(default_factory=list, init=False, repr=False)
    _asked: dict[bytes, Future[Any]] = field(default_factory=dict, init=False, repr=False)
    _kept: OrderedDict[bytes, bytes] = field(default_factory=OrderedDict, init=False, repr=False)
    _n_kept_bytes: int = field(default=0, init=False, repr=False)
    _busy: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        for _ in range(self.n_workers):
            worker = _Worker(self.memory_bytes)
            self._all.append(worker)
            self._idle.put(worker)

    def solve(self, function: Callable[Given, Found], *given: Given.args, **named: Given.kwargs) -> Found:
        """What a function of a module answers in a worker.

        What it raises is raised; InputError where it takes too long or too much memory, BusyError where too many wait.
        """
        question = pickle.dumps((function, given, named))
        with self._busy:
            if question in self._kept:
                self._kept.move_to_end(question)
                return cast(Found, pickle.loads(self._kept[question]))
            answer = self._asked.get(question)
            is_first = answer is None
            if answer is None:
                if len(self._asked) >= MOST_WAITING:
                    raise BusyError("The workbench has too much to solve; " + _BUSY + ".")
                answer = self._asked[question] = Future()
        if is_first:
            self._answer(question, answer)
        return cast(Found, answer.result())

    def ask(self, function: Callable[Given, Found], *given: Given.args, **named: Given.kwargs) -> Found:
        """The same of what depends on more than what is given, such as files: it is answered each time."""
        return cast(Found, self._by_worker(pickle.dumps((function, given, named))))

    def _answer(self, question: bytes, answer: Future[Any]) -> None:
        """Have a worker answer, and keep that."""
        try:
            found = self._by_worker(question)
            self._keep(question, pickle.dumps(found))
            answer.set_result(found)
            self._warm(question)
        except BaseException as error:
            answer.set_exception(error)
        finally:
            with self._busy:
                self._asked.pop(question, None)

    def _warm(self, question: bytes) -> None:
        """Have idle workers that never answered answer this too, so that they have loaded what it takes."""
        idle: list[_Worker] = []
        with suppress(queue.Empty):
            while True:
                idle.append(self._idle.get_nowait())
        for worker in idle:
            if worker.is_new:
                threading.Thread(target=self._warmed, args=(worker, question), daemon=True).start()
            else:
                self._idle.put(worker)

    def _warmed(self, worker: _Worker, question: bytes) -> None:
        try:
            with suppress(Exception):  # who asks it there will hear of it
                worker.ask(question, self.seconds)
        finally:
            self._idle.put(worker)

    def _keep(self, question: bytes, found: bytes) -> None:
        """Keep an answer, and no more than there is room for."""
        with self._busy:
            self._kept[question] = found
            self._n_kept_bytes += len(question) + len(found)
            while len(self._kept) > MOST_KEPT or self._n_kept_bytes > MOST_KEPT_BYTES:
                oldest, left = self._kept.popitem(last=False)
                self._n_kept_bytes -= len(oldest) + len(left)

    def _by_worker(self, question: bytes) -> Any:
        try:
            worker = self._idle.get(timeout=2 * self.seconds)
        except queue.Empty:
            raise BusyError("The workbench has too much to solve; " + _BUSY + ".") from None
        try:
            return worker.ask(question, self.seconds)
        finally:
            self._idle.put(worker)

    def close(self) -> None:
        """End all workers."""
        for worker in self._all:
            worker.stop()


@dataclass
class _Worker:
    """One process that answers one question after the other; it starts with the first, and anew after it was ended."""

    memory_bytes: float
    _process: BaseProcess | None = None
    _line: Connection | None = None

    def ask(self, question: bytes, seconds: float) -> Any:
        """What it answers; InputError where it does not in time, or dies of it."""
        line = self._started()
        try:
            line.send_bytes(question)
            told = _answer_in(line, seconds)
            if told is None:
                self.stop()
                raise _overrun(f"took more than {duration(seconds)} and was ended")
            is_found, answer = pickle.loads(told)
        except (EOFError, OSError):
            self.stop()
            raise _overrun("ended the process that solved it, probably for want of memory") from None
        if not is_found:
            raise answer
        return answer

    @property
    def is_new(self) -> bool:
        """Whether it never answered."""
        return self._process is None

    def _started(self) -> Connection:
        """The line to the process, which is ready for questions; a start does not count as time of a question."""
        if self._process is None or not self._process.is_alive() or self._line is None:
            self.stop()
            ours, theirs = multiprocessing.Pipe()
            with for_children():
                made = multiprocessing.get_context("spawn").Process(
                    target=_work, args=(theirs, self.memory_bytes), daemon=True
                )
                made.start()
            theirs.close()
            self._process, self._line = made, ours
            ours.recv_bytes()
        return self._line

    def stop(self) -> None:
        """End the process, if there is one."""
        if self._line is not None:
            self._line.close()
        if self._process is not None:
            self._process.kill()
            end([self._process])
        self._process = self._line = None


def _answer_in(line: Connection, seconds: float) -> bytes | None:
    """What a worker answers in so many seconds, to which compiling does not count; None where it does not."""
    while True:
        began = time.monotonic()
        if not line.poll(seconds):
            return None
        told = line.recv_bytes()
        if told != _COMPILING:
            return told
        seconds -= time.monotonic() - began
        if not line.poll(COMPILING_S):
            return None
        line.recv_bytes()


def _overrun(found: str) -> InputError:
    return InputError(Problem("what is asked", found, advice=_ASK_LESS))


def _work(line: Connection, memory_bytes: float) -> None:
    """Answer questions until there are no more."""
    follow_parent()
    _limit_memory(memory_bytes)
    line.send_bytes(b"ready")
    tell_of_compiling(lambda begins: line.send_bytes(_COMPILING if begins else _COMPILED))
    with suppress(EOFError, OSError):
        while True:
            line.send_bytes(_told(line.recv_bytes(), memory_bytes))


def _limit_memory(memory_bytes: float) -> None:
    """Limit what this process may allocate, beyond what it has."""
    with suppress(OSError, ValueError):
        used = _data_bytes() + int(memory_bytes)
        resource.setrlimit(resource.RLIMIT_DATA, (used, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def _data_bytes() -> int:
    with open("/proc/self/status") as told:
        return next(int(line.split()[1]) * 1024 for line in told if line.startswith("VmData"))


def _told(question: bytes, memory_bytes: float) -> bytes:
    """Whether something was found, and that or what was raised."""
    try:
        function, given, named = pickle.loads(question)
        return pickle.dumps((True, function(*given, **named)))
    except MemoryError:
        return pickle.dumps((False, _overrun(f"needs more than {size(memory_bytes)} of memory")))
    except JoulewiseError as error:
        return pickle.dumps((False, error))
    except Exception as error:
        return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
