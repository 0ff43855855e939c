"""How the runs of two points meet: in the same worlds, by the same random numbers, or not at all.

All randomness of a run follows from its seed, its trial and the name of a random stream. So trials of one number and
seed may have draws in common, and are a pair; all others are independent of each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from joulewise.study.answers.points import AGAINST, keys_in
from joulewise.study.answers.sampling import RESAMPLES
from joulewise.study.answers.sides import Side
from joulewise.study.spec.trials import BLOCKS

PAIR, PAIRING = "pair", "pairing"
SAME_WORLDS, SAME_DRAWS, FIXED, UNPAIRED = "worlds", "draws", "fixed", "unpaired"
"""How runs meet: trial by trial in the same worlds; trial by trial of one seed in other worlds; each with the only run
of a point where nothing is random; or not at all."""
_MEETING = ("seed", "trial")
_COUNTS = ("n_pairs", "n_same_world", "n_runs", "n_base_runs")
_SPREAD = {"error": RESAMPLES.error, "freedom": RESAMPLES.freedom, "deviation": RESAMPLES.deviation}
"""How sure means are; values without blocks are of drawn worlds."""


@dataclass(frozen=True)
class Met:
    """The runs of a side and of the base, and the pairs of points by which they are held against each other."""

    base: Side
    side: Side
    pairs: pl.DataFrame

    def measured(self, metric: str) -> pl.DataFrame:
        """Counts and means of a metric for each pair of points, and how these spread; missing values do not count.

        The columns are `pair`, `metric`, `n`, `n_base`, `mean`, `base_mean`, `difference`, `error`, `freedom` and
        `deviation` as of a `Sampling`, the same of the base as `base_error` and so on, and `scale`, the largest value.
        Where runs are paired, there is one spread, that of differences. Means of resamples are figures of their log.
        """
        found = pl.concat([self._paired(metric), self._apart(metric)], how="diagonal").collect()
        every = self.pairs.select(PAIR).join(found, on=PAIR, how="left", maintain_order="left")
        return every.with_columns(pl.lit(metric).alias("metric"), pl.col("n", "n_base").fill_null(0).cast(pl.Int64))

    def values(self, metric: str) -> pl.LazyFrame:
        """The values that are compared: `pair`, `is_base`, `trial`, `value`, and of how many blocks resamples are."""
        both = self._both(metric)
        rows = [
            both.select(PAIR, "trial", BLOCKS, value="value", is_base=pl.lit(False)),
            both.select(PAIR, "trial", BLOCKS, value="base_value", is_base=pl.lit(True)),
            *(self._alone(metric, is_base=is_base) for is_base in (False, True)),
        ]
        return pl.concat(each.select(PAIR, "is_base", "trial", "value", BLOCKS) for each in rows)

    def _paired(self, metric: str) -> pl.LazyFrame:
        """Of the pairs of points whose runs are paired."""
        value, base = pl.col("value"), pl.col("base_value")
        gap = value - base
        figures = {"mean": value, "base_mean": base, "difference": gap}
        means = {name: RESAMPLES.figure(each) for name, each in figures.items()}
        spread = {name: of(gap) for name, of in _SPREAD.items()}
        groups = self._both(metric).group_by(PAIR)
        return groups.agg(n=pl.len(), n_base=pl.len(), **means, **spread, scale=_largest(value, base))

    def _apart(self, metric: str) -> pl.LazyFrame:
        """Of the others."""
        value = pl.col("value")
        spread = {name: of(value) for name, of in _SPREAD.items()}
        one, base = (
            self._alone(metric, is_base=is_base)
            .group_by(PAIR)
            .agg(n=pl.len(), mean=RESAMPLES.figure(value), **spread, scale=_largest(value))
            for is_base in (False, True)
        )
        return one.join(base, on=PAIR, suffix="_of_base").select(
            PAIR, "n", "mean", *_SPREAD, n_base="n_of_base", base_mean="mean_of_base",
            difference=pl.col("mean") - pl.col("mean_of_base"), scale=pl.max_horizontal("scale", "scale_of_base"),
            **{f"base_{name}": f"{name}_of_base" for name in _SPREAD},
        )  # fmt: skip

    def _both(self, metric: str) -> pl.LazyFrame:
        """The values of paired runs: `pair`, `trial`, `value` and `base_value`."""
        pairs = self.pairs.lazy().filter(pl.col(PAIRING) != UNPAIRED)
        known = pl.col("value").is_finite() & pl.col("base_value").is_finite()
        return _joined(self.base, self.side, pairs, pl.col(metric).cast(pl.Float64).alias("value")).filter(known)

    def _alone(self, metric: str, *, is_base: bool) -> pl.LazyFrame:
        """The values of runs that are not paired."""
        pairs = self.pairs.lazy().filter(pl.col(PAIRING) == UNPAIRED)
        value = pl.col(metric).cast(pl.Float64).alias("value")
        rows = _runs(self.base if is_base else self.side, pairs, AGAINST if is_base else "", value)
        return rows.filter(pl.col("value").is_finite()).with_columns(is_base=pl.lit(is_base))


def meet(base: Side, side: Side, points: pl.DataFrame, first: int) -> Met:
    """How runs meet at pairs of points, which are numbered from `first` on.

    A resample of a log and a drawn world have nothing in common but their numbers.
    """
    pairs = points.with_row_index(PAIR, offset=first)
    same = (pl.col("value") == pl.col("base_value")).sum()
    is_alike = base.is_resampled == side.is_resampled
    may_meet = pairs if is_alike else pairs.filter(pl.col("is_fixed") | pl.col("is_base_fixed"))
    together = _joined(base, side, may_meet.lazy(), pl.col("world").alias("value"))
    n_pairs = together.group_by(PAIR).agg(n_pairs=pl.len(), n_same_world=same)
    n_runs, n_base_runs = (
        _runs(each, pairs.lazy(), prefix, pl.lit(None).alias("value")).group_by(PAIR).agg(pl.len().alias(name))
        for each, prefix, name in ((side, "", "n_runs"), (base, AGAINST, "n_base_runs"))
    )
    counted = pairs.lazy()
    for counts in (n_pairs, n_runs, n_base_runs):
        counted = counted.join(counts, on=PAIR, how="left", maintain_order="left")
    return Met(
        base, side, counted.with_columns(pl.col(_COUNTS).fill_null(0).cast(pl.Int64)).with_columns(_pairing()).collect()
    )


def _pairing() -> pl.Expr:
    """How the runs of a pair of points meet."""
    pairing = (
        pl.when(pl.col("n_pairs") == 0)
        .then(pl.lit(UNPAIRED))
        .when(pl.col("is_fixed") | pl.col("is_base_fixed"))
        .then(pl.lit(FIXED))
        .when(pl.col("n_same_world") == pl.col("n_pairs"))
        .then(pl.lit(SAME_WORLDS))
        .otherwise(pl.lit(SAME_DRAWS))
    )
    return pairing.alias(PAIRING)


def _joined(base: Side, side: Side, pairs: pl.LazyFrame, value: pl.Expr) -> pl.LazyFrame:
    """What is paired: `pair`, `trial`, `value` and `base_value`, and the fewer blocks of both."""
    meeting = [f"_{name}" for name in _MEETING]
    rows, base_rows = (_runs(each, pairs, prefix, value) for each, prefix in ((side, ""), (base, AGAINST)))
    both = rows.join(base_rows, on=[PAIR, *meeting], nulls_equal=True, suffix="_of_base")
    blocks = pl.min_horizontal(BLOCKS, f"{BLOCKS}_of_base")
    return both.select(PAIR, pl.max_horizontal("trial", "trial_of_base"), "value", blocks, base_value="value_of_base")


def _runs(side: Side, pairs: pl.LazyFrame, prefix: str, value: pl.Expr) -> pl.LazyFrame:
    """The runs of a side at its points: `pair`, `trial`, `value`, their blocks, and by what they may meet others.

    The only run of a point where nothing is random meets every trial.
    """
    there = pairs.collect_schema()
    keys = [name for name in there.names() if f"{AGAINST}{name}" in there.names()]
    blocks = (pl.col(BLOCKS) if side.is_resampled else pl.lit(None)).cast(pl.Float64).alias(BLOCKS)
    rows = keys_in(side.runs, {key: there[key] for key in keys}).select(*keys, *_MEETING, value, blocks)
    met = (
        rows.join(pairs, left_on=keys, right_on=[f"{prefix}{key}" for key in keys], nulls_equal=True)
        if keys
        else (rows.join(pairs, how="cross"))
    )
    meets = pl.when(~pl.col("is_fixed") & ~pl.col("is_base_fixed"))
    meeting = (meets.then(pl.col(name)).alias(f"_{name}") for name in _MEETING)
    return met.select(PAIR, "trial", "value", BLOCKS, *meeting)


def _largest(*values: pl.Expr) -> pl.Expr:
    return pl.max_horizontal(value.abs().max() for value in values)
