"""What programs are like: how often they miss the cache, what they suffer and cause, and how they follow the clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from joulewise.measure.analysis.intensity import class_order
from joulewise.present import theme
from joulewise.present.layout import AXIS_FORMAT, Drawing, assemble, inline
from joulewise.present.measure.view import misses_pm, percent_pm, pm, programs_of, whiskers_phrase
from joulewise.present.parts import layer

if TYPE_CHECKING:
    from joulewise.measure.analysis.analysis import Analysis

_ROW_PX, _WIDTH_PX = 30, 250
_PER_INSTRUCTION = 1e-3
_SUFFERS, _CAUSES = "suffers", "causes"


def programs_compared(analysis: Analysis) -> Drawing:
    """Rows of programs: intensity or mean slowdowns, and the share of their time that follows the clock."""
    order = programs_of(analysis)
    has_misses = analysis.programs["intensity"].is_not_null().any()
    parts = [_intensities(analysis.programs, order) if has_misses else _feelings(analysis.programs, order)]
    first = (
        "last-level cache misses per 1,000 instructions, alone, coloured by class"
        if has_misses
        else "the mean slowdown that a program suffers and causes in pairs (cache misses were not counted)"
    )
    has_shares = not analysis.scaling.drop_nulls("share_scaled").is_empty()
    if has_shares:
        parts.append(_shares(analysis.scaling, order))
    second = (
        "; at the right, the share of its time at the highest clock that grows as the clock falls" if has_shares else ""
    )
    drawn = {"intensity": "intensity_ci"} if has_misses else {}
    drawn |= {"share_scaled": "share_ci"} if has_shares else {}
    rows = pl.concat([analysis.programs, analysis.scaling], how="diagonal")
    whiskers = whiskers_phrase(rows, drawn) if drawn else ""
    return Drawing(assemble(parts, across=2), f"Programs compared: {first}{second}.{whiskers}")


def has_programs(analysis: Analysis) -> bool:
    """Whether something is known by which programs differ."""
    rows = analysis.programs
    return any(rows[name].is_not_null().any() for name in ("intensity", "sensitivity", "pressure"))


def _intensities(programs: pl.DataFrame, order: Sequence[str]) -> Any:
    import altair as alt

    rows = [
        {**_ends(row["intensity"], row["intensity_ci"], _PER_INSTRUCTION), "program": row["program"],
         "class": row["class"], "shown": misses_pm(row["intensity"], row["intensity_ci"])}
        for row in programs.drop_nulls(["intensity", "class"]).iter_rows(named=True)
    ]  # fmt: skip
    least = min([row["x"] for row in rows if row["x"] > 0], default=1e-6)
    for row in rows:
        row["low"] = None if row["low"] is None else max(row["low"], least / 3)  # a log axis has no 0
    classes = sorted({row["class"] for row in rows}, key=class_order, reverse=True)
    scale = alt.Scale(domain=classes, range=theme.ordered(len(classes))[::-1])
    base = alt.Chart(inline(rows)).encode(
        y=_rows_axis(order),
        color=alt.Color("class:N", title="Class", sort=None, scale=scale, legend=alt.Legend(symbolType="circle")),
        tooltip=[
            alt.Tooltip("program:N"),
            alt.Tooltip("class:N"),
            alt.Tooltip("shown:N", title="misses per 1,000 instructions"),
        ],
    )
    axis = alt.Axis(grid=True, tickCount=5, format="~g", labelFlush=False)
    x = alt.X("x:Q", title="misses per 1,000 instructions", scale=alt.Scale(type="log"), axis=axis)
    return _dots(base, x, len(order), has_whiskers=any(row["low"] is not None for row in rows))


def _feelings(programs: pl.DataFrame, order: Sequence[str]) -> Any:
    import altair as alt

    rows = [
        {
            "program": row["program"],
            "x": 100 * row[name],
            "what": what,
            "shown": percent_pm(row[name], None),
        }
        for row in programs.iter_rows(named=True)
        for name, what in (("sensitivity", _SUFFERS), ("pressure", _CAUSES))
        if row[name] is not None
    ]
    colours = alt.Scale(domain=[_SUFFERS, _CAUSES], range=[theme.PALETTE[0], theme.PALETTE[1]])
    base = alt.Chart(inline(rows)).encode(
        y=_rows_axis(order),
        yOffset=alt.YOffset("what:N", sort=[_SUFFERS, _CAUSES], scale=alt.Scale(paddingOuter=0.6)),
        color=alt.Color("what:N", title="Slowdown that it", sort=None, scale=colours),
        tooltip=[alt.Tooltip("program:N"), alt.Tooltip("what:N", title=" "), alt.Tooltip("shown:N", title="%")],
    )
    x = alt.X(
        "x:Q",
        title="mean slowdown in pairs (%)",
        axis=alt.Axis(grid=True, tickCount=5, format=AXIS_FORMAT, labelFlush=False),
    )
    return _dots(base, x, len(order), has_whiskers=False)


def _shares(scaling: pl.DataFrame, order: Sequence[str]) -> Any:
    import altair as alt

    rows = [
        {**_ends(row["share_scaled"], row["share_ci"], 0.01), "program": row["program"],
         "shown": percent_pm(row["share_scaled"], row["share_ci"]), "time": pm(row["fixed_s"] + row["scaled_s"], None)}
        for row in scaling.drop_nulls("share_scaled").iter_rows(named=True)
    ]  # fmt: skip
    base = alt.Chart(inline(rows)).encode(
        y=_rows_axis(order, has_names=False),
        color=alt.ColorValue(theme.INK),
        tooltip=[
            alt.Tooltip("program:N"),
            alt.Tooltip("shown:N", title="of its time (%)"),
            alt.Tooltip("time:N", title="time at the highest clock (s)"),
        ],
    )
    ends = [value for row in rows for value in (row["low"], row["high"]) if value is not None]
    scale = alt.Scale(domain=[min(0.0, *ends), max(100.0, *ends)] if ends else [0, 100])
    x = alt.X(
        "x:Q",
        title="time that follows the clock (%)",
        scale=scale,
        axis=alt.Axis(grid=True, tickCount=5, format=AXIS_FORMAT, labelFlush=False),
    )
    return _dots(base, x, len(order), has_whiskers=bool(ends))


def _rows_axis(order: Sequence[str], *, has_names: bool = True) -> Any:
    import altair as alt

    axis = alt.Axis(labelLimit=200, grid=False) if has_names else alt.Axis(labels=False, grid=False)
    return alt.Y("program:N", sort=list(order), title=None, scale=alt.Scale(domain=list(order)), axis=axis)


def _ends(value: float, half: float | None, size: float) -> dict[str, Any]:
    if half is None:
        return {"x": value / size, "low": None, "high": None}
    return {"x": value / size, "low": (value - half) / size, "high": (value + half) / size}


def _dots(base: Any, x: Any, n: int, *, has_whiskers: bool) -> Any:
    import altair as alt

    whiskers = [base.mark_rule(strokeWidth=1.4).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"))] if has_whiskers else []
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(x=x)
    return layer(*whiskers, dots, width=_WIDTH_PX, height=_ROW_PX * n)
