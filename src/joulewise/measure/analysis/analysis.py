"""What follows from observations: slowdowns, classes, whether they add up, clocks, powers and energies."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from joulewise.measure.analysis.additive import Additivity, additive_table, fitted_table, judged
from joulewise.measure.analysis.clock_scaling import scaling_table
from joulewise.measure.analysis.columns import shaped
from joulewise.measure.analysis.intensity import N_CLASSES, program_table
from joulewise.measure.analysis.missing import missing
from joulewise.measure.analysis.outliers import divided, with_outliers
from joulewise.measure.analysis.powers import power_table
from joulewise.measure.analysis.slowdowns import (
    alone_table,
    class_table,
    company_table,
    groups_of,
    member_table,
    pair_table,
    readings,
)
from joulewise.measure.analysis.together import best_clock_table, together_table
from joulewise.measure.bench.observations import COLUMNS


@dataclass(frozen=True, eq=False)
class Analysis:
    """The tables of `analysis_columns.TABLES`, the rows they were made of, and what could not be found out.

    `left_out` are observations that were not used, with the reason in the column `why`. `missing` says in words what
    could not be analysed and why.
    """

    observations: pl.DataFrame
    left_out: pl.DataFrame
    alone: pl.DataFrame
    members: pl.DataFrame
    pairs: pl.DataFrame
    programs: pl.DataFrame
    by_class: pl.DataFrame
    fitted: pl.DataFrame
    additive: pl.DataFrame
    additivity: Additivity
    scaling: pl.DataFrame
    powers: pl.DataFrame
    together: pl.DataFrame
    best_clock: pl.DataFrame
    missing: tuple[str, ...]


def analyse(observations: pl.DataFrame, idle: pl.DataFrame | None = None, n_classes: int = N_CLASSES) -> Analysis:
    """Everything that follows from observations (`observations.COLUMNS`).

    `idle`, if power was read with nothing running, has the columns clock and idle_w, one row for each reading. Outliers
    are found by the rule of `outliers` where the observations do not say which runs are.
    """
    marked = with_outliers(shaped(observations, COLUMNS))
    used, left_out = divided(marked)
    rows, groups = readings(used), groups_of(marked)
    alone = alone_table(rows)
    company = company_table(rows, alone)
    pairs = pair_table(company, groups)
    programs = program_table(rows, pairs, n_classes)
    classes = dict(programs.drop_nulls("class").select("program", "class").iter_rows())
    additive = additive_table(company, groups)
    members, powers = member_table(rows, alone), power_table(rows, alone, idle, groups)
    together = together_table(used, alone, groups)
    tables = {
        "alone": alone,
        "members": members,
        "pairs": pairs,
        "programs": programs,
        "by_class": class_table(pairs, classes),
        "fitted": fitted_table(company, groups),
        "additive": additive,
        "scaling": scaling_table(used),
        "powers": powers,
        "together": together,
        "best_clock": best_clock_table(members, alone, powers, together),
    }
    ordered = {name: _ordered(frame) for name, frame in tables.items()}
    return Analysis(used, left_out, **ordered, additivity=judged(additive), missing=missing(used, tables))


_ORDER = {"size": False, "group": False, "program": False, "beside": False, "clock_mhz": True, "clock": False,
          "way": False}  # fmt: skip
"""Columns by which tables are sorted, and whether the highest comes first."""


def _ordered(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows by group, program and clock, whatever the order of runs was; tables of classes have theirs already."""
    if "program" not in frame.columns and "group" not in frame.columns:
        return frame
    keys = [name for name in _ORDER if name in frame.columns]
    return frame.sort(keys, descending=[_ORDER[name] for name in keys], nulls_last=True, maintain_order=True)
