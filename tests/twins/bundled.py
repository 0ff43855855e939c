"""The bundled kernels in plain Python, on lists."""

from __future__ import annotations

import math
from statistics import NormalDist

Rows = list[list[float]]


def triad(b: list[float], c: list[float], rounds: int) -> float:
    """The sum of one number of a = b + c / (1 + round) for each round."""
    return sum(b[turn % len(b)] + c[turn % len(b)] / (1 + turn) for turn in range(rounds))


def chase(next_of: list[int], steps: int) -> int:
    """The sum of all places on the way."""
    at = total = 0
    for _ in range(steps):
        at = next_of[at]
        total += at
    return total


def stencil(cells: Rows, rounds: int) -> float:
    """The middle cell after two sweeps in each round; the rim stays."""
    for _ in range(2 * rounds):
        cells = [[mean(cells, i, j) for j in range(len(cells))] for i in range(len(cells))]
    return cells[len(cells) // 2][len(cells) // 2]


def mean(cells: Rows, i: int, j: int) -> float:
    """Of a cell and its neighbours; a cell of the rim itself."""
    last = len(cells) - 1
    if i in (0, last) or j in (0, last):
        return cells[i][j]
    return sum((cells[i][j], cells[i - 1][j], cells[i + 1][j], cells[i][j - 1], cells[i][j + 1])) / 5


def black_scholes(spot: list[float], strike: list[float], rounds: int) -> float:
    """The sum of one price for each round."""
    turns = range(rounds)
    return sum(call(spot[turn % len(spot)], strike[turn % len(spot)], 0.5 + 1e-6 * (turn % 1000)) for turn in turns)


def call(spot: float, strike: float, years: float, rate: float = 0.02, volatility: float = 0.3) -> float:
    """The price of a call as in every textbook."""
    near = (math.log(spot / strike) + (rate + volatility**2 / 2) * years) / (volatility * math.sqrt(years))
    far = near - volatility * math.sqrt(years)
    share = NormalDist().cdf
    return spot * share(near) - strike * math.exp(-rate * years) * share(far)


def matmul(a: Rows, b: Rows, rounds: int) -> float:
    """The sum of one number of the product's first row for each round, in which a[0][0] is round % 7."""
    columns = list(zip(*b))
    rows = [[turn % 7, *a[0][1:]] for turn in range(rounds)]
    return sum(sum(x * y for x, y in zip(row, columns[turn % len(b)])) for turn, row in enumerate(rows))


def branchy(counts: list[int], rounds: int) -> int:
    """The last number drawn."""
    drawn = 12345
    for i in list(range(len(counts))) * rounds:
        drawn = (drawn * 1103515245 + 12345) % 2**31
        match drawn // 2**16 % 8:
            case 0 | 1 | 2 as more:
                counts[i] += more
            case 3:
                counts[drawn % len(counts)] ^= i
            case 4 | 5:
                counts[i] = counts[i] // 2 ^ drawn
            case _ if counts[i] % 2:
                counts[i] = drawn - counts[i]
            case _:
                drawn ^= counts[i] % 256
    return drawn
