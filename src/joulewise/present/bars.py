"""Bars of a metric by policy, with their intervals."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from joulewise.present import theme
from joulewise.present.formats import fixed, number
from joulewise.present.layout import (
    AXIS_FORMAT,
    Layout,
    Panel,
    assemble,
    group_colour,
    hold,
    inline,
    interval_text,
    panels_of,
    pixels,
    scaled,
    shared_value,
    wrapped,
)
from joulewise.present.parts import hconcat, layer
from joulewise.present.records import MODES, POSSIBLE, Records, is_named, is_policy

_WIDTH_PX = 680
_HALF_WIDTH_PX = 340
_MAX_STEP_PX = 110
_MIN_STEP_PX = 42
_MIN_BAR_PX = 9
_VALUE_STEP_PX = 36
"""How much of a step each of its bars takes where there is room, so that values fit side by side."""
_CHARACTER_PX = 6.6
_MAX_VALUE_LABELS = 16
_GROUP_GAP = 0.2  # of the step, between groups of bars
_HEADING_PX = 16
_UNBROKEN = 1000
_ROOM = 1.08  # of the highest value, for what is written over it


@dataclass(frozen=True)
class Measure:
    """What the bars show: a metric, its axis title, the decimals of values above bars, and the most there can be.

    Without decimals values have three significant digits. `size` is that of the unit of the axis. `limit` is drawn as
    a line across the bars with its name, `limit_name`: a metric, or a value that is the same for all.
    """

    metric: str
    title: str
    decimals: int | None = 1
    most: float = 100.0
    size: float = 1.0
    limit: str | float = ""
    limit_name: str = ""

    def shown(self, value: float) -> str:
        """A value as it stands above its bar."""
        return number(value) if self.decimals is None else fixed(value, self.decimals)


def earned(records: Records) -> Measure:
    """The share of utility that was earned, with the proven bound where it is a share of that."""
    title = f"% of {records.whole}"
    return (
        Measure(records.share, title, limit=100.0, limit_name=records.bound_name)
        if records.share == POSSIBLE
        else (Measure(records.share, title))
    )


@dataclass(frozen=True)
class _BarFrame:
    """What all bar panels of one figure share."""

    records: Records
    layout: Layout
    measure: Measure
    y_domain: tuple[float, float]
    height_px: int
    step_px: float
    n_bars: int
    n_groups: int
    most: float

    @property
    def has_values(self) -> bool:
        """Whether the values fit above their bars."""
        characters = len(self.measure.shown(self.most))
        bar_px = (1 - _GROUP_GAP) * self.step_px / self.n_groups
        return self.n_bars <= _MAX_VALUE_LABELS and characters * _CHARACTER_PX <= bar_px

    @property
    def is_crowded(self) -> bool:
        """Whether a word of a label is too wide for its band, so that labels are turned."""
        words = (word for label in self.records.labels(self.layout.main).values() for word in re.split(r"[\s-]", label))
        return max(map(len, words), default=0) * _CHARACTER_PX > self.step_px

    @property
    def wrap_at(self) -> int:
        return _UNBROKEN if self.is_crowded else int(self.step_px / _CHARACTER_PX)


def draw_bars(records: Records, layout: Layout, *measures: Measure) -> tuple[Any, str]:
    """The panels of bars of one or several measures put together, and a note on panels left out."""
    made = [_bar_parts(records, layout, measure) for measure in measures or (earned(records),)]
    across = min(n_across for _, n_across, _ in made)
    return assemble([part for parts, _, _ in made for part in parts], across), made[0][2]


def _step_px(n_main: int, n_groups: int) -> float:
    """How far groups of bars are from each other."""
    most_px = max(_MAX_STEP_PX, _VALUE_STEP_PX * n_groups)
    return max(min(_WIDTH_PX / n_main, most_px), _MIN_BAR_PX * n_groups, _MIN_STEP_PX)


def _bar_parts(records: Records, layout: Layout, measure: Measure) -> tuple[list[Any], int, str]:
    """The panels of bars of a measure, how many fit side by side, and a note on panels left out."""
    summary = records.summary.filter(pl.col("metric") == measure.metric)
    ends = [pl.col(name) / measure.size for name in ("mean", "low", "high")]
    rows = _cut(hold(summary, layout.held).filter(pl.col("mean").is_not_null()).with_columns(ends), measure)
    panels, note = panels_of(records, rows, layout.panels)
    limits = [limit for panel in panels if (limit := limit_of(records, measure, panel)) is not None]
    n_main = max(panel.rows[layout.main].n_unique() for panel in panels)
    n_groups = len(records.values(layout.group)) if layout.group else 1
    frame = _BarFrame(
        records,
        layout,
        measure,
        y_domain=_y_domain(pl.concat([panel.rows for panel in panels]), measure.most, limits),
        height_px=280 if len(panels) == 1 else 190,
        step_px=_step_px(n_main, n_groups),
        n_bars=n_main * n_groups,
        n_groups=n_groups,
        most=float(rows["mean"].max() or 0.0),  # type: ignore[arg-type]
    )
    across = 2 if n_main * frame.step_px <= _HALF_WIDTH_PX else 1
    return [_panel(frame, panel) for panel in panels], across, note


def _cut(rows: pl.DataFrame, measure: Measure) -> pl.DataFrame:
    """The rows with intervals cut where no value can be: below 0, and above the most, or a mean that is higher."""
    most = pl.max_horizontal(pl.col("mean"), pl.lit(measure.most))
    least = pl.min_horizontal(pl.col("mean"), pl.lit(0.0))
    return rows.with_columns(low=pl.col("low").clip(least, most), high=pl.col("high").clip(least, most))


def limit_of(records: Records, measure: Measure, panel: Panel) -> float | None:
    """What limits the values of a panel, in the unit of the axis; None where nothing does."""
    if not isinstance(measure.limit, str):
        return measure.limit
    return scaled(shared_value(records, panel, measure.limit), measure.size) if measure.limit else None


def _y_domain(rows: pl.DataFrame, most: float, limits: Sequence[float]) -> tuple[float, float]:
    """From zero (or below, for losses) to above whiskers and limits, with room for what stands over them."""
    ends = [v for name in ("mean", "low", "high") for v in rows[name].drop_nulls() if math.isfinite(v)]
    values = [*ends, *limits]
    top, bottom = max([*values, 0.0]), min([*values, 0.0])
    if top == bottom:
        return 0.0, min(1.0, _ROOM * most)
    step = 10.0 ** math.floor(math.log10(max(top, -bottom, 1e-9))) / 10
    above = step * max(math.ceil(_ROOM * top / step), 1)
    return step * math.floor(bottom / step), min(above, _ROOM * most) if top <= most else above


def _panel(frame: _BarFrame, panel: Panel) -> Any:
    """One panel of bars; immediate and batch mode stand side by side where both are present."""

    groups, limit = _by_mode(frame, panel.rows), limit_of(frame.records, frame.measure, panel)
    if len(groups) < 2:
        chart = _bars(frame, panel.rows, first=True, last=True, limit=limit)
        return {**chart, "title": panel.title} if panel.title else chart
    parts = [
        _bars(frame, rows, first=i == 0, last=i == len(groups) - 1, heading=title, limit=limit)
        for i, (title, rows) in enumerate(groups.items())
    ]
    return hconcat(*parts, spacing=14, title=panel.title)


def _by_mode(frame: _BarFrame, rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The rows of each mode that is present, under its title; all together where no policies are compared."""
    main = frame.layout.main
    if not is_policy(main):
        return {"": rows}
    of_row = pl.Series([frame.records.mode(name) for name in rows[main]], dtype=pl.String)
    wanted = [(f"{mode} mode", of_row == mode) for mode in MODES] + [("other", ~of_row.is_in(list(MODES)))]
    return {title: rows.filter(mask) for title, mask in wanted if mask.any()}


