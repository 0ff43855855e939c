"""Whether slowdowns add up: those of pairs against those of larger groups, and those that fit both best.

A member beside several others is claimed to be slowed by the sum of what each of them does to it alone (Oxley et al.,
III.E), which facilities count with.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from joulewise.measure.analysis.columns import ADDITIVE, FITTED, table
from joulewise.measure.analysis.estimates import mean_of
from joulewise.measure.analysis.slowdowns import neighbours

CLOSE, NEAR = 0.02, 0.10
"""Errors of this much of the time alone are small; those above are not near any more."""
_MOST = 0.9
_ROUNDING = 1e-9

RULE = (
    f"additive: the mean absolute error is at most {100 * CLOSE:g} % of the time alone, or at most {100 * NEAR:g} % "
    f"while at least {100 * _MOST:g} % of the errors are within their intervals and half of one is {100 * NEAR:g} % or "
    f"less on average; nearly additive: at most {100 * NEAR:g} %; unclear: more, but so many errors are within their "
    f"intervals, or there are no intervals; else sums overestimate or underestimate if {100 * _MOST:g} % of the errors "
    "outside their intervals have that sign"
)


@dataclass(frozen=True)
class Additivity:
    """How well slowdowns of pairs, added up, foretell those of larger groups; errors are predicted less measured.

    `n` counts members of groups of three and more, each at the mean over clocks. `share_held` of all are foretold
    within the interval of the error. `verdict` follows `RULE`; it is "not tested" without such groups.
    """

    n: int = 0
    mean_error: float | None = None
    mean_error_ci: float | None = None
    mean_absolute_error: float | None = None
    share_held: float | None = None
    verdict: str = "not tested"


def additive_table(company: pl.DataFrame, groups: Mapping[str, list[str]]) -> pl.DataFrame:
    """Members of groups of three and more: their slowdown, and the sum of those in pairs at the same clock."""
    in_pairs = {
        (row["program"], neighbours(groups[row["group"]], row["program"])[0], row["clock"]): row
        for row in company.filter(pl.col("size") == 2).iter_rows(named=True)
    }
    rows = [_compared(row, in_pairs, groups) for row in company.filter(pl.col("size") > 2).iter_rows(named=True)]
    return table(ADDITIVE, rows)


def judged(additive: pl.DataFrame) -> Additivity:
    """How far predictions are off, and the verdict."""
    compared = additive.drop_nulls("error")
    if compared.is_empty():
        return Additivity()
    errors = compared.group_by("group", "program", maintain_order=True).agg(pl.col("error").mean())["error"].to_list()
    mean, width = mean_of(errors)
    absolute = float(np.mean(np.abs(errors)))
    sure = compared.drop_nulls("error_ci")
    beyond = sure.filter(pl.col("error").abs() > pl.col("error_ci"))["error"].to_list()
    held = 1 - len(beyond) / sure.height if sure.height else None
    half = float(sure["error_ci"].to_numpy().mean()) if held is not None else None
    return Additivity(len(errors), mean, width, absolute, held, _verdict(absolute, held, half, beyond))


def fitted_table(company: pl.DataFrame, groups: Mapping[str, list[str]]) -> pl.DataFrame:
    """Slowdowns by one neighbour that fit pairs and groups best; missing where these do not tell neighbours apart.

    The interval is passed on from those of the times that were measured: how well sums fit is another question.
    """
    rows: list[dict[str, Any]] = []
    for (program, clock), met in company.partition_by("program", "clock", as_dict=True, maintain_order=True).items():
        rows += _fitted(str(program), str(clock), met, groups)
    return table(FITTED, rows)


def _compared(
    row: Mapping[str, Any],
    in_pairs: Mapping[tuple[str, str, str], Mapping[str, Any]],
    groups: Mapping[str, list[str]],
) -> dict[str, Any]:
    """A member's slowdown beside its prediction, if all its pairs were measured."""
    beside = neighbours(groups[row["group"]], row["program"])
    parts = {other: in_pairs.get((row["program"], other, row["clock"])) for other in beside}
    measured = {**row, "measured": row["slowdown"], "measured_ci": row["slowdown_ci"]}
    if not all(parts.values()):
        return measured
    summed = [(beside.count(other), part) for other, part in parts.items() if part]
    predicted, predicted_ci = _weighted(summed)
    error, error_ci = _weighted([*summed, (-1, row)])
    return {**measured, "predicted": predicted, "predicted_ci": predicted_ci, "error": error, "error_ci": error_ci}


def _weighted(parts: Sequence[tuple[int, Mapping[str, Any]]]) -> tuple[float, float | None]:
    """A weighted sum of slowdowns of one program at one clock, with its half width: they share one time alone."""
    value = sum(n * part["slowdown"] for n, part in parts)
    if any(part["slowdown_ci"] is None for _, part in parts):
        return value, None
    return value, math.hypot(
        *(n * part["own_ci"] for n, part in parts), sum(n * part["alone_part"] for n, part in parts)
    )


def _verdict(absolute: float, held: float | None, half: float | None, beyond: Sequence[float]) -> str:
    """The verdict by the rule; `half` of an interval on average, `beyond` are the errors outside of theirs."""
    if held is None or half is None:
        return "unclear"
    is_held, is_sharp = held >= _MOST, half <= NEAR
    share_above = sum(error > 0 for error in beyond) / len(beyond) if beyond else 0.5
    cases = (
        (absolute <= CLOSE or (absolute <= NEAR and is_held and is_sharp), "additive"),
        (absolute <= NEAR, "nearly additive"),
        (is_held, "unclear"),
        (share_above >= _MOST, "overestimates"),
        (share_above <= 1 - _MOST, "underestimates"),
    )
    return next((verdict for is_so, verdict in cases if is_so), "not additive")


def _fitted(program: str, clock: str, met: pl.DataFrame, groups: Mapping[str, list[str]]) -> list[dict[str, Any]]:
    """The least-squares slowdowns of one program at one clock."""
    beside = [neighbours(groups[group], program) for group in met["group"]]
    others = sorted({other for group in beside for other in group})
    counts = np.array([[group.count(other) for other in others] for group in beside], float)
    inverse = np.linalg.pinv(counts)
    slowdown = inverse @ met["slowdown"].to_numpy()
    own, alone = (
        np.where(inverse == 0, 0.0, inverse * met[name].cast(pl.Float64).fill_null(np.nan).to_numpy())
        for name in ("own_ci", "alone_part")
    )
    width = np.sqrt((own**2).sum(axis=1) + alone.sum(axis=1) ** 2)
    is_determined = np.abs(np.diag(inverse @ counts) - 1) < _ROUNDING
    fitted = np.where(is_determined, (slowdown, width), np.nan).T.tolist()
    n_met = (counts > 0).sum(axis=0).tolist()
    return [
        {"program": program, "beside": other, "clock": clock, "n": n, "slowdown": value, "slowdown_ci": value_ci}
        for other, n, (value, value_ci) in zip(others, n_met, fitted)
    ]
