"""How the time of a program goes with the clock: t(f) = fixed + scaled f_highest / f, fitted to relative errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from joulewise.confidence import student_quantile
from joulewise.measure.analysis.columns import SCALING, table
from joulewise.measure.machine.machine import TURBO_STEP_MHZ
from joulewise.measure.meters.seen_clocks import OTHER_CLOCK


def scaling_table(observations: pl.DataFrame) -> pl.DataFrame:
    """Fits of all programs that were measured alone at two or more frequencies."""
    baselines = observations.filter((pl.col("size") == 1) & pl.col("clock_mhz").is_not_null() & ~_is_unknown())
    parts = baselines.partition_by("program", as_dict=True, maintain_order=True)
    fits = [_fit(str(name), part) for (name,), part in parts.items() if part["clock_mhz"].n_unique() > 1]
    return table(SCALING, fits)


def _is_unknown() -> pl.Expr:
    """Whether a run's frequency is not the one asked for: another was seen, or it is a step that stands for turbo."""
    asked = pl.col("clock_mhz")
    is_other = pl.col("notes").fill_null("").str.contains(OTHER_CLOCK, literal=True)
    return is_other | (asked - TURBO_STEP_MHZ).is_in(asked.implode())


def _fit(program: str, runs: pl.DataFrame) -> dict[str, Any]:
    """The fit to runs of one program, with the interval of the share that scales."""
    mhz, wall_s = runs["clock_mhz"].to_numpy(), runs["wall_s"].to_numpy()
    design = np.column_stack([np.ones(mhz.size), mhz.max() / mhz]) / wall_s[:, None]
    inverse = np.linalg.inv(design.T @ design)
    fixed_s, scaled_s = (inverse @ design.sum(axis=0)).tolist()
    rest = 1 - design @ np.array([fixed_s, scaled_s])
    whole_s = fixed_s + scaled_s
    slope = np.array([-scaled_s, fixed_s]) / whole_s**2
    quantile, freedom = student_quantile(mhz.size - 1), mhz.size - 2
    width = quantile * float(np.sqrt(slope @ inverse @ slope * (rest @ rest) / freedom)) if quantile else None
    worst = runs.with_columns(rest=rest).group_by("clock_mhz").agg(pl.col("rest").mean().abs())["rest"].max()
    return {
        "program": program,
        "fixed_s": fixed_s,
        "scaled_s": scaled_s,
        "share_scaled": scaled_s / whole_s,
        "share_ci": width,
        "worst_error": worst,
        "n_clocks": runs["clock_mhz"].n_unique(),
    }
