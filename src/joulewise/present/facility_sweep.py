"""What is earned as one number is turned, a power cap, a redline or any other, and what one unit more of it brings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import polars as pl

from joulewise.present.facility_progress import percent_axis
from joulewise.present.facility_view import (
    BOUND,
    BOUND_NAME,
    SAID_100,
    numbers_swept,
    of_facility,
    settings_beside,
    technique_key,
)
from joulewise.present.formats import key_words, power_unit
from joulewise.present.layout import Drawing, Panel, assemble, in_percent, panels_of, whiskers
from joulewise.present.lines import BUDGET_LOOK, Axis, Plot, Point, draw_lines
from joulewise.present.records import CRR, Records
from joulewise.present.settings import looks_of

PRICE_NAME = "price that proves the bound"
_PLACE, _PRICE = "place", "price"
_ROOM, _WIDTH_PX = 0.04, 280


@dataclass(frozen=True)
class _Kind:
    """What a number that is turned means.

    `name` and `unit` are for the axis; `per` is the unit whose worth is shown, of `size` in that of the key; `price` a
    metric that says what one more of it brings at most; `at` a metric that has the number in its unit, where the key
    may have it otherwise.
    """

    name: str
    unit: str
    per: str
    size: float = 1.0
    price: str = ""
    at: str = ""


_KINDS = {
    "cap": _Kind("power cap", "W", "1 kW", 1000.0, "value_per_kw", "cap_w"),
    "redline": _Kind("redline", "°C", "1 K", 1.0, "value_per_k"),
}
"""Numbers with a meaning of their own, by a word in their key."""


def _kind_of(key: str) -> _Kind:
    known = (kind for word, kind in _KINDS.items() if word in key.rpartition(".")[2].split("_"))
    is_warmth = key.endswith("_c")
    words = key_words(key)
    plain = _Kind(words.name, "°C" if is_warmth else words.unit, "1 K" if is_warmth else f"1 {words.unit or 'more'}")
    return next(known, plain)


def turned_key(records: Records) -> str | None:
    """The first key with several numbers that is swept beside the techniques, or that changes the power cap."""
    numbers = numbers_swept(records)
    return next((key for key in _beside(records) if key in numbers or _is_known(records, key)), None)


def _beside(records: Records) -> list[str]:
    return settings_beside(records, technique_key(records))


def _is_known(records: Records, key: str) -> bool:
    kind = _kind_of(key)
    return bool(kind.at) and records.measures(kind.at) and records.runs[kind.at].n_unique() > 1


def has_sweep(records: Records) -> bool:
    """Whether a number of a facility is turned."""
    return of_facility(records) and turned_key(records) is not None


def rates_by_number(records: Records) -> Drawing:
    """Co-located reward rate and bound against the number that is turned, and the worth of one unit more of it."""
    turned = turned_key(records)
    assert turned is not None
    technique, kind = technique_key(records), _kind_of(turned)
    seen = _with_prices(_with_places(records, turned, kind), kind)
    others = [key for key in _beside(records) if key != turned]
    panels, note = panels_of(seen, _means(seen, [*others, technique, _PLACE]), others)
    x, size = _number_axis(kind, seen.runs[_PLACE])
    scenes = [_scene(seen, panel, technique, size, size / kind.size) for panel in panels]
    earned = percent_axis([value for scene in scenes for value in _values(scene.earned)])
    worth = _worth_axis(kind, [value for scene in scenes for value in _values(scene.worth)])
    looks = {**looks_of(seen, technique), BOUND_NAME: BUDGET_LOOK, PRICE_NAME: BUDGET_LOOK}
    parts = [
        part
        for scene in scenes
        for part in (
            draw_lines(Plot(scene.earned, looks, x, earned, scene.title, _WIDTH_PX)),
            draw_lines(Plot(scene.worth, looks, x, worth, scene.title and " ", _WIDTH_PX, has_bands=True)),
        )
    ]
    caption = (
        f"Left: co-located reward rate at each {kind.name}{_bound_said(records)}; {SAID_100}. Right: what {kind.per} "
        f"{'' if kind.per.endswith('more') else 'more '}brings from one {kind.name} to the next"
        f"{_price_said(seen)}. {whiskers(records, 'Points', CRR)}{note}"
    )
    return Drawing(assemble(parts, across=2), caption)


def _bound_said(records: Records) -> str:
    return "; no plan lies above the dashed line, the proven bound" if records.measures(BOUND) else ""


def _price_said(seen: Records) -> str:
    return ", and, dashed, at most by the price that proves the bound" if seen.measures(_PRICE) else ""


def _with_places(records: Records, turned: str, kind: _Kind) -> Records:
    """The records with the number of each run; where that is a metric, its mean over the runs of the same value."""
    at = pl.col(kind.at).mean().over(turned) if kind.at and records.measures(kind.at) else pl.col(turned)
    return replace(records, runs=records.runs.with_columns(at.cast(pl.Float64).alias(_PLACE)))


def _with_prices(records: Records, kind: _Kind) -> Records:
    """The records with what a unit more brings at most, in percentage points, where that is known."""
    if not kind.price or not records.measures(kind.price, "most_reward_per_s"):
        return records
    most = pl.col("most_reward_per_s")
    price = pl.when(most > 0).then(100 * pl.col(kind.price) / most).alias(_PRICE)
    return replace(records, runs=records.runs.with_columns(price))


def _means(seen: Records, keys: Sequence[str]) -> pl.DataFrame:
    """Means with their intervals of what is drawn: the keys, metric, mean, low, high, n."""
    metrics = [name for name in (CRR, BOUND, _PRICE) if seen.measures(name)]
    parts = [seen.means(name, keys).with_columns(metric=pl.lit(name)) for name in metrics]
    return pl.concat(parts).filter(pl.col("mean").is_not_null()).sort(_PLACE, maintain_order=True)


def _number_axis(kind: _Kind, places: pl.Series) -> tuple[Axis, float]:
    """The axis of the number, and the size of its unit."""
    low, high = float(places.min()), float(places.max())  # type: ignore[arg-type]
    unit, size = power_unit(high) if kind.unit == "W" else (kind.unit, 1.0)
    room = _ROOM * (high - low)
    title = f"{kind.name} ({unit})" if unit else kind.name
    return Axis(title, (low - room) / size, (high + room) / size), size


@dataclass(frozen=True)
class _Scene:
    """The lines of a panel: what is earned, with the bound, and what a unit more brings, with its price."""

    title: str
    earned: Mapping[str, Sequence[Point]]
    worth: Mapping[str, Sequence[Point]]


def _scene(seen: Records, panel: Panel, technique: str, size: float, units: float) -> _Scene:
    labels = seen.labels(technique)
    found = {part[technique][0]: part for part in panel.rows.filter(metric=CRR).partition_by(technique)}
    lines = {label: _points(found[value], size) for value, label in labels.items() if value in found}
    bound, price = (_points(_of_any(panel.rows.filter(metric=name)), size) for name in (BOUND, _PRICE))
    rises = {name: slopes(points, units) for name, points in lines.items() if len(points) > 1}
    return _Scene(
        panel.title,
        {**lines, **({BOUND_NAME: bound} if bound else {})},
        {**rises, **({PRICE_NAME: price} if price else {})},
    )


def _of_any(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of a metric that does not depend on the technique, one for each place: the tightest."""
    return rows.sort("mean", maintain_order=True).unique(_PLACE, keep="first", maintain_order=True).sort(_PLACE)


def _points(rows: pl.DataFrame, size: float) -> list[Point]:
    return [
        Point(row[_PLACE] / size, row["mean"], in_percent(row["low"]), in_percent(row["high"]))
        for row in rows.iter_rows(named=True)
    ]


def slopes(points: Sequence[Point], units: float) -> list[Point]:
    """How much a line rises from one point to the next, per unit of which one step of the axis has so many."""
    pairs = list(pairwise(points))
    rises = [(right.y - left.y) / ((right.x - left.x) * units) for left, right in pairs]
    return [Point(end.x, rise) for (left, right), rise in zip(pairs, rises, strict=True) for end in (left, right)]


def _values(lines: Mapping[str, Sequence[Point]]) -> list[float | None]:
    return [value for points in lines.values() for point in points for value in (point.y, point.low, point.high)]


def _worth_axis(kind: _Kind, values: Sequence[float | None]) -> Axis:
    """From zero, or below where more of it earns less, to a little above the most."""
    found = [value for value in values if value is not None]
    low, high = min([0.0, *found]), max([0.0, *found])
    room = 0.06 * (high - low) or 1.0
    return Axis(f"worth of {kind.per} (percentage points)", low - room if low < 0 else 0.0, high + room)
