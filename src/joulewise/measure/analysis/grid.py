"""What was measured of each program alone, as a grid of programs and P-states that tables can be written from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from joulewise.model.arrays import Bools, Floats

if TYPE_CHECKING:
    from joulewise.measure.analysis.analysis import Analysis

_Rows = Mapping[tuple[str, str], Mapping[str, Any]]
"""Rows of a table by program and clock."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Programs by P-states: times and powers alone, and the power of the machine at rest; NaN where unknown.

    P-state 0 is the fastest clock. Times never fall and powers never rise from one P-state to the next: where they did
    by noise, neighbours have their mean. `notes` tell what was left out or evened out.
    """

    programs: tuple[str, ...]
    clocks: tuple[str, ...]
    time_s: Floats
    power_w: Floats
    dynamic_w: Floats
    static_w: float
    least_clock: float
    notes: tuple[str, ...]


def grid_of(analysis: Analysis) -> Grid:
    """The grid of all programs that were measured alone at the fastest clock, and of the clocks they have in common."""
    alone, powers = (_by_clock(frame) for frame in (analysis.alone, analysis.powers))
    clocks = _clocks(analysis.alone)
    every = analysis.alone["program"].unique(maintain_order=True).to_list()
    programs = tuple(name for name in every if clocks and _is_timed(alone, name, clocks[0]))
    shared = tuple(clock for clock in clocks if all(_is_timed(alone, name, clock) for name in programs))
    time_s = _values(alone, programs, shared, "wall_s")
    power_w, dynamic_w = (_values(powers, programs, shared, column) for column in ("power_w", "dynamic_w"))
    is_lost = dynamic_w <= 0
    dynamic_w[is_lost] = np.nan
    measured = (time_s, power_w, dynamic_w)
    evened = [_evened(values, is_rising=values is time_s) for values in measured]
    static_w = _mean(_values(powers, programs, shared, "static_w").flat)
    above_w = np.maximum(evened[1], static_w) if math.isfinite(static_w) else evened[1]
    notes = (
        *_left_out(every, programs, "not measured alone at the fastest clock"),
        *_left_out(_labels(analysis.alone), shared, "a clock without all programs or without a frequency"),
        *_evened_notes(measured, evened, programs),
        *_told("Read as drawing less than static power, which is written in its place", above_w > evened[1], programs),
        *_told("Read as adding nothing to static power, and left empty as unknown", is_lost, programs),
    )
    return Grid(programs, shared, evened[0], above_w, evened[2], static_w, _least_clock(analysis.alone, shared), notes)


def _by_clock(frame: pl.DataFrame) -> _Rows:
    return {(row["program"], row["clock"]): row for row in frame.iter_rows(named=True)}


def _labels(alone: pl.DataFrame) -> list[str]:
    return alone["clock"].unique(maintain_order=True).to_list()


def _clocks(alone: pl.DataFrame) -> list[str]:
    """Frequencies, the fastest first; where none was set, only the clock at which programs took the least time."""
    by_clock = alone.group_by("clock", maintain_order=True).agg(pl.col("clock_mhz").first(), pl.col("wall_s").mean())
    set_mhz = by_clock.drop_nulls("clock_mhz").sort("clock_mhz", descending=True)
    return set_mhz["clock"].to_list() or by_clock.sort("wall_s", maintain_order=True)["clock"].head(1).to_list()


def _is_timed(alone: _Rows, program: str, clock: str) -> bool:
    return (program, clock) in alone and _number(alone[program, clock]["wall_s"]) > 0


def _values(rows: _Rows, programs: Sequence[str], clocks: Sequence[str], column: str) -> Floats:
    numbers = [[_number(rows.get((name, clock), {}).get(column)) for clock in clocks] for name in programs]
    return np.array(numbers, np.float64).reshape(len(programs), len(clocks))


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _mean(values: Iterable[float | None]) -> float:
    finite = [value for value in map(_number, values) if math.isfinite(value)]
    return sum(finite) / len(finite) if finite else math.nan


def _evened(values: Floats, *, is_rising: bool) -> Floats:
    """Each row as near to its values as one that never falls (or never rises) can be; rows with gaps stay."""
    from scipy.optimize import isotonic_regression

    complete = np.isfinite(values).all(axis=1) & (values.shape[1] > 1)
    fits = [
        isotonic_regression(row, increasing=is_rising).x if full else row
        for row, full in zip(values, complete, strict=True)
    ]
    return np.array(fits).reshape(values.shape)


def _evened_notes(before: Sequence[Floats], after: Sequence[Floats], programs: Sequence[str]) -> list[str]:
    whats = ("times fell", "powers rose", "dynamic powers rose")
    changed = [
        (what, [name for name, a, b in zip(programs, old, new, strict=True) if not np.allclose(a, b, equal_nan=True)])
        for what, old, new in zip(whats, before, after, strict=True)
    ]
    return [
        f"Where {what} at a slower clock, neighbours got their mean: {', '.join(names)}."
        for what, names in changed
        if names
    ]


def _told(what: str, where: Bools, programs: Sequence[str]) -> list[str]:
    """A sentence about programs with a cell where something holds, if there are any."""
    names = [name for name, row in zip(programs, where, strict=True) if row.any()]
    return [f"{what}: {', '.join(names)}."] if names else []


def _left_out(every: Sequence[str], kept: Sequence[str], why: str) -> list[str]:
    """A sentence about names that are in no table, if there are any."""
    names = [name for name in every if name not in kept]
    return [f"Left out, {why}: {', '.join(names)}."] if names else []


def _least_clock(alone: pl.DataFrame, clocks: Sequence[str]) -> float:
    """The slowest clock relative to the fastest; NaN where none was set."""
    mhz = alone.filter(pl.col("clock").is_in(list(clocks)))["clock_mhz"].drop_nulls()
    return float(mhz.min()) / float(mhz.max()) if len(mhz) else math.nan  # type: ignore[arg-type]
