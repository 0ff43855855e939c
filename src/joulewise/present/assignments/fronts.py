"""Fronts of utility and energy: what populations became, how near to the bound, and where a joule earns most."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from joulewise.present import theme
from joulewise.present.assignments.aims import same_groups, with_aims
from joulewise.present.formats import energy_unit, fixed, plain
from joulewise.present.fronts import (
    BOUND_NAME,
    MOST_TOLD,
    PEAK_NAME,
    SHAPES,
    VOLUME,
    Look,
    best_run,
    bound_said,
    curves_by,
    cycled,
    found_panel,
    found_planes,
    front_panels,
    looks_encoded,
    ring,
    ring_layer,
    stages_of,
    thinned,
)
from joulewise.present.layout import AXIS_FORMAT, Drawing, Panel, assemble, inline, panels_of, sentence
from joulewise.present.lines import LineAxis, LinePoint, Plot, draw_lines
from joulewise.present.parts import hconcat, vconcat
from joulewise.present.plane import (
    BOUND,
    FOUND,
    SNAPSHOT,
    Plane,
    bound_line,
    curve_of,
    has_curve,
    plane_of,
    planes_of,
    scale_said,
    strays_said,
)
from joulewise.present.records import GENERATIONS, METHOD, SEEDS, VARIANT, Records
from joulewise.present.views import beside
from joulewise.units import count

_STAR = (
    "M0,-1L0.26,-0.36L0.95,-0.31L0.42,0.14L0.59,0.81L0,0.44L-0.59,0.81L-0.42,0.14L-0.95,-0.31L-0.26,-0.36Z"
)  # fmt: skip
_SEED_SHAPES = {
    "min-energy": "diamond", "min-min": "square", "max-utility": "circle", "max-utility-per-energy": "triangle-up",
    "": _STAR,
}  # fmt: skip
"""Markers of the published figures by the seed of a population."""
_MOST_STEPS = 6


def compared(records: Records) -> str:
    """The key that tells fronts apart: the seeds where they vary, else the method; variants where they are the same."""
    key = SEEDS if records.varies(SEEDS) else METHOD
    return VARIANT if same_groups(records, key, VARIANT) else key


def has_populations(records: Records) -> bool:
    """Whether several populations kept snapshots at one setting."""
    if not has_curve(records, FOUND) or not has_curve(records, SNAPSHOT):
        return False
    panels, _ = front_panels(with_aims(records), SNAPSHOT, compared(records))
    return any(panel.rows.height > 1 for panel in panels)


def looks_of(records: Records, key: str) -> dict[str, Look]:
    """Colour and marker of every value of a key."""
    labels, colours = records.labels(key), cycled(records, key)
    shapes = [_SEED_SHAPES.get(str(value), SHAPES[i % len(SHAPES)]) for i, value in enumerate(labels)]
    return {label: Look(colours[i], shapes[i]) for i, label in enumerate(labels.values())}


# --- what was found -------------------------------------------------------------------------------------


def utility_front(records: Records) -> Drawing:
    """The front that each method or population found, its knee and peak, and the proven bound."""
    records = with_aims(records)
    key = compared(records)
    panels, note = front_panels(records, FOUND, key)
    looks = looks_of(records, key)
    planes = found_planes(records, panels, key)
    parts = [
        found_panel(records, panel, key, looks, plane, _with_shares(records, panel, key))
        for panel, plane in zip(panels, planes, strict=True)
    ]
    strays = strays_said(curve for panel in panels for curve in curves_by(records, panel.rows, key, FOUND).values())
    above = f" Nothing lies above or left of the line, the proven bound{_at_means(records)}."
    bound = above if has_curve(records, BOUND) else ""
    caption = (
        f"Each point is a whole assignment of all tasks; left is cheaper, up earns more.{bound} The small ring marks "
        "the knee, the point farthest from the straight line between the ends; the large one the point that earns "
        f"most per joule{_of_best(panels)}.{scale_said(planes)}{strays} First trial.{note}"
    )
    return Drawing(assemble(parts, across=2), caption)


def _at_means(records: Records) -> str:
    """What bounds hold for where times and powers are uncertain."""
    return " at mean times" if records.measures("fresh_mean_percent") else ""


def _of_best(panels: Sequence[Panel]) -> str:
    return ", of the best front where there are many" if any(p.rows.height > MOST_TOLD for p in panels) else ""


def _with_shares(records: Records, panel: Panel, key: str) -> str | dict[str, str]:
    """The title of a panel, and under it how much of the proven hypervolume its fronts reach."""

    rated = panel.rows.filter(pl.col(VOLUME).is_not_null()) if VOLUME in panel.rows.columns else panel.rows.clear()
    if rated.is_empty():
        return panel.title
    labels, values = records.labels(key), [fixed(value, 1) for value in rated.sort(VOLUME)[VOLUME]]
    named = [f"{labels[row[key]]} {fixed(row[VOLUME], 1)} %" for row in rated.iter_rows(named=True)]
    shares = ", ".join(named) if len(named) <= MOST_TOLD else f"{values[0]} to {values[-1]} %"
    said = f"share of the proven hypervolume{_at_means(records)}: {shares}"
    return {"text": panel.title, "subtitle": said} if panel.title else sentence(said)


# --- populations by generation --------------------------------------------------------------------------


def fronts_by_seeds(records: Records) -> Drawing:
    """The fronts of several populations side by side after this many generations."""
    records = with_aims(records)
    key = compared(records)
    panels, note = front_panels(records, SNAPSHOT, key)
    looks = looks_of(records, key)
    snapshots = [snapshot for panel in panels for snapshot in _snapshots(records, panel, key)]
    planes = planes_of([list(snapshot.curves.values()) for snapshot in snapshots], 300, 240)
    parts = [_snapshot_part(snapshot, looks, plane) for snapshot, plane in zip(snapshots, planes, strict=True)]
    strays = strays_said(curve for snapshot in snapshots for curve in snapshot.curves.values())
    caption = (
        f"The fronts of the populations after so many generations{bound_said(records)}. Each point is a whole "
        "assignment; left is cheaper, up earns more. The ring marks the point of all populations that earns most per "
        f"joule.{scale_said(planes)}{strays} First trial.{note}"
    )
    return Drawing(assemble(parts, across=2), caption)


@dataclass(frozen=True)
class _Snapshot:
    """The fronts of populations after this many generations."""

    title: str
    curves: Mapping[str, pl.DataFrame]
    bound: pl.DataFrame


def _snapshots(records: Records, panel: Panel, key: str) -> list[_Snapshot]:
    labels, runs = records.labels(key), panel.rows.partition_by("run", maintain_order=True)
    curves = {labels[run[key][0]]: stages_of(records, run) for run in runs}
    bound, snapshots = curve_of(records, panel.rows, BOUND), []
    for step in _few(sorted({step for curve in curves.values() for step in curve["generation"].to_list()})):
        here = {name: curve.filter(pl.col("generation") == step) for name, curve in curves.items()}
        title = ", ".join(part for part in (panel.title, count(step, "generation")) if part)
        snapshots.append(_Snapshot(title, {name: curve for name, curve in here.items() if curve.height}, bound))
    return snapshots


def _few(steps: list[int]) -> list[int]:
    """At most this many of the steps, the last among them."""
    stride = -(-len(steps) // _MOST_STEPS)
    return steps[::-1][::stride][::-1]


def _snapshot_part(snapshot: _Snapshot, looks: Mapping[str, Look], plane: Plane) -> Any:
    import altair as alt

    inside = {name: thinned(plane.inside(curve)) for name, curve in snapshot.curves.items()}
    rows = [{**row, "name": name} for name, curve in inside.items() for row in plane.rows(curve)]
    points = alt.Chart(inline(rows)).mark_point(filled=True, size=24, opacity=0.9)
    peak = max(rows, key=lambda row: row["y"] / row["x"] if row["x"] > 0 else -math.inf)
    rings = ring_layer(plane, [ring(peak, PEAK_NAME)], looks)
    layers = [points.encode(x=plane.x(), y=plane.y(), **looks_encoded(looks)), *rings]
    return plane.sized([*bound_line(plane, snapshot.bound, BOUND_NAME), *layers], snapshot.title)


# --- hypervolume by generation --------------------------------------------------------------------------


def steps_of(records: Records) -> list[int]:
    """The numbers of generations after which hypervolumes were measured."""
    names = [name.partition(":") for name in records.runs.columns if name.startswith(f"{VOLUME}:")]
    return sorted(int(step) for _, _, step in names if int(step) > 0 and records.measures(f"{VOLUME}:{step}"))


def with_end(records: Records) -> Records:
    """The records with the hypervolume in the end as one more step, where all searches have as many generations."""
    steps, ends = steps_of(records), records.values(GENERATIONS)
    if not steps or len(ends) != 1 or not isinstance(ends[0], int) or ends[0] <= steps[-1]:
        return records
    has_steps = pl.col(f"{VOLUME}:{steps[-1]}").is_not_null()
    last = pl.when(has_steps).then(pl.col(VOLUME)).alias(f"{VOLUME}:{ends[0]}")
    return replace(records, runs=records.runs.with_columns(last))


def hypervolume_by_generations(records: Records) -> Drawing:
    """How much of the proven hypervolume each population dominates after this many generations."""
    records = with_end(with_aims(records))
    key, steps = compared(records), steps_of(records)
    keys = [*beside(records, [key]), key]
    means = pl.concat(
        [
            records.means(f"{VOLUME}:{step}", keys).with_columns(step=pl.lit(step)).filter(pl.col("mean").is_not_null())
            for step in steps
        ]
    )
    panels, note = panels_of(records, means, keys[:-1])
    parts = [_volume_part(records, panel, key, steps) for panel in panels]
    several = int(means["n"].cast(pl.Int64).max() or 0) > 1  # type: ignore[arg-type]
    bands = " Lines are means over the trials, bands 95 % confidence intervals." if several else " One trial."
    caption = (
        f"Hypervolume of the population's front{_at_means(records)} in percent of that of the proven bound, after so "
        f"many generations (logarithmic scale).{bands}{note}"
    )
    return Drawing(assemble(parts, across=2), caption)


def _volume_part(records: Records, panel: Panel, key: str, steps: list[int]) -> Any:
    labels, looks = records.labels(key), looks_of(records, key)
    lines: dict[str, list[LinePoint]] = {}
    for row in panel.rows.sort("step").iter_rows(named=True):
        point = LinePoint(math.log10(row["step"]), row["mean"], row["low"], row["high"])
        lines.setdefault(labels[row[key]], []).append(point)
    dashes = {name: (look.colour, [1, 0]) for name, look in looks.items() if name in lines}
    least = min(point.y for points in lines.values() for point in points)
    ticks = {math.log10(step): plain(step) for step in _few(steps)}
    x = LineAxis("generations", math.log10(steps[0]), math.log10(steps[-1]) or 1.0, ticks)
    y = LineAxis("hypervolume (% of the bound's)", 10 * math.floor(least / 10), 100.0)
    return draw_lines(Plot(lines, dashes, x, y, panel.title, 320, has_bands=True))


# --- utility per energy ---------------------------------------------------------------------------------


def utility_per_energy(records: Records) -> Drawing:
    """The best front, and its utility per energy against utility and against energy."""
    records = with_aims(records)
    key = compared(records)
    panels, note = _rated_panels(records, key)
    parts = [_peak_block(records, panel, key, alone=len(panels) == 1) for panel in panels]
    strays = strays_said(curve_of(records, best_run(records, panel.rows), FOUND) for panel in panels)
    caption = (
        "A: the front named above it. B and C: utility per energy of its points, against utility and against energy. "
        "The solid line is drawn at the utility, the dashed one at the energy of the point that earns most per joule; "
        "left of it a little more energy earns much, right of it much more energy earns little."
        f"{strays} First trial.{note}"
    )
    return Drawing(assemble(parts), caption)


def has_rates(records: Records) -> bool:
    """Whether some front has a point that uses energy, so that there is utility per energy."""
    return has_curve(records, FOUND) and bool(_rated_panels(with_aims(records), compared(records))[0])


def _rated_panels(records: Records, key: str) -> tuple[list[Panel], str]:
    """The panels of fronts whose best one has a point that uses energy."""
    panels, note = front_panels(records, FOUND, key)
    fronts = [curve_of(records, best_run(records, panel.rows), FOUND) for panel in panels]
    return [panel for panel, front in zip(panels, fronts, strict=True) if (front["energy_j"] > 0).any()], note


def _peak_block(records: Records, panel: Panel, key: str, *, alone: bool) -> Any:
    """Front, the same by utility at its right, the same by energy below; of several fronts all in one row."""

    run = best_run(records, panel.rows)
    points = curve_of(records, run, FOUND)
    named = ", ".join(part for part in (panel.title, f"front by {records.phrase(key, run[key][0])}") if part)
    plane = plane_of([points], *((300, 220) if alone else (250, 180)))
    front = thinned(plane.inside(points))
    unit, _ = energy_unit(plane.energy_size)
    rates = [row["y"] / row["x"] for row in plane.rows(front) if row["x"] > 0]
    rate = LineAxis(f"utility per energy (1/{unit})", *_span(rates))
    first, second, third = _front_part(plane, front), _by_utility(plane, front, rate), _by_energy(plane, front, rate)
    if not alone:
        return hconcat(first, second, third, spacing=16, title=sentence(named))
    return vconcat(hconcat(first, second, spacing=16), third, spacing=16, title=sentence(named))


def _span(values: list[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = 0.08 * (high - low) or 0.05 * abs(high) or 1.0
    return max(0.0, low - room), high + room


def _rated(plane: Plane, front: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The points with their utility per energy, and of them the highest."""
    rows = [{**row, "rate": row["y"] / row["x"] if row["x"] > 0 else None} for row in plane.rows(front)]
    best = max(rows, key=lambda row: -math.inf if row["rate"] is None else row["rate"])
    return inline(rows), inline([best])


