"""What a desk is asked in tests, in a module that a worker imports at once."""

from __future__ import annotations

import time

from joulewise.errors import InputError, Problem
from joulewise.processes import compiling


def refuse() -> None:
    raise InputError(Problem("cap", "found -1"))


def fail() -> None:
    raise ValueError("a fault")


def compile_for(seconds: float, then: float = 0.0) -> str:
    """Compile as long, and go on for a while."""
    with compiling():
        time.sleep(seconds)
    time.sleep(then)
    return "compiled"
