"""The time limits of jobs that ask for none, by their partitions."""

from __future__ import annotations

import polars as pl

from joulewise.worlds.jobs.sites.site import SiteTables


def usual_times(tables: SiteTables) -> pl.Expr:
    """The time limit that each job of a log gets from its partition if it asks for none; null where there is none.

    That is the usual one of the partition, or else the longest.
    """
    times = {each.name: _usual_s(each.default_time_s, each.max_time_s) for each in tables.partitions}
    usual = next((each.name for each in tables.partitions if each.default), tables.partitions[0].name)
    return pl.col("partition").replace_strict(times, default=times[usual], return_dtype=pl.Float64)


def _usual_s(default_s: float | None, longest_s: float | None) -> float | None:
    return longest_s if default_s is None else default_s
