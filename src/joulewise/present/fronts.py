"""Fronts of energy and makespan: what was found against the bound, and how a search came there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from joulewise.present import theme
from joulewise.present.formats import plain
from joulewise.present.layout import Drawing, Panel, assemble, inline, panels_of, sentence
from joulewise.present.plane import BOUND, FOUND, SNAPSHOT, Plane, bound_line, curve_of, legend_of, plane_of
from joulewise.present.records import METHOD, Records

BOUND_NAME, KNEE_NAME = "proven bound", "knee"
POINT_COLOURS = (theme.PALETTE[1], theme.PALETTE[2], theme.PALETTE[3], theme.PALETTE[6])


def first_trials(records: Records) -> pl.DataFrame:
    """The kept runs, one for each point of the study: the one of its first trial."""
    assert records.fronts is not None
    kept = records.runs.filter(pl.col("run").is_in(records.fronts["run"].unique().to_list()))
    axes = [key for key in records.study.axes if key in kept.columns]
    ranked = kept.sort("trial", maintain_order=True)
    return ranked.unique(subset=axes, keep="first", maintain_order=True) if axes else ranked.head(1)


def front_panels(records: Records, curve: str) -> tuple[list[Panel], str]:
    """The runs that kept such a curve, one panel for each setting beside the method, and a note on those left out."""
    assert records.fronts is not None
    with_curve = records.fronts.filter(pl.col("curve") == curve)["run"].unique().to_list()
    runs = first_trials(records).filter(pl.col("run").is_in(with_curve))
    return panels_of(records, runs, [key for key in records.varying if key != METHOD])


def fronts(records: Records) -> Drawing:
    """The front that each method found, with its knee, and the proven bound."""
    panels, note = front_panels(records, FOUND)
    parts = [_found_panel(records, panel, alone=len(panels) == 1) for panel in panels]
    caption = (
        "Each point is a whole allocation of the bag; left is cheaper, down is faster. No allocation lies below or "
        "left of the line, the proven bound. The ring marks the knee, the point farthest from the straight line "
        f"between the ends. First trial.{note}"
    )
    return Drawing(assemble(parts, across=2), caption)


def _found_panel(records: Records, panel: Panel, *, alone: bool) -> Any:
    labels = records.labels(METHOD)
    curves = {
        labels[row[METHOD]]: curve_of(records, panel.rows.filter(pl.col("run") == row["run"]), FOUND)
        for row in panel.rows.iter_rows(named=True)
    }
    bound = curve_of(records, panel.rows, BOUND)
    plane = plane_of([bound, *curves.values()], *((520, 340) if alone else (300, 240)))
    colours = dict(zip(labels.values(), _colours(len(labels)), strict=True))
    return plane.sized([bound_line(plane, bound, BOUND_NAME), *_found_points(plane, curves, colours)], panel.title)


def _colours(n: int) -> list[str]:
    return [POINT_COLOURS[i % len(POINT_COLOURS)] for i in range(n)]


def _named(colours: dict[str, str], title: str | None) -> Any:
    return legend_of(colours, title, symbolType="circle", symbolOpacity=1)


def _found_points(plane: Plane, curves: dict[str, pl.DataFrame], colours: dict[str, str]) -> list[Any]:
    import altair as alt

    rows = [
        {**row, "name": name, "mark": KNEE_NAME}
        for name, curve in curves.items()
        for row in plane.rows(curve, "gap_percent", "is_knee")
    ]
    tip = [
        alt.Tooltip("name:N", title="method"),
        alt.Tooltip("x:Q", title=plane.energy_title, format=",.5~g"),
        alt.Tooltip("y:Q", title=plane.makespan_title, format=",.5~g"),
        alt.Tooltip("gap_percent:Q", title="above the bound (%)", format=",.3~g"),
    ]
    base = alt.Chart(inline(rows)).encode(x=plane.x(), y=plane.y(), color=_named(colours, None), tooltip=tip)
    ring = base.transform_filter("datum.is_knee").mark_point(filled=False, size=240, strokeWidth=2, opacity=1)
    legend = alt.Legend(title=None, symbolFillColor="transparent", symbolStrokeColor=theme.INK, symbolSize=160)
    shape = alt.Shape("mark:N", scale=alt.Scale(domain=[KNEE_NAME], range=["circle"]), legend=legend)
    return [base.mark_point(filled=True, size=16, opacity=0.9), ring.encode(shape=shape)]


def front_by_generations(records: Records) -> Drawing:
    """The fronts of a genetic search after so many generations, and the proven bound."""
    panels, note = front_panels(records, SNAPSHOT)
    parts = [_generations_panel(records, panel, alone=len(panels) == 1) for panel in panels]
    caption = (
        "The front of the population after so many generations of the genetic search, from light to dark, and the "
        f"proven bound. Each point is a whole allocation; left is cheaper, down is faster. First trial.{note}"
    )
    return Drawing(assemble(parts, across=2), caption)


def _generations_panel(records: Records, panel: Panel, *, alone: bool) -> Any:
    import altair as alt

    found, bound = curve_of(records, panel.rows, SNAPSHOT), curve_of(records, panel.rows, BOUND)
    steps: Sequence[int] = found["generation"].unique().sort().to_list()
    names = [plain(step) for step in steps]
    colours = dict(zip(names, theme.ordered_lines(len(names)), strict=True))
    plane = plane_of([bound, found], *((520, 340) if alone else (300, 240)))
    rows = [{**row, "name": plain(row["generation"])} for row in plane.rows(found, "generation")]
    title = sentence("generations")
    base = alt.Chart(inline(rows)).encode(x=plane.x(), y=plane.y(), color=_named(colours, title))
    shapes = ["circle", "triangle-up", "square", "diamond", "cross", "triangle-down"]
    shape = alt.Shape(
        "name:N",
        legend=None,
        scale=alt.Scale(domain=names, range=[shapes[i % len(shapes)] for i in range(len(names))]),
    )
    points = base.mark_point(filled=True, size=22, opacity=0.9).encode(shape=shape)
    return plane.sized([bound_line(plane, bound, BOUND_NAME), points], panel.title)
