"""What was measured, as the tables that studies of facilities and of serial tasks read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from joulewise.files import write_atomic
from joulewise.measure.analysis.grid import Grid, grid_of
from joulewise.measure.analysis.hosts import Host, host_of
from joulewise.measure.analysis.intensity import class_order
from joulewise.measure.bench.observations import meters_of
from joulewise.measure.bench.store import TABLES_FOLDER

if TYPE_CHECKING:
    from joulewise.measure.analysis.analysis import Analysis
    from joulewise.measure.machine.machine import Machine

_MEANINGS = {
    "etc_s.csv": "execution times of programs alone (ETC): `etc_s` of a system of serial tasks",
    "power_w.csv": "mean power meanwhile (APC), of whatever the meter reads: `power_w` of such a system",
    "machines.csv": "one machine, and what it draws at rest: `machines` of such a system",
    "samples.csv": 'every run of a program alone: `samples` of studies with `goal = "utility"`, which want machines '
    "without the column `idle_w`",
    "speeds.csv": "tasks a second (ECS) and dynamic power (APC) of a core: `speeds` of a facility's workload",
    "node_types.csv": "the machine as a node type: `node_type_list` of a facility",
    "task_list.csv": "the programs as task types with their memory classes: `task_list` of a facility's workload",
    "slowdowns_by_class.csv": "how much longer a class takes beside another: `slowdowns` of a facility's workload",
    "slowdowns_by_pair.csv": "how much longer a program takes beside another: `slowdowns` as well, in its place",
}
"""What each table is, and which key of a study reads it."""


@dataclass(frozen=True)
class Tables:
    """Tables by the names of their files, and what must be said about them."""

    frames: Mapping[str, pl.DataFrame]
    notes: tuple[str, ...]


def write_tables(folder: Path, analysis: Analysis, machine: Machine | None = None) -> list[Path]:
    """Write the tables and a page about them into `tables` of a folder of results; the paths written."""
    tables = tables_of(analysis, machine)
    into = folder / TABLES_FOLDER
    for name, frame in tables.frames.items():
        write_atomic(into / name, frame.write_csv())
    write_atomic(into / "about.md", _about(tables))
    for name in _MEANINGS.keys() - tables.frames.keys():
        (into / name).unlink(missing_ok=True)
    return [into / name for name in (*tables.frames, "about.md")]


def tables_of(analysis: Analysis, machine: Machine | None = None) -> Tables:
    """Every table that can be filled, without those for which nothing was measured."""
    if analysis.alone.is_empty():
        return Tables({}, ("No program was measured alone, so there are no tables.",))
    grid, host = grid_of(analysis), host_of(machine, analysis)
    classes = dict(analysis.programs.select("program", "class").iter_rows())
    by_class, class_notes = _by_class(analysis, [classes.get(name) for name in grid.programs])
    by_pair, pair_notes = _by_pair(analysis, grid.programs, classes, by_class)
    has_powers, samples = bool(np.isfinite(grid.power_w).all()), _samples(analysis, grid, host)
    frames = {
        "etc_s.csv": _matrix(grid, grid.time_s, host),
        "power_w.csv": _matrix(grid, grid.power_w, host) if has_powers else None,
        "machines.csv": _machines(grid, host, has_powers=has_powers),
        "samples.csv": samples,
        "speeds.csv": _speeds(grid, host),
        "node_types.csv": _node_types(grid, host),
        "task_list.csv": _task_list(grid, host, classes),
        "slowdowns_by_class.csv": _class_frame(by_class),
        "slowdowns_by_pair.csv": by_pair,
    }
    kept = {name: frame for name, frame in frames.items() if frame is not None}
    power_notes = _power_notes(analysis, grid, has_samples=samples is not None)
    return Tables(kept, (*host.notes, *grid.notes, *power_notes, *class_notes, *pair_notes))


def _cells(grid: Grid) -> Iterator[tuple[str, int, tuple[int, int]]]:
    """Program and P-state of every row, and where its values stand."""
    for row, program in enumerate(grid.programs):
        for pstate in range(len(grid.clocks)):
            yield program, pstate, (row, pstate)


def _matrix(grid: Grid, values: np.ndarray[Any, Any], host: Host) -> pl.DataFrame:
    """Task types and P-states by the one machine type."""
    rows = [{"task_type": name, "pstate": pstate, host.name: _known(values[at])} for name, pstate, at in _cells(grid)]
    return pl.DataFrame(rows, schema={"task_type": pl.String, "pstate": pl.Int64, host.name: pl.Float64})


def _machines(grid: Grid, host: Host, *, has_powers: bool) -> pl.DataFrame:
    """One machine; what it draws at rest goes with powers only."""
    idle = {"idle_w": [grid.static_w]} if has_powers and math.isfinite(grid.static_w) else {}
    return pl.DataFrame({"machine_type": [host.name], "count": [1], **idle})


def _samples(analysis: Analysis, grid: Grid, host: Host) -> pl.DataFrame | None:
    """Every run alone with its time and mean power; None without powers."""
    pstate = {clock: number for number, clock in enumerate(grid.clocks)}
    runs = analysis.observations.filter(
        pl.col("size") == 1, pl.col("clock").is_in(grid.clocks), pl.col("program").is_in(grid.programs)
    ).with_columns(power_w=pl.col("energy_j") / pl.col("wall_s"))
    runs = runs.filter(pl.col("power_w").is_finite())
    if runs.is_empty():
        return None
    return runs.select(
        pl.col("program").alias("task_type"),
        pl.lit(host.name).alias("machine_type"),
        pl.col("clock").replace_strict(pstate, return_dtype=pl.Int64).alias("pstate"),
        pl.col("wall_s").alias("time_s"),
        "power_w",
    )


def _speeds(grid: Grid, host: Host) -> pl.DataFrame:
    rows = [
        {
            "task_type": name, "node_type": host.name, "pstate": pstate, "speed_per_s": 1 / grid.time_s[at],
            "power_w": _known(grid.dynamic_w[at]),
        }
        for name, pstate, at in _cells(grid)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema_overrides={"power_w": pl.Float64})


def _node_types(grid: Grid, host: Host) -> pl.DataFrame:
    row = {
        "type": host.name, "cores": host.cores, "processors": host.processors, "pstates": len(grid.clocks),
        "overhead_w": _known(grid.static_w), "core_w": _known(_most(grid.dynamic_w[:, 0])),
        "least_clock": _known(grid.least_clock),
    }  # fmt: skip
    return pl.DataFrame([row], schema_overrides=dict.fromkeys(("overhead_w", "core_w", "least_clock"), pl.Float64))


def _task_list(grid: Grid, host: Host, classes: Mapping[str, str | None]) -> pl.DataFrame:
    """The programs with the rate at which even parts of one machine's cores would just be busy."""
    rate = host.cores / len(grid.programs) / grid.time_s[:, 0]
    classed = {"class": [classes.get(name) for name in grid.programs]} if any(classes.values()) else {}
    return pl.DataFrame({"task_type": grid.programs, "rate_per_s": rate, "reward": 1.0, **classed})


