"""The keeper of one program: a small process that starts it, times it, and leaves nothing of it behind.

It runs as a script of its own, without the package: `python -I -S keeper.py CONTROL REPORT`, two file descriptors. On
CONTROL comes the job, a line of JSON, and then a byte for each start. When CONTROL closes, which is what happens when
the laboratory ends in whatever way, all processes of the program are ended and then the keeper. On REPORT go lines of
JSON: "ready" (pinned, waiting for its start), "started", "begun", "ended", and at last "stopped".

A program that waits (see bench.MeasuredProgram) says "waits" after its set-up and whenever its work is done, which is
also its "ended"; another byte on CONTROL lets it work, so that it is started again without another set-up.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import math
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TypedDict

GRACE_S = 0.5
"""How long processes that are asked to end may take before they are made to."""

AGAIN_S = 0.05
"""How often processes that fork while they are being killed are looked for again."""

TAIL_BYTES = 4096
"""How much of the last output is kept."""

_SUBREAPER, _DEATH_SIGNAL = 36, 1  # of prctl
_NOT_STARTED = 127
_BEGIN, _GO = 3, 4
"""Where a program says that it begins, and is told to work; a shell can use numbers of one digit only."""

_LET_GO = b"\n"
_CLOCK_OF_ALL_THREADS = 2

_CHUNK_BYTES = 65536
_READY = b"r"


class KeptJob(TypedDict):
    """What is to be run, and where."""

    command: list[str]
    folder: str
    environment: dict[str, str]
    cores: list[int]
    waits: bool


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _read_all(descriptor: int) -> bytes:
    """What can be read without waiting."""
    parts = []
    with suppress(BlockingIOError):
        while part := os.read(descriptor, _CHUNK_BYTES):
            parts.append(part)
    return b"".join(parts)


def _pipe() -> tuple[int, int]:
    """A pipe whose reading end does not wait."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    return reading, writing


