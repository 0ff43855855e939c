"""How heterogeneous a matrix of execution times is: affinity, homogeneity, moments (Friese 3.5.3.2).

TMA, TDH and MPH follow A. M. Al-Qawasmeh et al., "Characterizing task-machine affinity in heterogeneous
computing environments", HCW 2011; they are functions of the speeds, the reciprocals of the times.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from joulewise.errors import Problem, raise_if_any
from joulewise.model import System
from joulewise.model.arrays import Floats
from joulewise.model.supply import DAY_S
from joulewise.worlds.groups import general_part

_TOLERANCE = 1e-11
_MAX_ITERATIONS = 10_000

SYSTEM_MEASURES = {"system_tma": "tma", "system_tdh": "tdh", "system_mph": "mph"}
"""Measures of a system's general-purpose part, by their names as metrics."""


@dataclass(frozen=True)
class Heterogeneity:
    """Measures of one ETC matrix; the moments are over its possible (finite) entries.

    `tma` (task-machine affinity) is 0 when all task types see the same ratios between machine types,
    and 1 when each has a machine type of its own; it is NaN when what cannot run leaves the matrix without a
    standard form, as special-purpose machine types do: leave those out to get it. `tdh`
    (task difficulty homogeneity) and `mph` (machine performance homogeneity) are 1 when all
    are equal. `kurtosis` is 3 for a normal distribution; skewness and kurtosis are NaN when all entries are equal.
    """

    tma: float
    tdh: float
    mph: float
    mean_s: float
    cov: float
    skewness: float
    kurtosis: float


def heterogeneity(etc_s: ArrayLike) -> Heterogeneity:
    """Measure a matrix [task type, machine type] of seconds, +inf where a task type cannot run.

    Raises InputError when it is no such matrix.
    """
    times_s = np.asarray(etc_s, dtype=np.float64)
    raise_if_any(_problems(times_s))
    speed = 1 / times_s
    mean_s, cov, skewness, kurtosis = moments(times_s[np.isfinite(times_s)])
    return Heterogeneity(
        tma=task_machine_affinity(speed),
        tdh=homogeneity(speed.sum(axis=1)),
        mph=homogeneity(speed.sum(axis=0)),
        mean_s=mean_s,
        cov=cov,
        skewness=skewness,
        kurtosis=kurtosis,
    )


def heterogeneity_metrics(system: System) -> dict[str, float]:
    """TMA, TDH and MPH of the general-purpose part in P-state 0, as metrics of a run; NaN where there is none."""
    rows, columns = general_part(system)
    if not rows.size:
        return dict.fromkeys(SYSTEM_MEASURES, float("nan"))
    measured = heterogeneity(system.etc_s[rows][:, columns, 0])
    return {name: getattr(measured, measure) for name, measure in SYSTEM_MEASURES.items()}


def tasks_per_day(system: System) -> float:
    """How many tasks the machines can run in 24 h, each at its mean time over what it can run."""
    times_s = np.where(np.isfinite(system.etc_s), system.etc_s, np.nan)
    can_run = ~np.isnan(times_s).all(axis=(0, 2))
    return float((system.counts[can_run] * DAY_S / np.nanmean(times_s[:, can_run], axis=(0, 2))).sum())


def moments(values: Floats) -> tuple[float, float, float, float]:
    """Mean, coefficient of variation, skewness and kurtosis of a population."""
    mean, deviation = float(values.mean()), float(values.std())
    if deviation <= 1e-14 * abs(mean):
        return mean, 0.0, float("nan"), float("nan")
    standard = (values - mean) / deviation
    return mean, deviation / mean, float((standard**3).mean()), float((standard**4).mean())


def homogeneity(performance: Floats) -> float:
    """The mean ratio, smaller over larger, of neighbours in order of performance; 1 for equals or a single one."""
    ordered = np.sort(performance)
    ratios = np.ones(max(ordered.size - 1, 1))
    np.divide(ordered[:-1], ordered[1:], out=ratios[: ordered.size - 1], where=ordered[1:] > 0)
    return float(ratios.mean())


def task_machine_affinity(speed: Floats) -> float:
    """The mean singular value of the standard form without the first, which is 1; 0 when there is no other.

    NaN when there is no standard form.
    """
    standard = standard_form(speed)
    if standard is None:
        return float("nan")
    singular = np.linalg.svd(standard, compute_uv=False)
    return float(singular[1:].mean()) if singular.size > 1 else 0.0


def standard_form(speed: Floats) -> Floats | None:
    """The matrix scaled by rows and columns so that rows sum to sqrt(M/T) and columns to sqrt(T/M).

    None when there is no such form, which needs entries of 0 ("cannot run").
    """
    n_rows, n_columns = speed.shape
    row_sums = np.full(n_rows, np.sqrt(n_columns / n_rows))
    return with_sums(speed, row_sums, np.full(n_columns, np.sqrt(n_rows / n_columns)))


def with_sums(matrix: Floats, row_sums: Floats, column_sums: Floats) -> Floats | None:
    """The matrix scaled by rows and columns to these sums; its task-machine affinity does not change.

    Alternate normalisation; None when it does not converge.
    """
    if not matrix.any(axis=0).all():
        return None
    for _ in range(_MAX_ITERATIONS):
        matrix = matrix * (column_sums / matrix.sum(axis=0))
        rows = matrix.sum(axis=1)
        if np.abs(rows / row_sums - 1).max() < _TOLERANCE:
            return matrix
        matrix = matrix * (row_sums / rows)[:, None]
    return None


def _problems(times_s: Floats) -> Iterator[Problem]:
    if times_s.ndim != 2 or not times_s.size:
        found = f"found an array of shape {times_s.shape}"
        yield Problem("etc_s", found, "must be a matrix [task type, machine type]", "choose one P-state")
        return
    if not (times_s > 0).all():
        yield Problem("etc_s", "found a time that is not above 0 s", "must be above 0 s, or inf")
    for index in np.flatnonzero(~np.isfinite(times_s).any(axis=1)):
        yield Problem("etc_s", f"task type number {index} can run nowhere", advice="leave this task type out")
