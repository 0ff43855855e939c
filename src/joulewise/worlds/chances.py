"""How uncertain execution times and powers are: gamma distributions (Friese 7.3.2), or samples that were measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.special import gammainc, gammaincinv

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.model import System
from joulewise.model.arrays import Counts, Floats
from joulewise.model.chances import Chances
from joulewise.rng import generator
from joulewise.worlds.cov import MAX_COV
from joulewise.worlds.frames import Column, Table, read_table
from joulewise.worlds.parameters import broken_rules, explained

MOST_POINTS = 256
LEAST_COV = 1e-3
"""Below this, times and powers are taken as certain: the points would differ by rounding alone."""

SAMPLE_COLUMNS = (
    Column("task_type", "", "name of the task type", True),
    Column("machine_type", "", "name of the machine type it ran on", True),
    Column("pstate", "", "number of the P-state it ran in; 0 if empty"),
    Column("time_s", "s", "execution time that was measured", True),
    Column("power_w", "W", "power that was measured", True),
)


@dataclass(frozen=True)
class ChanceParameters:
    """How far times and powers vary around their means. Raises InputError with every problem found."""

    time_cov: tuple[float, float] = explained(
        (0.1, 1.5), "range from which the COV of each choice's execution time is drawn; 0: certain"
    )
    power_cov: tuple[float, float] = explained(
        (0.1, 1.5), "range from which the COV of each choice's power is drawn; 0: certain"
    )
    points: int = explained(64, "so many equally likely points stand for each distribution in a search")

    def __post_init__(self) -> None:
        raise_if_any(_value_problems(self))


def _value_problems(p: ChanceParameters) -> Iterator[Problem]:
    allowed = f"must be two coefficients of variation from 0 to {MAX_COV:g}, the lower first"
    rules = [(name, _is_range(getattr(p, name)), allowed) for name in ("time_cov", "power_cov")]
    rules.append(("points", 1 <= p.points <= MOST_POINTS, f"must be from 1 to {MOST_POINTS}"))
    yield from broken_rules("system", p, rules)


def _is_range(covs: tuple[float, ...]) -> bool:
    return len(covs) == 2 and 0 <= covs[0] <= covs[1] <= MAX_COV


def gamma_chances(system: System, parameters: ChanceParameters, seed: int, trial: int) -> Chances:
    """Gamma distributions around the system's times and powers, each with a COV of its own."""
    power_w, n = _powers(system), parameters.points
    time_cov, power_cov = (
        generator(seed, trial, "chances", name).uniform(low, high, system.etc_s.shape)
        for name, (low, high) in (("time", parameters.time_cov), ("power", parameters.power_cov))
    )
    return Chances(spread(system.etc_s, time_cov, n), spread(power_w, power_cov, n), time_cov, power_cov)


def _powers(system: System) -> Floats:
    """The powers of a system, +inf where a choice cannot be made."""
    if system.power_w is None:
        raise InputError(Problem("system.power_w", "found no powers", "must be given: they vary as the times do"))
    return np.where(np.isfinite(system.etc_s), system.power_w, np.inf)


def spread(mean: Floats, cov: Floats, n_points: int) -> Floats:
    """Points `[..., point]` of gamma distributions: the means of slices of equal probability, +inf where those are."""
    uncertain = np.isfinite(mean) & (cov >= LEAST_COV)
    points = np.repeat(mean[..., None], n_points, axis=-1)
    shape = 1.0 / cov[uncertain][:, None] ** 2
    edges = gammaincinv(shape, np.linspace(0.0, 1.0, n_points + 1))
    slices = np.diff(gammainc(shape + 1.0, edges), axis=-1) * n_points
    points[uncertain] = mean[uncertain][:, None] * np.maximum.accumulate(slices, axis=-1)
    return points


def read_chances(name: str, system: System, folder: Path = Path(), points: int = 64) -> tuple[Chances, System]:
    """Chances from a table of measured samples, and the system with their means.

    All samples of a choice are equally likely; what has no samples stays as certain as the system says. Raises
    InputError with every problem found.
    """
    power_w = _powers(system)
    table = read_table(name, folder)
    table.check_columns(SAMPLE_COLUMNS)
    raise_if_any(table.problems)
    cells = _cells(table, system)
    columns = [table.quantity(column, positive=column.unit == "s") for column in SAMPLE_COLUMNS[3:]]
    raise_if_any(table.problems)
    found = [
        _with_samples(means, cells, values, points)
        for means, values in zip((system.etc_s, power_w), columns, strict=True)
    ]
    time_s, power_w = (np.where(np.isfinite(each), each, np.inf) for each in found)
    means = replace(system, etc_s=_mean(time_s), power_w=np.where(np.isfinite(system.etc_s), _mean(power_w), 0.0))
    return Chances(time_s, power_w), means


def _mean(points: Floats) -> Floats:
    return np.asarray(points.mean(axis=-1))


def _cells(table: Table, system: System) -> Counts:
    """The place of each row's choice in the system's flattened tables."""
    task_type = table.codes("task_type", system.task_types, "task type")
    machine_type = table.codes("machine_type", system.machine_types, "machine type")
    pstate = table.quantity(SAMPLE_COLUMNS[2], 0.0)
    is_known = np.isin(pstate, np.arange(system.n_pstates))
    table.report_rows("pstate", ~is_known & np.isfinite(pstate), f"must be from 0 to {system.n_pstates - 1}")
    raise_if_any(table.problems)
    cells = np.ravel_multi_index((task_type, machine_type, pstate.astype(np.int64)), system.etc_s.shape)
    impossible = ~np.isfinite(system.etc_s.ravel()[cells])
    table.report_rows("machine_type", impossible, "must be able to run the task type in this P-state")
    return np.asarray(cells, np.int64)


def _with_samples(means: Floats, cells: Counts, values: Floats, n_points: int) -> Floats:
    """Points of all choices: of their samples, or of their mean where there are none."""
    points = np.repeat(means.reshape(-1, 1), n_points, axis=1)
    for cell in np.unique(cells):
        points[cell] = slice_means(np.sort(values[cells == cell]), n_points)
    return points.reshape(*means.shape, n_points)


def slice_means(ordered: Floats, n_points: int) -> Floats:
    """The means of slices of equal probability of equally likely values, given in rising order."""
    share = np.linspace(0.0, ordered.size, n_points + 1)
    sums = np.interp(share, np.arange(ordered.size + 1), np.append(0.0, np.cumsum(ordered)))
    return np.maximum.accumulate(np.diff(sums) * n_points / ordered.size)
