"""The tables that follow from observations: their columns, each with its unit, kind and meaning.

Half widths of 95 % Student intervals end in `_ci` and their unit, and are missing below two readings. A table
without anything to tell is empty and has the same columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from joulewise.measure.bench.observations import ObservationColumn

_TYPES: Mapping[type, type[pl.DataType]] = {str: pl.String, int: pl.Int64, float: pl.Float64, bool: pl.Boolean}


def _columns(*rows: tuple[str, str, type, str]) -> tuple[ObservationColumn, ...]:
    return tuple(ObservationColumn(*row) for row in rows)


_PROGRAM = ("program", "", str, "name of the program")
_BESIDE = ("beside", "", str, "name of the program beside it")
_GROUP = ("group", "", str, "all programs that ran together, sorted")
_SIZE = ("size", "", int, "how many programs ran together; 1 is a baseline")
_WAY = ("way", "", str, "restart: members that end early are started again; once: they are not")
_CLOCK = ("clock", "", str, "the clock asked for: a frequency, a governor, or 'as is'")
_CLOCK_MHZ = ("clock_mhz", "MHz", float, "the frequency asked for; missing where it is not one")
_RUNS = ("n", "", int, "how many runs the figures are means of")
_TIMED = ("n", "", int, "how many runs the time is the mean of; a meter or counters may have read fewer of them")
_WALL = ("wall_s", "s", float, "time from its beginning to its first end")
_WALL_CI = ("wall_ci_s", "s", float, "half width of its interval")
_ENERGY = ("energy_j", "J", float, "what the meter counted meanwhile, of all that ran")
_ENERGY_CI = ("energy_ci_j", "J", float, "half width of its interval")
_INTENSITY = ("intensity", "", float, "last-level cache misses per instruction, both in user mode")
_INTENSITY_CI = ("intensity_ci", "", float, "half width of its interval")
_SLOWDOWN = ("slowdown", "", float, "how much longer it takes than alone: 0.1 is 10 %")
_SLOWDOWN_CI = ("slowdown_ci", "", float, "half width of its interval")

ALONE = _columns(
    _PROGRAM, _CLOCK, _CLOCK_MHZ, _TIMED, _WALL, _WALL_CI,
    ("cpu_s", "s", float, "processor time of all its processes"),
    _ENERGY, _ENERGY_CI,
    ("power_w", "W", float, "mean power of what the meter reads meanwhile"),
    ("power_ci_w", "W", float, "half width of its interval"),
    ("instructions", "", float, "instructions of one run, in user mode"),
    _INTENSITY, _INTENSITY_CI,
)  # fmt: skip
MEMBERS = _columns(
    _GROUP, _SIZE, _WAY, _CLOCK, _CLOCK_MHZ, _PROGRAM, _TIMED, _WALL, _WALL_CI,
    ("slowdown", "", float, "time in this group over time alone, less 1, as it was measured"),
    _SLOWDOWN_CI, _ENERGY, _ENERGY_CI, _INTENSITY, _INTENSITY_CI,
    ("company_share", "", float, "share of its time in which another was running: mean over the others"),
)  # fmt: skip
PAIRS = _columns(
    _PROGRAM, _BESIDE, _CLOCK, _CLOCK_MHZ, _RUNS,
    ("slowdown", "", float, "how much longer it takes than alone if the other one is there all the time"),
    _SLOWDOWN_CI,
)  # fmt: skip
PROGRAMS = _columns(
    _PROGRAM,
    ("class", "", str, "class of memory intensity: I is the lightest"),
    _INTENSITY,
    _INTENSITY_CI,
    ("sensitivity", "", float, "mean slowdown that it suffers in pairs"),
    ("pressure", "", float, "mean slowdown that it causes in pairs"),
    ("basis", "", str, "what classes are made by: misses per instruction, or sensitivity and pressure"),
)
BY_CLASS = _columns(
    ("class", "", str, "class of the program"),
    ("beside", "", str, "class of the program beside it"),
    ("n", "", int, "how many pairs of programs the slowdown is the mean of"),
    _SLOWDOWN,
    _SLOWDOWN_CI,
)
FITTED = _columns(
    _PROGRAM,
    _BESIDE,
    _CLOCK,
    ("n", "", int, "how many means of pairs and groups the two meet in"),
    ("slowdown", "", float, "slowdown by one such neighbour that fits pairs and groups best, if slowdowns add up"),
    _SLOWDOWN_CI,
)
ADDITIVE = _columns(
    _GROUP, _CLOCK, _PROGRAM, _SIZE,
    ("measured", "", float, "slowdown in the group"),
    ("measured_ci", "", float, "half width of its interval"),
    ("predicted", "", float, "sum of its slowdowns in pairs with each of the others"),
    ("predicted_ci", "", float, "half width of its interval"),
    ("error", "", float, "predicted less measured"),
    ("error_ci", "", float, "half width of its interval"),
)  # fmt: skip
SCALING = _columns(
    _PROGRAM,
    ("fixed_s", "s", float, "time that no clock changes"),
    ("scaled_s", "s", float, "time at the highest clock that is in proportion to one over the clock"),
    ("share_scaled", "", float, "share of the time at the highest clock that scales with it"),
    ("share_ci", "", float, "half width of its interval"),
    ("worst_error", "", float, "largest deviation of a mean time from the fit, as a share of it"),
    ("n_clocks", "", int, "how many clocks it was measured at"),
)
POWERS = _columns(
    _PROGRAM, _CLOCK, _CLOCK_MHZ,
    ("power_w", "W", float, "mean power of what the meter reads with the program alone"),
    ("static_w", "W", float, "power that is drawn whatever runs"),
    ("static_ci_w", "W", float, "half width of its interval"),
    ("dynamic_w", "W", float, "what the program adds"),
    ("dynamic_ci_w", "W", float, "half width of its interval"),
    ("basis", "", str, "what static power follows from: idle (read with nothing running) or groups (a fit)"),
)  # fmt: skip
TOGETHER = _columns(
    _GROUP, _SIZE, _WAY, _CLOCK, _CLOCK_MHZ, _RUNS,
    ("alone_j", "J", float, "energy of running each of them alone, one after the other"),
    ("together_j", "J", float, "energy of running each of them once together (in a row of restarts: its share)"),
    ("together_ci_j", "J", float, "half width of its interval"),
    ("saved_share", "", float, "share of the energy alone that running together saves"),
    ("saved_ci", "", float, "half width of its interval"),
    ("alone_s", "s", float, "time of running each of them alone, one after the other"),
    ("together_s", "s", float, "time of running them together"),
)  # fmt: skip
BEST_CLOCK = _columns(
    _GROUP, _SIZE,
    ("program", "", str, "the member until whose end energy counts; missing for the whole group"),
    ("clock_mhz", "MHz", float, "the frequency"),
    _ENERGY, _ENERGY_CI,
    ("dynamic_j", "J", float, "energy above static power"),
    ("least_energy_mhz", "MHz", float, "the frequency with least energy"),
    ("least_dynamic_mhz", "MHz", float, "the frequency with least energy above static power"),
    ("is_clear", "", bool, "whether the interval of the least energy ends below those of all other frequencies"),
)  # fmt: skip

TABLES: Mapping[str, tuple[ObservationColumn, ...]] = {
    "alone": ALONE,
    "members": MEMBERS,
    "pairs": PAIRS,
    "programs": PROGRAMS,
    "by_class": BY_CLASS,
    "fitted": FITTED,
    "additive": ADDITIVE,
    "scaling": SCALING,
    "powers": POWERS,
    "together": TOGETHER,
    "best_clock": BEST_CLOCK,
}
"""The tables of an analysis by name."""


def schema(columns: Iterable[ObservationColumn]) -> dict[str, type[pl.DataType]]:
    """Names and polars types of columns."""
    return {column.name: _TYPES[column.kind] for column in columns}


def table(columns: Iterable[ObservationColumn], rows: Sequence[Mapping[str, Any]] = ()) -> pl.DataFrame:
    """Rows as a table of just these columns; what a row does not have is missing, and so is NaN."""
    types = schema(columns)
    return pl.DataFrame([{name: row.get(name) for name in types} for row in rows], types, orient="row").fill_nan(None)


def shaped(frame: pl.DataFrame, columns: Iterable[ObservationColumn]) -> pl.DataFrame:
    """A frame with just these columns, in their order and types; those that it does not have are missing."""
    types = schema(columns)
    lacking = [pl.lit(None, kind).alias(name) for name, kind in types.items() if name not in frame.columns]
    return frame.with_columns(lacking).select(pl.col(name).cast(kind) for name, kind in types.items()).fill_nan(None)
