"""Profit on the plane of energy and makespan: optima along the front, and the region with lines of equal profit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from joulewise.present import theme
from joulewise.present.bags.keys import RATIO
from joulewise.present.formats import number, plain
from joulewise.present.layout import Drawing, Panel, assemble, inline, panels_of
from joulewise.present.plane import BOUND, FRONTS, REGION, Plane, bound_line, curve_of, legend_of, plane_of
from joulewise.present.records import Records
from joulewise.units import power

OPTIMUM, RECOVERED = "optimum of the bound", "allocation"
FRONT_LINE, GAINED, LOST, NEITHER = "bound of the front", "profit", "loss", "neither"
GAIN_COLOUR, LOSS_COLOUR, CAP_COLOUR = theme.PALETTE[2], theme.PALETTE[1], "#C9CED6"
_CAP = "supply.power_cap_w"
_J_PER_KWH = 3.6e6
_BAR_PART = 0.24  # of the height of the points, for the largest profit
_LABEL_PART = 0.08  # of the width, left of the points for their labels
_CHARACTER_PX, _LINE_PX = 6.5, 13
_N_LEVELS = 9


@dataclass(frozen=True)
class _ProfitPanel:
    """One panel: its runs by ratio, the bound of its front, and where and how large things are drawn."""

    runs: pl.DataFrame
    bound: pl.DataFrame
    plane: Plane
    bar_size: float
    cap_w: float | None
    colours: Mapping[str, str]


def with_optima(records: Records) -> pl.DataFrame:
    """The runs of the first trial of each point whose optimum has a place, cheapest price first."""
    keys = [key for key in records.study.axes if key in records.runs.columns]
    placed = records.runs.drop_nulls(["optimum_energy_j", "optimum_makespan_s"])
    first = placed.sort("trial", maintain_order=True).unique(subset=keys, keep="first", maintain_order=True)
    return first.sort("profit_ratio", maintain_order=True)


def profit_on_front(records: Records) -> Drawing:
    """Where on the bound of the front the most profit lies as the price rises, and the allocations recovered there."""
    keys = [key for key in records.varying if key != RATIO]
    panels, note = panels_of(records, with_optima(records), keys)
    colours = _colours(pl.concat([panel.rows for panel in panels]))
    scenes = [_scene(records, panel, colours) for panel in panels]
    parts = [_front_panel(scene, panel.title) for scene, panel in zip(scenes, panels, strict=True)]
    cap = next((scene.cap_w for scene in scenes if scene.cap_w is not None), None)
    capped = f" In the shaded part the mean power is at most {power(cap)}." if cap is not None else ""
    caption = (
        "The line is the proven bound of the energy/makespan front. Squares are the optima of the bound on profit per "
        "second, diamonds the allocations recovered from them; numbers are the profit ratio, the price in units of "
        f"the least cost of energy. Bars upward are profit, downward loss, in proportion.{capped} First trial.{note}"
    )
    return Drawing(assemble(parts, across=2), caption)


def optima(runs: pl.DataFrame) -> pl.DataFrame:
    """Where the optima of the bound lie, as points of the plane."""
    return runs.with_columns(energy_j=pl.col("optimum_energy_j"), makespan_s=pl.col("optimum_makespan_s"))


def _scene(records: Records, panel: Panel, colours: Mapping[str, str]) -> _ProfitPanel:
    runs, bound = panel.rows, curve_of(records, panel.rows, BOUND)
    points = [frame.select("energy_j", "makespan_s") for frame in (bound, runs, optima(runs))]
    plane = plane_of(points, width_px=470)
    most = max((abs(value) for value in runs["profit_bound_per_s"].drop_nulls()), default=0.0)
    low, high = plane.y_domain
    bar_size = _BAR_PART * (high - low) / most if most > 0 else 0.0
    ends = [row["y"] + bar_size * (row["profit_bound_per_s"] or 0.0) for row in _squares(plane, runs)]
    y_domain = max(0.0, min([low, *ends])), max([high, *(1.02 * end for end in ends)])
    left, right = plane.x_domain
    plane = replace(plane, x_domain=(left - _LABEL_PART * (right - left), right), y_domain=y_domain)
    return _ProfitPanel(runs, bound, plane, bar_size, next(iter(_caps(runs)), None), colours)


def _caps(runs: pl.DataFrame) -> list[float]:
    """The power caps of these runs."""
    caps = runs[_CAP].drop_nulls().unique(maintain_order=True).to_list() if _CAP in runs.columns else []
    return [cap for cap in caps if math.isfinite(cap)]


def _colours(runs: pl.DataFrame) -> dict[str, str]:
    """The colour of each thing that some panel shows, by its name in the legend."""
    profits = runs["profit_bound_per_s"].drop_nulls()
    gained = {GAINED: GAIN_COLOUR} if (profits > 0).any() else {}
    lost = {LOST: LOSS_COLOUR} if (profits < 0).any() else {}
    return {**gained, **lost, **{_within(cap): CAP_COLOUR for cap in _caps(runs)}}


def _within(cap_w: float) -> str:
    return f"up to {power(cap_w)}"


def _squares(plane: Plane, runs: pl.DataFrame) -> list[dict[str, Any]]:
    return plane.rows(optima(runs), "profit_ratio", "profit_bound_per_s")


def _front_panel(scene: _ProfitPanel, title: str) -> Any:
    line = bound_line(scene.plane, scene.bound, FRONT_LINE)
    layers = [*_cap(scene), *line, *_bars(scene), *_marks(scene.plane, scene.runs), *_ratios(scene)]
    return scene.plane.sized(layers, title)


def _names(scene: _ProfitPanel) -> Any:
    return legend_of(scene.colours, symbolType="square", symbolOpacity=1, offset=8)


def _cap(scene: _ProfitPanel) -> list[Any]:
    """The part of the plane in which the mean power is at most the cap: above the line through zero."""
    import altair as alt

    if scene.cap_w is None:
        return []
    plane, (left, right), top = scene.plane, scene.plane.x_domain, scene.plane.y_domain[1]
    per_unit = plane.energy_size / scene.cap_w / plane.y_size
    name = _within(scene.cap_w)
    rows = [{"x": x, "y": per_unit * x, "top": top, "name": name} for x in (left, right)]
    base = alt.Chart(inline(rows)).encode(x=plane.x(), y=plane.y())
    area = base.mark_area(opacity=0.45, clip=True).encode(y2=alt.Y2("top:Q"), color=_names(scene))
    return [area, base.mark_line(strokeDash=[5, 4], strokeWidth=1.2, color=theme.MUTED, clip=True)]


def _bars(scene: _ProfitPanel) -> list[Any]:
    import altair as alt

    rows = [
        {**row, "end": row["y"] + scene.bar_size * worth, "name": GAINED if worth > 0 else LOST}
        for row in _squares(scene.plane, scene.runs)
        if (worth := row["profit_bound_per_s"] or 0.0)
    ]
    if not rows:
        return []
    tip = [alt.Tooltip("profit_bound_per_s:Q", title="bound on profit per second", format=",.4~g"), _ratio_tip()]
    base = alt.Chart(inline(rows)).mark_bar(size=5, orient="vertical")
    return [base.encode(x=scene.plane.x(), y=scene.plane.y(), y2=alt.Y2("end:Q"), color=_names(scene), tooltip=tip)]


def _ratio_tip() -> Any:
    import altair as alt

    return alt.Tooltip("profit_ratio:Q", title="profit ratio", format=",.4~g")


def _marks(plane: Plane, runs: pl.DataFrame) -> list[Any]:
    """Squares where the optima are, and diamonds where the allocations are."""
    import altair as alt

    squares = [{**row, "kind": OPTIMUM} for row in plane.rows(optima(runs), "profit_ratio")]
    recovered = runs.drop_nulls(["energy_j", "makespan_s"])
    diamonds = [{**row, "kind": RECOVERED} for row in plane.rows(recovered, "profit_ratio")]
    shapes = alt.Scale(domain=[OPTIMUM, RECOVERED], range=["square", "diamond"])
    legend = alt.Legend(title=None, symbolStrokeColor=theme.INK, symbolFillColor="transparent", offset=8)
    tip = [
        alt.Tooltip("kind:N", title="point"),
        _ratio_tip(),
        alt.Tooltip("x:Q", title=plane.energy_title, format=",.5~g"),
        alt.Tooltip("y:Q", title=plane.y_title, format=",.5~g"),
    ]
    base = alt.Chart(inline([*squares, *diamonds])).mark_point(filled=False, size=70, strokeWidth=1.5, opacity=1)
    shape = alt.Shape("kind:N", scale=shapes, legend=legend)
    return [base.encode(x=plane.x(), y=plane.y(), shape=shape, color=alt.ColorValue(theme.INK), tooltip=tip)]


def _ratios(scene: _ProfitPanel) -> list[Any]:
    """The profit ratios left below their squares, those of losses left above; labels that would overlap are one."""
    import altair as alt

    squares = _squares(scene.plane, scene.runs)
    losses = [row for row in squares if (row["profit_bound_per_s"] or 0.0) < 0]
    places = {"below": [row for row in squares if row not in losses], "above": losses}
    looks: dict[str, dict[str, Any]] = {
        "below": {"baseline": "top", "dy": 3},
        "above": {"baseline": "bottom", "dy": -3},
    }
    text: dict[str, Any] = {"align": "right", "dx": -7, "fontSize": theme.LABEL_PX - 1, "color": theme.INK}
    return [
        alt.Chart(inline(_labels(scene.plane, rows)))
        .mark_text(**looks[place], **text)
        .encode(x=scene.plane.x(), y=scene.plane.y(), text=alt.Text("text:N"))
        for place, rows in places.items()
        if rows
    ]


def _labels(plane: Plane, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A label at the last of each group of ratios whose labels would overlap."""
    x_px = plane.width_px / (plane.x_domain[1] - plane.x_domain[0])
    y_px = plane.height_px / (plane.y_domain[1] - plane.y_domain[0])
    groups: list[list[dict[str, Any]]] = []
    for row in rows:
        groups.append([row])
        while len(groups) > 1 and _overlap(groups[-2], groups[-1], x_px, y_px):
            last = groups.pop()
            groups[-1] += last
    return [{"x": group[-1]["x"], "y": group[-1]["y"], "text": _span(group)} for group in groups]


