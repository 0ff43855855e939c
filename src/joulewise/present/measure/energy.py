"""Energy of running together against alone, and what a machine draws whatever runs and for each program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from joulewise.present import theme
from joulewise.present.formats import energy_unit, number
from joulewise.present.layout import AXIS_FORMAT, Drawing, assemble, inline
from joulewise.present.measure.view import (
    axis_end,
    clock_phrase,
    in_one_way,
    meter_phrase,
    percents,
    pm,
    programs_of,
    shown_clock,
    whiskers_phrase,
)
from joulewise.present.parts import layer

if TYPE_CHECKING:
    from joulewise.measure.analysis.analysis import Analysis

_MOST_GROUPS = 24
_ROW_PX, _WIDTH_PX = 26, 420
_LABEL_PX = 300
_APART, _TOGETHER = "one after the other", "together"
_STATIC, _DYNAMIC, _SHORT = "static", "dynamic", "short of static"
_COLOURS = {_DYNAMIC: theme.PALETTE[0], _STATIC: theme.NOTHING, _SHORT: theme.PALETTE[1]}
_ACROSS = 4
_BAR_PX, _LETTER_PX, _HEIGHT_PX = 30, 8, 150


def energy_together(analysis: Analysis) -> Drawing:
    """For each group the energy of its programs one after the other, and together."""
    measured = analysis.together.drop_nulls(["alone_j", "together_j"])
    clock = shown_clock(measured)
    rows = in_one_way(measured.filter(clock=clock), ("once", "restart")).sort(
        "size", "saved_share", descending=[False, True]
    )
    shown = rows.head(_MOST_GROUPS)
    together_j = shown["together_j"]
    end_j, edge = axis_end([*shown["alone_j"], *together_j], together_j, shown["together_ci_j"])
    whiskers = f"{whiskers_phrase(shown, {'together_j': 'together_ci_j'})}{edge}"
    more = f" The first {_MOST_GROUPS} of {rows.height} groups are shown." if rows.height > _MOST_GROUPS else ""
    widths = ", with half of the 95 % interval of both energies" if rows["saved_ci"].is_not_null().any() else ""
    caption = (
        f"Energy{meter_phrase(analysis)}{clock_phrase(clock)} until each program of a group has run once: one after "
        f"the other, alone, and all of them together. Numbers are the share that is saved{widths}; below 0, running "
        f"together costs more.{whiskers}{more}"
    )
    return Drawing(assemble([_dumbbells(shown, end_j)]), caption)


def has_energies(analysis: Analysis) -> bool:
    """Whether the energy of a group is known, together and alone."""
    return not analysis.together.drop_nulls(["alone_j", "together_j"]).is_empty()


def _dumbbells(rows: pl.DataFrame, end_j: float) -> Any:
    import altair as alt

    unit, size = energy_unit(end_j)
    data = [_dumbbell(row, size, end_j / size) for row in rows.iter_rows(named=True)]
    points = [
        {**row, "x": row[name], "what": what}
        for row in data
        for name, what in (("alone", _APART), ("together", _TOGETHER))
    ]
    order = [row["group"] for row in data]
    y = alt.Y("group:N", sort=order, title=None, axis=alt.Axis(labelLimit=_LABEL_PX, grid=False))
    scale = alt.Scale(domain=[0, end_j / size], nice=False)
    axis = alt.Axis(format=AXIS_FORMAT, tickCount=6, grid=True, labelFlush=False)
    x = alt.X("x:Q", title=f"energy ({unit})", scale=scale, axis=axis)
    colours = alt.Scale(domain=[_APART, _TOGETHER], range=[theme.MUTED, theme.PALETTE[0]])
    said = {
        "group": "programs",
        "shown_alone": f"{_APART} ({unit})",
        "shown": f"{_TOGETHER} ({unit})",
        "saved": "saved",
    }
    tips = [alt.Tooltip(f"{name}:N", title=title) for name, title in said.items()]
    base = alt.Chart(inline(data)).encode(y=y, tooltip=tips)
    dots = alt.Chart(inline(points)).encode(y=y, tooltip=tips)
    label = base.encode(x=alt.X("right:Q"), text=alt.Text("saved:N"))
    words: dict[str, Any] = {"align": "left", "dx": 10, "fontSize": theme.LABEL_PX - 1}
    layers = [
        base.mark_rule(color=theme.GRID, strokeWidth=4).encode(x=alt.X("alone:Q"), x2=alt.X2("together:Q")),
        base.mark_rule(color=theme.PALETTE[0], strokeWidth=1.4, clip=True).encode(
            x=alt.X("low:Q"), x2=alt.X2("high:Q")
        ),
        dots.mark_point(filled=True, size=60, opacity=1).encode(
            x=x, color=alt.Color("what:N", title="Energy of running", sort=None, scale=colours)
        ),
        label.mark_text(**words, stroke="white", strokeWidth=4),  # keeps the grid away from the words
        label.mark_text(**words, color=theme.INK),
    ]
    return layer(*layers, width=_WIDTH_PX, height=_ROW_PX * len(data))


def _dumbbell(row: Mapping[str, Any], size: float, end: float) -> dict[str, Any]:
    alone, together, half = row["alone_j"] / size, row["together_j"] / size, (row["together_ci_j"] or 0.0) / size
    return {
        "group": row["group"], "alone": alone, "together": together, "low": together - half, "high": together + half,
        "right": max(alone, min(together + half, end)), "saved": percents(row["saved_share"], row["saved_ci"]),
        "shown": pm(row["together_j"], row["together_ci_j"], size), "shown_alone": number(alone),
    }  # fmt: skip


def power_split(analysis: Analysis) -> Drawing:
    """A panel for each program: static and dynamic power at each clock."""
    rows = analysis.powers.drop_nulls(["static_w", "dynamic_w"])
    programs = [name for name in programs_of(analysis) if name in set(rows["program"])]
    totals_w = rows["static_w"] + rows["dynamic_w"]
    end_w, edge = axis_end([1.0, *rows["static_w"], *totals_w], totals_w, rows["dynamic_ci_w"])
    colours = {name: colour for name, colour in _COLOURS.items() if name != _SHORT or (rows["dynamic_w"] < 0).any()}
    parts = [_stack(rows.filter(pl.col("program") == name), name, end_w, colours) for name in programs]
    bases = set(rows["basis"].drop_nulls())
    how = {frozenset({"idle"}): "read with nothing running", frozenset({"groups"}): "as it follows from groups"}
    static = how.get(frozenset(bases), "read with nothing running, or as it follows from groups")
    clocks = rows["clock"].unique()
    at = " at each clock" if clocks.len() > 1 else clock_phrase(str(clocks[0]))
    interval = ", with its 95 % interval" if rows["dynamic_ci_w"].is_not_null().any() else ""
    short = " Short of static: less than static power was read with the program." if _SHORT in colours else ""
    caption = (
        f"Mean power{meter_phrase(analysis)} with one program alone{at}: static power, {static}, and what the program "
        f"adds{interval}.{edge}{short}"
    )
    return Drawing(assemble(parts, across=min(_ACROSS, len(parts))), caption)


def has_powers(analysis: Analysis) -> bool:
    """Whether power is known in both of its parts."""
    return not analysis.powers.drop_nulls(["static_w", "dynamic_w"]).is_empty()


def _stack(rows: pl.DataFrame, title: str, end_w: float, colours: Mapping[str, str]) -> Any:
    import altair as alt

    ordered = rows.sort("clock_mhz", "clock", nulls_last=True)
    data = [part for row in ordered.iter_rows(named=True) for part in _parts(row)]
    labels: Sequence[str] = list(dict.fromkeys(part["clock"] for part in data))
    shades = alt.Scale(domain=list(colours), range=list(colours.values()))
    x_title = "clock (GHz)" if ordered["clock_mhz"].is_not_null().all() else None
    base = alt.Chart(inline(data)).encode(
        x=alt.X("clock:N", sort=labels, title=x_title, axis=alt.Axis(labelAngle=0, ticks=False)),
        tooltip=[alt.Tooltip("what:N", title="power"), alt.Tooltip("shown:N", title="W")],
    )
    scale = alt.Scale(domain=[0, end_w], nice=False)
    y = alt.Y("low:Q", title="power (W)", scale=scale, axis=alt.Axis(format=AXIS_FORMAT, tickCount=5))
    layers = [
        base.mark_bar(width=0.7 * _BAR_PX).encode(
            y=y, y2=alt.Y2("high:Q"), color=alt.Color("what:N", title="Power", sort=None, scale=shades)
        ),
        base.mark_rule(color=theme.INK, strokeWidth=1.2, clip=True).encode(y=alt.Y("least:Q"), y2=alt.Y2("most:Q")),
    ]
    step_px = max([_BAR_PX, *(_LETTER_PX * len(label) for label in labels)])
    return layer(*layers, width=max(step_px * len(labels), 90), height=_HEIGHT_PX, title=title)


def _parts(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The two pieces of a bar, from below."""
    label = row["clock"] if row["clock_mhz"] is None else f"{row['clock_mhz'] / 1000:.3g}"
    static_w, top_w, half = row["static_w"], row["static_w"] + row["dynamic_w"], row["dynamic_ci_w"]
    low, high = (None, None) if half is None else (top_w - half, top_w + half)
    dynamic = pm(row["dynamic_w"], half)
    ends = sorted((static_w, top_w))
    what = _DYNAMIC if top_w >= static_w else _SHORT
    below = {"clock": label, "what": _STATIC, "low": 0.0, "high": ends[0], "shown": pm(static_w, row["static_ci_w"])}
    above = {"clock": label, "what": what, "low": ends[0], "high": ends[1], "shown": dynamic}
    return [{**below, "least": None, "most": None}, {**above, "least": low, "most": high}]
