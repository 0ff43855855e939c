"""Many cases of one kind, each of which ends well or is refused as a user's mistake."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from joulewise.cli import refusal
from joulewise.errors import InputError

Attempt = Callable[[random.Random, Path], object]
"""Makes a file of a draw in an empty folder, and reads it."""

FIXED = 20
"""The seed of every day."""

SHORT, LONG = 40, 2000
"""How many cases of each kind are tried every day, and in a thorough run."""

FINE, REFUSED = "fine", "refused"


def fresh_seed() -> int:
    """A seed that nobody has used; a failure tells it."""
    return int.from_bytes(os.urandom(4))


def is_told(error: BaseException) -> bool:
    """Whether the command tells an error as a user's mistake, or as the system's, and not as a fault of ours."""
    return isinstance(error, InputError) or refusal(error) is not None


def withstand(attempt: Attempt, seed: int, cases: int) -> Counter[str]:
    """How many cases were fine and how many refused; whatever else one raises is raised, with what makes it again."""
    outcomes: Counter[str] = Counter()
    for case in range(cases):
        with TemporaryDirectory() as folder:
            try:
                attempt(random.Random(f"{seed} {case}"), Path(folder))
                outcomes[FINE] += 1
            except BaseException as error:  # a panic in Rust is no Exception
                if not is_told(error):
                    error.add_note(f"{attempt.__qualname__}: random.Random('{seed} {case}')")
                    raise
                str(error).encode()
                outcomes[REFUSED] += 1
    return outcomes
