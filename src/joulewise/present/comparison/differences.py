"""Differences to the base with their intervals: one panel for each metric, one row for each point."""

from __future__ import annotations

from typing import Any

from joulewise.present import theme
from joulewise.present.comparison.view import Amount, Row, View, interval_text, p_text, verdict_text
from joulewise.present.layout import AXIS_FORMAT, Drawing, around_zero, assemble, inline, scaled
from joulewise.present.parts import layer
from joulewise.study.answers.comparison import HIGHER, LOWER
from joulewise.study.answers.statistics import TIED
from joulewise.units import all_of, count

MOST_PANELS, MOST_ROWS = 6, 24
UNTESTED = "no test"
_LOOKS = {
    HIGHER: (theme.PALETTE[0], theme.PALETTE[0], "circle"),
    LOWER: (theme.PALETTE[1], theme.PALETTE[1], "square"),
    TIED: (theme.MUTED, "white", "circle"),
    UNTESTED: (theme.MUTED, theme.MUTED, "diamond"),
}
"""Outline, filling and shape of a difference, by what the trials tell."""
_WIDTH_PX, _ROW_PX, _ROOM = 330, 26, 0.04
_NUMBERS = ("difference", "low", "high", "all_low", "all_high", "mean", "base_mean")


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
        f"{what} {alone}; thin lines hold {all_of(n, 'differences')} together with 95 %. Filled marks are differences "
        "that the trials show, corrected for all of them (Holm); hollow ones they do not tell from zero."
    )


def _panel(view: View, metric: str) -> Any:
    import altair as alt

    amount, found = view.amount(metric), view.rows(metric).head(MOST_ROWS)
    rows = [_marked(view, row, amount) for row in found.iter_rows(named=True) if row["difference"] is not None]
    data = inline(rows or [_marked(view, {**found.row(0, named=True), "difference": 0.0}, amount)])
    ends = data.select("difference", "all_low", "all_high").unpivot()["value"].drop_nulls()
    unit = f" ({amount.of_differences})" if amount.of_differences else ""
    x = alt.X(
        "low:Q",
        title=f"difference to {view.base}{unit}",
        scale=alt.Scale(domain=around_zero(ends, _ROOM), nice=False),
        axis=alt.Axis(grid=True, format=AXIS_FORMAT, tickCount=6),
    )
    names = [row["name"] for row in rows]
    y = alt.Y("name:N", sort=names, title=None, axis=alt.Axis(grid=True, tickBand="extent", labelLimit=300))
    looks = _looks()
    base = alt.Chart(data).encode(y=y, color=looks.pop("color"), tooltip=_tooltip(amount))
    zero = alt.Chart(inline([{"zero": 0}])).mark_rule(color=theme.INK, strokeWidth=1).encode(x=alt.X("zero:Q"))
    wide = base.mark_rule(strokeWidth=1).encode(x=alt.X("all_low:Q"), x2=alt.X2("all_high:Q"))
    thick = base.mark_rule(strokeWidth=3.2).encode(x=x, x2=alt.X2("high:Q"))
    points = base.mark_point(size=64, strokeWidth=1.6, opacity=1).encode(x=alt.X("difference:Q"), **looks)
    text = base.mark_text(align="left", dx=8, fontSize=theme.LABEL_PX - 1).encode(
        x=alt.value(_WIDTH_PX), color=alt.value(theme.INK), text=alt.Text("shown:N")
    )
    height = {"step": _ROW_PX, "for": "position"}
    return layer(zero, wide, thick, points, text, width=_WIDTH_PX, height=height, title=amount.title)


def _marked(view: View, row: Row, amount: Amount) -> dict[str, Any]:
    """A row as it is drawn."""
    tested = row["verdict"] if row["p"] is not None else UNTESTED
    shown = {"shown": interval_text(row, amount.size), "says": verdict_text(row), "holm": p_text(row["holm_p"])}
    numbers = {name: scaled(row[name], amount.size) for name in _NUMBERS}
    return {"name": view.name(row), "looks": tested, "n": row["n"], **shown, **numbers}


def _looks() -> dict[str, Any]:
    """The outline, filling and shape of marks, by what the trials tell."""
    import altair as alt

    channels = {"color": alt.Color, "fill": alt.Fill, "shape": alt.Shape}
    return {
        name: channel("looks:N", scale=alt.Scale(domain=list(_LOOKS), range=list(looks)), legend=None)
        for (name, channel), looks in zip(channels.items(), zip(*_LOOKS.values(), strict=True), strict=True)
    }


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
