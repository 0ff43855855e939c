"""What a provider earns by how customers are asked for a price: over fixed prices, beside what is proven."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from joulewise.present import theme
from joulewise.present.bags.keys import RATIO
from joulewise.present.findings import MAX_FINDINGS, NONE_YET, Finding, first_at, joined, place_of, tied_at, tied_said
from joulewise.present.formats import key_name, number
from joulewise.present.layout import Drawing, Panel, assemble, panels_of, sentence
from joulewise.present.lines import LineAxis, LinePoint, Plot, draw_lines
from joulewise.present.records import METHOD, VARIANT, Records
from joulewise.present.tables import metric_text

FIXED = "fixed"
_BOUNDS = {"unseen_bound": "most, worths unseen", "profit_bound": "most, worths known"}
_OF_PRICES = (METHOD, RATIO, VARIANT)


def has_prices(records: Records) -> bool:
    """Whether fixed prices are compared with each other."""
    fixed = records.runs.filter(pl.col(METHOD) == FIXED) if records.measures("profit") else records.runs.clear()
    return RATIO in fixed.columns and fixed[RATIO].n_unique() > 1


def _places(records: Records) -> list[str]:
    """The keys that vary and say nothing of prices."""
    return [key for key in records.varying if key not in _OF_PRICES]


def pricing_findings(records: Records) -> list[Finding]:
    """At each setting the way to ask that earns most, how much more than the next, and how much of the bound."""
    if not records.measures("profit"):
        return NONE_YET
    panels, _ = panels_of(records, _earned(records), _places(records))
    found = [_finding(records, panel) for panel in panels[:MAX_FINDINGS]]
    return found if len(panels) < 2 else [_common(records, panels), *found]


def _common(records: Records, panels: Sequence[Panel]) -> Finding:
    """What earns most at each setting, said at once."""
    names = [_named(records, panel.rows.sort("mean", descending=True).row(0, named=True)) for panel in panels]
    ties = [_tied(records, panel) for panel in panels]
    return Finding(sentence(f"{first_at(names, 'earns most', 'settings')}."), tied_at(ties))


def _tied(records: Records, panel: Panel) -> str:
    return tied_said(records, panel, [METHOD, RATIO], "profit")


def _earned(records: Records) -> pl.DataFrame:
    """Mean profits by what is asked for, with the mean of the bound for those who cannot see worths."""
    keys = list(dict.fromkeys([*_places(records), METHOD, RATIO]))
    bounds = records.means("unseen_bound", keys).select(*keys, bound="mean")
    return records.means("profit", keys).join(bounds, on=keys, nulls_equal=True).drop_nulls("mean")


def _finding(records: Records, panel: Panel) -> Finding:
    best, *others = panel.rows.sort("mean", descending=True).iter_rows(named=True)
    share = f", {number(100 * best['mean'] / best['bound'])} % of the proven most" if best["bound"] > 0 else ""
    lead = f"{place_of(panel)}{_named(records, best)} earns {metric_text('profit', best)} on average{share}."
    rival = next((row for row in others if row[METHOD] != best[METHOD]), None)
    support = "" if rival is None else sentence(f"{_named(records, rival)} earns {number(rival['mean'])}.")
    return Finding(sentence(lead), joined(_tied(records, panel), support))


def _named(records: Records, row: Mapping[str, Any]) -> str:
    title = records.label(METHOD, row[METHOD]).lower()
    return f"{title} at {records.phrase(RATIO, row[RATIO])}" if row[METHOD] == FIXED else title


def profit_by_price(records: Records) -> Drawing:
    """Profit over the fixed price, with what the other ways earn and what is proven as lines across."""
    panels, note = panels_of(records, records.runs.drop_nulls("profit"), _places(records))
    parts = [draw_lines(_plot(records, panel)) for panel in panels]
    caption = (
        "Mean profit over the fixed price, in units of the cost of the least energy; other ways to ask are lines "
        "across, as are the proven most of prices made without seeing what a bag is worth to the customer, and of any "
        f"prices whatever.{note}"
    )
    return Drawing(assemble(parts, across=2), caption)


def _plot(records: Records, panel: Panel) -> Plot:
    ratios = sorted(panel.rows[RATIO].drop_nulls().unique().to_list())
    methods = [method for method in records.values(METHOD) if method in panel.rows[METHOD].to_list()]
    lines = {
        records.label(METHOD, method): _line(panel.rows.filter(pl.col(METHOD) == method), ratios) for method in methods
    }
    bounds = {
        name: [LinePoint(x, float(panel.rows[metric].mean())) for x in ratios]  # type: ignore[arg-type]
        for metric, name in _BOUNDS.items()
    }
    looks = {name: (theme.PALETTE[i], [1, 0]) for i, name in enumerate(lines)}
    dashes = {name: (theme.INK, dash) for name, dash in zip(bounds, ([6, 3], [2, 3]), strict=True)}
    most = max(point.y for points in (*lines.values(), *bounds.values()) for point in points)
    y = LineAxis("profit", 0.0, 1.05 * max(most, 0.0) or 1.0)
    x = LineAxis(key_name(RATIO), ratios[0], ratios[-1])
    return Plot({**lines, **bounds}, {**looks, **dashes}, x, y, panel.title, width_px=300)


def _line(runs: pl.DataFrame, ratios: list[float]) -> list[LinePoint]:
    """The mean at each ratio, or the one mean across all."""
    means: dict[float | None, float] = dict(runs.group_by(RATIO).agg(pl.col("profit").mean()).iter_rows())
    return [LinePoint(x, means[x if x in means else None]) for x in ratios if x in means or None in means]
