"""The page of a managed day: serial tasks under a manager."""

from __future__ import annotations

from joulewise.present import theme
from joulewise.present.curves import ENERGY_TRACE, TRACES, UTILITY_TRACE, trace_frame
from joulewise.present.page import Figure, Need, Page
from joulewise.present.records import Key, Records
from joulewise.present.tasks.curves import energy_over_time, utility_over_time
from joulewise.present.tasks.fates import COUNTS, fates, fates_by_priority, shares
from joulewise.present.tasks.findings import day_findings
from joulewise.present.tasks.gains import gain_by_number, has_gains
from joulewise.present.tasks.gantt import GLIMPSES, has_runs, task_gantt
from joulewise.present.tasks.glossary import GLOSSARY
from joulewise.present.tasks.illustrations import ILLUSTRATIONS
from joulewise.present.tasks.keys import (
    ENVIRONMENT,
    FILTER,
    GROUP,
    LENIENCY,
    LOAD,
    POLICY,
    PRIORITY,
    SETTING,
    THRESHOLD,
    WEIGHT,
)
from joulewise.present.tasks.levels import BY_GROUP, BY_PRIORITY, levels_of, utility_by_group, utility_by_priority
from joulewise.present.tasks.policy_bars import (
    completed_by_policy,
    differences,
    utility_against_energy,
    utility_by_policy,
    utility_by_setting,
    utility_by_threshold,
)
from joulewise.present.tasks.sensitivity import over_leniency, over_weight
from joulewise.present.tasks.settings import setting_fills, setting_lines, tunes
from joulewise.present.tasks.tables import day_tables
from joulewise.present.tradeoff import energies_differ


def _has_settings(records: Records) -> bool:
    return records.varies(ENVIRONMENT) or records.varies(FILTER)


def _has_trace(records: Records, trace: str) -> bool:
    return not trace_frame(records, trace, POLICY).is_empty()


_COMPARISON = Need("comparison", lambda records: records.main is not None and not records.best.is_empty())
_TASK_COUNTS = Need("task counts", lambda records: not shares(records).is_empty())

_FIGURES = (
    Figure(
        "utility-by-policy", "Utility by policy",
        (_COMPARISON, Need("one setting", lambda records: not _has_settings(records))), utility_by_policy,
    ),
    Figure(
        "gain-by-number", "Gain of one policy over another",
        (Need("two policies over a number of the world", has_gains),), gain_by_number,
    ),
    Figure(
        "utility-by-threshold", "Utility by dropping threshold",
        (_COMPARISON, Need("thresholds", lambda records: THRESHOLD in records.others)), utility_by_threshold,
    ),
    Figure(
        "utility-by-setting", "Utility by environment and energy filter",
        (_COMPARISON, Need("environments or filters", _has_settings)), utility_by_setting,
    ),
    Figure(
        "utility-by-leniency", "Leniency of the energy filter",
        (_COMPARISON, Need("leniencies", lambda records: tunes(records, LENIENCY))), over_leniency,
    ),
    Figure(
        "utility-by-weight", "Weight of energy",
        (_COMPARISON, Need("weights", lambda records: tunes(records, WEIGHT))), over_weight,
    ),
    Figure(
        "differences", "Distance to the best",
        (_COMPARISON, Need("differences", lambda records: not records.behind_best.is_empty())), differences,
    ),
    Figure(
        "utility-against-energy", "Utility against energy",
        (_COMPARISON, Need("energies that differ", energies_differ)), utility_against_energy,
    ),
    Figure(
        "utility-over-time", "Utility over the day",
        (Need("utility over time", lambda records: _has_trace(records, UTILITY_TRACE)),), utility_over_time,
    ),
    Figure(
        "energy-over-time", "Energy over the day",
        (Need("energy over time", lambda records: _has_trace(records, ENERGY_TRACE)),), energy_over_time,
    ),
    Figure(
        "task-gantt", "Which machines ran what", (Need("records of tasks", has_runs),), task_gantt, is_schedule=True,
    ),
    Figure("fates", "What became of the tasks", (_TASK_COUNTS,), fates),
    Figure("completed-by-policy", "Completed tasks", (_COMPARISON, _TASK_COUNTS), completed_by_policy),
    Figure(
        "utility-by-priority", "Utility by priority level",
        (Need("priority levels", lambda records: len(levels_of(records, BY_PRIORITY.metric)) > 1),),
        utility_by_priority,
    ),
    Figure(
        "utility-by-group", "Utility by machine group",
        (Need("machine groups", lambda records: len(levels_of(records, BY_GROUP.metric)) > 1),), utility_by_group,
    ),
    Figure(
        "fates-by-priority", "Who was dropped",
        (Need("task counts by priority", lambda records: all(levels_of(records, name) for name in COUNTS)),),
        fates_by_priority,
    ),
)  # fmt: skip


def _threshold_colours(records: Records) -> list[str]:
    """A ramp, with grey for a threshold at which nothing is dropped."""
    values = records.values(THRESHOLD)
    drops_nothing = values[0] == 0 and len(values) > 1
    return [theme.NOTHING, *theme.ordered(len(values) - 1)] if drops_nothing else theme.ordered(len(values))


_FILTERS = {"none": "no energy filter", "fair-share": "fair-share filter", "adaptive": "adaptive filter"}
_KEYS = {
    "manager.best_types": Key("K", "machine types"),
    "system.time_factor_cov": Key("COV of P-state times"),
    "system.power_cov": Key("COV of powers"),
    ENVIRONMENT: Key("environment", phrases={"queued": "queued environment", "polled": "polled environment"}),
    FILTER: Key("energy filter", phrases=_FILTERS),
    WEIGHT: Key("weight of energy"),
    LOAD: Key("load", "tasks/day", colours=lambda records: theme.categorical(len(records.values(LOAD)))),
    THRESHOLD: Key("dropping threshold", colours=_threshold_colours),
    PRIORITY: Key("priority level", colours=lambda records: theme.ordered(len(records.values(PRIORITY)))[::-1]),
    GROUP: Key("machine group"),
    SETTING: Key("setting", stands_alone=True, colours=setting_fills, lines=setting_lines),
}

PAGES = {
    "managed": Page(
        day_findings,
        day_tables,
        _FIGURES,
        GLOSSARY,
        {TRACES: None},
        _KEYS,
        THRESHOLD,
        ILLUSTRATIONS,
        GLIMPSES,
    ),
}
