"""Studies of the front of energy and utility of tasks known in advance: how it is searched, stored and judged."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from joulewise import units
from joulewise.study.assignments import bounds as utility_bounds
from joulewise.study.assignments import checks as utility_checks
from joulewise.study.assignments import tables as utility_tables
from joulewise.study.assignments.chances import (
    cautious_choice,
    decision_columns,
    fresh_points,
    fresh_seed,
    judge_samples,
    judging_s,
    spread_of,
)
from joulewise.study.assignments.columns import UTILITY_COLUMNS
from joulewise.study.assignments.methods import METHODS, on_gpu, stochastic_problem
from joulewise.study.assignments.parameters import AUTO, OBJECTIVES, UtilityFrontParameters
from joulewise.study.assignments.sources import UTILITY_GOAL, WORKLOADS
from joulewise.study.assignments.tables import FoundFront
from joulewise.study.assignments.template import UTILITY_TEMPLATE
from joulewise.study.assignments.world import KnownWorld, with_chances
from joulewise.study.kinds.case import Candidates, Case, Outcome
from joulewise.study.kinds.kind import Kind
from joulewise.study.searches.genetic import GPU, ONE_CORE, gpu_hindrance, snapshots_of
from joulewise.study.searches.judging import place_of
from joulewise.study.searches.seeds import search_seed
from joulewise.study.spec.column import ASSIGNMENTS, CLOUDS, FRONTS
from joulewise.study.spec.machines import MACHINES, tiny_machines
from joulewise.study.spec.parts import Part, WorldParts
from joulewise.study.spec.run import Run
from joulewise.study.spec.sections import OPTIMISE_SECTION, build_supply
from joulewise.study.spec.source import Draw
from joulewise.study.store.store import DONE, Store, Tables
from joulewise.worlds.uncertain import KEYS

if TYPE_CHECKING:
    import polars as pl

    from joulewise.kernels.assignments.evaluation import AssignmentFacts
    from joulewise.model.arrays import Floats
    from joulewise.model.assignment import Assignment
    from joulewise.optimise.assignments.bound import UtilityBound

# Rough figures of one ordinary processor of 2024.
_RUN_S, _BOUND_S = 0.2, 1.0
_KEPT_POINTS, _GENE_BYTES = 200, 4
_JUDGE_S = 2.5e-6
"""What it takes to judge a task of an assignment."""

_COMPARED = ("fresh_mean_percent", "hypervolume_percent", "normalised_percent")
"""The column that decides which run is best: the first that all have."""

VALUES = {
    'optimise.objective = "{}"': OBJECTIVES,
    'optimise.seeds = ["{}"]': {
        "min-energy": "in order of arrival, every task where it uses the least energy",
        "max-utility": "in order of arrival, every task where it earns most",
        "max-utility-per-energy": "in order of arrival, every task where it earns most per joule",
        "min-min": "again and again the task that can complete first, where it does",
        "all": "the four heuristics, and what max-max-util, max-max-upt, max-max-upp and max-max-upe do in simulation",
    },
}
"""What values of keys mean that no other table tells."""


class UtilityKind(Kind):
    """The front of energy and utility."""

    name = "utility"
    summary = "tasks known in advance, and the trade-off between their energy and their utility"
    section = OPTIMISE_SECTION
    decision = UTILITY_GOAL
    systems = MACHINES
    workloads = WORKLOADS
    main = "method"
    checking = 0.75
    supply_keys = utility_checks.SUPPLY_KEYS
    methods = METHODS
    values = VALUES
    title = "percent of hypervolume"
    columns = UTILITY_COLUMNS
    tables = (FRONTS, ASSIGNMENTS)
    template = UTILITY_TEMPLATE

    def build_world(self, parts: WorldParts, draw: Draw) -> KnownWorld:
        """The tasks of one trial and what may become of them; InputError when tables do not describe them."""
        from joulewise.model import World

        system, chances = with_chances(self.build_system(parts, draw), parts.system.parameters, draw)
        workload = self.build_workload(parts.workload, system, draw)
        return KnownWorld(World(system, workload, build_supply(parts.supply, draw)), chances)

    def checks(self, asked: Candidates, draw: Draw) -> Iterator[Callable[[], object]]:
        """What must hold before anything is run."""
        return utility_checks.checks(asked, draw, self.is_random)

    def bound(self, decision: Part, _said: str) -> str:
        """Prices of a way to drop tasks, and none for chance."""
        return utility_bounds.name_of(decision.parameters)

    def draws(self, decision: Part, folder: Path) -> bool:
        """Whether the method draws from the trial; a search that goes on draws as the one before it."""
        return super().draws(decision, folder) and decision.parameters.start_from is None

    def settled(self, decision: Part, has_gpu: bool | None = None) -> Part:
        """The search as it is where there is a GPU or none, by default here: GPUs draw otherwise than cores."""
        p = decision.parameters
        return replace(decision, parameters=replace(p, engine=GPU)) if on_gpu(p, has_gpu) else decision

    def seconds(self, missing: Sequence[Run], store: Store, folder: Path) -> float:
        """The time of one process for the runs, and for the bound of each world that has none yet."""
        n_tasks = self.task_counts(missing, folder)
        runs_s = sum(_RUN_S + _search_s(run.point.decision.parameters, n_tasks[run.key]) for run in missing)
        worlds = {
            (run.world_key, run.bound): n_tasks[run.key] for run in missing if run.point.decision.parameters.is_certain
        }
        new = (worlds[bound] for bound in store.unproven(worlds.keys()))
        return runs_s + sum(_BOUND_S * math.pow(n / 1000, 1.5) for n in new)

    def judging(self, runs: Sequence[Run], folder: Path) -> float:
        """The time of one process to judge the assignments of runs, and their samples where there is chance."""
        n_tasks = self.task_counts(runs, folder)
        return sum(_JUDGE_S * _KEPT_POINTS * n_tasks[run.key] + _samples_s(run, n_tasks[run.key]) for run in runs)

    def size(self, runs: Sequence[Run], folder: Path) -> float:
        """The bytes of the detail tables of those that are kept."""
        kept = [run for run in runs if run.keep]
        return _GENE_BYTES * _KEPT_POINTS * sum(self.task_counts(kept, folder).values())

    def memory(self, runs: Sequence[Run], folder: Path) -> float:
        """The bytes of the largest population, with those of its children."""
        n_tasks = self.task_counts(runs, folder)
        return max((_held(run.point.decision.parameters) * n_tasks[run.key] for run in runs), default=0.0)

    def compute(self, case: Case) -> Outcome:
        """Search the front, hold it against the bound, and evaluate it in fresh samples where there is chance."""
        p = case.decision
        _warm_up(p.method)
        bound = utility_bounds.proven(case)
        began_s = time.perf_counter()
        found = METHODS[p.method].search(case.world, p, search_seed(case.run))
        solve_s = time.perf_counter() - began_s
        if case.run.keep and found.population is not None:
            found.population.save(case.store.population_file(case.run.key))
        assignments = _front_of(case, found.front.payload)
        front = found_front(case, assignments, bound, found.snapshots)
        speed = {"engine": found.engine, "generations_per_s": found.generations_per_s, "solve_s": solve_s}
        return Outcome({**_columns(case, front), **speed}, lambda: _tables(front, assignments))

    def hindrance(self, run: Run, row: Mapping[str, Any]) -> str:
        """That it takes a GPU which is not there."""
        return gpu_hindrance(on_gpu(_with_engine(run.point.decision.parameters, row.get("engine"))))

    def again(self, case: Case, row: Mapping[str, Any]) -> Outcome:
        """What comes out on the engine that searched before."""
        return self.compute(replace(case, decision=_with_engine(case.decision, row.get("engine"))))

    def derived(self, case: Case, _row: Mapping[str, Any], stored: Tables) -> Outcome:
        """What follows from stored assignments."""
        points = snapshots_of(stored[FRONTS], ("energy_j", "utility"))
        snapshots = {n: found * (1.0, -1.0) for n, found in points.items()}
        assignments = utility_tables.assignments_of(stored[ASSIGNMENTS])
        front = found_front(case, assignments, utility_bounds.proven(case), snapshots)
        return Outcome(_columns(case, front), lambda: _tables(front, assignments))

    def judge_bound(self, case: Case) -> Iterator[str]:
        """What does not hold of the stored proof: its prices must prove the bound."""
        return utility_bounds.judge(case)

    def judge(self, case: Case, _row: Mapping[str, Any], tables: Tables) -> Iterator[str]:
        """What does not hold of assignments, of what they come to, and of samples that are drawn a second time."""
        assignments = utility_tables.assignments_of(tables[ASSIGNMENTS])
        yield from _judge_assignments(case, assignments, tables[FRONTS])
        if case.world.chances is not None:
            yield from judge_samples(case, assignments, tables)

    def sentences(self, runs: pl.DataFrame, axes: Sequence[str]) -> Iterator[str]:
        """What was found, in words: the best run's front."""
        done = runs.filter(runs["status"] == DONE)
        if done.is_empty():
            return
        measure = next((name for name in _COMPARED if done[name].count() == done.height), _COMPARED[-1])
        ranking = done.sort(measure, "least_energy_j", descending=[True, False], nulls_last=True, maintain_order=True)
        best = ranking.row(0, named=True)
        place = place_of(best, done, [axis for axis in axes if axis != "optimise.method"])
        yield (
            f"{METHODS[best['optimise.method']].title}{f' ({place})' if place else ''}: "
            f"{best['points']:.0f} point{'' if best['points'] == 1 else 's'}{_share(best)}; "
            f"from {best['least_energy_utility']:.5g} with {units.energy(best['least_energy_j'])} "
            f"to {best['most_utility']:.5g} with {units.energy(best['most_utility_energy_j'])}; "
            f"the most utility per energy is {best['peak_utility_per_mj']:.4g} per MJ, "
            f"at {best['peak_utility']:.5g} with {units.energy(best['peak_energy_j'])}."
        )


