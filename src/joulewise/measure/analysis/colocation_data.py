"""Measured throughputs of pairs on one processor as observations, so that they go through the same analysis.

The time of a step takes the place of the time of a program, the model of the GPU that of the clock. Pairs that do not
fit together are runs with a problem. Throughputs were measured once, so that nothing has an interval; and
slowdowns below 0 were read as 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement
from typing import Any

import polars as pl

from joulewise.measure.analysis.columns import table
from joulewise.measure.bench.bench import group_name
from joulewise.measure.bench.observations import COLUMNS
from joulewise.worlds.facility.colocation import DOES_NOT_FIT, Colocation

_UNFIT = "does not fit together"


def colocation_observations(colocation: Colocation) -> pl.DataFrame:
    """Jobs alone and in pairs on each GPU, as the table of the laboratory."""
    rows = [row for gpu in range(len(colocation.gpus)) for row in _rows(colocation, gpu)]
    return table(COLUMNS, rows)


def _rows(colocation: Colocation, gpu: int) -> Iterator[dict[str, Any]]:
    per_s = colocation.steps_per_s[:, gpu]
    able = [job for job in range(len(colocation.jobs)) if per_s[job] > 0]
    for job in able:
        yield from _run(colocation, gpu, {0: (job, 1 / per_s[job])})
    for a, b in combinations_with_replacement(able, 2):
        grown = 1 + colocation.slowdown[gpu, [a, b], [b, a]]
        yield from _run(colocation, gpu, {0: (a, grown[0] / per_s[a]), 1: (b, grown[1] / per_s[b])})


def _run(colocation: Colocation, gpu: int, members: dict[int, tuple[int, float]]) -> Iterator[dict[str, Any]]:
    """One run: for each place a job and the time of its step."""
    names = [colocation.jobs[job] for job, _ in members.values()]
    group = group_name(names)
    jobs = [job for job, _ in members.values()]
    fits = len(names) == 1 or colocation.slowdown[gpu, jobs[0], jobs[1]] < DOES_NOT_FIT
    shared = {
        "run": f"{colocation.gpus[gpu]}: {group}",
        "group": group,
        "size": len(names),
        "way": "restart",
        "clock": colocation.gpus[gpu],
        "repetition": 0,
        "company_share": 1.0,
        "problem": None if fits else _UNFIT,
        "is_outlier": False,
    }
    for place, (_, step_s) in members.items():
        yield {**shared, "place": place, "program": names[place], "wall_s": step_s if fits else None}
