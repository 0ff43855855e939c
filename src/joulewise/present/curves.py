"""Cumulative utility and energy over the simulated time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from joulewise.present.formats import energy_unit
from joulewise.present.layout import Drawing, Panel, assemble, panels_of, scaled, shared_value
from joulewise.present.lines import BUDGET, LIMIT_LOOK, LineAxis, LinePoint, Plot, draw_lines
from joulewise.present.records import BOUND, Records
from joulewise.present.views import dash_note, looks_of
from joulewise.study.answers import statistics
from joulewise.units import count, energy

TRACES = "traces"
UTILITY_TRACE, ENERGY_TRACE, BUDGET_TRACE = "utility_cumulative", "energy_cumulative_j", "budget_cumulative_j"
UTILITY_SAID = "Utility earned since the start of the counted time, for each {}; the slope is the rate of earning."
BOUND_SAID = " The dotted line is the {}: nobody can have earned more by the end."
ENERGY_SAID = "Energy used since the start of the counted time, for each {}."
_N_TIMES = 145
_TICK_STEPS_H = (0.25, 0.5, 1, 2, 4, 6, 12, 24, 48, 72, 168, 336, 720, 2160, 4320, 8760, 1e9)


def draw_traces(
    records: Records, trace: str, said: str, lines: str, keys: Sequence[str], frame: pl.DataFrame, tuned: str = ""
) -> Drawing:
    """Traces over the simulated time, a line for each value of a key, a panel for each setting of the others.

    `said` is what a caption says first, with a place for the name of the lines; `tuned` what it says of their tuning.
    """
    panels, note = panels_of(records, frame, keys)
    parts = [draw_lines(plot) for plot in _plots(records, lines, panels, trace)]
    dashed = dash_note(records, lines)
    caption = f"{said.format(records.words(lines).name)}{dashed} {_trials_note(records, frame)}{tuned}{note}"
    return Drawing(assemble(parts, across=2), caption)


def energy_said(records: Records, lines: str) -> str:
    """What a caption says of energy over time, and of its budget where there is one: of which lines, if not of all."""
    limited = trace_frame(records, BUDGET_TRACE, lines)
    if limited.is_empty():
        return ENERGY_SAID
    all_lines, has_it = trace_frame(records, ENERGY_TRACE, lines)[lines].unique(), limited[lines].unique()
    labels = records.labels(lines)
    names = ", ".join(label for value, label in labels.items() if value in has_it)
    whose, which = ("", "a line") if has_it.len() == all_lines.len() else (f" of {names} alone", "a line of these")
    return (
        f"{ENERGY_SAID} The dotted line is the budget of the days that have begun{whose}; {which} that meets it ran "
        "out of energy."
    )


def trace_frame(records: Records, trace: str, lines: str) -> pl.DataFrame:
    """The points of a trace of all kept runs with the keys of their run and of lines; empty where there is none."""
    traces = records.frame(TRACES)
    if trace not in traces.columns:
        return pl.DataFrame()
    keys = [key for key in dict.fromkeys([*records.varying, lines]) if key in records.runs.columns]
    columns = [name for name in (trace, BUDGET_TRACE) if name in traces.columns]
    points = traces.select("run", "at_s", *dict.fromkeys(columns)).filter(pl.col(trace).is_finite())
    told = dict.fromkeys(["run", "trial", *records.error.sampling.needs, *keys])
    return points.join(records.runs.select(*told), on="run").sort("run", "at_s", maintain_order=True)


def _plots(records: Records, lines: str, panels: Sequence[Panel], trace: str) -> list[Plot]:
    labels, looks = records.labels(lines), looks_of(records, lines)
    curves = [_lines(records, panel.rows, lines, labels, trace) for panel in panels]
    limits = [_budgets(panel.rows) if trace == ENERGY_TRACE else _bound(records, panel) for panel in panels]
    shown = [point for group in (*curves, *limits) for points in group.values() for point in points]
    most = max((max(point.y, point.high or 0.0) for point in shown), default=0.0)
    unit, size = energy_unit(most) if trace == ENERGY_TRACE else ("", 1.0)
    title = f"energy used ({unit})" if unit else "utility earned"
    y = LineAxis(title, 0.0, max(1.03 * most / size, 1e-9))
    width_px = 520 if len(panels) == 1 else 270
    return [
        Plot(
            {name: [_scaled(point, size) for point in points] for name, points in {**means, **limit}.items()},
            {**looks, **dict.fromkeys(limit, LIMIT_LOOK)},
            _time_axis(panel.rows),
            y,
            panel.title,
            width_px,
            has_bands=True,
        )
        for panel, means, limit in zip(panels, curves, limits, strict=True)
    ]


def _lines(
    records: Records, rows: pl.DataFrame, key: str, labels: Mapping[object, str], trace: str
) -> dict[str, list[LinePoint]]:
    parts = {part[key][0]: part for part in rows.partition_by(key, maintain_order=True)}
    return {label: _mean_curve(records, parts[value], trace) for value, label in labels.items() if value in parts}


def _mean_curve(records: Records, rows: pl.DataFrame, trace: str) -> list[LinePoint]:
    """The mean of several runs' curves at evenly spaced instants, with its 95 % interval where there are several."""
    at_s = rows["at_s"].to_numpy()
    grid = np.linspace(at_s.min(), at_s.max(), min(_N_TIMES, rows["at_s"].n_unique()))
    needed = dict.fromkeys(["trial", *records.error.sampling.needs])
    curves = [
        run.head(1).select(*needed).join(_at(grid, run, trace), how="cross")
        for run in rows.partition_by("run", maintain_order=True)
    ]
    found = statistics.summary(pl.concat(curves), ["at_s"], [trace], records.error)
    return [LinePoint(at_s / 3600, *row) for at_s, *row in found.select("at_s", "mean", "low", "high").iter_rows()]


