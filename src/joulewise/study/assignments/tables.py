"""Detail tables and columns of fronts of utility and energy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from joulewise.optimise.gap import gap_of
from joulewise.study.store.tables import named

if TYPE_CHECKING:
    import polars as pl

    from joulewise.model import World
    from joulewise.model.arrays import Floats
    from joulewise.model.assignment import Assignment
    from joulewise.optimise.assignments.bound import UtilityBound
    from joulewise.optimise.assignments.fuzzy import FuzzyFront
    from joulewise.optimise.assignments.utility_measure import UtilityMeasure

_MJ = 1e6


@dataclass(frozen=True, eq=False)
class FrontPoints:
    """The points of a front, (energy in J, minus utility) by rising energy, with how many tasks each leaves out.

    Where there is chance, `spread` is what became of the points in fresh samples, and `cautious` is one of them.
    """

    points: Floats
    dropped: Floats
    bound: UtilityBound | None = None
    spread: FuzzyFront | None = None
    cautious: int | None = None
    snapshots: Mapping[int, Floats] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True)
class FoundFront(FrontPoints):
    """A front with all that is reported about it.

    Where there is chance, `fresh` are the points once more, of fresh samples; None where samples have no part in what
    is optimised.
    """

    world: World
    measure: UtilityMeasure
    fresh: Floats | None = None


# --- columns -----------------------------------------------------------------------------------------------------


def columns_of(front: FoundFront) -> dict[str, Any]:
    """The columns that follow from a front."""
    measure, (energy_j, utility) = front.measure, _shown(front.points)
    knee, peak, n_tasks = _knee(front.points), _peak(front.points), front.world.workload.n_tasks
    return {
        "tasks": n_tasks,
        "tasks_per_machine": n_tasks / front.world.system.n_machines,
        "points": len(front.points),
        **_areas(front),
        "reference_energy_j": measure.reference[0],
        "utility_ceiling": measure.most_utility,
        "utility_bound": math.nan if front.bound is None else front.bound.utility_at(_most_j(front.world)),
        "most_utility": float(utility[-1]),
        "most_utility_energy_j": float(energy_j[-1]),
        "least_energy_j": float(energy_j[0]),
        "least_energy_utility": float(utility[0]),
        "knee_energy_j": float(energy_j[knee]),
        "knee_utility": float(utility[knee]),
        "peak_energy_j": float(energy_j[peak]),
        "peak_utility": float(utility[peak]),
        "peak_utility_per_mj": float(_per_mj(front.points)[peak]),
        "gap_percent": _mean(_gaps_percent(front.bound, front.points)),
        **_fresh_columns(front),
    }


def _most_j(world: World) -> float:
    """More energy than any assignment uses."""
    energy_j = world.supply.pue * world.system.eec_j
    return world.workload.n_tasks * float(energy_j[np.isfinite(energy_j)].max())


def _areas(front: FoundFront) -> dict[str, float]:
    """How much of what is possible, and of what could be imagined, the front and its snapshots dominate."""
    curves = {"": front.points, **{f":{n}": points for n, points in front.snapshots.items()}}
    bound = front.bound
    proven = {name: math.nan if bound is None else 100 * _share(bound, points) for name, points in curves.items()}
    return {
        **{f"hypervolume_percent{name}": percent for name, percent in proven.items()},
        **{f"normalised_percent{name}": _normalised_percent(front.measure, points) for name, points in curves.items()},
    }


def _share(bound: UtilityBound, points: Floats) -> float:
    from joulewise.optimise.assignments.problem import ENERGY_UTILITY
    from joulewise.optimise.front import Front

    return bound.share(Front(ENERGY_UTILITY, points)) if bound.hypervolume > 0 else math.nan


def _normalised_percent(measure: UtilityMeasure, points: Floats) -> float:
    """The hypervolume in percent of what there would be if everything were worth its most; NaN of nothing."""
    from joulewise.optimise.assignments.problem import ENERGY_UTILITY
    from joulewise.optimise.front import front_of

    area = front_of(points, objectives=ENERGY_UTILITY).hypervolume(measure.reference)
    return 100 * area / measure.area if measure.area > 0 else math.nan


def _fresh_columns(front: FoundFront) -> dict[str, float]:
    """What fresh samples say of a front; NaN without chances."""
    names = (
        "fresh_percent",
        "fresh_mean_percent",
        "marker_sds",
        "energy_sd_percent",
        "utility_sd_percent",
        "dropped_sd_correlation",
    )
    spread = front.spread
    if spread is None:
        return {**dict.fromkeys(names, math.nan), "tasks_dropped": _mean(front.dropped)}
    means = spread.mean * [1.0, -1.0]
    sds = np.column_stack((_sd(spread.energy_j), _sd(spread.utility)))
    off = np.abs(front.points - means) / np.where(sds > 0, sds, np.nan)
    relative = 100 * sds / np.where(means != 0, np.abs(means), np.nan)
    dropped = spread.mean_dropped
    values = (
        math.nan if front.fresh is None else _normalised_percent(front.measure, front.fresh),
        _normalised_percent(front.measure, means), _mean(off), _mean(relative[:, 0]), _mean(relative[:, 1]),
        _rank_correlation(dropped, sds[:, 1]),
    )  # fmt: skip
    return {**dict(zip(names, values, strict=True)), "tasks_dropped": float(dropped.mean())}


def _sd(values: Floats) -> Floats:
    return np.asarray(values.std(axis=1, ddof=1))


def _mean(values: Floats) -> float:
    """The mean of what is known; NaN where nothing is."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else math.nan


