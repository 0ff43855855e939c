"""Figures that pages draw at every move of a slider: plain Vega-Lite in the look of all figures, made at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from joulewise.present import theme

Spec = dict[str, Any]

WIDTH_PX, HEIGHT_PX = 560, 320


def plane(layers: Sequence[Spec], x: str, y: str, width: int = WIDTH_PX, height: int = HEIGHT_PX) -> Spec:
    """Layers that have rows on a plane of two of their numbers, `x` and `y`, with these titles."""
    axes = {"x": axis("x", x, grid=True), "y": axis("y", y)}
    drawn = [{**each, "encoding": {**axes, **each["encoding"]}} for each in layers if each["data"]["values"]]
    return {"config": theme.CONFIG, "width": width, "height": height, "layer": drawn}


def axis(field: str, title: str, *, grid: bool | None = None, zero: bool = False) -> Spec:
    """A channel of a number."""
    looks: Spec = {"format": ",~f", "tickCount": 5, **({} if grid is None else {"grid": grid})}
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "axis": looks,
        "scale": {"zero": zero, "nice": True},
    }


def line(rows: Sequence[Mapping[str, Any]], colour: str, **looks: Any) -> Spec:
    """A line through rows, in their order."""
    mark = {"type": "line", "color": colour, **looks}
    return {"data": {"values": list(rows)}, "mark": mark, "encoding": {"order": {"field": "i"}}}


def points(
    rows: Sequence[Mapping[str, Any]], colour: str, tips: Mapping[str, str], shape: str = "circle", size: int = 60
) -> Spec:
    """A mark for each row; `tips` are what stands in its tip, by field."""
    mark = {"type": "point", "filled": True, "opacity": 1, "color": colour, "shape": shape, "size": size}
    told = [{"field": field, "title": title} for field, title in tips.items()]
    return {"data": {"values": list(rows)}, "mark": mark, "encoding": {"tooltip": told}}


def labels(rows: Sequence[Mapping[str, Any]], **looks: Any) -> Spec:
    """The `label` of each row beside its place."""
    mark = {"type": "text", "align": "left", "dx": 9, "dy": -9, "color": theme.INK, "fontWeight": 600, **looks}
    return {"data": {"values": list(rows)}, "mark": mark, "encoding": {"text": {"field": "label"}}}
