"""The press: a process that draws figures for this one, since what draws them (V8) may end the process it is in.

This file is its program as well. The first figure starts it, it stays for the next ones, and it ends with its parent.
"""

from __future__ import annotations

import atexit
import pickle
import resource
import signal
import subprocess
import sys
from contextlib import suppress
from functools import cache
from select import select
from threading import Lock
from typing import Any

from joulewise.errors import InputError, Problem
from joulewise.processes import HEED_S
from joulewise.units import size

_BUSY = Lock()


def pressed(function: str, *given: object, **options: object) -> Any:
    """What a function of vl-convert answers, or raises; InputError where it ends the press instead."""
    with _BUSY:
        process = _press()
        questions, answers = process.stdin, process.stdout
        assert questions is not None
        assert answers is not None
        try:
            pickle.dump((function, given, options), questions)
            questions.flush()
            while not select([answers], [], [], HEED_S)[0]:
                pass
            answer = pickle.load(answers)
        except (OSError, EOFError, pickle.UnpicklingError):
            raise InputError(_end_of_the_press(process.wait())) from None
        except BaseException:  # a Ctrl-C: its answer would be taken for that of the next question
            _stop()
            raise
    if isinstance(answer, Exception):
        raise answer
    return answer


def _press() -> subprocess.Popen[bytes]:
    """The press at work; a new one where it has ended."""
    if _started().poll() is not None:
        _stop()
    return _started()


@cache
def _started() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", __file__]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


@atexit.register
def _stop() -> None:
    """End the press, if there is one; the next figure starts another."""
    if _started.cache_info().currsize:
        with suppress(BrokenPipeError), _started() as process:
            process.kill()
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


def _serve() -> None:
    """Answer questions until there are no more; a Ctrl-C is the parent's business."""
    import vl_convert

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            function, given, options = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = getattr(vl_convert, function)(*given, **options)
        except Exception as error:  # whatever it is, the parent raises it
            answer = error
        pickle.dump(answer, sys.stdout.buffer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    _serve()
