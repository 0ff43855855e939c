"""How fast this machine is: what a study is told to take are seconds of an ordinary processor, times its pace here."""

from __future__ import annotations

import time
from functools import cache

_STEPS, _ORDINARY_S = 100_000, 5e-3
"""Steps of plain Python, and how long an ordinary processor of 2024 takes for them."""
_TRIES = 5


@cache
def pace() -> float:
    """How many times as long as an ordinary processor one of this machine takes; found once in a process."""
    return pace_now()


def pace_now() -> float:
    """The same as it is now: other work may slow a machine down."""
    return min(_steps_s() for _ in range(_TRIES)) / _ORDINARY_S


def _steps_s() -> float:
    began_s, total = time.perf_counter(), 0
    for step in range(_STEPS):
        total += step
    return time.perf_counter() - began_s
