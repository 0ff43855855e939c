"""The plane of energy and makespan, or utility, in which fronts are drawn: axes, curves and points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from joulewise.present import theme
from joulewise.present.formats import energy_unit, time_unit
from joulewise.present.layout import AXIS_FORMAT, inline
from joulewise.present.parts import layer
from joulewise.present.records import Records

FRONTS = "fronts"
FOUND, BOUND, REGION, SNAPSHOT = "front", "bound", "region", "snapshot"
"""The curves in the table of fronts that are drawn."""

BOUND_COLOUR = theme.PALETTE[0]
_ROOM = 0.06
_REACH = 20.0  # times as far from the least energy as half of the points: what is farther is left out of the picture
_FILLED = 1 / 3  # of a common scale each panel must fill at least so much
_SAME = 1e-9
_UPRIGHT: dict[str, tuple[str, Callable[[float], tuple[str, float]]]] = {
    "makespan_s": ("makespan", time_unit),
    "utility": ("utility", lambda _most: ("", 1.0)),
}
"""What may be drawn upright: a column, what it is called, and the unit that suits it with its size."""


@dataclass(frozen=True)
class Plane:
    """Both axes: title, the size of the unit in joules or in that of the upright column, the span in that unit."""

    energy_title: str
    energy_size: float
    x_domain: tuple[float, float]
    upright: str
    y_title: str
    y_size: float
    y_domain: tuple[float, float]
    width_px: int = 430
    height_px: int = 320

    def x(self, field: str = "x:Q", **options: Any) -> Any:
        """The axis of energy."""
        import altair as alt

        axis = alt.Axis(grid=True, format=AXIS_FORMAT, tickCount=5, labelFlush=False)
        scale = alt.Scale(domain=list(self.x_domain), nice=False, zero=False)
        return alt.X(field, title=self.energy_title, scale=scale, axis=axis, **options)

    def y(self, field: str = "y:Q", **options: Any) -> Any:
        """The upright axis."""
        import altair as alt

        axis = alt.Axis(format=AXIS_FORMAT, tickCount=5)
        scale = alt.Scale(domain=list(self.y_domain), nice=False, zero=False)
        return alt.Y(field, title=self.y_title, scale=scale, axis=axis, **options)

    def place(self, energy_j: float, upright: float) -> dict[str, float]:
        """A point in the units of the plane."""
        return {"x": energy_j / self.energy_size, "y": upright / self.y_size}

    def inside(self, curve: pl.DataFrame) -> pl.DataFrame:
        """The points of a curve that use no more energy than the plane has room for."""
        return curve.filter(pl.col("energy_j") <= self.x_domain[1] * self.energy_size)

    def rows(self, curve: pl.DataFrame, *kept: str) -> list[dict[str, Any]]:
        """The points of a curve in the units of the plane, in order, with these further columns."""
        return [
            {**self.place(row["energy_j"], row[self.upright]), "order": i, **{name: row[name] for name in kept}}
            for i, row in enumerate(curve.iter_rows(named=True))
        ]

    def line(self, curve: pl.DataFrame, **mark: Any) -> Any:
        """A curve through points in their order."""
        import altair as alt

        looks: dict[str, Any] = {"strokeWidth": 2, "color": BOUND_COLOUR, "clip": True, **mark}
        return (
            alt.Chart(inline(self.rows(curve)))
            .mark_line(**looks)
            .encode(x=self.x(), y=self.y(), order=alt.Order("order:Q"))
        )

    def in_units_of(self, other: Plane) -> Plane:
        """The same plane with the units of another one."""
        x, y = self.energy_size / other.energy_size, self.y_size / other.y_size
        return replace(
            other,
            x_domain=(self.x_domain[0] * x, self.x_domain[1] * x),
            y_domain=(self.y_domain[0] * y, self.y_domain[1] * y),
        )

    def sized(self, layers: Sequence[Any], title: str = "") -> Any:
        """The layers as one chart of the size of the plane."""

        return layer(*layers, width=self.width_px, height=self.height_px, title=title)


def plane_of(points: Iterable[pl.DataFrame], width_px: int = 430, height_px: int = 320) -> Plane:
    """A plane that holds these curves (`energy_j`, and `makespan_s` or `utility`) with a little room around them.

    Points that use far more energy than most of their curve find no room.
    """
    frames = list(points)
    upright = _upright_of(frames[0])
    both = pl.concat([_near(frame).select(pl.col("energy_j", upright).cast(pl.Float64)) for frame in frames])
    both = both.drop_nulls()
    spans = [(float(both[name].min()), float(both[name].max())) for name in both.columns]  # type: ignore[arg-type]
    (least_j, most_j), (low, high) = spans
    unit, size_j = energy_unit(most_j)
    name, suited = _UPRIGHT[upright]
    y_unit, size = suited(high)
    x, y = _with_room(least_j / size_j, most_j / size_j), _with_room(low / size, high / size)
    return Plane(f"energy ({unit})", size_j, x, upright, _with_unit(name, y_unit), size, y, width_px, height_px)


def planes_of(panels: Sequence[Sequence[pl.DataFrame]], width_px: int = 430, height_px: int = 320) -> list[Plane]:
    """A plane for the curves of each panel: the same for all where each fills enough of it, else in the same units."""
    whole = plane_of([curve for panel in panels for curve in panel], width_px, height_px)
    own = [plane_of(panel, width_px, height_px).in_units_of(whole) for panel in panels]
    return [whole] * len(own) if all(_fills(plane, whole) for plane in own) else own


def scale_said(planes: Sequence[Plane]) -> str:
    """What a caption says of the scales of its panels."""
    if len(planes) < 2:
        return ""
    return " All panels have the same scale." if len(set(planes)) == 1 else " Each panel has its own scale."


def _fills(plane: Plane, whole: Plane) -> bool:
    both = ((plane.x_domain, whole.x_domain), (plane.y_domain, whole.y_domain))
    return all(own[1] - own[0] >= _FILLED * (most[1] - most[0]) for own, most in both)


def _near(curve: pl.DataFrame) -> pl.DataFrame:
    """The points of a curve but for those that use far more energy than most of it."""
    energy_j = pl.col("energy_j")
    reach_j = _REACH * (energy_j.median() - energy_j.min())
    return curve.filter((energy_j - energy_j.min() <= reach_j) | (reach_j == 0))


def strays_said(curves: Iterable[pl.DataFrame]) -> str:
    """What a caption says where points are left out of the picture."""
    has_strays = any(_near(curve).height < curve.height for curve in curves)
    return " Points that use far more energy than most of their front are not drawn." if has_strays else ""


def without_tail(curve: pl.DataFrame) -> pl.DataFrame:
    """A curve up to where more energy changes nothing any more."""
    level = pl.col(_upright_of(curve))
    is_last = (level - level.last()).abs() <= _SAME * level.last().abs()
    return curve.filter(~is_last.shift(1, fill_value=False))


def _upright_of(points: pl.DataFrame) -> str:
    return next(column for column in _UPRIGHT if column in points.columns)


def _with_unit(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit else name


def _with_room(low: float, high: float) -> tuple[float, float]:
    room = _ROOM * (high - low) or 0.05 * abs(high) or 1.0
    return max(0.0, low - room), high + room


def curve_of(records: Records, runs: pl.DataFrame, curve: str) -> pl.DataFrame:
    """The points of a curve of the first of these runs that has it; empty where none has."""
    points = records.frame(FRONTS).filter((pl.col("curve") == curve) & pl.col("run").is_in(runs["run"].to_list()))
    first = [run for run in runs["run"] if run in set(points["run"])][:1]
    return points.filter(pl.col("run").is_in(first)).sort("point", maintain_order=True)


def has_curve(records: Records, curve: str) -> bool:
    """Whether some run kept such a curve."""
    return records.keeps(FRONTS) and bool((records.frame(FRONTS)["curve"] == curve).any())


def bound_line(plane: Plane, bound: pl.DataFrame, name: str) -> list[Any]:
    """The line of a bound, and a line in the legend that names it; nothing where there is no bound."""
    import altair as alt

    if bound.is_empty():
        return []
    rows = [{**row, "line": name} for row in plane.rows(bound)]
    legend = alt.Legend(title=None, symbolType="stroke", symbolStrokeColor=BOUND_COLOUR, symbolStrokeWidth=2)
    solid = alt.StrokeDash("line:N", scale=alt.Scale(domain=[name], range=[[1, 0]]), legend=legend)
    line = alt.Chart(inline(rows)).mark_line(strokeWidth=2, color=BOUND_COLOUR, clip=True)
    return [line.encode(x=plane.x(), y=plane.y(), order=alt.Order("order:Q"), strokeDash=solid)]


def legend_of(colours: Mapping[str, str], title: str | None = None, **options: Any) -> Any:
    """A colour channel of the field `name` that says what each colour is."""
    import altair as alt

    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    legend = alt.Legend(title=title, **options)
    return alt.Color("name:N", scale=scale, legend=legend, sort=None)
