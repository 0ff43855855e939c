"""What studies of bags share, whatever is sought for them: worlds, certificates and detail tables."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from joulewise.errors import InputError, JoulewiseError, Problem, raise_if_any
from joulewise.study.agreement import differs
from joulewise.study.case import Candidates, Case, Tables
from joulewise.study.sources import Draw, build_bag, build_supply
from joulewise.study.spec import Part, WorldParts

if TYPE_CHECKING:
    import polars as pl

    from joulewise.model import Supply
    from joulewise.model.arrays import Floats
    from joulewise.model.bag import Bag, BagAllocation
    from joulewise.optimise.bag_bound import BoundFront
    from joulewise.study.planning import Run

LP = "lp"
"""The kind of bound that is proven for bags."""

_KEPT_BYTES = 400_000


@dataclass(frozen=True, eq=False)
class BagWorld:
    """A bag on its system, and the energy that there is for it."""

    bag: Bag
    supply: Supply


def build_world(parts: WorldParts, draw: Draw) -> BagWorld:
    """The bag and the supply of one trial; InputError when tables do not describe them."""
    return BagWorld(build_bag(parts, draw), build_supply(parts.supply, draw))


def checks(
    found: Candidates, draw: Draw, supply_keys: Sequence[str], check: Callable[[BagWorld, Sequence[Any]], None]
) -> Iterator[Callable[[], object]]:
    """Hold the sections against what a bag can have, and make the bag of the first trial of each world."""
    systems, supplies = ({getattr(parts, name): None for parts in found.worlds} for name in ("system", "supply"))
    yield lambda: raise_if_any(problem for system in systems for problem in _failures(system))
    yield lambda: raise_if_any(problem for supply in supplies for problem in _not_for_bags(supply, supply_keys))
    decisions: dict[WorldParts, list[Any]] = {parts: [] for parts in found.worlds}
    for point in found.points:
        decisions[point.world].append(point.decision.parameters)
    yield from (partial(_check_world, parts, draw, check, sought) for parts, sought in decisions.items())


def _check_world(
    parts: WorldParts, draw: Draw, check: Callable[[BagWorld, Sequence[Any]], None], sought: Sequence[Any]
) -> None:
    try:
        check(build_world(parts, draw), sought)
    except InputError as error:
        raise InputError(*map(_in_study, error.problems)) from None


def _in_study(problem: Problem) -> Problem:
    """A problem of the bag at the section that describes it."""
    return dataclasses.replace(problem, where=problem.where.replace("bag.counts", "workload"))


def _failures(system: Part) -> Iterator[Problem]:
    if system.parameters.mtbf_s is not None:
        found = "found machines that fail"
        yield Problem("system.mtbf", found, "bags are run by machines that never do", "leave out mtbf and mttr")


def _not_for_bags(supply: Part, keys: Sequence[str]) -> Iterator[Problem]:
    """The keys of the supply that mean nothing for what is sought."""
    for field in dataclasses.fields(supply.parameters):
        value = getattr(supply.parameters, field.name)
        if field.name not in keys and value != field.default:
            key = field.name.removesuffix("_j").removesuffix("_w").removesuffix("_s")
            known = " and ".join(name.removesuffix("_w") for name in keys)
            allowed = f"of the energy, this goal knows {known}" if keys else "this goal knows no limits of energy"
            yield Problem(f"supply.{key}", f"found {value!r}", allowed, "leave it out")


def tiny_bag() -> Bag:
    """A bag that any search is done with at once."""
    from joulewise.model import System
    from joulewise.model.bag import Bag

    etc_s, power_w = np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([[90.0, 20.0], [80.0, 30.0]])
    system = System(("x", "y"), ("a", "b"), np.array([1, 1]), etc_s[:, :, None], power_w[:, :, None])
    return Bag(system, np.array([2, 2]))


def size(kept: Sequence[Run], _folder: Path) -> float:
    """The bytes of the detail tables of these runs."""
    return float(_KEPT_BYTES * len(kept))


def raise_if_broken(allocations: Sequence[BagAllocation]) -> None:
    """JoulewiseError when an allocation is not one of its bag."""
    from joulewise.check.bag import check_bag

    broken = [finding for allocation in allocations for finding in check_bag(allocation)]
    if broken:
        raise JoulewiseError(f"the allocations break {len(broken)} rules; the first: {broken[0]}")


def bag_columns(bound: BoundFront) -> dict[str, Any]:
    """The columns that all studies of bags have."""
    bag = bound.bag
    return {
        "tasks": bag.n_tasks,
        "tasks_per_machine": bag.n_tasks / bag.system.n_machines,
        "energy_bound_j": bound.least_energy_j,
        "makespan_bound_s": bound.least_makespan_s,
        "vertices": len(bound) - bound.pareto.start,
    }


# --- points and curves -------------------------------------------------------------------------------------------


def points_of(allocations: Sequence[BagAllocation]) -> Floats:
    """Energy and makespan of allocations."""
    return np.array([(allocation.energy_j, allocation.makespan_s) for allocation in allocations])


def bound_points(bound: BoundFront) -> Floats:
    """Energy and makespan of the vertices of the bound that none beats in both, by rising energy."""
    return np.column_stack((bound.energy_j, bound.makespan_s))[bound.pareto]


def knee_of(points: Floats) -> int:
    """Which point of a front, given by rising energy, is its knee."""
    from joulewise.optimise.front import front_of

    return front_of(points).knee()


def least_energies_j(bound: BoundFront, makespans_s: Floats) -> Floats:
    """The least energy that is proven for each makespan."""
    return np.array([bound.energy_at(makespan_s) for makespan_s in makespans_s.tolist()])


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
            "gap_percent": 100 * (energy_j / bound_j - 1),
            "profit_per_s": nothing if profit_per_s is None else profit_per_s,
            "is_knee": np.arange(len(points)) == knee,
        }
    )
    numbers = ("energy_bound_j", "gap_percent", "profit_per_s")
    return table.with_columns(pl.col(numbers).fill_nan(None))


def bound_curve(bound: BoundFront, **more: Any) -> pl.DataFrame:
    """The vertices of the bound that none beats in both energy and makespan."""
    return curve("bound", bound_points(bound), has_knee=True, **more)


def snapshots_of(table: pl.DataFrame) -> dict[int, Floats]:
    """The points of the snapshots in a table of fronts, by their generations."""
    found = table.filter(table["curve"] == "snapshot")
    generations = found["generation"].unique(maintain_order=True).to_list()
    return {n: found.filter(found["generation"] == n).select("energy_j", "makespan_s").to_numpy() for n in generations}


# --- certificates ------------------------------------------------------------------------------------------------


def write_certificate(case: Case, bound: BoundFront) -> None:
    """Store what proves the bound of a world, for all runs on it."""
    path = case.store.certificate_file(case.run.world_key, LP)
    if not path.is_file():
        case.store.write_table(path, _certificate(bound))


def _certificate(bound: BoundFront) -> pl.DataFrame:
    """The vertices of the bound with the weight from which each is optimal, and the duals that prove it there.

    A last row without a vertex has the duals of the least makespan alone.
    """
    import polars as pl

    duals = [bound.duals(vertex) for vertex in range(len(bound) + 1)]
    return pl.DataFrame(
        {
            "vertex": np.arange(len(bound) + 1),
            "weight_w": bound.weight_w,
            "extra_j": np.append(bound.extra_j, np.nan),
            "makespan_s": np.append(bound.makespan_s, np.nan),
            "task_price": [task_price.tolist() for task_price, _ in duals],
            "machine_price": [machine_price.tolist() for _, machine_price in duals],
        }
    ).with_columns(pl.col("weight_w", "extra_j", "makespan_s").replace([math.inf, math.nan], None))


def judge_bound(case: Case, bound: BoundFront) -> Iterator[str]:
    """What does not hold of the stored certificate: its prices must prove the bound, without solving anything."""
    path = case.store.certificate_file(case.run.world_key, LP)
    if not path.is_file():
        yield "bounds: the certificate of the world's bound is missing"
        return
    table = case.store.read_table(path)
    if table.height != len(bound) + 1:
        yield f"bounds: {table.height} vertices are stored, {len(bound) + 1} come out"
        return
    *points, last_s = _proven(bound, table)
    weight_w = bound.weight_w[:-1]
    for name, stored, anew in (
        ("weight_w", table["weight_w"][:-1], weight_w),
        ("extra_j", table["extra_j"][:-1], bound.extra_j),
        ("makespan_s", table["makespan_s"][:-1], bound.makespan_s),
        ("what the prices prove", points, bound.extra_j + weight_w * bound.makespan_s),
        ("the least makespan that prices prove", last_s, bound.least_makespan_s),
    ):
        yield from differs(f"bounds: {name}", stored, anew)


def _proven(bound: BoundFront, table: pl.DataFrame) -> list[float]:
    """The value that the stored prices prove for each weight; NaN for all where they are no prices of this bag."""
    from joulewise.check.bag import certified_front

    prices = [np.array(table[name].to_list()) for name in ("task_price", "machine_price")]
    try:
        return list(map(float, certified_front(bound.bag, bound.weight_w, *prices)))
    except InputError:
        return [math.nan] * table.height


# --- judging -----------------------------------------------------------------------------------------------------


def judge_allocations(allocations: Sequence[BagAllocation]) -> Iterator[str]:
    """What does not hold of allocations."""
    from joulewise.check.bag import check_bag

    for point, allocation in enumerate(allocations):
        yield from (f"point {point}: {finding}" for finding in check_bag(allocation))


def judge_columns(row: Mapping[str, Any], columns: Mapping[str, Any]) -> Iterator[str]:
    """Which columns of a run's row do not come out."""
    for name, value in columns.items():
        if isinstance(value, str):
            if row[name] != value:
                yield f"runs: {name}: {row[name]!r} is stored, {value!r} comes out"
        else:
            yield from differs(f"runs: {name}", row[name], value)


def judge_tables(stored: Tables, made: Tables) -> Iterator[str]:
    """Which detail tables do not come out."""
    import polars as pl

    for name, table in stored.items():
        anew = made[name]
        if table.height != anew.height:
            yield f"{name}: {table.height} rows are stored, {anew.height} come out"
            continue
        for column, kind in anew.schema.items():
            if kind.is_numeric():
                yield from differs(f"{name}: {column}", *(found[column].cast(pl.Float64) for found in (table, anew)))
            elif not (table[column].cast(pl.String) == anew[column].cast(pl.String)).all():
                yield f"{name}: {column}: what is stored does not come out"


# --- tables of allocations ---------------------------------------------------------------------------------------


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
            "task_type": pl.Series(task_type.astype(np.uint32)).cat.to(pl.Enum(bag.system.task_types)),
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