_Slowdowns = Mapping[tuple[str, str], float]


def _by_class(analysis: Analysis, used: Sequence[str | None]) -> tuple[_Slowdowns, list[str]]:
    """Slowdowns of all pairs of classes that programs have, I first; empty, with a note, where one was not measured."""
    names = sorted({name for name in used if name}, key=class_order)
    slowdowns = {(row["class"], row["beside"]): row["slowdown"] for row in analysis.by_class.iter_rows(named=True)}
    pairs = [(a, b) for a in names for b in names]
    missing = [f"{a} beside {b}" for a, b in pairs if _is_unknown(slowdowns.get((a, b)))]
    if missing or not pairs:
        return {}, [f"No table of slowdowns by class: not measured are {', '.join(missing)}."] if missing else []
    return {pair: max(slowdowns[pair], 0.0) for pair in pairs}, []


def _class_frame(slowdowns: _Slowdowns) -> pl.DataFrame | None:
    names = list(dict.fromkeys(a for a, _ in slowdowns))
    rows = [{"class": a, **{b: slowdowns[a, b] for b in names}} for a in names]
    return pl.DataFrame(rows) if rows else None


def _by_pair(
    analysis: Analysis, programs: Sequence[str], classes: Mapping[str, str | None], by_class: _Slowdowns
) -> tuple[pl.DataFrame | None, list[str]]:
    """Slowdowns of all pairs, means over clocks; that of the classes stands in for a pair that was not measured."""
    weighed = analysis.pairs.drop_nulls("slowdown").group_by("program", "beside", maintain_order=True).agg(
        slowdown=(pl.col("slowdown") * pl.col("n")).sum() / pl.col("n").sum()
    )  # fmt: skip
    measured = {(row["program"], row["beside"]): row["slowdown"] for row in weighed.iter_rows(named=True)}
    pairs = [(a, b) for a in programs for b in programs]
    unmeasured = [pair for pair in pairs if _is_unknown(measured.get(pair))]
    values = {(a, b): by_class.get((str(classes.get(a)), str(classes.get(b)))) for a, b in unmeasured} | {
        pair: measured[pair] for pair in pairs if pair not in unmeasured
    }
    lacking = [f"{a} beside {b}" for (a, b), value in values.items() if value is None]
    if lacking:
        return None, [f"No table of slowdowns by pair: not measured are {', '.join(lacking)}."]
    rows = [{"task_a": a, "task_b": b, "slowdown": max(float(values[a, b] or 0.0), 0.0)} for a, b in pairs]
    faster = [f"{a} beside {b}" for a, b in pairs if float(values[a, b] or 0.0) < 0]
    filled = [f"{a} beside {b}" for a, b in unmeasured]
    notes = [
        (filled, "Not measured, so that the slowdown of their classes stands in:"),
        (faster, "Measured as faster together than alone, which is written as a slowdown of 0:"),
    ]
    return pl.DataFrame(rows), [f"{said} {', '.join(names)}." for names, said in notes if names]


