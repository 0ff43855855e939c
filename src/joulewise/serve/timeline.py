"""Figures of a window of time: curves with their limits, heights by the bin, and grids of cells; each can be zoomed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from joulewise.model.arrays import Floats
from joulewise.present.layout import AXIS_FORMAT, assemble, inline
from joulewise.present.lines import LIMIT_LOOK, LineAxis, LinePoint, draw_lines
from joulewise.present.lines import Plot as LinePlot
from joulewise.present.parts import Part, layer, unchecked
from joulewise.serve.answer import Plot
from joulewise.serve.day import Bins

FROM, TO = "from", "to"
"""The keys of a query that say which window is seen, in hours of simulated time."""
HOUR_S = 3600.0
WIDTH_PX = 700
"""Of what lies between the axes of a figure, so that hours lie below each other."""
_HEIGHT_PX, _ROW_PX, _GRID_PX = 200, 9, (60, 300)  # of a figure; of a row of a grid, which has a height between these
_FAR = 1.6  # a limit so many times as high as the curve would press it flat, and is left out of a part of a day
_ROOM = 1.04
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
    """What adds up over time, with its limits; of a part of the day only those that are near."""
    size, hours = quantity.size, bins.edges / HOUR_S
    low = 0.0 if is_whole else float(np.nanmin(values)) / size
    top = float(np.nanmax(values)) / size
    limits = {
        name: np.broadcast_to(np.asarray(limit, float), values.shape) / size for name, limit in quantity.limits.items()
    }
    shown = {name: limit for name, limit in limits.items() if is_whole or np.nanmax(limit) <= _FAR * top}
    high = max([top, *(float(np.nanmax(limit)) for limit in shown.values())])
    lines = {name: _points(hours, limit) for name, limit in {quantity.name: values / size, **shown}.items()}
    looks = {quantity.name: (quantity.colour, [1, 0]), **dict.fromkeys(shown, LIMIT_LOOK)}
    room = (_ROOM - 1) * ((high - low) or 1.0)
    x = LineAxis("simulated time (h)", float(hours[0]), float(hours[-1]), None)
    with unchecked():
        chart = draw_lines(
            LinePlot(
                lines, looks, x, LineAxis(quantity.title, low, high + room), "", WIDTH_PX, True,
                least_height_px=_HEIGHT_PX,
            )
        )  # fmt: skip
        return zoomable(figure, chart)


def _points(hours: Floats, values: Floats) -> list[LinePoint]:
    return [LinePoint(float(x), float(y)) for x, y in zip(hours, values, strict=True) if np.isfinite(y)]


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


def _rounded(value: float) -> float:
    """A number with as many digits as can be seen."""
    return float(f"{value:.4g}")
