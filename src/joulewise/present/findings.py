"""The headline of a report: what the numbers say, in sentences computed from the records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from joulewise.present.formats import decimals_for, fixed, percent
from joulewise.present.layout import Panel, hold, in_percent, sentence
from joulewise.present.records import Records
from joulewise.units import count

MAX_FINDINGS = 6


@dataclass(frozen=True)
class Finding:
    """One headline: the sentence that matters, and what supports it."""

    lead: str
    support: str = ""


NONE_YET = [Finding("No run has a result yet.")]


# --- what findings share --------------------------------------------------------------------------------


def joined(*parts: str) -> str:
    """Sentences one after the other, without those that have nothing to say."""
    return " ".join(part for part in parts if part)


def place_of(panel: Panel) -> str:
    """The setting of a panel at the beginning of a sentence; nothing where there is one setting."""
    return f"{panel.title}: " if panel.title else ""


def half_width(row: Mapping[str, Any]) -> float | None:
    """Half of the interval of a row; None where it has none."""
    return None if row["low"] is None or row["high"] is None else (row["high"] - row["low"]) / 2


def plus_minus_of(row: Mapping[str, Any], decimals: int) -> str:
    """Half of the interval of a row and its trials, in brackets; nothing where it has none."""
    half = half_width(row)
    return "" if half is None else f" (± {fixed(half, decimals)}, {count(row['n'], 'trial')})"


def means_at(records: Records, row: Mapping[str, Any]) -> dict[str, float]:
    """The means of all metrics at the point of a row of the summary."""
    here = hold(records.summary, {key: row[key] for key in records.study.axes})
    return {name: mean for name, mean in here.select("metric", "mean").iter_rows() if mean is not None}


# --- who earned most ------------------------------------------------------------------------------------


def best_findings(records: Records, threshold: str = "", alone: str = "the study") -> list[Finding]:
    """The best at each setting with its interval, its lead over the next, and the best without dropping.

    `threshold` is the key of dropping, if there is one; `alone` is what earned where nothing is compared.
    """
    if records.best.is_empty():
        return NONE_YET
    settings = tuple(key for key in records.others if key != threshold)
    best = records.best.sort("mean", descending=True, maintain_order=True)
    winners = best.unique(subset=settings, keep="first", maintain_order=True) if settings else best.head(1)
    ranked = sorted(winners.iter_rows(named=True), key=lambda row: _rank(records, row, settings))
    return [_finding(records, row, settings, threshold, alone) for row in ranked[:MAX_FINDINGS]]


def _rank(records: Records, row: Mapping[str, Any], keys: tuple[str, ...]) -> tuple[int, ...]:
    """The place of a setting in reading order."""
    return tuple(records.values(key).index(row[key]) for key in keys)


def _finding(
    records: Records, row: Mapping[str, Any], settings: tuple[str, ...], threshold: str, alone: str
) -> Finding:
    place = f"{records.phrases(row, settings)}: " if settings else ""
    what = records.phrase(records.main, row[records.main]) if records.main else alone
    drop = f" with {records.phrase(threshold, row[threshold])}" if threshold in records.others else ""
    most = " the most," if records.main else ""
    earned = percent(row["mean"], _decimals(row))
    lead = f"{place}{what}{drop} earned{most} {earned} of the maximum utility"
    without = _without_dropping(records, row, settings, threshold) if threshold in records.others else ""
    support = joined(_possible(records, row), _rival(records, row), without)
    return Finding(f"{sentence(lead)} ({_precision(row)}).", support)


def _possible(records: Records, row: Mapping[str, Any]) -> str:
    """How much of the proven bound it earned; empty where none is known."""
    there = hold(records.summary, {"metric": "possible_percent", **{key: row[key] for key in records.study.axes}})
    if there.is_empty() or there["mean"][0] is None:
        return ""
    earned = percent(there["mean"][0], 1)
    return f"That is at least {earned} of what any policy could have earned, by the {records.bound_name}."


def _decimals(row: Mapping[str, Any]) -> int:
    """Decimals that suit the row's interval; one where there is none."""
    return max(1, decimals_for(half_width(row)))


def _precision(row: Mapping[str, Any]) -> str:
    if row["low"] is None or row["high"] is None:
        return f"{count(row['n'], 'trial')}, so no interval"
    low, high = (fixed(in_percent(row[end]), _decimals(row)) for end in ("low", "high"))
    return f"95 % interval {low} to {high}, {count(row['n'], 'trial')}"


def _rival(records: Records, row: Mapping[str, Any]) -> str:
    """The lead over the next at the same setting on equal trials; empty where nothing is comparable."""
    if records.main is None or records.behind_best.is_empty():
        return ""
    rivals = hold(records.behind_best, {key: row[key] for key in records.others}).sort("mean", descending=True)
    if rivals.is_empty():
        return ""
    rival = rivals.row(0, named=True)
    name = records.phrase(records.main, rival[records.main])
    if rival["low"] is None or rival["high"] is None:
        return f"The next was {name}, {fixed(-rival['mean'], 1)} percentage points behind."
    ahead, low, high = (fixed(-rival[name], _decimals(rival)) for name in ("mean", "high", "low"))
    if rival["high"] < 0:
        return f"On the same trials it is {ahead} percentage points ({low} to {high}) ahead of the next, {name}."
    return f"The trials do not tell it apart from the next, {name}: {ahead} points ({low} to {high}) ahead."


def _without_dropping(records: Records, row: Mapping[str, Any], settings: tuple[str, ...], threshold: str) -> str:
    """The best at the lowest threshold of the same setting, where that is not the best of all."""
    lowest = records.values(threshold)[0]
    if row[threshold] == lowest:
        return f"No higher {records.words(threshold).name} earned more."
    there = hold(records.best, {**{key: row[key] for key in settings}, threshold: lowest})
    if there.is_empty() or records.main is None:
        return ""
    base = there.row(0, named=True)
    earned, name = percent(base["mean"], _decimals(base)), records.phrase(records.main, base[records.main])
    return f"At {records.phrase(threshold, lowest)} the best was {name} with {earned}."
