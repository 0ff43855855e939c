"""Words on the bound of utility that runs over time are held against."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

TRIVIAL, PRICES, PREEMPTIVE = "trivial", "prices", "preemptive-prices"
"""Bounds by reasoning on each task alone, by prices, and by prices where tasks or jobs may run in pieces."""


def of_bounds(runs: pl.DataFrame, tasks: str) -> Iterator[str]:
    """Which bounds say what is possible, and what it means that one is trivial."""
    found = set(runs["bound"])
    if PRICES in found:
        yield f"What is possible is proven by prices for time: no schedule of these {tasks} earns more."
    if PREEMPTIVE in found:
        yield f"Where {tasks} may be suspended, prices for time prove that none which runs them in pieces earns more."
    if TRIVIAL in runs["bound"]:
        yield (
            f"The bound is the trivial one, as if no {tasks} were in the way of others: on a busy system much less is "
            'possible. bound = "prices" in the study proves a tighter one.'
        )
