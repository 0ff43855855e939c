"""How policies stand on a set of worlds: shares of the proven bound with intervals, and places with ties told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl

from joulewise.errors import Problem, raise_if_any
from joulewise.study.answers import inference, statistics
from joulewise.study.answers.inference import ALPHA
from joulewise.study.arena.rows import RUN

SHARE, FORESIGHT = "share", "foresight"
_SAME = 1e-6
_DIGITS = 9
"""Percentage points are compared to so many: what rounding leaves is no spread."""


@dataclass(frozen=True)
class Standings:
    """The rows of policies on the same worlds and trials, and the policy that all is told about, if there is one."""

    rows: pl.DataFrame = field(repr=False)
    own: str = ""

    @property
    def worlds(self) -> list[str]:
        """The worlds in their order."""
        return self.rows["world"].unique(maintain_order=True).to_list()

    def in_world(self, world: str) -> Standings:
        """How policies stand in one world; one that knows the future of any has no place."""
        known = pl.col(FORESIGHT).drop_nulls().first().over("policy")
        return replace(self, rows=self.rows.with_columns(known).filter(pl.col("world") == world))

    @cached_property
    def failed(self) -> pl.DataFrame:
        """The rows without a result."""
        return self.rows.filter(self._share.is_null())

    @cached_property
    def table(self) -> pl.DataFrame:
        """A row for each policy, those with all results first, by their share: `policy`, `share` of the bound in
        percent, its 95 % interval `low` and `high`, `first` and `last` place, `event_ms`, `n_failed` of `n`, and the
        first `foresight` found, if there is any.

        All is of the results that there are. Only policies with all results and no foresight have places: 1 and 3 say
        that one policy at most is better for sure, and so on, all pairs of policies together with 95 % (Holm).
        """
        counts = self.rows.group_by("policy", maintain_order=True).agg(
            event_ms=pl.col("event_ms").mean(),
            n_failed=self._share.is_null().sum(),
            n=pl.len(),
            foresight=pl.col(FORESIGHT).drop_nulls().first(),
        )
        means = statistics.summary(self._by_trial, ["policy"], [SHARE]).drop("metric", "n")
        found = counts.join(means.rename({"mean": SHARE}), on="policy", how="left", maintain_order="left")
        told = found.join(self._places, on="policy", how="left", maintain_order="left")
        order = [pl.col(FORESIGHT).is_null(), pl.col("n_failed") == 0, SHARE]
        return told.sort(order, descending=True, nulls_last=True, maintain_order=True)

    @property
    def has_places(self) -> bool:
        """Whether there are trials enough to tell policies apart."""
        return bool(self.table["first"].count())

    def of(self, policy: str) -> dict[str, object]:
        """The row of a policy in the table."""
        return self.table.row(by_predicate=pl.col("policy") == policy, named=True)

    @cached_property
    def slices(self) -> pl.DataFrame:
        """What policies earned by time of day, the mean over worlds and trials: `policy`, `slice`, `share`."""
        long = self.rows.drop_nulls("slices").select(
            "policy", "slices", slice=pl.int_ranges(pl.col("slices").list.len())
        )
        earned = long.explode("slices", "slice").group_by("policy", "slice", maintain_order=True)
        return earned.agg(share=pl.col("slices").mean())

    @property
    def _share(self) -> pl.Expr:
        bound = pl.col("utility_bound")
        return pl.when(bound > 0).then(100 * pl.col("utility") / bound)

    @property
    def _by_trial(self) -> pl.DataFrame:
        """The mean share of each policy over the worlds of each trial: trials are what is drawn at random."""
        return self.rows.group_by("policy", "trial", maintain_order=True).agg(self._share.mean().alias(SHARE))

    @property
    def _places(self) -> pl.DataFrame:
        """The first and last place of each policy that has all results and no foresight."""
        is_placed = self._share.is_not_null() & pl.col(FORESIGHT).is_null()
        whole = self.rows.filter(is_placed.all().over("policy"))
        wide = replace(self, rows=whole)._by_trial.pivot("trial", index="policy", values=SHARE)
        first, last = _places(wide.drop("policy").to_numpy())
        return wide.select("policy", first=first, last=last)


def _places(values: inference.Floats) -> tuple[pl.Series, pl.Series]:
    """The first and last place of each row of values, paired by column; none where there is one column."""
    n, n_trials = values.shape
    first, last = np.ones(n, np.int64), np.full(n, n)
    if n_trials < 2:
        return (pl.Series([None] * n, dtype=pl.Int64),) * 2
    one, other = np.triu_indices(n, 1)
    gaps = np.round(values[one] - values[other], _DIGITS)
    means = gaps.mean(axis=1)
    spread = inference.Spread.of_draws(np.full(means.shape, float(n_trials)), gaps.std(axis=1, ddof=1))
    chances = inference.paired(means, spread).p()
    is_sure = inference.holm(chances) <= ALPHA
    better, worse = np.where(means > 0, (one, other), (other, one))
    np.add.at(first, worse[is_sure], 1)
    np.subtract.at(last, better[is_sure], 1)
    return pl.Series(first), pl.Series(last)


def together(own: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    """Rows of one policy with those of others on the same worlds and trials; what others say of it is left out.

    InputError where a world has another bound than theirs: a real log may be another file.
    """
    bounds = own.select(*RUN[1:], here="utility_bound").unique()
    met = others.join(bounds, on=RUN[1:], how="inner", maintain_order="left")
    strange = met.filter((pl.col("here") / pl.col("utility_bound") - 1).abs() > _SAME)["world"].unique().sort()
    raise_if_any(
        Problem(world, "is other work than what is kept of it", advice="look whether its log is the one that was meant")
        for world in strange
    )
    names: Sequence[str] = own["policy"].unique().to_list()
    return pl.concat([own, met.filter(~pl.col("policy").is_in(names)).select(own.columns)])
