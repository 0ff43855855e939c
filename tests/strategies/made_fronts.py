"""Made-up studies of utility and energy with known answers for the tests of figures and reports."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from joulewise.present.assignments.keys import OBJECTIVE, PERCENTILES
from joulewise.present.page import page_of
from joulewise.present.records import METHOD, SEEDS, Records, StudyInfo, tidy
from joulewise.study.answers import statistics
from joulewise.study.kinds.systems import all_kinds
from tests.strategies.made import INFO

SIZE = "workload.n_tasks"
TITLES = {"annealing": "Annealing", "nsga2": "NSGA-II"}
LEAST_J, MOST_UTILITY = 20e6, 10_000.0
FIVE_SEEDS: tuple[list[str], ...] = (["min-energy"], ["min-min"], ["max-utility"], ["max-utility-per-energy"], [])
STEPS = (100, 1000, 10_000, 100_000)
_BEHIND = {"min-energy": 0.2, "min-min": 0.3, "max-utility": 0.35, "max-utility-per-energy": 0.15, "": 0.7}
_LEAST_PART, _REACH = 0.35, 0.63


def proven(energy_j: float) -> float:
    """The most utility that the made-up bound allows."""
    return MOST_UTILITY * (_LEAST_PART + _REACH * (1 - math.exp(-6 * (energy_j / LEAST_J - 1))))


def utility_records(
    methods: Sequence[str] = ("annealing", "nsga2"),
    seeds: Sequence[Sequence[str]] = (["min-energy"],),
    sizes: Sequence[int] = (4000,),
    *,
    n_trials: int = 1,
    n_points: int = 60,
    steps: Sequence[int] = STEPS,
    **info: Any,
) -> Records:
    """Runs for the front of utility and energy; annealing comes nearer the bound, and seeds matter less and less."""
    rows = [
        {METHOD: method, SEEDS: list(names), SIZE: size, "trial": trial, **_metrics(method, names, trial, steps)}
        for method in methods for names in seeds for size in sizes for trial in range(n_trials)
    ]  # fmt: skip
    runs = pl.DataFrame(rows, schema_overrides={SEEDS: pl.List(pl.String)}, infer_schema_length=None)
    runs = tidy(runs.with_columns(run=pl.int_range(len(rows)).cast(pl.String)))
    kept = [row for row in runs.iter_rows(named=True) if row["trial"] == 0]
    fronts = pl.concat([_curves(row, n_points, steps) for row in kept])
    return _records(runs, (METHOD, SEEDS, SIZE), n_trials, info, fronts)


def _metrics(method: str, names: Sequence[str], trial: int, steps: Sequence[int]) -> dict[str, Any]:
    genetic = method == "nsga2"
    behind = _behind(method, ", ".join(names), max(steps, default=0))
    snapshots = {f"hypervolume_percent:{n}": 100 * (1 - _behind(method, ", ".join(names), n)) for n in steps if genetic}
    return {
        "tasks": 4000, "points": 60, "hypervolume_percent": 100 * (1 - behind) + 0.1 * math.sin(trial),
        "normalised_percent": 95 * (1 - behind), "most_utility": 9500 * (1 - behind), "least_energy_j": 20.2e6,
        "utility_bound": proven(1.8 * LEAST_J), "gap_percent": 100 * behind,
        "knee_energy_j": 24e6, "knee_utility": 8000.0, "peak_energy_j": 25e6, "peak_utility": 8200.0,
        "peak_utility_per_mj": 328.0, "solve_s": 2.0, **snapshots,
    }  # fmt: skip


def _behind(method: str, names: str, n_generations: int) -> float:
    """By what part a front lies below the bound."""
    if method == "annealing":
        return 0.02
    return 0.05 + _BEHIND[names] / (1 + n_generations / 2000)


def _curves(row: Mapping[str, Any], n_points: int, steps: Sequence[int]) -> pl.DataFrame:
    energies = np.linspace(LEAST_J, 1.8 * LEAST_J, n_points)
    last = max(steps, default=0)
    parts = [
        _curve(row["run"], "bound", energies, 0.0),
        _curve(row["run"], "front", energies, _behind(row[METHOD], row[SEEDS], last)),
    ]
    if row[METHOD] == "nsga2":
        parts += [
            _curve(row["run"], "snapshot", energies[:: max(1, n_points // 60)], _behind("nsga2", row[SEEDS], n), n)
            for n in steps
        ]
    return pl.concat(parts)


def _curve(run: str, name: str, energies: np.ndarray, behind: float, generation: int | None = None) -> pl.DataFrame:
    """A curve below the bound by a part, dearer by the same part."""
    utility = np.array([proven(energy_j) for energy_j in energies]) * (1 - behind)
    energy_j = energies * (1 + behind / 2)
    peak, knee = int(np.argmax(utility / energy_j)), len(energies) // 4
    at = np.arange(len(energies))
    is_bound = name == "bound"
    bounds = None if is_bound else [proven(e) for e in energy_j]
    return pl.DataFrame(
        {
            "run": [run] * len(at), "curve": [name] * len(at), "point": at, "generation": [generation] * len(at),
            "energy_j": energy_j, "utility": utility, "utility_bound": bounds,
            "gap_percent": None if is_bound else 100 * (1 - utility / np.array(bounds)),
            "is_knee": (at == knee) & (name == "front"), "is_peak": (at == peak) & (not is_bound),
        },
        schema_overrides={"generation": pl.Int64, "utility_bound": pl.Float64,
                          "gap_percent": pl.Float64},
    )  # fmt: skip


def fuzzy_records(
    aims: Sequence[tuple[str, int]] = (("mean-times", 50), ("percentile", 50)),
    *,
    n_points: int = 40,
    n_samples: int = 60,
    **info: Any,
) -> Records:
    """Runs with samples; markers of mean times lie below and right of their clouds, those of percentiles inside."""
    rows = [
        {METHOD: "nsga2", OBJECTIVE: objective, **dict.fromkeys(PERCENTILES, percentile), "trial": 0, "run": str(i),
         **_metrics("nsga2", ["min-energy"], 0, ()), "hypervolume_percent": None, "gap_percent": None,
         "energy_sd_percent": 1.0, "utility_sd_percent": 3.0, "tasks_dropped": 400.0, "fresh_mean_percent": 60.0,
         "system.time_cov_range": "0.1, 1.5", "system.power_cov_range": "0.1, 0.5"}
        for i, (objective, percentile) in enumerate(aims)
    ]  # fmt: skip
    runs = pl.DataFrame(rows, schema_overrides={"hypervolume_percent": pl.Float64, "gap_percent": pl.Float64})
    made = [_samples(row, n_points, n_samples) for row in rows]
    fronts, clouds = (pl.concat([parts[i] for parts in made]) for i in (0, 1))
    return _records(runs, (METHOD, OBJECTIVE, *PERCENTILES), 1, info, fronts, clouds=clouds)


def _samples(row: Mapping[str, Any], n_points: int, n_samples: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Front and cloud of one run."""
    random, run = np.random.default_rng(7), row["run"]
    mean_j = np.linspace(LEAST_J, 1.8 * LEAST_J, n_points) * (1.0 if row[OBJECTIVE] == "percentile" else 1.02)
    mean = np.array([proven(energy_j) for energy_j in mean_j]) * 0.9
    part = np.linspace(0.2, 1.0, n_points)[:, None]
    draws = random.standard_normal((2, n_points, n_samples))
    energy_j = mean_j[:, None] * (1 + 0.01 * part * draws[0])
    utility = mean[:, None] * (1 + 0.03 * part * (0.8 * draws[1] - 0.6 * draws[0]))
    off = 0.0 if row[OBJECTIVE] == "percentile" else 0.05
    marked_j, marked = np.median(energy_j, axis=1) * (1 + off), np.median(utility, axis=1) * (1 - off)
    front = _curve(run, "front", mean_j, 0.1).with_columns(
        energy_j=pl.Series(marked_j), utility=pl.Series(marked), utility_bound=None, gap_percent=None
    )
    points = np.repeat(np.arange(n_points), n_samples)
    cloud = pl.DataFrame(
        {"run": [run] * points.size, "point": points, "sample": np.tile(np.arange(n_samples), n_points),
         "energy_j": energy_j.ravel(), "utility": utility.ravel()}
    )  # fmt: skip
    spread = {
        "mean_energy_j": energy_j.mean(axis=1), "mean_utility": utility.mean(axis=1),
        "sd_energy_j": energy_j.std(axis=1), "sd_utility": utility.std(axis=1),
        "correlation": [float(np.corrcoef(a, b)[0, 1]) for a, b in zip(energy_j, utility, strict=True)],
        "tasks_dropped": np.linspace(800, 20, n_points),
    }  # fmt: skip
    casts = [pl.col(name).cast(pl.Float64) for name in ("utility_bound", "gap_percent")]
    return front.with_columns(*casts, **{name: pl.Series(values) for name, values in spread.items()}), cloud


def _records(
    runs: pl.DataFrame,
    axes: tuple[str, ...],
    n_trials: int,
    info: Mapping[str, Any],
    fronts: pl.DataFrame,
    **tables: pl.DataFrame,
) -> Records:
    study = StudyInfo(axes=axes, trials=n_trials, kind="utility", **{**INFO, **info})
    metrics = [name for name in runs.columns if name not in {*axes, "trial", "run"} and "." not in name]
    summary = statistics.summary(runs, axes, metrics)
    keys, headings = page_of("utility").keys, all_kinds()["utility"].headings()
    return Records(study, runs, summary, pl.DataFrame(), TITLES, {}, {"fronts": fronts, **tables}, keys, headings)
