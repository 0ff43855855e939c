"""What came out for policies on a set of worlds: a row for each policy, world and trial."""

from __future__ import annotations

import polars as pl

from joulewise.study.answers.results import Results
from joulewise.study.arena.foresight import NOT_LOOKED

N_SLICES = 8
_DAY_S = 86_400.0
_SLICE_S = _DAY_S / N_SLICES
RUN = ("policy", "world", "trial")
"""What tells rows of a set apart."""
ROWS = pl.Schema({
    "policy": pl.String(), "world": pl.String(), "trial": pl.Int64(), "utility": pl.Float64(),
    "utility_bound": pl.Float64(), "slices": pl.List(pl.Float64), "event_ms": pl.Float64(), "error": pl.String(),
    "foresight": pl.String(),
})  # fmt: skip
"""The columns: `slices` are the percent of the bound that were earned in each three hours of the day, `event_ms` what a
mapping event took, `error` why there is no result, and `foresight` what was decided by what was still to come, of one
trial of each world.
"""
OF_COMPUTER = "event_ms"
"""The column that measures the computer."""
_EARNED = "utility_cumulative"


def rows_of(results: Results, foresight: pl.DataFrame = NOT_LOOKED) -> pl.DataFrame:
    """The rows of results of a set, with the foresight that was found."""
    kind = results.study.kind
    (table,) = (column.table for column in kind.columns if column.name == _EARNED)
    there = results.runs.lazy()
    missing = [pl.lit(None).alias(name) for name in _CAME_OUT if name not in results.columns]
    earned = results.details(table).lazy().group_by("run").agg(slices=_gains(results, table))
    rows = there.with_columns(missing)
    for found in (earned, foresight.lazy()):
        rows = rows.join(found, on="run", how="left", maintain_order="left")
    share = pl.when(pl.col("utility_bound") > 0).then(100 / pl.col("utility_bound"))
    is_beyond = (pl.col("utility") > (1 + _ROUNDING) * pl.col("utility_bound")).fill_null(value=False)
    error = pl.when(is_beyond).then(pl.lit(_BEYOND)).otherwise("error")
    event_ms = 1e3 * pl.col("mapping_s") / pl.col("mapping_events")
    return rows.select(
        policy=kind.main_axis, world="variant", trial="trial", utility=pl.when(~is_beyond).then("utility"),
        utility_bound="utility_bound", slices=pl.when(~is_beyond).then(pl.col("slices") * share),
        event_ms=event_ms.fill_nan(None), error=error, foresight="foresight",
    ).cast(ROWS).collect()  # fmt: skip


_ROUNDING = 1e-9
_BEYOND = "it claims more than the proven bound: nobody can earn that in this world"
_CAME_OUT = ("utility", "utility_bound", "mapping_s", "mapping_events")


def _gains(results: Results, table: str) -> pl.Expr:
    """The utility that a run earned in each slice of the day, summed over days."""
    has_steps = (table, "step_s") in [(column.table, column.name) for column in results.study.kind.columns]
    ends = (pl.col("at_s") + (pl.col("step_s") if has_steps else 0.0)) % _DAY_S
    gain = pl.col(_EARNED).diff().fill_null(pl.col(_EARNED))
    at = ((ends / _SLICE_S).ceil() - 1) % N_SLICES
    return pl.concat_list(gain.filter(at == number).sum() for number in range(N_SLICES))
