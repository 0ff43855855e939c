"""The command `joulewise`: one module per verb, and the only room that prints."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from joulewise.errors import InputError

OUR_FAULT, USERS_MISTAKE, SOME_RUNS_FAILED, INTERRUPTED = 1, 2, 3, 130
"""Exit codes besides 0: a fault of ours or a bar missed, wrong input, runs without result, Ctrl-C."""

_DEBUG = "JOULEWISE_DEBUG"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code; a user's mistake gives a message, never a traceback."""
    from joulewise.cli.app import app
    from joulewise.errors import InputError

    try:
        app(args=None if arguments is None else list(arguments), prog_name="joulewise")
    except InputError as error:
        _show_problems(error)
        sys.exit(USERS_MISTAKE)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:
        if os.environ.get(_DEBUG):
            raise
        print(f"joulewise: {type(error).__name__}: {error}", file=sys.stderr)
        print(f"This is a fault of Joulewise; {_DEBUG}=1 shows where it happened.", file=sys.stderr)
        sys.exit(OUR_FAULT)


def _show_problems(error: InputError) -> None:
    from joulewise.units import count

    print(f"joulewise: {count(len(error.problems), 'problem')}", file=sys.stderr)
    for problem in error.problems:
        print(f"  {problem.where}: {problem.found}", file=sys.stderr)
        for line in (problem.allowed, problem.advice):
            if line:
                print(f"      {line}", file=sys.stderr)
