"""The keeper of one program: a small process that starts it, times it, and leaves nothing of it behind.

It runs as a script of its own, without the package: `python -I -S keeper.py CONTROL REPORT`, two file descriptors. On
CONTROL comes the job, a line of JSON, and then a byte for each start. When CONTROL closes, which is what happens when
the laboratory ends in whatever way, all processes of the program are ended and then the keeper. On REPORT go lines of
JSON: "ready" (pinned, waiting for its start), "started", "begun", "ended", and at last "stopped".
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
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
_BEGIN = 3
"""Where a program says that it begins; a shell can write to numbers of one digit only."""

_CHUNK_BYTES = 65536
_READY = b"r"


class Job(TypedDict):
    """What is to be run, and where."""

    command: list[str]
    folder: str
    environment: dict[str, str]
    cores: list[int]


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
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
            _, parent, group = file.read().rpartition(b")")[2].split()[:3]
            found[int(name)] = (int(parent), int(group))
    return found


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


class _Start:
    """A process that is pinned and waits at its gate to become the program."""

    def __init__(self, job: Job, output: int) -> None:
        gate, self._gate = os.pipe()
        self._words, words = os.pipe()
        self.begin, begin = _pipe()
        self.pid = os.fork()
        if self.pid == 0:
            _become(job, gate, words, begin, output)
        for descriptor in (gate, words, begin):
            os.close(descriptor)
        self._said = os.read(self._words, 1)

    def release(self) -> None:
        """Let it go."""
        with suppress(BrokenPipeError):
            os.write(self._gate, b"g")

    def close(self) -> str:
        """Why it did not become the program, if it did not."""
        os.set_blocking(self._words, False)
        words = (self._said + _read_all(self._words)).removeprefix(_READY)
        for descriptor in (self._gate, self._words, self.begin):
            os.close(descriptor)
        return words.decode(errors="replace")


def _become(job: Job, gate: int, words: int, begin: int, output: int) -> None:
    """In the new process: settle, wait to be let go, and become the program. Never returns."""
    try:
        _settle(job, output)
        os.write(words, _READY)
        if os.read(gate, 1):
            words = fcntl.fcntl(words, fcntl.F_DUPFD_CLOEXEC, _BEGIN + 1)
            os.dup2(begin, _BEGIN)
            os.set_inheritable(_BEGIN, True)
            environment = {**os.environ, **job["environment"], "JOULEWISE_BEGIN": str(_BEGIN)}
            os.execvpe(job["command"][0], job["command"], environment)
    except (OSError, ValueError) as error:
        os.write(words, str(error).encode(errors="replace"))
    finally:
        os._exit(_NOT_STARTED)


def _settle(job: Job, output: int) -> None:
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
        job: Job = json.loads(self._next_line())
        while True:
            start = _Start(job, self._mouth)
            self._tell("ready", pid=start.pid)
            if not os.read(self._control, 1):
                return
            if not self._keep(start):
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

    def _keep(self, start: _Start) -> bool:
        """One run from its release to its end; whether another may follow."""
        self._status, self._cpu_s, self._tail = {}, 0.0, b""
        start.release()
        self._tell("started")
        if not self._wait_for_end(start):
            return False
        self._clear()
        code = os.waitstatus_to_exitcode(self._status[start.pid])
        self._tell("ended", self._ended_s, code=code, cpu_s=self._cpu_s, failure=start.close(), tail=self._last_words())
        return True

    def _wait_for_end(self, start: _Start) -> bool:
        """Listen until the program has ended; False when CONTROL closed before."""
        poll = select.poll()
        for descriptor in (self._control, self._output, self._woken, start.begin):
            poll.register(descriptor, select.POLLIN)
        while start.pid not in self._status:
            for descriptor, _ in poll.poll():
                if descriptor == self._control:
                    return False
                if descriptor == start.begin:
                    poll.unregister(descriptor)
                    self._hear_begin(descriptor)
            self._drain()
            self._reap(start.pid)
        return True

    def _hear_begin(self, begin: int) -> None:
        """The program says that it begins, or has closed what it could say it with."""
        now_s = time.monotonic()
        if os.read(begin, 1):
            self._tell("begun", now_s)

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
