"""Lines with intervals and their names beside their ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from joulewise.present import theme
from joulewise.present.layout import AXIS_FORMAT, inline
from joulewise.present.parts import layer
from joulewise.present.records import BOUND_NAMES

BUDGET, PUBLISHED = "budget", "published"
LIMITS = (BUDGET, PUBLISHED, *BOUND_NAMES)
"""Lines that are no measurements."""
LIMIT_LOOK = (theme.INK, [2, 3])
_LABEL_GAP_PX = 14
_LEAST_HEIGHT_PX = 230
_LEGEND_COLUMNS = 4


@dataclass(frozen=True)
class LinePoint:
    """One point of a line with its interval, which may be missing; points of different pieces are not joined."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    piece: int = 0


@dataclass(frozen=True)
class LineAxis:
    """An axis: its title, its span and, where they are not left to the theme, its ticks with their labels."""

    title: str
    low: float
    high: float
    ticks: Mapping[float, str] | None = None


@dataclass(frozen=True)
class Plot:
    """What is drawn: lines by name, how each looks, both axes, and whether intervals are bands or whiskers.

    `base` is a level at which a thin line is drawn across. Lines are named beside their ends, or under `legend`.
    """

    lines: Mapping[str, Sequence[LinePoint]]
    looks: theme.Looks
    x: LineAxis
    y: LineAxis
    title: str = ""
    width_px: int = 270
    has_bands: bool = False
    base: float | None = None
    legend: str = ""
    least_height_px: int = _LEAST_HEIGHT_PX
    legend_columns: int = _LEGEND_COLUMNS

    @property
    def height_px(self) -> int:
        """Tall enough for the names of all lines."""
        return max(self.least_height_px, 0 if self.legend else _LABEL_GAP_PX * len(self.lines))


def draw_lines(plot: Plot) -> Any:
    """The chart of a plot."""
    import altair as alt

    rows = [
        {
            "name": name,
            "x": point.x,
            "y": point.y,
            "low": _from(plot.y.low, point.low),
            "high": point.high,
            "piece": point.piece,
        }
        for name, points in plot.lines.items()
        for point in points
    ]
    base = alt.Chart(inline(rows)).encode(
        x=encoded(alt.X, "x:Q", plot.x),
        color=_colour(plot.looks, _legend(plot)),
        detail=alt.Detail("piece:N"),
        tooltip=[
            alt.Tooltip("name:N", title="line"),
            alt.Tooltip("x:Q", title=plot.x.title, format=",.4~g"),
            alt.Tooltip("y:Q", title=plot.y.title, format=",.4~r"),
        ],
    )
    y = encoded(alt.Y, "y:Q", plot.y)
    dashes = alt.Scale(domain=list(plot.looks), range=[dash for _, dash in plot.looks.values()])
    dash = alt.StrokeDash("name:N", sort=None, legend=_legend(plot), scale=dashes)
    line = base.mark_line(strokeWidth=1.8).encode(y=y, strokeDash=dash)
    spans = _bands(base) if plot.has_bands else _whiskers(base, y)
    names = [] if plot.legend else _end_labels(plot)
    layers = [*_base_line(plot), *spans, line, *names]
    return layer(*layers, width=plot.width_px, height=plot.height_px, title=plot.title)


def _base_line(plot: Plot) -> list[Any]:
    import altair as alt

    if plot.base is None:
        return []
    rule = alt.Chart(inline([{"y": plot.base}])).mark_rule(color=theme.MUTED, strokeDash=[2, 2])
    return [rule.encode(y=encoded(alt.Y, "y:Q", plot.y))]


def _from(lowest: float, low: float | None) -> float | None:
    """The lower end of an interval, cut at the edge of the chart."""
    return None if low is None else max(lowest, low)


