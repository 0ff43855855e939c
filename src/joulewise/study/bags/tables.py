"""Detail tables of studies of bags: points of fronts, what machines do there, and the counts behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from joulewise.optimise.gap import gap_of
from joulewise.study.store.tables import named

if TYPE_CHECKING:
    import polars as pl

    from joulewise.model.arrays import Floats
    from joulewise.model.bag import Bag, BagAllocation
    from joulewise.optimise.bags.bound import BoundFront


def points_of(allocations: Sequence[BagAllocation]) -> Floats:
    """Energy and makespan of allocations."""
    return np.array([(allocation.energy_j, allocation.makespan_s) for allocation in allocations])


def bound_points(bound: BoundFront) -> Floats:
    """Energy and makespan of the vertices of the bound that none beats in both, by rising energy."""
    return np.column_stack((bound.energy_j, bound.makespan_s))[bound.pareto]


def knee_of(points: Floats) -> int:
    """Which of these points is the knee of their front; some may be dominated, if only by a rounding."""
    from joulewise.optimise.front import front_of, non_dominated

    return int(non_dominated(points)[front_of(points).knee()])


def least_energies_j(bound: BoundFront, makespans_s: Floats) -> Floats:
    """The least energy that is proven for each makespan."""
    return np.array([bound.energy_at(makespan_s) for makespan_s in makespans_s.tolist()])


def gaps_percent(energy_j: Floats, bound_j: Floats) -> Floats:
    """How many percent more energy points use than is proven to be needed; 0 where nothing is but rounding."""
    return 100 * gap_of(energy_j - bound_j, bound_j)


def curve(
    name: str,
    points: Floats,
    bound: BoundFront | None = None,
    *,
    generation: int | None = None,
    profit_per_s: Floats | None = None,
    pue: float = 1.0,
    has_knee: bool = False,
) -> pl.DataFrame:
    """Points, their energies those of the machines, as rows of the table of fronts, with gaps to a bound if given."""
    import polars as pl

    energy_j, makespan_s = points.T
    nothing = np.full(len(points), np.nan)
    bound_j = nothing if bound is None else least_energies_j(bound, makespan_s)
    knee = knee_of(points) if has_knee else -1
    table = pl.DataFrame(
        {
            "curve": pl.Series([name] * len(points), dtype=pl.String),
            "point": np.arange(len(points)),
            "generation": pl.Series([generation] * len(points), dtype=pl.Int64),
            "energy_j": pue * energy_j,
            "makespan_s": makespan_s,
            "mean_power_w": pue * energy_j / makespan_s,
            "energy_bound_j": pue * bound_j,
            "gap_percent": nothing if bound is None else gaps_percent(energy_j, bound_j),
            "profit_per_s": nothing if profit_per_s is None else profit_per_s,
            "is_knee": np.arange(len(points)) == knee,
        }
    )
    numbers = ("energy_bound_j", "gap_percent", "profit_per_s")
    return table.with_columns(pl.col(numbers).fill_nan(None))


def bound_curve(bound: BoundFront, **more: Any) -> pl.DataFrame:
    """The vertices of the bound that none beats in both energy and makespan."""
    return curve("bound", bound_points(bound), has_knee=True, **more)


# --- allocations -------------------------------------------------------------------------------------------------


def counts_table(bag: Bag, allocations: Sequence[BagAllocation]) -> pl.DataFrame:
    """How many tasks of each type each machine runs in each P-state, allocation by allocation."""
    import polars as pl

    cells = [np.nonzero(allocation.counts) for allocation in allocations]
    tasks = [allocation.counts[cell] for allocation, cell in zip(allocations, cells, strict=True)]
    machine, task_type, pstate = (_joined([cell[axis] for cell in cells]) for axis in range(3))
    return pl.DataFrame(
        {
            "point": np.repeat(np.arange(len(allocations)), [len(found) for found in tasks]),
            "machine": machine,
            "machine_type": named(bag.system.machine_types, bag.system.machine_type[machine]),
            "task_type": named(bag.system.task_types, task_type),
            "pstate": pstate,
            "tasks": _joined(tasks),
        }
    )


def allocations_of(bag: Bag, table: pl.DataFrame) -> list[BagAllocation]:
    """The allocations that a table of counts describes; rows of machines or tasks that there are not are left out."""
    from joulewise.model.bag import BagAllocation

    codes = {name: code for code, name in enumerate(bag.system.task_types)}
    task_type = np.array([codes.get(name, -1) for name in table["task_type"]], np.int64)
    cells = (table["machine"].to_numpy(), task_type, table["pstate"].to_numpy())
    point, tasks = table["point"].to_numpy(), table["tasks"].to_numpy()
    known = np.all([(cell >= 0) & (cell < n) for cell, n in zip(cells, _shape(bag), strict=True)], axis=0)

    def one(rows: Any) -> BagAllocation:
        counts = np.zeros(_shape(bag), np.int64)
        np.add.at(counts, tuple(cell[rows] for cell in cells), tasks[rows])
        return BagAllocation(bag, counts)

    return [one((point == i) & known) for i in np.unique(point)]


def _shape(bag: Bag) -> tuple[int, int, int]:
    return bag.system.n_machines, bag.system.n_task_types, bag.system.n_pstates


def machines_table(bag: Bag, allocations: Sequence[BagAllocation]) -> pl.DataFrame:
    """What every machine does in each allocation."""
    import polars as pl

    system, n = bag.system, len(allocations)
    names = {"machine_type": system.machine_types, "group": system.machine_group}
    return pl.DataFrame(
        {
            "point": np.repeat(np.arange(n), system.n_machines),
            "machine": np.tile(np.arange(system.n_machines), n),
            **{
                column: pl.Series(np.tile(np.take(values, system.machine_type), n).tolist(), dtype=pl.String)
                for column, values in names.items()
            },
            "tasks": _joined([allocation.counts.sum(axis=(1, 2)) for allocation in allocations]),
            "busy_s": _joined([allocation.busy_s for allocation in allocations]).astype(np.float64),
            "energy_j": _joined([allocation.machine_energy_j for allocation in allocations]).astype(np.float64),
        }
    )


def _joined(arrays: Sequence[Any]) -> Any:
    return np.concatenate(arrays) if arrays else np.empty(0, np.int64)