def _held(p: UtilityFrontParameters) -> float:
    """The bytes that a search holds for each task."""
    return 2.0 * _GENE_BYTES * max(p.population, _KEPT_POINTS)


def _search_s(p: UtilityFrontParameters, n_tasks: float) -> float:
    return METHODS[p.method].seconds(p, n_tasks)


def _samples_s(run: Run, n_tasks: float) -> float:
    """How long it takes to draw the samples of a run a second time."""
    p, system = run.point.decision.parameters, run.point.system.parameters
    is_certain = all(getattr(system, key, None) is None for key in KEYS)
    return 0.0 if is_certain else judging_s(_KEPT_POINTS * n_tasks * max(p.n_samples, p.fresh_samples))


def _front_of(case: Case, assignments: Sequence[Assignment]) -> list[Assignment]:
    """Those that no other beats in both objectives, by rising energy."""
    from joulewise.optimise.front import non_dominated

    return [assignments[i] for i in non_dominated(_points(case, assignments))]


def _points(case: Case, assignments: Sequence[Assignment]) -> Floats:
    """What assignments come to, as (energy in J, minus utility), whatever engine found them."""
    from joulewise.optimise.assignments.problem import assignment_facts, evaluated

    known, p = case.world, case.decision
    if p.is_certain:
        return evaluated(assignment_facts(known.world, p.drop_below), list(assignments))
    problem = stochastic_problem(known, p, search_seed(case.run))
    home = problem.chromosomes(np.stack([problem.genes_of(assignment) for assignment in assignments], axis=1))
    home.evaluate(len(assignments))
    points: Floats = home.points
    return points


