"""Which observations count: runs that failed, read no time, or lie far from the other repetitions do not.

The rule for outliers: of at least `LEAST` repetitions of the same experiment, a run is an outlier if the time of any of
its members is more than `MOST` modified z-scores from the median, 0.6745 |x - median| / MAD, where MAD is the median of
|x - median|, taken as 0.1 % of the median at least. All members of such a run are left out.
"""

from __future__ import annotations

import polars as pl

LEAST = 5
MOST = 3.5
_TO_DEVIATIONS = 0.6745
_LEAST_MAD = 1e-3

RULE = (
    f"of at least {LEAST} repetitions, runs in which the time of a member is more than {MOST:g} modified z-scores "
    "(0.6745 times its distance from the median over the median of such distances) from the median are left out"
)
_SAME = ("group", "way", "clock", "program", "place")


def with_outliers(observations: pl.DataFrame) -> pl.DataFrame:
    """Observations with `is_outlier` told by the rule, wherever it is not told yet."""
    counts = pl.col("problem").fill_null("") == ""
    wall_s = pl.when(counts).then(pl.col("wall_s").fill_nan(None))
    far_s = (wall_s - wall_s.median().over(_SAME)).abs()
    mad_s = pl.max_horizontal(far_s.median().over(_SAME), _LEAST_MAD * wall_s.median().over(_SAME))
    is_far = (wall_s.count().over(_SAME) >= LEAST) & (_TO_DEVIATIONS * far_s > MOST * mad_s)
    told = is_far.fill_null(False).any().over("run")
    return observations.with_columns(pl.coalesce(pl.col("is_outlier").cast(pl.Boolean), told).alias("is_outlier"))


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
    told = observations.with_columns(why.alias("why"))
    return told.filter(pl.col("why").is_null()).drop("why"), told.filter(pl.col("why").is_not_null())
