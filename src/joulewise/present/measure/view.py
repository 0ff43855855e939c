"""What figures of the laboratory share: order of programs, the clock that is shown, names and colours of sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from joulewise.measure.bench.observations import meters_of
from joulewise.present import theme
from joulewise.present.formats import MISSING, THIN, decimals_for, fixed, number, small

if TYPE_CHECKING:
    from joulewise.measure.analysis.analysis import Analysis

ALONE = "alone"
_WAYS = ("restart", "once")
_ROUND = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}
_PER_INSTRUCTION = 1e-3
_ROOM, _MOST_BEYOND = 1.08, 2.0
_LEAST_WIDTH = 1e-5  # narrower intervals are written with a power of ten


def size_name(size: int) -> str:
    """How many run together, in words: "alone", "two together"."""
    return ALONE if size == 1 else f"{_ROUND.get(size, size)} together"


def size_colours(sizes: Sequence[int]) -> dict[str, str]:
    """The colour of every size: grey for programs alone, the palette for the others."""
    several = [size for size in sizes if size > 1]
    colours = {size_name(size): colour for size, colour in zip(several, theme.categorical(len(several)), strict=True)}
    return {ALONE: theme.MUTED, **colours} if 1 in sizes else colours


def programs_of(analysis: Analysis) -> list[str]:
    """The programs from the most to the least memory-bound, as far as that is known."""
    rows = analysis.programs
    by = "intensity" if rows["intensity"].is_not_null().any() else "pressure"
    ranked = rows.sort(by, descending=True, nulls_last=True, maintain_order=True)["program"].to_list()
    return ranked + [name for name in analysis.alone["program"].unique(maintain_order=True) if name not in ranked]


def order_phrase(analysis: Analysis) -> str:
    """Which programs `programs_of` puts first, in words."""
    has_misses = analysis.programs["intensity"].is_not_null().any()
    return f"{'the most memory-bound' if has_misses else 'those that slow others most'} come first"


def shown_clock(frame: pl.DataFrame) -> str:
    """The highest frequency of a table, or the first by name where none has one; nothing for an empty table."""
    clocks = frame.unique("clock").sort("clock")
    if "clock_mhz" in frame.columns:
        clocks = clocks.sort("clock_mhz", descending=True, nulls_last=True, maintain_order=True)
    return "" if clocks.is_empty() else str(clocks["clock"][0])


def in_one_way(frame: pl.DataFrame, ways: Sequence[str] = _WAYS) -> pl.DataFrame:
    """The rows of the first of these ways in which each group was run."""
    rank = pl.col("way").replace_strict(
        {way: i for i, way in enumerate(ways)}, default=len(ways), return_dtype=pl.Int64
    )
    return frame.filter(rank == rank.min().over("group", "clock"))


def frequencies_mhz(frame: pl.DataFrame) -> list[float]:
    """The frequencies of a table, the highest first."""
    clocks_mhz: list[float] = frame["clock_mhz"].drop_nulls().unique().sort(descending=True).to_list()
    return clocks_mhz


def clock_phrase(clock: str) -> str:
    """Where a figure shows one clock, which: " at 3400 MHz", " (powersave)"; nothing where they were left as is."""
    if clock in ("", "as is"):
        return ""
    return f" at {clock}" if clock.endswith("MHz") else f" ({clock})"


def meter_phrase(analysis: Analysis) -> str:
    """By which meter energy was read, if any says its name: " (read by RAPL (package-0))"."""
    meters = meters_of(analysis.observations)
    return f" (read by {meters})" if meters else ""


def whiskers_phrase(frame: pl.DataFrame, halves: Mapping[str, str]) -> str:
    """What a caption says of points: `halves` has the columns of their values and of their half widths."""
    have_halves = [frame.drop_nulls(value)[half].is_not_null() for value, half in halves.items()]
    if not any(half.any() for half in have_halves):
        return " Points have no intervals, which need repetitions."
    gap = "" if all(half.all() for half in have_halves) else ", or there is none, for want of repetitions"
    return f" Whiskers are 95 % intervals; where none is seen, it is smaller than its point{gap}."


def axis_end(points: Sequence[float], values: pl.Series, halves: pl.Series) -> tuple[float, str]:
    """Where an axis from 0 ends that shows all points, and whiskers of `values` up to twice the highest point.

    The words say that whiskers are cut, where any is.
    """
    lows, highs = values - halves.fill_null(0.0), values + halves.fill_null(0.0)
    end = min(_ROOM * max(*points, *highs), _MOST_BEYOND * max(points))
    is_cut = ((lows < 0) | (highs > end)).any()
    return end, " Whiskers that end at the edge go on beyond it." if is_cut else ""


def percent_pm(value: float | None, half: float | None) -> str:
    """A share as a percentage with half of its interval, without the sign: "31.2 ± 1.5"."""
    if value is None:
        return MISSING
    decimals = min(decimals_for(None if half is None else 100 * half), 2)
    mean = fixed(100 * value, decimals)
    return mean if half is None else f"{mean} ± {fixed(100 * half, decimals)}"


def percents(value: float | None, half: float | None) -> str:
    """The same with its sign: "31.2 ± 1.5 %"."""
    return f"{percent_pm(value, half)}{THIN}%"


def misses_pm(intensity: float | None, half: float | None) -> str:
    """Misses per 1,000 instructions with half of the interval."""
    if intensity is not None and half is not None and 0 < half / _PER_INSTRUCTION < _LEAST_WIDTH:
        return small(intensity / _PER_INSTRUCTION, half / _PER_INSTRUCTION)
    return pm(intensity, half, _PER_INSTRUCTION)


def pm(value: float | None, half: float | None, size: float = 1.0) -> str:
    """A value with half of its interval, in units of this size."""
    if value is None:
        return MISSING
    if half is None:
        return number(value / size)
    decimals = decimals_for(half / size, fallback=1)
    return f"{fixed(value / size, decimals)} ± {fixed(half / size, decimals)}"
