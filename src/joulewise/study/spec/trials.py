"""How many trials points have: a number that is given, or as many as it takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, takewhile
from typing import NamedTuple

from joulewise.confidence import LEAST_LOOKED_AT, looks
from joulewise.errors import InputError, Problem, as_written

MOST_TRIALS = 100_000
"""No point may have more trials than this."""
_MOST_BY_DEFAULT = 1_065
FIRST_TUNING = MOST_TRIALS
"""Trials that tune are numbered from here on: however many there are that judge, they are others."""
STAGE, TUNE, JUDGE = "stage", "tune", "judge"
"""What trials are for: a column of runs, and what it holds."""
SAMPLE, BLOCKS = 0, "log_blocks"
"""Where trials are resamples of a log, the one that is the log, and the column of runs with how many blocks it has."""
FEWEST_BLOCKS, FEWEST_RESAMPLES = 10, 20
"""With fewer, how wide intervals are hangs on the few days of the log, or on which resamples were drawn."""
UNTIL = r"^\s*until\s+(-?\d+(?:\.\d+)?)\s*%(?:\s*,?\s*at\s+most\s+(\d[\d_,]*))?\s*$"
"""What the text of trials that stop by themselves looks like."""
EXAMPLE = "until 0.5 %, at most 210"


class Share(NamedTuple):
    """How many trials a point has: those that judge it, and those by which it is chosen among others or not."""

    judging: int
    tuning: int = 0

    @property
    def n_trials(self) -> int:
        """All of them."""
        return self.judging + self.tuning

    def numbers(self) -> Iterator[int]:
        """Their numbers."""
        return chain(range(self.judging), range(FIRST_TUNING, FIRST_TUNING + self.tuning))


def stage_of(trial: int) -> str:
    """What a trial is for, in a study that tunes."""
    return JUDGE if trial < FIRST_TUNING else TUNE


@dataclass(frozen=True)
class Until:
    """Trials that stop by themselves: when half of an interval is at most so many percent, or at the last look."""

    percent: float
    most: int

    def __str__(self) -> str:
        return f"until {self.percent:g} %, at most {self.most}"


def until_of(text: str, where: str) -> Until:
    """What such a text says, the most trials rounded down to a look; InputError where it says something else."""
    found = re.match(UNTIL, text)
    if not found:
        allowed = f'must be a whole number, or text such as "until 0.5 %" or "{EXAMPLE}"'
        raise InputError(Problem(where, f"found {as_written(text)}", allowed))
    most = int(re.sub("[_,]", "", found[2])) if found[2] else _MOST_BY_DEFAULT
    if not 0 < float(found[1]) <= 100:
        raise InputError(Problem(where, f"found until {found[1]} %", "must be above 0 % and 100 % or less"))
    if not LEAST_LOOKED_AT <= most <= MOST_TRIALS:
        allowed = f"must be at least {LEAST_LOOKED_AT}, as fewer say little, and at most {MOST_TRIALS:,}"
        raise InputError(Problem(where, f"found at most {found[2]}", allowed))
    return Until(float(found[1]), max(takewhile(most.__ge__, looks())))
