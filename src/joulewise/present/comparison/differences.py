"""Differences to the base with their intervals: one panel for each metric, one row for each point."""

from __future__ import annotations

from typing import Any

import polars as pl

from joulewise.present import theme
from joulewise.present.comparison.view import Amount, Row, View, in_unit, interval_text, p_text, verdict_text
from joulewise.present.layout import AXIS_FORMAT, Drawing, assemble, inline
from joulewise.present.parts import layer
from joulewise.study.answers.comparison import HIGHER, LOWER
from joulewise.study.answers.statistics import TIED
from joulewise.units import count

MOST_PANELS, MOST_ROWS = 6, 24
UNTESTED = "no test"
_LOOKS = {
    HIGHER: (theme.PALETTE[0], theme.PALETTE[0], "circle"),
    LOWER: (theme.PALETTE[1], theme.PALETTE[1], "square"),
    TIED: (theme.MUTED, "white", "circle"),
    UNTESTED: (theme.MUTED, theme.MUTED, "diamond"),
}
"""Outline, filling and shape of a difference, by what the trials tell."""
_WIDTH_PX, _ROW_PX = 330, 26


def draw_differences(view: View) -> Drawing:
    """Differences with intervals of each alone, thick, and of all together, thin."""
    metrics = view.comparison.metrics[:MOST_PANELS]
    parts = [_panel(view, metric) for metric in metrics]
    n_points = view.comparison.pairs.height
    more = [
        f" The first {MOST_ROWS} of {count(n_points, 'pair')} of points are shown." if n_points > MOST_ROWS else "",
        f" The first {len(metrics)} of {len(view.comparison.metrics)} metrics are shown."
        if len(metrics) < len(view.comparison.metrics)
        else "",
    ]
    return Drawing(assemble(parts), f"{_caption(view)}{''.join(more)}")


def _caption(view: View) -> str:
    """What marks and lines mean."""
    what = f"Differences to {view.base}; at zero there is none."
    n = view.comparison.n_corrected
    if not n:
        return f"{what} Nothing could be tested, so there are no intervals."
    alone = "Thick lines are 95 % confidence intervals of each difference"
    if n == 1:
        return f"{what} {alone}."
    return (
        f"{what} {alone}; thin lines hold all {n:,} differences together with 95 %. Filled marks are differences "
        "that the trials show, corrected for all of them (Holm); hollow ones they do not tell from zero."
    )


def _panel(view: View, metric: str) -> Any:
    import altair as alt

    amount, found = view.amount(metric), view.rows(metric).head(MOST_ROWS)
    rows = [_marked(view, row, amount) for row in found.iter_rows(named=True) if row["difference"] is not None]
    data = inline(rows or [_marked(view, {**found.row(0, named=True), "difference": 0.0}, amount)])
    unit = f" ({amount.of_differences})" if amount.of_differences else ""
    x = alt.X(
        "low:Q",
        title=f"difference to {view.base}{unit}",
        scale=alt.Scale(domain=_domain(data), nice=False),
        axis=alt.Axis(grid=True, format=AXIS_FORMAT, tickCount=6),
    )
    names = [row["name"] for row in rows]
    y = alt.Y("name:N", sort=names, title=None, axis=alt.Axis(grid=True, tickBand="extent", labelLimit=300))
    base = alt.Chart(data).encode(y=y, color=_colour(), tooltip=_tooltip(amount))
    zero = alt.Chart(inline([{"zero": 0}])).mark_rule(color=theme.INK, strokeWidth=1).encode(x=alt.X("zero:Q"))
    wide = base.mark_rule(strokeWidth=1).encode(x=alt.X("all_low:Q"), x2=alt.X2("all_high:Q"))
    thick = base.mark_rule(strokeWidth=3.2).encode(x=x, x2=alt.X2("high:Q"))
    points = base.mark_point(size=64, strokeWidth=1.6, opacity=1).encode(
        x=alt.X("difference:Q"), fill=_filling(), shape=_shape()
    )
    text = base.mark_text(align="left", dx=8, fontSize=theme.LABEL_PX - 1).encode(
        x=alt.value(_WIDTH_PX), color=alt.value(theme.INK), text=alt.Text("shown:N")
    )
    height = {"step": _ROW_PX, "for": "position"}
    return layer(zero, wide, thick, points, text, width=_WIDTH_PX, height=height, title=amount.title)


def _marked(view: View, row: Row, amount: Amount) -> dict[str, Any]:
    """A row as it is drawn."""
    names = ("difference", "low", "high", "all_low", "all_high", "mean", "base_mean")
    tested = row["verdict"] if row["p"] is not None else UNTESTED
    shown = {"shown": interval_text(row, amount.size), "says": verdict_text(row), "holm": p_text(row["holm_p"])}
    numbers = dict(zip(names, in_unit(row, amount.size, names), strict=True))
    return {"name": view.name(row), "looks": tested, "n": row["n"], **shown, **numbers}


def _domain(rows: pl.DataFrame) -> list[float]:
    """The span of differences with their intervals and zero, with a little room."""
    values = rows.select("difference", "all_low", "all_high").unpivot()["value"].drop_nulls()
    low, high = min([*values, 0.0]), max([*values, 0.0])
    room = 0.04 * (high - low) or 1.0
    return [low - room, high + room]


def _scaled(place: int) -> Any:
    import altair as alt

    return alt.Scale(domain=list(_LOOKS), range=[look[place] for look in _LOOKS.values()])


def _colour() -> Any:
    import altair as alt

    return alt.Color("looks:N", scale=_scaled(0), legend=None)


def _filling() -> Any:
    import altair as alt

    return alt.Fill("looks:N", scale=_scaled(1), legend=None)


def _shape() -> Any:
    import altair as alt

    return alt.Shape("looks:N", scale=_scaled(2), legend=None)


def _tooltip(amount: Amount) -> list[Any]:
    import altair as alt

    return [
        alt.Tooltip("name:N", title="what"),
        alt.Tooltip("shown:N", title="difference (95 % interval)"),
        alt.Tooltip("mean:Q", title=amount.title, format=",.4~g"),
        alt.Tooltip("base_mean:Q", title="of the base", format=",.4~g"),
        alt.Tooltip("holm:N", title="p, corrected"),
        alt.Tooltip("says:N", title="verdict"),
        alt.Tooltip("n:Q", title="trials"),
    ]
