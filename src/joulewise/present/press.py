"""The press: a process that draws figures for this one, since what draws them (V8) may end the process it is in.

This file is its program as well. The first figure starts it, it stays for the next ones, and it ends with its parent.
"""

from __future__ import annotations

import atexit
import resource
import signal
import sys
from contextlib import suppress
from functools import cache
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from subprocess import DEVNULL, Popen
from threading import Lock
from typing import Any

from joulewise.errors import InputError, Problem
from joulewise.processes import HEED_S
from joulewise.units import size

Press = tuple[Popen[bytes], Connection]
"""The process, and the line to it."""

_BUSY = Lock()


def pressed(function: str, *given: object, **options: object) -> Any:
    """What a function of vl-convert answers, or raises; InputError where it ends the press instead."""
    with _BUSY:
        process, line = _press()
        try:
            line.send((function, given, options))
            while not line.poll(HEED_S):
                pass
            answer = line.recv()
        except (OSError, EOFError):
            raise InputError(_end_of_the_press(process.wait())) from None
        except BaseException:  # a Ctrl-C: its answer would be taken for that of the next question
            _stop()
            raise
    if isinstance(answer, Exception):
        raise answer
    return answer


def _press() -> Press:
    """The press at work; a new one where it has ended."""
    if _started()[0].poll() is not None:
        _stop()
    return _started()


@cache
def _started() -> Press:
    ours, theirs = Pipe()
    with theirs:
        end = theirs.fileno()
        process = Popen(
            [sys.executable, "-P", __file__, str(end)], stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, pass_fds=[end]
        )
    return process, ours


@atexit.register
def _stop() -> None:
    """End the press, if there is one; the next figure starts another."""
    if _started.cache_info().currsize:
        process, line = _started()
        process.kill()
        process.wait()
        line.close()
        _started.cache_clear()


def _end_of_the_press(status: int) -> Problem:
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        found = f"cannot be drawn: what draws them ended ({f'signal {-status}' if status < 0 else f'status {status}'})"
        advice = "look whether memory is short, and whether the results are whole: `joulewise verify FOLDER`"
        return Problem("figures", found, "results are read and told without them", advice)
    found = f"cannot be drawn: `ulimit -v` leaves a process {size(limit)} of address space"
    advice = "raise it (`ulimit -v unlimited`) and write the report alone: `joulewise report FOLDER`"
    return Problem("figures", found, "what draws them reserves more than 64 GB, and uses little", advice)


def _serve(line: Connection) -> None:
    """Answer questions until there are no more; a Ctrl-C is the parent's business."""
    import vl_convert

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError):
        while True:
            function, given, options = line.recv()
            try:
                answer = getattr(vl_convert, function)(*given, **options)
            except Exception as error:  # whatever it is, the parent raises it
                answer = error
            line.send(answer)


if __name__ == "__main__":
    _serve(Connection(int(sys.argv[1])))
