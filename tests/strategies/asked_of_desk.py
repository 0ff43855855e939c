"""What a desk is asked in tests, in a module that a worker imports at once."""

from __future__ import annotations

from joulewise.errors import InputError, Problem


def refuse() -> None:
    raise InputError(Problem("cap", "found -1"))


def fail() -> None:
    raise ValueError("a fault")
