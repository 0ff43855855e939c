"""What came out of the laboratory, in sentences computed from the analysis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from joulewise.measure.bench.runner import LEFT_BEHIND
from joulewise.measure.machine.places import BEYOND_QUOTA, MIXED_KINDS, SHARED_CORES
from joulewise.measure.machine.quiet import USED_BY_OTHERS
from joulewise.measure.meters.meters import OTHER_METER
from joulewise.measure.meters.seen_clocks import OTHER_CLOCK, WORTH_TELLING
from joulewise.present.findings import Finding
from joulewise.present.formats import fixed, percent
from joulewise.present.measure.energy_findings import best_clocks, energy_together, static_power, times_and_clocks
from joulewise.present.measure.runs import idle_doubts, runs_made
from joulewise.present.measure.view import (
    clock_phrase,
    percent_pm,
    percents,
    pm,
    shown_clock,
)
from joulewise.units import count

if TYPE_CHECKING:
    from joulewise.measure.analysis.analysis import Analysis

_VERDICTS = {
    "additive": "Slowdowns of several neighbours add up",
    "nearly additive": "Slowdowns of several neighbours nearly add up",
    "not additive": "Slowdowns of several neighbours do not add up",
    "unclear": "Whether slowdowns of several neighbours add up is unclear, as intervals are wide or missing",
    "overestimates": "Slowdowns of several neighbours are less than their sum",
    "underestimates": "Slowdowns of several neighbours are more than their sum",
}

_NOTED = (
    (
        USED_BY_OTHERS,
        "began while others used the machine: times may be too long",
        "Measure again when the machine is idle.",
    ),
    (
        LEFT_BEHIND,
        "ended while processes of a program were still running: what these did is not in its time",
        "Let the program wait for all that it starts.",
    ),
    (
        SHARED_CORES,
        "had members on one physical core, for want of others: they slow each other more than on separate ones",
        "Leave larger groups out, or measure on a machine with more cores.",
    ),
    (
        OTHER_METER,
        "had their energy read by another meter than the one of the plan now: it is left out, and their times count",
        "For energies of all runs, measure them with one meter, in a folder of its own.",
    ),
    (
        MIXED_KINDS,
        "took turns on cores that are not alike: times, and slowdowns against times alone, depend on the core",
        "Name cores of one kind.",
    ),
    (
        BEYOND_QUOTA,
        "had more cores than a control group grants time for: programs may have been made to wait",
        "Raise the quota (docker run --cpus, cpu.max) to all cores in use.",
    ),
    (
        OTHER_CLOCK,
        "did not run at the clock that was asked for, so they say nothing about what clocks do to times",
        "Heat, a limit of power or of the firmware, turbo, or others on the same processor may be why.",
    ),
)
"""Notes of runs by words in them, and what to say of this many runs."""


def measure_findings(analysis: Analysis, idle_notes: Sequence[str] = ()) -> list[Finding]:
    """Slowdowns, whether they add up, energy together, clocks and static power, as far as each is known.

    `idle_notes` are the remarks on readings of the idle machine, one for each, of which most are empty.
    """
    parts = (_slowdowns, _sums, energy_together, times_and_clocks, best_clocks)
    measured = [finding for part in parts for finding in part(analysis)]
    measured += static_power(analysis, idle_doubts(analysis, idle_notes))
    return [*(measured or _times_alone(analysis)), *_slower_clock(analysis), *_doubts(analysis)]


def _times_alone(analysis: Analysis) -> list[Finding]:
    """What is left to say where nothing can be compared."""
    clock = shown_clock(analysis.alone)
    rows = analysis.alone.filter(clock=clock).sort("wall_s")
    if rows.is_empty():
        return [Finding("No run counts yet.")]
    tried = (analysis.left_out["size"] > 1).any()
    together = "; nothing that ran together counts" if tried else ", and none together"
    ends = [rows.row(at, named=True) for at in ((0, -1) if rows.height > 1 else (0,))]
    times = " to ".join(f"{pm(row['wall_s'], row['wall_ci_s'])} s ({row['program']})" for row in ends)
    n = analysis.alone["program"].n_unique()
    lead = f"{count(n, 'program was', 'programs were')} timed alone{together}."
    return [Finding(lead, f"A run takes {times}{clock_phrase(clock)}.")]


def _doubts(analysis: Analysis) -> Iterator[Finding]:
    """What the laboratory noted of runs, where it makes a difference to what follows from them."""
    runs = runs_made(analysis).unique("run")
    for words, lead, support in _NOTED:
        n = runs.filter(pl.col("notes").fill_null("").str.contains(words, literal=True)).height
        if n:
            where = "The column notes of the observations tells which."
            yield Finding(f"{n:,} of {count(runs.height, 'run')} {lead}.", f"{support} {where}")


def _slower_clock(analysis: Analysis) -> Iterator[Finding]:
    """Whether cores ran slower in company than alone at the same clock, as far as that was seen."""
    seen, mhz = analysis.observations.drop_nulls("measured_mhz"), pl.col("measured_mhz")
    alone = seen.filter(size=1).group_by("program", "clock").agg(alone_mhz=mhz.mean())
    beside = seen.filter(pl.col("size") > 1).group_by("program", "clock", "group").agg(mhz.mean())
    cases = beside.join(alone, on=["program", "clock"]).with_columns(lost=1 - mhz / pl.col("alone_mhz"))
    slower = cases.filter(pl.col("lost") > WORTH_TELLING).sort(-pl.col("lost"), "program", "group", "clock")
    if slower.is_empty():
        return
    most = slower.row(0, named=True)
    lead = (
        f"Part of the slowdowns is the clock's: in {slower.height} of {count(cases.height, 'case')} cores ran slower "
        f"in company than alone, by up to {percents(most['lost'], None)} ({most['program']} in {most['group']})."
    )
    yield Finding(lead, "Hold a clock that all cores can keep at once (`[clock]` in the plan) to measure without that.")


def _slowdowns(analysis: Analysis) -> Iterator[Finding]:
    clock = shown_clock(analysis.pairs)
    rows = analysis.pairs.filter(pl.col("clock") == clock).drop_nulls("slowdown").sort("slowdown")
    if rows.is_empty():
        return
    clear = rows.filter(pl.col("slowdown") > pl.col("slowdown_ci"))
    most, least = (rows if clear.is_empty() else clear).row(-1, named=True), rows.row(0, named=True)
    cases = f"{count(rows.height, 'case')} of two programs"
    worst = f"{_pair(most)} {_beside(most)}{clock_phrase(clock)}"
    has_none = rows["slowdown_ci"].is_null().all()
    if has_none:
        lead = f"Without intervals, which need repetitions: {worst}, the most of {cases}."
    elif clear.is_empty():
        lead = f"No slowdown in {cases} is beyond its interval: {worst}."
    else:
        lead = f"{worst}: of {cases}, the most that is beyond its interval."
    support = f"The least slowed is {_pair(least)}, which {_beside(least)}." if rows.height > 1 else ""
    means = _over_neighbours(analysis) if has_none or not clear.is_empty() else ""
    yield Finding(lead, f"{support}{means}".strip())


def _over_neighbours(analysis: Analysis) -> str:
    """Who suffers and who causes most, where anybody is slowed."""
    means = analysis.programs.filter(pl.col("sensitivity") > 0, pl.col("pressure") > 0)
    if means.height < 2:
        return ""
    felt, caused = (means.sort(name, descending=True).row(0, named=True) for name in ("sensitivity", "pressure"))
    caused_by = "it" if caused["program"] == felt["program"] else caused["program"]
    return (
        f" Over all neighbours, {felt['program']} suffers most, {percents(felt['sensitivity'], None)}, and {caused_by} "
        f"causes most, {percents(caused['pressure'], None)}."
    )


def _pair(row: Mapping[str, Any]) -> str:
    same = row["program"] == row["beside"]
    return f"{row['program']} beside {'another one' if same else row['beside']}"


def _beside(row: Mapping[str, Any]) -> str:
    """How long a program takes in company, against alone."""
    slowdown, half = row["slowdown"], row["slowdown_ci"]
    if slowdown >= 0:
        return f"takes {percents(slowdown, half)} longer than alone"
    if half is not None and -slowdown <= half:
        return f"is not slower than alone ({percents(slowdown, half)})"
    return f"takes {percents(-slowdown, half)} less time than alone"


def _sums(analysis: Analysis) -> Iterator[Finding]:
    errors = analysis.additivity
    if errors.n == 0 or errors.mean_error is None or errors.mean_absolute_error is None:
        return
    lead = (
        f"{_VERDICTS.get(errors.verdict, errors.verdict)}: the sum of those in pairs is off by "
        f"{fixed(100 * errors.mean_absolute_error, 1)} percentage points, up or down, on average."
    )
    mean = percent_pm(errors.mean_error, errors.mean_error_ci)
    members = f"{count(errors.n, 'member')} of groups of three and more"
    yield Finding(lead, f"Sum less measurement is {mean} points on average over {members}.{_held(analysis)}")


def _held(analysis: Analysis) -> str:
    """How many errors of sums are within their intervals: of members, at each clock."""
    share, rows = analysis.additivity.share_held, analysis.additive.drop_nulls(["error", "error_ci"])
    if share is None:
        return ""
    clocks = ", one for each member and clock," if rows["clock"].n_unique() > 1 else ""
    return f" Of {count(rows.height, 'error')}{clocks} {percent(100 * share, 0)} are within their intervals."
