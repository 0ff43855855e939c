"""How uncertain execution times and powers are, from a table of samples that were measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from joulewise.errors import raise_if_any
from joulewise.model import System
from joulewise.model.arrays import Counts, Floats
from joulewise.model.chances import Chances
from joulewise.worlds.assignments.chances import powers_of
from joulewise.worlds.frames import InputColumn, InputTable, read_table

SAMPLE_COLUMNS = (
    InputColumn("task_type", "", "name of the task type", True),
    InputColumn("machine_type", "", "name of the machine type it ran on", True),
    InputColumn("pstate", "", "number of the P-state it ran in; 0 if empty"),
    InputColumn("time_s", "s", "execution time that was measured", True),
    InputColumn("power_w", "W", "power that was measured", True),
)


def read_chances(name: str, system: System, folder: Path = Path(), points: int = 64) -> tuple[Chances, System]:
    """Chances from a table of measured samples, and the system with their means.

    All samples of a choice are equally likely; what has no samples stays as certain as the system says. Raises
    InputError with every problem found.
    """
    power_w = powers_of(system)
    table = read_table(name, folder)
    table.check_columns(SAMPLE_COLUMNS)
    raise_if_any(table.problems)
    cells = _cells(table, system)
    columns = [table.quantity(column, positive=column.unit == "s") for column in SAMPLE_COLUMNS[3:]]
    raise_if_any(table.problems)
    tables = [
        _with_samples(means, cells, values, points)
        for means, values in zip((system.etc_s, power_w), columns, strict=True)
    ]
    time_s, power_w = (np.where(np.isfinite(each), each, np.inf) for each in tables)
    means = replace(system, etc_s=_mean(time_s), power_w=np.where(np.isfinite(system.etc_s), _mean(power_w), 0.0))
    return Chances(time_s, power_w), means


def _mean(points: Floats) -> Floats:
    return np.asarray(points.mean(axis=-1))


def _cells(table: InputTable, system: System) -> Counts:
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
