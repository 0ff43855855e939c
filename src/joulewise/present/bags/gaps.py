"""How far profit stays below its bound, and what the front alone would earn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from joulewise.present import theme
from joulewise.present.bags.keys import RATIO
from joulewise.present.bags.keys import SIZE as BAG_SIZE
from joulewise.present.formats import key_name, number, plain
from joulewise.present.layout import Drawing, Panel, assemble, inline, panels_of, sentence
from joulewise.present.lines import LineAxis, LinePoint, Plot, draw_lines, encoded
from joulewise.present.parts import layer
from joulewise.present.plane import legend_of
from joulewise.present.records import Records
from joulewise.units import count

SIZE, GAP = "tasks_per_machine", "gap_percent"
_LEAST_TRIALS = 5
_N_STEPS = 48
_HALF = 0.42  # of the room of one shape
_LINES = {
    "profit_bound_per_s": "most profit",
    "pareto_profit_per_s": "best on the front",
    "profit_per_s": "allocation",
}


@dataclass(frozen=True)
class _Group:
    """The gaps of one bag size and profit ratio, with their place on the axis."""

    size: str
    ratio: str
    at: float
    gaps: list[float]


def has_gaps(records: Records) -> bool:
    """Whether some point has enough trials for a distribution of the gap of its profit."""
    if not records.measures(GAP, SIZE):
        return False
    runs = records.runs.drop_nulls([GAP, SIZE])
    return bool((runs.group_by(records.study.axes).len()["len"] >= _LEAST_TRIALS).any())


def profit_gap(records: Records) -> Drawing:
    """The distribution over trials of the relative decrease in profit, by tasks per machine and profit ratio."""
    keys = [key for key in records.varying if key not in (RATIO, BAG_SIZE)]
    panels, note = panels_of(records, records.runs.drop_nulls([GAP, SIZE]), keys)
    most = max(float(panel.rows[GAP].max()) for panel in panels)  # type: ignore[arg-type]
    parts = [_gap_panel(panel, most) for panel in panels]
    n_trials = max(len(group.gaps) for panel in panels for group in _groups(panel.rows))
    caption = (
        "How far the profit per second of an allocation lies below the proven bound, in percent: the distribution "
        f"over {count(n_trials, 'trial')}, each shape scaled to the same width. Bars span the middle half, white dots "
        f"are medians.{note}"
    )
    return Drawing(assemble(parts), caption)


def _groups(runs: pl.DataFrame) -> list[_Group]:
    """One group for every bag size and ratio, sizes left to right, ratios beside each other."""
    sizes = runs.with_columns(pl.col(SIZE).round(1))[SIZE].unique().sort().to_list()
    ratios = runs[RATIO].unique().sort().to_list()
    groups = []
    for i, size in enumerate(sizes):
        for j, ratio in enumerate(ratios):
            here = runs.filter((pl.col(SIZE).round(1) == size) & pl.col(RATIO).eq_missing(pl.lit(ratio)))
            at = i + (j + 0.5) / len(ratios) * 0.9 + 0.05
            groups.append(_Group(plain(size), plain(ratio), at, here[GAP].to_list()))
    return [group for group in groups if group.gaps]


def _gap_panel(panel: Panel, most: float) -> Any:
    import altair as alt

    groups = _groups(panel.rows)
    ratios, sizes = (list(dict.fromkeys(getattr(group, name) for group in groups)) for name in ("ratio", "size"))
    width = _HALF * 0.9 / len(ratios)
    ticks = {i + 0.5: size for i, size in enumerate(sizes)}
    x = encoded(alt.X, "x:Q", LineAxis("tasks per machine", 0.0, float(len(sizes)), ticks))
    y = encoded(alt.Y, "y:Q", LineAxis("profit below its bound (%)", 0.0, 1.04 * most or 1.0))
    colours = dict(zip(ratios, theme.categorical(len(ratios)), strict=True))
    colour = legend_of(colours, sentence(key_name(RATIO)), symbolType="square")
    shapes = [row for group in groups for row in _shape(group, width)]
    area = alt.Chart(inline(shapes)).mark_area(orient="horizontal", opacity=0.45)
    drawn = area.encode(x=x, x2=alt.X2("x2:Q"), y=y, color=colour, detail=alt.Detail("at:Q"))
    return layer(drawn, *_quartiles(groups, x, y, colour), width=520, height=300, title=panel.title)


def _shape(group: _Group, width: float) -> list[dict[str, Any]]:
    """The outline of a distribution: a kernel density, cut at the least and the greatest value."""
    levels, density = kernel_density(group.gaps)
    half = width * density / density.max()
    return [
        {"x": group.at - h, "x2": group.at + h, "y": level, "name": group.ratio, "at": group.at}
        for level, h in zip(levels.tolist(), half.tolist(), strict=True)
    ]


def kernel_density(values: Sequence[float]) -> tuple[Any, Any]:
    """Levels from the least to the greatest value and the density there (Gaussian kernels, Silverman's width)."""
    at = np.asarray(values, float)
    spread = min(float(at.std()), float(np.subtract(*np.quantile(at, [0.75, 0.25]))) / 1.34) or float(at.std())
    bandwidth = 0.9 * spread * at.size**-0.2
    levels = np.linspace(at.min(), at.max(), _N_STEPS)
    if bandwidth <= 0:
        return levels, np.ones(_N_STEPS)
    return levels, np.exp(-0.5 * ((levels[:, None] - at) / bandwidth) ** 2).mean(axis=1)


def _quartiles(groups: Sequence[_Group], x: Any, y: Any, colour: Any) -> list[Any]:
    import altair as alt

    rows = []
    for group in groups:
        low, middle, high = np.quantile(group.gaps, [0.25, 0.5, 0.75]).tolist()
        rows.append({"x": group.at, "y": middle, "low": low, "high": high, "name": group.ratio, "size": group.size,
                     "shown": f"{number(middle)} ({number(low)} to {number(high)})"})  # fmt: skip
    tip = [
        alt.Tooltip("size:N", title="tasks per machine"),
        alt.Tooltip("name:N", title=key_name(RATIO)),
        alt.Tooltip("shown:N", title="median gap in % (quartiles)"),
    ]
    base = alt.Chart(inline(rows)).encode(x=x, tooltip=tip)
    rule = base.mark_rule(strokeWidth=4).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), color=colour)
    dot = base.mark_point(filled=True, size=34, color="white", opacity=1, stroke=theme.INK, strokeWidth=0.8)
    return [rule, dot.encode(y=y)]


