"""The bundled kernels with the arrays that they work on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from joulewise.kernels import bundled
from joulewise.kernels.bundled import LINE


def _triad(n: int) -> tuple[Any, ...]:
    return np.zeros(n // 3), np.linspace(0.0, 1.0, n // 3), np.linspace(1.0, 2.0, n // 3)


def _chase(n: int) -> tuple[Any, ...]:
    """One way through all lines, in random order."""
    lines = np.random.default_rng(1).permutation(n // LINE) * LINE
    next_of = np.zeros(n, np.int64)
    next_of[lines] = np.roll(lines, -1)
    return (next_of,)


def _stencil(n: int) -> tuple[Any, ...]:
    side = int((n / 2) ** 0.5)
    a = np.add.outer(np.linspace(0.0, 1.0, side), np.linspace(0.0, 1.0, side))
    return a, a.copy()


def _black_scholes(n: int) -> tuple[Any, ...]:
    return np.linspace(50.0, 150.0, n // 3), np.linspace(140.0, 60.0, n // 3), np.zeros(n // 3)


def _matmul(n: int) -> tuple[Any, ...]:
    side = int((n / 3) ** 0.5)
    a = np.add.outer(np.linspace(0.0, 1.0, side), np.linspace(0.0, 1.0, side))
    return a, a.copy(), np.zeros_like(a)


def _branchy(n: int) -> tuple[Any, ...]:
    return (np.arange(n, dtype=np.int64),)


KERNELS: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]]]] = {
    "triad": (bundled.triad, _triad),
    "chase": (bundled.chase, _chase),
    "stencil": (bundled.stencil, _stencil),
    "black_scholes": (bundled.black_scholes, _black_scholes),
    "matmul": (bundled.matmul, _matmul),
    "branchy": (bundled.branchy, _branchy),
}
"""The body of each kernel, and the arrays it works on for a number of numbers of eight bytes."""


def prepared(name: str, n_bytes: int) -> Callable[[int], float]:
    """A kernel with its arrays filled and its body compiled; it is called with a number of rounds."""
    body, filled = KERNELS[name]
    arrays = filled(max(n_bytes // 8, 512))
    body(*arrays, 0)
    return lambda rounds: float(body(*arrays, rounds))
