"""Utility and completed tasks by policy, threshold and setting, distances to the best, and utility against energy."""

from __future__ import annotations

import math

from joulewise.present.bars import Measure, draw_bars
from joulewise.present.compared import draw_compared
from joulewise.present.intervals import draw_differences
from joulewise.present.layout import Drawing, group_layout, whiskers
from joulewise.present.records import Records
from joulewise.present.tasks.keys import ENVIRONMENT, FILTER, POLICY, SETTING, THRESHOLD
from joulewise.present.tasks.settings import TUNINGS, at_best, managed_view, policy_layout, tunes, with_setting
from joulewise.present.tradeoff import draw_tradeoff

COMPLETED = Measure("tasks_completed", "tasks completed", 0, math.inf)


def utility_by_policy(records: Records) -> Drawing:
    """Share of utility by policy (or whatever is compared), over the loads or with them side by side."""
    records, best = managed_view(records)
    layout = policy_layout(records)
    chart, note, marks = draw_compared(records, layout)
    held = f", with {records.phrases(layout.held, layout.held)}" if layout.held else ""
    by = f" at each {records.words(layout.group).name}" if layout.group else ""
    caption = (
        f"Percentage of {records.whole} earned by each {records.words(layout.main).name}{by}{held}.{best} "
        f"{whiskers(records, marks)}{note}"
    )
    return Drawing(chart, caption)


def utility_by_threshold(records: Records) -> Drawing:
    """Share of utility by policy, with one bar per dropping threshold."""
    records, best = managed_view(records)
    layout = group_layout(records, THRESHOLD)
    chart, note = draw_bars(records, layout)
    caption = (
        f"Percentage of {records.whole} earned by each {records.words(layout.main).name} at each "
        f"dropping threshold; a task is dropped once the best it can still earn is below the threshold.{best} "
        f"{whiskers(records)}{note}"
    )
    return Drawing(chart, caption)


def utility_by_setting(records: Records) -> Drawing:
    """Share of utility by policy, with a bar per environment and energy filter."""
    tuned, best = at_best(records)
    shown = with_setting(tuned, (ENVIRONMENT, FILTER))
    layout = group_layout(shown, SETTING)
    chart, note = draw_bars(shown, layout)
    by = "" if layout.main == SETTING else f" by each {shown.words(layout.main).name}"
    caption = (
        f"Percentage of {shown.whole} earned{by} in each environment, with and without an energy filter."
        f"{best} {whiskers(shown)}{note}"
    )
    return Drawing(chart, caption)


def completed_by_policy(records: Records) -> Drawing:
    """Number of completed tasks by policy, the loads or settings side by side."""
    tuned, best = at_best(records)
    shown = with_setting(tuned, (ENVIRONMENT, FILTER))
    layout = group_layout(shown, SETTING) if SETTING in shown.others else policy_layout(shown)
    chart, note, marks = draw_compared(shown, layout, COMPLETED)
    caption = (
        f"Tasks completed in the counted time, for each {shown.words(layout.main).name}. Completed tasks are not all "
        f"worth the same: compare with the utility.{best} {whiskers(shown, marks, COMPLETED.metric)}{note}"
    )
    return Drawing(chart, caption)


def differences(records: Records) -> Drawing:
    """Paired differences in utility to the best at each setting, one row per policy."""
    seen, best = managed_view(records)
    layout = group_layout(seen, THRESHOLD) if THRESHOLD in seen.others else policy_layout(seen)
    return draw_differences(seen, layout, best)


def utility_against_energy(records: Records) -> Drawing:
    """Mean utility against mean energy of all policies, settings of one policy joined by thin lines."""
    seen = with_setting(records, (ENVIRONMENT, FILTER))
    main = POLICY if seen.varies(POLICY) else seen.main or POLICY
    return draw_tradeoff(seen, main, [key for key in TUNINGS if key != main and tunes(seen, key)])
