"""What is earned as one number is turned, a power cap, a redline or any other, and what one unit more of it brings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import polars as pl

from joulewise.present.facility.progress import percent_axis
from joulewise.present.facility.view import (
    BOUND,
    BOUND_NAME,
    CRR,
    SAID_100,
    numbers_swept,
    settings_beside,
    technique_key,
)
from joulewise.present.formats import plain, power_unit
from joulewise.present.layout import Drawing, Panel, assemble, in_percent, panels_of, whiskers
from joulewise.present.lines import LIMIT_LOOK, LineAxis, LinePoint, Plot, draw_lines
from joulewise.present.records import Records
from joulewise.present.views import looks_of

PRICE_NAME = "price that proves the bound"
_PLACE, _PRICE = "place", "price"
_ROOM, _WIDE, _WIDTH_PX = 0.04, 8.0, 280


@dataclass(frozen=True)
class _Number:
    """What a number that is turned means.

    `name` and `unit` are for the axis; `per` is the unit whose worth is shown, of `size` in that of the key, or empty
    where that means nothing; `price` a metric that says what one more of it brings at most; `at` a metric that has the
    number in its unit, where the key may have it otherwise.
    """

    name: str
    unit: str
    per: str = ""
    size: float = 1.0
    price: str = ""
    at: str = ""


_KINDS = {
    "cap": _Number("power cap", "W", "1 kW", 1000.0, "value_per_kw", "cap_w"),
    "redline": _Number("redline", "°C", "1 K", 1.0, "value_per_k"),
}
"""Numbers with a meaning of their own, by a word in their key; the first of them is turned where there are several."""


def _kinds(key: str) -> list[_Number]:
    return [kind for word, kind in _KINDS.items() if word in key.rpartition(".")[2].split("_")]


def _kind_of(records: Records, key: str) -> _Number:
    words = records.words(key)
    is_warmth = key.endswith("_c")
    other = _Number(words.name, "°C", "1 K") if is_warmth else _Number(words.name, words.unit)
    return next(iter(_kinds(key)), other)


def turned_key(records: Records) -> str | None:
    """Of the keys with several numbers that are swept beside the techniques the power cap, the redline or the first."""
    numbers = numbers_swept(records)
    turned = [key for key in _beside(records) if key in numbers or _has_metric(records, key)]
    ranks = list(_KINDS.values())
    return min(turned, key=lambda key: ranks.index(_kinds(key)[0]) if _kinds(key) else len(ranks), default=None)


def _beside(records: Records) -> list[str]:
    return settings_beside(records, technique_key(records))


def _has_metric(records: Records, key: str) -> bool:
    """Whether a metric has the number of a key in its unit."""
    at = _kind_of(records, key).at
    return bool(at) and records.measures(at) and records.runs[at].n_unique() > 1


def has_sweep(records: Records) -> bool:
    """Whether a number of a facility is turned."""
    return records.n_runs > 0 and turned_key(records) is not None


def rates_by_number(records: Records) -> Drawing:
    """Co-located reward rate and bound against the number that is turned, and the worth of one unit more of it."""
    turned = turned_key(records)
    assert turned is not None
    technique, kind = technique_key(records), _kind_of(records, turned)
    others = [key for key in _beside(records) if key != turned]
    seen = _with_prices(_with_places(records, turned, others), kind)
    panels, note = panels_of(seen, _means(seen, others, technique), others)
    x = _NumberAxis(kind, seen.runs[_PLACE])
    scenes = [_scene(seen, panel, technique, x) for panel in panels]
    caption = (
        f"Co-located reward rate of plans, if no task has to wait, at each {kind.name}{_bound_said(records)}; "
        f"{SAID_100}.{_worth_said(seen, kind)}{x.said} {whiskers(records, 'Points', CRR)}{note}"
    )
    return Drawing(assemble(_parts(seen, scenes, technique, x), across=2), caption)


def _bound_said(records: Records) -> str:
    return "; no plan lies above the dotted line, the proven bound" if records.measures(BOUND) else ""


def _worth_said(seen: Records, kind: _Number) -> str:
    if not kind.per:
        return ""
    price = ", and, dotted, at most by the price that proves the bound" if seen.measures(_PRICE) else ""
    return f" At the right, what {kind.per} more brings from one {kind.name} to the next{price}."


def _with_places(records: Records, turned: str, others: Sequence[str]) -> Records:
    """The records with the number of each run; where that is a metric, its mean over the trials of a setting."""
    mean = pl.col(_kind_of(records, turned).at or turned).mean().over([turned, *others])
    at = mean if _has_metric(records, turned) else pl.col(turned)
    return replace(records, runs=records.runs.with_columns(at.cast(pl.Float64).alias(_PLACE)))


def _with_prices(records: Records, kind: _Number) -> Records:
    """The records with what a unit more brings at most, in percentage points, where that is known."""
    if not kind.price or not records.measures(kind.price, "most_reward_per_s"):
        return records
    most = pl.col("most_reward_per_s")
    price = pl.when(most > 0).then(100 * pl.col(kind.price) / most).alias(_PRICE)
    return replace(records, runs=records.runs.with_columns(price))


def _means(seen: Records, others: Sequence[str], technique: str) -> pl.DataFrame:
    """Means with their intervals: other keys, technique, place, metric, mean, low, high, n.

    Bounds and prices are of the facility: each trial counts once, whatever techniques were run, which is null for them.
    """
    places = [*others, _PLACE]
    parts = [seen.means(CRR, [*places, technique]).with_columns(metric=pl.lit(CRR))]
    for name in (BOUND, _PRICE):
        if seen.measures(name):
            once = replace(
                seen, runs=seen.runs.group_by([*places, "trial"], maintain_order=True).agg(pl.col(name).min())
            )
            parts.append(once.means(name, places).with_columns(metric=pl.lit(name)))
    means = pl.concat(parts, how="diagonal_relaxed")
    return means.filter(pl.col("mean").is_not_null()).sort(_PLACE, maintain_order=True)


class _NumberAxis:
    """The axis of the number: in a unit that suits it, or logarithmic where it spans much and a unit has no worth."""

    def __init__(self, kind: _Number, places: pl.Series) -> None:
        values = places.unique().drop_nulls().sort().to_list()
        self.kind = kind
        self.is_log = not kind.per and values[0] > 0 and values[-1] > _WIDE * values[0]
        unit, self.size = power_unit(values[-1]) if kind.unit == "W" else (kind.unit, 1.0)
        at = {self.at(value): plain(value) for value in values}
        room = _ROOM * (max(at) - min(at))
        title = f"{kind.name} ({unit})" if unit else kind.name
        self.axis = LineAxis(title, min(at) - room, max(at) + room, at if self.is_log else None)

    def at(self, value: float) -> float:
        """Where a number is on the axis."""
        return math.log10(value) if self.is_log else value / self.size

    @property
    def said(self) -> str:
        return " The axis is logarithmic." if self.is_log else ""


@dataclass(frozen=True)
class _SweepLines:
    """The lines of a panel: what is earned, with the bound, and what a unit more brings, with its price."""

    title: str
    earned: Mapping[str, Sequence[LinePoint]]
    worth: Mapping[str, Sequence[LinePoint]]


def _scene(seen: Records, panel: Panel, technique: str, x: _NumberAxis) -> _SweepLines:
    labels = seen.labels(technique)
    parts = {part[technique][0]: part for part in panel.rows.filter(metric=CRR).partition_by(technique)}
    lines = {label: _points(parts[value], x) for value, label in labels.items() if value in parts}
    bound, price = (_points(panel.rows.filter(metric=name), x) for name in (BOUND, _PRICE))
    rises = {name: slopes(points, x.size / x.kind.size) for name, points in lines.items() if len(points) > 1}
    earned = {**lines, **({BOUND_NAME: bound} if bound else {})}
    return _SweepLines(panel.title, earned, {**rises, **({PRICE_NAME: price} if price else {})} if x.kind.per else {})


def _points(rows: pl.DataFrame, x: _NumberAxis) -> list[LinePoint]:
    return [
        LinePoint(x.at(row[_PLACE]), row["mean"], in_percent(row["low"]), in_percent(row["high"]))
        for row in rows.iter_rows(named=True)
    ]


def _parts(seen: Records, scenes: Sequence[_SweepLines], technique: str, x: _NumberAxis) -> list[Any]:
    """Every panel, with what a unit more brings beside it."""
    looks = {**looks_of(seen, technique), BOUND_NAME: LIMIT_LOOK, PRICE_NAME: LIMIT_LOOK}
    earned = percent_axis([value for scene in scenes for value in _values(scene.earned)])
    worth = _worth_axis(x.kind, [value for scene in scenes for value in _values(scene.worth)])
    plots = [
        plot
        for scene in scenes
        for plot in (
            Plot(scene.earned, looks, x.axis, earned, scene.title, _WIDTH_PX),
            Plot(scene.worth, looks, x.axis, worth, scene.title and " ", _WIDTH_PX, has_bands=True),
        )
    ]
    return [draw_lines(plot) for plot in plots if plot.lines]


def slopes(points: Sequence[LinePoint], units: float) -> list[LinePoint]:
    """How much a line rises from one point to the next, per unit of which one step of the axis has this many."""
    pairs = list(pairwise(points))
    rises = [(right.y - left.y) / ((right.x - left.x) * units) for left, right in pairs]
    return [LinePoint(end.x, rise) for (left, right), rise in zip(pairs, rises, strict=True) for end in (left, right)]


def _values(lines: Mapping[str, Sequence[LinePoint]]) -> list[float | None]:
    return [value for points in lines.values() for point in points for value in (point.y, point.low, point.high)]


def _worth_axis(kind: _Number, values: Sequence[float | None]) -> LineAxis:
    """From zero, or below where more of it earns less, to a little above the most."""
    shown = [value for value in values if value is not None]
    low, high = min([0.0, *shown]), max([0.0, *shown])
    room = 0.06 * (high - low) or 1.0
    return LineAxis(f"worth of {kind.per} (percentage points)", low - room if low < 0 else 0.0, high + room)
