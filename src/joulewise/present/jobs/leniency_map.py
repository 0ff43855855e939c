"""Which energy filter earns more, and at which leniency, in each of many settings: one small chart for each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from joulewise.present import theme
from joulewise.present.formats import decimals_for, fixed, plain
from joulewise.present.jobs.keys import FILTER, LENIENCY, SCHEDULER
from joulewise.present.jobs.leniency import filtered_view, has_leniencies, leniency_axis, points_over
from joulewise.present.layout import Drawing, Panel, all_panels, assemble, sentence, whiskers, wrapped
from joulewise.present.lines import LineAxis, Plot, draw_lines
from joulewise.present.records import VARIANT, Records
from joulewise.present.views import looks_of, reshaped
from joulewise.study.answers.statistics import differences

_ACROSS, _WIDTH_PX, _HEIGHT_PX = 3, 220, 120
_TITLE_CHARACTERS, _MOST_SETTINGS = 36, 24
_ROOM = 0.06


class Lead(NamedTuple):
    """The filter that earned most in a setting: its leniency, and how much more than the next filter at its best."""

    name: str
    leniency: float
    points: float
    low: float | None
    high: float | None

    @property
    def is_shown(self) -> bool:
        """Whether the trials show it."""
        return self.low is not None and self.low > 0

    @property
    def words(self) -> str:
        half = None if self.high is None else self.high - self.points
        decimals = decimals_for(half)
        interval = "" if half is None else f" ± {fixed(half, decimals)}"
        return f"{self.name} at {plain(self.leniency)}: +{fixed(self.points, decimals)}{interval} points"


def leniency_map(records: Records) -> Drawing:
    """The share of utility over the leniency, a line for each energy filter and a panel for each setting."""
    seen, keys = _by_setting(records)
    means = seen.means(seen.share, [FILTER, LENIENCY, *keys]).with_columns(pl.col("low", "high").clip(0.0, 100.0))
    panels = all_panels(seen, means, keys)
    y = _share_axis(seen, panels)
    parts = [_panel(seen, panel, y, lead_of(seen, panel.rows.row(0, named=True), keys)) for panel in panels]
    caption = (
        f"Percentage of {seen.whole} that was earned at each leniency of the energy filters, by setting. Under the "
        "title stands the filter that earned most, at its best leniency, and by how much it leads the next filter at "
        "its own best, with a 95 % interval, paired on equal trials; in grey where the trials do not show a lead. "
        f"{whiskers(seen, 'Points')}"
    )
    return Drawing(assemble(parts, across=_ACROSS), caption)


def has_leniency_map(records: Records) -> bool:
    """Whether one scheduler has several energy filters with leniencies in several settings, and not too many."""
    if not has_leniencies(records):
        return False
    seen, keys = _by_setting(records)
    if not keys or not seen.varies(FILTER) or seen.varies(SCHEDULER):
        return False
    return seen.runs.n_unique(keys) <= _MOST_SETTINGS


def _by_setting(records: Records) -> tuple[Records, list[str]]:
    """The runs with a filter, and the keys of their settings: the variant alone where it says the same as they do."""
    seen = filtered_view(records)
    keys = [key for key in seen.varying if key not in (SCHEDULER, FILTER, LENIENCY)]
    if not keys or VARIANT not in seen.runs.columns:
        return seen, keys
    ways = [seen.runs.n_unique(columns) for columns in ([VARIANT], keys, list({*keys, VARIANT}))]
    if len(set(ways)) > 1:
        return seen, keys
    return reshaped(seen, seen.runs, [SCHEDULER, FILTER, VARIANT, LENIENCY]), [VARIANT]


def lead_of(seen: Records, point: Mapping[str, Any], keys: Sequence[str]) -> Lead | None:
    """Who earned most at a setting, and by how much; None where fewer than two filters have equal trials there."""
    runs = seen.runs.filter(pl.col(key).eq_missing(pl.lit(point[key])) for key in keys)
    means = runs.group_by(FILTER, LENIENCY, maintain_order=True).agg(seen.error.sampling.figure(pl.col(seen.share)))
    ranked = means.drop_nulls().sort(seen.share, descending=True, maintain_order=True)
    best = ranked.unique(FILTER, keep="first", maintain_order=True).head(2)
    chosen = runs.join(best, on=[FILTER, LENIENCY], how="semi")
    leads = differences(chosen, [FILTER], [seen.share], FILTER, seen.error).filter(pl.col(FILTER) == best[FILTER][0])
    if leads.is_empty():
        return None
    row = leads.row(0, named=True)
    return Lead(seen.label(FILTER, best[FILTER][0]), best[LENIENCY][0], row["mean"], row["low"], row["high"])


def _share_axis(seen: Records, panels: Sequence[Panel]) -> LineAxis:
    """One axis for all settings."""
    shown = [v for panel in panels for name in ("mean", "low", "high") for v in panel.rows[name].drop_nulls()]
    room = _ROOM * (max(shown) - min(shown)) or 1.0
    return LineAxis(f"% of {seen.whole}", max(0.0, min(shown) - room), min(100.0, max(shown) + room))


def _panel(seen: Records, panel: Panel, y: LineAxis, lead: Lead | None) -> Any:
    labels, looks = seen.labels(FILTER), looks_of(seen, FILTER)
    parts = {part[FILTER][0]: part.sort(LENIENCY) for part in panel.rows.partition_by(FILTER)}
    lines = {label: points_over(parts[name]) for name, label in labels.items() if name in parts}
    plot = Plot(
        lines, looks, leniency_axis(panel.rows), y, width_px=_WIDTH_PX, least_height_px=_HEIGHT_PX,
        legend=sentence(seen.title(FILTER)),
    )  # fmt: skip
    title: dict[str, Any] = {"text": _in_lines(sentence(panel.title))}
    if lead is not None:
        colour = looks[lead.name][0] if lead.is_shown else theme.MUTED
        title |= {"subtitle": lead.words, "subtitleColor": colour}
    return {**draw_lines(plot), "title": title}


def _in_lines(title: str) -> list[str]:
    """A title broken after commas where it is too long for one line."""
    return wrapped(re.sub("(?<!,) ", "\N{NO-BREAK SPACE}", title), _TITLE_CHARACTERS).split("\n")
