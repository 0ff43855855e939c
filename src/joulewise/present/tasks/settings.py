"""Records seen another way: switches of the manager as one setting, or every setting at its best tuning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from joulewise.present import theme
from joulewise.present.formats import plain
from joulewise.present.layout import Layout, main_layout
from joulewise.present.records import Records
from joulewise.present.tasks.keys import ENVIRONMENT, FILTER, LENIENCY, LOAD, POLICY, SETTING, THRESHOLD, WEIGHT
from joulewise.present.views import beside, reshaped

SWITCHES = (ENVIRONMENT, FILTER, LENIENCY, WEIGHT)
TUNINGS = (LENIENCY, WEIGHT, THRESHOLD)
ENVIRONMENTS = ("queued", "polled")
FILTERS = ("none", "fair-share", "adaptive")
WITH_LENIENCY = "fair-share"
_SHADES = (0.0, 0.55, 0.75)  # how much white is mixed into the bars of each filter
_DASHES = ([1, 0], [6, 3], [2, 2])


def policy_layout(records: Records) -> Layout:
    """The main key along the axis, the load or another small key as colour, the threshold at its lowest."""
    return main_layout(records, THRESHOLD, LOAD)


def tunes(records: Records, key: str) -> bool:
    """Whether the runs differ in a tuning that has an effect: the leniency has none without its filter."""
    return len(_in_effect(records, key)[key].unique()) > 1 if key in records.runs.columns else False


def _in_effect(records: Records, key: str) -> pl.DataFrame:
    if key != LENIENCY or FILTER not in records.runs.columns:
        return records.runs
    return records.runs.filter(pl.col(FILTER) == WITH_LENIENCY)


def at_best(records: Records, tunings: Sequence[str] = TUNINGS) -> tuple[Records, str]:
    """The records with each setting at its best leniency, weight and dropping threshold, and what to say of it.

    They are unchanged where nothing is tuned, or nothing else is compared.
    """
    tuned = [key for key in tunings if tunes(records, key)]
    kept = [key for key in (ENVIRONMENT, FILTER) if records.varies(key)]
    axes = [*beside(records, (*SWITCHES, *tunings), POLICY), *kept]
    share = records.share
    if not tuned or not axes:
        return records, ""
    means = records.runs.group_by([*axes, *tuned], maintain_order=True).agg(pl.col(share).mean()).drop_nulls(share)
    ranked = means.sort(share, descending=True, maintain_order=True)
    best = ranked.unique(subset=axes, keep="first", maintain_order=True)
    runs = records.runs.join(best, on=[*axes, *tuned], how="semi", nulls_equal=True, maintain_order="left")
    words = " and ".join(records.words(key).name for key in tuned)
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
    return reshaped(records, records.runs.with_columns(column), [*beside(records, switches, POLICY), SETTING])


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


def setting_lines(records: Records) -> list[tuple[str, list[int]]]:
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
    switches = [key for key in SWITCHES if key in records.runs.columns]
    fixed = [key for key in switches if records.runs.n_unique([SETTING, key]) == n_settings]
    return list(records.runs.select(SETTING, *fixed).unique(SETTING, keep="first").sort(SETTING).iter_rows(named=True))


def _is_tuned(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether settings differ in a number, not in environment and filter alone."""
    return len({(row.get(ENVIRONMENT), row.get(FILTER)) for row in rows}) < len(rows)


def _colour(row: Mapping[str, Any]) -> str:
    return theme.PALETTE[ENVIRONMENTS.index(row.get(ENVIRONMENT, ENVIRONMENTS[0]))]


def _filter_index(row: Mapping[str, Any]) -> int:
    return FILTERS.index(row.get(FILTER, FILTERS[0]))
