"""How the validator reports: one line per wrong task, and a count once there are many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joulewise.model.arrays import Floats

N_SHOWN = 3
"""This many tasks are named for each broken rule; the others are counted."""

RELATIVE_TOLERANCE = 1e-9
"""Of durations and utilities: how far a stored one may be from the one computed here."""


def rounding_s(at_s: Floats) -> Floats:
    """How far two computations of one instant may differ: a few units in the last place."""
    return np.asarray(4 * np.spacing(np.abs(at_s)))


def findings(
    what: str, tasks: ArrayLike, found: ArrayLike, expected: ArrayLike, why: str = "", of: str = "task"
) -> Iterator[str]:
    """A line for each of the first wrong tasks, or jobs; `found` and `expected` are one per task or one for all."""
    wrong = np.asarray(tasks)
    is_, must_be = (np.broadcast_to(column, wrong.shape) for column in (found, expected))
    for i, task in enumerate(wrong[:N_SHOWN]):
        yield f"{of} {task}: {what}: found {_spelled(is_[i])}; expected {_spelled(must_be[i])}{why}"
    if wrong.size > N_SHOWN:
        yield f"{what}: wrong for {wrong.size - N_SHOWN} more {of}s"


def _spelled(value: Any) -> str:
    return f"{float(value)!r}" if isinstance(value, np.floating) else str(value)
