"""What one policy earns more than another, over a number of the world that is swept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from joulewise.present import theme
from joulewise.present.compared import is_swept, number_axis
from joulewise.present.layout import Drawing, all_panels, assemble
from joulewise.present.lines import LIMIT_LOOK, PUBLISHED, LineAxis, LinePoint, Plot, draw_lines
from joulewise.present.records import Records
from joulewise.present.tasks.keys import POLICY
from joulewise.study.answers import statistics
from joulewise.study.catalogue import published_level
from joulewise.units import count

_GAIN = "gain_percent"
_MOST_LINES = 12
_WIDTH_PX = 520
_ROOM = 0.08


def gain_by_number(records: Records) -> Drawing:
    """The gain of the better of two policies over the other, a line for each setting of what else varies."""
    along, keys = _axes(records)
    better, other = _ranked(records)
    gains = _gains(records, (better, other), [*keys, along])
    level = published_level(records.study.source)
    lines = _lines(records, gains, keys, along)
    titles = [records.label(POLICY, policy) for policy in (better, other)]
    title = "gain of {} over {} (%)".format(*titles)
    plot = _plot(lines, number_axis(records, along), title, level)
    published = "" if level is None else f" The dotted line is the published gain, about {level:g} %."
    caption = (
        f"How much more utility {titles[0]} earns than {titles[1]}, in percent, by the {records.words(along).name}. "
        f"{_trials_said(gains)}{published}"
    )
    return Drawing(assemble([draw_lines(plot)]), caption)


def has_gains(records: Records) -> bool:
    """Whether two policies, and no more, are compared over a number of the world, in few enough settings."""
    if records.main != POLICY or len(records.values(POLICY)) != 2 or not records.measures("utility"):
        return False
    if not any(is_swept(records, key) for key in records.others):
        return False
    _, keys = _axes(records)
    return not keys or records.runs.n_unique(keys) <= _MOST_LINES


def _axes(records: Records) -> tuple[str, list[str]]:
    """The swept number with most values, and the other keys that vary."""
    swept = [key for key in records.others if is_swept(records, key)]
    along = max(swept, key=lambda key: len(records.values(key)))
    return along, [key for key in records.others if key != along]


def _ranked(records: Records) -> list[str]:
    """Both policies, the one that earns more on average first."""
    means = records.runs.group_by(POLICY, maintain_order=True).agg(pl.col("utility").mean())
    return means.sort("utility", descending=True, maintain_order=True)[POLICY].to_list()


def _gains(records: Records, policies: Sequence[str], keys: Sequence[str]) -> pl.DataFrame:
    """Mean gain in percent with its interval, by the keys; trials that one policy lacks are left out."""
    better, other = (
        records.runs.filter(pl.col(POLICY) == policy).select(*keys, "trial", pl.col("utility").alias(name))
        for policy, name in zip(policies, ("more", "less"), strict=True)
    )
    pairs = better.join(other, on=[*keys, "trial"], nulls_equal=True, maintain_order="left")
    gain = 100 * (pl.col("more") / pl.col("less") - 1)
    return statistics.summary(pairs.filter(pl.col("less") > 0).with_columns(gain.alias(_GAIN)), keys, [_GAIN])


def _lines(records: Records, gains: pl.DataFrame, keys: Sequence[str], along: str) -> dict[str, list[LinePoint]]:
    """The gains over the number, by the setting in words."""
    return {
        panel.title or "gain": [
            LinePoint(float(row[along]), row["mean"], row["low"], row["high"])
            for row in panel.rows.sort(along).iter_rows(named=True)
        ]
        for panel in all_panels(records, gains, keys)
    }


def _plot(lines: Mapping[str, Sequence[LinePoint]], x: LineAxis, title: str, level: float | None) -> Plot:
    shown = [v for points in lines.values() for point in points for v in (point.y, point.low, point.high)]
    ends = [0.0, *(v for v in shown if v is not None), *([] if level is None else [level])]
    room = _ROOM * (max(ends) - min(ends)) or 1.0
    has_losses = min(ends) < 0
    y = LineAxis(title, min(ends) - has_losses * room, max(ends) + room)
    limit = {} if level is None else {PUBLISHED: [LinePoint(end, level) for end in (x.low, x.high)]}
    looks = {name: theme.line_style(i) for i, name in enumerate(lines)} | {PUBLISHED: LIMIT_LOOK}
    return Plot({**lines, **limit}, looks, x, y, width_px=_WIDTH_PX, base=0.0 if has_losses else None)


def _trials_said(gains: pl.DataFrame) -> str:
    n_most = int(gains["n"].max() or 0)  # type: ignore[arg-type]
    if n_most < 2:
        return "One trial only, so there are no intervals."
    return f"Points are means of {count(n_most, 'trial')}, paired, whiskers 95 % confidence intervals of the mean."