def _layers(plane: Plane, front: pl.DataFrame, x: Any, y: Any, *, across: bool, upright: bool) -> list[Any]:
    """Points in these axes, and the lines through the best of them that the panel shares with its neighbours."""
    import altair as alt

    points, peak = _rated(plane, front)
    lines = [
        *([alt.Chart(peak).mark_rule(color=theme.INK, strokeWidth=1.2).encode(y=y)] if across else []),
        *(
            [alt.Chart(peak).mark_rule(color=theme.INK, strokeWidth=1.2, strokeDash=[5, 4]).encode(x=x)]
            if upright
            else []
        ),
    ]
    dots = alt.Chart(points).mark_point(filled=True, size=18, opacity=0.9, color=theme.PALETTE[1]).encode(x=x, y=y)
    around = alt.Chart(peak).mark_point(size=240, strokeWidth=2, opacity=1, color=theme.INK).encode(x=x, y=y)
    return [*lines, dots, around]


def _front_part(plane: Plane, front: pl.DataFrame) -> Any:
    return plane.sized(_layers(plane, front, plane.x(), plane.y(), across=True, upright=True), "A")


def _by_utility(plane: Plane, front: pl.DataFrame, rate: LineAxis) -> Any:
    import altair as alt

    x = alt.X("rate:Q", title=rate.title, scale=_scale(rate), axis=alt.Axis(format=AXIS_FORMAT, tickCount=4, grid=True))
    part = replace(plane, width_px=plane.height_px)
    return part.sized(_layers(plane, front, x, plane.y(), across=True, upright=False), "B")


def _by_energy(plane: Plane, front: pl.DataFrame, rate: LineAxis) -> Any:
    import altair as alt

    y = alt.Y("rate:Q", title=rate.title, scale=_scale(rate), axis=alt.Axis(format=AXIS_FORMAT, tickCount=4))
    return plane.sized(_layers(plane, front, plane.x(), y, across=False, upright=True), "C")


def _scale(axis: LineAxis) -> Any:
    import altair as alt

    return alt.Scale(domain=[axis.low, axis.high], nice=False, zero=False)
