"""The headline of a report: what the numbers say, in sentences computed from the records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from joulewise.present.formats import THIN, decimals_for, fixed, percent
from joulewise.present.layout import Panel, hold, in_percent, runs_of, sentence
from joulewise.present.records import POSSIBLE, Records
from joulewise.present.tables import plus_minus
from joulewise.study.answers import statistics
from joulewise.study.answers.statistics import TIED
from joulewise.units import all_of, count

MAX_FINDINGS = 6
_MOST_NAMED = 4
"""Worlds that a sentence names."""


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


def first_at(names: Sequence[str], did: str, places: str) -> str:
    """Who came first in how many of the places, which are named in the plural: "A did it at all 3 loads"."""
    counts = Counter(names).most_common()
    if len(counts) == 1:
        return f"{counts[0][0]} {did} at {all_of(len(names), places)}"
    return f"what {did} is not the same at all {places}: {', '.join(f'{name} at {n}' for name, n in counts)}"


def tied_said(records: Records, panel: Panel, keys: Sequence[str], metric: str, *, lowest: bool = False) -> str:
    """What the trials do not tell apart from the best of a panel, by these keys; nothing where they tell all apart."""
    size = pl.col(metric) * (-1 if lowest else 1)
    values = runs_of(records, panel).drop_nulls(metric).with_columns(size, world=pl.lit("that of the panel"))
    found = statistics.gaps(values, keys, metric, records.error).filter(pl.col("standing") == TIED)
    names = [records.phrases(row, keys) for row in found.iter_rows(named=True)]
    left = [f"and {len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
    told = "; ".join([*names[:_MOST_NAMED], *left])
    return f"The trials do not tell it apart from {told}." if names else ""


def tied_at(ties: Sequence[object]) -> str:
    """At how many places trials do not tell the best apart, given what is said of ties at each, if anything."""
    n_tied = sum(map(bool, ties))
    return f"At {n_tied} of {len(ties)} the trials do not tell the best from the next." if n_tied else ""


# --- who earned most ------------------------------------------------------------------------------------


def best_findings(records: Records, threshold: str = "", alone: str = "the study") -> list[Finding]:
    """Who earned most in each world, said once for all worlds in which it is the same, with the lead over the next.

    `threshold` is the key of dropping, if there is one; `alone` is what earned where nothing is compared.
    """
    if records.best.is_empty():
        return NONE_YET
    winners = _winners(records)
    groups: dict[object, list[Mapping[str, Any]]] = {}
    for row in winners:
        groups.setdefault(row[records.main] if records.main else None, []).append(row)
    ranked = sorted(groups.values(), key=len, reverse=True)
    if len(winners) == 1:
        return [_finding(records, winners[0], threshold, alone)]
    common = [_common(records, rows, len(winners), alone) for rows in ranked[:MAX_FINDINGS]]
    return common if len(ranked) == 1 else [_divided(records, winners), *common]


def _divided(records: Records, winners: Sequence[Mapping[str, Any]]) -> Finding:
    """That not the same earned most everywhere, and the highest share of all."""
    main, top = str(records.main), max(winners, key=lambda row: float(row["mean"]))
    names = [records.phrase(main, row[main]) for row in winners]
    share = f"{_at_least(records)}{plus_minus(top)}{THIN}% of {records.whole}"
    name, place = records.phrase(main, top[main]), records.phrases(top, records.places)
    tied = tied_at([_tied(records, [row]) for row in winners])
    lead = f"{first_at(names, 'earned the most', _world_words(records))}."
    return Finding(sentence(lead), joined(f"The highest share is that of {name}, {share} ({place}).", tied))


def _winners(records: Records) -> list[Mapping[str, Any]]:
    """The point of each world with the highest mean, worlds in reading order."""
    best = records.best.sort("mean", descending=True, maintain_order=True)
    first = best.unique(subset=records.places, keep="first", maintain_order=True) if records.places else best.head(1)
    return sorted(first.iter_rows(named=True), key=lambda row: _rank(records, row))


def _rank(records: Records, row: Mapping[str, Any]) -> tuple[int, ...]:
    """The place of a world in reading order."""
    return tuple(records.values(key).index(row[key]) for key in records.places)


def _common(records: Records, rows: Sequence[Mapping[str, Any]], n_worlds: int, alone: str) -> Finding:
    """What is the same in several worlds, with where it holds if that is not everywhere."""
    name = records.phrase(records.main, rows[0][records.main]) if records.main else alone
    most = " the most" if records.main else ""
    how = _how(records, rows)
    ranked = sorted(rows, key=lambda row: float(row["mean"]))
    earned = _at_least(records) + " to ".join(dict.fromkeys(map(plus_minus, (ranked[0], ranked[-1]))))
    where = (
        f"at {all_of(n_worlds, _world_words(records))}"
        if len(rows) == n_worlds
        else f"at {len(rows)} of {n_worlds} {_world_words(records)} ({_listed(records, rows)})"
    )
    lead = f"{name}{how} earned{most} {where}: {earned}{THIN}% of {records.whole}."
    support = joined(_least_lead(records, rows), _tied_worlds(records, rows), _no_intervals(rows))
    return Finding(sentence(lead), support)


def _no_intervals(rows: Sequence[Mapping[str, Any]]) -> str:
    """That rows have no intervals, if none has one."""
    return "" if any(half_width(row) is not None for row in rows) else "One trial: no intervals."


def _how(records: Records, rows: Sequence[Mapping[str, Any]]) -> str:
    """What was decided alike in all rows beside what is compared."""
    decided = [key for key in records.others if key not in records.places and len({row[key] for row in rows}) == 1]
    return f" ({records.phrases(rows[0], decided)})" if decided else ""


def _world_words(records: Records) -> str:
    """What tells worlds apart, in the plural."""
    return "worlds" if len(records.places) != 1 else f"{records.words(records.places[0]).name}s"


def _listed(records: Records, rows: Sequence[Mapping[str, Any]]) -> str:
    """The worlds of rows, the first few by name."""
    named = [records.phrases(row, records.places) for row in rows[:_MOST_NAMED]]
    left = len(rows) - len(named)
    return "; ".join(named) + (f"; and {left} more" if left else "")


def _least_lead(records: Records, rows: Sequence[Mapping[str, Any]]) -> str:
    """The smallest lead over the next, with its world."""
    rivals = [(rival, row) for row in rows if (rival := _next(records, row)) is not None]
    if not rivals or records.main is None:
        return ""
    rival, row = max(rivals, key=lambda pair: float(pair[0]["mean"]))
    name = records.phrase(records.main, rival[records.main])
    place = records.phrases(row, records.places)
    return f"Its smallest lead is {fixed(-rival['mean'], 1)} percentage points, over {name} ({place})."


def _tied_worlds(records: Records, rows: Sequence[Mapping[str, Any]]) -> str:
    """The worlds in which trials do not tell it apart from the next."""
    tied = _tied(records, rows)
    return f"The trials do not tell it apart from the next: {_listed(records, tied)}." if tied else ""


def _tied(records: Records, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The rows of worlds in which trials do not tell the best apart from the next."""
    return [row for row in rows if (rival := _next(records, row)) is not None and rival["standing"] == TIED]


