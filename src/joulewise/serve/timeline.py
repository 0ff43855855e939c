"""Figures of a window of time: curves with their limits, heights by the bin, and grids of cells; each can be zoomed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from joulewise.model.arrays import Floats
from joulewise.present import theme
from joulewise.present.layout import AXIS_FORMAT, assemble, inline
from joulewise.present.lines import LIMIT_LOOK
from joulewise.present.parts import Part, layer
from joulewise.serve.answer import Plot
from joulewise.serve.day import Bins

FROM, TO = "from", "to"
"""The keys of a query that say which window is seen, in hours of simulated time."""
HOUR_S = 3600.0
WIDTH_PX = 700
"""Of what lies between the axes of a figure, so that hours lie below each other."""
_HEIGHT_PX, _ROW_PX, _GRID_PX = 200, 9, (60, 300)  # of a figure; of a row of a grid, which has a height between these
_FAR = 1.6  # a limit so many times as high as the curve would press it flat, and is left out of a part of a day
_ROOM = 1.1
_LEFT_PX = 48  # for the numbers beside an axis
_LAP = 1.05  # so much of its length a cell is drawn, which closes the seams between cells
_SPAN = {"name": "span", "select": {"type": "interval", "encodings": ["x"]}}
_HINT = " Draw a span along it to look closer."


@dataclass(frozen=True)
class Figure:
    """What a figure is called on a page, and what is said below it."""

    name: str
    title: str
    caption: str


@dataclass(frozen=True)
class Quantity:
    """What a curve shows: its name, the unit, the size of that unit, its colour, and what is above it, by name."""

    name: str
    unit: str
    size: float
    colour: str
    limits: Mapping[str, Floats | float]

    @property
    def title(self) -> str:
        """The name with the unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


def zoomable(figure: Figure, chart: Part) -> Plot:
    """A chart with hours along `x` as a figure in which a span can be drawn."""
    spec = assemble([chart])
    config = spec["config"]
    spec["config"] = {**config, "axisY": {**config["axisY"], "minExtent": _LEFT_PX}}
    inner = spec.get("layer") or [spec]
    if "vconcat" in spec:
        named = [{**part, "name": f"band_{i}"} for i, part in enumerate(spec["vconcat"])]
        views = [part["name"] for part in named]
        spec = {**spec, "vconcat": named, "params": [{**_SPAN, "views": views}]}
    else:
        inner[0]["params"] = [_SPAN]
    return Plot(figure.name, figure.title, figure.caption + _HINT, spec, field="x", zooms=(FROM, TO))


def curve(figure: Figure, bins: Bins, values: Floats, quantity: Quantity, *, is_whole: bool) -> Plot:
    """What adds up over time, at the edges of bins, with its limits; of a part of the day only those that are near."""
    low = 0.0 if is_whole else float(values.min()) / quantity.size
    high = float(values.max()) / quantity.size
    limits = {
        name: np.broadcast_to(np.asarray(limit, float), values.shape) / quantity.size
        for name, limit in quantity.limits.items()
    }
    shown = {name: limit for name, limit in limits.items() if is_whole or limit.max() <= _FAR * high}
    top = max([high, *(float(limit.max()) for limit in shown.values())])
    y = {
        "type": "quantitative", "title": quantity.title, "axis": {"format": AXIS_FORMAT, "tickCount": 5},
        "scale": {"domain": [low, low + _ROOM * ((top - low) or 1.0)], "nice": False, "zero": False},
    }  # fmt: skip
    rows = inline([{"b": i, "y": _rounded(value / quantity.size, 7)} for i, value in enumerate(values.tolist())])
    limited = [part for name, limit in shown.items() for part in _limit(name, limit, bins, y)]
    return zoomable(figure, layer(*_line(rows, bins, y, quantity), *limited, width=WIDTH_PX, height=_HEIGHT_PX))


