"""What other packages bring by entry points: each thing checked, and a broken one told of as a problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from typing import TypeVar

from joulewise.errors import Problem

T = TypeVar("T")
_ADVICE = "fix the package, or remove it"


def loaded(point: EntryPoint, noun: str, wanted: type[T], flaws: Callable[[T], Iterator[str]]) -> T | Problem:
    """What an entry point gives, or why that cannot be used: it raises, is not what is wanted, or has flaws."""
    where = f"{noun} {point.name!r} of the package {point.dist.name if point.dist else point.module!r}"
    try:
        found = point.load()
        if not isinstance(found, wanted):
            allowed = f"must be a {wanted.__name__}"
            return Problem(where, f"found {point.value}, a {type(found).__name__}", allowed, _ADVICE)
        flaw = next(flaws(found), None)
    except Exception as error:  # whatever a foreign package raises must not stop the others
        return Problem(where, f"cannot be loaded: {type(error).__name__}: {error}", advice=_ADVICE)
    return found if flaw is None else Problem(where, flaw, advice=_ADVICE)
