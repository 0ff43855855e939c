"""Kernels that are called at every event with the same arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from joulewise.kernels.jit import prepared


def bound(kernel: Callable[..., Any], *arguments: Any, rest: tuple[Any, ...] = ()) -> Callable[..., Any]:
    """A kernel with its first arguments, for calls with others like `rest`."""
    return partial(prepared(kernel, *arguments, *rest), *arguments)
