"""Records seen another way: switches of the manager as one setting, or every setting at its best tuning."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from joulewise.present import theme
from joulewise.present.formats import METRICS, key_words, plain
from joulewise.present.records import (
    ENVIRONMENT,
    FILTER,
    LENIENCY,
    MODES,
    POLICY,
    SETTING,
    THRESHOLD,
    UTILITY,
    VARIANT,
    WEIGHT,
    Records,
)
from joulewise.study import statistics

SWITCHES = (ENVIRONMENT, FILTER, LENIENCY, WEIGHT)
TUNINGS = (LENIENCY, WEIGHT, THRESHOLD)
ENVIRONMENTS = ("queued", "polled")
FILTERS = ("none", "fair-share", "adaptive")
WITH_LENIENCY = "fair-share"
_SHADES = (0.0, 0.55, 0.75)  # how much white is mixed into the bars of each filter
_DASHES = ([1, 0], [6, 3], [2, 2])

Looks = Mapping[str, tuple[str, list[int]]]
"""Colour and dash of a line by its label."""


def beside(records: Records, keys: Sequence[str]) -> tuple[str, ...]:
    """The keys that vary beside these; not the variant where the others tell all variants apart."""
    swept = [key for key in records.varying if key not in keys and key != VARIANT]
    if VARIANT not in records.varying or VARIANT in keys:
        return tuple(swept)
    policy = [POLICY] if records.varies(POLICY) and POLICY not in keys else []
    named = list(dict.fromkeys([*policy, *swept]))
    known = [key for key in dict.fromkeys([*named, *keys]) if key in records.runs.columns]
    told_apart = records.runs.n_unique(known) == records.runs.n_unique([*known, VARIANT]) if known else False
    return tuple(named) if told_apart else (VARIANT, *swept)


def tunes(records: Records, key: str) -> bool:
    """Whether the runs differ in a tuning that has an effect: the leniency has none without its filter."""
    return len(_in_effect(records, key)[key].unique()) > 1 if key in records.runs.columns else False


def _in_effect(records: Records, key: str) -> pl.DataFrame:
    if key != LENIENCY or FILTER not in records.runs.columns:
        return records.runs
    return records.runs.filter(pl.col(FILTER) == WITH_LENIENCY)


def reshaped(records: Records, runs: pl.DataFrame, axes: Sequence[str]) -> Records:
    """The records of these runs with other axes; runs that are alike in them count once per trial."""
    once = runs.unique(subset=[*axes, "trial"], keep="first", maintain_order=True)
    metrics = [name for name in METRICS if name in once.columns]
    summary = statistics.summary(once, axes, metrics)
    seen = replace(records, study=replace(records.study, axes=tuple(axes)), runs=once, summary=summary)
    if seen.main is None or UTILITY not in once.columns:
        return replace(seen, differences=pl.DataFrame())
    return replace(seen, differences=statistics.differences(once, axes, [UTILITY], seen.main))


def at_best(records: Records, tunings: Sequence[str] = TUNINGS) -> tuple[Records, str]:
    """The records with each setting at its best leniency, weight and dropping threshold, and what to say of it.

    They are unchanged where nothing is tuned, or nothing else is compared.
    """
    tuned = [key for key in tunings if tunes(records, key)]
    kept = [key for key in (ENVIRONMENT, FILTER) if records.varies(key)]
    axes = [*beside(records, (*SWITCHES, *tunings)), *kept]
    if not tuned or not axes:
        return records, ""
    means = records.runs.group_by([*axes, *tuned], maintain_order=True).agg(pl.col(UTILITY).mean()).drop_nulls(UTILITY)
    ranked = means.sort(UTILITY, descending=True, maintain_order=True)
    best = ranked.unique(subset=axes, keep="first", maintain_order=True)
    runs = records.runs.join(best, on=[*axes, *tuned], how="semi", nulls_equal=True, maintain_order="left")
    words = " and ".join(key_words(key).name for key in tuned)
    return reshaped(records, runs, axes), f" Each is shown at the {words} at which it earned most."


def managed_view(records: Records) -> tuple[Records, str]:
    """The records by environment and filter as one key, leniency and weight at their best; and what to say of it."""
    tuned, best = at_best(records, (LENIENCY, WEIGHT))
    return with_setting(tuned, (ENVIRONMENT, FILTER)), best


def with_setting(records: Records, switches: Sequence[str] = SWITCHES) -> Records:
    """The records with those of the switches that vary told as one key, SETTING; unchanged where none does."""
    keys = [key for key in switches if (tunes if key in TUNINGS else Records.varies)(records, key)]
    if not keys:
        return records
    rows = list(records.runs.select(key for key in SWITCHES if key in records.runs.columns).iter_rows(named=True))
    texts = [_text(row, keys) for row in rows]
    ranked = sorted(zip(map(_rank, rows), texts, strict=True))
    column = pl.Series(SETTING, texts, dtype=pl.Enum(list(dict.fromkeys(text for _, text in ranked))))
    return reshaped(records, records.runs.with_columns(column), [*beside(records, switches), SETTING])


def _text(row: Mapping[str, Any], keys: Sequence[str]) -> str:
    """One combination of switches in words: "polled, no filter", "leniency 0.5"."""
    kind = row.get(FILTER, WITH_LENIENCY)
    said = {
        ENVIRONMENT: row.get(ENVIRONMENT),
        FILTER: "no filter" if kind == "none" else f"{kind} filter",
        WEIGHT: f"weight {plain(row.get(WEIGHT))}",
    }
    if LENIENCY in keys and kind == WITH_LENIENCY:
        said[FILTER] = f"leniency {plain(row[LENIENCY])}"
    shown = [*keys, FILTER] if LENIENCY in keys else keys
    return ", ".join(str(text) for key, text in said.items() if key in shown)


def _rank(row: Mapping[str, Any]) -> tuple[int, int, float, float]:
    kind, environment = row.get(FILTER, WITH_LENIENCY), row.get(ENVIRONMENT, ENVIRONMENTS[0])
    leniency = row.get(LENIENCY, 1.0) if kind == WITH_LENIENCY else 1.0
    return ENVIRONMENTS.index(environment), FILTERS.index(kind), leniency, row.get(WEIGHT, 0.0)


def setting_fills(records: Records) -> list[str]:
    """Colours of bars by setting: a colour for each environment, lighter with a filter; a ramp for tunings."""
    rows = _setting_rows(records)
    if _is_tuned(rows):
        return theme.ordered(len(rows))
    return [theme.lighter(_colour(row), _SHADES[_filter_index(row)]) for row in rows]


def looks_of(records: Records, key: str) -> Looks:
    """Colour and dash of the line of each value of a key, by label; immediate mode is dashed."""
    labels = records.labels(key)
    if key == SETTING:
        return dict(zip(labels.values(), _setting_looks(records), strict=True))
    if len(labels) > 1 and all(isinstance(value, int | float) for value in labels):
        return {
            label: (colour, [1, 0])
            for label, colour in zip(labels.values(), theme.ordered_lines(len(labels)), strict=True)
        }
    return {label: theme.line_style(i, _family(records, key, value)) for i, (value, label) in enumerate(labels.items())}


def _family(records: Records, key: str, value: Hashable) -> int:
    return int(key == POLICY and records.mode(str(value)) == MODES[0])


def _setting_looks(records: Records) -> list[tuple[str, list[int]]]:
    """A colour for each environment and a dash for each filter; a ramp for tunings, with no filter dashed."""
    rows = _setting_rows(records)
    if _is_tuned(rows):
        ramp = theme.ordered_lines(len(rows))
        return [
            (theme.INK, _DASHES[1]) if row.get(FILTER) == FILTERS[0] else (colour, _DASHES[0])
            for row, colour in zip(rows, ramp, strict=True)
        ]
    if not records.varies(ENVIRONMENT):
        return [(theme.PALETTE[_filter_index(row)], _DASHES[0]) for row in rows]
    return [(_colour(row), _DASHES[_filter_index(row)]) for row in rows]


def _setting_rows(records: Records) -> list[dict[str, Any]]:
    """The switches that each setting stands for, in reading order; those in which its runs differ are left out."""
    n_settings = records.runs[SETTING].n_unique()
    known = [key for key in SWITCHES if key in records.runs.columns]
    told = [key for key in known if records.runs.n_unique([SETTING, key]) == n_settings]
    return list(records.runs.select(SETTING, *told).unique(SETTING, keep="first").sort(SETTING).iter_rows(named=True))


def _is_tuned(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether settings differ in a number, not in environment and filter alone."""
    return len({(row.get(ENVIRONMENT), row.get(FILTER)) for row in rows}) < len(rows)


def _colour(row: Mapping[str, Any]) -> str:
    return theme.PALETTE[ENVIRONMENTS.index(row.get(ENVIRONMENT, ENVIRONMENTS[0]))]


def _filter_index(row: Mapping[str, Any]) -> int:
    return FILTERS.index(row.get(FILTER, FILTERS[0]))