def _at(grid: npt.NDArray[np.float64], run: pl.DataFrame, trace: str) -> pl.DataFrame:
    """The curve of a run at some instants."""
    return pl.DataFrame({"at_s": grid, trace: np.interp(grid, run["at_s"].to_numpy(), run[trace].to_numpy())})


def _bound(records: Records, panel: Panel) -> dict[str, list[LinePoint]]:
    """What nobody can exceed by the end, where all runs of the panel share it."""
    bound = shared_value(records, panel, BOUND, panel.rows["trial"].unique())
    ends_h = [float(end) / 3600 for end in (panel.rows["at_s"].min(), panel.rows["at_s"].max())]  # type: ignore[arg-type]
    return {} if bound is None else {records.bound_name: [LinePoint(end_h, bound) for end_h in ends_h]}


def utility_said(records: Records) -> str:
    """What a caption says of utility over time, and of its bound where there is one."""
    return UTILITY_SAID + (BOUND_SAID.format(records.bound_name) if records.measures(BOUND) else "")


def _budgets(rows: pl.DataFrame) -> dict[str, list[LinePoint]]:
    """Each different budget over time, by name; none where nothing limits the energy."""
    if BUDGET_TRACE not in rows.columns:
        return {}
    limited = rows.filter(pl.col(BUDGET_TRACE).is_finite())
    runs = {float(run[BUDGET_TRACE][-1]): run for run in limited.partition_by("run", maintain_order=True)}
    names = {end: BUDGET if len(runs) == 1 else f"{BUDGET} {energy(end)}" for end in sorted(runs)}
    return {name: _corners(runs[end]) for end, name in names.items()}


def _corners(run: pl.DataFrame) -> list[LinePoint]:
    """The budget of a run where it changes, and at both ends."""
    budget_j = pl.col(BUDGET_TRACE)
    changes = (budget_j != budget_j.shift(1)) | (budget_j != budget_j.shift(-1))
    ends = (pl.int_range(pl.len()) == 0) | (pl.int_range(pl.len()) == pl.len() - 1)
    corners = run.filter(changes.fill_null(value=True) | ends)
    return [LinePoint(at_s / 3600, at_j) for at_s, at_j in corners.select("at_s", BUDGET_TRACE).iter_rows()]


def _scaled(point: LinePoint, size: float) -> LinePoint:
    return LinePoint(point.x, point.y / size, scaled(point.low, size), scaled(point.high, size))


def _time_axis(rows: pl.DataFrame) -> LineAxis:
    low_s, high_s = float(rows["at_s"].min() or 0.0), float(rows["at_s"].max() or 0.0)  # type: ignore[arg-type]
    start_h = math.floor(4 * low_s / 3600) / 4
    end_h = max(high_s / 3600, start_h + 1e-3)
    step = next(step for step in _TICK_STEPS_H if (end_h - start_h) / step <= 7)
    ticks = [start_h + i * step for i in range(int((end_h - start_h) / step) + 1)]
    return LineAxis("simulated time (h)", start_h, end_h, {tick: f"{tick:g}" for tick in ticks})


def _trials_note(records: Records, frame: pl.DataFrame) -> str:
    n_trials = frame["trial"].n_unique()
    if n_trials < 2:
        return "Each line is the only kept trial of its setting."
    sampling = records.error.sampling
    figures = sampling.figures.format(f"up to {count(n_trials, 'kept trial')}")
    return f"Lines are {figures}, bands {sampling.intervals}."
