"""What came out on energy, clocks and power, in sentences; what intervals do not tell is said to be unclear."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from joulewise.measure.analysis.together import best_clock_follows
from joulewise.present.findings import Finding
from joulewise.present.formats import percent
from joulewise.present.measure.view import clock_phrase, in_one_way, meter_phrase, percents, pm, shown_clock
from joulewise.units import count, energy, noun

if TYPE_CHECKING:
    from joulewise.measure.analysis.analysis import Analysis

_WIDE = 0.2
"""Shares of time are not clear if half of their interval is more, or if they are so far outside 0 to 1."""


def energy_together(analysis: Analysis) -> Iterator[Finding]:
    """In how many groups running together saves energy beyond the interval, and how much."""
    measured = analysis.together.drop_nulls("saved_share")
    clock = shown_clock(measured)
    rows = in_one_way(measured.filter(clock=clock), ("once", "restart")).sort("saved_share")
    if rows.is_empty():
        return
    clear = rows.filter(rows["saved_share"].abs() > _halves(rows["saved_ci"]))
    saving = clear.filter(pl.col("saved_share") > 0)
    best = (rows if saving.is_empty() else saving).row(-1, named=True)
    groups, at = count(rows.height, "group"), clock_phrase(clock)
    most = f"{percents(best['saved_share'], best['saved_ci'])}: {best['group']}"
    leads = (
        (saving.height > 0, f"Running together saves energy in {saving.height} of {groups}{at}, up to {most}."),
        (
            clear.height == rows.height,
            f"Running together saves no energy{at}: one after the other needs less in all groups.",
        ),
        (True, f"Running together saves energy beyond the interval in none of {groups}{at}; the most is {most}."),
    )
    support = (_joules(best), _unclear(rows, clear), _least_saved(rows, clear), _no_intervals(rows["saved_ci"]))
    yield Finding(_first(leads), " ".join(filter(None, support)))


def _unclear(rows: pl.DataFrame, clear: pl.DataFrame) -> str:
    n = rows.height - clear.height
    return f"In {n} of {count(rows.height, 'group')} intervals do not tell whether it does." if n else ""


def _least_saved(rows: pl.DataFrame, clear: pl.DataFrame) -> str:
    """Which group costs most or, where all is clear, saves least."""
    if rows.height < 2 or clear.is_empty():
        return ""
    row = clear.row(0, named=True)
    saved, half = row["saved_share"], row["saved_ci"]
    if saved < 0:
        return f"{row['group']} costs most, {percents(-saved, half)} more than one after the other."
    return f"The least is saved by {row['group']}, {percents(saved, half)}." if clear.height == rows.height else ""


def _joules(row: Mapping[str, Any]) -> str:
    return f"One after the other they need {energy(row['alone_j'])}, together {energy(row['together_j'])}."


def times_and_clocks(analysis: Analysis) -> Iterator[Finding]:
    """Which program follows the clock most and least, of those for which that is clear."""
    rows = analysis.scaling.drop_nulls("share_scaled").sort("share_scaled", descending=True)
    if rows.height < 2:
        return
    is_near = rows["share_scaled"].is_between(-_WIDE, 1 + _WIDE)
    clear = rows.filter(is_near & (_halves(rows["share_ci"]) <= _WIDE))
    unclear = f"not clear for {rows.height - clear.height} of {count(rows.height, 'program')}"
    why = f"half of the interval is more than {100 * _WIDE:g} points, or the share is far outside 0 to 100 %"
    no_intervals = _no_intervals(rows["share_ci"])
    if clear.height < 2:
        listed = ", ".join(f"{name} {share}" for name, share in _shares(rows))
        yield Finding(
            f"How much of its time follows the clock is {unclear}.", f"{listed}: {why}. {no_intervals}".strip()
        )
        return
    (most, most_share), *_, (least, least_share) = _shares(clear)
    lead = f"{most} follows the clock most, with {most_share} of its time, {least} least, with {least_share}."
    support = (
        "The rest of the time, as a rule spent waiting for memory, is the same at every clock.",
        f"This is {unclear}: {why}." if clear.height < rows.height else "",
        no_intervals,
    )
    yield Finding(lead, " ".join(filter(None, support)))


def _shares(rows: pl.DataFrame) -> list[tuple[str, str]]:
    shares = rows.select("program", "share_scaled", "share_ci").iter_rows()
    return [(name, percents(share, half)) for name, share, half in shares]


def best_clocks(analysis: Analysis) -> Iterator[Finding]:
    """At which clocks programs need least energy, and on what that depends."""
    rows = analysis.best_clock.drop_nulls("least_energy_mhz").unique(["group", "program"], maintain_order=True)
    alone = rows.filter(pl.col("size") == 1)
    if alone.is_empty():
        return
    listed = ", ".join(f"{row['program']} {row['least_energy_mhz']:g} MHz" for row in alone.iter_rows(named=True))
    together = ", alone and together" if rows.height > alone.height else ""
    clear = rows.filter(pl.col("is_clear").fill_null(False))
    changes = zip(("which one it is", "what runs beside it"), best_clock_follows(clear))
    on = " and on ".join(words for words, is_so in changes if is_so)
    leads = (
        (bool(on), f"The clock at which a program needs least energy depends on {on}."),
        (rows["least_energy_mhz"].n_unique() == 1, f"One clock needs least energy for all programs{together}."),
        (True, "Clocks of least energy differ, but not clearly: intervals do not tell on what they depend."),
    )
    unclear = rows.height - clear.height
    doubt = f" In {unclear} of {rows.height} cases intervals do not tell it from the next best." if unclear else ""
    yield Finding(_first(leads), f"Alone: {listed}.{_in_company(clear)}{doubt}")


def _in_company(clear: pl.DataFrame) -> str:
    """A program that clearly needs least energy at one clock in one company and at another in another."""
    for own in clear.drop_nulls("program").partition_by("program", maintain_order=True):
        one, *others = own.iter_rows(named=True)
        other = next((row for row in others if row["least_energy_mhz"] != one["least_energy_mhz"]), None)
        if other:
            return f" {one['program']} needs least at {_best(one)}, but at {_best(other)}."
    return ""


def _best(row: Mapping[str, Any]) -> str:
    return f"{row['least_energy_mhz']:g} MHz {'alone' if row['size'] == 1 else 'in ' + row['group']}"


def static_power(analysis: Analysis, doubts: str) -> Iterator[Finding]:
    """What is drawn whatever runs, and what programs add to it beyond the interval."""
    measured = analysis.powers.drop_nulls(["static_w", "dynamic_w"])
    clock = shown_clock(measured)
    rows = measured.filter(clock=clock)
    if rows.is_empty():
        return
    first = rows.row(0, named=True)
    watts = f"{pm(first['static_w'], first['static_ci_w'])} W"
    n_adding = rows.filter(rows["dynamic_w"] > _halves(rows["dynamic_ci_w"])).height
    part = percent(100 * float((rows["static_w"] / rows["power_w"]).mean()), 0)  # type: ignore[arg-type]
    beyond = " beyond the interval" if rows["dynamic_ci_w"].is_not_null().any() else ""
    add = f"{noun(n_adding, 'adds', 'add')} to that{beyond}"
    adding = (
        (n_adding == rows.height, f": {part} of what is drawn with one program"),
        (n_adding > 0, f"; {n_adding} of {count(rows.height, 'program')} {add}"),
        (True, f"; no program adds to that{beyond}"),
    )
    lead = f"Whatever runs, {watts} are drawn{clock_phrase(clock)}{meter_phrase(analysis)}{_first(adding)}."
    yield Finding(lead, f"{_dynamic(rows.sort('dynamic_w', descending=True))} {doubts}".strip())


def _dynamic(rows: pl.DataFrame) -> str:
    """What the first and the last of these programs add to static power."""
    watts = [(row["program"], f"{pm(row['dynamic_w'], row['dynamic_ci_w'])} W") for row in rows.iter_rows(named=True)]
    (most, most_w), (least, least_w) = watts[0], watts[-1]
    return f"{most} adds {most_w}." if len(watts) == 1 else f"{most} adds most, {most_w}, and {least} least, {least_w}."


def _halves(column: pl.Series) -> pl.Series:
    """Half widths; 0 where there are none at all, so that estimates stand for themselves."""
    return column.fill_null(0.0) if column.is_null().all() else column


def _no_intervals(halves: pl.Series) -> str:
    return "There are no intervals, which need repetitions." if halves.is_null().all() else ""


def _first(cases: tuple[tuple[bool, str], ...]) -> str:
    """The words of the first case that is so."""
    return next(words for is_so, words in cases if is_so)
