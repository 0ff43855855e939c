"""Maps of a room: how warm the air is that its nodes take in, and what they draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from joulewise.present import theme
from joulewise.present.facility.floor import Cells, RoomView, cells_of, rooms_of
from joulewise.present.formats import fixed, number, plain, power_unit
from joulewise.present.layout import AXIS_FORMAT, Drawing, assemble, inline, pixels
from joulewise.present.parts import hconcat, layer, vconcat
from joulewise.present.records import Records

_ACROSS_PX, _LEVEL_PX, _DEPTH_PX = (9.0, 34.0), (4.0, 12.0), (14.0, 40.0)
_WIDTHS_PX, _HEIGHT_PX, _SIDE_PX = (480, 330), 260, (140, 130)  # of one room, of several
_UNIT_PX, _STRIP_PX = 48, 26
_STOPS, _LEGEND_PX = 9, 280
_CHARACTER_PX, _TICK_PX = 6.5, 14  # of the name at the end of the colours, and of the numbers beside it
_LEAST_K, _LEAST_PART = 1.0, 0.05  # colours span no less, that rounding is not drawn
_MARK = theme.PALETTE[4]
_TIPS = {"what": "node", "type": "node type", "shown_c": "inlet", "shown_redline": "redline", "shown_w": "power"}


@dataclass(frozen=True)
class _Colours:
    """The colours of a map: their title, and their ramp over the domain, in a unit of this size, with named ticks."""

    title: str
    ramp: Callable[[int], list[str]]
    size: float
    domain: tuple[float, float]
    ticks: Mapping[float, str]

    def colour(self, *, has_legend: bool = True) -> Any:
        """The colour channel, with the same scale in every part of a figure."""
        import altair as alt

        named = "".join(f"abs(datum.value - {value!r}) < 1e-6 ? {name!r} : " for value, name in self.ticks.items())
        legend = alt.Legend(
            title=self.title, type="gradient", gradientLength=_LEGEND_PX, titleLimit=400, values=list(self.ticks),
            labelExpr=f"{named}''", labelOverlap=False,
        )  # fmt: skip
        scale = alt.Scale(domain=np.linspace(*self.domain, _STOPS).tolist(), range=self.ramp(_STOPS))
        return alt.Color("value:Q", scale=scale, legend=legend if has_legend else None)


@dataclass(frozen=True)
class _RoomMap:
    """A room with its rectangles, and the size of the map in pixels."""

    room: RoomView
    cells: Cells
    width_px: float
    height_px: float


def _frame(room: RoomView, column: str, of_rack: Callable[[pl.Expr], pl.Expr], width_px: float) -> _RoomMap:
    cells = cells_of(room, column, of_rack, int(width_px / _ACROSS_PX[1]))
    up_px = _LEVEL_PX if room.is_standing else _DEPTH_PX
    sizes = [
        n * min(max(px / n, least), most)
        for n, px, (least, most) in ((cells.n_across, width_px, _ACROSS_PX), (cells.n_up, _HEIGHT_PX, up_px))
    ]
    return _RoomMap(room, cells, *sizes)


def _frames(rooms: Sequence[RoomView], column: str, of_rack: Callable[[pl.Expr], pl.Expr]) -> list[_RoomMap]:
    return [_frame(room, column, of_rack, _WIDTHS_PX[len(rooms) > 1]) for room in rooms]


def map_of_temperatures(records: Records) -> Drawing:
    """The temperature at the inlet of every node, or the highest of each rack, and what CRAC units blow."""
    rooms, note = rooms_of(records)
    frames = _frames(rooms, "inlet_c", pl.Expr.max)
    nodes = pl.concat([room.nodes for room in rooms])
    supplies = [value for room in rooms if room.cracs.height for value in room.cracs["supply_c"]]
    redlines = nodes["redline_c"].unique().sort().to_list()
    values = [*nodes["inlet_c"], *supplies, *redlines]
    domain = _span(values, _LEAST_K)
    shown = _Colours("Air temperature (°C)", theme.warmth, 1.0, domain, _ticks(domain, _named(redlines)))
    parts = [_room_part(frame.room.title, _warm_parts(frame, shown), _supplies(frame.room, shown)) for frame in frames]
    what = "each node takes in" if rooms[0].is_standing else "the node with the warmest inlet of each rack takes in"
    is_near = any(frame.cells.rows["near"].any() for frame in frames)
    near = " Blue dots mark air as warm as the redline allows." if is_near else ""
    right = " The right panel has its range and mean by height, with the redline." if rooms[0].is_placed else ""
    below = "" if rooms[0].cracs.is_empty() else " Below is the supply temperature of each CRAC unit."
    caption = f"Temperature of the air that {what}{_view(rooms[0])}.{near}{right}{below}{note}"
    return Drawing(assemble(parts, across=2), caption)


def _warm_parts(frame: _RoomMap, shown: _Colours) -> list[Any]:
    cells = _map(frame, shown, *_redline_dots(frame.cells))
    return [cells, _by_height(frame, shown)] if frame.room.is_placed else [cells]


def map_of_powers(records: Records) -> Drawing:
    """The power of every node, or of each rack, and of the CRAC units."""
    rooms, note = rooms_of(records)
    frames = _frames(rooms, "power_w", pl.Expr.sum)
    values = [value for frame in frames for value in frame.cells.rows["value"]]
    unit, size = power_unit(max(values))
    domain = _span([value / size for value in values], _LEAST_PART * max(values) / size or 1.0)
    what = "node" if rooms[0].is_standing else "rack"
    shown = _Colours(f"Power of a {what} ({unit})", theme.ordered, size, domain, _ticks(domain))
    parts = [_room_part(frame.room.title, [_map(frame, shown)], _crac_powers(frame)) for frame in frames]
    below = "" if rooms[0].cracs.is_empty() else "; below, that of each CRAC unit"
    caption = f"Power of each {what}{_view(rooms[0])}{below}.{note}"
    return Drawing(assemble(parts, across=2), caption)


def _span(values: Sequence[float], least: float) -> tuple[float, float]:
    """From the least to the highest value; where they are nearer than that, this much that ends at the highest."""
    low, high = min(values), max(values)
    return min(low, high - least), high


def _named(redlines: Sequence[float]) -> tuple[float, str]:
    """The highest redline and its name."""
    return redlines[-1], f"{plain(redlines[-1])} {'redline' if len(redlines) == 1 else 'hottest redline'}"


def _view(room: RoomView) -> str:
    if not room.is_placed:
        return ""
    return ", the racks of each row seen from the front" if room.is_standing else ", the racks seen from above"


def _ticks(domain: tuple[float, float], *named: tuple[float, str]) -> dict[float, str]:
    """Round values along the colours, less those that names would cover, and what has a name."""
    low, high = domain
    step = _round_step((high - low) / 5)
    per_px = (high - low) / _LEGEND_PX
    covered = [(at, per_px * (_CHARACTER_PX * len(name) + _TICK_PX)) for at, name in named]
    rounds = [step * i for i in range(int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9)) + 1)]
    kept = [value for value in rounds if all(abs(value - at) > room for at, room in covered)]
    return {**{value: plain(round(value, 9)) for value in kept}, **dict(named)}


def _round_step(least: float) -> float:
    """The least of 1, 2 and 5 times a power of ten that is not below."""
    power = 10.0 ** np.floor(np.log10(max(least, 1e-9)))
    return float(next(power * part for part in (1, 2, 5, 10) if power * part >= least * (1 - 1e-9)))


# --- parts of a room ------------------------------------------------------------------------------------


def _room_part(title: str, beside: Sequence[Any], below: Sequence[Any]) -> Any:

    above = hconcat(*beside, spacing=24) if len(beside) > 1 else beside[0]
    return vconcat(above, *below, spacing=14, title=title)


def _map(frame: _RoomMap, shown: _Colours, *more: Any) -> Any:
    """The rectangles of a room with the names of their rows; in metres where they are seen from above."""
    import altair as alt

    room, rows = frame.room, frame.cells.rows
    looks: dict[str, Any] = {"grid": False, "format": AXIS_FORMAT, "tickCount": 4, "labelOverlap": True}
    has_metres = room.is_placed and not room.is_standing
    ends = [[float(rows[name].min()), float(rows[f"{name}2"].max())] for name in "xy"]  # type: ignore[arg-type]
    x, y = (
        channel(f"{name}:Q", scale=alt.Scale(domain=span, nice=False, zero=False),
                axis=alt.Axis(title=title, **looks) if has_metres else None)
        for channel, name, span, title in zip(
            (alt.X, alt.Y), "xy", ends, ("along the row (m)", "across the rows (m)"), strict=True
        )
    )  # fmt: skip
    cells = alt.Chart(inline([_cell_row(row, shown) for row in rows.iter_rows(named=True)])).mark_rect(
        stroke="white", strokeWidth=0.8
    )
    tips = [alt.Tooltip(f"{name}:N", title=said) for name, said in _TIPS.items()]
    layers = [cells.encode(x=x, x2=alt.X2("x2:Q"), y=y, y2=alt.Y2("y2:Q"), color=shown.colour(), tooltip=tips)]
    return layer(*layers, *_row_names(frame.cells), *more, width=frame.width_px, height=frame.height_px)


def _row_names(cells: Cells) -> list[Any]:
    import altair as alt

    if not cells.names:
        return []
    rows = [dict(zip(("x", "y", "name"), place, strict=True)) for place in cells.names]
    text = alt.Chart(inline(rows)).mark_text(
        align="left", baseline="bottom", dy=-3, fontSize=theme.LABEL_PX, fontWeight=600, color=theme.MUTED
    )
    return [text.encode(x=alt.X("x:Q"), y=alt.Y("y:Q"), text=alt.Text("name:N"))]


def _redline_dots(cells: Cells) -> list[Any]:
    """A dot on what is at its redline."""
    import altair as alt

    middles = cells.rows.filter("near").select(x=(pl.col("x") + pl.col("x2")) / 2, y=(pl.col("y") + pl.col("y2")) / 2)
    if middles.is_empty():
        return []
    dots = alt.Chart(inline(list(middles.iter_rows(named=True))))
    return [dots.mark_point(filled=True, opacity=1, color=_MARK, size=14).encode(x=alt.X("x:Q"), y=alt.Y("y:Q"))]


def _cell_row(row: Mapping[str, Any], shown: _Colours) -> dict[str, Any]:
    sides = {name: row[name] for name in ("x", "x2", "y", "y2")}
    name = row["name"] if row["n"] == 1 else f"{row['name']} and {plain(row['n'] - 1)} more"
    return {
        **sides, "value": row["value"] / shown.size, "what": name, "type": row["type"],
        "shown_c": f"{fixed(row['inlet_c'], 2)} °C", "shown_redline": f"{fixed(row['redline_c'], 1)} °C",
        "shown_w": f"{number(row['power_w'])} W",
    }  # fmt: skip


def _by_height(frame: _RoomMap, shown: _Colours) -> Any:
    """Least, mean and highest inlet temperature at each height, and the redlines; as high as the map."""
    import altair as alt

    room, domain = frame.room, shown.domain
    inlet = pl.col("inlet_c")
    heights = room.nodes.group_by("height_m").agg(low=inlet.min(), mean=inlet.mean(), high=inlet.max()).sort("height_m")
    room_c = 0.06 * (domain[1] - domain[0]) or 1.0
    scale = alt.Scale(domain=[domain[0] - room_c, domain[1] + room_c], nice=False, zero=False)
    x = alt.X("low:Q", title="inlet (°C)", scale=scale, axis=alt.Axis(format=AXIS_FORMAT, tickCount=4, grid=True))
    y = alt.Y(
        "height_m:Q", title="height (m)", scale=alt.Scale(zero=True), axis=alt.Axis(format=AXIS_FORMAT, tickCount=4)
    )
    base = alt.Chart(inline(list(heights.iter_rows(named=True)))).encode(y=y)
    redlines = [{"at": at} for at in room.nodes["redline_c"].unique().sort()]
    lines = (
        alt.Chart(inline(redlines)).mark_rule(color=_MARK, strokeWidth=1.5, strokeDash=[4, 3]).encode(x=alt.X("at:Q"))
    )
    name = alt.Chart(inline(redlines[-1:])).mark_text(
        align="right", baseline="bottom", dy=-3, color=theme.INK, fontSize=theme.LABEL_PX - 1
    )
    layers = [
        base.mark_rule(color=theme.MUTED, strokeWidth=1.5).encode(x=x, x2=alt.X2("high:Q")),
        base.mark_point(filled=True, size=22, color=theme.INK, opacity=1).encode(x=alt.X("mean:Q")),
        lines,
        name.encode(x=alt.X("at:Q"), y=pixels(0), text=alt.TextValue("redline")),
    ]
    return layer(*layers, width=_SIDE_PX[0], height=max(_SIDE_PX[1], frame.height_px))


def _supplies(room: RoomView, shown: _Colours) -> list[Any]:
    """The CRAC units as squares in the colour of what they blow, with its temperature where there are few."""
    import altair as alt

    if room.cracs.is_empty():
        return []
    n = room.cracs.height
    is_named = n * _UNIT_PX <= _WIDTHS_PX[0] + _SIDE_PX[0]
    rows = [
        {"crac": row["name"], "value": row["supply_c"], "shown": f"{fixed(row['supply_c'], 1)}"}
        for row in room.cracs.iter_rows(named=True)
    ]
    axis = alt.Axis(labelAngle=0, ticks=False, domain=False, labelOverlap=True, titleAnchor="start", titlePadding=4)
    said = "with its supply temperature (°C)" if is_named else "coloured by its supply temperature"
    tips = [alt.Tooltip("crac:N", title="CRAC unit"), alt.Tooltip("shown:N", title="supply (°C)")]
    x = alt.X("crac:N", sort=None, title=f"CRAC unit, {said}", axis=axis)
    base = alt.Chart(inline(rows)).encode(x=x, tooltip=tips)
    boxes = base.mark_rect(stroke="white", strokeWidth=1).encode(color=shown.colour(has_legend=False))
    dark = shown.domain[0] + 0.5 * (shown.domain[1] - shown.domain[0])
    ink = alt.condition(f"datum.value > {dark}", alt.value("white"), alt.value(theme.INK))
    words = (
        [base.mark_text(fontSize=theme.LABEL_PX - 1).encode(text=alt.Text("shown:N"), color=ink)] if is_named else []
    )
    unit_px = _UNIT_PX if is_named else (_WIDTHS_PX[0] + _SIDE_PX[0]) / n
    return [layer(boxes, *words, width=unit_px * n, height=_STRIP_PX)]


def _crac_powers(frame: _RoomMap) -> list[Any]:
    """The power of each CRAC unit as bars."""
    import altair as alt

    room = frame.room
    if room.cracs.is_empty():
        return []
    unit, size = power_unit(float(room.cracs["power_w"].max()))  # type: ignore[arg-type]
    rows = [{"crac": row["name"], "y": row["power_w"] / size} for row in room.cracs.iter_rows(named=True)]
    bars = alt.Chart(inline(rows)).mark_bar(color=theme.MUTED).encode(
        x=alt.X("crac:N", sort=None, title="CRAC unit", axis=alt.Axis(labelAngle=0, ticks=False, labelOverlap=True)),
        y=alt.Y("y:Q", title=f"power ({unit})", axis=alt.Axis(format=AXIS_FORMAT, tickCount=3)),
        tooltip=[alt.Tooltip("crac:N", title="CRAC unit"), alt.Tooltip("y:Q", title=f"power ({unit})", format=",.4~r")],
    )  # fmt: skip
    return [bars.properties(width=min(max(frame.width_px, _WIDTHS_PX[1]), _UNIT_PX * len(rows)), height=70)]
