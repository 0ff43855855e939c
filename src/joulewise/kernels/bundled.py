"""The bodies of the bundled programs, from bound by memory to bound by the core.

Each does the same work in every round and gives back a number that depends on all of it, so that none is left out.
"""

from __future__ import annotations

import math

from joulewise.kernels.jit import inlined, kernel

LINE = 8
"""Numbers of eight bytes in a line of a cache."""

STEPS = 4096
"""How many lines a round of `chase` visits, whatever its footprint."""

_ROOT_HALF = math.sqrt(0.5)
_MODULUS_BITS = 0x7FFFFFFF


@kernel
def triad(a, b, c, rounds):
    """a = b + scale * c from end to end, with another scale in every round."""
    total = 0.0
    for turn in range(rounds):
        scale = 1.0 / (1.0 + turn)
        for i in range(len(a)):
            a[i] = b[i] + scale * c[i]
        total += a[turn % len(a)]
    return total


@kernel
def chase(next_of, rounds):
    """Go from line to line, each known only when the one before has been read."""
    at = total = 0
    for _ in range(rounds * STEPS):
        at = next_of[at]
        total += at
    return total


@inlined
def _sweep(a, b):
    """The means of a, into b."""
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            b[i, j] = 0.2 * (a[i, j] + a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


@kernel
def stencil(a, b, rounds):
    """The mean of every inner cell and its four neighbours, from a to b and back again."""
    for _ in range(rounds):
        _sweep(a, b)
        _sweep(b, a)
    return a[len(a) // 2, a.shape[1] // 2]


@kernel
def black_scholes(spot, strike, price, rounds):
    """The price of a call on every share, with a little more time to go in every round."""
    total = 0.0
    rate, volatility = 0.02, 0.3
    for turn in range(rounds):
        years = 0.5 + 1e-6 * (turn % 1000)
        spread = volatility * math.sqrt(years)
        discount = math.exp(-rate * years)
        for i in range(len(spot)):
            near = (math.log(spot[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years) / spread
            likely = 0.5 * math.erfc(-_ROOT_HALF * near)
            paid = 0.5 * math.erfc(-_ROOT_HALF * (near - spread))
            price[i] = spot[i] * likely - strike[i] * discount * paid
        total += price[turn % len(price)]
    return total


@kernel
def matmul(a, b, c, rounds):
    """c = a b, row by row, with another corner of a in every round."""
    total = 0.0
    for turn in range(rounds):
        a[0, 0] = turn % 7
        for i in range(len(a)):
            for j in range(len(b)):
                c[i, j] = 0.0
            for k in range(len(b)):
                factor = a[i, k]
                for j in range(len(b)):
                    c[i, j] += factor * b[k, j]
        total += c[0, turn % len(b)]
    return total


@kernel
def branchy(counts, rounds):
    """Choices that cannot be foreseen: each count depends on a number drawn for it."""
    drawn = 12345
    for _ in range(rounds):
        for i in range(len(counts)):
            drawn = (drawn * 1103515245 + 12345) & _MODULUS_BITS
            choice = (drawn >> 16) & 7
            if choice < 3:
                counts[i] += choice
            elif choice == 3:
                counts[drawn % len(counts)] ^= i
            elif choice < 6:
                counts[i] = (counts[i] >> 1) ^ drawn
            elif counts[i] & 1:
                counts[i] = drawn - counts[i]
            else:
                drawn ^= counts[i] & 0xFF
    return drawn
