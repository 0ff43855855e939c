"""The command `joulewise`: one module per verb, and the only room that prints."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from joulewise.cli.codes import INTERRUPTED, OUR_FAULT, USERS_MISTAKE

if TYPE_CHECKING:
    from joulewise.errors import InputError, Problem

_DEBUG = "JOULEWISE_DEBUG"
_NO_PLUGINS = "PYDANTIC_DISABLE_PLUGINS"
"""Pydantic would look for plugins of its own in all packages that are installed, each time."""

_ROOM, _ELSEWHERE = "make room, or write to another disk", "choose another folder, or have its permissions changed"
_IN_PLACE = "remove what stands in its place"
_REFUSALS = {
    errno.ENOSPC: ("written", _ROOM), errno.EDQUOT: ("written", _ROOM), errno.EFBIG: ("written", _ROOM),
    errno.EROFS: ("written", _ELSEWHERE), errno.EACCES: ("read or written", _ELSEWHERE),
    errno.EPERM: ("read or written", _ELSEWHERE), errno.EIO: ("read or written", "the disk may be broken"),
    errno.EISDIR: ("written", _IN_PLACE), errno.ENOTDIR: ("written", _IN_PLACE), errno.EEXIST: ("written", _IN_PLACE),
}  # fmt: skip
"""What cannot be done with a file that the system refuses us, and what would help."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code; a user's mistake gives a message, never a traceback."""
    from joulewise.cli.interrupts import ending_soon
    from joulewise.cli.streams import prepare_streams

    prepare_streams()
    with ending_soon():
        _call(arguments)


def _call(arguments: Sequence[str] | None) -> None:
    from joulewise.errors import InputError, printable

    os.environ.setdefault(_NO_PLUGINS, "__all__")
    try:
        from joulewise.cli.app import called

        words = sys.argv[1:] if arguments is None else list(arguments)
        called(words)(args=words, prog_name="joulewise")
    except InputError as error:
        _show_problems(error)
        sys.exit(USERS_MISTAKE)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:
        if os.environ.get(_DEBUG):
            raise
        refused = refusal(error)
        if refused:
            _give_up_lost_output()
            _show_problems(InputError(refused))
            sys.exit(USERS_MISTAKE)
        print(f"joulewise: {type(error).__name__}: {printable(str(error))}", file=sys.stderr)
        print(f"This is a fault of Joulewise; {_DEBUG}=1 shows where it happened.", file=sys.stderr)
        sys.exit(OUR_FAULT)


def refusal(error: BaseException) -> Problem | None:
    """What the system did not let us read or write, where that is what went wrong."""
    from joulewise.errors import Problem
    from joulewise.files import refusal_code

    if (code := refusal_code(error)) not in _REFUSALS:
        return None
    verb, advice = _REFUSALS[code]
    return Problem(
        str(getattr(error, "filename", None) or "output"), f"cannot be {verb}: {os.strerror(code)}", advice=advice
    )


def _give_up_lost_output() -> None:
    """Where standard output takes nothing more, keep Python from trying again at exit, which would change our code."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_problems(error: InputError) -> None:
    from joulewise.units import count

    print(f"joulewise: {count(len(error.problems), 'problem')}", file=sys.stderr)
    for problem in error.problems:
        print(f"  {problem.where}: {problem.found}", file=sys.stderr)
        for line in (problem.allowed, problem.advice):
            if line:
                print(f"      {line}", file=sys.stderr)
