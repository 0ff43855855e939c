"""The slow twin of random numbers inside kernels: splitmix64 with Python's whole numbers."""

from __future__ import annotations

_WORD = 2**64


class Draws:
    """A stream of draws from a state."""

    def __init__(self, state: int) -> None:
        self.state = state

    def bits(self) -> int:
        """The next 64 random bits."""
        self.state = (self.state + 0x9E3779B97F4A7C15) % _WORD
        bits = self.state
        bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 % _WORD
        bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB % _WORD
        return bits ^ (bits >> 31)

    def share(self) -> float:
        """A number from 0 up to, but never, 1."""
        return float(self.bits() >> 11) / 2**53


def high(bits: int, n: int) -> int:
    """A whole number below n from the upper half of random bits."""
    return (bits >> 32) * n >> 32


def low(bits: int, n: int) -> int:
    """A whole number below n from the lower half of random bits."""
    return bits % 2**32 * n >> 32
