"""What studies of bags share, whatever is sought for them: worlds, checks, certificates and judging."""

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
from joulewise.study.assignments.world import chances_refused
from joulewise.study.case import Candidates, Case, Tables
from joulewise.study.parameters import UNITS, hints_of, key_of, shown
from joulewise.study.source import Draw
from joulewise.study.sources import build_bag, build_supply
from joulewise.study.spec import Part, WorldParts
from joulewise.units import count

if TYPE_CHECKING:
    import polars as pl

    from joulewise.model import Supply
    from joulewise.model.bag import Bag, BagAllocation
    from joulewise.optimise.bags.bound import BoundFront
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
    """Hold the sections against what a bag can have, and make the bag of the first trial of each world.

    `supply_keys` are the fields of the supply that matter to what is sought.
    """
    systems, supplies = ({getattr(parts, name): None for parts in found.worlds} for name in ("system", "supply"))
    yield lambda: raise_if_any(problem for system in systems for problem in _system_problems(system))
    yield lambda: raise_if_any(problem for supply in supplies for problem in unused_supply(supply, supply_keys))
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


def _system_problems(system: Part) -> Iterator[Problem]:
    yield from failures(system)
    yield from chances_refused(system, "the times and powers of bags are certain", "leave it out")


def failures(system: Part) -> Iterator[Problem]:
    """Machines that fail, where none may."""
    if system.parameters.mtbf_s is not None:
        found = "found machines that fail"
        yield Problem("system.mtbf", found, "the machines of a search never do", "leave out mtbf and mttr")


def unused_supply(supply: Part, keys: Sequence[str]) -> Iterator[Problem]:
    """The keys of the supply that mean nothing for what is sought."""
    owner: type = type(supply.parameters)
    written = {name: key_of(name, hint) for name, hint in hints_of(owner).items()}
    known = ", ".join(written[name] for name in keys)
    allowed = f"of [supply], this goal uses only {known}" if keys else "this goal uses nothing of [supply]"
    for field in dataclasses.fields(supply.parameters):
        value = getattr(supply.parameters, field.name)
        if field.name not in keys and value != field.default:
            yield Problem(f"supply.{written[field.name]}", f"found {shown(field.name, value)}", allowed, "leave it out")


def place_of(row: Mapping[str, Any], runs: pl.DataFrame, axes: Sequence[str]) -> str:
    """Which of the runs a row is, by what differs between them: "profit_ratio 1.5, trial 2"; "" where they are one."""
    varying = [axis for axis in axes if runs[axis].n_unique() > 1]
    values = [f"{_key(axis, row[axis])} {_told(axis, row[axis])}" for axis in varying]
    return ", ".join([*values, f"trial {row['trial']}"] if runs["trial"].n_unique() > 1 else values)


def _key(axis: str, value: object) -> str:
    name = axis.rpartition(".")[2]
    return name[:-2] if name[-2:] in UNITS and isinstance(value, float) else name


def _told(axis: str, value: object) -> str:
    return value if isinstance(value, str) else shown(axis, value)


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
    from joulewise.check.bags.allocation import check_bag

    broken = [finding for allocation in allocations for finding in check_bag(allocation)]
    if broken:
        raise JoulewiseError(f"the allocations break {count(len(broken), 'rule')}; the first: {broken[0]}")


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
    if math.isnan(last_s):
        yield "bounds: what is stored as duals proves nothing: they are no prices of this bag"
        return
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
    from joulewise.check.bags.allocation import certified_front

    prices = [np.array(table[name].to_list()) for name in ("task_price", "machine_price")]
    try:
        return list(map(float, certified_front(bound.bag, bound.weight_w, *prices)))
    except InputError:
        return [math.nan] * table.height


# --- judging -----------------------------------------------------------------------------------------------------


def judge_allocations(allocations: Sequence[BagAllocation]) -> Iterator[str]:
    """What does not hold of allocations."""
    from joulewise.check.bags.allocation import check_bag

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