def _line(rows: pl.DataFrame, bins: Bins, y: Part, quantity: Quantity) -> list[Part]:
    """A line, its name at its end, and what can be pointed at all over the figure."""
    x, to_end = _time(bins), [*_hours(bins), {"filter": f"datum.b == {bins.n}"}]
    tips = [_TIME_TIP, {"field": "y", "type": "quantitative", "title": quantity.title, "format": ",.6~r"}]
    line = {"type": "line", "strokeWidth": 1.8, "color": quantity.colour}
    name = {"type": "text", "text": quantity.name, "align": "left", "dx": 6, "color": theme.INK}
    pointed = {"type": "rect", "opacity": 0, "clip": True}
    return [
        {"data": rows, "transform": _hours(bins), "mark": pointed,
         "encoding": {"x": x, "x2": {"field": "x2"}, "tooltip": tips}},
        {"data": rows, "transform": _hours(bins), "mark": line, "encoding": {"x": x, "y": {"field": "y", **y}}},
        {"data": rows, "transform": to_end, "mark": name, "encoding": {"x": x, "y": {"field": "y", **y}}},
    ]  # fmt: skip


def _limit(name: str, limit: Floats, bins: Bins, y: Part) -> list[Part]:
    """What a line cannot pass, in steps, with its name above where it begins."""
    is_corner = np.concatenate(([True], np.diff(limit) != 0, [True]))
    corners = np.flatnonzero(is_corner[:-1] | is_corner[1:])
    rows = inline([{"b": i, "y": _rounded(float(limit[i]), 7)} for i in corners.tolist()])
    colour, dash = LIMIT_LOOK
    line = {"type": "line", "interpolate": "step-before", "strokeWidth": 1.5, "color": colour, "strokeDash": dash}
    text = {"type": "text", "text": name, "align": "left", "baseline": "bottom", "dx": 4, "dy": -3, "color": colour}
    at = {"x": _time(bins), "y": {"field": "y", **y}}
    first = [*_hours(bins), {"filter": "datum.b == 0"}]
    return [
        {"data": rows, "transform": _hours(bins), "mark": line, "encoding": at},
        {"data": rows, "transform": first, "mark": text, "encoding": at},
    ]


def heights(
    figure: Figure, bins: Bins, series: Mapping[str, tuple[Floats, str]], title: str, most: float | None = None
) -> Plot:
    """What stands on each other in each bin, by name with its colour, the first at the bottom; at most, all of it."""
    shown = {name: pair for name, pair in series.items() if np.nansum(pair[0]) > 0} or dict([*series.items()][:1])
    rows = list(_stacked(shown))
    colours = {"domain": list(shown), "range": [colour for _, colour in shown.values()]}
    legend = {"symbolType": "square"} if len(shown) > 1 else None
    chart = {
        "data": inline(rows or [{"b": 0, "n": next(iter(shown)), "v": 0.0, "y": 0.0, "y2": 0.0}]),
        "transform": _hours(bins),
        "mark": {"type": "rect", "clip": True},
        "encoding": {
            "x": _time(bins), "x2": {"field": "x2"},
            "y": {"field": "y", "type": "quantitative", "title": title,
                  "scale": {"zero": True} if most is None else {"domain": [0, most], "nice": False},
                  "axis": {"format": AXIS_FORMAT, "tickCount": 4}},
            "y2": {"field": "y2"},
            "color": {"field": "n", "type": "nominal", "title": None, "sort": None, "scale": colours, "legend": legend},
            "tooltip": [_TIME_TIP, {"field": "n", "type": "nominal", "title": "what"},
                        {"field": "v", "type": "quantitative", "title": title, "format": ",.4~r"}],
        },
    }  # fmt: skip
    return zoomable(figure, layer(chart, width=WIDTH_PX, height=_HEIGHT_PX - 50))


def _stacked(series: Mapping[str, tuple[Floats, str]]) -> Iterator[dict[str, Any]]:
    """Each part of a bin with where it begins and ends upright; parts that are nothing are left out."""
    floor = np.zeros(1)
    for name, (values, _) in series.items():
        parts = np.nan_to_num(values)
        for i in np.flatnonzero(parts):
            y, value = float(np.broadcast_to(floor, parts.shape)[i]), float(parts[i])
            yield {"b": int(i), "n": name, "v": _rounded(value), "y": _rounded(y), "y2": _rounded(y + value)}
        floor = floor + parts


@dataclass(frozen=True)
class Grid:
    """Cells by row and bin: `edges` are where rows begin and end, `names` what they are called.

    `title` is of what is counted upright, `shade` of what cells show, which is at most `most`; the darker the more, in
    these colours.
    """

    values: Floats
    edges: Floats
    names: Sequence[str]
    title: str
    shade: str
    most: float
    colours: Sequence[str]


