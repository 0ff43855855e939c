"""Run times of jobs: what was planned with against what was true, and large jobs against their utility."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from joulewise.present import theme
from joulewise.present.formats import fixed
from joulewise.present.jobs.keys import PLANNED
from joulewise.present.jobs.logs import log_of, time_axis
from joulewise.present.jobs.view import JOB_TYPES, JOBS, by_scheduler, kept
from joulewise.present.layout import AXIS_FORMAT, Drawing, assemble, inline
from joulewise.present.lines import LineAxis, LinePoint, Plot, draw_lines, encoded
from joulewise.present.parts import layer
from joulewise.present.records import Records
from joulewise.units import count

_TRUE, _REQUESTED, _PLANNED = "true_s", "requested_s", "planned_s"
_SAME_S = 1e-6
_LEAST_S = 1.0
_N_CELLS = 36
_QUANTILES = np.linspace(0.0, 1.0, 201)
_WORK, _WORTH = "single_s", "starting_utility"
_MOST_POINTS = 5000
TRUE_NAME, REQUESTED_NAME = "true time", "requested time"


# --- requested, predicted and true run times ------------------------------------------------------------


def has_plans(records: Records) -> bool:
    """Whether what was planned with differs from the true times of the jobs kept."""
    if not records.keeps(JOBS, _TRUE, _PLANNED):
        return False
    return records.frame(JOBS).filter((pl.col(_PLANNED) - pl.col(_TRUE)).abs() > _SAME_S).height > 0


def run_times(records: Records) -> Drawing:
    """Requested, predicted and true run times: all in order, and each that was planned with against the true ones."""
    times = _times(records)
    planned = {name: pair for name, pair in times.items() if name != TRUE_NAME}
    ends_s = [float(end) for _, values in times.values() for end in np.quantile(values.to_numpy(), (0.0, 1.0))]
    logs = [log_of(end_s, _LEAST_S) for end_s in ends_s]
    edges = np.linspace(min(logs), max(max(logs), min(logs) + 1.0), _N_CELLS + 1)
    cells = {name: _cells(pair, edges) for name, pair in planned.items()}
    most = max(int(counts.max()) for counts in cells.values())
    heats = [
        {**_heat(name, counts, edges, most), "title": _titled(name, *planned[name]), "width": 260, "height": 260}
        for name, counts in cells.items()
    ]
    parts = [draw_lines(_in_order(times, logs)), *heats]
    caption = (
        "Run times that schedulers plan with, and true ones. The first panel has each sort of time from the shortest "
        "to the longest, with its median at 50 %. The others count jobs by true and planned time: the darker, the more "
        "jobs. On the line both agree; below it, jobs run longer than planned. All scales of time are logarithmic. "
        "First kept trial."
    )
    return Drawing(assemble(parts, across=2), caption)


def _times(records: Records) -> dict[str, tuple[pl.Series, pl.Series]]:
    """By name each sort of run times that is known, after the true times of the same jobs."""
    seen = by_scheduler(records)
    sorts = [name for name in (_TRUE, _REQUESTED, _PLANNED) if name in seen.frame(JOBS).columns]
    frame = kept(seen, JOBS, sorts).drop_nulls([_TRUE, _PLANNED])
    runs = frame.join(seen.runs.select("run", *_sort_key(seen)), on="run") if PLANNED not in frame.columns else frame
    times: dict[str, tuple[pl.Series, pl.Series]] = {}
    for run in runs.partition_by("run", maintain_order=True):
        times.setdefault(TRUE_NAME, (run[_TRUE], run[_TRUE]))
        if _REQUESTED in sorts and run[_REQUESTED].count():
            asked = run.drop_nulls(_REQUESTED)
            times.setdefault(REQUESTED_NAME, (asked[_TRUE], asked[_REQUESTED]))
        if all(_differ(run, name) for name in sorts if name != _PLANNED):
            name = seen.label(PLANNED, run[PLANNED][0]) if PLANNED in run.columns else "planned time"
            times.setdefault(name, (run[_TRUE], run[_PLANNED]))
    return times


def _differ(run: pl.DataFrame, name: str) -> bool:
    """Whether the times that were planned with are others than those of this name."""
    return run.filter((pl.col(_PLANNED) - pl.col(name)).abs() > _SAME_S).height > 0


def _sort_key(seen: Records) -> list[str]:
    return [PLANNED] if PLANNED in seen.runs.columns else []


def _in_order(times: Mapping[str, tuple[pl.Series, pl.Series]], logs: list[float]) -> Plot:
    lines = {}
    for name, (_, values) in times.items():
        pairs = zip(_QUANTILES, np.quantile(values.to_numpy(), _QUANTILES), strict=True)
        lines[name] = [LinePoint(100 * float(part), log_of(float(y), _LEAST_S)) for part, y in pairs]
    looks = {name: theme.line_style(i) for i, name in enumerate(lines)}
    x = LineAxis("jobs (%, in order)", 0.0, 100.0, {tick: f"{tick:g}" for tick in (0.0, 25.0, 50.0, 75.0, 100.0)})
    return Plot(lines, looks, x, time_axis("run time", logs), "", 300, has_bands=True)


def _cells(pair: tuple[pl.Series, pl.Series], edges: np.ndarray) -> np.ndarray:
    """The number of jobs by true time and by this sort of time."""
    true_log, planned_log = (np.log10(np.maximum(series.to_numpy(), _LEAST_S)) for series in pair)
    return np.asarray(np.histogram2d(true_log, planned_log, bins=(edges, edges))[0])


def _heat(name: str, cells: np.ndarray, edges: np.ndarray, most: int) -> Any:
    """Jobs by true time, along, and by this sort of time, upright."""
    import altair as alt

    rows = [
        {"x": edges[i], "x2": edges[i + 1], "y": edges[j], "y2": edges[j + 1], "jobs": int(cells[i, j])}
        for i, j in zip(*np.nonzero(cells), strict=True)
    ]
    ends = [edges[0], edges[-1]]
    x, y = encoded(alt.X, "x:Q", time_axis(TRUE_NAME, ends)), encoded(alt.Y, "y:Q", time_axis(name, ends))
    squares = alt.Chart(inline(rows)).mark_rect().encode(
        x=x, x2=alt.X2("x2:Q"), y=y, y2=alt.Y2("y2:Q"), fill=_shade(most), tooltip=[alt.Tooltip("jobs:Q")]
    )  # fmt: skip
    line = alt.Chart(inline([{"x": end, "y": end} for end in ends])).mark_line(strokeWidth=1, color=theme.INK)
    return layer(squares, line.encode(x=x, y=y))


def _shade(most: int) -> Any:
    """The darker, the more jobs."""
    import altair as alt

    ramp = [theme.lighter(theme.PALETTE[0], 0.85), theme.ordered(3)[-1]]
    scale = alt.Scale(type="log", domain=[1, max(most, 2)], range=ramp, nice=False)
    ticks = [10**power for power in range(9) if 10**power <= most]
    legend = alt.Legend(
        title="Jobs", values=ticks, orient="right", direction="vertical", titleOrient="top", gradientLength=120
    )
    return alt.Fill("jobs:Q", scale=scale, legend=legend)


def _titled(name: str, true_s: pl.Series, planned_s: pl.Series) -> dict[str, str]:
    """A sort of times, with how much of it jobs use in the median, and how many use more."""
    share = (true_s / planned_s).to_numpy()
    over = 100 * float(np.mean(share > 1 + 1e-9))
    said = f"true over planned {fixed(float(np.median(share)), 2)} in the median, above 1 for {fixed(over, 1)} %"
    return {"text": name, "subtitle": said}


# --- size and utility -----------------------------------------------------------------------------------


def has_worths(records: Records) -> bool:
    """Whether job types with their single-core times and starting utilities were kept."""
    return records.keeps(JOB_TYPES, _WORK, _WORTH)


def utility_by_size(records: Records) -> Drawing:
    """The single-core time of each job type against the utility its jobs are worth at their start."""
    import altair as alt

    points = _job_types(records)
    shown = points.sample(_MOST_POINTS, seed=0) if points.height > _MOST_POINTS else points
    rows = [{"x": work_s / 3600, "y": worth} for work_s, worth in shown.iter_rows()]
    looks = alt.Axis(grid=True, format=AXIS_FORMAT, tickCount=8)
    marks = alt.Chart(inline(rows)).mark_point(filled=True, size=16, opacity=0.5, color=theme.PALETTE[0])
    chart = marks.encode(
        x=alt.X("x:Q", title="execution time on a single core (h)", axis=looks),
        y=alt.Y("y:Q", title="utility at the start", axis=alt.Axis(format=AXIS_FORMAT)),
    ).properties(width=430, height=300)  # fmt: skip
    correlation = points.select(pl.corr(_WORK, _WORTH)).item()
    caption = (
        "The execution time on a single core and the utility at the start of jobs: every point is one of "
        f"{count(points.height, 'job type')} of the kept trials. Their correlation is {fixed(correlation, 2)}."
    )
    return Drawing(assemble([chart]), caption)


def _job_types(records: Records) -> pl.DataFrame:
    """Single-core time and utility of every job type of every world that was kept."""
    types = records.frame(JOB_TYPES)
    world = "world" if "world" in records.runs.columns else "trial"
    first = records.runs.join(types.select("run").unique(), on="run", how="semi").unique(world, keep="first")
    there = types.join(first.select("run"), on="run", how="semi", maintain_order="left")
    return there.select(_WORK, _WORTH).drop_nulls()
