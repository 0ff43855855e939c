"""What happened in each piece of a window, one interval and one piece after the other."""

from __future__ import annotations

from collections.abc import Sequence

from joulewise.serve.day import Bins

Box = tuple[float, float, float, float, float]
"""From `x` to `x2` along and from `y` to `y2` upright, and the height."""


def _shared(start: float, end: float, low: float, high: float) -> float:
    return max(0.0, min(end, high) - max(start, low))


def _pieces(bins: Bins) -> list[tuple[float, float]]:
    return [(float(bins.edges[i]), float(bins.edges[i + 1])) for i in range(bins.n)]


def held(bins: Bins, intervals: Sequence[tuple[float, float, float]]) -> list[float]:
    """How high intervals stand on each other, mean over each piece; each is its start, its end and its height."""
    return [
        sum(height * _shared(start, end, low, high) for start, end, height in intervals) / (high - low)
        for low, high in _pieces(bins)
    ]


def counted(bins: Bins, at: Sequence[float]) -> list[int]:
    """How many instants lie in each piece, its end included, and the start of the first."""
    return [
        sum((low < instant <= high) or (i == 0 and instant == low) for instant in at)
        for i, (low, high) in enumerate(_pieces(bins))
    ]


def covered(columns: Bins, rows: Bins, boxes: Sequence[Box]) -> list[list[float]]:
    """What stands on each cell of a grid, row by row."""
    return [
        [
            sum(height * _shared(x, x2, left, right) * _shared(y, y2, low, high) for x, x2, y, y2, height in boxes)
            for left, right in _pieces(columns)
        ]
        for low, high in _pieces(rows)
    ]
