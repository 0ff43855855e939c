"""What studies of bags share, whatever is sought for them: worlds, checks, certificates and judging."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from joulewise.errors import InputError, JoulewiseError, Problem, raise_if_any
from joulewise.study.bags.sources import BAGS
from joulewise.study.kinds.case import Candidates, Case
from joulewise.study.kinds.kind import Kind
from joulewise.study.searches.agreement import differs
from joulewise.study.searches.judging import unused_supply
from joulewise.study.spec.column import COUNTS, FRONTS
from joulewise.study.spec.column import MACHINES as MACHINES_TABLE
from joulewise.study.spec.machines import MACHINES, chances_refused, failures, tiny_machines
from joulewise.study.spec.parts import Part, WorldParts
from joulewise.study.spec.run import Run
from joulewise.study.spec.sections import OPTIMISE_SECTION, build_supply
from joulewise.study.spec.source import Draw, Source
from joulewise.units import count

if TYPE_CHECKING:
    import polars as pl

    from joulewise.model import Supply
    from joulewise.model.bag import Bag, BagAllocation
    from joulewise.optimise.bags.bound import BoundFront

LP = "lp"
"""The kind of bound that is proven for bags."""

_KEPT_BYTES = 400_000


@dataclass(frozen=True, eq=False)
class BagWorld:
    """A bag on its system, and the energy that there is for it."""

    bag: Bag
    supply: Supply


class BagKind(Kind):
    """What kinds of studies of bags share."""

    section = OPTIMISE_SECTION
    systems = MACHINES
    workloads: ClassVar[tuple[Source, ...]] = BAGS
    tables: ClassVar[tuple[str, ...]] = (FRONTS, MACHINES_TABLE, COUNTS)
    supply_keys: ClassVar[tuple[str, ...]] = ()

    def bound(self, _decision: Part, _said: str) -> str:
        """It is that of a linear program."""
        return LP

    def build_world(self, parts: WorldParts, draw: Draw) -> BagWorld:
        """The bag and the supply of one trial; InputError when tables do not describe them."""
        bag = self.build_workload(parts.workload, self.build_system(parts, draw), draw)
        return BagWorld(bag, build_supply(parts.supply, draw))

    def checks(self, asked: Candidates, _draw: Draw) -> Iterator[Callable[[], object]]:
        """Hold the sections against what a bag can have, and make the bag of the first trial of each world."""
        systems, supplies = ({getattr(parts, name): None for parts in asked.worlds} for name in ("system", "supply"))
        yield lambda: raise_if_any(problem for system in systems for problem in _system_problems(system))
        yield lambda: raise_if_any(p for supply in supplies for p in unused_supply(supply, self.supply_keys))
        sought: dict[WorldParts, list[Any]] = {parts: [] for parts in asked.worlds}
        for parts, decisions in asked.decided:
            sought[parts] += [decision.parameters for decision in decisions]
        yield from (partial(self._check_world, asked, *pair) for pair in sought.items())

    def check_world(self, world: BagWorld, sought: Sequence[Any]) -> None:
        """InputError when what is sought cannot be had in a world."""

    def judge_bound(self, case: Case) -> Iterator[str]:
        """What does not hold of the stored certificate of the bound."""
        from joulewise.optimise.bags.bound import bound_front

        return _judge_certificate(case, bound_front(case.world.bag))

    def size(self, runs: Sequence[Run], _folder: Path) -> float:
        """The bytes of the detail tables of those that are kept."""
        return float(_KEPT_BYTES * sum(run.keep for run in runs))

    def _check_world(self, asked: Candidates, parts: WorldParts, sought: Sequence[Any]) -> None:
        try:
            self.check_world(asked.world_of(parts), sought)
        except InputError as error:
            raise InputError(*map(_in_study, error.problems)) from None


def _in_study(problem: Problem) -> Problem:
    """A problem of the bag at the section that describes it."""
    return dataclasses.replace(problem, where=problem.where.replace("bag.counts", "workload"))


def _system_problems(system: Part) -> Iterator[Problem]:
    yield from failures(system)
    yield from chances_refused(system, "the times and powers of bags are certain", "leave it out")


def cost_problems(supply: Supply, cost_per_kwh: float | None) -> Iterator[Problem]:
    """That energy has no cost, or two."""
    if (cost_per_kwh is None) == (supply.tariff is None):
        found = "found neither it nor supply.tariff" if cost_per_kwh is None else "found supply.tariff as well"
        yield Problem("optimise.cost_per_kwh", found, "must be exactly one of the two")


def tiny_bag() -> Bag:
    """A bag that any search is done with at once."""
    from joulewise.model.bag import Bag

    return Bag(tiny_machines(), np.array([2, 2]))


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


def _judge_certificate(case: Case, bound: BoundFront) -> Iterator[str]:
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
