"""Detail tables of one run: a record for each task, lost and suspended runs, and utility and energy over time."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from joulewise.model import Allocation, Status
from joulewise.model.allocation import NO_BROKEN_RUNS, BrokenRuns
from joulewise.study.spec.column import LOSSES, PIECES, RECORDS
from joulewise.study.store.store import Tables
from joulewise.study.store.tables import named

if TYPE_CHECKING:
    import polars as pl

    from joulewise.model import World
    from joulewise.model.arrays import Floats

STEP_S = 60.0
MAX_STEPS = 2880
"""A trace has a point each minute, or fewer on windows longer than two days."""

_FATES = {status: status.name.lower() for status in Status}


def records(world: World, allocation: Allocation) -> pl.DataFrame:
    """One row per task in order of arrival; what a task never had is null."""
    import polars as pl

    from joulewise.simulate.tasks.measures import earned_utility, used_energy_j

    work, used = world.workload, allocation.used
    machine = np.where(used, allocation.machine, 0)
    machine_type = np.where(used, world.system.machine_type[machine], 0)
    table = pl.DataFrame(
        {
            "task": np.arange(work.n_tasks, dtype=np.int32),
            "task_type": named(world.system.task_types, work.task_type),
            **{name: named(tag.names, tag.codes) for name, tag in work.tags.items()},
            "arrival_s": work.arrival_s,
            "fate": named(tuple(_FATES.values()), allocation.status),
            "machine": machine,
            "machine_type": named(world.system.machine_types, machine_type),
            "pstate": allocation.pstate,
            "start_s": allocation.start_s,
            "end_s": allocation.end_s,
            "utility": earned_utility(world, allocation),
            "energy_j": used_energy_j(world, allocation),
        }
    )
    when_run = ("machine", "machine_type", "pstate", "start_s", "end_s", "utility", "energy_j")
    keep = pl.Series(used)
    return table.with_columns(pl.when(keep).then(pl.col(name)).alias(name) for name in when_run).with_columns(
        pl.col("energy_j").fill_nan(None)
    )


def broken_tables(world: World, allocation: Allocation) -> Tables:
    """One row per run that an outage ended, and one per stretch after which another task took the machine."""
    parts = {LOSSES: allocation.lost, PIECES: allocation.pieces}
    return {name: _broken(world, part) for name, part in parts.items() if part.task.size}


def _broken(world: World, runs: BrokenRuns) -> pl.DataFrame:
    import polars as pl

    system = world.system
    return pl.DataFrame(
        {
            "task": runs.task,
            "task_type": named(system.task_types, world.workload.task_type[runs.task]),
            "machine": runs.machine,
            "machine_type": named(system.machine_types, system.machine_type[runs.machine]),
            "pstate": runs.pstate,
            "start_s": runs.start_s,
            "end_s": runs.end_s,
        }
    )


def allocation_of(tables: Tables) -> Allocation:
    """The allocation that a table of records describes, with the runs that did not complete tasks in others."""
    table = tables[RECORDS]
    codes = {name: int(status) for status, name in _FATES.items()}
    return Allocation(
        machine=table["machine"].fill_null(-1).to_numpy(),
        pstate=table["pstate"].fill_null(-1).to_numpy(),
        start_s=table["start_s"].fill_null(math.nan).to_numpy(),
        end_s=table["end_s"].fill_null(math.nan).to_numpy(),
        status=np.array([codes[fate] for fate in table["fate"]], dtype=np.int8),
        lost=_broken_of(tables.get(LOSSES)),
        pieces=_broken_of(tables.get(PIECES)),
    )


def _broken_of(table: pl.DataFrame | None) -> BrokenRuns:
    if table is None:
        return NO_BROKEN_RUNS
    return BrokenRuns(**{each.name: table[each.name].to_numpy() for each in fields(BrokenRuns)})


def trace(world: World, allocation: Allocation) -> pl.DataFrame:
    """Utility earned and energy used in the counted window up to `at_s`, from its start to its end."""
    import polars as pl

    from joulewise.simulate.meter import budget_until_j
    from joulewise.simulate.tasks.measures import earned_utility, window_end_s

    start_s, last_s = world.workload.start_s, window_end_s(world, allocation)
    n_steps = int(np.clip(math.ceil((last_s - start_s) / STEP_S), 1, MAX_STEPS))
    at_s = np.linspace(start_s, last_s, n_steps + 1)
    ran = np.flatnonzero(allocation.ran)
    earned_at_s = np.minimum(allocation.end_s[ran], last_s)
    order = np.argsort(earned_at_s, kind="stable")
    total = np.concatenate(([0.0], np.cumsum(earned_utility(world, allocation)[ran][order])))
    reached = np.searchsorted(earned_at_s[order], at_s, side="right")
    columns = {
        "at_s": at_s,
        "utility_cumulative": total[reached],
        "energy_cumulative_j": _energy_until_j(world, allocation, at_s),
        "budget_cumulative_j": budget_until_j(world.supply, world.workload, at_s, last_s),
    }
    numbers = pl.DataFrame(columns)
    return numbers.with_columns(pl.when(pl.all().is_finite()).then(pl.all()))


def _energy_until_j(world: World, allocation: Allocation, at_s: Floats) -> Floats:
    """The energy used in the counted window up to these instants; NaN without power figures."""
    from joulewise.simulate.tasks.measures import all_draws

    if world.system.power_w is None:
        return np.full(at_s.size, math.nan)
    return all_draws(world, allocation).energy_until_j(at_s)
