"""Studies of the front of energy and makespan of a bag: how it is searched, measured, stored and judged."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from joulewise import units
from joulewise.errors import raise_if_any
from joulewise.study.bags import tables as bag_tables
from joulewise.study.bags.columns import BAG_FRONT_COLUMNS
from joulewise.study.bags.methods import METHODS, BagAnswer, FrontParameters
from joulewise.study.bags.templates import FRONT_TEMPLATE
from joulewise.study.bags.world import (
    BagKind,
    BagWorld,
    bag_columns,
    raise_if_broken,
    tiny_bag,
    write_certificate,
)
from joulewise.study.kinds.case import Candidates, Case, Outcome
from joulewise.study.searches.genetic import GPU, ISLAND_USES, NSGA2, gpu_hindrance, gpu_problems, snapshots_of
from joulewise.study.searches.judging import place_of
from joulewise.study.searches.methods import idle_keys, unused_keys
from joulewise.study.searches.seeds import search_seed
from joulewise.study.spec.column import COUNTS, FRONTS, MACHINES
from joulewise.study.spec.run import Run
from joulewise.study.spec.source import Draw, Source
from joulewise.study.store.store import Store, Tables

if TYPE_CHECKING:
    import polars as pl

    from joulewise.model import System
    from joulewise.model.arrays import Floats
    from joulewise.model.bag import BagAllocation
    from joulewise.optimise.bags.bound import BoundFront

_RUN_S = 0.05  # of one ordinary processor of 2024


class FrontKind(BagKind):
    """The trade-off between energy and makespan."""

    name = "front"
    summary = "a bag of tasks, and the trade-off between its energy and its makespan"
    decision = Source(
        "front",
        "the trade-off between energy and makespan (Friese 6, Tarplee III)",
        FrontParameters,
        lambda p, _draw: p,
    )
    main = "method"
    methods = METHODS
    title = "percent of the proven hypervolume"
    columns = BAG_FRONT_COLUMNS
    template = FRONT_TEMPLATE

    def checks(self, asked: Candidates, draw: Draw) -> Iterator[Callable[[], object]]:
        """What must hold before anything is run."""
        parameters = [part.parameters for part in asked.decisions]
        yield lambda: raise_if_any(idle_keys(FrontParameters, parameters, METHODS))
        yield lambda: raise_if_any(unused_keys(FrontParameters, parameters, ISLAND_USES))
        yield from super().checks(asked, draw)

    def check_world(self, world: BagWorld, sought: Sequence[FrontParameters]) -> None:
        """InputError when a bag is too large for the genetic algorithm, or the GPU is not there that is to run it."""
        evolved = [p for p in sought if p.method == NSGA2]
        if evolved:
            from joulewise.optimise.bags.problem import BagProblem

            BagProblem(world.bag)
        raise_if_any(problem for p in evolved for problem in gpu_problems(p))

    def seconds(self, missing: Sequence[Run], _store: Store, folder: Path) -> float:
        """The time of one process for the runs."""
        n_tasks = self.task_counts(missing, folder)
        return sum(_RUN_S + _search_s(run.point.decision.parameters, n_tasks[run.key]) for run in missing)

    def compute(self, case: Case) -> Outcome:
        """Search the front; JoulewiseError when an allocation on it is none of the bag."""
        from joulewise.optimise.bags.bound import bound_front

        bag, p = case.world.bag, case.decision
        _warm_up(p.method)
        began_s = time.perf_counter()
        bound = bound_front(bag)
        found = METHODS[p.method].search(bag, bound, p, search_seed(case.run))
        solve_s = time.perf_counter() - began_s
        allocations = _front(found)
        raise_if_broken(allocations)
        write_certificate(case, bound)
        speed = {"engine": found.engine, "generations_per_s": found.generations_per_s, "solve_s": solve_s}
        columns = columns_of(bound, allocations, found.snapshots)
        return Outcome({**columns, **speed}, lambda: tables_of(bound, allocations, found.snapshots))

    def hindrance(self, run: Run, _row: Mapping[str, Any]) -> str:
        """That it takes a GPU which is not there."""
        return gpu_hindrance(run.point.decision.parameters.engine == GPU)

    def derived(self, case: Case, _row: Mapping[str, Any], stored: Tables) -> Outcome:
        """What follows from stored allocations."""
        from joulewise.optimise.bags.bound import bound_front

        bound, snapshots = bound_front(case.world.bag), snapshots_of(stored[FRONTS], ("energy_j", "makespan_s"))
        allocations = bag_tables.allocations_of(case.world.bag, stored[COUNTS])
        return Outcome(columns_of(bound, allocations, snapshots), lambda: tables_of(bound, allocations, snapshots))

    def sentences(self, runs: pl.DataFrame, axes: Sequence[str]) -> Iterator[str]:
        """What was found, in words: the best run's front."""
        done = runs.filter(runs["hypervolume_percent"].is_not_null()) if "hypervolume_percent" in runs.columns else None
        if done is None or done.is_empty():
            return
        best = done.row(int(done["hypervolume_percent"].arg_max() or 0), named=True)
        knee = f"{units.energy(best['knee_energy_j'])} and {units.duration(best['knee_makespan_s'])}"
        gap, above = best["gap_percent"], "above the bound on average"
        place = place_of(best, done, [axis for axis in axes if axis != "optimise.method"])
        yield (
            f"{METHODS[best['optimise.method']].title}{f' ({place})' if place else ''}: "
            f"{best['points']:.0f} point{'' if best['points'] == 1 else 's'}, "
            f"{best['hypervolume_percent']:.2f} % of the proven hypervolume"
            f"{'' if gap is None else f', energies {gap:.2f} % {above}'}; "
            f"least energy {units.energy(best['least_energy_j'])} ({units.energy(best['energy_bound_j'])} is proven), "
            f"least makespan {units.duration(best['least_makespan_s'])} ({units.duration(best['makespan_bound_s'])}), "
            f"knee at {knee}."
        )


