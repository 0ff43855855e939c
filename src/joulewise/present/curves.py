"""Cumulative utility over the simulated time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from joulewise.present import theme
from joulewise.present.formats import key_words
from joulewise.present.layout import AXIS_FORMAT, Drawing, Panel, assemble, inline, panels_of
from joulewise.present.records import MODES, POLICY, THRESHOLD, Records

_N_TIMES = 145
_LINE_HEIGHT_PX = 230
_LABEL_GAP_PX = 14


def utility_over_time(records: Records) -> Drawing:
    """Cumulative utility over the simulated time by policy, one panel per setting, of one trial each."""
    frame = trace_frame(records)
    main = records.main or POLICY
    thresholds = _shown_thresholds(records, frame) if THRESHOLD in records.others else []
    if thresholds:
        frame = frame.filter(pl.col(THRESHOLD).is_in(thresholds))
    keys = [*(key for key in records.others if key != THRESHOLD), *([THRESHOLD] if thresholds else [])]
    panels, note = panels_of(records, frame, keys)
    top = max(float(panel.rows["utility_cumulative"].max() or 0.0) for panel in panels)  # type: ignore[arg-type]
    parts = [_line_panel(records, main, panel, top, wide=len(panels) == 1) for panel in panels]
    caption = (
        f"Utility earned since the start of the counted time, for each {key_words(main).name}; the slope is "
        f"the rate of earning.{_dash_note(records, main)} Each line is the first kept trial of its setting."
        f"{_threshold_note(records, thresholds)}{note}"
    )
    return Drawing(assemble(parts, across=2), caption)


def _threshold_note(records: Records, thresholds: Sequence[float]) -> str:
    n = len(records.values(THRESHOLD))
    if not 0 < len(thresholds) < n:
        return ""
    return f" Of the {n} dropping thresholds, the lowest and the best on average are shown."


def _dash_note(records: Records, main: str) -> str:
    modes = {records.mode(str(value)) for value in records.values(main)} if main == POLICY else set()
    return " Dashed lines are immediate mode, solid lines batch mode." if set(MODES) <= modes else ""


def _shown_thresholds(records: Records, traced: pl.DataFrame) -> list[float]:
    """Of the thresholds with traces, the lowest and the one with the highest mean utility."""
    values: list[float] = traced[THRESHOLD].unique().sort().to_list()
    means = records.utility().group_by(THRESHOLD).agg(pl.col("mean").mean()).drop_nulls()
    ranked = means.filter(pl.col(THRESHOLD).is_in(values)).sort("mean", descending=True)[THRESHOLD].to_list()
    return sorted({values[0], *ranked[:1]}) if len(values) > 2 else values


def trace_frame(records: Records) -> pl.DataFrame:
    """Points of the first kept trial of each setting with the keys of their run; empty without traces."""
    if records.traces is None:
        return pl.DataFrame()
    keys = [key for key in dict.fromkeys([*records.varying, POLICY]) if key in records.runs.columns]
    points = records.traces.select("run", "at_s", "utility_cumulative").drop_nulls().drop_nans()
    kept = records.runs.select("run", "trial", *keys).join(points.select("run").unique(), on="run", how="semi")
    first = kept.sort("trial", maintain_order=True).unique(subset=keys, keep="first", maintain_order=True)
    return points.join(first, on="run").sort("run", "at_s", maintain_order=True)


def _line_panel(records: Records, main: str, panel: Panel, top: float, *, wide: bool) -> Any:
    import altair as alt

    labels = records.labels(main)
    curves = {labels[part[main][0]]: _thinned(part) for part in panel.rows.partition_by(main, maintain_order=True)}
    start_h, end_h = _span_h(panel.rows)
    styles = _styles(records, main)
    rows = [{"name": name, "at_h": t, "utility": u} for name, curve in curves.items() for t, u in curve]
    tooltip = [
        alt.Tooltip("name:N", title=key_words(main).name),
        alt.Tooltip("at_h:Q", title="time (h)", format=".1f"),
        alt.Tooltip("utility:Q", title="utility earned", format=",.0f"),
    ]
    dash = alt.StrokeDash(
        "name:N",
        legend=None,
        scale=alt.Scale(domain=list(styles), range=[dash for _, dash in styles.values()]),
    )
    lines = (
        alt.Chart(inline(rows))
        .mark_line(strokeWidth=1.8)
        .encode(
            x=_time_axis(start_h, end_h),
            y=_utility_axis(top),
            color=_line_colour(styles),
            strokeDash=dash,
            tooltip=tooltip,
        )
    )
    ends = {name: curve[-1][1] for name, curve in curves.items()}
    chart = alt.layer(lines, *_end_labels(ends, styles, end_h, start_h, top))
    return chart.properties(width=520 if wide else 270, height=_LINE_HEIGHT_PX, title=panel.title)


def _styles(records: Records, main: str) -> dict[str, tuple[str, list[int]]]:
    """Label -> colour and dash; immediate mode is dashed."""
    return {
        label: theme.line_style(i, family=int(main == POLICY and records.mode(str(value)) == MODES[0]))
        for i, (value, label) in enumerate(records.labels(main).items())
    }


def _span_h(rows: pl.DataFrame) -> tuple[float, float]:
    low, high = float(rows["at_s"].min() or 0.0), float(rows["at_s"].max() or 0.0)  # type: ignore[arg-type]
    return math.floor(low / 3600), max(high / 3600, math.floor(low / 3600) + 1e-3)


def _thinned(curve: pl.DataFrame) -> list[tuple[float, float]]:
    """(hours, utility) at no more than `_N_TIMES` evenly spaced instants, the last one included."""
    at_s, utility = curve["at_s"].to_numpy(), curve["utility_cumulative"].to_numpy()
    if len(at_s) > _N_TIMES:
        import numpy as np

        grid = np.linspace(at_s[0], at_s[-1], _N_TIMES)
        utility = utility[np.searchsorted(at_s, grid, side="right") - 1]
        at_s = grid
    return [(float(t) / 3600, float(u)) for t, u in zip(at_s, utility, strict=True)]


def _time_axis(start_h: float, end_h: float) -> Any:
    import altair as alt

    span = end_h - start_h
    step = next(s for s in (0.25, 0.5, 1, 2, 4, 6, 12, 24, 168, 1e9) if span / s <= 7)
    ticks = [start_h + i * step for i in range(int(span / step) + 1)]
    return alt.X(
        "at_h:Q",
        title="simulated time (h)",
        scale=alt.Scale(domain=[start_h, end_h], nice=False),
        axis=alt.Axis(values=ticks, format=AXIS_FORMAT, labelFlush=False),
    )


def _utility_axis(top: float) -> Any:
    import altair as alt

    return alt.Y(
        "utility:Q",
        title="utility earned",
        scale=alt.Scale(domain=[0, max(top * 1.03, 1e-9)], nice=False),
        axis=alt.Axis(tickCount=6, format=AXIS_FORMAT),
    )


def _line_colour(styles: Mapping[str, tuple[str, list[int]]]) -> Any:
    import altair as alt

    scale = alt.Scale(domain=list(styles), range=[colour for colour, _ in styles.values()])
    return alt.Color("name:N", legend=None, scale=scale)


def _end_labels(
    ends: Mapping[str, float],
    styles: Mapping[str, tuple[str, list[int]]],
    end_h: float,
    start_h: float,
    top: float,
) -> list[Any]:
    """Names beside the ends of their lines, moved apart where they would overlap, with thin leaders."""
    import altair as alt

    places = spread(ends, gap=_LABEL_GAP_PX * top * 1.03 / _LINE_HEIGHT_PX, highest=top)
    right_h = end_h + 0.05 * (end_h - start_h)
    text = (
        alt.Chart(inline([{"name": n, "at_h": right_h, "utility": places[n]} for n in ends]))
        .mark_text(align="left", baseline="middle", dx=3, fontSize=theme.LABEL_PX - 1, color=theme.INK)
        .encode(x="at_h:Q", y="utility:Q", text="name:N")
    )
    leaders = [
        {"name": name, "at_h": at_h, "utility": utility}
        for name, end in ends.items()
        for at_h, utility in ((end_h, end), (right_h, places[name]))
    ]
    lines = (
        alt.Chart(inline(leaders))
        .mark_line(strokeWidth=1)
        .encode(x="at_h:Q", y="utility:Q", color=_line_colour(styles))
    )
    return [lines, text]


def spread(ends: Mapping[str, float], gap: float, highest: float) -> dict[str, float]:
    """Positions near the values, in their order, at least `gap` apart, from 0 to `highest` if they fit."""
    ranked = sorted(ends, key=lambda name: ends[name])
    blocks: list[tuple[float, list[str]]] = []  # (centre, names from below) of labels that touch
    for name in ranked:
        centre, names = ends[name], [name]
        while blocks and centre - blocks[-1][0] < gap * (len(names) + len(blocks[-1][1])) / 2:
            names = blocks.pop()[1] + names
            centre = sum(ends[n] for n in names) / len(names)
        half = gap * (len(names) - 1) / 2
        blocks.append((max(min(centre, highest - half), half), names))
    return {name: centre + gap * (i - (len(names) - 1) / 2) for centre, names in blocks for i, name in enumerate(names)}
