"""Utility, energy, waits and fates of parallel jobs by scheduler, as bars with their intervals."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import polars as pl

from joulewise.present import theme
from joulewise.present.bars import Measure
from joulewise.present.compared import draw_compared
from joulewise.present.curves import (
    ENERGY_TRACE,
    TRACES,
    UTILITY_TRACE,
    draw_traces,
    energy_said,
    trace_frame,
    utility_said,
)
from joulewise.present.fates import FATES
from joulewise.present.formats import energy_unit, number, time_unit
from joulewise.present.intervals import draw_differences
from joulewise.present.jobs.keys import FILTER, SCHEDULER
from joulewise.present.jobs.view import JOB_TRACES, NO_FILTER, job_view, powers_said
from joulewise.present.layout import (
    Drawing,
    Layout,
    Panel,
    assemble,
    group_layout,
    inline,
    main_layout,
    panels_of,
    whiskers,
)
from joulewise.present.records import Records
from joulewise.present.tradeoff import draw_tradeoff

ENERGY, WAIT, SLOWDOWN, BUSY = "energy_j", "mean_wait_s", "mean_bounded_slowdown", "busy_percent"
COUNTS = ("jobs_arrived", "jobs_ran", "jobs_running", "jobs_dropped", "jobs_killed", "jobs_waiting", "jobs_impossible")
_SAME_PERCENT = 1e-6
_CANCELLED = "jobs_cancelled"
_OF_JOBS = {
    "cancelled": ("cancelled for other jobs", theme.PALETTE[4]),
    "impossible": ("can never start", theme.PALETTE[3]),
}
_FATES = {**FATES, **_OF_JOBS}
_ROW_PX, _WIDTH_PX = 22, 420


def compares(records: Records, *metrics: str) -> bool:
    """Whether there are several schedulers, or settings, with these metrics."""
    return records.n_runs > 0 and records.measures(*metrics) and job_view(records)[0].main is not None


def earn_apart(records: Records) -> bool:
    """Whether utility is told, and several schedulers do not all earn the same, as they do where time costs none."""
    if not records.tells_utility or not compares(records, records.share):
        return False
    earned = records.runs.select(pl.col(records.share).max() - pl.col(records.share).min()).item()
    return bool(earned > _SAME_PERCENT)


def utility_by_scheduler(records: Records) -> Drawing:
    """Share of utility by scheduler, the energy filters side by side."""
    seen, best = job_view(records)
    layout = _layout(seen)
    chart, note, marks = draw_compared(seen, layout)
    caption = (
        f"Percentage of {seen.whole} that each {_compared(seen)} earned{_by(seen, layout)}.{best} "
        f"{whiskers(seen, marks)}{note}"
    )
    return Drawing(chart, caption)


def energy_by_scheduler(records: Records) -> Drawing:
    """Energy used by scheduler, with the budget."""
    seen, best = job_view(records)
    layout = _layout(seen)
    unit, size = energy_unit(_most(seen, ENERGY))
    measure = Measure(ENERGY, f"energy used ({unit})", None, math.inf, size, "budget_j", "budget")
    chart, note, marks = draw_compared(seen, layout, measure)
    budget = " A dashed line is the budget, where all have the same." if seen.measures("budget_j") else ""
    caption = (
        f"Energy used, by running jobs and by nodes without one, for each {_compared(seen)}{_by(seen, layout)}."
        f"{budget}{best} "
        f"{whiskers(seen, marks, ENERGY)}{powers_said(seen)}{note}"
    )
    return Drawing(chart, caption)


def waits_by_scheduler(records: Records) -> Drawing:
    """Mean wait, mean bounded slowdown and how busy the cores are, by scheduler."""
    seen, best = job_view(records)
    layout = _layout(seen)
    unit, size = time_unit(_most(seen, WAIT))
    measures = (
        Measure(WAIT, f"mean wait ({unit})", None, math.inf, size),
        Measure(SLOWDOWN, "mean bounded slowdown", None, math.inf),
        Measure(BUSY, "cores busy (%)"),
    )
    chart, note, marks = draw_compared(seen, layout, *measures)
    caption = (
        "How long jobs waited before they ran, and their bounded slowdown (wait and run time over run time, or over 10 "
        f"s where that is more), and how busy the cores were, for each {_compared(seen)}{_by(seen, layout)}. Waits are "
        "those of jobs that ran, so a "
        f"scheduler that drops jobs or leaves many waiting can still show short waits.{best} "
        f"{whiskers(seen, marks, WAIT)}{note}"
    )
    return Drawing(chart, caption)


def scheduler_differences(records: Records) -> Drawing:
    """Paired differences in utility of schedulers to the best."""
    seen, best = job_view(records, folds=True)
    return draw_differences(seen, main_layout(seen), best)


def earned_over_time(records: Records) -> Drawing:
    """Utility earned over the simulated time, a line for each scheduler."""
    return _over_time(records, UTILITY_TRACE)


def used_over_time(records: Records) -> Drawing:
    """Energy used over the simulated time with the budget, a line for each scheduler."""
    return _over_time(records, ENERGY_TRACE)


def _over_time(records: Records, trace: str) -> Drawing:
    seen, best = job_view(records)
    seen = replace(seen, frames={TRACES: _to_one_end(records.frame(JOB_TRACES))})
    lines = seen.main or SCHEDULER
    said = energy_said(seen, lines) + powers_said(seen) if trace == ENERGY_TRACE else utility_said(seen)
    keys = [key for key in seen.varying if key != lines]
    return draw_traces(seen, trace, said, lines, keys, trace_frame(seen, trace, lines), best)


def _to_one_end(traces: pl.DataFrame) -> pl.DataFrame:
    """Traces that end early with what they came to, until the last one ends."""
    ends = traces.group_by("run", maintain_order=True).last().with_columns(at_s=traces["at_s"].max())
    return pl.concat([traces, ends.select(traces.columns)])


def schedulers_against_energy(records: Records) -> Drawing:
    """Utility against energy of all schedulers."""
    seen, best = job_view(records, folds=True)
    return draw_tradeoff(seen, seen.main or SCHEDULER, best=best)


def _layout(seen: Records) -> Layout:
    """Schedulers along the axis; filters as colours where they vary, else another key of few values."""
    return group_layout(seen, FILTER) if FILTER in seen.others else main_layout(seen)


def _compared(seen: Records) -> str:
    return seen.words(seen.main or SCHEDULER).name


def _by(seen: Records, layout: Layout) -> str:
    return f" at each {seen.words(layout.group).name}" if layout.group else ""


def _most(seen: Records, metric: str) -> float:
    """The highest mean of a metric."""
    means = seen.summary.filter(pl.col("metric") == metric)["mean"]
    return float(means.max() or 0.0)  # type: ignore[arg-type]


# --- what became of the jobs ----------------------------------------------------------------------------


def job_fates(records: Records) -> Drawing:
    """What became of the jobs that arrived, in percent, a bar for each scheduler."""
    seen, best = job_view(records)
    down = [seen.main or SCHEDULER, *([FILTER] if FILTER in seen.others else [])]
    keys = [key for key in seen.varying if key not in down]
    panels, note = panels_of(seen, _shares(seen, [*down, *keys]), keys)
    caption = (
        f"What became of the jobs that arrived, for each {_compared(seen)}, in percent of them; "
        f"{seen.error.sampling.figures.format('trials')}.{best}{note}"
    )
    return Drawing(assemble([_fate_part(seen, down, panel) for panel in panels], across=2), caption)


def _shares(seen: Records, keys: list[str]) -> pl.DataFrame:
    """Mean number of jobs with each fate in percent of those that arrived: the keys, fate and share."""
    arrived, ran, running, dropped, killed, waiting, impossible = (pl.col(name).fill_null(0) for name in COUNTS)
    counts = {"completed": ran - running, "dropped": dropped, "killed": killed, "open": waiting + running}
    counts["cancelled"] = pl.col(_CANCELLED) if _CANCELLED in seen.runs.columns else pl.lit(0)
    counts["impossible"] = impossible
    figure = seen.error.sampling.figure
    shares = [figure(100 * pl.when(arrived > 0).then(n / arrived)).alias(name) for name, n in counts.items()]
    means = seen.runs.group_by(keys, maintain_order=True).agg(shares)
    long = means.unpivot(on=list(counts), index=keys, variable_name="fate", value_name="share").drop_nulls("share")
    return long.filter((pl.col("share") > 0).any().over("fate"))


def _name(seen: Records, down: list[str], row: dict[str, Any]) -> str:
    """A scheduler, with its filter if it has one."""
    return seen.phrases(row, [key for key in down if row[key] != NO_FILTER])


def _fate_part(seen: Records, down: list[str], panel: Panel) -> Any:
    import altair as alt

    ranked = panel.rows.sort(down, maintain_order=True)
    rank = {name: i for i, name in enumerate(_FATES)}
    rows = [
        {
            "main": _name(seen, down, row),
            "fate": _FATES[row["fate"]][0],
            "share": row["share"],
            "shown": f"{number(row['share'])} %",
            "rank": rank[row["fate"]],
        }
        for row in ranked.iter_rows(named=True)
    ]
    present = set(panel.rows["fate"])
    names, colours = zip(*(look for fate, look in _FATES.items() if fate in present), strict=True)
    legend = alt.Legend(title=None, symbolType="square", labelLimit=300)
    order = list(dict.fromkeys(row["main"] for row in rows))
    bars = alt.Chart(inline(rows)).mark_bar().encode(
        x=alt.X("share:Q", title="% of the jobs that arrived", stack="zero", scale=alt.Scale(domain=[0, 100])),
        y=alt.Y("main:N", sort=order, title=None, axis=alt.Axis(labelLimit=320)),
        color=alt.Color("fate:N", scale=alt.Scale(domain=list(names), range=list(colours)), sort=None, legend=legend),
        order=alt.Order("rank:Q"),
        tooltip=[alt.Tooltip("main:N", title="scheduler"), "fate:N", alt.Tooltip("shown:N", title="share")],
    )  # fmt: skip
    return bars.properties(width=_WIDTH_PX, height=alt.Step(_ROW_PX), title=panel.title)
