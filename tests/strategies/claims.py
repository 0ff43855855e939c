"""Claims of the catalogue judged on made-up runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

import polars as pl

from joulewise.study import plan
from joulewise.study.catalogue import EXPERIMENTS, Claim
from joulewise.verdicts import LEAST_TRIALS

Cells = Mapping[str, Any]
Metrics = dict[str, float]
Table = Callable[[Cells], Metrics]
"""From the settings of a run to its metrics."""
_OF_TRIAL = ("run", "world", "trial", "seed")


@cache
def cells_of(experiment: str) -> list[dict[str, Any]]:
    """What is run in an experiment, run by run."""
    return [run.cells() for run in plan(EXPERIMENTS[experiment].study(LEAST_TRIALS))]


def runs_of(experiment: str, table: Callable[[Cells], Mapping[str, float | None]]) -> pl.DataFrame:
    """The runs of an experiment with these metrics, a trifle different in each trial, so that there are intervals.

    Runs that differ in their trial alone have the same `point`.
    """
    rows, points = [], dict[str, int]()
    for cells in cells_of(experiment):
        settings = repr([item for item in cells.items() if item[0] not in _OF_TRIAL])
        metrics = {name: _wobbled(cells["trial"], value) for name, value in table(cells).items()}
        rows.append({**cells, "point": points.setdefault(settings, len(points)), **metrics})
    return pl.DataFrame(rows, infer_schema_length=None)


def _wobbled(trial: int, value: float | None) -> float | None:
    return None if value is None else (1 + 1e-6 * math.sin(3 * trial)) * value


def verdicts(experiment: str, table: Table) -> dict[str, str]:
    """The verdict on each claim if every run had these metrics."""
    found = EXPERIMENTS[experiment].findings(runs_of(experiment, table))
    return {finding.claim: finding.verdict for finding in found}


def can_fail(claim: Claim, runs: pl.DataFrame, metrics: Sequence[str]) -> bool:
    """Whether some alteration of the records refutes a claim."""
    return any(claim.judge(altered)[1] == "not reproduced" for altered in alterations(runs, metrics))


def alterations(runs: pl.DataFrame, metrics: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Runs in which metrics are turned round, or one is much less or more, everywhere or at one point of the study."""
    for several in (metrics, *([metric] for metric in metrics)):
        yield runs.with_columns(_turned(*several))
    for is_there in (pl.lit(True), *(pl.col("point") == at for at in runs["point"].unique(maintain_order=True))):
        for metric, sign in product(metrics, (-1, 1)):
            value, shift = pl.col(metric), 10 * max(float(runs[metric].abs().max()), 1.0)  # type: ignore[arg-type]
            yield runs.with_columns(pl.when(is_there).then(value + sign * shift).otherwise(value))


def _turned(*metrics: str) -> pl.Expr:
    """The least where the most was, and the other way round."""
    value = pl.col(metrics)
    return value.max() + value.min() - value