def _overlap(one: Sequence[dict[str, Any]], other: Sequence[dict[str, Any]], x_px: float, y_px: float) -> bool:
    """Whether the labels of two groups would overlap, at this many pixels for a unit of each axis."""
    wide_px = _CHARACTER_PX * max(len(_span(one)), len(_span(other)))
    apart_x, apart_y = (abs(one[-1][axis] - other[-1][axis]) for axis in ("x", "y"))
    return bool(apart_x * x_px < wide_px and apart_y * y_px < _LINE_PX)


def _span(group: Sequence[dict[str, Any]]) -> str:
    first, last = (plain(row["profit_ratio"]) for row in (group[0], group[-1]))
    return first if len(group) == 1 else f"{first}\N{EN DASH}{last}"


# --- the region with lines of equal profit --------------------------------------------------------------


def feasible_region(records: Records) -> Drawing:
    """The feasible region of the bound with lines of equal profit per second, one panel per profit ratio."""
    keys = [*(key for key in records.varying if key != RATIO), *([RATIO] if records.varies(RATIO) else [])]
    kept = records.frame(FRONTS).filter(pl.col("curve") == REGION)["run"].unique().to_list()
    runs = with_optima(records).filter(pl.col("run").is_in(kept))
    panels, note = panels_of(records, runs, keys)
    across = min(3, len(panels))
    size_px = 430 if across == 1 else 300 if across == 2 else 250
    parts = [_region_panel(records, panel, size_px) for panel in panels]
    caption = (
        "Inside the black line lie the energies and makespans that divisible tasks can reach, cut off at a long "
        "makespan. Thin lines join points of equal profit per second, before overhead, wear and depreciation: green "
        f"profit, orange loss, black dashes neither. First trial.{note}"
    )
    return Drawing(assemble(parts, across), caption)


