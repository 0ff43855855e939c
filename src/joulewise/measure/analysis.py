"""What follows from observations: slowdowns, classes, whether they add up, clocks, powers and energies."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from joulewise.measure.analysis_columns import TABLES, table


@dataclass(frozen=True)
class Additivity:
    """How well slowdowns of pairs, added up, foretell those of larger groups; errors are predicted less measured.

    `n` counts members of groups of three and more at each clock. `share_held` of them are foretold within the interval
    of the error. `verdict` is "additive" if the mean error's interval holds 0 or the mean error is within
    `additive.CLOSE`; else "overestimates" or "underestimates"; "not tested" without such groups.
    """

    n: int = 0
    mean_error: float | None = None
    mean_error_ci: float | None = None
    mean_absolute_error: float | None = None
    share_held: float | None = None
    verdict: str = "not tested"


@dataclass(frozen=True, eq=False)
class Analysis:
    """The tables of `analysis_columns.TABLES`, the rows they were made of, and what could not be told.

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


def analyse(observations: pl.DataFrame, idle: pl.DataFrame | None = None, n_classes: int = 3) -> Analysis:
    """Everything that follows from observations (`observations.COLUMNS`).

    `idle`, if power was read with nothing running, has the columns clock and idle_w, one row for each reading.
    """
    del idle, n_classes
    tables = {name: table(columns) for name, columns in TABLES.items()}
    return Analysis(observations, observations.clear(), **tables, additivity=Additivity(), missing=())
