"""Energy of running programs together against running each alone, and the frequencies that need least energy.

Members that are not started again leave the machine to the others, and the energy until the last has ended is that of
running each once, as published. With restarts all cores are always busy: then a member's share of the energy is its
time over the number of members, times the power of the group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from joulewise.measure.analysis.columns import BEST_CLOCK, TOGETHER, shaped, table
from joulewise.measure.analysis.estimates import means, quotient, sum_width
from joulewise.measure.bench.observations import ObservationColumn

_ALONE_CI = ObservationColumn("alone_ci_j", "J", float, "half width of the interval of alone_j")
_RUN = ("run", "group", "size", "way", "clock", "clock_mhz")


def together_table(observations: pl.DataFrame, alone: pl.DataFrame, groups: Mapping[str, list[str]]) -> pl.DataFrame:
    """Groups whose energy was read, beside their members alone."""
    runs = (
        observations.filter((pl.col("size") > 1) & pl.col("group_energy_j").is_not_null())
        .group_by(_RUN, maintain_order=True)
        .agg(pl.col("group_energy_j", "group_s").first(), pl.col("wall_s").sum().alias("members_s"), pl.len())
        .filter(pl.col("len") == pl.col("size"))
    )
    fair_s = pl.col("members_s") / pl.col("size")
    is_once = pl.col("way") == "once"
    fair = runs.with_columns(
        together_s=pl.when(is_once).then(pl.col("group_s")).otherwise(fair_s),
        together_j=pl.when(is_once)
        .then(pl.col("group_energy_j"))
        .otherwise(pl.col("group_energy_j") / pl.col("group_s") * fair_s),
    )
    found = means(fair, list(_RUN[1:]), {"together_j": "together_ci_j", "together_s": None})
    return beside_alone(found, alone, groups)


def beside_alone(company: pl.DataFrame, alone: pl.DataFrame, groups: Mapping[str, list[str]]) -> pl.DataFrame:
    """Groups with the sums of their members alone, where all were measured, and what running together saves."""
    by_clock = {(row["program"], row["clock"]): row for row in alone.iter_rows(named=True)}
    rows = [{**row, **_apart(groups[row["group"]], row["clock"], by_clock)} for row in company.iter_rows(named=True)]
    ratio, width = quotient("together_j", "together_ci_j", "alone_j", _ALONE_CI.name)
    summed = table((*TOGETHER, _ALONE_CI), rows).with_columns(saved_share=1 - ratio, saved_ci=width)
    return shaped(summed, TOGETHER)


def best_clock_table(
    members: pl.DataFrame, alone: pl.DataFrame, powers: pl.DataFrame, groups: pl.DataFrame
) -> pl.DataFrame:
    """Energies by frequency, of programs alone, of members until their end, and of whole groups."""
    static_w = dict(powers.select("clock", "static_w").iter_rows())
    columns = ("group", "size", "way", "program", "clock", "clock_mhz", "energy_j", "energy_ci_j", "wall_s")
    baselines = alone.with_columns(group=pl.col("program"), size=pl.lit(1, pl.Int64), way=pl.lit("once"))
    whole = groups.with_columns(program=pl.lit(None, pl.String)).rename(
        {"together_j": "energy_j", "together_ci_j": "energy_ci_j", "together_s": "wall_s"}
    )
    rows = pl.concat([part.select(columns) for part in (baselines, members, whole)])
    rows = rows.drop_nulls(["clock_mhz", "energy_j"]).sort("group", "program", "clock_mhz", nulls_last=True)
    is_once = pl.col("way") == "once"
    rows = rows.filter(is_once | ~is_once.any().over("group", "program"))
    parts = rows.partition_by("group", "program", maintain_order=True)
    return table(BEST_CLOCK, [row for part in parts if part.height > 1 for row in _by_clock(part, static_w)])


class BestClockFollows(NamedTuple):
    """What the frequency of least energy changes with: from program to program alone, or with a program's company."""

    program: bool
    company: bool


def best_clock_follows(best_clock: pl.DataFrame) -> BestClockFollows:
    """What the best frequencies in rows of a table of best clocks follow; to be alone is a company too."""
    alone, by_program = best_clock.filter(pl.col("size") == 1), best_clock.drop_nulls("program").group_by("program")
    n_by_company = by_program.agg(pl.col("least_energy_mhz").n_unique())["least_energy_mhz"]
    return BestClockFollows(alone["least_energy_mhz"].n_unique() > 1, bool((n_by_company > 1).any()))


def _apart(
    members: Sequence[str], clock: str, by_clock: Mapping[tuple[str, str], Mapping[str, Any]]
) -> dict[str, float | None]:
    """Energy and time of members one after the other, as far as they are known of all."""
    parts = [(members.count(name), by_clock.get((name, clock), {})) for name in sorted(set(members))]
    energies, widths, times = (_times(parts, column) for column in ("energy_j", "energy_ci_j", "wall_s"))
    return {"alone_j": _sum(energies), _ALONE_CI.name: sum_width(*widths), "alone_s": _sum(times)}


def _times(parts: Sequence[tuple[int, Mapping[str, Any]]], column: str) -> list[float | None]:
    return [None if part.get(column) is None else n * part[column] for n, part in parts]


def _sum(values: Sequence[float | None]) -> float | None:
    given = [value for value in values if value is not None]
    return sum(given) if len(given) == len(values) else None


def _by_clock(part: pl.DataFrame, static_w: Mapping[str, float | None]) -> Iterator[dict[str, Any]]:
    """Rows of one program in one group with the frequencies that are best for it."""
    rows = [{**row, "dynamic_j": _dynamic_j(row, static_w)} for row in part.iter_rows(named=True)]
    least = min(rows, key=lambda row: row["energy_j"])
    dynamic = [row for row in rows if row["dynamic_j"] is not None]
    static = {
        "least_energy_mhz": least["clock_mhz"],
        "least_dynamic_mhz": min(dynamic, key=lambda row: row["dynamic_j"])["clock_mhz"] if dynamic else None,
        "is_clear": all(_is_below(least, row) for row in rows if row is not least),
    }
    return ({**row, **static} for row in rows)


def _dynamic_j(row: Mapping[str, Any], static_w: Mapping[str, float | None]) -> float | None:
    watts = static_w.get(row["clock"])
    return None if watts is None or row["wall_s"] is None else float(row["energy_j"] - watts * row["wall_s"])


def _is_below(row: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether an interval ends before another one begins; never without intervals."""
    if row["energy_ci_j"] is None or other["energy_ci_j"] is None:
        return False
    return bool(row["energy_j"] + row["energy_ci_j"] < other["energy_j"] - other["energy_ci_j"])