def _bars(
    frame: _BarFrame, rows: pl.DataFrame, *, first: bool, last: bool, heading: str = "", limit: float | None = None
) -> Any:
    """Grouped bars with whiskers; the first of a row carries the value axis, the last the name of the limit."""
    import altair as alt

    records, layout = frame.records, frame.layout
    names = set(rows[layout.main].to_list())
    order = [wrapped(label, frame.wrap_at) for value, label in records.labels(layout.main).items() if value in names]
    base = alt.Chart(inline(_rows(frame, rows))).encode(
        x=alt.X(
            "main:N",
            sort=order,
            title=None if is_named(layout.main) else records.title(layout.main),
            scale=alt.Scale(paddingInner=_GROUP_GAP if layout.group else 0.4, paddingOuter=0.12),
            axis=_name_axis(turned=frame.is_crowded),
        ),
        tooltip=_tooltip(frame),
    )
    if layout.group:
        base = base.encode(xOffset=_offset(frame))
    width_px = frame.step_px * len(names)
    limit_line = _limit_line(limit, frame.measure.limit_name if last else "", width_px)
    layers = [*_layers(frame, base, first=first), *_heading(heading, width_px), *limit_line, *_values(frame, base)]
    return layer(*layers, width=width_px, height=frame.height_px)


def _offset(frame: _BarFrame) -> Any:
    """Where the bars of one name stand beside each other: in the middle of its band, however many there are."""
    import altair as alt

    half = frame.n_groups / 2
    return alt.XOffset("offset:Q", scale=alt.Scale(domain=[-half, half], nice=False, zero=False))


