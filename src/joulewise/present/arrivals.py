"""How much work arrives over time, as a line."""

from __future__ import annotations

from typing import Any

import polars as pl

from joulewise.present import theme
from joulewise.present.layout import AXIS_FORMAT, inline
from joulewise.present.parts import whole

WIDTH_PX, HEIGHT_PX = 700, 230


def arrivals_line(table: pl.DataFrame, x_title: str, y_title: str) -> Any:
    """A line of the arrivals in equal steps: `at_h`, when a step begins, and `n`, how many arrive in it."""
    import altair as alt

    line = alt.Chart(inline(table.to_dicts())).mark_line(strokeWidth=0.8, color=theme.PALETTE[0])
    ends_h = [float(value) for value in (table["at_h"].min(), table["at_h"].max())]  # type: ignore[arg-type]
    chart = line.encode(
        alt.X("at_h:Q", title=x_title, scale=alt.Scale(domain=ends_h, nice=False)),
        alt.Y("n:Q", title=y_title, axis=alt.Axis(format=AXIS_FORMAT)),
    )
    return whole(chart.properties(width=WIDTH_PX, height=HEIGHT_PX), theme.CONFIG)
