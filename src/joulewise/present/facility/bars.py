"""Reward by technique as bars: what a day earned beside what the plans said, or what plans earn, and the bound."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import polars as pl

from joulewise.present import theme
from joulewise.present.facility.view import (
    BOUND,
    BOUND_NAME,
    CRR,
    EARNED,
    PASSES_BOUND,
    SAID_100,
    earned_metric,
    settings_beside,
    technique_key,
)
from joulewise.present.formats import fixed
from joulewise.present.layout import (
    AXIS_FORMAT,
    Drawing,
    Panel,
    assemble,
    in_percent,
    inline,
    interval_text,
    panels_of,
    whiskers,
    wrapped,
)
from joulewise.present.parts import layer
from joulewise.present.records import METHOD, Records

RR = "rr_percent"
BLIND = ("greedy", "greedy-rounds", "greedy-rates", "ga", "nlp")
"""Techniques that plan as if no core slowed another."""
CRR_NAME, RR_NAME = "co-located reward rate", "reward rate as planned, without interference"
EARNED_NAME, PLAN_NAME = "earned in a day", "its plan, if no task had to wait"
_COLOUR = theme.PALETTE[0]
_DARK, _LIGHT = (CRR_NAME, EARNED_NAME), (RR_NAME, PLAN_NAME)
_LOOKS = {
    **dict.fromkeys(_DARK, _COLOUR),
    **dict.fromkeys(_LIGHT, theme.lighter(_COLOUR, 0.72)),
    BOUND_NAME: theme.PALETTE[1],
}
_WIDTH_PX, _HALF_PX, _HEIGHTS_PX = 640, 380, (280, 200)  # of one panel, of several
_MOST_STEP_PX, _LEAST_STEP_PX, _CHARACTER_PX, _VALUE_PX = 110, 46, 6.6, 26
_GAP = 0.24  # of the band of a technique


_SAID = {
    EARNED_NAME: "What tasks earned that ended in time in a simulated day, with all waiting.",
    PLAN_NAME: "The light bars are what the plans have, if no task had to wait.",
    CRR_NAME: "Co-located reward rate of the plan of each technique, if no task has to wait.",
    RR_NAME: "The light bars are what techniques that ignore co-location plan with.",
    BOUND_NAME: "The ticks are the proven bound: no plan has more.",
}
"""What a caption tells of each measure."""


def compares_rates(records: Records) -> bool:
    """Whether a study of a facility has several techniques."""
    return records.n_runs > 0 and records.varies(technique_key(records))


def rates_by_technique(records: Records) -> Drawing:
    """What a day earned by technique with its interval, what the plan said, and the bound.

    Without days, the co-located reward rate of plans, and the reward rate with which blind techniques plan.
    """
    key = technique_key(records)
    settings = settings_beside(records, key)
    panels, note = panels_of(records, _rates(records, [*settings, key]), settings)
    top = max(_top(panel.rows) for panel in panels)
    parts = [_panel(records, panel, key, top, len(panels)) for panel in panels]
    shown = {name for panel in panels for name in panel.rows["measure"]}
    said = " ".join(words for name, words in _SAID.items() if name in shown)
    said += f" {PASSES_BOUND}" if {EARNED_NAME, BOUND_NAME} <= shown else ""
    caption = f"{said} {SAID_100[:1].upper()}{SAID_100[1:]}. {whiskers(records, metric=earned_metric(records))}{note}"
    return Drawing(assemble(parts, across=2 if _is_narrow(records, key) else 1), caption)


def _rates(records: Records, keys: list[str]) -> pl.DataFrame:
    """The mean of each measure with its interval: the keys, measure, mean, low, high, n."""
    parts = [
        _only_blind(records, records.means(metric, keys), keys, name).with_columns(measure=pl.lit(name))
        for name, metric in _measures(records).items()
        if records.measures(metric)
    ]
    return pl.concat(parts).filter(pl.col("mean").is_not_null())


def _measures(records: Records) -> dict[str, str]:
    """The metrics that are shown, by name."""
    if earned_metric(records) == EARNED:
        return {EARNED_NAME: EARNED, PLAN_NAME: CRR, BOUND_NAME: BOUND}
    return {CRR_NAME: CRR, RR_NAME: RR, BOUND_NAME: BOUND}


def _only_blind(records: Records, means: pl.DataFrame, keys: list[str], name: str) -> pl.DataFrame:
    if name != RR_NAME:
        return means
    blind = records.runs.filter(pl.col(METHOD).is_in(BLIND)).select(keys).unique()
    return means.join(blind, on=keys, how="semi", nulls_equal=True, maintain_order="left")


def _top(rows: pl.DataFrame) -> float:
    """A round percentage above all bars, whiskers and bounds."""
    most = max(float(value) for name in ("mean", "high") for value in rows[name].drop_nulls())
    return min(100.0, 10.0 * math.ceil(1.08 * most / 10)) if most <= 100 else 10.0 * math.ceil(1.04 * most / 10)


def _is_narrow(records: Records, key: str) -> bool:
    return len(records.values(key)) * _LEAST_STEP_PX <= _HALF_PX


def _panel(records: Records, panel: Panel, key: str, top: float, n_panels: int) -> Any:
    import altair as alt

    labels = {v: label for v, label in records.labels(key).items() if v in set(panel.rows[key])}
    whole_px = _WIDTH_PX if n_panels == 1 or not _is_narrow(records, key) else _HALF_PX
    step_px = max(min(whole_px / len(labels), _MOST_STEP_PX), _LEAST_STEP_PX)
    wide = max(len(word) for label in labels.values() for word in label.split()) * _CHARACTER_PX > step_px
    at = 1000 if wide else int(step_px / _CHARACTER_PX)
    rows = list(_bar_rows(panel, key, {value: wrapped(label, at) for value, label in labels.items()}))
    names = alt.Axis(labelAngle=-40 if wide else 0, labelExpr="split(datum.label, '\\n')", ticks=False, labelLimit=220)
    base = alt.Chart(inline(rows)).encode(
        x=alt.X("main:N", sort=list(dict.fromkeys(row["main"] for row in rows)), title=None, axis=names,
                scale=alt.Scale(paddingInner=_GAP, paddingOuter=_GAP / 2)),
        tooltip=[alt.Tooltip("name:N", title="technique"), alt.Tooltip("measure:N", title="what"),
                 alt.Tooltip("shown:N", title="% (95 % interval)"), alt.Tooltip("n:Q", title="trials")],
    )  # fmt: skip
    n_bars = 2 if any(row["measure"] in _LIGHT for row in rows) else 1
    layers = _layers(base, top, (1 - _GAP) * step_px, n_bars, set(panel.rows["measure"]))
    return layer(*layers, width=step_px * len(labels), height=_HEIGHTS_PX[n_panels > 1], title=panel.title)


def _bar_rows(panel: Panel, key: str, labels: dict[Any, str]) -> Iterator[dict[str, Any]]:
    """The rows of a panel in the order of the techniques; bars of one technique stand beside each other."""
    pairs = set(panel.rows.filter(pl.col("measure").is_in(_LIGHT))[key])
    order = list(labels)
    for row in sorted(panel.rows.iter_rows(named=True), key=lambda row: order.index(row[key])):
        side = (row["measure"] in _LIGHT) - (row["measure"] in _DARK)
        offset = 0.5 * side if row[key] in pairs else 0.0
        high = in_percent(row["high"])
        yield {
            "main": labels[row[key]], "name": labels[row[key]].replace("\n", " "), "measure": row["measure"],
            "mean": row["mean"], "low": in_percent(row["low"]), "high": high,
            "top": row["mean"] if high is None else max(high, row["mean"]), "value": fixed(row["mean"], 1),
            "shown": interval_text(row), "n": row["n"], "offset": offset,
        }  # fmt: skip


def _layers(base: Any, top: float, band_px: float, n_bars: int, measures: set[str]) -> list[Any]:
    """Bars with whiskers and values, and a tick at the bound across the band."""
    import altair as alt

    names = [name for name in _LOOKS if name in measures]
    colour = alt.Color(
        "measure:N", sort=None, scale=alt.Scale(domain=names, range=[_LOOKS[name] for name in names]),
        legend=alt.Legend(title=None, symbolType="square", labelLimit=320, offset=24),  # values stand between
    )  # fmt: skip
    axis = alt.Axis(tickCount=6, format=AXIS_FORMAT)
    y = alt.Y("mean:Q", title="of all reward (%)", scale=alt.Scale(domain=[0, top], nice=False), axis=axis)
    half = n_bars / 2
    offset = alt.XOffset("offset:Q", scale=alt.Scale(domain=[-half, half], nice=False, zero=False))
    bars = base.transform_filter(f"datum.measure != '{BOUND_NAME}'").encode(xOffset=offset)
    caps = bars.mark_tick(color=theme.INK, thickness=1, size=5, orient="horizontal", opacity=1)
    bar_px = 0.94 * band_px / n_bars
    layers = [
        bars.mark_bar(size=bar_px).encode(y=y, color=colour),
        bars.transform_filter(alt.FieldOneOfPredicate("measure", list(_LIGHT)))
        .mark_bar(size=bar_px, fillOpacity=0, stroke=_COLOUR, strokeDash=[3, 2], strokeWidth=1)
        .encode(y=y),
        bars.mark_rule(color=theme.INK, strokeWidth=1).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        *(caps.encode(y=alt.Y(f"{end}:Q")) for end in ("low", "high")),
    ]
    bound = base.transform_filter(f"datum.measure == '{BOUND_NAME}'").encode(xOffset=offset)
    tick = bound.mark_tick(thickness=2.5, size=band_px, orient="horizontal", opacity=1)
    layers += [tick.encode(y=alt.Y("mean:Q"), color=colour)] if BOUND_NAME in measures else []
    halo = {"stroke": "white", "strokeWidth": 3, "strokeOpacity": 0.9}
    words = [{"dy": -8, "fontSize": theme.LABEL_PX - 1, "color": theme.INK, **more} for more in (halo, {})]
    has_room = bar_px >= _VALUE_PX
    return [
        *layers,
        *(bars.mark_text(**looks).encode(y=alt.Y("top:Q"), text=alt.Text("value:N")) for looks in words if has_room),
    ]