def _region_panel(records: Records, panel: Panel, size_px: int) -> Any:
    corners, runs = curve_of(records, panel.rows, REGION), panel.rows
    region = pl.concat([corners, corners.head(1)])
    plane = plane_of([frame.select("energy_j", "makespan_s") for frame in (region, runs, optima(runs))])
    plane = replace(plane, width_px=size_px, height_px=size_px)
    layers = [*_contours(plane, region, runs), plane.line(region, color=theme.INK), *_marks(plane, runs)]
    return plane.sized(layers, panel.title)


def _contours(plane: Plane, region: pl.DataFrame, runs: pl.DataFrame) -> list[Any]:
    """Straight lines of equal profit p - cE = k x makespan, each with its profit at the edge."""
    import altair as alt

    row = runs.row(0, named=True)
    price, cost = row["price"], row["cost_per_kwh"] / _J_PER_KWH
    lines, labels = [], []
    for level in _levels(region, price, cost):
        name = NEITHER if level == 0 else LOST if level < 0 else GAINED
        at = [_on_line(plane, price, cost, level, y) for y in plane.y_domain]
        lines += [{**point, "name": name, "level": level} for point in at]
        labels += [{**place, "text": number(level, 2)} for place in _label(plane, at)]
    dash = alt.condition(f"datum.name == '{NEITHER}'", alt.value([5, 4]), alt.value([1, 0]))
    scale = alt.Scale(domain=[GAINED, LOST, NEITHER], range=[GAIN_COLOUR, LOSS_COLOUR, theme.INK])
    colour = alt.Color("name:N", scale=scale, legend=None)
    base = alt.Chart(inline(lines)).mark_line(strokeWidth=1, opacity=0.75, clip=True)
    drawn = base.encode(x=plane.x(), y=plane.y(), detail=alt.Detail("level:Q"), color=colour, strokeDash=dash)
    return [drawn, *_contour_labels(plane, labels)]


