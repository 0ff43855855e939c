"""A user's compiled policy as engines take it: with what it sees, and with what is said of what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numba
import numpy as np

from joulewise.errors import Problem
from joulewise.kernels.outside import NO_ANSWER, Outside
from joulewise.model.arrays import seen
from joulewise.policies.compile import compiled_policy
from joulewise.policies.own import Own

N_MEMORIES = 4
"""How many numbers a compiled policy remembers of each task or job."""

N_COLUMNS = 3
"""How many numbers a row of its answer has."""

_Columns = TypeVar("_Columns")
_typeof: Any = numba.typeof


def outside_of(own: Own, sight: Any) -> Outside:
    """Compiled code with what it sees; InputError when it cannot be compiled."""
    return Outside(compiled_policy(own, _typeof(sight)), sight, np.zeros(3 + N_COLUMNS))


def all_seen(columns: _Columns) -> _Columns:
    """The same named columns, not to be written."""
    named: Any = columns
    return type(named)(*map(seen, named))  # type: ignore[no-any-return]


def fault_of(outside: Outside) -> tuple[int, int, float, Sequence[int]]:
    """What became of the first impossible answer, or 0; its event, the instant, and the row."""
    fate, number, now_s, *row = outside.fault.tolist()
    return int(fate), int(number), now_s, [] if fate == NO_ANSWER else [*map(int, row)]


def no_answer(where: str, outside: Outside) -> Problem:
    """What is said of an answer that has no number of rows."""
    found = f"raised, or returned {outside.fault[3]:g}"
    return Problem(where, found, "must return how many rows of the answer are filled", "check its indices")
