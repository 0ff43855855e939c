"""Which observations count: runs that failed, read no time, or lie far from the other repetitions do not.

The rule for outliers looks at experiments with at least `LEAST` repetitions. A run is an outlier if the time of any of
its members is more than `MOST` modified z-scores from the median, 0.6745 |x - median| / MAD. MAD is the median of
|x - median| over the repetitions or, if that is larger, over all experiments with the program (as a share of their
medians): of five repetitions alone, four may lie close together by chance, and the usual threshold of 3.5 would then
leave out one sound run in twenty. It is 0.1 % of the median at least. All members of an outlier are left out.
"""

from __future__ import annotations

import polars as pl

LEAST = 5
MOST = 5.0
_TO_DEVIATIONS = 0.6745
_LEAST_MAD = 1e-3

RULE = (
    f"of at least {LEAST} repetitions, runs in which the time of a member is more than {MOST:g} modified z-scores from "
    "the median are left out: 0.6745 times its distance from the median, over the median of such distances in the "
    "experiment or, if larger, in all experiments with the program"
)
_SAME = ("group", "way", "clock", "program", "place")


def with_outliers(observations: pl.DataFrame) -> pl.DataFrame:
    """Observations with `is_outlier` set by the rule, wherever it is not set yet."""
    counts = pl.col("problem").fill_null("") == ""
    times = observations.select("run", *_SAME, pl.when(counts).then(pl.col("wall_s").fill_nan(None)).alias("time"))
    times = times.with_columns(middle=pl.col("time").median().over(_SAME), n=pl.col("time").count().over(_SAME))
    times = times.with_columns(far=pl.when(pl.col("n") >= LEAST).then((pl.col("time") / pl.col("middle") - 1).abs()))
    own, pooled = (pl.col("far").median().over(keys) for keys in (_SAME, "program"))
    times = times.with_columns(mad=pl.max_horizontal(own, pooled, _LEAST_MAD))
    is_far = (_TO_DEVIATIONS * pl.col("far") > MOST * pl.col("mad")).fill_null(False)
    is_outlier = times.with_columns(is_far=is_far).select(pl.col("is_far").any().over("run"))["is_far"]
    given = pl.col("is_outlier").cast(pl.Boolean)
    return observations.with_columns(pl.coalesce(given, pl.lit(is_outlier)).alias("is_outlier"))


def divided(observations: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Observations that count, and those that do not with the reason in the column `why`."""
    why = (
        pl.when(pl.col("problem").fill_null("") != "")
        .then(pl.col("problem"))
        .when(pl.col("wall_s").is_null() | (pl.col("wall_s") <= 0))
        .then(pl.lit("no time was read"))
        .when(pl.col("is_outlier").fill_null(False))
        .then(pl.lit("far from the other repetitions"))
    )
    explained = observations.with_columns(why.alias("why"))
    return explained.filter(pl.col("why").is_null()).drop("why"), explained.filter(pl.col("why").is_not_null())
