"""Means with half widths of 95 % Student intervals, and how these pass on to what follows from several means."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import polars as pl

from joulewise.confidence import student_quantile


def means(rows: pl.DataFrame, keys: Sequence[str], values: Mapping[str, str | None]) -> pl.DataFrame:
    """The keys, n, and of each value its mean and, where it has a name for that, its half width.

    Rows without a value count for its mean as little as for its interval, which is missing below two of them; n is how
    many rows have the first value.
    """
    named = {value: width for value, width in values.items() if width}
    grouped = rows.group_by(keys, maintain_order=True).agg(
        pl.col(next(iter(values))).count().cast(pl.Int64).alias("n"),
        pl.col(list(values)).mean(),
        *(pl.col(value).std().alias(f"{value} deviation") for value in named),
        *(pl.col(value).count().alias(f"{value} count") for value in named),
    )
    return grouped.with_columns(_half_width(grouped, value).alias(width) for value, width in named.items()).drop(
        f"{value} {what}" for value in named for what in ("deviation", "count")
    )


def _half_width(grouped: pl.DataFrame, value: str) -> pl.Expr:
    counts = pl.col(f"{value} count")
    quantiles = {n: student_quantile(n) for n in grouped[f"{value} count"].unique()}
    quantile = counts.replace_strict(quantiles, return_dtype=pl.Float64) if quantiles else pl.lit(None, pl.Float64)
    return quantile * pl.col(f"{value} deviation") / counts.sqrt()


def mean_of(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Mean and half width of some values; None where there are too few."""
    if not values:
        return None, None
    mean, n = math.fsum(values) / len(values), len(values)
    quantile = student_quantile(n)
    if quantile is None:
        return mean, None
    return mean, quantile * math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1) / n)


def sum_width(*widths: float | None) -> float | None:
    """The half width of a sum of independent means; None where one of them has none."""
    given = [width for width in widths if width is not None]
    return math.hypot(*given) if len(given) == len(widths) else None


def quotient(above: str, above_ci: str, below: str, below_ci: str) -> tuple[pl.Expr, pl.Expr]:
    """The quotient of two independent means, by the names of their columns, and its half width; none of 0."""
    divisor = pl.when(pl.col(below) != 0).then(pl.col(below))
    value = pl.col(above) / divisor
    return value, (pl.col(above_ci) ** 2 + (value * pl.col(below_ci)) ** 2).sqrt() / divisor.abs()
