"""The energy filters of Machovec et al. over what they do not print of their world."""

from __future__ import annotations

import polars as pl

from joulewise.study.catalogue.experiment import Experiment
from joulewise.study.catalogue.judging import (
    Claim,
    Differences,
    Judge,
    Samples,
    best_apart,
    best_by_mean,
    interval,
    n_valued,
    ordering,
    per_trial,
    spelled,
)
from joulewise.study.catalogue.machovec import BUDGET_SHARE, GIGA, LENIENCY, READING, VARIANT
from joulewise.verdicts import Verdict

NO_BUDGET = "no budget"

FILTER = "scheduler.energy_filter"
SETTING = ("system.parallelism_share", "system.sigma", "system.cores_per_node")
BY_TASK, BY_RESOURCE = "per-task", "per-resource"


def _settings(runs: pl.DataFrame) -> dict[str, dict[str, object]]:
    """The settings of a map, by name, and where each is in its runs without a budget."""
    rows = runs.filter(pl.col(VARIANT) != NO_BUDGET).select(VARIANT, *SETTING).unique(maintain_order=True)
    return {row[VARIANT]: {key: row[key] for key in SETTING} for row in rows.iter_rows(named=True)}


def _by_leniency(runs: pl.DataFrame, setting: str, energy_filter: str) -> dict[float, Samples]:
    """What Max UPR with place-holders earns in a setting with a filter, by its leniency."""
    where = {VARIANT: setting, FILTER: energy_filter}
    swept = sorted(runs.filter(pl.col(VARIANT) == setting)[LENIENCY].unique().to_list())
    return {value: per_trial(runs, "utility_percent", {**where, LENIENCY: value}) for value in swept}


def _resource_over_task(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """At the published leniencies, by setting."""
    return [
        (name, _by_leniency(runs, name, BY_RESOURCE)[4.0] - _by_leniency(runs, name, BY_TASK)[2.0])
        for name in _settings(runs)
    ]


def _tuned_resource_over_task(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """Each filter at its best leniency, by setting."""
    return [
        (
            name,
            best_apart(_by_leniency(runs, name, BY_RESOURCE).values())
            - best_by_mean(_by_leniency(runs, name, BY_TASK)),
        )
        for name in _settings(runs)
    ]


def _best_leniency(energy_filter: str, best: float) -> Differences:
    """How much more the published leniency earns than the best other, by setting."""

    def gains(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
        found = []
        for name in _settings(runs):
            by_value = _by_leniency(runs, name, energy_filter)
            found.append((name, by_value.pop(best) - best_by_mean(by_value)))
        return found

    return gains


def _mapped(differences_of: Differences) -> Judge:
    """Judge differences of settings, and name the settings in which they are positive."""
    judged = ordering(differences_of)

    def judge(runs: pl.DataFrame) -> tuple[str, Verdict]:
        ours, verdict = judged(runs)
        holds = [
            name for name, samples in differences_of(runs) if n_valued(samples) > 1 and interval(samples)[1].low > 0
        ]
        return f"{ours}; it holds with: {'; '.join(holds) or 'no setting'}", verdict

    return judge


def _budgets_of_settings(runs: pl.DataFrame) -> tuple[str, Verdict]:
    """The budget by the rule of 70 % in each setting, in GJ."""
    found = []
    for name, where in _settings(runs).items():
        gj = BUDGET_SHARE * per_trial(runs, "energy_j", {VARIANT: NO_BUDGET, **where}) / GIGA
        found.append(f"{spelled(gj, ' GJ') if n_valued(gj) > 1 else 'too few trials'} ({name})")
    return "; ".join(found), "shown"


MAP = Experiment(
    "machovec-map",
    "Both energy filters by leniency, over average parallelism, its variance and the cores of a node",
    "Machovec IV.C.2 and V",
    "none of the three is printed: average parallelism in Downey's model of half the nodes asked for, and of 4 times "
    "as many; sigma from 0 to 2, and from 4 to 10; 24 to 26, 48 to 52 and 96 to 104 cores per node; Max UPR with "
    "place-holders at 5,000 jobs a day; budgets by the rule of 70 % in each setting, from four trials with another "
    f"seed; {READING}",
    "leniency-map",
    (
        Claim(
            "M3 (map)",
            "the energy-per-resource filter earns more than the energy-per-task filter",
            "more",
            _mapped(_resource_over_task),
            "at the published leniencies, 4.0 and 2.0, in each setting",
        ),
        Claim(
            "M3 (map, tuned)",
            "the energy-per-resource filter earns more than the energy-per-task filter",
            "more",
            _mapped(_tuned_resource_over_task),
            "each at the leniency of 1.5, 2, 4 and 6 that is best for it, in each setting",
        ),
        Claim(
            "M4 (map, per task)",
            "leniency 2 is best for the energy-per-task filter",
            "2",
            _mapped(_best_leniency(BY_TASK, 2.0)),
            "over the best of 1.5, 4 and 6, in each setting",
        ),
        Claim(
            "M4 (map, per resource)",
            "leniency 4 is best for the energy-per-resource filter",
            "4",
            _mapped(_best_leniency(BY_RESOURCE, 4.0)),
            "over the best of 1.5, 2 and 6, in each setting",
        ),
        Claim(
            "M5 (map)",
            "70 % of the energy of Max Util with place-holders at 5,000 jobs a day, no budget",
            "12 GJ",
            _budgets_of_settings,
            "by setting, to be read beside M3 and M4",
        ),
    ),
    standing="stand-in",
)