def _bands(base: Any) -> list[Any]:
    import altair as alt

    return [base.mark_area(opacity=0.18, strokeWidth=0).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q"))]


def _whiskers(base: Any, y: Any) -> list[Any]:
    """A point with its interval; limits are no measurements and get none."""
    import altair as alt

    measured = base.transform_filter(f"indexof({list(LIMITS)!r}, datum.name) < 0")
    return [
        measured.mark_rule(strokeWidth=1.2).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        measured.mark_point(filled=True, size=28, opacity=1).encode(y=y),
    ]


def encoded(channel: Any, field: str, axis: LineAxis) -> Any:
    """A position on the axis."""
    import altair as alt

    looks: dict[str, Any] = {"format": AXIS_FORMAT, "tickCount": 6, "labelFlush": False}
    if axis.ticks is not None:
        named = {value: label for value, label in axis.ticks.items() if label}
        tests = "".join(f"abs(datum.value - {value!r}) < 1e-9 ? {label!r} : " for value, label in named.items())
        looks = {
            "values": list(axis.ticks), "tickCount": len(axis.ticks), "labelExpr": f"{tests}''", "labelFlush": False,
            "labelOverlap": False,
        }  # fmt: skip
    scale = alt.Scale(domain=[axis.low, axis.high], nice=False, zero=False)
    return channel(field, title=axis.title, scale=scale, axis=alt.Axis(**looks))


def _colour(looks: theme.Looks, legend: Any = None) -> Any:
    import altair as alt

    scale = alt.Scale(domain=list(looks), range=[colour for colour, _ in looks.values()])
    return alt.Color("name:N", sort=None, legend=legend, scale=scale)


def _legend(plot: Plot) -> Any:
    """The legend of lines under a title; none without."""
    import altair as alt

    if not plot.legend:
        return None
    return alt.Legend(title=plot.legend, symbolType="stroke", symbolOpacity=1, columns=plot.legend_columns)


def _end_labels(plot: Plot) -> list[Any]:
    """Names beside the ends of their lines, moved apart where they would overlap, with thin leaders."""
    import altair as alt

    ends = {name: max(points, key=lambda point: point.x) for name, points in plot.lines.items() if points}
    span = plot.y.high - plot.y.low
    above = {name: end.y - plot.y.low for name, end in ends.items()}
    places = spread(above, gap=_LABEL_GAP_PX * span / plot.height_px, highest=span)
    right = plot.x.high + 0.05 * (plot.x.high - plot.x.low)
    text = (
        alt.Chart(inline([{"name": name, "x": right, "y": plot.y.low + places[name]} for name in ends]))
        .mark_text(align="left", baseline="middle", dx=3, fontSize=theme.LABEL_PX - 1, color=theme.INK)
        .encode(x=alt.X("x:Q"), y=alt.Y("y:Q"), text=alt.Text("name:N"))
    )
    leaders = [
        {"name": name, "x": x, "y": y}
        for name, end in ends.items()
        for x, y in ((end.x, end.y), (right, plot.y.low + places[name]))
    ]
    lines = (
        alt.Chart(inline(leaders))
        .mark_line(strokeWidth=1)
        .encode(x=alt.X("x:Q"), y=alt.Y("y:Q"), color=_colour(plot.looks))
    )
    return [lines, text]


def spread(ends: Mapping[str, float], gap: float, highest: float) -> dict[str, float]:
    """Positions near the values, in their order, at least `gap` apart, from 0 to `highest` if they fit."""

    def centre_of(names: list[str]) -> float:
        half = gap * (len(names) - 1) / 2
        return max(min(sum(ends[name] for name in names) / len(names), highest - half), half)

    blocks: list[tuple[float, list[str]]] = []  # (centre, names from below) of labels that touch
    for name in sorted(ends, key=lambda name: ends[name]):
        names, centre = [name], centre_of([name])
        while blocks and centre - blocks[-1][0] < gap * (len(names) + len(blocks[-1][1])) / 2:
            names = blocks.pop()[1] + names
            centre = centre_of(names)
        blocks.append((centre, names))
    return {name: centre + gap * (i - (len(names) - 1) / 2) for centre, names in blocks for i, name in enumerate(names)}