def _next(records: Records, row: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The best of the others that are compared in the world of a row; None where there is none."""
    if records.main is None or records.gaps.is_empty():
        return None
    here = hold(records.gaps, {key: row[key] for key in records.places})
    others = here.filter(pl.col(records.main) != row[records.main]).sort("mean", descending=True, maintain_order=True)
    return None if others.is_empty() else others.row(0, named=True)


def _finding(records: Records, row: Mapping[str, Any], threshold: str, alone: str) -> Finding:
    """Who earned most in the only world, how sure that is, and the next."""
    what = records.phrase(records.main, row[records.main]) if records.main else alone
    how = _how(records, [row])
    most = " the most," if records.main else ""
    earned = f"{_at_least(records)}{percent(row['mean'], _decimals(row))} of {records.whole}"
    without = _without_dropping(records, row, threshold) if threshold in records.others else ""
    lead = f"{what}{how} earned{most} {earned} ({_precision(row)})."
    return Finding(sentence(lead), joined(_rival(records, row), without))


def _at_least(records: Records) -> str:
    """What stands before a share that is no more than proven."""
    return "at least " if records.share == POSSIBLE else ""


def _decimals(row: Mapping[str, Any]) -> int:
    """Decimals that suit the row's interval; one where there is none."""
    return max(1, decimals_for(half_width(row)))


def _precision(row: Mapping[str, Any]) -> str:
    if row["low"] is None or row["high"] is None:
        return f"{count(row['n'], 'trial')}, so no interval"
    low, high = (fixed(in_percent(row[end]), _decimals(row)) for end in ("low", "high"))
    return f"95 % interval {low} to {high}, {count(row['n'], 'trial')}"


def _rival(records: Records, row: Mapping[str, Any]) -> str:
    """The lead over the next on equal trials; empty where nothing is comparable."""
    rival = _next(records, row)
    if rival is None or records.main is None:
        return ""
    decided = [key for key in records.others if key not in records.places and rival[key] != row[key]]
    how = f" ({records.phrases(rival, decided)})" if decided else ""
    name = records.phrase(records.main, rival[records.main]) + how
    if rival["low"] is None or rival["high"] is None:
        return f"The next was {name}, {fixed(-rival['mean'], 1)} percentage points behind."
    ahead, low, high = (fixed(-rival[name], _decimals(rival)) for name in ("mean", "high", "low"))
    if rival["standing"] != TIED:
        return f"On the same trials it is {ahead} percentage points ({low} to {high}) ahead of the next, {name}."
    return f"The trials do not tell it apart from the next, {name}: {ahead} points ({low} to {high}) ahead."


def _without_dropping(records: Records, row: Mapping[str, Any], threshold: str) -> str:
    """The best at the lowest threshold, where that is not the best of all."""
    lowest = records.values(threshold)[0]
    if row[threshold] == lowest:
        return f"No higher {records.words(threshold).name} earned more."
    there = hold(records.best, {threshold: lowest}).sort("mean", descending=True, maintain_order=True)
    if there.is_empty() or records.main is None:
        return ""
    base = there.row(0, named=True)
    earned, name = percent(base["mean"], _decimals(base)), records.phrase(records.main, base[records.main])
    return f"At {records.phrase(threshold, lowest)} the best was {name} with {earned}."
