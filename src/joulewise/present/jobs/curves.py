"""Busy nodes, queue and power over time, a row for each scheduler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from joulewise.present import theme
from joulewise.present.formats import power_unit
from joulewise.present.jobs.keys import SCHEDULER
from joulewise.present.jobs.view import JOB_TRACES, job_view, kept, powers_said
from joulewise.present.layout import AXIS_FORMAT, Drawing, Panel, assemble, inline, panels_of
from joulewise.present.parts import hconcat, layer
from joulewise.present.records import Records

_MOST_POINTS = 360
_DAYS_FROM_S = 4 * 86400.0
_WIDTH_PX = 250
_HEIGHTS_PX = (150, 84)  # of one row of panels, of several


@dataclass(frozen=True)
class _Quantity:
    """One column of panels: what is drawn, its title, colour, unit by the highest value, and the most there can be.

    `limit` is what limits it over time.
    """

    name: str
    title: str
    colour: str
    unit: Callable[[float], tuple[str, float]]
    most: float = 0.0
    limit: str = ""


_POWER, _CAP = "power_w", "power_cap_w"
_QUANTITIES = (
    _Quantity("busy_percent", "cores busy", theme.PALETTE[0], lambda _most: ("%", 1.0), 100.0),
    _Quantity("queue_length", "jobs waiting", theme.PALETTE[1], lambda _most: ("", 1.0)),
    _Quantity(_POWER, "power", theme.PALETTE[2], power_unit, limit=_CAP),
)


def has_curves(records: Records) -> bool:
    """Whether something was kept over time."""
    return bool(_kept_quantities(records))


def _kept_quantities(records: Records) -> list[_Quantity]:
    return [each for each in _QUANTITIES if records.keeps(JOB_TRACES, each.name)]


def jobs_over_time(records: Records) -> Drawing:
    """Busy cores, waiting jobs and power over time, a row of panels for each scheduler."""

    seen, best = job_view(records)
    quantities = _kept_quantities(records)
    limits = [each.limit for each in quantities if records.keeps(JOB_TRACES, each.limit)]
    frame = kept(seen, JOB_TRACES, ["at_s", *(each.name for each in quantities), *limits])
    keys = [*(key for key in seen.varying if key != SCHEDULER), SCHEDULER]
    panels, note = panels_of(seen, frame, keys if seen.varying else [])
    rows = []
    for i, panel in enumerate(panels):
        parts = [_part(panel, panels, each, last=i == len(panels) - 1) for each in quantities]
        rows.append(hconcat(*parts, spacing=18, title=panel.title))
    limited = " Panels of a column have the same scale." if len(panels) > 1 else ""
    limited += _cap_note(frame) if limits else ""
    caption = (
        f"What the clusters did over time: {', '.join(each.title for each in quantities)}.{limited} First kept trial."
        f"{powers_said(seen) if _POWER in frame.columns else ''}{best}{note}"
    )
    return Drawing(assemble(rows), caption)


def _cap_note(frame: pl.DataFrame) -> str:
    """What a caption says of the power cap, and of its steps where it has some."""
    n_caps = frame.group_by("run").agg(pl.col(_CAP).n_unique())[_CAP].max() if frame[_CAP].count() else 0
    changes = ", which changes over time" if n_caps != 1 else ""
    return f" The dashed line is the power cap{changes}." if n_caps else ""


def _part(panel: Panel, panels: Sequence[Panel], quantity: _Quantity, *, last: bool) -> Any:
    import altair as alt

    columns = [name for name in (quantity.name, quantity.limit) if name in panel.rows.columns]
    highest = max(float(each.rows[name].max() or 0.0) for each in panels for name in columns)  # type: ignore[arg-type]
    unit, size = quantity.unit(highest)
    end_s = max(float(each.rows["at_s"].max() or 0.0) for each in panels)  # type: ignore[arg-type]
    time, time_s = ("d", 86400.0) if end_s > _DAYS_FROM_S else ("h", 3600.0)
    top = max(quantity.most, 1.05 * highest / size) or 1.0

    def drawn_rows(name: str) -> list[dict[str, float]]:
        points = _thinned(panel.rows.sort("at_s"), name)
        return [{"x": at_s / time_s, "y": value / size} for at_s, value in points.iter_rows()]

    title = f"{quantity.title} ({unit})" if unit else quantity.title
    x_axis = alt.Axis(format=AXIS_FORMAT, tickCount=6, labelFlush=False, labels=last, ticks=last)
    start_s = min(float(each.rows["at_s"].min() or 0.0) for each in panels)  # type: ignore[arg-type]
    domain = [start_s / time_s, end_s / time_s]
    area = alt.Chart(inline(drawn_rows(quantity.name))).mark_area(
        color=quantity.colour, opacity=0.35, interpolate="step-after", line={"strokeWidth": 1, "color": quantity.colour}
    )
    drawn = area.encode(
        x=alt.X("x:Q", title=f"simulated time ({time})" if last else None, axis=x_axis,
                scale=alt.Scale(domain=domain, nice=False, zero=False)),
        y=alt.Y("y:Q", title=title, axis=alt.Axis(format=AXIS_FORMAT, tickCount=3),
                scale=alt.Scale(domain=[0, top], nice=False)),
    )  # fmt: skip
    layers = [drawn, *(_limit_line(rows) for rows in map(drawn_rows, columns[1:]) if rows)]
    return layer(*layers, width=_WIDTH_PX, height=_HEIGHTS_PX[len(panels) > 1])


def _limit_line(rows: list[dict[str, float]]) -> Any:
    """The limit of a quantity over time, in steps."""
    import altair as alt

    line = alt.Chart(inline(rows)).mark_line(
        color=theme.INK, strokeDash=[3, 3], interpolate="step-after", strokeWidth=1
    )
    return line.encode(x=alt.X("x:Q"), y=alt.Y("y:Q"))


def _thinned(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """At most this many points, each the mean of as many as there are between it and the next."""
    stride = -(-rows.height // _MOST_POINTS)
    points = rows.select("at_s", name).filter(pl.col(name).is_not_null())
    return points.group_by(pl.int_range(pl.len()) // stride, maintain_order=True).agg(
        pl.col("at_s").first(), pl.col(name).mean()
    ).select("at_s", name)  # fmt: skip
