"""How assignments, chances, and fronts of utility and energy show themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from joulewise.looks.evolutions import evolution_look
from joulewise.looks.look import Facts, Look, table_of, whole
from joulewise.units import count, energy

if TYPE_CHECKING:
    from joulewise.looks.look import Pictures
    from joulewise.looks.memory import Run
    from joulewise.model.assignment import Assignment
    from joulewise.model.chances import Chances
    from joulewise.optimise.assignments.bound import UtilityBound
    from joulewise.optimise.assignments.fuzzy import FuzzyFront
    from joulewise.optimise.front import Front
    from joulewise.study.assignments.tables import FrontPoints
    from joulewise.study.store.store import Tables


def _assignment_facts(assignment: Assignment) -> Facts:
    n_machines = np.unique(assignment.machine[assignment.runs]).size
    return {
        "tasks": f"{int(assignment.runs.sum()):,} of {assignment.n_tasks:,}",
        "machines": f"{n_machines:,}",
    }


def _assignment_tables(assignment: Assignment) -> Tables:
    return {"tasks": table_of(assignment, "machine", "pstate", "order")}


def _chance_facts(chances: Chances) -> Facts:
    n_task_types, n_machine_types, n_pstates, n_points = chances.time_s.shape
    return {
        "times and powers": f"{n_points:,} equally likely of each choice",
        "choices": f"{n_task_types:,} x {n_machine_types:,} x {n_pstates:,}",
    }


def _chance_tables(chances: Chances) -> Tables:
    import polars as pl

    axes = ("task_type", "machine_type", "pstate", "point")
    places = zip(axes, np.indices(chances.time_s.shape), strict=True)
    columns = {name: getattr(chances, name).ravel() for name in ("time_s", "power_w")}
    table = pl.DataFrame({**{axis: place.ravel() for axis, place in places}, **columns})
    return {"points": table.filter(pl.col("time_s").is_finite())}


def _front_facts(front: Front) -> Facts:
    if not len(front):
        return {"points": "none"}
    names = [objective.name for objective in front.objectives]
    told = [f"{front.shown[:, i].min():.4g} to {front.shown[:, i].max():.4g}" for i in range(len(names))]
    units = [objective.unit for objective in front.objectives]
    return {
        "points": f"{len(front):,}",
        **{name: f"{text} {unit}".rstrip() for name, text, unit in zip(names, told, units, strict=True)},
    }


def _front_tables(front: Front) -> Tables:
    import polars as pl

    names = ["_".join(filter(None, (each.name, each.unit.lower()))) for each in front.objectives]
    return {"points": pl.DataFrame(dict(zip(names, front.shown.T, strict=True)))}


def _front_pictures(named: Mapping[str, Front], bound: UtilityBound | None) -> Pictures:
    from joulewise.looks.memory import pictures_of
    from joulewise.optimise.assignments.problem import ENERGY_UTILITY
    from joulewise.study.assignments.front import UtilityKind
    from joulewise.study.assignments.tables import FrontPoints

    if any(front.objectives != ENERGY_UTILITY or not len(front) for front in named.values()):
        return {}
    fronts = {name: FrontPoints(front.points, _left_out(front), bound) for name, front in named.items()}
    return pictures_of(UtilityKind(), {name: _run(front) for name, front in fronts.items()})


def _run(front: FrontPoints) -> Run:
    """A front as the run of a study that found it."""
    from joulewise.optimise.assignments.problem import ENERGY_UTILITY
    from joulewise.optimise.front import Front
    from joulewise.study.assignments.tables import clouds_table, fronts_table
    from joulewise.study.spec.column import CLOUDS, FRONTS

    bound = front.bound
    columns = {} if bound is None else {"hypervolume_percent": 100 * bound.share(Front(ENERGY_UTILITY, front.points))}
    clouds = {} if front.spread is None else {CLOUDS: clouds_table(front.spread)}
    return columns, {FRONTS: fronts_table(front), **clouds}


def _left_out(front: Front) -> Any:
    """How many tasks each point leaves out; not known where no assignments lie behind the points."""
    from joulewise.model.assignment import Assignment

    are_known = bool(front.payload) and isinstance(front.payload[0], Assignment)
    return np.array([(~each.runs).sum() if are_known else np.nan for each in front.payload or front.points], float)


def _bound_facts(bound: UtilityBound) -> Facts:
    return {
        "utility": f"{whole(-float(bound.points[-1, 1]))} at most",
        "tasks": f"{energy(bound.least_j)} at least for all of them",
        "proven by": f"prices, {count(bound.value.size, 'line')}",
    }


def _bound_tables(bound: UtilityBound) -> Tables:
    import polars as pl

    energy_j, utility = bound.points.T
    return {"points": pl.DataFrame({"energy_j": energy_j, "utility": -utility})}


def _fuzzy_facts(front: FuzzyFront) -> Facts:
    return {
        "assignments": f"{len(front):,}",
        "samples": f"{front.n_samples:,} of each",
        "mean energy": f"{energy(front.mean[:, 0].min())} to {energy(front.mean[:, 0].max())}",
        "mean utility": f"{whole(front.mean[:, 1].min())} to {whole(front.mean[:, 1].max())}",
    }


def _fuzzy_tables(front: FuzzyFront) -> Tables:
    from joulewise.study.assignments.tables import clouds_table

    return {"clouds": clouds_table(front)}


def _fuzzy_pictures(named: Mapping[str, FuzzyFront], bound: UtilityBound | None) -> Pictures:
    from joulewise.looks.memory import pictures_of
    from joulewise.study.assignments.front import UtilityKind
    from joulewise.study.assignments.tables import FrontPoints

    fronts = {
        name: FrontPoints(each.planned * (1.0, -1.0), each.mean_dropped, bound, each) for name, each in named.items()
    }
    return pictures_of(UtilityKind(), {name: _run(front) for name, front in fronts.items()})


_FRONT = Look("A front of two objectives", _front_facts, _front_tables, _front_pictures, bound="UtilityBound")
LOOKS = {
    "Assignment": Look("Where tasks are to run", _assignment_facts, _assignment_tables),
    "Chances": Look("What times and powers may be", _chance_facts, _chance_tables),
    "Front": _FRONT,
    "Evolution": evolution_look(_FRONT),
    "UtilityBound": Look("What no assignment beats", _bound_facts, _bound_tables),
    "FuzzyFront": Look(
        "What may become of assignments", _fuzzy_facts, _fuzzy_tables, _fuzzy_pictures, "fuzzy-front", "UtilityBound"
    ),
}
