"""Static and dynamic power: what the machine draws whatever runs, and what each program adds to it.

Static power is the power that was read with nothing running. Where it was not read, it follows from groups: if powers
add up, programs together draw less than each alone by one static power for every further member.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from joulewise.confidence import student_quantile
from joulewise.measure.analysis.columns import POWERS, table
from joulewise.measure.analysis.estimates import mean_of, sum_width

IDLE, GROUPS = "idle", "groups"
_ALL_THERE = 0.99
"""Members that the others did not leave before: the power of their run is that of the whole group."""


class _Static(NamedTuple):
    """Static power at a clock, its half width, and what it follows from."""

    watts: float | None = None
    width: float | None = None
    basis: str | None = None


def power_table(
    rows: pl.DataFrame, alone: pl.DataFrame, idle: pl.DataFrame | None, groups: Mapping[str, list[str]]
) -> pl.DataFrame:
    """Powers of programs alone, divided into static and dynamic power where static power is known."""
    statics = {clock: _static(clock, rows, idle, groups) for clock in alone["clock"].unique()}
    measured = alone.drop_nulls("power_w").iter_rows(named=True)
    return table(POWERS, [_divided(row, statics[row["clock"]]) for row in measured])


def _divided(row: Mapping[str, Any], static: _Static) -> dict[str, Any]:
    dynamic_w = None if static.watts is None else row["power_w"] - static.watts
    return {
        **row,
        "static_w": static.watts,
        "static_ci_w": static.width,
        "dynamic_w": dynamic_w,
        "dynamic_ci_w": None if dynamic_w is None else sum_width(row["power_ci_w"], static.width),
        "basis": static.basis,
    }


def _static(clock: str, rows: pl.DataFrame, idle: pl.DataFrame | None, groups: Mapping[str, list[str]]) -> _Static:
    """Static power at one clock, as it was read or else as it fits groups."""
    if idle is not None:
        read = idle.filter(pl.col("clock") == clock)["idle_w"].fill_nan(None).drop_nulls().to_list()
        if read:
            return _Static(*mean_of(read), IDLE)
    return _from_groups(rows.filter(pl.col("clock") == clock), groups)


def _from_groups(rows: pl.DataFrame, groups: Mapping[str, list[str]]) -> _Static:
    """The static power that fits the powers of programs alone and of groups best, if these tell it."""
    is_whole = (pl.col("size") == 1) | (pl.col("company_share").fill_null(1.0) >= _ALL_THERE)
    runs = (
        rows.filter(is_whole & pl.col("power_w").is_not_null())
        .group_by("run", "group", maintain_order=True)
        .agg(pl.col("power_w").mean())
    )
    if runs.is_empty():
        return _Static()
    members = [groups[group] for group in runs["group"]]
    names = sorted({name for group in members for name in group})
    design = np.array([[1.0, *(group.count(name) for name in names)] for group in members])
    n, n_unknown = design.shape
    if np.linalg.matrix_rank(design) < n_unknown:
        return _Static()
    inverse = np.linalg.inv(design.T @ design)
    power_w = runs["power_w"].to_numpy()
    fit = inverse @ design.T @ power_w
    quantile = student_quantile(n - n_unknown + 1)
    rest = power_w - design @ fit
    width = quantile * float(np.sqrt(inverse[0, 0] * (rest @ rest) / (n - n_unknown))) if quantile else None
    return _Static(float(fit[0]), width, GROUPS)
