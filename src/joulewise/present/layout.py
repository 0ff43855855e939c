"""What figures share: which key goes where, panels, inlined data, colours of groups, final assembly."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
import polars.selectors as cs

from joulewise.present import theme
from joulewise.present.formats import decimals_for, fixed, number
from joulewise.present.parts import Part, concat, whole
from joulewise.present.records import VARIANT, Records
from joulewise.units import count

_MAX_GROUPS = 8
_MAX_PANELS = 6
_SAME = 1e-3  # values that differ by no more, relative to the largest, are drawn as one line
_LEGEND_CHARACTERS = 60
_KEPT_WHOLE = 10  # words of up to so many characters are not broken
AXIS_FORMAT = ",~f"  # 50,000 and 0.5, never 5e+4


@dataclass(frozen=True)
class Drawing:
    """A finished figure, as Vega-Lite or as a chart of Altair, and the caption that explains it."""

    chart: Any
    caption: str


@dataclass(frozen=True)
class Layout:
    """Which key goes where: along the axis, as colour, as panels; and the keys held at one value."""

    main: str
    group: str | None
    panels: tuple[str, ...]
    held: Mapping[str, object]


@dataclass(frozen=True)
class Panel:
    """One panel: its title and the rows it shows."""

    title: str
    rows: pl.DataFrame


def main_layout(records: Records, held_key: str = "", first: str = "") -> Layout:
    """Main key along the axis, one key held at its lowest value, `first` or another small key as colour."""
    held = {held_key: records.values(held_key)[0]} if held_key in records.others else {}
    free = [key for key in records.others if key not in held]
    small = [key for key in free if len(records.values(key)) <= _MAX_GROUPS]
    group = first if first in small else next(iter(small), None)
    return Layout(records.main or VARIANT, group, tuple(key for key in free if key != group), held)


def group_layout(records: Records, group: str) -> Layout:
    """Main key along the axis, the given key (where it varies) as colour, everything else as panels."""
    colour = group if group in records.others else None
    return Layout(records.main or VARIANT, colour, tuple(key for key in records.others if key != colour), {})


def hold(frame: pl.DataFrame, held: Mapping[str, object]) -> pl.DataFrame:
    """The rows with these values of these keys."""
    return frame.filter(*(pl.col(key).eq_missing(pl.lit(value)) for key, value in held.items()))


def panels_of(records: Records, frame: pl.DataFrame, keys: Sequence[str]) -> tuple[list[Panel], str]:
    """The frame split by the keys in reading order, and what to say when not all panels are shown."""
    panels = all_panels(records, frame, keys)
    shown = panels[:_MAX_PANELS]
    n_left = len(panels) - len(shown)
    note = f" The first {len(shown)} of {len(panels)} settings are shown; the full table has all." if n_left else ""
    return shown, note


def all_panels(records: Records, frame: pl.DataFrame, keys: Sequence[str]) -> list[Panel]:
    """The frame split by the keys in reading order."""
    if frame.is_empty():
        return []
    ordered = frame
    for key in reversed(keys):  # stable sorts, the last key first
        rank = {value: i for i, value in enumerate(records.values(key))}
        order = pl.Series("_order", [rank[value] for value in ordered[key]])
        ordered = ordered.with_columns(order).sort("_order", maintain_order=True).drop("_order")
    parts = ordered.partition_by(keys, maintain_order=True) if keys else [ordered]
    return [Panel(records.phrases(part.row(0, named=True), keys), part) for part in parts]


def runs_of(records: Records, panel: Panel) -> pl.DataFrame:
    """The runs that a panel is of."""
    keys = [key for key in records.varying if key in panel.rows.columns]
    if not keys:
        return records.runs
    return records.runs.join(panel.rows.select(keys), on=keys, how="semi", nulls_equal=True, maintain_order="left")


def shared_value(records: Records, panel: Panel, metric: str, trials: pl.Series | None = None) -> float | None:
    """The mean of a metric over the runs of a panel, or over its runs of these trials.

    None where some have none, or those of a trial differ.
    """
    if not records.measures(metric):
        return None
    runs = runs_of(records, panel)
    drawn = runs if trials is None else runs.filter(pl.col("trial").is_in(trials.implode()))
    values = drawn.select("trial", value=pl.col(metric).cast(pl.Float64))
    if not values["value"].is_finite().fill_null(False).all():
        return None
    value = pl.col("value")
    spans = values.group_by("trial").agg(is_one=value.max() - value.min() <= _SAME * value.abs().max())
    return float(values["value"].mean()) if spans["is_one"].all() else None  # type: ignore[arg-type]


def scaled(value: float | None, size: float) -> float | None:
    """The value in units of this size, where there is one."""
    return None if value is None else value / size


def in_percent(value: float | None) -> float | None:
    """The end of an interval of a percentage, cut at 0 and 100 where nothing can be."""
    return None if value is None else min(max(value, 0.0), 100.0)


def inline(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows as the data of a chart; numbers that JSON cannot hold become null."""
    frame = pl.DataFrame(rows, infer_schema_length=None)
    empty = [name for name, dtype in frame.schema.items() if dtype == pl.Null]
    finite = pl.when(cs.float().is_finite()).then(cs.float())
    return frame.with_columns(pl.col(empty).cast(pl.Float64)).with_columns(finite)