def found_front(
    case: Case, assignments: Sequence[Assignment], bound: UtilityBound | None, snapshots: Mapping[int, Floats]
) -> FoundFront:
    """All that is reported about the assignments of a front."""
    from joulewise.optimise.assignments.problem import assignment_facts
    from joulewise.optimise.assignments.utility_measure import measure_of

    p, known = case.decision, case.world
    dropped = _dropped(assignment_facts(known.world, p.drop_below), assignments)
    base = partial(
        FoundFront,
        _points(case, assignments),
        dropped,
        bound,
        snapshots=snapshots,
        world=known.world,
        measure=measure_of(known.world, p.drop_below),
    )
    if known.chances is None:
        return base()
    seed = fresh_seed(case.run)
    spread = spread_of(known, p, assignments, seed)
    fresh = fresh_points(known, p, spread, seed)
    return base(spread=spread, cautious=cautious_choice(spread, p), fresh=fresh)


def _columns(case: Case, front: FoundFront) -> dict[str, Any]:
    return {**utility_tables.columns_of(front), **decision_columns(case.decision, front.spread)}


def _dropped(facts: AssignmentFacts, assignments: Sequence[Assignment]) -> Floats:
    """How many tasks do not run if all goes as expected."""
    from joulewise.optimise.assignments.problem import allocation_of

    return np.array([float((~allocation_of(facts, assignment).ran).sum()) for assignment in assignments])


