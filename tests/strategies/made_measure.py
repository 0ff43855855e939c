"""An analysis of a machine whose slowdowns and powers are made up, for figures, pages and tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations_with_replacement
from typing import Any

import polars as pl

from joulewise.measure.analysis.additive import Additivity
from joulewise.measure.analysis.analysis import Analysis
from joulewise.measure.analysis.columns import TABLES, schema, table
from joulewise.measure.bench.observations import COLUMNS

Row = dict[str, Any]

CLOCKS_MHZ = (3400.0, 2800.0, 2200.0, 1700.0)
CLASS = {"canneal": "III", "streamcluster": "III", "blackscholes": "II", "bodytrack": "I"}
INTENSITY = {"canneal": 2.25e-2, "streamcluster": 1.64e-2, "blackscholes": 2.29e-5, "bodytrack": 7.44e-6}
TIME_S = {"canneal": 130.0, "streamcluster": 370.0, "blackscholes": 160.0, "bodytrack": 165.0}
SCALED = {"canneal": 0.35, "streamcluster": 0.25, "blackscholes": 0.97, "bodytrack": 0.92}
DYNAMIC_W = {"canneal": 16.0, "streamcluster": 18.0, "blackscholes": 14.0, "bodytrack": 15.0}
STATIC_W = 44.0
METER = "RAPL (package-0)"
SLOWING = {"III": 0.32, "II": 0.03, "I": 0.02}
FOURS = (
    ("canneal", "canneal", "streamcluster", "streamcluster"), ("blackscholes", "bodytrack", "bodytrack", "canneal"),
    ("bodytrack", "bodytrack", "canneal", "streamcluster"),
)  # fmt: skip


def slowdown(program: str, beside: str) -> float:
    """How much longer a program takes beside another: those with much memory traffic feel and cause most."""
    return SLOWING[CLASS[program]] * SLOWING[CLASS[beside]] / 0.32


def group_name(members: Sequence[str]) -> str:
    counts = {name: members.count(name) for name in sorted(members)}
    return " + ".join(name if n == 1 else f"{n} {name}" for name, n in counts.items())


def made_analysis(
    clocks: Sequence[float | None] = CLOCKS_MHZ, *, has_energy: bool = True, has_counters: bool = True,
    fours: Sequence[Sequence[str]] = FOURS, missing: Sequence[str] = (),
) -> Analysis:  # fmt: skip
    """The analysis of pairs and four-way groups; clocks of None are "as is"."""
    names = list(CLASS)
    groups = [list(pair) for pair in combinations_with_replacement(names, 2)] + [list(four) for four in fours]
    rows: dict[str, list[Row]] = {name: [] for name in TABLES}
    observed: list[Row] = []
    for mhz in clocks:
        at = {"clock": "as is" if mhz is None else f"{mhz:g} MHz", "clock_mhz": mhz}
        for program in names:
            rows["alone"].append(_alone(program, at))
            rows["powers"].append(_powers(program, at))
            observed.extend(_observed(program, at))
        for group in groups:
            rows["members"].extend(_members(group, at))
            rows["together"].append(_together(group, at))
        rows["pairs"].extend(_pair(a, b, at) for a in names for b in names)
        rows["additive"].extend(row for four in fours for row in _additive(four, at))
    rows["programs"] = [_program(name, has_counters=has_counters) for name in names]
    rows["by_class"] = [
        {"class": a, "beside": b, "n": 4, "slowdown": SLOWING[a] * SLOWING[b] / 0.32, "slowdown_ci": 0.01}
        for a in SLOWING for b in SLOWING
    ]  # fmt: skip
    if len(clocks) > 1:
        rows["scaling"] = [_scaling(name, len(clocks)) for name in names]
        rows["best_clock"] = list(_best_clocks(rows["alone"]))
    tables = {name: table(columns, rows[name]) for name, columns in TABLES.items()}
    if not has_energy:
        tables = {name: _without(frame, ("energy", "power", "together_j", "saved")) for name, frame in tables.items()}
        tables |= {name: tables[name].clear() for name in ("powers", "together", "best_clock")}
    if not has_counters:
        tables = {name: _without(frame, ("intensity", "instructions")) for name, frame in tables.items()}
    observations = pl.DataFrame(observed, schema(COLUMNS), orient="row")
    additivity = Additivity(12, 0.012, 0.004, 0.015, 0.8, "additive") if fours else Additivity()
    return Analysis(
        observations if has_energy else _without(observations, ("energy",)), observations.clear(), **tables,
        additivity=additivity, missing=tuple(missing),
    )  # fmt: skip


def _without(frame: pl.DataFrame, stems: Sequence[str]) -> pl.DataFrame:
    gone = [name for name in frame.columns if name.startswith(tuple(stems))]
    return frame.with_columns(pl.lit(None, frame.schema[name]).alias(name) for name in gone)


def _part(mhz: float | None) -> float:
    return 1.0 if mhz is None else mhz / CLOCKS_MHZ[0]


def _time_s(program: str, mhz: float | None) -> float:
    return TIME_S[program] * (1 - SCALED[program] + SCALED[program] / _part(mhz))


def _power_w(members: Sequence[str], mhz: float | None) -> float:
    return STATIC_W + float(sum(DYNAMIC_W[name] * _part(mhz) ** 1.8 for name in members))


def _slowed(group: Sequence[str], place: int) -> float:
    return sum(slowdown(group[place], beside) for i, beside in enumerate(group) if i != place)


def _alone(program: str, at: Row) -> Row:
    wall_s, power_w = _time_s(program, at["clock_mhz"]), _power_w([program], at["clock_mhz"])
    return {
        **at, "program": program, "n": 5, "wall_s": wall_s, "wall_ci_s": 0.01 * wall_s, "cpu_s": wall_s,
        "energy_j": wall_s * power_w, "energy_ci_j": 0.02 * wall_s * power_w, "power_w": power_w, "power_ci_w": 1.0,
        "instructions": 1e11, "intensity": INTENSITY[program], "intensity_ci": 0.05 * INTENSITY[program],
    }  # fmt: skip


def _observed(program: str, at: Row) -> Iterator[Row]:
    for repetition in range(3):
        wall_s = _time_s(program, at["clock_mhz"]) * (1 + 0.01 * (repetition - 1))
        yield {
            **dict.fromkeys(column.name for column in COLUMNS), **at, "run": f"{program} {at['clock']} {repetition}",
            "group": program, "size": 1, "way": "restart", "repetition": repetition, "place": 0, "program": program,
            "wall_s": wall_s, "energy_j": wall_s * _power_w([program], at["clock_mhz"]), "energy_meter": METER,
        }  # fmt: skip


def _powers(program: str, at: Row) -> Row:
    dynamic_w = _power_w([program], at["clock_mhz"]) - STATIC_W
    return {
        **at, "program": program, "power_w": STATIC_W + dynamic_w, "static_w": STATIC_W, "static_ci_w": 0.5,
        "dynamic_w": dynamic_w, "dynamic_ci_w": 0.6, "basis": "idle",
    }  # fmt: skip


def _members(group: Sequence[str], at: Row) -> Iterator[Row]:
    for place in {name: group.index(name) for name in group}.values():
        slowed, mhz = _slowed(group, place), at["clock_mhz"]
        wall_s = _time_s(group[place], mhz) * (1 + slowed)
        energy_j = wall_s * _power_w(group, mhz)
        intensity = INTENSITY[group[place]] * (1 + 0.2 * (len(group) - 1))
        yield {
            **at, "group": group_name(group), "size": len(group), "way": "restart", "program": group[place], "n": 5,
            "wall_s": wall_s, "wall_ci_s": 0.015 * wall_s, "slowdown": slowed, "slowdown_ci": 0.02,
            "energy_j": energy_j, "energy_ci_j": 0.02 * energy_j, "intensity": intensity,
            "intensity_ci": 0.08 * intensity, "company_share": 1.0,
        }  # fmt: skip


def _pair(program: str, beside: str, at: Row) -> Row:
    found = slowdown(program, beside) - (0.004 if CLASS[beside] == "I" else 0.0)
    return {**at, "program": program, "beside": beside, "n": 5, "slowdown": found, "slowdown_ci": 0.012}


def _program(name: str, *, has_counters: bool) -> Row:
    others = list(CLASS)
    return {
        "program": name, "class": CLASS[name], "intensity": INTENSITY[name], "intensity_ci": 0.05 * INTENSITY[name],
        "sensitivity": sum(slowdown(name, other) for other in others) / 4,
        "pressure": sum(slowdown(other, name) for other in others) / 4,
        "basis": "misses per instruction" if has_counters else "sensitivity and pressure",
    }  # fmt: skip


def _additive(group: Sequence[str], at: Row) -> Iterator[Row]:
    for place in {name: group.index(name) for name in group}.values():
        predicted = _slowed(group, place)
        measured = predicted * 0.93
        yield {
            **at, "group": group_name(group), "program": group[place], "size": len(group), "measured": measured,
            "measured_ci": 0.02, "predicted": predicted, "predicted_ci": 0.02, "error": predicted - measured,
            "error_ci": 0.03,
        }  # fmt: skip


def _scaling(name: str, n_clocks: int) -> Row:
    time_s, share = TIME_S[name], SCALED[name]
    return {
        "program": name, "fixed_s": time_s * (1 - share), "scaled_s": time_s * share, "share_scaled": share,
        "share_ci": 0.03, "worst_error": 0.01, "n_clocks": n_clocks,
    }  # fmt: skip


def _together(group: Sequence[str], at: Row) -> Row:
    mhz = at["clock_mhz"]
    alone_j = sum(_time_s(name, mhz) * _power_w([name], mhz) for name in group)
    together_s = max(_time_s(name, mhz) * (1 + _slowed(group, place)) for place, name in enumerate(group))
    busy_j = sum(
        _time_s(name, mhz) * (1 + _slowed(group, place)) * (_power_w([name], mhz) - STATIC_W)
        for place, name in enumerate(group)
    )
    together_j = STATIC_W * together_s + busy_j
    return {
        **at, "group": group_name(group), "size": len(group), "way": "once", "n": 5, "alone_j": alone_j,
        "together_j": together_j, "together_ci_j": 0.015 * together_j, "saved_share": 1 - together_j / alone_j,
        "saved_ci": 0.015, "alone_s": sum(_time_s(name, mhz) for name in group), "together_s": together_s,
    }  # fmt: skip


def _best_clocks(alone: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    for program in CLASS:
        own = [row for row in alone if row["program"] == program]
        least = min(own, key=lambda row: float(row["energy_j"]))["clock_mhz"]
        for row in own:
            yield {
                "group": program, "size": 1, "program": program, "clock_mhz": row["clock_mhz"],
                "energy_j": row["energy_j"], "energy_ci_j": row["energy_ci_j"],
                "dynamic_j": row["energy_j"] - STATIC_W * row["wall_s"], "least_energy_mhz": least,
                "least_dynamic_mhz": CLOCKS_MHZ[-1], "is_clear": True,
            }  # fmt: skip
