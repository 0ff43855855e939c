"""Steps of a kernel that each class of records takes in its own way.

A kernel that several engines share names its steps; an engine says with `way_of` how it takes one. Numba chooses by
the type of the first argument when it compiles: every engine has a kernel of its own, without a branch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba.extending import overload

from joulewise.kernels.jit import INLINED

_F = TypeVar("_F", bound=Callable[..., Any])
_WAYS: dict[tuple[Any, Any], Any] = {}
_OPTIONS: Any = INLINED


def step(stub: _F) -> _F:
    """Let kernels call a function whose body is chosen by the class of the record that it is given first."""

    @overload(stub, jit_options=_OPTIONS, strict=False)
    def choose(engine: Any, *_others: Any) -> Any:
        return _WAYS.get((stub, getattr(engine, "named_tuple", None)))

    return stub


def way_of(stub: Callable[..., Any], named_tuple: type) -> Callable[[_F], _F]:
    """Mark a function as the way in which records of a class take a step."""

    def note(function: _F) -> _F:
        _WAYS[stub, named_tuple] = function
        return function

    return note