def _search_s(p: FrontParameters, n_tasks: float) -> float:
    return METHODS[p.method].seconds(p, n_tasks)


@cache
def _warm_up(method: str) -> None:
    """Load what a method needs, once in a process, so that times are those of searches alone."""
    from joulewise.optimise.bags.bound import bound_front

    bag = tiny_bag()
    p = FrontParameters(n_points=2, moves=2, population=2, generations=1)
    METHODS[method].search(bag, bound_front(bag), p, 0)


def _front(found: BagAnswer) -> list[BagAllocation]:
    """The allocations that no other beats in both objectives, by rising energy."""
    from joulewise.optimise.front import non_dominated

    return [found.allocations[i] for i in non_dominated(bag_tables.points_of(found.allocations))]


def columns_of(
    bound: BoundFront, allocations: Sequence[BagAllocation], snapshots: Mapping[int, Floats]
) -> dict[str, Any]:
    """The columns that follow from the bound and the allocations of a front, by rising energy."""
    from joulewise.optimise.front import nadir_reference

    points, (energy_j, makespan_s) = bag_tables.points_of(allocations), nadir_reference(bag_tables.bound_points(bound))
    knee = bag_tables.knee_of(points)
    return {
        **bag_columns(bound),
        "points": len(points),
        "hypervolume_percent": _share_percent(bound, points),
        **{f"hypervolume_percent:{n}": _share_percent(bound, found) for n, found in snapshots.items()},
        "reference_energy_j": float(energy_j),
        "reference_makespan_s": float(makespan_s),
        "least_energy_j": float(points[:, 0].min()),
        "least_makespan_s": float(points[:, 1].min()),
        "gap_percent": _gap_percent(bound, points),
        "knee_energy_j": float(points[knee, 0]),
        "knee_makespan_s": float(points[knee, 1]),
        "mean_power_w": float(points[knee, 0] / points[knee, 1]),
        **_machine_columns(allocations, knee),
    }


def _gap_percent(bound: BoundFront, points: Floats) -> float:
    """The mean of how much more energy points use than is proven to be needed, over those that need any."""
    gaps = bag_tables.gaps_percent(points[:, 0], bag_tables.least_energies_j(bound, points[:, 1]))
    return float(np.nanmean(gaps)) if np.isfinite(gaps).any() else math.nan


def _share_percent(bound: BoundFront, points: Floats) -> float:
    """How much of what the bound dominates points dominate too."""
    from joulewise.optimise.front import front_of, nadir_reference

    proven = bag_tables.bound_points(bound)
    return 100 * front_of(points).share_of(proven, nadir_reference(proven).tolist())


def _machine_columns(allocations: Sequence[BagAllocation], knee: int) -> dict[str, float]:
    """How tasks are shared among machine types over the front, and how evenly machines work at three points of it."""
    system, n_tasks = allocations[0].bag.system, allocations[0].bag.n_tasks
    by_type = np.mean([allocation.split.sum(axis=(0, 2)) for allocation in allocations], axis=0)
    chosen = {"least energy": allocations[0], "knee": allocations[knee], "least makespan": allocations[-1]}
    return {
        "unused_types": _unused_types(system, by_type),
        **{
            f"unused_types:{name}": _unused_types(system, found.split.sum(axis=(0, 2)))
            for name, found in chosen.items()
        },
        **{f"task_percent:{name}": 100 * n / n_tasks for name, n in zip(system.machine_types, by_type, strict=True)},
        **{f"busy_cov:{name}": _variation(found.busy_s) for name, found in chosen.items()},
        **{f"energy_cov:{name}": _variation(found.machine_energy_j) for name, found in chosen.items()},
    }


def _unused_types(system: System, tasks_by_type: Floats) -> int:
    """How many machine types have machines and no task."""
    return int(((system.counts > 0) & (tasks_by_type == 0)).sum())


def _variation(values: Floats) -> float:
    """Standard deviation over mean."""
    return float(values.std() / values.mean()) if values.mean() > 0 else math.nan


def tables_of(bound: BoundFront, allocations: Sequence[BagAllocation], snapshots: Mapping[int, Floats]) -> Tables:
    """Every detail table of a front."""
    import polars as pl

    curves = [
        _found_curve(bound, bag_tables.points_of(allocations)),
        bag_tables.bound_curve(bound),
        *(bag_tables.curve("snapshot", found, bound, generation=n) for n, found in snapshots.items()),
    ]
    return {
        FRONTS: pl.concat(curves, how="diagonal"),
        MACHINES: bag_tables.machines_table(bound.bag, allocations),
        COUNTS: bag_tables.counts_table(bound.bag, allocations),
    }


def _found_curve(bound: BoundFront, points: Floats) -> pl.DataFrame:
    """The front that was found, with the letters of the points that figures show machine by machine."""
    import polars as pl

    from joulewise.optimise.bags.machines import POINTS, chosen_points

    letters: list[str | None] = [None] * len(points)
    for letter, i in reversed(list(zip(POINTS, chosen_points(points), strict=True))):
        letters[i] = letter
    table = bag_tables.curve("front", points, bound, has_knee=True)
    return table.with_columns(chosen=pl.Series(letters, dtype=pl.String))