def _parents() -> dict[int, tuple[int, int]]:
    """Every process of the machine with its parent and its group."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
            _, parent, group = file.read().rpartition(b")")[2].split()[:3]
            parents[int(name)] = (int(parent), int(group))
    return parents


def _descendants() -> Iterator[tuple[int, int]]:
    """Every process below this one, and its group."""
    parents, above = _parents(), {os.getpid()}
    while below := {pid for pid, (parent, _) in parents.items() if parent in above}:
        yield from ((pid, parents[pid][1]) for pid in below)
        above = below


def _signal_all(number: int) -> None:
    """Send a signal to all below, group by group, so that none forks away meanwhile."""
    ours = os.getpgid(0)
    below = list(_descendants())
    for group in {group for _, group in below} - {ours}:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
    for pid in (pid for pid, group in below if group == ours):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _cpu_s_of_running() -> float:
    """Processor time so far of all processes below this one."""
    total_s = 0.0
    for pid, _ in _descendants():
        with suppress(OSError):
            total_s += time.clock_gettime(~pid << 3 | _CLOCK_OF_ALL_THREADS)
    return total_s


class _Start:
    """A process that is pinned and waits at its gate to become the program; `n_works` counts when it was let work."""

    def __init__(self, job: KeptJob, output: int) -> None:
        gate, self._gate = os.pipe()
        go, self._go = os.pipe()
        self._words, words = os.pipe()
        self.begin, begin = _pipe()
        self.n_works = 0
        self.pid = os.fork()
        if self.pid == 0:
            _become(job, gate, words, begin, go, output)
        for descriptor in (gate, words, begin, go):
            os.close(descriptor)
        self._said = os.read(self._words, 1)

    def release(self) -> None:
        """Let it become the program."""
        with suppress(BrokenPipeError):
            os.write(self._gate, _LET_GO)

    def let_work(self) -> None:
        """Let the program, which waits, do its work."""
        self.n_works += 1
        with suppress(BrokenPipeError):
            os.write(self._go, _LET_GO)

    def close(self) -> str:
        """Why it did not become the program, if it did not."""
        os.set_blocking(self._words, False)
        words = (self._said + _read_all(self._words)).removeprefix(_READY)
        for descriptor in (self._gate, self._go, self._words, self.begin):
            os.close(descriptor)
        return words.decode(errors="replace")


def _become(job: KeptJob, gate: int, words: int, begin: int, go: int, output: int) -> None:
    """In the new process: settle, wait to be let go, and become the program. Never returns."""
    try:
        _settle(job, output)
        os.write(words, _READY)
        if os.read(gate, 1):
            words, begin, go = (fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, _GO + 1) for one in (words, begin, go))
            os.dup2(begin, _BEGIN)
            os.dup2(go, _GO, inheritable=job["waits"])
            pipes = {"JOULEWISE_BEGIN": str(_BEGIN), **({"JOULEWISE_GO": str(_GO)} if job["waits"] else {})}
            os.execvpe(job["command"][0], job["command"], {**os.environ, **job["environment"], **pipes})
    except (OSError, ValueError) as error:
        os.write(words, str(error).encode(errors="replace"))
    finally:
        os._exit(_NOT_STARTED)


def _settle(job: KeptJob, output: int) -> None:
    """A session of its own, its cores, its folder, its output."""
    os.setsid()
    _prctl(_DEATH_SIGNAL, signal.SIGKILL)
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    os.sched_setaffinity(0, job["cores"])
    os.chdir(job["folder"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)


class _Keeper:
    """Starts the program as often as it is told to; `cpu_s` is the time of all processes of the latest start."""

    def __init__(self, control: int, report: int) -> None:
        self._control, self._report = control, report
        self._output, self._mouth = _pipe()
        self._woken, wake = _pipe()
        os.set_blocking(wake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self._status: dict[int, int] = {}
        self._ended_s = self._cpu_s = 0.0
        self._tail = b""

    def serve(self) -> None:
        """Until CONTROL closes."""
        job: KeptJob = json.loads(self._next_line())
        while True:
            start = _Start(job, self._mouth)
            self._tell("ready", pid=start.pid)
            if not os.read(self._control, 1):
                return
            if not self._keep(start, waits=job["waits"]):
                return

    def stop(self) -> None:
        """End all that is left, and say so."""
        self._clear()
        self._tell("stopped", tail=self._last_words())

    def _next_line(self) -> bytes:
        line = b""
        while not line.endswith(b"\n"):
            part = os.read(self._control, _CHUNK_BYTES)
            if not part:
                raise SystemExit
            line += part
        return line

    def _tell(self, event: str, at_s: float | None = None, **more: object) -> None:
        line = {"event": event, "at_s": time.monotonic() if at_s is None else at_s, **more}
        text = json.dumps(line).encode() + b"\n"
        while text:
            text = text[os.write(self._report, text) :]

    def _keep(self, start: _Start, *, waits: bool) -> bool:
        """One run from its release to its end; whether another may follow."""
        self._status, self._cpu_s, self._tail = {}, 0.0, b""
        now_s = time.monotonic()
        start.release()
        self._tell("started", now_s)
        if not self._wait_for_end(start, self._hear_waiting if waits else self._hear_begin):
            return False
        n_left = self._n_left()
        self._clear()
        code = os.waitstatus_to_exitcode(self._status[start.pid])
        self._tell("ended", self._ended_s, code=code, cpu_s=self._cpu_s, failure=start.close(),
                   tail=self._last_words(), n_left=n_left)  # fmt: skip
        return True

    def _n_left(self) -> int:
        """How many processes of the program are still there after its end."""
        return len(list(_descendants())) if self._reap() else 0

    def _wait_for_end(self, start: _Start, hear: Callable[[_Start], bool]) -> bool:
        """Listen until the program has ended; False when CONTROL closed before."""
        poll = select.poll()
        for descriptor in (self._control, self._output, self._woken, start.begin):
            poll.register(descriptor, select.POLLIN)
        while start.pid not in self._status:
            for descriptor, _ in poll.poll():
                if descriptor == self._control and not self._hear_control(start):
                    return False
                if descriptor == start.begin and not hear(start):
                    poll.unregister(descriptor)
            self._drain()
            self._reap(start.pid)
        return True

    def _hear_control(self, start: _Start) -> bool:
        """The program is to work; False when CONTROL closed."""
        if not os.read(self._control, 1):
            return False
        now_s = time.monotonic()
        start.let_work()
        self._tell("begun", now_s)
        return True

    def _hear_begin(self, start: _Start) -> bool:
        """The program says that it begins, or has closed what it could say it with; nothing more is heard of it."""
        now_s = time.monotonic()
        if os.read(start.begin, 1):
            self._tell("begun", now_s)
        return False

    def _hear_waiting(self, start: _Start) -> bool:
        """The program says that it waits for its work, or for more of it; False when it can say no more."""
        now_s = time.monotonic()
        if not os.read(start.begin, 1):
            return False
        if start.n_works:
            cpu_s = self._cpu_s + _cpu_s_of_running() if start.n_works == 1 else math.nan  # looking takes time
            self._tell("ended", now_s, code=0, cpu_s=cpu_s, failure="", tail=self._last_words(), n_left=0)
        self._tell("waits", now_s)
        return True

    def _drain(self) -> None:
        """Take what was printed, so that a program that prints much does not wait, and keep the end of it."""
        with suppress(BlockingIOError):
            self._tail = (self._tail + os.read(self._output, _CHUNK_BYTES)[-TAIL_BYTES:])[-TAIL_BYTES:]

    def _last_words(self) -> str:
        self._tail = (self._tail + _read_all(self._output))[-TAIL_BYTES:]
        return self._tail.decode(errors="replace")

    def _reap(self, main: int = 0) -> bool:
        """Collect processes that have ended; whether any is left."""
        with suppress(BlockingIOError):
            os.read(self._woken, 4096)
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            self._cpu_s += usage.ru_utime + usage.ru_stime
            self._status[pid] = status
            if pid == main:
                self._ended_s = time.monotonic()

    def _clear(self) -> None:
        """End all processes of the program: they are asked to first, and then made to."""
        number, wait_s = signal.SIGTERM, GRACE_S
        while self._reap():
            _signal_all(number)
            self._wait_for_none(time.monotonic() + wait_s)
            number, wait_s = signal.SIGKILL, AGAIN_S

    def _wait_for_none(self, until_s: float) -> None:
        poll = select.poll()
        poll.register(self._output, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        while self._reap() and (left_s := until_s - time.monotonic()) > 0:
            poll.poll(1000 * left_s)
            self._drain()


def _leave(*_: object) -> None:
    raise SystemExit


def main(control: int, report: int) -> None:
    """Serve, and leave nothing behind."""
    for descriptor in (control, report):
        os.set_inheritable(descriptor, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGHUP, _leave)
    _prctl(_SUBREAPER, 1)
    keeper = _Keeper(control, report)
    try:
        keeper.serve()
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with suppress(BrokenPipeError):
            keeper.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
