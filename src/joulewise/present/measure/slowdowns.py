"""How much programs slow each other: by pair and by class, and whether slowdowns of several neighbours add up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from joulewise.measure.analysis.intensity import class_order
from joulewise.present import theme
from joulewise.present.formats import MISSING, fixed, percent
from joulewise.present.layout import AXIS_FORMAT, Drawing, assemble, inline
from joulewise.present.measure.view import (
    clock_phrase,
    order_phrase,
    percent_pm,
    programs_of,
    shown_clock,
    size_colours,
    size_name,
    whiskers_phrase,
)
from joulewise.present.parts import layer
from joulewise.units import count

if TYPE_CHECKING:
    from joulewise.measure.analysis.analysis import Analysis

_CELL_PX, _NARROW_PX, _ROW_PX = 96, 52, 34
_WIDE = 7  # so many programs or fewer have their intervals written into the cells
_LETTER_PX, _APART_PX, _LABEL_PX = 6.2, 8, 200
_BESIDE = 4  # so many or fewer leave room for classes at the right
_STOPS = 101
_SQUARE_PX = 300


def slowdowns_by_pair(analysis: Analysis) -> Drawing:
    """A map of slowdowns: a program (row) beside another (column), and the same by class."""
    clock = shown_clock(analysis.pairs)
    pairs = analysis.pairs.filter(pl.col("clock") == clock)
    programs = [name for name in programs_of(analysis) if name in {*pairs["program"], *pairs["beside"]}]
    classes = sorted(set(analysis.by_class["class"]), key=class_order, reverse=True)
    slowdowns = [value for frame in (pairs, analysis.by_class) for value in frame["slowdown"].drop_nulls()]
    most = max([0.01, *slowdowns])
    maps = [_map(pairs, "program", programs, most, "beside")]
    if len(classes) > 1:
        maps.append(_map(analysis.by_class, "class", classes, most, "beside class"))
    over = " and clocks" if analysis.pairs["clock"].n_unique() > 1 else ""
    by_class = f" At the right or below, the means of all pairs of classes{over}." if len(maps) > 1 else ""
    has_widths = len(programs) <= _WIDE and pairs["slowdown_ci"].is_not_null().any()
    widths = ", with half of the 95 % interval" if has_widths else ""
    caption = (
        f"How much longer a program (row) takes beside another (column){clock_phrase(clock)} than alone, in "
        f"percent{widths}; {order_phrase(analysis)}.{by_class}"
    )
    return Drawing(assemble(maps, across=2 if len(programs) <= _BESIDE else 1), caption)


def has_pairs(analysis: Analysis) -> bool:
    """Whether any pair was measured."""
    return not analysis.pairs.drop_nulls("slowdown").is_empty()


def _map(rows: pl.DataFrame, key: str, names: Sequence[str], most: float, title: str) -> Any:
    import altair as alt

    measured = {(row[key], row["beside"]): row for row in rows.iter_rows(named=True)}
    is_wide = len(names) <= _WIDE
    cells = [_cell(measured.get((a, b), {}), a, b, most, is_wide=is_wide) for a in names for b in names]
    is_level = is_wide and max(map(len, names), default=0) * _LETTER_PX + _APART_PX <= _CELL_PX
    limit_px = _CELL_PX if is_level else _LABEL_PX
    top = alt.Axis(orient="top", labelAngle=0 if is_level else -40, ticks=False, domain=False, labelLimit=limit_px)
    said = {"name": key, "beside": "beside", "shown": "slowdown (%)", "n": "runs" if key == "program" else "pairs"}
    base = alt.Chart(inline(cells)).encode(
        x=alt.X("beside:N", sort=list(names), title=title, axis=top),
        y=alt.Y("name:N", sort=list(names), title=None, axis=alt.Axis(labelLimit=_LABEL_PX)),
        tooltip=[alt.Tooltip(f"{name}:N", title=words) for name, words in said.items()],
    )
    boxes = base.mark_rect(stroke="white", strokeWidth=1).encode(color=alt.Color("fill:N", scale=None))
    words = base.mark_text(fontSize=theme.LABEL_PX).encode(
        text=alt.Text("text:N"), color=alt.Color("ink:N", scale=None)
    )
    step_px = _CELL_PX if is_wide else _NARROW_PX
    return layer(boxes, words, width=step_px * len(names), height=_ROW_PX * len(names))


def _cell(row: Mapping[str, Any], name: str, beside: str, most: float, *, is_wide: bool) -> dict[str, Any]:
    """One pair with its colour; grey where it was not measured."""
    value, half = row.get("slowdown"), row.get("slowdown_ci")
    if value is None:
        return {
            "name": name,
            "beside": beside,
            "fill": theme.GRID,
            "ink": theme.MUTED,
            "text": MISSING,
            "shown": MISSING,
            "n": 0,
        }
    fill = theme.warmth(_STOPS)[round(min(max(value / most, 0.0), 1.0) * (_STOPS - 1))]
    text = percent_pm(value, half)
    return {
        "name": name, "beside": beside, "fill": fill, "ink": theme.ink_on(fill),
        "text": text if is_wide else fixed(100 * value, 0), "shown": text, "n": row["n"],
    }  # fmt: skip


def additive_model(analysis: Analysis) -> Drawing:
    """Slowdowns in larger groups, measured and as the sum of those in pairs."""
    rows = analysis.additive.drop_nulls(["measured", "predicted"])
    sizes = rows["size"].unique().sort().to_list()
    whiskers = whiskers_phrase(rows, {"measured": "measured_ci", "predicted": "predicted_ci"})
    return Drawing(assemble([_scatter(rows, sizes)]), f"{_additive_caption(analysis, rows.height)}{whiskers}")


def has_groups(analysis: Analysis) -> bool:
    """Whether a group of three or more was measured, and foretold from pairs."""
    return not analysis.additive.drop_nulls(["measured", "predicted"]).is_empty()


def _additive_caption(analysis: Analysis, n: int) -> str:
    errors = analysis.additivity
    sure = count(analysis.additive.drop_nulls(["error", "error_ci"]).height, "point")
    held = (
        ""
        if errors.share_held is None
        else f"; its interval holds 0 for {percent(100 * errors.share_held, 0)} of {sure}"
    )
    mean = percent_pm(errors.mean_error, errors.mean_error_ci)
    error = "" if errors.mean_error is None else f" Sum less measurement is {mean} percentage points on average{held}."
    return (
        f"Slowdown of members of groups of three and more ({count(n, 'point')}): as measured, and as the sum of their "
        f"slowdowns in pairs. On the line, slowdowns add up; above it, the sum is too high.{error}"
    )


def _scatter(rows: pl.DataFrame, sizes: Sequence[int]) -> Any:
    import altair as alt

    data = [_scatter_row(row) for row in rows.iter_rows(named=True)]
    ends = [value for row in data for value in (row["x1"], row["y1"], row["x2"], row["y2"])]
    low, high = min(0.0, *ends), 1.05 * max(1.0, *ends)
    scale = alt.Scale(domain=[low, high], nice=False)
    axis = alt.Axis(format=AXIS_FORMAT, tickCount=6, grid=True)
    colours = size_colours(sizes)
    ramp = alt.Scale(domain=list(colours), range=list(colours.values()))
    base = alt.Chart(inline(data)).encode(
        color=alt.Color("size:N", title="Programs", sort=None, scale=ramp,
                        legend=alt.Legend(symbolType="circle", symbolOpacity=1)),
        tooltip=[alt.Tooltip("program:N"), alt.Tooltip("group:N"), alt.Tooltip("clock:N"),
                 alt.Tooltip("shown_x:N", title="measured (%)"), alt.Tooltip("shown_y:N", title="sum of pairs (%)")],
    )  # fmt: skip
    x = alt.X("x:Q", title="slowdown measured (%)", scale=scale, axis=axis)
    y = alt.Y("y:Q", title="sum of slowdowns in pairs (%)", scale=scale, axis=axis)
    line = alt.Chart(inline([{"x": low, "y": low}, {"x": high, "y": high}])).mark_line(
        color=theme.MUTED, strokeDash=[4, 3], strokeWidth=1.2
    )
    whiskers = base.mark_rule(strokeWidth=0.8, opacity=0.4)
    layers = [
        line.encode(x=x, y=y),
        whiskers.encode(x=alt.X("x1:Q"), x2=alt.X2("x2:Q"), y=alt.Y("y:Q")),
        whiskers.encode(x=alt.X("x:Q"), y=alt.Y("y1:Q"), y2=alt.Y2("y2:Q")),
        base.mark_point(filled=True, size=36, opacity=1).encode(x=x, y=y),
    ]
    return layer(*layers, width=_SQUARE_PX, height=_SQUARE_PX)


def _scatter_row(row: Mapping[str, Any]) -> dict[str, Any]:
    spans = dict[str, float]()
    for axis, name in (("x", "measured"), ("y", "predicted")):
        value, half = 100 * row[name], 100 * (row[f"{name}_ci"] or 0.0)
        spans |= {axis: value, f"{axis}1": value - half, f"{axis}2": value + half}
    tip = {
        f"shown_{axis}": percent_pm(row[name], row[f"{name}_ci"])
        for axis, name in (("x", "measured"), ("y", "predicted"))
    }
    kept = {name: row[name] for name in ("program", "group", "clock")}
    return {**kept, **spans, **tip, "size": size_name(row["size"])}
