"""Fronts of energy and makespan or utility: what was found against the bound, and how a search came there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from joulewise.present import theme
from joulewise.present.findings import Finding, first_at, half_width, joined, plus_minus_of, tied_at
from joulewise.present.formats import THIN, decimals_for, percent, plain
from joulewise.present.layout import Drawing, Panel, assemble, hold, inline, panels_of, sentence
from joulewise.present.plane import (
    BOUND,
    FOUND,
    FRONTS,
    SNAPSHOT,
    Plane,
    bound_line,
    curve_of,
    has_curve,
    legend_of,
    planes_of,
    scale_said,
    strays_said,
    without_tail,
)
from joulewise.present.records import GENERATIONS, METHOD, Records
from joulewise.present.tables import plus_minus
from joulewise.present.views import beside

BOUND_NAME, KNEE_NAME, PEAK_NAME = "proven bound", "knee", "most utility per energy"
POINT_COLOURS = tuple(theme.PALETTE[i] for i in (1, 2, 3, 6, 5, 4))
SHAPES = ("circle", "triangle-up", "square", "diamond", "cross", "triangle-down")
VOLUME = "hypervolume_percent"
MOST_POINTS = 300
"""How many points of a curve are drawn; those that are marked always are."""

MOST_TOLD = 3
"""How many fronts of a panel are told of one by one; of more, the best."""
_LEGEND_CHARACTERS = 40
_RINGS = {"is_knee": KNEE_NAME, "is_peak": PEAK_NAME}
_RING_PX = {KNEE_NAME: 130, PEAK_NAME: 420}
_SAYS = {
    "makespan_s": ("allocation", "left is cheaper, down is faster"),
    "utility": ("assignment", "left is cheaper, up earns more"),
}
"""What a point of a plane is and what its directions mean, by its upright column."""


@dataclass(frozen=True)
class Look:
    """Colour and shape of the points of one curve."""

    colour: str
    shape: str = "circle"


def first_trials(records: Records) -> pl.DataFrame:
    """The kept runs, one for each point of the study: the one of its first trial."""
    kept = records.runs.filter(pl.col("run").is_in(records.frame(FRONTS)["run"].unique().to_list()))
    axes = [key for key in records.study.axes if key in kept.columns]
    ranked = kept.sort("trial", maintain_order=True)
    return ranked.unique(subset=axes, keep="first", maintain_order=True) if axes else ranked.head(1)


def front_panels(records: Records, curve: str, compared: str = METHOD) -> tuple[list[Panel], str]:
    """The runs that kept such a curve, one panel for each setting beside a key, and a note on those left out."""
    with_curve = records.frame(FRONTS).filter(pl.col("curve") == curve)["run"].unique().to_list()
    runs = first_trials(records).filter(pl.col("run").is_in(with_curve))
    return panels_of(records, runs, beside(records, [compared]))


def cycled(records: Records, key: str = METHOD) -> list[str]:
    """A colour for each value of a key that differs from that of the bound."""
    return [POINT_COLOURS[i % len(POINT_COLOURS)] for i in range(len(records.values(key)))]


def found_planes(records: Records, panels: Sequence[Panel], compared: str) -> list[Plane]:
    """The planes of panels that show what was found, and the bound."""
    held = [
        [without_tail(curve_of(records, panel.rows, BOUND)), *curves_by(records, panel.rows, compared, FOUND).values()]
        for panel in panels
    ]
    return planes_of(held, *panel_px(panels))


def panel_px(panels: Sequence[Any]) -> tuple[int, int]:
    """Width and height of each of this many panels."""
    return (520, 340) if len(panels) == 1 else (300, 240)


def found_panel(
    records: Records, panel: Panel, compared: str, looks: Mapping[str, Look], plane: Plane, title: Any = None
) -> Any:
    """The fronts of one panel, told apart by the values of a key, and the bound where there is one."""
    curves = {name: plane.inside(curve) for name, curve in curves_by(records, panel.rows, compared, FOUND).items()}
    bound = curve_of(records, panel.rows, BOUND)
    best = records.labels(compared)[best_run(records, panel.rows)[compared][0]]
    ringed = list(curves) if len(curves) <= MOST_TOLD else [best]
    layers = [*bound_line(plane, bound, BOUND_NAME), *found_points(plane, curves, looks, ringed)]
    return plane.sized(layers, panel.title if title is None else title)


def curves_by(records: Records, runs: pl.DataFrame, key: str, curve: str) -> dict[str, pl.DataFrame]:
    """Such a curve of each of the runs, by the label of a key."""
    labels = records.labels(key)
    return {
        labels[row[key]]: curve_of(records, runs.filter(pl.col("run") == row["run"]), curve)
        for row in runs.iter_rows(named=True)
    }


def stages_of(records: Records, runs: pl.DataFrame) -> pl.DataFrame:
    """The snapshots of the first of these runs that has some, and after them what it found in the end."""
    stages = curve_of(records, runs, SNAPSHOT)
    run = runs.filter(pl.col("run").is_in(stages["run"].unique().to_list()))
    last = run[GENERATIONS][0] if run.height and GENERATIONS in run.columns else None
    if last is None or last <= stages["generation"].max():
        return stages
    end = curve_of(records, run, FOUND).with_columns(pl.lit(last, stages["generation"].dtype).alias("generation"))
    return pl.concat([stages, end.select(stages.columns)])


def best_row(panel: Panel) -> dict[str, Any]:
    """The row with the highest mean."""
    return panel.rows.row(int(panel.rows["mean"].arg_max() or 0), named=True)


def share_said(panel: Panel, of_what: str) -> str:
    """What a finding says of the best front of a panel: its share of something, with its interval."""
    row = best_row(panel)
    verb = " found the best front:" if panel.rows.height > 1 else " found a front with"
    decimals = max(2, decimals_for(half_width(row)))
    return f"{verb} {percent(row['mean'], decimals)} {of_what}{plus_minus_of(row, decimals)}."


def best_fronts(names: Sequence[str], ties: Sequence[str], panels: Sequence[Panel], of_what: str) -> list[Finding]:
    """What found the best front at each setting, by its name, said at once; nothing where there is one setting.

    `ties` is what is said at each of what trials do not tell apart from it.
    """
    if len(panels) < 2:
        return []
    ranked = sorted(map(best_row, panels), key=lambda row: float(row["mean"]))
    shares = " to ".join(dict.fromkeys(map(plus_minus, (ranked[0], ranked[-1]))))
    lead = f"{first_at(names, 'found the best front', 'settings')}."
    return [Finding(sentence(lead), joined(f"The best fronts have {shares}{THIN}% {of_what}.", tied_at(ties)))]


def best_run(records: Records, runs: pl.DataFrame) -> pl.DataFrame:
    """Of runs the one at whose point the mean of the hypervolume over trials is highest, the first of equals."""
    if not records.measures(VOLUME):
        return runs.head(1)
    places = [{key: row[key] for key in records.study.axes} for row in runs.iter_rows(named=True)]
    volumes = [hold(records.runs, place)[VOLUME].drop_nulls().to_list() for place in places]
    best = max(range(runs.height), key=lambda i: sum(volumes[i]) / len(volumes[i]) if volumes[i] else -math.inf)
    return runs[best]


def thinned(curve: pl.DataFrame) -> pl.DataFrame:
    """At most MOST_POINTS points of a curve, evenly along it, and those that are marked."""
    step = -(-curve.height // MOST_POINTS)
    marked = [pl.col(name).fill_null(False) for name in _RINGS if name in curve.columns]
    return curve.filter(pl.any_horizontal(pl.int_range(pl.len()) % step == 0, *marked)) if step > 1 else curve


def found_points(
    plane: Plane, curves: Mapping[str, pl.DataFrame], looks: Mapping[str, Look], ringed: Sequence[str]
) -> list[Any]:
    """The points of fronts with their looks, and rings around those that are marked on some of the fronts."""
    import altair as alt

    kept = ("gap_percent", *(name for name in _RINGS if all(name in curve.columns for curve in curves.values())))
    rows = [{**row, "name": name} for name, curve in curves.items() for row in plane.rows(thinned(curve), *kept)]
    tip = [
        alt.Tooltip("name:N", title="front"),
        alt.Tooltip("x:Q", title=plane.energy_title, format=",.5~g"),
        alt.Tooltip("y:Q", title=plane.y_title, format=",.5~g"),
        alt.Tooltip("gap_percent:Q", title="distance to the bound (%)", format=",.3~g"),
    ]
    base = alt.Chart(inline(rows)).encode(x=plane.x(), y=plane.y(), tooltip=tip)
    points = base.mark_point(filled=True, size=18, opacity=0.9).encode(**looks_encoded(looks))
    marked = [row for row in rows if row["name"] in ringed]
    rings = [ring(row, said) for name, said in _RINGS.items() for row in marked if row.get(name)]
    return [points, *ring_layer(plane, rings, looks)]


def looks_encoded(looks: Mapping[str, Look], title: str | None = None) -> dict[str, Any]:
    """Colour and shape of the field `name`, with one legend for both."""
    import altair as alt

    columns: dict[str, Any] = {"columns": -(-len(looks) // 2)} if sum(map(len, looks)) > _LEGEND_CHARACTERS else {}
    colours = legend_of({name: look.colour for name, look in looks.items()}, title, symbolOpacity=1, **columns)
    shapes = alt.Scale(domain=list(looks), range=[look.shape for look in looks.values()])
    legend = alt.Legend(title=title, symbolOpacity=1, **columns)
    return {"color": colours, "shape": alt.Shape("name:N", scale=shapes, legend=legend, sort=None)}


def ring(row: Mapping[str, Any], mark: str) -> dict[str, Any]:
    """The row of a ring around a point."""
    return {**{key: row[key] for key in ("x", "y", "name")}, "mark": mark}


def ring_layer(plane: Plane, rings: Sequence[Mapping[str, Any]], looks: Mapping[str, Look]) -> list[Any]:
    """Rings around points in the colour of their fronts, their `mark` told by their size."""
    import altair as alt

    if not rings:
        return []
    marks = [name for name in _RING_PX if any(ring["mark"] == name for ring in rings)]
    legend = alt.Legend(
        title=None, values=marks, symbolType="circle", symbolFillColor="transparent", symbolStrokeColor=theme.INK
    )
    sizes = alt.Scale(domain=list(_RING_PX), range=list(_RING_PX.values()))
    size = alt.Size("mark:N", legend=legend, sort=None, scale=sizes)
    base = alt.Chart(inline(rings)).mark_point(filled=False, shape="circle", strokeWidth=2, opacity=1)
    return [base.encode(x=plane.x(), y=plane.y(), size=size, color=looks_encoded(looks)["color"])]


def front_by_generations(records: Records) -> Drawing:
    """The fronts of a genetic search after this many generations, and the proven bound."""
    panels, note = front_panels(records, SNAPSHOT)
    stages = [stages_of(records, panel.rows) for panel in panels]
    bounds = [curve_of(records, panel.rows, BOUND) for panel in panels]
    held = [[without_tail(bound), points] for bound, points in zip(bounds, stages, strict=True)]
    planes = planes_of(held, *panel_px(panels))
    parts = [
        _generations_panel(panel.title, points, bound, plane)
        for panel, points, bound, plane in zip(panels, stages, bounds, planes, strict=True)
    ]
    what, says = next(said for column, said in _SAYS.items() if column in records.frame(FRONTS).columns)
    caption = (
        "The front of the population after so many generations of the genetic search, from light to dark"
        f"{bound_said(records)}. Each point is a whole {what}; {says}.{scale_said(planes)}{strays_said(stages)} "
        f"First trial.{note}"
    )
    return Drawing(assemble(parts, across=2), caption)


def bound_said(records: Records) -> str:
    """What a caption adds where there is a bound."""
    return ", and the proven bound" if has_curve(records, BOUND) else ""


def _generations_panel(title: str, stages: pl.DataFrame, bound: pl.DataFrame, plane: Plane) -> Any:
    import altair as alt

    steps: Sequence[int] = stages["generation"].unique().sort().to_list()
    names = [plain(step) for step in steps]
    ramp = theme.ordered_lines(len(names))
    looks = {name: Look(ramp[i], SHAPES[i % len(SHAPES)]) for i, name in enumerate(names)}
    rows = [{**row, "name": plain(row["generation"])} for row in plane.rows(plane.inside(stages), "generation")]
    base = alt.Chart(inline(rows)).encode(x=plane.x(), y=plane.y(), **looks_encoded(looks, sentence("generations")))
    points = base.mark_point(filled=True, size=22, opacity=0.9)
    return plane.sized([*bound_line(plane, bound, BOUND_NAME), points], title)