def _tables(front: FoundFront, assignments: Sequence[Assignment]) -> Tables:
    tables = {
        FRONTS: utility_tables.fronts_table(front),
        ASSIGNMENTS: utility_tables.assignments_table(front.world, assignments),
    }
    return tables if front.spread is None else {**tables, CLOUDS: utility_tables.clouds_table(front.spread)}


@cache
def _warm_up(method: str) -> None:
    """Load what a method needs, once in a process, so that times are those of searches alone."""
    from joulewise.model import World
    from joulewise.worlds.assignments.known import KnownParameters, generate_known

    system = tiny_machines()
    tiny = KnownWorld(World(system, generate_known(KnownParameters(n_tasks=3), system, 0, 0)), None)
    METHODS[method].search(tiny, UtilityFrontParameters(moves=2, population=4, generations=1), 0)


def _with_engine(p: UtilityFrontParameters, engine: object) -> UtilityFrontParameters:
    """A search on what is known to have searched before."""
    if p.engine != AUTO:
        return p
    return replace(p, engine=GPU) if str(engine).startswith("GPU") else replace(p, engine=ONE_CORE)


def _judge_assignments(case: Case, assignments: Sequence[Assignment], fronts: pl.DataFrame) -> Iterator[str]:
    """What does not hold of stored assignments, and of the points that they are said to come to."""
    from joulewise.check.assignments.assignment import check_assignment

    world, p = case.world.world, case.decision
    said = fronts.filter(fronts["curve"] == "front").select("energy_j", "utility").iter_rows(named=True)
    objectives = [row if p.is_certain else {} for row in said]
    for point, (assignment, values) in enumerate(zip(assignments, objectives, strict=True)):
        findings = check_assignment(world, assignment, p.drop_below, **values)
        yield from (f"point {point}: {finding}" for finding in findings)


def _share(row: Mapping[str, Any]) -> str:
    """How good a front is known to be."""
    said = []
    if row["hypervolume_percent"] is not None:
        where = "" if row["fresh_mean_percent"] is None else " at mean times"
        said.append(f", at least {row['hypervolume_percent']:.2f} % of the best possible hypervolume{where}")
    if row["fresh_percent"] is not None:
        said.append(f", of the whole {_told_loss(row['normalised_percent'] - row['fresh_percent'])} on fresh samples")
    return "".join(said)


def _told_loss(points: float) -> str:
    if round(points, 2) == 0:
        return "the same"
    return f"{abs(points):.2f} percentage points {'less' if points > 0 else 'more'}"
