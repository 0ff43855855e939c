"""Utility and completed tasks by policy, threshold and setting, as bars."""

from __future__ import annotations

import math

from joulewise.present.bars import Measure, draw_bars
from joulewise.present.formats import key_words
from joulewise.present.layout import Drawing, group_layout, main_layout, whiskers
from joulewise.present.records import ENVIRONMENT, FILTER, SETTING, THRESHOLD, Records
from joulewise.present.settings import at_best, managed_view, with_setting

COMPLETED = Measure("tasks_completed", "tasks completed", 0, math.inf)


def utility_by_policy(records: Records) -> Drawing:
    """Percentage of maximum utility by policy (or whatever is compared), the loads side by side."""
    records, best = managed_view(records)
    layout = main_layout(records)
    chart, note = draw_bars(records, layout)
    held = f", with {records.phrases(layout.held, layout.held)}" if layout.held else ""
    by = f" at each {key_words(layout.group).name}" if layout.group else ""
    caption = (
        f"Percentage of the maximum utility earned by each {key_words(layout.main).name}{by}{held}.{best} "
        f"{whiskers(records)}{note}"
    )
    return Drawing(chart, caption)


def utility_by_threshold(records: Records) -> Drawing:
    """Percentage of maximum utility by policy, with one bar per dropping threshold."""
    records, best = managed_view(records)
    layout = group_layout(records, THRESHOLD)
    chart, note = draw_bars(records, layout)
    caption = (
        f"Percentage of the maximum utility earned by each {key_words(layout.main).name} at each "
        f"dropping threshold; a task is dropped once the best it can still earn is below the threshold.{best} "
        f"{whiskers(records)}{note}"
    )
    return Drawing(chart, caption)


def utility_by_setting(records: Records) -> Drawing:
    """Percentage of maximum utility by policy, with a bar per environment and energy filter."""
    tuned, best = at_best(records)
    shown = with_setting(tuned, (ENVIRONMENT, FILTER))
    layout = group_layout(shown, SETTING)
    chart, note = draw_bars(shown, layout)
    by = "" if layout.main == SETTING else f" by each {key_words(layout.main).name}"
    caption = (
        f"Percentage of the maximum utility earned{by} in each environment, with and without energy filter."
        f"{best} {whiskers(shown)}{note}"
    )
    return Drawing(chart, caption)


def completed_by_policy(records: Records) -> Drawing:
    """Number of completed tasks by policy, the loads or settings side by side."""
    tuned, best = at_best(records)
    shown = with_setting(tuned, (ENVIRONMENT, FILTER))
    layout = group_layout(shown, SETTING) if SETTING in shown.others else main_layout(shown)
    chart, note = draw_bars(shown, layout, COMPLETED)
    caption = (
        f"Tasks completed in the counted time, for each {key_words(layout.main).name}. Completed tasks are not all "
        f"worth the same: compare with the utility.{best} {whiskers(shown)}{note}"
    )
    return Drawing(chart, caption)