def _rank_correlation(first: Floats, second: Floats) -> float:
    """Spearman's correlation; NaN where one of both does not vary."""
    import polars as pl

    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return math.nan
    ranks = [pl.Series(values).rank().to_numpy() for values in (first, second)]
    return float(np.corrcoef(ranks)[0, 1])


# --- points ------------------------------------------------------------------------------------------------------


def _shown(points: Floats) -> tuple[Floats, Floats]:
    """Energy and utility of points, as people read them."""
    return points[:, 0], 0.0 - points[:, 1]


def _per_mj(points: Floats) -> Floats:
    """Utility per megajoule; 0 where nothing runs."""
    energy_j, utility = _shown(points)
    return np.divide(_MJ * utility, energy_j, out=np.zeros(len(points)), where=energy_j > 0)


def _peak(points: Floats) -> int:
    return int(np.argmax(_per_mj(points)))


def _knee(points: Floats) -> int:
    from joulewise.optimise.front import front_of

    return front_of(points).knee()


def _bounds_at(bound: UtilityBound | None, energies_j: Floats) -> Floats:
    """The most utility that is proven for each energy; NaN without a bound."""
    if bound is None:
        return np.full(energies_j.size, np.nan)
    return np.array([bound.utility_at(energy_j) for energy_j in energies_j.tolist()])


def _gaps_percent(bound: UtilityBound | None, points: Floats) -> Floats:
    energy_j, utility = _shown(points)
    most = _bounds_at(bound, energy_j)
    return 100 * gap_of(most - utility, most)


# --- tables ------------------------------------------------------------------------------------------------------


def fronts_table(front: FrontPoints) -> pl.DataFrame:
    """The front, its bound and its snapshots."""
    import polars as pl

    is_cautious = pl.Series(np.arange(len(front.points)) == front.cautious)
    found = _curve("front", front.points, front.bound).with_columns(is_cautious=is_cautious, **_spread_columns(front))
    curves = [found]
    if front.bound is not None:
        curves.append(_curve("bound", front.bound.points))
    curves += [_curve("snapshot", points, front.bound, n) for n, points in front.snapshots.items()]
    whole = pl.concat(curves, how="diagonal")
    return whole.with_columns(pl.col("is_cautious").fill_null(False), pl.selectors.float().fill_nan(None))


