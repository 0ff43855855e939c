"""Made-up studies of a facility with plausible answers for the tests of figures and reports."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from joulewise.present.page import page_of
from joulewise.present.records import METHOD, Records, StudyInfo
from joulewise.study.answers import statistics
from joulewise.study.kinds.systems import all_kinds
from tests.strategies.made import INFO

CAP = "supply.power_cap_w"
REDLINE_C = 25.0
TITLES = {
    "greedy": "Greedy", "ga": "GA", "gacl": "GACL", "nlp": "NLP", "nlpcl": "NLPCL", "configurations": "Configurations",
}  # fmt: skip
TASKS = {
    "povray": "light", "tonto": "light", "calculix": "light", "wrf": "medium", "cactusADM": "medium",
    "sphinx3": "heavy", "bwaves": "heavy", "lbm": "heavy",
}  # fmt: skip
TYPES = ("Fujitsu TX140", "IBM x3200", "Fujitsu RX100")
CORES = (4, 2, 4)
MOST_PER_S, BOUND_PERCENT, MOST_W = 120.0, 54.0, 14_000.0
_REACHED = dict(zip(TITLES, (27.0, 30.0, 33.0, 24.0, 53.6, 53.8), strict=True))
_BLIND = ("greedy", "ga", "nlp")
_TOOK_S = dict(zip(TITLES, (0.02, 120.0, 150.0, 15.0, 19.0, 0.6), strict=True))
_LEVELS = 20
FIG_2: tuple[dict[str, Any], ...] = tuple({METHOD: name} for name in TITLES)
CAPS: tuple[dict[str, Any], ...] = tuple(
    {METHOD: name, CAP: cap_w}
    for name in ("greedy", "configurations")
    for cap_w in (6000.0, 8000.0, 10_000.0, 12_000.0, 14_000.0)
)


def facility_records(
    points: Sequence[Mapping[str, Any]] = FIG_2,
    *,
    n_trials: int = 3,
    n_nodes: int = 60,
    n_cracs: int = 3,
    placed: bool = True,
    details: bool = True,
    **info: Any,
) -> Records:
    """Runs at these points of a study; those of the first trial keep all tables where details are asked for."""
    rows = [{**point, "trial": trial, "run": f"{i}/{trial}"} for i, point in enumerate(points)
            for trial in range(n_trials)]  # fmt: skip
    runs = pl.DataFrame([{**row, **_metrics(row)} for row in rows])
    axes = tuple(points[0])
    kept = [row for row in rows if details and row["trial"] == 0]
    tables = {
        "nodes": [_nodes(row, n_nodes, n_cracs, placed=placed) for row in kept],
        "cracs": [_cracs(row, n_cracs) for row in kept],
        "cores": [_cores(row, n_nodes) for row in kept],
        "rates": [_rates(row) for row in kept],
        "progress": [_progress(row) for row in kept],
    }
    study = StudyInfo(axes=axes, trials=n_trials, kind="facility", **{**INFO, **info})
    kind = all_kinds()["facility"]
    summary = statistics.summary(runs, axes, kind.metrics(runs.columns))
    differences = statistics.differences(runs, axes, ["crr_percent"], axes[0])
    frames = {name: pl.concat(parts) for name, parts in tables.items() if parts}
    return Records(study, runs, summary, differences, TITLES, {}, frames, page_of("facility").keys, kind.headings())


def _metrics(row: Mapping[str, Any]) -> dict[str, Any]:
    method, trial = row[METHOD], row["trial"]
    part = 1 - math.exp(-2.2 * row.get(CAP, 0.6 * MOST_W) / MOST_W)
    usual = 1 - math.exp(-2.2 * 0.6)
    cap = part / usual
    noise = 1.2 * math.sin(5 * trial + len(method))
    crr, bound = cap * (_REACHED[method] + noise), cap * (BOUND_PERCENT + 1.3 + abs(noise))
    rr = crr * (2.1 if method in _BLIND else 1.08)
    cap_w = row.get(CAP, 0.6 * MOST_W)
    return {
        "nodes": 60.0, "cores": 200.0, "most_reward_per_s": MOST_PER_S, "crr_percent": crr, "rr_percent": rr,
        "slowed_reward_per_s": crr * MOST_PER_S / 100, "reward_per_s": rr * MOST_PER_S / 100, "bound_percent": bound,
        "gap_percent": 100 * (1 - crr / bound), "total_w": 0.998 * cap_w, "cap_w": cap_w, "cap_margin_w": 0.002 * cap_w,
        "nodes_w": 0.78 * cap_w, "cooling_w": 0.218 * cap_w, "redline_margin_k": 0.0, "hottest_inlet_c": REDLINE_C,
        "supply_mean_c": 17.0, "n_idle_cores": 12.0, "heavy_neighbours": 2.1 if method in _BLIND else 0.3,
        "value_per_kw": 22 * bound / cap * MOST_PER_S / MOST_W * (1 - part) / usual, "value_per_k": 0.4,
        "day_planned_percent": crr, "day_earned_percent": 0.9 * crr, "earned_of_planned_percent": 90.0,
        "set_points": f"Set CRAC 0 to {17 + trial}.0 °C.", "solve_s": _TOOK_S[method],
    }  # fmt: skip


def _named(run: str, table: Mapping[str, Any]) -> pl.DataFrame:
    return pl.DataFrame({"run": [run] * len(next(iter(table.values()))), **table})


def _type_of(n_nodes: int) -> np.ndarray:
    return np.random.default_rng(3).integers(0, len(TYPES), n_nodes)


def _nodes(row: Mapping[str, Any], n_nodes: int, n_cracs: int, *, placed: bool) -> pl.DataFrame:
    """Nodes in racks of 20; the higher and the nearer to the middle of a row, the warmer; none above the redline."""
    rack, level = np.divmod(np.arange(n_nodes), _LEVELS)
    n_racks = int(rack[-1]) + 1
    n_rows = max(round(math.sqrt(n_racks / 4)), min(n_racks, 2))
    per_row = -(-n_racks // n_rows)
    line, column = np.divmod(rack, per_row)
    kind = _type_of(n_nodes)
    random = np.random.default_rng(7)
    power_w = np.array([19.0, 75.0, 35.0])[kind] + np.array([36.0, 42.0, 90.0])[kind] * random.uniform(
        0.2, 0.9, n_nodes
    )
    supply_c = _supplies(row, n_cracs)[line * n_cracs // n_rows]
    middle = 1 - np.abs(column - (per_row - 1) / 2) / max(per_row / 2, 1)
    inlet_c = supply_c + (1.2 + 5.0 * level / _LEVELS + 1.5 * middle) * power_w / 95 + random.uniform(0, 0.6, n_nodes)
    place = {"x_m": 0.6 * column, "y_m": 2.4 * line, "height_m": 0.0889 * (level + 0.5)}
    return _named(row["run"], {
        "node": np.arange(n_nodes), "name": _names(n_nodes),
        "type": pl.Series([TYPES[k] for k in kind], dtype=pl.Enum(TYPES)),
        "cores": np.array(CORES)[kind], "processors": np.ones(n_nodes, int),
        **(place if placed else {name: pl.Series([None] * n_nodes, dtype=pl.Float64) for name in place}),
        "power_w": power_w, "inlet_c": np.minimum(inlet_c, REDLINE_C), "redline_c": np.full(n_nodes, REDLINE_C),
    })  # fmt: skip


def _names(n: int) -> list[str]:
    return [f"n{i}" for i in range(n)]


def _supplies(row: Mapping[str, Any], n_cracs: int) -> np.ndarray:
    return 16.5 + 1.5 * np.sin(np.arange(n_cracs) + len(row[METHOD]))


def _cracs(row: Mapping[str, Any], n_cracs: int) -> pl.DataFrame:
    supply_c = _supplies(row, n_cracs)
    cop = 0.458 + 0.0008 * supply_c + 0.0068 * supply_c**2
    heat_w = 5000.0 * (1 + 0.2 * np.cos(np.arange(n_cracs)))
    return _named(row["run"], {
        "crac": np.arange(n_cracs), "name": _names(n_cracs),
        "supply_c": supply_c, "inlet_c": supply_c + 8, "heat_w": heat_w,
        "power_w": heat_w / cop, "cop": cop,
    })  # fmt: skip


def _cores(row: Mapping[str, Any], n_nodes: int) -> pl.DataFrame:
    """Blind techniques fill nodes with what is memory-bound; others keep that to the first core of each."""
    names, classes = list(TASKS), list(TASKS.values())
    found = []
    first = 0
    for node, kind in enumerate(_type_of(n_nodes)):
        for place in range(CORES[kind]):
            heavy = row[METHOD] in _BLIND or place == 0
            main, other = (5 + node % 3, 3) if heavy else (node % 3, (node + place) % 3)
            parts = {main: 0.72, other: 0.28} if main != other else {main: 1.0}
            idles = kind == 1 and node % 2 and place == 1
            found += [] if idles else [
                (node, node, first + place, names[task], classes[task], share, task % 4)
                for task, share in parts.items()
            ]  # fmt: skip
        first += CORES[kind]
    columns = ("node", "processor", "core", "task", "class", "share", "pstate")
    table = dict(zip(columns, (list(column) for column in zip(*found, strict=True)), strict=True))
    return _named(row["run"], {**table, **_typed(table["task"], table["class"])})


def _typed(tasks: Sequence[str], classes: Sequence[str]) -> dict[str, pl.Series]:
    return {
        "task": pl.Series(tasks, dtype=pl.Enum(list(TASKS))),
        "class": pl.Series(classes, dtype=pl.Enum(list(dict.fromkeys(TASKS.values())))),
    }


def _rates(row: Mapping[str, Any]) -> pl.DataFrame:
    n = len(TASKS)
    arrival = 10.0 + 2.0 * np.arange(n)
    alone = arrival * np.linspace(1.0, 0.5, n)
    return _named(row["run"], {
        **_typed(list(TASKS), list(TASKS.values())), "reward": np.linspace(0.5, 1.0, n), "arrival_per_s": arrival,
        "alone_per_s": alone, "slowed_per_s": alone / (2.0 if row[METHOD] in _BLIND else 1.05),
    })  # fmt: skip


def _progress(row: Mapping[str, Any]) -> pl.DataFrame:
    """Genetic searches rise step by step, the others end with what they found."""
    end_s, reached = _TOOK_S[row["optimise.method"]], _metrics(row)["crr_percent"]
    n = 25 if row[METHOD] in ("ga", "gacl") else 1
    at_s = np.geomspace(end_s / 300, end_s, n) if n > 1 else np.array([end_s])
    percent = reached * (1 - 0.55 * (1 - np.linspace(0, 1, n)) ** 2) if n > 1 else np.array([reached])
    return _named(row["run"], {
        "at_s": at_s, "slowed_reward_per_s": percent * MOST_PER_S / 100, "crr_percent": percent,
    })  # fmt: skip
