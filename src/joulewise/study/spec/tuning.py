"""Values that a study chooses by trials of their own, before it is judged by others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from joulewise.worlds.parameters import explained

_FRACTION = {"1/2": 2, "1/3": 3}


@dataclass(frozen=True)
class Tuning:
    """What is tuned, and how: points begin with few trials, the better ones go on with more, until one is left."""

    keys: tuple[str, ...] = explained(
        (),
        "the swept keys that are tuned, such as manager.leniency; by default those of the section that decides, but "
        "for what is compared, such as the policy; points that differ in them alone are a group, and one is chosen",
    )
    trials: Annotated[int, Field(ge=1, le=1_000)] = explained(
        4, "how many trials points begin with; no point is judged by trials that tune"
    )
    survivors: Literal["1/2", "1/3"] = explained(
        "1/2", "which share of a group goes on after each round, with two or three times as many trials"
    )
    metric: str = explained("", "the result column that chooses, by its mean; by default the one that is shown first")
    best: Literal["highest", "lowest"] = explained("highest", "which mean of it is best")

    @property
    def growth(self) -> int:
        """How many times as many trials the next round has."""
        return _FRACTION[self.survivors]

    def n_runs(self, n_points: int) -> int:
        """How many runs tuning a group of so many points takes at most."""
        n_rounds = math.ceil(math.log(max(n_points, 1), self.growth))
        return n_points * self.trials * (n_rounds + 1)