def _contour_labels(plane: Plane, labels: Sequence[dict[str, Any]]) -> list[Any]:
    """Profits where the lines leave the plane: above its top or right of it, or inside at its left."""
    import altair as alt

    looks: dict[str, dict[str, Any]] = {
        "top": {"dy": -6},
        "right": {"align": "left", "dx": 3},
        "left": {"align": "left", "dx": 3, "dy": -6},
    }
    return [
        alt.Chart(inline(here))
        .mark_text(fontSize=9, color=theme.MUTED, **looks[side])
        .encode(x=plane.x(), y=plane.y(), text=alt.Text("text:N"))
        for side in looks
        if (here := [row for row in labels if row["side"] == side])
    ]


def _on_line(plane: Plane, price: float, cost: float, level: float, y: float) -> dict[str, float]:
    return {"x": (price - level * y * plane.y_size) / cost / plane.energy_size, "y": y}


def _levels(region: pl.DataFrame, price: float, cost: float) -> list[float]:
    """Round profits per second between the least and the most that the region holds."""
    profits = (price - cost * region["energy_j"]) / region["makespan_s"]
    low, high = float(profits.min()), float(profits.max())  # type: ignore[arg-type]
    step = _round_step((high - low) / _N_LEVELS)
    return [step * i for i in range(math.ceil(low / step), math.floor(high / step) + 1)] if step > 0 else []


def _round_step(step: float) -> float:
    if step <= 0:
        return 0.0
    size = 10.0 ** math.floor(math.log10(step))
    return next(part * size for part in (1, 2, 5, 10) if part * size >= step)


def _label(plane: Plane, ends: Sequence[dict[str, float]]) -> list[dict[str, Any]]:
    """Where a line leaves the plane upward, and at which side; none where it never enters."""
    bottom, top = ends
    left, right = plane.x_domain
    if left <= top["x"] <= right:
        return [{**top, "side": "top"}]
    edge, side = (right, "right") if top["x"] > right else (left, "left")
    part = (edge - bottom["x"]) / (top["x"] - bottom["x"])
    y = bottom["y"] + part * (top["y"] - bottom["y"])
    return [{"x": edge, "y": y, "side": side}] if bottom["y"] < y < top["y"] else []
