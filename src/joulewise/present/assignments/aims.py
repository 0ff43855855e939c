"""What a search under uncertainty seeks, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from joulewise.present.assignments.keys import AIM, OBJECTIVE, PERCENTILES
from joulewise.present.formats import plain
from joulewise.present.records import VARIANT, Records

_PERCENTILE = "percentile"


def with_aims(records: Records) -> Records:
    """The records with one key that says what each run seeks, in place of objective and percentiles."""
    aims = [aim_of(row) for row in records.runs.iter_rows(named=True)]
    axes = tuple(key for key in records.study.axes if key not in (OBJECTIVE, *PERCENTILES))
    runs = records.runs.with_columns(pl.Series(AIM, aims, dtype=pl.String))
    seen = replace(records, study=replace(records.study, axes=(*axes, AIM)), runs=runs)
    if not same_groups(seen, AIM, VARIANT):
        return seen
    named = [_named(*row) for row in runs.select(VARIANT, AIM).iter_rows()]
    return replace(seen, runs=runs.with_columns(pl.Series(AIM, named, dtype=pl.String)))


def same_groups(records: Records, key: str, other: str) -> bool:
    """Whether two keys vary together: each value of one goes with one value of the other."""
    n_values = {len(records.values(name)) for name in (key, other)}
    return min(n_values) > 1 and n_values == {records.runs.n_unique([key, other])}


def _named(variant: str, aim: str) -> str:
    """What a run seeks, behind the name that the study gave it."""
    return variant if variant.casefold() == aim.casefold() else f"{variant} ({aim})"


def aim_of(row: Mapping[str, Any]) -> str:
    """What a run with these keys seeks."""
    objective = str(row.get(OBJECTIVE) or "")
    if objective != _PERCENTILE:
        return objective.replace("-", " ")
    utility, energy = (plain(row[key]) for key in PERCENTILES)
    return f"percentile {utility}" if utility == energy else f"percentiles {utility} (utility) and {energy} (energy)"
