"""Who earned and who was dropped: the levels of priority and the groups of machines apart."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from joulewise.present.bars import Measure, draw_bars
from joulewise.present.layout import Drawing, group_layout, whiskers
from joulewise.present.records import Records
from joulewise.present.tasks.keys import ENVIRONMENT, FILTER, GROUP, PRIORITY, SETTING
from joulewise.present.tasks.settings import at_best, with_setting
from joulewise.present.views import reshaped

BY_PRIORITY = Measure("priority_percent", "% of the level's worth")
BY_GROUP = Measure("group_percent", "% of the utility earned")


def levels_of(records: Records, metric: str) -> list[str]:
    """The levels for which runs have a metric, in the order of their columns, such as "priority_percent:high"."""
    names = [name.partition(":") for name in records.runs.columns if records.measures(name)]
    return [level for stem, _, level in names if stem == metric and level]


def by_level(records: Records, key: str, metrics: Sequence[str]) -> Records:
    """The records with one row per run and level: `key` is the level and each metric is that of the level."""
    levels = levels_of(records, metrics[0])
    parts = [
        records.runs.with_columns(
            pl.lit(level).cast(pl.Enum(levels)).alias(key),
            *(pl.col(f"{metric}:{level}").cast(pl.Float64).alias(metric) for metric in metrics),
        )
        for level in levels
    ]
    return reshaped(records, pl.concat(parts), [*records.varying, key])


def utility_by_priority(records: Records) -> Drawing:
    """Of the most that tasks of each priority level were worth, the part that was earned."""
    said = (
        "Utility earned by the tasks of each priority level, in percent of what they are worth if nothing had to wait"
    )
    return _bars(records, PRIORITY, BY_PRIORITY, said)


def utility_by_group(records: Records) -> Drawing:
    """The part of the utility that was earned on the machines of each group."""
    return _bars(records, GROUP, BY_GROUP, "Share of the earned utility that came from the machines of each group")


def _bars(records: Records, key: str, measure: Measure, said: str) -> Drawing:
    tuned, best = at_best(records)
    seen = by_level(with_setting(tuned, (ENVIRONMENT, FILTER)), key, [measure.metric])
    layout = group_layout(seen, SETTING if SETTING in seen.others else key)
    chart, note = draw_bars(seen, layout, measure)
    return Drawing(
        chart, f"{said}, for each {seen.words(layout.main).name}.{best} {whiskers(seen, metric=measure.metric)}{note}"
    )