def _power_notes(analysis: Analysis, grid: Grid, *, has_samples: bool) -> Iterator[str]:
    meters = meters_of(analysis.observations)
    if meters:
        yield f"Powers are those of what the meter reads, which may be less than the whole machine: {meters}."
    if not np.isfinite(grid.power_w).all():
        samples = "" if has_samples else " and no samples.csv"
        yield f"No meter read energy everywhere, so that there is no power_w.csv{samples}; a system can do without."
    if not (np.isfinite(grid.dynamic_w).all() and math.isfinite(grid.static_w)):
        yield "Unknown powers are empty in speeds.csv and node_types.csv: fill them in before a study reads them."


def _about(tables: Tables) -> str:
    """A page that says what each table is, and what is to be known of its values."""
    listed = [f"- `{name}`: {_MEANINGS[name]}" for name in tables.frames]
    noted = (
        [f"- {note}" for note in (*tables.notes, *_ASSUMED)]
        if tables.frames
        else [f"- {note}" for note in tables.notes]
    )
    return "\n".join(["# Tables that studies read", "", *listed, "", "## What to know of them", "", *noted, ""])


_ASSUMED = (
    "P-state 0 is the fastest clock; slowdowns are means over all clocks, because a facility has one for all P-states.",
    "`rate_per_s` in task_list.csv keeps even parts of one machine's cores just busy: put your own rates there.",
)


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _is_unknown(value: float | None) -> bool:
    return value is None or not math.isfinite(value)


def _most(values: np.ndarray[Any, Any]) -> float:
    return float(values.max()) if values.size else math.nan