def wrapped(label: str, width: int) -> str:
    """A label broken into lines for a narrow band; Vega splits it again at the line ends."""
    longest = max((len(word) for word in re.split(r"[\s-]", label)), default=0)
    return "\n".join(textwrap.wrap(label, max(width, min(longest, _KEPT_WHOLE))))


def interval_text(
    row: Mapping[str, Any],
    show: Callable[[float | None, int], str] = fixed,
    alone: Callable[[float | None], str] = number,
) -> str:
    """Mean with its 95 % interval, as tooltips show it; `show` writes numbers, `alone` a mean without an interval."""
    if row["low"] is None or row["high"] is None:
        return alone(row["mean"])
    decimals = decimals_for((row["high"] - row["low"]) / 2)
    mean, low, high = (show(row[name], decimals) for name in ("mean", "low", "high"))
    return f"{mean} ({low} to {high})"


def around_zero(values: Iterable[float], room: float) -> list[float]:
    """The span of the values and zero, with a part of it as room at both ends."""
    ends = [*values, 0.0]
    low, high = min(ends), max(ends)
    width = room * (high - low) or 1.0
    return [low - width, high + width]


def roomy(values: Iterable[float]) -> list[float]:
    """The span of values with so much room that trifles stay small, from 0 on if that is near."""
    ends = list(values) or [0.0]
    low, high = min(ends), max(ends)
    room = max(0.06 * (high - low), 0.05 * abs(high)) or 1.0
    return [0.0 if 0 <= low < 0.4 * high else low - room, high + room]


def assemble(parts: Sequence[Any], across: int = 1) -> Part:
    """Panels put together under the house theme, with one legend."""
    if len(parts) == 1:
        return whole(parts[0], theme.CONFIG)
    resolve = {"scale": {"color": "shared", "shape": "shared"}}
    return whole(concat(*parts, columns=across, resolve=resolve), theme.CONFIG)


def pixels(value: float) -> Any:
    """A place this far from the left or the upper edge of a chart."""
    import altair as alt

    return alt.PositionValueDef(value=value)


def group_colours(records: Records, key: str) -> list[str]:
    """Colours of a group: its own where the key has some, a ramp for numbers, else the palette."""
    values, own = records.values(key), records.words(key).colours
    if own:
        return own(records)
    is_ramp = all(isinstance(value, int | float) for value in values)
    return theme.ordered(len(values)) if is_ramp else theme.categorical(len(values))


def group_colour(records: Records, key: str | None) -> Any:
    """The colour channel of a group with its legend; one colour without a group."""
    import altair as alt

    if key is None:
        return alt.ColorValue(theme.PALETTE[0])
    return alt.Color(
        "group:N",
        title=sentence(records.title(key)),
        sort=None,
        scale=alt.Scale(domain=list(records.labels(key).values()), range=group_colours(records, key)),
        legend=_legend(list(records.labels(key).values())),
    )


def _legend(labels: Sequence[str]) -> Any:
    """A legend in one row, or in several where its labels are long."""
    import altair as alt

    if sum(map(len, labels)) <= _LEGEND_CHARACTERS:
        return alt.Legend(symbolType="square")
    return alt.Legend(symbolType="square", columns=math.ceil(len(labels) / 2))


def sentence(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def whiskers(records: Records, marks: str = "Bars", metric: str = "") -> str:
    """What a caption says of marks of a metric, by default the share of utility, and their whiskers."""
    n_trials_of = records.summary.filter(pl.col("metric") == (metric or records.share))["n"]
    n_most = int(n_trials_of.cast(pl.Int64).max() or 0)  # type: ignore[arg-type]
    if n_most < 2:
        return "One trial only, so there are no intervals."
    up_to = "up to " if n_trials_of.n_unique() > 1 else ""
    sampling = records.error.sampling
    figures = sampling.figures.format(f"{up_to}{count(n_most, 'trial')}")
    return f"{marks} are {figures}, whiskers {sampling.intervals}."
