"""Utility against energy of all policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from joulewise.present import theme
from joulewise.present.formats import energy_unit
from joulewise.present.layout import (
    AXIS_FORMAT,
    Drawing,
    Panel,
    assemble,
    inline,
    panels_of,
    pixels,
    roomy,
    scaled,
    sentence,
    shared_value,
)
from joulewise.present.parts import layer
from joulewise.present.records import BOUND, Records
from joulewise.present.views import beside
from joulewise.units import count

_SHAPES = ("circle", "square", "triangle-up", "diamond")
_ALIKE = 0.01  # energies that differ by no more, relative to the largest, say nothing
_WIDE_PX, _NARROW_PX, _HEIGHT_PX = 430, 270, 320


@dataclass(frozen=True)
class _Spans:
    """What all panels share: the main key, the spans of both axes, the unit of energy and its size in joules."""

    records: Records
    main: str
    x_domain: list[float]
    y_domain: list[float]
    unit: str
    size: float
    width_px: int


def draw_tradeoff(records: Records, main: str, tuned: Sequence[str] = (), best: str = "") -> Drawing:
    """Mean utility against mean energy with both intervals, the budget and the proven bound.

    A point is a value of the main key at values of the tuned ones; `best` says how others are tuned.
    """
    rest = beside(records, (main, *tuned))
    panels, note = panels_of(records, points(records, [main, *tuned, *rest]), rest)
    scene = _scene(records, main, panels)
    joined = f" Thin lines join the settings of each {records.title(main)}." if tuned else ""
    words = {"budget_j": "the energy budget", BOUND: f"the {records.bound_name}, which nobody can exceed"}
    limits = [said for name, said in words.items() if any(shared_value(records, panel, name) for panel in panels)]
    dashed = f" Dashed lines: {'; '.join(limits)}." if limits else ""
    n_trials = int(max(panel.rows["n"].max() for panel in panels))  # type: ignore[type-var, arg-type]
    sampling = records.error.sampling
    crosses = f"crosses {sampling.intervals}" if n_trials > 1 else "too few for intervals"
    caption = (
        f"Utility earned against energy used: up is better, left is cheaper.{dashed} Points are "
        f"{sampling.figures.format(count(n_trials, 'trial'))}, {crosses}.{joined}{note}{best}"
    )
    return Drawing(assemble([_panel(scene, panel) for panel in panels], across=2), caption)


def energies_differ(records: Records) -> bool:
    """Whether runs used so different energies that utility against energy says more than utility alone."""
    if not records.measures("utility", "energy_j"):
        return False
    used_j = records.runs["energy_j"].drop_nulls()
    return float(used_j.max() - used_j.min()) > _ALIKE * float(used_j.max())  # type: ignore[arg-type, operator]


def points(records: Records, keys: Sequence[str]) -> pl.DataFrame:
    """Mean utility (`mean`, `low`, `high`) and energy (`energy_j`, `least_j`, `most_j`) at each point of the keys."""
    names = {"mean": "energy_j", "low": "least_j", "high": "most_j"}
    used = _cut(records.means("energy_j", keys)).rename(names).drop("n")
    return _cut(records.means("utility", keys)).join(used, on=list(keys), nulls_equal=True, maintain_order="left")


def _cut(means: pl.DataFrame) -> pl.DataFrame:
    """The means with intervals cut at nothing, where they are above it: few trials have wide ones."""
    return means.with_columns(low=pl.col("low").clip(pl.min_horizontal(pl.col("mean"), pl.lit(0.0))))


def _scene(records: Records, main: str, panels: Sequence[Panel]) -> _Spans:
    budgets = [shared_value(records, panel, "budget_j") for panel in panels]
    bounds = [shared_value(records, panel, "utility_bound") for panel in panels]
    rows = pl.concat([panel.rows for panel in panels])
    unit, size = energy_unit(float(rows["energy_j"].max() or 0.0))  # type: ignore[arg-type]
    x_domain = _domain(rows.select("energy_j", "least_j", "most_j"), budgets)
    y_domain = _domain(rows.select("mean", "low", "high"), bounds)
    width_px = _WIDE_PX if len(panels) == 1 else _NARROW_PX
    return _Spans(records, main, [x / size for x in x_domain], y_domain, unit, size, width_px)


def _domain(points: pl.DataFrame, lines: Sequence[float | None]) -> list[float]:
    """The span of values and lines."""
    return roomy(
        [v for column in points.iter_columns() for v in column.drop_nulls()] + [v for v in lines if v is not None]
    )


def _panel(scene: _Spans, panel: Panel) -> Any:
    import altair as alt

    labels = scene.records.labels(scene.main)
    rows = [
        {
            "name": labels[row[scene.main]],
            "x": row["energy_j"] / scene.size,
            "x_low": scaled(row["least_j"], scene.size),
            "x_high": scaled(row["most_j"], scene.size),
            "y": row["mean"], "y_low": row["low"], "y_high": row["high"], "index": i,
        }
        for i, row in enumerate(panel.rows.iter_rows(named=True))
    ]  # fmt: skip
    base = alt.Chart(inline(rows)).encode(color=_colour(list(labels.values()), scene), tooltip=_tooltip(scene))
    x = alt.X(
        "x:Q",
        title=f"energy used ({scene.unit})",
        scale=alt.Scale(domain=scene.x_domain, nice=False, zero=False),
        axis=alt.Axis(grid=True, format=AXIS_FORMAT, tickCount=6, labelFlush=False),
    )
    y = alt.Y(
        "y:Q",
        title="utility earned",
        scale=alt.Scale(domain=scene.y_domain, nice=False, zero=False),
        axis=alt.Axis(format=AXIS_FORMAT, tickCount=6),
    )
    layers = [
        *_limits(scene, panel),
        base.mark_line(strokeWidth=0.8, opacity=0.6).encode(x=x, y=y, order=alt.Order("index:Q")),
        base.mark_rule(strokeWidth=1.2).encode(x=alt.X("x_low:Q"), x2=alt.X2("x_high:Q"), y=y),
        base.mark_rule(strokeWidth=1.2).encode(y=alt.Y("y_low:Q"), y2=alt.Y2("y_high:Q"), x=x),
        base.mark_point(filled=True, size=55, opacity=1).encode(x=x, y=y, shape=_shape(list(labels.values()), scene)),
    ]
    return layer(*layers, width=scene.width_px, height=_HEIGHT_PX, title=panel.title)


def _limits(scene: _Spans, panel: Panel) -> list[Any]:
    """The budget across and the bound along, each with its name."""
    import altair as alt

    mark: dict[str, Any] = {"color": theme.MUTED, "strokeDash": [5, 4]}
    text: dict[str, Any] = {"color": theme.MUTED, "fontSize": theme.LABEL_PX - 1}
    budget_j, bound = (shared_value(scene.records, panel, name) for name in ("budget_j", "utility_bound"))
    layers = []
    if budget_j is not None:
        base = alt.Chart(inline([{"at": budget_j / scene.size, "name": "budget"}])).encode(x=alt.X("at:Q"))
        words = base.mark_text(align="left", baseline="bottom", angle=270, dy=-3, dx=4, **text)
        layers += [
            base.mark_rule(**mark),
            words.encode(y=pixels(_HEIGHT_PX), text=alt.Text("name:N")),
        ]
    if bound is not None:
        base = alt.Chart(inline([{"at": bound, "name": scene.records.bound_name}])).encode(y=alt.Y("at:Q"))
        words = base.mark_text(align="left", baseline="bottom", dx=4, dy=-3, **text)
        layers += [base.mark_rule(**mark), words.encode(x=pixels(0), text=alt.Text("name:N"))]
    return layers


def _colour(labels: Sequence[str], scene: _Spans) -> Any:
    import altair as alt

    colours = [theme.line_style(i)[0] for i in range(len(labels))]
    return alt.Color("name:N", scale=alt.Scale(domain=list(labels), range=colours), legend=_legend(scene))


def _shape(labels: Sequence[str], scene: _Spans) -> Any:
    """A shape for every turn through the colours, so that no two policies look alike."""
    import altair as alt

    shapes = [_SHAPES[i // len(theme.LINE_PALETTE) % len(_SHAPES)] for i in range(len(labels))]
    return alt.Shape("name:N", scale=alt.Scale(domain=list(labels), range=shapes), legend=_legend(scene))


def _legend(scene: _Spans) -> Any:
    import altair as alt

    return alt.Legend(
        title=sentence(scene.records.title(scene.main)), orient="right", direction="vertical", titleOrient="top",
        columns=1, symbolOpacity=1, symbolSize=55, labelLimit=320,
    )  # fmt: skip


def _tooltip(scene: _Spans) -> list[Any]:
    import altair as alt

    return [
        alt.Tooltip("name:N", title=scene.records.title(scene.main)),
        alt.Tooltip("x:Q", title=f"energy used ({scene.unit})", format=",.4~r"),
        alt.Tooltip("y:Q", title="utility earned", format=",.4~r"),
    ]
