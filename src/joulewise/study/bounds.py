"""Words on the bound of utility that runs over time are held against."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

TRIVIAL, PREEMPTIVE = "trivial", "preemptive-prices"
"""Bounds by reasoning on each task alone, and by prices where tasks or jobs may run in pieces."""


def of_trivial_bounds(runs: pl.DataFrame, tasks: str) -> Iterator[str]:
    """What it means that runs have a trivial bound, if any has."""
    if TRIVIAL in runs["bound"]:
        yield (
            f"The bound is the trivial one, as if no {tasks} were in the way of others: on a busy system much less is "
            'possible. bound = "prices" in the study proves a tighter one.'
        )
