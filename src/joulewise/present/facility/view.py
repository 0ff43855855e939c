"""What figures of a facility share: which key tells techniques apart, and which kept plans are shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from joulewise.present.layout import hold
from joulewise.present.records import METHOD, VARIANT, Records
from joulewise.present.views import beside

NODES, CRACS, CORES, RATES, PROGRESS = "nodes", "cracs", "cores", "rates", "progress"
"""The detail tables of a facility."""

CRR = "crr_percent"
BOUND = "bound_percent"
EARNED = "day_earned_percent"
BOUND_NAME = "proven bound"
CRR_TITLE = "co-located reward rate (%)"
PASSES_BOUND = (
    "A day may earn more than its plan and the bound on plans: tasks that are late in a plan, beside the worst of "
    "their neighbours, may be in time in a day, and more tasks may come by chance."
)
SAID_100 = "100 % is earned if every task that arrives is done in time"


def technique_key(records: Records) -> str:
    """The key that tells techniques apart: the variants where each is of one method, else the method."""
    if not records.varies(VARIANT):
        return METHOD
    return VARIANT if records.runs.n_unique([VARIANT, METHOD]) == len(records.values(VARIANT)) else METHOD


def numbers_swept(records: Records) -> list[str]:
    """The swept keys whose values are several numbers."""
    return [key for key in records.varying if records.is_number(key)]


def settings_beside(records: Records, key: str) -> list[str]:
    """The keys that vary beside that of the techniques."""
    return list(beside(records, [key]))


def first_kept(records: Records, table: pl.DataFrame) -> pl.DataFrame:
    """The runs that have rows in a table, one for each point of the study: that of its first kept trial."""
    runs = records.runs.join(table.select("run").unique(), on="run", how="semi", maintain_order="left")
    axes = [key for key in records.study.axes if key in runs.columns]
    ranked = runs.sort("trial", maintain_order=True)
    return ranked.unique(subset=axes, keep="first", maintain_order=True) if axes else ranked.head(1)


def earned_metric(records: Records) -> str:
    """What tells which plan is best: what the day earned where every run had one, else what plans earn steadily."""
    done = records.runs.drop_nulls(CRR)
    return EARNED if EARNED in done.columns and not done[EARNED].null_count() else CRR


def _mean_earned(records: Records, run: dict[str, Any]) -> float:
    """The mean over the trials of what is earned at the point of a run; below all where there is none."""
    there = hold(records.runs, {key: run[key] for key in records.study.axes})
    earned = there[earned_metric(records)].drop_nulls().to_list()
    return sum(earned) / len(earned) if earned else -math.inf


def ranked_runs(records: Records, runs: pl.DataFrame) -> list[dict[str, Any]]:
    """The runs by the mean of what they earn over the trials, the best first."""
    return sorted(runs.iter_rows(named=True), key=lambda run: -_mean_earned(records, run))


def spread_out(things: Sequence[Any], most: int) -> list[Any]:
    """At most this many of these, evenly among them, with the first and the last."""
    if len(things) <= most:
        return list(things)
    return [things[i] for i in np.linspace(0, len(things) - 1, most).round().astype(int)]
