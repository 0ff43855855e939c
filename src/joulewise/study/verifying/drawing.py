"""Which runs are computed again: all where that is short, else as many as half the cost of running them allows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from joulewise.rng import generator
from joulewise.study.verifying.costs import running_s, verifying_s

if TYPE_CHECKING:
    import polars as pl

SHARE = 0.5
"""The most that verifying a study may cost, of what running it does."""
SHORT_S = 60.0
"""What verifying all of it may cost in any case, in seconds of an ordinary processor."""
ALTERED = 0.01
"""The share of runs of which it is told whether one of them would be found."""


@dataclass(frozen=True)
class Drawing:
    """The rows that were drawn, of all with their costs; the same seed draws the same."""

    seed: int
    costs: pl.DataFrame = field(repr=False)
    drawn: pl.DataFrame = field(repr=False)

    @property
    def is_whole(self) -> bool:
        """Whether all were drawn."""
        return self.drawn.height == self.costs.height

    @property
    def seconds(self) -> float:
        """What verifying them costs, in seconds of an ordinary processor."""
        return verifying_s(self.drawn)

    @property
    def n_worlds(self) -> tuple[int, int]:
        """Of how many worlds runs were drawn, and how many there are."""
        return self.drawn["world"].n_unique(), self.costs["world"].n_unique()

    @cached_property
    def n_judged(self) -> tuple[int, int]:
        """How many runs were drawn that can be judged, and how many such there are."""
        return int(self.drawn["is_judged"].sum()), int(self.costs["is_judged"].sum())

    @property
    def n_altered(self) -> int:
        """So many altered runs, wherever they are, are looked for: one in a hundred, and one at least."""
        return math.ceil(ALTERED * self.n_judged[1])

    @property
    def found(self) -> float:
        """How likely one of so many altered runs was drawn: from 0 to 1."""
        return chance(*self.n_judged, self.n_altered)


def chance(n_drawn: int, n_runs: int, n_altered: int) -> float:
    """How likely one of the altered runs is among those drawn, if they were altered at random."""
    if n_drawn + n_altered > n_runs:
        return 1.0
    return float(1 - np.prod(1 - n_drawn / (n_runs - np.arange(n_altered))))


def draw(costs: pl.DataFrame, seed: int, *, every: bool) -> Drawing:
    """All rows if that is asked for or cheap; else those that come first by chance while they fit, and one at least."""
    import polars as pl

    budget_s = SHARE * running_s(costs)
    if every or verifying_s(costs) <= max(SHORT_S, budget_s):
        return Drawing(seed, costs, costs)
    rows = _in_order(costs, generator(seed, "verify"))
    opens_s = pl.when(pl.col("world").is_first_distinct()).then("check_s").otherwise(0.0)
    fits = (pl.col("judge_s") + opens_s).cum_sum() <= budget_s
    return Drawing(seed, costs, rows.filter(fits | (pl.int_range(pl.len()) == 0)).sort("at"))


def _in_order(costs: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """The rows as chance has them, after one of each point one more of each.

    Where making and checking a world costs more than judging a run, all of a world come together, after a world of each
    kind one more of each: that sees more runs, and each point as soon.
    """
    import polars as pl

    by_world = float(costs["check_s"].sum()) > float(costs["judge_s"].sum())
    unit, group = ("world", "place") if by_world else ("at", "point")
    n = costs.height
    rows = costs.with_columns(first=pl.Series(rng.random(n)), then=pl.Series(rng.random(n)))
    units = rows.group_by(unit, maintain_order=True).agg(pl.col(group, "first", "then").first())
    turn = pl.col("first").rank("ordinal").over(group)
    units = units.select(unit, turn=turn, chance="then")
    return rows.join(units, on=unit, how="left", maintain_order="left").sort("turn", "chance", unit, "first")
