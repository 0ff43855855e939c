"""Detail tables of one run: a record for each task, and the utility earned over time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from joulewise.model import Allocation, Status

if TYPE_CHECKING:
    import polars as pl

    from joulewise.model import World

STEP_S = 60.0
MAX_STEPS = 2880
"""A trace has a point each minute, or fewer on windows longer than two days."""

_FATES = {Status.WAITING: "waiting", Status.RAN: "ran", Status.DROPPED: "dropped"}


def records(world: World, allocation: Allocation) -> pl.DataFrame:
    """One row per task in order of arrival; what a task never had is null."""
    import polars as pl

    from joulewise.simulate.measures import earned_utility

    work, ran = world.workload, allocation.ran
    machine = np.where(ran, allocation.machine, 0)
    machine_type = np.where(ran, world.system.machine_type[machine], 0)
    table = pl.DataFrame(
        {
            "task": np.arange(work.n_tasks, dtype=np.int32),
            "task_type": _names(world.system.task_types, work.task_type),
            **{name: _names(tag.names, tag.codes) for name, tag in work.tags.items()},
            "arrival_s": work.arrival_s,
            "fate": _names(tuple(_FATES.values()), allocation.status),
            "machine": machine,
            "machine_type": _names(world.system.machine_types, machine_type),
            "pstate": allocation.pstate,
            "start_s": allocation.start_s,
            "end_s": allocation.end_s,
            "utility": earned_utility(world, allocation),
        }
    )
    when_ran = ("machine", "machine_type", "pstate", "start_s", "end_s", "utility")
    keep = pl.Series(ran)
    return table.with_columns(pl.when(keep).then(pl.col(name)).alias(name) for name in when_ran)


def allocation_of(table: pl.DataFrame) -> Allocation:
    """The allocation that a table of records describes."""
    codes = {name: int(status) for status, name in _FATES.items()}
    return Allocation(
        machine=table["machine"].fill_null(-1).to_numpy(),
        pstate=table["pstate"].fill_null(-1).to_numpy(),
        start_s=table["start_s"].fill_null(math.nan).to_numpy(),
        end_s=table["end_s"].fill_null(math.nan).to_numpy(),
        status=np.array([codes[fate] for fate in table["fate"]], dtype=np.int8),
    )


def trace(world: World, allocation: Allocation) -> pl.DataFrame:
    """Utility earned in the counted window up to `at_s`, from its start to its end (or the last task's)."""
    import polars as pl

    from joulewise.simulate.measures import earned_utility

    work, ran = world.workload, allocation.ran
    end_s = np.sort(allocation.end_s[ran])
    until_s = work.end_s if math.isfinite(work.end_s) else float(end_s[-1]) if end_s.size else work.start_s
    n_steps = int(np.clip(math.ceil((until_s - work.start_s) / STEP_S), 1, MAX_STEPS))
    at_s = np.linspace(work.start_s, until_s, n_steps + 1)
    utility = earned_utility(world, allocation)[ran]
    order = np.argsort(allocation.end_s[ran], kind="stable")
    total = np.concatenate(([0.0], np.cumsum(utility[order])))
    reached = np.searchsorted(end_s, at_s, side="right")
    return pl.DataFrame({"at_s": at_s, "utility_cumulative": total[reached]})


def _names(names: tuple[str, ...], codes: np.ndarray) -> pl.Series:
    """Codes as names, stored once each."""
    import polars as pl

    return pl.Series(codes.astype(np.uint32)).cat.to(pl.Enum(names))