def _limit_line(limit: float | None, name: str, width_px: float) -> list[Any]:
    """The limit across the bars, with its name at the right end."""
    import altair as alt

    if limit is None:
        return []
    base = alt.Chart(inline([{"at": limit, "name": name}])).encode(y=alt.Y("at:Q"))
    text = base.mark_text(align="left", baseline="middle", dx=5, color=theme.MUTED, fontSize=theme.LABEL_PX - 1)
    return [
        base.mark_rule(color=theme.INK, strokeDash=[3, 3]),
        text.encode(x=pixels(width_px), text=alt.Text("name:N")),
    ]


def _name_axis(*, turned: bool) -> Any:
    """The axis of names: broken into lines, or turned where they are too wide for that."""
    import altair as alt

    if turned:
        return alt.Axis(labelAngle=-40, ticks=False, labelLimit=320)
    return alt.Axis(labelAngle=0, labelExpr="split(datum.label, '\\n')", ticks=False, labelLimit=160)


def _heading(text: str, width_px: float) -> list[Any]:
    """A heading at a fixed height over the bars; a chart title would rise with the axis labels."""
    import altair as alt

    mark: dict[str, Any] = {
        "fontSize": theme.LABEL_PX,
        "fontWeight": 600,
        "color": theme.MUTED,
        "dy": -_HEADING_PX,
    }
    chart = alt.Chart(inline([{"heading": text}])).mark_text(**mark)
    return [chart.encode(x=pixels(width_px / 2), y=pixels(0), text=alt.Text("heading:N"))] if text else []


def _rows(frame: _BarFrame, rows: pl.DataFrame) -> list[dict[str, Any]]:
    records, layout = frame.records, frame.layout
    mains = records.labels(layout.main)
    groups = records.labels(layout.group) if layout.group else {}
    offsets = _offsets(rows, layout, list(groups))
    return [
        {
            "main": wrapped(mains[row[layout.main]], frame.wrap_at),
            "name": mains[row[layout.main]],
            "group": groups[row[layout.group]] if layout.group else "",
            "mean": row["mean"],
            "low": row["low"],
            "high": row["high"],
            "top": row["mean"] if row["high"] is None else row["high"],
            "value": frame.measure.shown(row["mean"]),
            "shown": interval_text(row),
            "n": row["n"],
            "offset": offset,
        }
        for row, offset in zip(rows.iter_rows(named=True), offsets, strict=True)
    ]


def _offsets(rows: pl.DataFrame, layout: Layout, groups: list[Any]) -> list[float]:
    """How many bars right of the middle of its band each row stands."""
    if not layout.group:
        return [0.0] * rows.height
    members: dict[Any, list[Any]] = {}
    for main, group in rows.select(layout.main, layout.group).iter_rows():
        members.setdefault(main, []).append(group)
    ranked = {main: sorted(present, key=groups.index) for main, present in members.items()}
    pairs = rows.select(layout.main, layout.group).iter_rows()
    return [ranked[main].index(group) - (len(ranked[main]) - 1) / 2 for main, group in pairs]


def _layers(frame: _BarFrame, base: Any, *, first: bool) -> list[Any]:
    """Bars, and whiskers with their caps."""
    import altair as alt

    axis: dict[str, Any] = {
        "tickCount": 6,
        "format": AXIS_FORMAT,
        "labels": first,
        "title": frame.measure.title if first else None,
    }
    y = alt.Y("mean:Q", scale=alt.Scale(domain=list(frame.y_domain), nice=False), axis=alt.Axis(**axis))
    wide = {"size": (1 - _GROUP_GAP) * frame.step_px / frame.n_groups} if frame.layout.group else {}
    bars = base.mark_bar(**wide).encode(y=y, color=group_colour(frame.records, frame.layout.group))
    rules = base.mark_rule(color=theme.INK, strokeWidth=1).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q"))
    cap = base.mark_tick(color=theme.INK, thickness=1, size=5, orient="horizontal", opacity=1)
    return [bars, rules, cap.encode(y=alt.Y("low:Q")), cap.encode(y=alt.Y("high:Q"))]


def _values(frame: _BarFrame, base: Any) -> list[Any]:
    """The values above their bars while they fit, with white around them where a limit runs through."""
    import altair as alt

    looks = [{"stroke": "white", "strokeWidth": 4, "strokeJoin": "round"}, {}] if frame.has_values else []
    texts = (base.mark_text(dy=-8, fontSize=theme.LABEL_PX - 1, color=theme.INK, **look) for look in looks)
    return [text.encode(y=alt.Y("top:Q"), text=alt.Text("value:N")) for text in texts]


def _tooltip(frame: _BarFrame) -> list[Any]:
    import altair as alt

    layout = frame.layout
    group = [alt.Tooltip("group:N", title=frame.records.title(layout.group))] if layout.group else []
    return [
        alt.Tooltip("name:N", title=frame.records.words(layout.main).name),
        *group,
        alt.Tooltip("shown:N", title=f"{frame.measure.title} (95 % interval)"),
        alt.Tooltip("n:Q", title="trials"),
    ]
