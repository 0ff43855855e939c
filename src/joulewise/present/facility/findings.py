"""The headline of a report on a facility: what the best plan earns, how near to the bound, and what limits it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from joulewise.present.facility.bars import BLIND, RR
from joulewise.present.facility.view import BOUND, CRR, EARNED, earned_metric, settings_beside, technique_key
from joulewise.present.findings import (
    MAX_FINDINGS,
    NONE_YET,
    Finding,
    half_width,
    joined,
    place_of,
    plus_minus_of,
    tied_said,
)
from joulewise.present.formats import decimals_for, fixed, metric_value, number, percent
from joulewise.present.layout import Panel, all_panels, sentence
from joulewise.present.records import METHOD, Records

_PLANNED, _ABOVE, _PEAK, _MARGIN = (
    "day_planned_percent", "day_above_cap_percent", "day_peak_w", "day_redline_margin_k",
)  # fmt: skip
_SAME = 0.05
_MEANS = (
    CRR, RR, BOUND, "total_w", "cap_w", "redline_margin_k", "value_per_kw", "most_reward_per_s",
    _PLANNED, EARNED,
)  # fmt: skip


def facility_findings(records: Records) -> list[Finding]:
    """At the settings that earned the most the best technique, how near to the bound it came, and what limits it."""
    key = technique_key(records)
    settings = settings_beside(records, key)
    means = records.means(earned_metric(records), [*settings, key]).filter(pl.col("mean").is_not_null())
    panels = sorted(all_panels(records, means, settings), key=lambda panel: -panel.rows["mean"].max())  # type: ignore[operator]
    best = [_finding(records, panel, key) for panel in panels[:MAX_FINDINGS]]
    if len(panels) > len(best):
        best.append(Finding(f"These are the {len(best)} of {len(panels)} settings that earned the most."))
    return best or NONE_YET


def _finding(records: Records, panel: Panel, key: str) -> Finding:
    best = panel.rows.row(int(panel.rows["mean"].arg_max() or 0), named=True)
    there = _means(records, panel, best)
    has_day = earned_metric(records) == EARNED
    most = " earned the most" if panel.rows.height > 1 else " earned"
    when = " in a day" if has_day else ""
    colon = ":" if panel.rows.height > 1 else ""
    lead = (
        f"{place_of(panel)}{records.phrase(key, best[key])}{most}{when}{colon} "
        f"{percent(best['mean'], _decimals(best))} of the reward of all tasks that arrive"
        f"{plus_minus_of(best, _decimals(best))}{'' if has_day else ', by its plan, if no task has to wait'}."
    )
    support = joined(
        tied_said(records, panel, [key], earned_metric(records)),
        _planned(there, has_day),
        _limits(there),
        _passes(_runs(records, panel, best)),
        _worth(there),
        _blind(records, panel, key),
        _set_points(records, panel, best),
    )
    return Finding(sentence(lead), support)


def _runs(records: Records, panel: Panel, row: Mapping[str, Any]) -> pl.DataFrame:
    """The trials of a technique."""
    keys = [name for name in panel.rows.columns if name not in ("mean", "low", "high", "n")]
    point = pl.all_horizontal([pl.col(name).eq_missing(pl.lit(row[name])) for name in keys])
    return records.runs.filter(point)


def _means(records: Records, panel: Panel, row: Mapping[str, Any]) -> dict[str, float]:
    """The means over the trials of what is told of a technique."""
    runs = _runs(records, panel, row)
    means = {name: runs[name].cast(pl.Float64).mean() for name in _MEANS if name in runs.columns}
    return {name: float(mean) for name, mean in means.items() if mean is not None}  # type: ignore[arg-type]


def _decimals(row: Mapping[str, Any]) -> int:
    return max(1, decimals_for(half_width(row)))


def _limits(means: Mapping[str, float]) -> str:
    if not {"total_w", "cap_w", "redline_margin_k"} <= set(means):
        return ""
    drawn, cap = (metric_value(name, means[name]) for name in ("total_w", "cap_w"))
    return f"It draws {drawn} of at most {cap}, and stays {fixed(means['redline_margin_k'], 2)} K below the redlines."


def _passes(runs: pl.DataFrame) -> str:
    """Which limits the worst of the days pass that the plans keep, if any."""
    if not {_ABOVE, _PEAK, _MARGIN} <= set(runs.columns) or not runs[_ABOVE].count():
        return ""
    above, peak_w, passed_k = runs.select(pl.max(_ABOVE), pl.max(_PEAK), -pl.min(_MARGIN)).row(0)
    power = f"draws more than the cap for {percent(above)} of the time, up to {metric_value(_PEAK, peak_w)}"
    warmth = f"warms a node to {fixed(passed_k, 2)} K above its redline"
    told = [text for text, is_so in ((power, above >= _SAME), (warmth, passed_k >= _SAME)) if is_so]
    return f"At worst its day {' and '.join(told)}." if told else ""


def _worth(means: Mapping[str, float]) -> str:
    if not {"value_per_kw", "most_reward_per_s"} <= set(means) or means["most_reward_per_s"] <= 0:
        return ""
    points = 100 * means["value_per_kw"] / means["most_reward_per_s"]
    return f"Another kW would bring at most {number(points)} percentage points."


def _planned(means: Mapping[str, float], has_day: bool) -> str:
    """What was planned, where the lead tells what a day earned, and what is proven."""
    plan = f"If no task had to wait, its plan would earn {percent(means[CRR])}{_plans_of_day(means)}" if has_day else ""
    bound = f"no plan has more than {percent(means[BOUND])}, the proven bound" if BOUND in means else ""
    text = "; ".join(part for part in (plan, bound) if part)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _plans_of_day(means: Mapping[str, float]) -> str:
    """What the plans of the day said, where its rates were not even."""
    planned = means.get(_PLANNED, means[CRR])
    return "" if abs(planned - means[CRR]) < _SAME else f", and those for the rates of the day {percent(planned)}"


def _blind(records: Records, panel: Panel, key: str) -> str:
    """What the technique that plans with the most, as if no core slowed another, really earns."""
    blind = records.runs.filter(pl.col(METHOD).is_in(BLIND))[key].unique().to_list()
    rows = [row for row in panel.rows.iter_rows(named=True) if row[key] in blind]
    means_of = [(row, _means(records, panel, row)) for row in rows]
    planned_with = [(row, means) for row, means in means_of if RR in means]
    if not planned_with:
        return ""
    row, means = max(planned_with, key=lambda pair: pair[1][RR] - pair[1][CRR])
    planned, earned = percent(means[RR]), percent(means[earned_metric(records)])
    return f"{records.phrase(key, row[key])}, which ignores co-location, plans with {planned} and earns {earned}."


def _set_points(records: Records, panel: Panel, row: Mapping[str, Any]) -> str:
    """What to set for the best of the trials."""
    runs = _runs(records, panel, row)
    if "set_points" not in runs.columns:
        return ""
    best = runs.row(int(runs[earned_metric(records)].arg_max() or 0), named=True)
    trial = f"Trial {best['trial']}: " if runs.height > 1 else ""
    return f"{trial}{best['set_points']}"
