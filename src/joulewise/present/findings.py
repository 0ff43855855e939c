"""The headline of a report: what the numbers say, in sentences computed from the records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from joulewise.present.formats import decimals_for, fixed, key_words, percent
from joulewise.present.layout import hold, in_percent
from joulewise.present.records import POLICY, THRESHOLD, Records
from joulewise.units import count

_MAX_FINDINGS = 6


@dataclass(frozen=True)
class Finding:
    """One headline: the sentence that matters, and what supports it."""

    lead: str
    support: str = ""


def findings(records: Records) -> list[Finding]:
    """The best at each setting with its interval, its lead over the next, and the best without dropping."""
    if records.best.is_empty():
        return [Finding("No run has a result yet.")]
    settings = tuple(key for key in records.others if key != THRESHOLD)
    best = records.best.sort("mean", descending=True, maintain_order=True)
    winners = best.unique(subset=settings, keep="first", maintain_order=True) if settings else best.head(1)
    ranked = sorted(winners.iter_rows(named=True), key=lambda row: _rank(records, row, settings))
    return [_finding(records, row, settings) for row in ranked[:_MAX_FINDINGS]]


def _rank(records: Records, row: Mapping[str, Any], keys: tuple[str, ...]) -> tuple[int, ...]:
    """The place of a setting in reading order."""
    return tuple(records.values(key).index(row[key]) for key in keys)


def _finding(records: Records, row: Mapping[str, Any], settings: tuple[str, ...]) -> Finding:
    place = f"At {records.phrases(row, settings)}, " if settings else ""
    what = _name(records, row)
    drop = f" with {records.phrase(THRESHOLD, row[THRESHOLD])}" if THRESHOLD in records.others else ""
    most = " the most:" if records.main else ""
    earned = percent(row["mean"], _decimals(row))
    lead = f"{place}{what}{drop} earned{most} {earned} of the maximum utility"
    parts = (_possible(records, row), _rival(records, row), _without_dropping(records, row, settings))
    support = " ".join(part for part in parts if part)
    return Finding(f"{lead[:1].upper()}{lead[1:]} ({_precision(row)}).", support)


def _possible(records: Records, row: Mapping[str, Any]) -> str:
    """How much of the proven bound it earned; empty where none is known."""
    there = hold(records.summary, {"metric": "possible_percent", **{key: row[key] for key in records.study.axes}})
    if there.is_empty() or there["mean"][0] is None:
        return ""
    return f"That is at least {percent(there['mean'][0], 1)} of what any policy could have earned."


def _name(records: Records, row: Mapping[str, Any]) -> str:
    """What won: a policy's title or another swept value; the only policy where nothing varies."""
    if records.main is None:
        policies = records.values(POLICY)
        return records.label(POLICY, policies[0]) if len(policies) == 1 else "the study"
    return records.phrase(records.main, row[records.main])


def _decimals(row: Mapping[str, Any]) -> int:
    """Decimals that suit the row's interval; one where there is none."""
    return max(1, decimals_for(None if row["low"] is None or row["high"] is None else (row["high"] - row["low"]) / 2))


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


def _without_dropping(records: Records, row: Mapping[str, Any], settings: tuple[str, ...]) -> str:
    """The best at the lowest threshold of the same setting, where that is not the best of all."""
    if THRESHOLD not in records.others:
        return ""
    lowest = records.values(THRESHOLD)[0]
    if row[THRESHOLD] == lowest:
        return f"No higher {key_words(THRESHOLD).name} earned more."
    there = hold(records.best, {**{key: row[key] for key in settings}, THRESHOLD: lowest})
    if there.is_empty():
        return ""
    base = there.row(0, named=True)
    earned = percent(base["mean"], _decimals(base))
    return f"At {records.phrase(THRESHOLD, lowest)} the best was {_name(records, base)} with {earned}."
