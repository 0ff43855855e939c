"""Made-up studies of bags with known answers for the tests of figures and reports."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from joulewise.present.bags.keys import RATIO
from joulewise.present.page import page_of
from joulewise.present.records import METHOD, Records, StudyInfo
from joulewise.study.answers import statistics
from joulewise.study.kinds.systems import all_kinds
from tests.strategies.made import INFO

SIZE = "workload.n_tasks"
TYPES = "system.machine_types"
COST_PER_KWH = 3.6
COST_PER_J = 1e-6
N_MACHINES = 12
TITLES = {"lp": "LP", "annealing": "annealing", "nsga2": "NSGA-II", "one": "one point", "best": "best of many",
          "fixed": "Fixed price", "backlog": "By backlog"}  # fmt: skip
_N_VERTICES = 24
LEAST_J, MOST_J, LEAST_S, MOST_S = 10e6, 14e6, 240.0, 900.0


def bound_vertices(idle_w: float = 0.0) -> list[tuple[float, float]]:
    """Vertices of a bound from the least energy above idle on, as (energy, makespan)."""
    share = np.linspace(0.0, 1.0, _N_VERTICES)
    makespan_s = LEAST_S + (MOST_S - LEAST_S) * (1 - share) ** 3
    energy_j = LEAST_J + (MOST_J - LEAST_J) * share**3 + idle_w * makespan_s
    return list(zip(energy_j.tolist(), makespan_s.tolist(), strict=True))


def profit_records(
    ratios: Sequence[float] = (1.01, 1.2, 1.5),
    sizes: Sequence[int] = (360,),
    *,
    n_trials: int = 1,
    idle_w: float = 0.0,
    cap_w: float | None = None,
    **info: Any,
) -> Records:
    """Runs for the most profit; the gap falls with the number of tasks and rises with the ratio."""
    rows = [
        {"optimise.recovery": "one", RATIO: ratio, SIZE: size, "trial": trial, "supply.power_cap_w": cap_w,
         **_profit_metrics(ratio, size, trial, idle_w)}
        for ratio in ratios for size in sizes for trial in range(n_trials)
    ]  # fmt: skip
    runs = pl.DataFrame(rows).with_columns(run=pl.int_range(len(rows)).cast(pl.String))
    kept = runs.filter(pl.col("trial") == 0)
    fronts = pl.concat([_profit_curves(row, idle_w) for row in kept.iter_rows(named=True)])
    axes = ("optimise.recovery", RATIO, SIZE)
    return _records(runs, axes, n_trials, "profit", fronts, None, info)


def _profit_metrics(ratio: float, size: int, trial: int, idle_w: float) -> dict[str, Any]:
    vertices = bound_vertices(idle_w)
    least_j = min(energy for energy, _ in vertices)
    price = ratio * COST_PER_J * least_j
    energy_j, makespan_s = max(vertices, key=lambda point: (price - COST_PER_J * point[0]) / point[1])
    pareto = [point for point in vertices if point[0] <= vertices[_cheapest(vertices)][0] or point[1] <= makespan_s]
    best = max((price - COST_PER_J * e) / t for e, t in pareto[-(_N_VERTICES - _cheapest(vertices)) :])
    bound = (price - COST_PER_J * energy_j) / makespan_s
    gap = (4 + 6 * max(ratio - 1, 0)) * 100 / size * (1 + 0.3 * math.sin(7 * trial + size + 10 * ratio))
    return {
        "tasks": size, "tasks_per_machine": size / N_MACHINES, "profit_ratio": ratio, "price": price,
        "cost_per_kwh": COST_PER_KWH, "optimum_energy_j": energy_j, "optimum_makespan_s": makespan_s,
        "energy_j": 1.004 * energy_j, "makespan_s": 1.01 * makespan_s, "mean_power_w": energy_j / makespan_s,
        "profit_bound_per_s": bound, "profit_per_s": bound - abs(bound) * gap / 100, "gap_percent": gap,
        "pareto_profit_per_s": best, "on_front_percent": 100.0 if math.isclose(best, bound) else 0.0,
        "energy_bound_j": least_j, "makespan_bound_s": LEAST_S, "profit": bound * makespan_s, "solve_s": 1e-3,
        "knee_energy_j": vertices[_N_VERTICES // 2][0], "knee_makespan_s": vertices[_N_VERTICES // 2][1],
        "verdict": "profit" if bound > 0 else "loss under agreement",
    }  # fmt: skip


def _cheapest(vertices: Sequence[tuple[float, float]]) -> int:
    return int(np.argmin([energy for energy, _ in vertices]))


def _profit_curves(row: Mapping[str, Any], idle_w: float) -> pl.DataFrame:
    vertices = bound_vertices(idle_w)
    dear = [(energy_j + 3e6 * (makespan_s / LEAST_S - 1), makespan_s) for energy_j, makespan_s in vertices]
    region = [*vertices, *reversed(dear)]
    return pl.concat(
        [_curve(row["run"], "bound", vertices[_cheapest(vertices) :]), _curve(row["run"], "region", region)]
    )


def _curve(
    run: str, name: str, points: Sequence[tuple[float, float]], generation: int | None = None, knee: int = -1
) -> pl.DataFrame:
    n = len(points)
    chosen = dict(zip([0, n // 4, n // 2, 3 * n // 4, n - 1], "abcde", strict=True)) if name == "front" else {}
    rows = [
        {"run": run, "curve": name, "point": i, "generation": generation, "energy_j": energy_j,
         "makespan_s": makespan_s, "gap_percent": None if name != "front" else 0.5, "profit_per_s": None,
         "is_knee": i == knee, "chosen": chosen.get(i)}
        for i, (energy_j, makespan_s) in enumerate(points)
    ]  # fmt: skip
    kinds = {"generation": pl.Int64, "gap_percent": pl.Float64, "profit_per_s": pl.Float64, "chosen": pl.String}
    return pl.DataFrame(rows, schema_overrides=kinds)


def pricing_records(per_day: Sequence[int] = (40, 80), ratios: Sequence[float] = (1.0, 2.0, 3.0)) -> Records:
    """Runs of prices: by backlog 90 % of what is possible, the fixed price best at a ratio of 2."""
    ways: list[tuple[str, float | None]] = [("backlog", None), *(("fixed", ratio) for ratio in ratios)]
    rows = [
        {METHOD: method, RATIO: ratio, "workload.customers_per_day": n, "trial": 0, "unseen_bound": float(n),
         "profit": 0.9 * n if ratio is None else n * (0.75 - 0.25 * abs(ratio - 2)), "profit_bound": 2.0 * n,
         "gap_percent": 55.0, "sold": n / 2, "customers": float(n)}
        for method, ratio in ways for n in per_day
    ]  # fmt: skip
    runs = pl.DataFrame(rows).with_columns(run=pl.int_range(len(rows)).cast(pl.String))
    axes = (METHOD, RATIO, "workload.customers_per_day")
    return _records(runs, axes, 1, "pricing", pl.DataFrame(), None, {})


def front_records(
    methods: Sequence[str] = ("lp", "nsga2"), n_types: Sequence[int] = (3,), *, n_trials: int = 1, **info: Any
) -> Records:
    """Runs for the front; the genetic search comes less near the bound, and has snapshots."""
    rows = [
        {METHOD: method, TYPES: types, "trial": trial, **_front_metrics(method, types, trial)}
        for method in methods for types in n_types for trial in range(n_trials)
    ]  # fmt: skip
    runs = pl.DataFrame(rows).with_columns(run=pl.int_range(len(rows)).cast(pl.String))
    kept = [row for row in runs.iter_rows(named=True) if row["trial"] == 0]
    fronts = pl.concat([_front_curves(row) for row in kept])
    machines = pl.concat([_machine_rows(row, fronts) for row in kept])
    return _records(runs, (METHOD, TYPES), n_trials, "front", fronts, machines, info)


def _front_metrics(method: str, types: int, trial: int) -> dict[str, Any]:
    above = _above(method)
    return {
        "tasks": 1000, "tasks_per_machine": 1000 / N_MACHINES, "points": _N_VERTICES,
        "hypervolume_percent": 100 - 40 * above + 0.1 * math.sin(trial), "least_energy_j": LEAST_J * (1 + above),
        "least_makespan_s": LEAST_S * (1 + above) * 3 / types, "energy_bound_j": LEAST_J, "makespan_bound_s": LEAST_S,
        "gap_percent": 100 * above, "knee_energy_j": 11e6, "knee_makespan_s": 300.0, "unused_types": 1.0,
        "busy_cov:least energy": 0.9, "busy_cov:least makespan": 0.02, "energy_cov:least makespan": 0.3,
        "energy_cov:least energy": 1.1, "solve_s": 0.5,
    }  # fmt: skip


def _above(method: str) -> float:
    return {"lp": 0.01, "annealing": 0.005}.get(method, 0.04)


def _front_curves(row: Mapping[str, Any]) -> pl.DataFrame:
    def raised(above: float) -> list[tuple[float, float]]:
        return [(energy_j * (1 + above), makespan_s * (1 + above)) for energy_j, makespan_s in bound_vertices()]

    above, run = _above(row[METHOD]), row["run"]
    curves = [_curve(run, "bound", bound_vertices()), _curve(run, "front", raised(above), knee=_N_VERTICES // 2)]
    if row[METHOD] == "nsga2":
        curves += [_curve(run, "snapshot", raised(above + 0.4 / (1 + g / 300)), g) for g in (100, 1000, 10000, 100000)]
    return pl.concat(curves)


def _machine_rows(row: Mapping[str, Any], fronts: pl.DataFrame) -> pl.DataFrame:
    points = fronts.filter((pl.col("run") == row["run"]) & (pl.col("curve") == "front"))
    types = [i * row[TYPES] // N_MACHINES for i in range(N_MACHINES)]
    rows = []
    for point in points.iter_rows(named=True):
        balance = point["point"] / (_N_VERTICES - 1)
        for machine, kind in enumerate(types):
            share = balance + (1 - balance) * (1 - kind / row[TYPES]) ** 3
            rows.append(
                {"run": row["run"], "point": point["point"], "machine": machine, "machine_type": f"Maker M-{kind}00K",
                 "group": "general", "tasks": round(80 * share), "busy_s": point["makespan_s"] * share,
                 "energy_j": point["energy_j"] / N_MACHINES * share * (1 + 0.2 * kind)}
            )  # fmt: skip
    return pl.DataFrame(rows)


def _records(
    runs: pl.DataFrame,
    axes: tuple[str, ...],
    n_trials: int,
    kind: str,
    fronts: pl.DataFrame,
    machines: pl.DataFrame | None,
    info: Mapping[str, Any],
) -> Records:
    study = StudyInfo(axes=axes, trials=n_trials, kind=kind, **{**INFO, **info})
    keys = {*axes, "trial", "run", "verdict", "supply.power_cap_w"}
    metrics = [name for name in runs.columns if name not in keys]
    summary = statistics.summary(runs, axes, metrics)
    tables = {"fronts": fronts} if machines is None else {"fronts": fronts, "machines": machines}
    return Records(
        study, runs, summary, pl.DataFrame(), TITLES, {}, tables, page_of(kind).keys, all_kinds()[kind].headings()
    )
