"""Random numbers inside kernels: splitmix64, whose whole state is one number that the caller passes.

S. Vigna's public-domain generator; G. L. Steele, D. Lea, C. H. Flood: "Fast splittable pseudorandom number
generators", OOPSLA 2014.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined

_GAMMA, _FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31, _32, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32), np.uint64(11)
_LOW = np.uint64(0xFFFFFFFF)
_UNIT = 1.0 / 2.0**53


def draws_of(generator: np.random.Generator) -> NDArray[np.uint64]:
    """The state of a stream of draws, from a generator."""
    return generator.integers(0, 2**64, 1, np.uint64)


@inlined
def draw(state):
    """The next 64 random bits."""
    state[0] += _GAMMA
    bits = state[0]
    bits = (bits ^ (bits >> _30)) * _FIRST
    bits = (bits ^ (bits >> _27)) * _SECOND
    return bits ^ (bits >> _31)


@inlined
def high_below(bits, n):
    """A whole number from 0 to n - 1, from the upper half of random bits."""
    return np.int64(((bits >> _32) * np.uint64(n)) >> _32)


@inlined
def low_below(bits, n):
    """A whole number from 0 to n - 1, from the lower half of random bits."""
    return np.int64(((bits & _LOW) * np.uint64(n)) >> _32)


@inlined
def share_of(bits):
    """A number from 0 up to, but never, 1."""
    return np.float64(bits >> _11) * _UNIT