def _curve(name: str, points: Floats, bound: UtilityBound | None = None, generation: int | None = None) -> pl.DataFrame:
    import polars as pl

    energy_j, utility = _shown(points)
    rows = np.arange(len(points))
    return pl.DataFrame(
        {
            "curve": pl.Series([name] * len(points), dtype=pl.String),
            "point": rows,
            "generation": pl.Series([generation] * len(points), dtype=pl.Int64),
            "energy_j": energy_j,
            "utility": utility,
            "utility_per_mj": _per_mj(points),
            "utility_bound": _bounds_at(bound, energy_j),
            "gap_percent": _gaps_percent(bound, points),
            "is_knee": rows == _knee(points),
            "is_peak": rows == _peak(points),
        }
    )


def _spread_columns(front: FrontPoints) -> dict[str, Any]:
    """Means, standard deviations and correlation over fresh samples; null without chances."""
    import polars as pl

    names = ("mean_energy_j", "mean_utility", "sd_energy_j", "sd_utility", "correlation")
    spread = front.spread
    if spread is None:
        return {**dict.fromkeys(names, pl.lit(None, pl.Float64)), "tasks_dropped": pl.Series(front.dropped)}
    both = (spread.energy_j, spread.utility)
    values = [*(found.mean(axis=1) for found in both), *(_sd(found) for found in both), _correlations(*both)]
    series = {name: pl.Series(found) for name, found in zip(names, values, strict=True)}
    return {**series, "tasks_dropped": pl.Series(spread.mean_dropped)}


def _correlations(first: Floats, second: Floats) -> Floats:
    """By row; NaN where one of both does not vary."""
    scaled = [found - found.mean(axis=1, keepdims=True) for found in (first, second)]
    sizes = np.sqrt((scaled[0] ** 2).sum(axis=1) * (scaled[1] ** 2).sum(axis=1))
    products = (scaled[0] * scaled[1]).sum(axis=1)
    return np.asarray(np.divide(products, sizes, out=np.full(sizes.size, np.nan), where=sizes > 0))


def clouds_table(spread: FuzzyFront) -> pl.DataFrame:
    """Every point of a front in every fresh sample."""
    import polars as pl

    n_points, n_samples = spread.energy_j.shape
    return pl.DataFrame(
        {
            "point": np.repeat(np.arange(n_points, dtype=np.int32), n_samples),
            "sample": np.tile(np.arange(n_samples, dtype=np.int32), n_points),
            "energy_j": spread.energy_j.ravel(),
            "utility": spread.utility.ravel(),
            "tasks_dropped": spread.dropped.ravel(),
        }
    )


def assignments_table(world: World, assignments: Sequence[Assignment]) -> pl.DataFrame:
    """Where, how and in which order every task is to run, assignment by assignment."""
    import polars as pl

    system, n, n_tasks = world.system, len(assignments), assignments[0].n_tasks
    chosen = {
        name: np.concatenate([getattr(assignment, name) for assignment in assignments])
        for name in ("machine", "pstate", "order")
    }
    runs = pl.Series(chosen["machine"] >= 0)
    return pl.DataFrame(
        {
            "point": np.repeat(np.arange(n, dtype=np.int32), n_tasks),
            "task": np.tile(np.arange(n_tasks, dtype=np.int32), n),
            "task_type": named(system.task_types, np.tile(world.workload.task_type, n)),
            "machine": chosen["machine"],
            "machine_type": named(system.machine_types, system.machine_type[np.maximum(chosen["machine"], 0)]),
            "pstate": chosen["pstate"],
            "order": chosen["order"],
        }
    ).with_columns(pl.when(runs).then(pl.col("machine_type")))


def assignments_of(table: pl.DataFrame) -> list[Assignment]:
    """The assignments that a table describes; InputError where it describes none."""
    from joulewise.model.assignment import Assignment

    columns = [table[name].to_numpy() for name in ("machine", "pstate", "order")]
    starts = np.flatnonzero(np.diff(table["point"].to_numpy(), prepend=-1))
    return [Assignment(*parts) for parts in zip(*(np.split(column, starts[1:]) for column in columns), strict=True)]