def profit_by_ratio(records: Records) -> Drawing:
    """Most profit per second, its best on the front alone and that of the allocation, over the profit ratio."""
    keys = [key for key in records.varying if key != RATIO]
    metrics = [name for name in _LINES if records.measures(name)]
    means = {name: records.means(name, [RATIO, *keys]) for name in metrics}
    by_name = {name: panels_of(records, frame, keys) for name, frame in means.items()}
    n_panels = min(len(panels) for panels, _ in by_name.values())
    shown = [v for frame in means.values() for name in ("mean", "low", "high") for v in frame[name].drop_nulls()]
    room = 0.05 * (max(shown) - min(shown)) or 1.0
    y = LineAxis("profit per second", min([*shown, 0.0]) - room, max([*shown, 0.0]) + room)
    parts = [_ratio_plot(by_name, i, y) for i in range(n_panels)]
    caption = (
        "Profit per second over the profit ratio, the price in units of the least cost of energy, in the unit of the "
        "price: the proven most of any schedule, the most on the energy/makespan front of the bound, and what the "
        f"allocation earns. Below zero is loss.{next(iter(by_name.values()))[1]}"
    )
    return Drawing(assemble([draw_lines(plot) for plot in parts], across=2), caption)


def _ratio_plot(by_name: dict[str, tuple[list[Panel], str]], i: int, y: LineAxis) -> Plot:
    lines = {_LINES[name]: _ratio_points(panels[i].rows) for name, (panels, _) in by_name.items()}
    dashes = ([1, 0], [6, 3], [2, 2])
    looks = {label: (theme.PALETTE[k], dashes[k]) for k, label in enumerate(_LINES.values()) if label in lines}
    xs = [point.x for points in lines.values() for point in points]
    room = 0.03 * (max(xs) - min(xs)) or 0.1
    x = LineAxis(key_name(RATIO), min(xs) - room, max(xs) + room)
    title = next(iter(by_name.values()))[0][i].title
    return Plot(lines, looks, x, y, title, width_px=400, base=0.0)


def _ratio_points(rows: pl.DataFrame) -> list[LinePoint]:
    return [
        LinePoint(row[RATIO], row["mean"], row["low"], row["high"]) for row in rows.sort(RATIO).iter_rows(named=True)
    ]
