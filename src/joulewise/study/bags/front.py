"""Studies of the front of energy and makespan of a bag: how it is searched, measured, stored and judged."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from joulewise import units
from joulewise.errors import Problem, raise_if_any
from joulewise.study.bags import tables as bag_tables
from joulewise.study.bags import world as bags
from joulewise.study.bags.world import BagWorld
from joulewise.study.case import Candidates, Case, Outcome, Tables
from joulewise.study.column import COUNTS, FRONTS, MACHINES
from joulewise.study.optimising import NSGA2, FrontParameters, genetic_ways
from joulewise.study.parameters import shown
from joulewise.study.source import Draw
from joulewise.study.sources import expected_tasks
from joulewise.study.spec import Point

if TYPE_CHECKING:
    import polars as pl

    from joulewise.model import System
    from joulewise.model.arrays import Floats
    from joulewise.model.bag import Bag, BagAllocation
    from joulewise.optimise.bags.bound import BoundFront
    from joulewise.study.planning import Run
    from joulewise.study.store import Store

# Rough figures of one ordinary processor of 2024.
_RUN_S, _POINT_S, _MOVE_S, _GENE_S = 0.1, 3e-3, 1e-7, 5e-9


@dataclass(frozen=True)
class Found:
    """What a method found: allocations, the points of fronts on the way there, and how fast it went, if at a speed."""

    allocations: Sequence[BagAllocation]
    snapshots: Mapping[int, Floats] = field(default_factory=dict)
    generations_per_s: float = math.nan


@dataclass(frozen=True)
class Method:
    """One way to search a front; `draws`: it draws from the seed and the trial.

    `seconds` is about how long it takes for so many tasks, `keys` are the parameters that it uses.
    """

    title: str
    summary: str
    source: str
    search: Callable[..., Any]
    seconds: Callable[[Any, float], float]
    draws: bool
    keys: tuple[str, ...]


def _recovered(bag: Bag, bound: BoundFront, p: FrontParameters, _seed: int) -> Found:
    from joulewise.optimise.bags.recovery import recovered

    return Found(recovered(bag, bound, p.n_points))


def _annealed(bag: Bag, bound: BoundFront, p: FrontParameters, seed: int) -> Found:
    from joulewise.optimise.bags.annealing import improve
    from joulewise.optimise.bags.recovery import recovered

    front = improve(bag, bound, recovered(bag, bound, p.n_points), moves=p.moves, seed=seed)
    return Found(front.payload)


def _evolved(bag: Bag, _bound: BoundFront, p: FrontParameters, seed: int) -> Found:
    from joulewise.optimise.bags import seeds
    from joulewise.optimise.bags.problem import BagProblem
    from joulewise.optimise.evolution import evolve

    known = {"min-energy": seeds.min_energy, "min-min": seeds.min_min_completion_time}
    found = evolve(BagProblem(bag), [known[name](bag) for name in p.seeds], **genetic_ways(p), seed=seed)
    snapshots = {n: front.points[::-1, ::-1] for n, front in found.snapshots.items()}
    return Found(found.front.payload, snapshots, found.generations_per_s)


METHODS = {
    "lp": Method(
        "Recovered LP",
        "whole allocations near the linear program's, at its vertices and between",
        "Tarplee III",
        _recovered,
        lambda p, _n_genes: _POINT_S * p.n_points,
        draws=False,
        keys=("n_points",),
    ),
    "annealing": Method(
        "Annealing",
        "the recovered allocations, improved by moving and swapping tasks",
        "ours",
        _annealed,
        lambda p, _n_genes: _POINT_S * p.n_points + _MOVE_S * p.moves,
        draws=True,
        keys=("n_points", "moves"),
    ),
    NSGA2: Method(
        "NSGA-II",
        "a population of allocations that evolves, seeded with two heuristics",
        "Friese 5.4.4, 6.4",
        _evolved,
        lambda p, n_genes: _GENE_S * p.generations * p.population * n_genes,
        draws=True,
        keys=("population", "generations", "mutation", "archive", "ranks", "seeds", "snapshots"),
    ),
}
"""Every value of `optimise.method`."""


def checks(found: Candidates, draw: Draw) -> Iterator[Callable[[], object]]:
    """What must hold before anything is run."""
    parameters = [part.parameters for part in found.decisions]
    yield lambda: raise_if_any(idle_keys(FrontParameters, parameters, METHODS))
    yield from bags.checks(found, draw, (), _check)


def idle_keys(owner: type, parameters: Sequence[Any], methods: Mapping[str, Method]) -> Iterator[Problem]:
    """Parameters of a class that a study sets and that none of the methods it sets them for uses."""
    for entry in dataclasses.fields(owner):
        given = [p for p in parameters if getattr(p, entry.name) != entry.default]
        users = [name for name, method in methods.items() if entry.name in method.keys]
        if given and users and not any(p.method in users for p in given):
            found = f"found {shown(entry.name, getattr(given[0], entry.name))} with method {given[0].method!r}"
            allowed = f"is for {' and '.join(map(repr, users))}"
            yield Problem(f"optimise.{entry.name}", found, allowed, "use such a method as well, or leave it out")


def _check(world: BagWorld, parameters: Sequence[FrontParameters]) -> None:
    """InputError when a bag is too large for the genetic algorithm."""
    if any(p.method == NSGA2 for p in parameters):
        from joulewise.optimise.bags.problem import BagProblem

        BagProblem(world.bag)


def draws(point: Point, _folder: Path) -> bool:
    """Whether the method draws from the trial."""
    return METHODS[point.decision.parameters.method].draws


def titles(points: Sequence[Point], _folder: Path) -> dict[str, dict[str, str]]:
    """How reports are to call the methods."""
    names = dict.fromkeys(point.decision.parameters.method for point in points)
    return {name: {"title": METHODS[name].title, "mode": ""} for name in names}


def seconds(missing: Sequence[Run], _store: Store, folder: Path) -> float:
    """The time of one process for the runs."""
    workloads = {run.point.workload for run in missing}
    n_tasks = {part: expected_tasks(part, Draw(0, 0, folder)) for part in workloads}
    return sum(_RUN_S + _run_s(run.point, n_tasks[run.point.workload]) for run in missing)


def _run_s(point: Point, n_tasks: float) -> float:
    return METHODS[point.decision.parameters.method].seconds(point.decision.parameters, n_tasks)


def compute(case: Case) -> Outcome:
    """Search the front; JoulewiseError when an allocation on it is none of the bag."""
    from joulewise.optimise.bags.bound import bound_front

    bag, p = case.world.bag, case.decision
    _warm_up(p.method)
    began_s = time.perf_counter()
    bound = bound_front(bag)
    found = METHODS[p.method].search(bag, bound, p, search_seed(case.run))
    solve_s = time.perf_counter() - began_s
    allocations = _front(found)
    bags.raise_if_broken(allocations)
    bags.write_certificate(case, bound)
    columns = {**_columns(bound, allocations, found.snapshots), "generations_per_s": found.generations_per_s}
    return Outcome({**columns, "solve_s": solve_s}, lambda: _tables(bound, allocations, found.snapshots))


@cache
def _warm_up(method: str) -> None:
    """Load what a method needs, once in a process, so that times are those of searches alone."""
    from joulewise.kernels.jit import mark_kernels_compiled
    from joulewise.optimise.bags.bound import bound_front

    bag = bags.tiny_bag()
    p = FrontParameters(n_points=2, moves=2, population=2, generations=1)
    METHODS[method].search(bag, bound_front(bag), p, 0)
    mark_kernels_compiled()


def search_seed(run: Run) -> int:
    """The seed of the search of a run."""
    return seed_of(run.seed, run.trial)


def seed_of(seed: int, trial: int) -> int:
    """The seed of the searches of one trial."""
    from joulewise.rng import generator

    return int(generator(seed, trial, "optimise").integers(2**63))


def _front(found: Found) -> list[BagAllocation]:
    """The allocations that no other beats in both objectives, by rising energy."""
    from joulewise.optimise.front import non_dominated

    return [found.allocations[i] for i in non_dominated(bag_tables.points_of(found.allocations))]


def _columns(
    bound: BoundFront, allocations: Sequence[BagAllocation], snapshots: Mapping[int, Floats]
) -> dict[str, Any]:
    """The columns that follow from the bound and the allocations of a front, by rising energy."""
    from joulewise.optimise.front import nadir_reference

    points, (energy_j, makespan_s) = bag_tables.points_of(allocations), nadir_reference(bag_tables.bound_points(bound))
    knee = bag_tables.knee_of(points)
    return {
        **bags.bag_columns(bound),
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


def _tables(bound: BoundFront, allocations: Sequence[BagAllocation], snapshots: Mapping[int, Floats]) -> Tables:
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


def judge(case: Case, row: dict[str, Any], stored: Tables | None) -> Iterator[str]:
    """What does not hold of a run: the certificate of the bound, the allocations and all that follows from them.

    Allocations that are not stored are searched again.
    """
    from joulewise.optimise.bags.bound import bound_front

    bag, p = case.world.bag, case.decision
    bound = bound_front(bag)
    yield from bags.judge_bound(case, bound)
    if stored is None:
        found = METHODS[p.method].search(bag, bound, p, search_seed(case.run))
        allocations, snapshots = _front(found), found.snapshots
    else:
        allocations, snapshots = bag_tables.allocations_of(bag, stored[COUNTS]), bag_tables.snapshots_of(stored[FRONTS])
    yield from bags.judge_allocations(allocations)
    columns, tables = _columns(bound, allocations, snapshots), _tables(bound, allocations, snapshots)
    yield from bags.judge_columns(row, columns)
    yield from bags.judge_tables(stored or {}, tables)


def sentences(runs: pl.DataFrame, axes: Sequence[str]) -> Iterator[str]:
    """What was found, in words: the best run's front."""
    done = runs.filter(runs["hypervolume_percent"].is_not_null()) if "hypervolume_percent" in runs.columns else None
    if done is None or done.is_empty():
        return
    best = done.row(int(done["hypervolume_percent"].arg_max() or 0), named=True)
    knee = f"{units.energy(best['knee_energy_j'])} and {units.duration(best['knee_makespan_s'])}"
    gap = "" if best["gap_percent"] is None else f", energies {best['gap_percent']:.2f} % above the bound on average"
    place = bags.place_of(best, done, [axis for axis in axes if axis != "optimise.method"])
    yield (
        f"{METHODS[best['optimise.method']].title}{f' ({place})' if place else ''}: "
        f"{best['points']:.0f} point{'' if best['points'] == 1 else 's'}, "
        f"{best['hypervolume_percent']:.2f} % of the proven hypervolume{gap}; "
        f"least energy {units.energy(best['least_energy_j'])} ({units.energy(best['energy_bound_j'])} is proven), "
        f"least makespan {units.duration(best['least_makespan_s'])} ({units.duration(best['makespan_bound_s'])}), "
        f"knee at {knee}."
    )
