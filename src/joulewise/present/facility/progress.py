"""What each technique has reached after this much time, and the proven bound."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from joulewise.present.facility.view import (
    BOUND,
    BOUND_NAME,
    CRR,
    CRR_TITLE,
    PROGRESS,
    SAID_100,
    settings_beside,
    technique_key,
)
from joulewise.present.layout import Drawing, Panel, assemble, in_percent, inline, panels_of
from joulewise.present.lines import LIMIT_LOOK, LineAxis, LinePoint, Plot, draw_lines
from joulewise.present.parts import layer
from joulewise.present.records import Records
from joulewise.present.theme import Looks
from joulewise.present.views import looks_of
from joulewise.study.answers import statistics

COLUMNS = ("at_s", CRR)
_LEAST_S = 1e-3
_TICKS_S = {
    1e-3: "1 ms", 1e-2: "10 ms", 0.1: "0.1 s", 1.0: "1 s", 10.0: "10 s", 60.0: "1 min", 600.0: "10 min", 3600.0: "1 h",
    36_000.0: "10 h", 604_800.0: "1 week",
}  # fmt: skip
_MOST_STEPS = 80
_WIDTHS_PX = (460, 300)  # of one panel, of several


def has_progress(records: Records) -> bool:
    """Whether searches of a facility kept how they went on, and there is more to see of them than one point."""
    if not records.n_runs or not records.keeps(PROGRESS, *COLUMNS):
        return False
    steps = records.frame(PROGRESS)
    return records.varies(technique_key(records)) or steps["run"].n_unique() < steps.height


def rate_over_time(records: Records) -> Drawing:
    """Steps of the co-located reward rate over the time of the search, on a logarithmic axis."""
    key = technique_key(records)
    settings = settings_beside(records, key)
    panels, note = panels_of(records, _searches(records, [*settings, key]), settings)
    ends_s = [(float(panel.rows["at_s"].min()), float(panel.rows["at_s"].max())) for panel in panels]  # type: ignore[arg-type]
    x = _time_axis(min(first for first, _ in ends_s), max(last for _, last in ends_s))
    scenes = [_scene(records, panel, key, x) for panel in panels]
    y = percent_axis([value for scene in scenes for value in scene.values])
    looks = {**looks_of(records, key), BOUND_NAME: LIMIT_LOOK}
    parts = [_panel(scene, looks, x, y, _WIDTHS_PX[len(panels) > 1]) for scene in scenes]
    n_trials = max(panel.rows["trial"].n_unique() for panel in panels)
    means = (
        f" Lines are means of {n_trials} trials, bands 95 % confidence intervals." if n_trials > 1 else " One trial."
    )
    bound = " The dotted line is the proven bound: no plan has more." if records.measures(BOUND) else ""
    caption = (
        f"Co-located reward rate of the best plan that each technique had found by then, if no task has to wait; "
        f"{SAID_100}. The dot marks the "
        f"last improvement, after which the line stays level; time is on a logarithmic scale.{bound}{means}{note}"
    )
    return Drawing(assemble(parts, across=2), caption)


def _searches(records: Records, keys: Sequence[str]) -> pl.DataFrame:
    """Every improvement with the keys and the trial of its run."""
    runs = records.runs.select("run", "trial", *(key for key in keys if key in records.runs.columns))
    steps = records.frame(PROGRESS).select("run", pl.col("at_s").clip(_LEAST_S), CRR).drop_nulls()
    return runs.join(steps, on="run", maintain_order="left_right")


def _time_axis(first_s: float, last_s: float) -> LineAxis:
    """From the last tick before the first result to the first after the last, or a little farther than that."""
    before = [at_s for at_s in _TICKS_S if at_s < first_s]
    after = [at_s for at_s in _TICKS_S if at_s > last_s]
    low, high = (before or [first_s / 2])[-1], (after or [2 * last_s])[0]
    ticks = {math.log10(at_s): name for at_s, name in _TICKS_S.items() if low <= at_s <= high}
    return LineAxis("time of the search", math.log10(low), math.log10(high), ticks)


@dataclass(frozen=True)
class _Searches:
    """What a panel shows: lines, the last improvement of each, and the bound where there is one."""

    title: str
    lines: Mapping[str, Sequence[LinePoint]]
    ends: Mapping[str, LinePoint]

    @property
    def values(self) -> list[float | None]:
        """Everything that the axis must hold."""
        return [value for points in self.lines.values() for p in points for value in (p.y, p.low, p.high)]


def _scene(records: Records, panel: Panel, key: str, x: LineAxis) -> _Searches:
    labels = records.labels(key)
    parts = {part[key][0]: part for part in panel.rows.partition_by(key, maintain_order=True)}
    means = {labels[value]: mean_steps(parts[value]) for value in labels if value in parts}
    lines = {name: staircase(steps, x.high) for name, steps in means.items()}
    bound = _bound(records, panel)
    if bound is not None:
        lines[BOUND_NAME] = [LinePoint(x.low, bound), LinePoint(x.high, bound)]
    return _Searches(panel.title, lines, {name: steps[-1] for name, steps in means.items()})


def _bound(records: Records, panel: Panel) -> float | None:
    """The mean of the bound over the runs of a panel, the same trials as those of the lines."""
    if not records.measures(BOUND):
        return None
    bounds = records.runs.join(panel.rows.select("run"), on="run", how="semi")[BOUND].drop_nulls()
    return float(bounds.mean()) if bounds.len() else None  # type: ignore[arg-type]


def _panel(scene: _Searches, looks: Looks, x: LineAxis, y: LineAxis, width_px: int) -> Any:
    import altair as alt

    chart = draw_lines(Plot(scene.lines, looks, x, y, scene.title, width_px, has_bands=True))
    rows = [{"x": end.x, "y": end.y, "colour": looks[name][0]} for name, end in scene.ends.items()]
    dots = alt.Chart(inline(rows)).mark_point(filled=True, size=60, opacity=1, stroke="white", strokeWidth=1)
    size = {name: chart.pop(name) for name in ("width", "height")}
    return layer(chart, dots.encode(x=alt.X("x:Q"), y=alt.Y("y:Q"), fill=alt.Fill("colour:N", scale=None)), **size)


def mean_steps(searches: pl.DataFrame) -> list[LinePoint]:
    """The mean of what the trials of a technique had reached, with its interval, from when all had a plan."""
    trials = [part.sort("at_s") for part in searches.partition_by("trial", maintain_order=True)]
    start_s = max(float(part["at_s"][0]) for part in trials)
    times = np.unique(np.concatenate([[start_s], *(part["at_s"].to_numpy() for part in trials)]))
    times = _thinned(times[times >= start_s])
    rows = [
        {"at_s": float(at_s), "trial": trial, CRR: float(part[CRR][int(at) - 1])}
        for trial, part in enumerate(trials)
        for at_s, at in zip(times, np.searchsorted(part["at_s"].to_numpy(), times, side="right"), strict=True)
    ]
    means = statistics.summary(pl.DataFrame(rows), ["at_s"], [CRR]).sort("at_s")
    return [
        LinePoint(math.log10(row["at_s"]), row["mean"], in_percent(row["low"]), in_percent(row["high"]))
        for row in means.iter_rows(named=True)
    ]


def _thinned(times: np.ndarray) -> np.ndarray:
    """At most this many of rising times, evenly on a logarithmic scale, the first and the last among them."""
    if times.size <= _MOST_STEPS:
        return times
    wanted = np.geomspace(times[0], times[-1], _MOST_STEPS)
    return times[np.unique(np.clip(np.searchsorted(times, wanted * (1 - 1e-12)), 0, times.size - 1))]


def staircase(steps: Sequence[LinePoint], end: float) -> list[LinePoint]:
    """The corners of a line that stays level until the next step, and after the last one up to the end."""
    later = [*(step.x for step in steps[1:]), end]
    return [
        LinePoint(at, step.y, step.low, step.high)
        for step, last in zip(steps, later, strict=True)
        for at in (step.x, last)
    ]


def percent_axis(values: Sequence[float | None]) -> LineAxis:
    """From 0, or a round percentage where all values are well above, to one above them all."""
    shown = [value for value in values if value is not None]
    low, high = min(shown), max(shown)
    bottom = 10 * math.floor(low / 10) if low > 0.5 * high else 0
    return LineAxis(CRR_TITLE, bottom, 5 * math.ceil(1.03 * high / 5) or 5)
