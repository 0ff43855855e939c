"""Whether what is decided before an instant depends on what comes after it: the same trial, with another future."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

PARTS = tuple(eighth / 8 for eighth in range(1, 8))
"""After which parts of the work the future is another, where several are looked at."""


def instant(arrival_s: NDArray[np.float64], part: float) -> float | None:
    """An instant between two arrivals, after this part of them; none where all arrive at once."""
    at_s = np.unique(arrival_s)
    if at_s.size == 1:
        return None
    gap = int(part * (at_s.size - 1))
    return float(at_s[gap] + at_s[gap + 1]) / 2


def mirrored(arrival_s: NDArray[np.float64], at_s: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Work with what arrives after an instant the other way round, the last at that instant: its order and arrivals.

    As much comes in all, and of the same kinds.
    """
    is_past = arrival_s <= at_s
    order = np.arange(arrival_s.size)
    order[~is_past] = order[~is_past][::-1]
    return order, np.where(is_past, arrival_s, at_s + (arrival_s[-1] - arrival_s[order]))


def later(start_s: NDArray[np.float64], at_s: float) -> NDArray[np.float64]:
    """Starts after an instant at twice the distance from it."""
    return np.where(start_s > at_s, at_s + 2 * (start_s - at_s), start_s)


def halved(took_s: NDArray[np.float64], since_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """What runs take if what is left of them after so long takes half."""
    return np.asarray((took_s + np.minimum(np.maximum(since_s, 0.0), took_s)) / 2)


def starts(columns: Sequence[NDArray[np.generic]], before_s: float) -> NDArray[np.float64]:
    """Those of these starts, columns with the instant first, that are before an instant, in order."""
    rows = np.stack([column.astype(np.float64) for column in columns], axis=1)
    rows = rows[rows[:, 0] < before_s]
    return rows[np.lexsort(rows.T[::-1])]


def first_difference(here: NDArray[np.float64], there: NDArray[np.float64], names: Sequence[str], at_s: float) -> str:
    """What started otherwise before an instant as another future came after it, or nothing.

    `names` are those of the columns behind the instant.
    """
    n = min(len(here), len(there))
    at = int(np.argmin((here[:n] == there[:n]).all(axis=1))) if not np.array_equal(here[:n], there[:n]) else n
    if at == len(here) == len(there):
        return ""
    one, other = (_told(rows, at, names) for rows in (here, there))
    return f"{one}; had another future come after {at_s:g} s, {other}"


def _told(rows: NDArray[np.float64], at: int, names: Sequence[str]) -> str:
    if at == len(rows):
        return "nothing more had started"
    start_s, *others = rows[at].tolist()
    return (
        f"{', '.join(f'{name} {value:.0f}' for name, value in zip(names, others, strict=True))} starts at {start_s:g} s"
    )
