"""Means with 95 % Student intervals over trials, and differences between policies on equal trials.

Where trials stop by themselves, intervals are wider: they hold at all looks together. Where trials are resamples of one
sample, its own figures stand in the place of means, and intervals are as wide as resamples spread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import polars as pl

from joulewise.confidence import CONFIDENCE, error_at_look, student_quantile_of
from joulewise.study.answers.sampling import DRAWS, RESAMPLES, TRIAL, Sampling

POLICY = "manager.policy"
BEST, TIED = "best", "tied"
"""How a point stands among those of its world."""

ROUNDING = 1e-12
"""What is a smaller part of the values is rounding."""


class Error(NamedTuple):
    """What intervals may miss by: a chance, from the numbers of trials and of the points that an interval is among.

    `sampling` says what the trials are of which intervals come.
    """

    chance: Callable[[int, int], float]
    sampling: Sampling = DRAWS


once = Error(lambda _n, _n_among: 1 - CONFIDENCE)
"""The error of an interval that is looked at once, whatever it is among."""
at_looks = Error(lambda n, n_among: error_at_look(n) / max(n_among * (n_among - 1) // 2, 1))
"""The error of an interval that was looked at before, of all pairs of points: which are looked at, follows."""
of_resamples = once._replace(sampling=RESAMPLES)
"""The error of an interval from resamples of one sample."""


def summary(
    runs: pl.DataFrame | pl.LazyFrame, axes: Sequence[str], metrics: Sequence[str], error: Error = once
) -> pl.DataFrame:
    """Mean and interval of each metric at each point: the axes, then metric, mean, low, high, n.

    Runs without a value (failed ones) are left out; with one trial the interval is null. The order is that of
    the runs. A lazy table is read a few columns at a time. Of resamples, `mean` is the figure of the sample itself,
    here and wherever it stands below.
    """
    several = _some_at_a_time(metrics)
    tables = list(chain.from_iterable(_moments(runs.lazy(), axes, some, error.sampling) for some in several))
    return _intervals(pl.concat(tables), [*axes, "metric"], error) if tables else _no_summary(runs.lazy(), axes)


def means_over_trials(runs: pl.LazyFrame, keys: Sequence[str], metric: str, error: Error = once) -> pl.DataFrame:
    """The mean of a metric over all points that agree in the keys, and its interval: keys, mean, low, high, n.

    Trials are what is drawn at random, so that the interval is over the means of trials.
    """
    value = pl.col(metric).cast(pl.Float64).mean()
    also = (pl.col(name).min() for name in error.sampling.needs if name != TRIAL)
    of_trials = runs.group_by([*keys, TRIAL]).agg(value, *also).sort(*keys, TRIAL, nulls_last=True)
    return summary(of_trials, keys, [metric], error).drop("metric")


_AT_A_TIME = 16
"""How many metrics are read at a time."""


def _some_at_a_time(metrics: Sequence[str]) -> Iterator[Sequence[str]]:
    return (metrics[at : at + _AT_A_TIME] for at in range(0, len(metrics), _AT_A_TIME))


def _moments(
    runs: pl.LazyFrame, axes: Sequence[str], metrics: Sequence[str], sampling: Sampling
) -> Iterator[pl.DataFrame]:
    """The mean of metrics with its error at each point that has one, a table for each metric."""
    values = {name: pl.col(name).cast(pl.Float64).fill_nan(None) for name in metrics}
    wide = (
        runs.group_by(axes, maintain_order=True)
        .agg(pl.struct(_moments_of(value, sampling)).alias(f"of {name}") for name, value in values.items())
        .collect()
    )
    for name in metrics:
        of_one = wide.select(*axes, pl.lit(name).alias("metric"), pl.col(f"of {name}").struct.unnest(), _among=2)
        yield of_one.filter(pl.col("mean").is_not_null())


def _moments_of(value: pl.Expr, sampling: Sampling) -> list[pl.Expr]:
    """What an interval comes of."""
    of = {"mean": sampling.figure, "_error": sampling.error, "_freedom": sampling.freedom, "n": pl.Expr.count}
    return [moment(value).alias(name) for name, moment in of.items()]


def _no_summary(runs: pl.LazyFrame, axes: Sequence[str]) -> pl.DataFrame:
    keys, numbers = runs.select(axes).collect_schema(), dict.fromkeys(("mean", "low", "high"), pl.Float64)
    return pl.DataFrame(schema={**keys, "metric": pl.String, **numbers, "n": pl.UInt32})


def differences(
    runs: pl.DataFrame, axes: Sequence[str], metrics: Sequence[str], compared: str = POLICY, error: Error = once
) -> pl.DataFrame:
    """Mean difference between every two values of the compared axis on equal trials, and its interval.

    The columns are the axes, `against` (what is subtracted), metric, mean, low, high, n and `percent`, the
    difference in percent of the mean of what is subtracted. The only run of a point without chance stands for every
    trial of what it is compared with; trials that one side lacks are left out otherwise.
    """
    shared = [axis for axis in axes if axis != compared]
    values = _long(_on_all_trials(runs, axes, shared), axes, metrics, error.sampling)
    others = values.rename({compared: "against", "value": "subtracted"})
    pairs = values.join(others, on=[*shared, "trial", "metric"], nulls_equal=True, maintain_order="left_right")
    of_both = (pl.min_horizontal(name, f"{name}_right") for name in error.sampling.needs if name != TRIAL)
    pairs = pairs.filter(pl.col(compared) != pl.col("against")).with_columns(
        *of_both, value=pl.col("value") - pl.col("subtracted")
    )
    keys = [*axes, "against", "metric"]
    means = pairs.group_by(keys, maintain_order=True).agg(_base=error.sampling.figure(pl.col("subtracted")))
    found = _with_intervals(pairs, keys, error).join(means, on=keys, nulls_equal=True, maintain_order="left")
    return found.with_columns(percent=percent_of("mean", "_base")).drop("_base")


def percent_of(difference: str, base: str) -> pl.Expr:
    """A difference in percent of what is subtracted, with the sign of the difference; null where that is zero."""
    return pl.when(pl.col(base) != 0).then(100 * pl.col(difference) / pl.col(base).abs())


def leaders(runs: pl.DataFrame, axes: Sequence[str], metric: str, error: Error = once) -> pl.DataFrame:
    """The best point of each world and its ties, as `gaps` tells them: the axes and `standing`, BEST or TIED."""
    told = gaps(runs, axes, metric, error).filter(~pl.col("is_even"))
    return told.drop_nulls("standing").select(*axes, "standing")


def gaps(runs: pl.DataFrame, axes: Sequence[str], metric: str, error: Error = once) -> pl.DataFrame:
    """How far points are from the best of their world on equal trials: the axes, mean, low, high, n, how they stand.

    Points are of one world if they met the same systems, work and supplies. The best has the highest mean of the
    metric there, the first of equals; TIED are those whose interval reaches zero; the others have no `standing`. Where
    `is_even`, all means of the world are equal. The only run of a point without chance stands for every trial of its
    world. Points are left out where their world has one point alone, or where a run has no value.
    """
    points = runs.group_by(axes, maintain_order=True).agg(
        _world=pl.col("world").unique().sort().str.join(),
        _mean=error.sampling.figure(pl.col(metric).cast(pl.Float64)),
        _whole=pl.col(metric).cast(pl.Float64).is_finite().fill_null(False).all(),
    )
    mean = pl.col("_mean")
    is_contest = pl.col("_whole").all().over("_world") & (pl.len().over("_world") > 1)
    is_even = mean.min().over("_world") == mean.max().over("_world")
    points = points.filter(is_contest).with_columns(is_even=is_even)
    ranked = points.sort("_mean", descending=True, maintain_order=True)
    best = ranked.unique("_world", keep="first", maintain_order=True)
    met = runs.join(points, on=axes, nulls_equal=True, maintain_order="left")
    values = _long(_on_all_trials(met, axes, ["_world"]), [*axes, "_world"], [metric], error.sampling)
    tops = values.join(best, on=axes, how="semi", nulls_equal=True).select("_world", "trial", top="value")
    pairs = values.join(tops, on=["_world", "trial"], maintain_order="left").with_columns(
        value=pl.col("value") - pl.col("top"), n_among=pl.struct(axes).n_unique().over("_world")
    )
    behind = _with_intervals(pairs, axes, error)
    for about in (points.select(*axes, "is_even"), best.select(*axes, _first=True)):
        behind = behind.join(about, on=axes, how="left", nulls_equal=True, maintain_order="left")
    is_tied = pl.coalesce("high", "mean") >= 0
    standing = pl.when("_first").then(pl.lit(BEST)).when(is_tied).then(pl.lit(TIED))
    return behind.with_columns(standing=standing).drop("_first")


def _on_all_trials(runs: pl.DataFrame, axes: Sequence[str], alike: Sequence[str]) -> pl.DataFrame:
    """The runs, with the only one of a point on every trial of the points that are alike in these columns."""
    trials = pl.col("trial").unique(maintain_order=True).over(pl.lit(0), *alike, mapping_strategy="join")
    is_only = pl.len().over(pl.lit(0), *axes) == 1
    return runs.with_columns(trial=pl.when(is_only).then(trials).otherwise(pl.concat_list("trial"))).explode("trial")


def _long(runs: pl.DataFrame, axes: Sequence[str], metrics: Sequence[str], sampling: Sampling) -> pl.DataFrame:
    """One row per run and metric that has a value: the axes, trial, metric, value, and what else the sampling needs."""
    index = [*axes, *dict.fromkeys([TRIAL, *sampling.needs])]
    floats = runs.select(*index, *(pl.col(name).cast(pl.Float64) for name in metrics))
    long = floats.unpivot(on=list(metrics), index=index, variable_name="metric", value_name="value")
    return long.filter(pl.col("value").is_not_null() & pl.col("value").is_not_nan())


def _with_intervals(values: pl.DataFrame, keys: Sequence[str], error: Error) -> pl.DataFrame:
    """Mean and interval of the values of equal keys; where nothing is said, they are among two points."""
    among = pl.col("n_among").first() if "n_among" in values.columns else pl.lit(2)
    moments = _moments_of(pl.col("value"), error.sampling)
    grouped = values.group_by(keys, maintain_order=True).agg(*moments, _among=among)
    return _intervals(grouped, keys, error)


def _intervals(grouped: pl.DataFrame, keys: Sequence[str], error: Error) -> pl.DataFrame:
    """Means with their intervals, from errors, degrees of freedom, numbers of values and of points they are among."""
    by = ["n", "_freedom", "_among"]
    sizes = grouped.select(by).unique()
    quantiles = [student_quantile_of(freedom, error.chance(n, n_among)) for n, freedom, n_among in sizes.iter_rows()]
    sizes = sizes.with_columns(_quantile=pl.Series(quantiles, dtype=pl.Float64))
    half = pl.col("_quantile") * pl.col("_error")
    found = grouped.join(sizes, on=by, nulls_equal=True, maintain_order="left")
    with_bounds = found.with_columns(low=pl.col("mean") - half, high=pl.col("mean") + half)
    return with_bounds.select(*keys, "mean", "low", "high", "n")