def grid(figure: Figure, bins: Bins, grids: Sequence[Grid]) -> Plot:
    """Cells of rows over time, one grid below the other on the same scales."""
    parts = [_cells(bins, each, is_last=each is grids[-1]) for each in grids]
    if len(parts) == 1:
        return zoomable(figure, layer(parts[0]["chart"], width=WIDTH_PX, height=parts[0]["height"]))
    charts = [{**part["chart"], "width": WIDTH_PX, "height": part["height"]} for part in parts]
    return zoomable(figure, {"vconcat": charts, "spacing": 8})


def _cells(bins: Bins, grid: Grid, *, is_last: bool) -> dict[str, Any]:
    # a row of the data is a row of the grid, of which the cells are computed where they are drawn
    firsts, lasts = ([float(edge) for edge in edges] for edges in (grid.edges[:-1], grid.edges[1:]))
    upright = [
        {"calculate": f"{firsts!r}[datum.r]", "as": "y"},
        {"calculate": f"datum.y + {_LAP} * ({lasts!r}[datum.r] - datum.y)", "as": "y2"},
        {"calculate": f"{list(grid.names)!r}[datum.r]", "as": "row"},
    ]
    ends = [float(grid.edges[0]), float(grid.edges[-1])]
    height = int(np.clip(_ROW_PX * len(grid.names), *_GRID_PX))
    legend = {"title": grid.shade, "gradientLength": 160, "format": AXIS_FORMAT}
    scale = {"domain": [0, grid.most or 1.0], "range": list(grid.colours), "interpolate": "rgb"}
    chart = {
        "data": pl.DataFrame([_told(r, row, grid.most) for r, row in enumerate(grid.values)]),
        "transform": [{"flatten": ["b", "v"]}, *_hours(bins), *upright],
        "mark": {"type": "rect", "clip": True},
        "encoding": {
            "x": _time(bins, named=is_last), "x2": {"field": "x2"},
            "y": {"field": "y", "type": "quantitative", "title": grid.title,
                  "scale": {"domain": ends, "reverse": True, "nice": False, "zero": False},
                  "axis": {"format": AXIS_FORMAT, "grid": False, "domain": True, "ticks": True, "tickCount": 4}},
            "y2": {"field": "y2"},
            "color": {"field": "v", "type": "quantitative", "scale": scale, "legend": legend},
            "tooltip": [_TIME_TIP, {"field": "row", "type": "nominal", "title": grid.title},
                        {"field": "v", "type": "quantitative", "title": grid.shade, "format": ",.3~r"}],
        },
    }  # fmt: skip
    return {"chart": chart, "height": height}


def _told(r: int, row: Floats, most: float) -> dict[str, Any]:
    """A row of a grid: the bins in which there is something to see, and what."""
    seen = np.flatnonzero(row > _LEAST * (most or 1.0))
    return {"r": r, "b": seen.tolist(), "v": [_rounded(value) for value in row[seen].tolist()]}


_LEAST = 1e-6
"""The part of the most that can be seen of a cell; what is less is what rounding leaves."""
_TIME_TIP = {"field": "x", "type": "quantitative", "title": "from (h)", "format": ",.5~r"}


def _hours(bins: Bins) -> list[dict[str, str]]:
    """Where bins begin and end, in hours, computed where they are drawn."""
    start, width = bins.start / HOUR_S, bins.width / HOUR_S
    return [
        {"calculate": f"{start!r} + {width!r} * datum.b", "as": "x"},
        {"calculate": f"datum.x + {_LAP * width!r}", "as": "x2"},
    ]


def _time(bins: Bins, *, named: bool = True) -> dict[str, Any]:
    return {
        "field": "x", "type": "quantitative", "title": "simulated time (h)" if named else None,
        "scale": {"domain": [bins.start / HOUR_S, bins.end / HOUR_S], "nice": False, "zero": False},
        "axis": {"format": AXIS_FORMAT, "grid": False, "tickCount": 6, "labels": named, "ticks": named,
                 "labelFlush": False},
    }  # fmt: skip


def _rounded(value: float, digits: int = 4) -> float:
    """A number with as many digits as can be seen."""
    return float(f"{value:.{digits}g}")
