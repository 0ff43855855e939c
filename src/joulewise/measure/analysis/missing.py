"""What observations cannot tell, and why, in words for a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import polars as pl

from joulewise.measure.analysis.slowdowns import LEAST_COMPANY_OF_PAIRS, neighbours


def missing(used: pl.DataFrame, tables: Mapping[str, pl.DataFrame]) -> tuple[str, ...]:
    """What the observations that count do not show, and why; `tables` are those of an analysis."""
    if used.is_empty():
        return ("nothing was measured: no run counts",)
    return (*_of_times(used, tables), *_of_short_company(used, tables["pairs"]), *_of_energies(used, tables))


def _of_times(used: pl.DataFrame, tables: Mapping[str, pl.DataFrame]) -> list[str]:
    groups, additive = used.filter(pl.col("size") > 1), tables["additive"]
    without = sorted(set(groups["program"]) - set(tables["alone"]["program"]))
    has_large, has_error = not additive.is_empty(), not _tells_nothing(additive, "error")
    return _said(
        ("slowdowns: no programs were run together", groups.is_empty()),
        (f"slowdowns of {', '.join(without)}: not measured alone", bool(without)),
        ("intervals: no program was measured alone more than once", _tells_nothing(tables["alone"], "wall_ci_s")),
        ("memory intensity by cache misses: no counters could be read", _tells_nothing(used, "cache_misses")),
        (
            "classes of memory intensity: neither counters nor pairs tell them",
            _tells_nothing(tables["programs"], "class"),
        ),
        ("whether slowdowns add up: no group of three or more was measured", not has_large),
        ("whether slowdowns add up: the pairs of larger groups were not measured", has_large and not has_error),
        ("what clocks do to times: nothing was measured alone at two frequencies", tables["scaling"].is_empty()),
    )


def _of_short_company(used: pl.DataFrame, pairs: pl.DataFrame) -> Iterator[str]:
    """Pairs without a slowdown, because they were together too shortly."""
    others = {key: rows["program"].to_list() for key, rows in used.filter(pl.col("size") == 2).group_by("run")}
    short = used.filter(pl.col("size") == 2, pl.col("company_share") < LEAST_COMPANY_OF_PAIRS)
    counts: Counter[tuple[str, str]] = Counter()
    for run, program in short.select("run", "program").unique(maintain_order=True).iter_rows():
        counts[program, neighbours(others[run,], program)[0]] += 1
    compared = set(pairs.select("program", "beside").iter_rows())
    for (program, beside), n in counts.items():
        if (program, beside) not in compared:
            yield (
                f"slowdown of {program} beside {beside}: together for less than {100 * LEAST_COMPANY_OF_PAIRS:g} % of "
                f"its time in {n} run{'s' if n > 1 else ''}"
            )


def _of_energies(used: pl.DataFrame, tables: Mapping[str, pl.DataFrame]) -> list[str]:
    if _tells_nothing(used, "energy_j"):
        return ["energies and powers: no meter read energy"]
    return _said(
        (
            "static power: it was not read with nothing running, and no groups were measured that it follows from",
            _tells_nothing(tables["powers"], "static_w"),
        ),
        (
            "energy together against alone: no group was measured whose members were measured alone",
            _tells_nothing(tables["together"], "saved_share"),
        ),
        ("best frequency: energy was read at fewer than two frequencies", tables["best_clock"].is_empty()),
    )


def _said(*gaps: tuple[str, bool]) -> list[str]:
    return [words for words, is_missing in gaps if is_missing]


def _tells_nothing(table: pl.DataFrame, column: str) -> bool:
    return table[column].null_count() == table.height
