"""Paired differences to the best policy, as points with their intervals."""

from __future__ import annotations

from functools import partial
from typing import Any

import polars as pl

from joulewise.present import theme
from joulewise.present.formats import signed
from joulewise.present.layout import (
    AXIS_FORMAT,
    Drawing,
    Layout,
    Panel,
    around_zero,
    assemble,
    group_colour,
    inline,
    interval_text,
    panels_of,
)
from joulewise.present.parts import layer
from joulewise.present.records import Records

_ROW_PX = 34
_GROUP_PX = 9
_ROOM = 0.03


def draw_differences(records: Records, layout: Layout, best: str = "") -> Drawing:
    """Paired differences in utility to the best at each setting, one row per policy; `best` says how they are tuned."""
    panels, note = panels_of(records, records.behind_best, layout.panels)
    shown = pl.concat([panel.rows for panel in panels])
    domain = around_zero(shown.select("mean", "low", "high").unpivot()["value"].drop_nulls(), _ROOM)
    parts = [_panel(records, layout, panel, domain) for panel in panels]
    spans = (
        " Lines are 95 % confidence intervals; where one reaches zero, the trials do not tell the two apart."
        if shown["low"].count()
        else " One trial only, so there are no intervals."
    )
    caption = (
        f"Difference in utility between each {records.words(layout.main).name} and {named_best(records)}, on the same "
        f"trials, in percentage points of {records.whole}.{spans}{best}{note}"
    )
    return Drawing(assemble(parts, across=2), caption)


def named_best(records: Records) -> str:
    """The best with its name, and where it is the best, if it is not so at every setting."""
    if records.main is None or records.best.is_empty():
        return "the best"
    winners = records.best[records.main].value_counts(sort=True).rows()
    named = [(records.label(records.main, value), n) for value, n in winners]
    if len(named) == 1:
        return f"the best, {named[0][0]}"
    return f"the best at the same setting ({', '.join(f'{name} at {n}' for name, n in named)})"


def _short_best(records: Records) -> str:
    """The name of the best where it is so at every setting."""
    winners = records.best[records.main].unique().to_list() if records.main else []
    return records.label(str(records.main), winners[0]) if len(winners) == 1 else "the best"


def _panel(records: Records, layout: Layout, panel: Panel, domain: list[float]) -> Any:
    import altair as alt

    labels = records.labels(layout.main)
    groups = records.labels(layout.group) if layout.group else {}
    present = set(panel.rows[layout.main].to_list())
    rows = [
        {
            "main": labels[row[layout.main]],
            "against": labels[row["against"]],
            "group": groups[row[layout.group]] if layout.group else "",
            "mean": row["mean"], "low": row["low"], "high": row["high"], "n": row["n"],
            "shown": interval_text(row, signed, partial(signed, decimals=1)),
        }
        for row in panel.rows.iter_rows(named=True)
    ]  # fmt: skip
    order = [label for value, label in labels.items() if value in present]
    base = alt.Chart(inline(rows)).encode(
        y=alt.Y("main:N", sort=order, title=None, axis=alt.Axis(grid=True, tickBand="extent", labelLimit=320)),
        color=group_colour(records, layout.group),
        tooltip=_tooltip(records, layout),
    )
    if layout.group:
        base = base.encode(yOffset=alt.YOffset("group:N", sort=list(groups.values())))
    step_px = max(_ROW_PX, _GROUP_PX * max(len(groups), 1) + 8)
    x = alt.X(
        "low:Q",
        title=f"difference to {_short_best(records)} (percentage points)",
        scale=alt.Scale(domain=domain, nice=False),
        axis=alt.Axis(grid=True, format=AXIS_FORMAT, tickCount=7),
    )
    zero = alt.Chart(inline([{"zero": 0}])).mark_rule(color=theme.MUTED, strokeDash=[3, 3]).encode(x=alt.X("zero:Q"))
    spans = base.mark_rule(strokeWidth=1.6).encode(x=x, x2=alt.X2("high:Q"))
    points = base.mark_point(filled=True, size=36, opacity=1).encode(x=alt.X("mean:Q"))
    height = {"step": step_px, "for": "position"}
    return layer(zero, spans, points, width=300, height=height, title=panel.title)


def _tooltip(records: Records, layout: Layout) -> list[Any]:
    import altair as alt

    group = [alt.Tooltip("group:N", title=records.title(layout.group))] if layout.group else []
    return [
        alt.Tooltip("main:N", title=records.words(layout.main).name),
        *group,
        alt.Tooltip("against:N", title="against"),
        alt.Tooltip("shown:N", title="percentage points (95 % interval)"),
        alt.Tooltip("n:Q", title="trials"),
    ]
