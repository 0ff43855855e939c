"""Cumulative utility and energy over the day, by policy or by setting of the manager."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from joulewise.present.curves import ENERGY_TRACE, UTILITY_TRACE, draw_traces, energy_said, trace_frame, utility_said
from joulewise.present.layout import Drawing
from joulewise.present.records import Records
from joulewise.present.tasks.keys import POLICY, SETTING, THRESHOLD
from joulewise.present.tasks.settings import SWITCHES, with_setting

_MOST_LINES = 28


def utility_over_time(records: Records) -> Drawing:
    """Cumulative utility over the simulated time, one panel per setting or policy."""
    return _over_time(records, UTILITY_TRACE, utility_said(records))


def energy_over_time(records: Records) -> Drawing:
    """Cumulative energy over the simulated time with the budget, one panel per setting or policy."""
    return _over_time(records, ENERGY_TRACE, energy_said(records, POLICY))


def _over_time(records: Records, trace: str, said: str) -> Drawing:
    seen, lines = arranged(records)
    frame = trace_frame(seen, trace, POLICY)
    others = [key for key in seen.varying if key != lines]
    thresholds = _shown_thresholds(seen, frame) if THRESHOLD in others else []
    if thresholds:
        frame = frame.filter(pl.col(THRESHOLD).is_in(thresholds))
    keys = [*(key for key in others if key != THRESHOLD), *([THRESHOLD] if thresholds else [])]
    return draw_traces(seen, trace, said, lines, keys, frame, _threshold_note(seen, thresholds))


def arranged(records: Records) -> tuple[Records, str]:
    """The records with the manager's switches as one key, and the key whose values are the lines.

    Lines are the settings or the policies, whichever makes fewer panels of at most `_MOST_LINES` lines.
    """
    seen = with_setting(records)
    choices = [key for key in (SETTING, seen.main or POLICY) if key in seen.varying]
    fits = [key for key in choices if len(seen.values(key)) <= _MOST_LINES]
    if not fits and SETTING in seen.varying:
        return records, next(key for key in reversed(SWITCHES) if key in records.varying)
    return seen, max(fits, key=lambda key: len(seen.values(key)), default=seen.main or POLICY)


def _threshold_note(records: Records, thresholds: Sequence[float]) -> str:
    n = len(records.values(THRESHOLD))
    if not 0 < len(thresholds) < n:
        return ""
    return f" Of the {n} dropping thresholds, the lowest and the best on average are shown."


def _shown_thresholds(records: Records, traced: pl.DataFrame) -> list[float]:
    """Of the thresholds with traces, the lowest and the one with the highest mean utility."""
    values: list[float] = traced[THRESHOLD].unique().sort().to_list()
    means = records.utility().group_by(THRESHOLD).agg(pl.col("mean").mean()).drop_nulls()
    ranked = means.filter(pl.col(THRESHOLD).is_in(values)).sort("mean", descending=True)[THRESHOLD].to_list()
    return sorted({values[0], *ranked[:1]}) if len(values) > 2 else values
