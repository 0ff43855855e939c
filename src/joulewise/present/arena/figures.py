"""Figures of the arena: shares of the bound, where policies win and lose, and at which time of day."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import polars as pl

from joulewise.present import theme
from joulewise.present.arena.tables import Board, share_text, slice_names
from joulewise.present.layout import AXIS_FORMAT, Drawing, assemble, inline
from joulewise.present.parts import layer
from joulewise.study.arena.standings import SHARE

_WIDTH_PX, _ROW_PX = 420, 20
_MOST_LINES = 5
_OWN, _OTHER = "own", "other"


class Figure(NamedTuple):
    """A figure of a set: its name, its title, and what draws it."""

    name: str
    title: str
    draw: Callable[[Board], Drawing]


def draw_shares(board: Board) -> Drawing:
    """The share of each policy with its interval."""
    import altair as alt

    rows = [_marked(board, row) for row in board.standings.table.drop_nulls(SHARE).iter_rows(named=True)]
    base = _base(board, rows, "name", [row["name"] for row in rows])
    spans = base.mark_rule(strokeWidth=1.6).encode(x=_x("low:Q"), x2=alt.X2("high:Q"))
    points = base.mark_point(filled=True, size=44, opacity=1).encode(x=_x(f"{SHARE}:Q"))
    spread = " with the 95 % interval over trials" if board.standings.table["low"].count() else ", one trial"
    caption = f"Mean over all worlds{spread}. No policy can earn more than 100 %: that is proven."
    return Drawing(assemble([_panel(spans, points)]), caption)


def draw_worlds(board: Board) -> Drawing:
    """The share of each policy in each world."""
    worlds = board.standings.worlds
    rows = [
        {**_marked(board, row), "world": world}
        for world in worlds
        for row in board.standings.in_world(world).table.drop_nulls(SHARE).iter_rows(named=True)
    ]
    base = _base(board, rows, "world", worlds)
    points = base.mark_point(filled=True, size=40, opacity=0.7).encode(x=_x(f"{SHARE}:Q"))
    return Drawing(assemble([_panel(points)]), f"One mark for each policy{_of_own(board)}; point at one for its name.")


def draw_slices(board: Board) -> Drawing:
    """What the first policies earn in each part of the day, compared with the best of all others than the own."""
    import altair as alt

    best, names = board.best, _first_policies(board)
    base = pl.col(SHARE).filter(pl.col("policy") == best).first().over("slice")
    slices = board.standings.slices.with_columns(gap=pl.col(SHARE) - base).filter(pl.col("policy").is_in(names))
    hours = slice_names()
    rows = [
        {"name": board.title(row["policy"]), "hours": hours[row["slice"]], "gap": row["gap"]}
        for row in slices.iter_rows(named=True)
    ]
    labels = [board.title(name) for name in names]
    scale = alt.Scale(domain=labels, range=theme.categorical(len(labels)))
    chart = alt.Chart(inline(rows)).mark_line(point=True).encode(
        x=alt.X("hours:N", sort=hours, title="time of day", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("gap:Q", title=f"percentage points against {board.title(best)}", axis=alt.Axis(grid=True)),
        color=alt.Color("name:N", title="Policy", sort=None, scale=scale, legend=alt.Legend(columns=3)),
        tooltip=["name:N", "hours:N", alt.Tooltip("gap:Q", format="+.2f")],
    )  # fmt: skip
    caption = (
        "Percent of the bound that were earned in each part of the day, less what the best of the others earned then."
    )
    return Drawing(assemble([layer(chart, width=_WIDTH_PX, height=220)]), caption)


FIGURES = (
    Figure("shares", "Share of the proven bound", draw_shares),
    Figure("worlds", "Where policies win and lose", draw_worlds),
    Figure("hours", "What is earned when", draw_slices),
)


def _first_policies(board: Board) -> list[str]:
    """The policies that stand first, the own one among them."""
    first = [name for name in board.standings.table["policy"] if name != board.own][:_MOST_LINES]
    return [board.own, *first] if board.own else first


def _marked(board: Board, row: dict[str, Any]) -> dict[str, Any]:
    who = _OWN if row["policy"] == board.own else _OTHER
    ends = {name: row[name] for name in (SHARE, "low", "high")}
    return {"name": board.title(row["policy"]), "who": who, "shown": share_text(row), **ends}


def _base(board: Board, rows: list[dict[str, Any]], down: str, order: list[str]) -> Any:
    import altair as alt

    looks = alt.Scale(domain=[_OTHER, _OWN], range=[theme.MUTED if board.own else theme.PALETTE[0], theme.PALETTE[1]])
    return alt.Chart(inline(rows)).encode(
        y=alt.Y(f"{down}:N", sort=order, title=None, axis=alt.Axis(grid=True, tickBand="extent", labelLimit=300)),
        color=alt.Color("who:N", scale=looks, legend=None),
        tooltip=["name:N", alt.Tooltip("shown:N", title="% of bound (± half of 95 % interval)")],
    )


def _x(field: str) -> Any:
    import altair as alt

    axis = alt.Axis(grid=True, format=AXIS_FORMAT)
    return alt.X(field, title="% of the proven bound", scale=alt.Scale(domain=[0, 100], clamp=True), axis=axis)


def _panel(*layers: Any) -> Any:
    return layer(*layers, width=_WIDTH_PX, height={"step": _ROW_PX, "for": "position"})


def _of_own(board: Board) -> str:
    return f", that of {board.title(board.own)} in another colour" if board.own else ""
