"""Programs alone and in company: times, energies, and how much longer than alone each takes.

Copies of a program in one run count as one reading, their mean. The interval of a slowdown joins those of the time in
company and of the time alone, which are independent means. Slowdowns of one program have the time alone in common:
where several are added up, its part is added before it is joined.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from joulewise.measure.analysis.columns import ALONE, BY_CLASS, MEMBERS, PAIRS, shaped
from joulewise.measure.analysis.estimates import means, quotient
from joulewise.measure.analysis.intensity import class_order

LEAST_COMPANY_OF_PAIRS, LEAST_COMPANY = 0.25, 0.8
"""Members that the others left earlier than that tell nothing of slowdowns in pairs and in larger groups."""

_EXPERIMENT = ("group", "size", "way", "clock", "clock_mhz", "program")
_WIDTHS: Mapping[str, str | None] = {
    "wall_s": "wall_ci_s",
    "cpu_s": None,
    "energy_j": "energy_ci_j",
    "power_w": "power_ci_w",
    "instructions": None,
    "intensity": "intensity_ci",
    "company_share": None,
}


def readings(observations: pl.DataFrame) -> pl.DataFrame:
    """One row for each program of each run, with what follows from each by itself."""
    derived = observations.with_columns(
        power_w=pl.col("energy_j") / pl.col("wall_s"),
        intensity=pl.col("cache_misses") / pl.when(pl.col("instructions") > 0).then(pl.col("instructions")),
    )
    return derived.group_by("run", *_EXPERIMENT, "repetition", maintain_order=True).agg(pl.col(list(_WIDTHS)).mean())


def alone_table(rows: pl.DataFrame) -> pl.DataFrame:
    """Baselines, by program and clock."""
    return shaped(means(rows.filter(pl.col("size") == 1), ["program", "clock", "clock_mhz"], _WIDTHS), ALONE)


def member_table(rows: pl.DataFrame, alone: pl.DataFrame) -> pl.DataFrame:
    """Members of groups, as measured."""
    members = means(rows.filter(pl.col("size") > 1), list(_EXPERIMENT), _WIDTHS)
    joined = members.join(_baselines(alone), on=["program", "clock"], how="left", maintain_order="left")
    ratio, width = quotient("wall_s", "wall_ci_s", "alone_s", "alone_ci_s")
    return shaped(joined.with_columns((ratio - 1).alias("slowdown"), width.alias("slowdown_ci")), MEMBERS)


def company_table(rows: pl.DataFrame, alone: pl.DataFrame) -> pl.DataFrame:
    """Slowdowns of members with the others there all the time: group, size, clock, clock_mhz, program, n, slowdown.

    A member that was alone for a share 1 - c of its time t would have taken c t / (t' - (1 - c) t) times as long as
    alone, t', if the other had stayed. With several others, c is the mean of their shares: if they slow it by their
    sum, that is right to first order. Runs with restarts are preferred where there are both ways.

    `slowdown_ci` joins `own_ci`, the half width for a known t', and `alone_part`, which is by how much a slowdown
    changes over half of the interval of t': about 1 / c times as much as without the correction.
    """
    share = pl.col("company_share").fill_null(1.0).clip(0.0, 1.0)
    least = pl.when(pl.col("size") == 2).then(LEAST_COMPANY_OF_PAIRS).otherwise(LEAST_COMPANY)
    accompanied_s = pl.col("alone_s") - (1 - share) * pl.col("wall_s")
    grown = share * pl.col("wall_s") / accompanied_s
    kept = (
        rows.filter((pl.col("size") > 1) & (share >= least))
        .join(_baselines(alone), on=["program", "clock"])
        .with_columns(slowdown=grown - 1, alone_part=-grown / accompanied_s * pl.col("alone_ci_s"))
        .filter(grown > 0)
    )
    is_restart = pl.col("way") == "restart"
    kept = kept.filter(is_restart | ~is_restart.any().over("group", "clock", "program"))
    keys = ["group", "size", "clock", "clock_mhz", "program"]
    found = means(kept, keys, {"slowdown": "own_ci", "alone_part": None})
    joined = (pl.col("own_ci") ** 2 + pl.col("alone_part") ** 2).sqrt()
    return found.with_columns(joined.alias("slowdown_ci"))


def pair_table(company: pl.DataFrame, groups: Mapping[str, list[str]]) -> pl.DataFrame:
    """Slowdowns of one program by one other."""
    beside = [
        neighbours(groups[group], program)[0] if size == 2 else None
        for group, size, program in company.select("group", "size", "program").iter_rows()
    ]
    pairs = company.with_columns(pl.Series("beside", beside, pl.String)).filter(pl.col("size") == 2)
    return shaped(pairs.sort("program", "beside", "clock_mhz"), PAIRS)


def class_table(pairs: pl.DataFrame, classes: Mapping[str, str]) -> pl.DataFrame:
    """Slowdowns by class: the mean over pairs of programs, each of which is a mean over clocks.

    The interval is that of the measurements, not of how much pairs differ: those of one program share its time alone,
    so that their errors are taken to be alike, and those of different programs independent.
    """
    classed = pairs.with_columns(
        pl.col("program").replace_strict(classes, default=None, return_dtype=pl.String).alias("class"),
        pl.col("beside").replace_strict(classes, default=None, return_dtype=pl.String).alias("class beside"),
    ).drop_nulls(["class", "class beside"])
    by_pair = classed.group_by("class", "class beside", "program", "beside", maintain_order=True).agg(
        pl.col("slowdown").mean(), (pl.col("slowdown_ci").pow(2).sum().sqrt() / pl.len()).alias("own_ci"),
        pl.col("slowdown_ci").null_count().alias("lacking"),
    )  # fmt: skip
    by_program = by_pair.group_by("class", "class beside", "program", maintain_order=True).agg(
        pl.col("slowdown", "own_ci", "lacking").sum(), pl.len().cast(pl.Int64).alias("n")
    )
    by_class = by_program.group_by("class", "class beside", maintain_order=True).agg(
        pl.col("slowdown", "lacking", "n").sum(), pl.col("own_ci").pow(2).sum().sqrt()
    )
    width = pl.when(pl.col("lacking") == 0).then(pl.col("own_ci") / pl.col("n"))
    named = by_class.with_columns(pl.col("slowdown") / pl.col("n"), slowdown_ci=width).rename(
        {"class beside": "beside"}
    )
    order = {name: class_order(name) for name in set(classes.values())}
    return shaped(named.sort(pl.col("class", "beside").replace_strict(order, return_dtype=pl.Int64)), BY_CLASS)


def groups_of(observations: pl.DataFrame) -> dict[str, list[str]]:
    """The programs of each group, sorted."""
    first = observations.filter(pl.col("run") == pl.col("run").first().over("group"))
    return {str(group): sorted(rows["program"]) for (group,), rows in first.partition_by("group", as_dict=True).items()}


def neighbours(group: list[str], program: str) -> list[str]:
    """The others of a group beside a program, of which one copy is not its own neighbour."""
    at = group.index(program)
    return group[:at] + group[at + 1 :]


def _baselines(alone: pl.DataFrame) -> pl.DataFrame:
    """Times alone, by program and clock."""
    return alone.select("program", "clock", pl.col("wall_s").alias("alone_s"), pl.col("wall_ci_s").alias("alone_ci_s"))
