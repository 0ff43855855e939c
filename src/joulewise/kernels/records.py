"""Named tuples that kernels take by their address.

A function of ten named tuples would have a thousand arguments, copied at each call, which takes the compiler minutes.
A record is written once where Python calls a kernel; inside, one pointer goes around, and a field is read where it is
used. Its fields never change (what arrays hold may). A switch of a record is known when a kernel is compiled: one
kernel has code for what it switches on, another has none. It is True or None, for Numba chooses kernels by types, not
by values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from joulewise.kernels.compiler import take_by_address

_T = TypeVar("_T", bound=type[NamedTuple])


def record(named_tuple: _T) -> _T:
    """Let kernels take this class of named tuples by address."""
    return switched()(named_tuple)


def switched(*switches: str) -> Callable[[_T], _T]:
    """Let kernels take this class of named tuples by address; each value of these switches has kernels of its own."""

    def marked(named_tuple: _T) -> _T:
        take_by_address(named_tuple, switches)
        return named_tuple

    return marked
