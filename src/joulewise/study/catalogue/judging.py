"""How a published claim is judged: by one stated rule for numbers and one for orderings.

A number is reproduced when it lies in our 95 % interval or within 2 % of our mean, partly within 10 %. An
ordering is a list of differences claimed to be positive, each paired on equal trials: reproduced when every
interval is above zero, partly when at least half of the means are. Nothing is judged below two trials, and no
number while half of its interval is wider than 10 % of it. A claim about the machine or the mapper of its authors
is not testable: our figure, if there is one, is shown beside it. No rule is ever bent for a claim.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl

from joulewise.confidence import student_quantile
from joulewise.verdicts import ClaimFinding, Verdict, of_positive

Samples: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]

CLOSE, NEAR = 0.02, 0.10
_TOO_FEW: tuple[str, Verdict] = ("fewer than two trials have a result", "not judged")


@dataclass(frozen=True)
class Claim:
    """A published claim and the function that judges it on the runs of its experiment."""

    id: str
    says: str
    published: str
    judge: Callable[[pl.DataFrame], tuple[str, Verdict]]
    note: str = ""

    def finding(self, runs: pl.DataFrame) -> ClaimFinding:
        ours, verdict = self.judge(runs)
        return ClaimFinding(self.id, self.says, self.published, ours, verdict, self.note)


def per_trial(runs: pl.DataFrame, metric: str, where: Mapping[str, object]) -> Samples:
    """The metric of each trial, in order, averaged over the runs that match; a list matches any of its values.

    A trial of which a run failed has no value (NaN).
    """
    choices = {column: wanted if isinstance(wanted, list) else [wanted] for column, wanted in where.items()}
    matches = [pl.any_horizontal(pl.col(column) == value for value in choices[column]) for column in choices]
    complete = pl.when(pl.col(metric).null_count() == 0).then(pl.col(metric).mean()).alias(metric)
    means = runs.lazy().filter(*matches).group_by("trial").agg(complete).sort("trial").collect()
    return means[metric].cast(pl.Float64).fill_null(math.nan).to_numpy()


_KEYS = {
    "affinity": "system.affinity",
    "best_types": "manager.best_types",
    "budget": "supply.budget_j",
    "declines": "manager.declines",
    "environment": "manager.environment",
    "follows": "manager.follows_tariff",
    "leniency": "manager.leniency",
    "load": "workload.tasks_per_day",
    "permuted": "manager.permuted",
    "policy": "manager.policy",
    "spread": "workload.time_spread",
    "threshold": "manager.dropping_threshold",
    "variant": "variant",
    "weight": "manager.weight",
}
"""The columns of runs by the short names that claims have for them."""


def sampled(runs: pl.DataFrame, metric: str, **where: object) -> Samples:
    """The metric of each trial where columns, by their short names, have these values."""
    return per_trial(runs, metric, {_KEYS[key]: value for key, value in where.items()})


def gain(samples: Samples, over: Samples) -> Samples:
    """How much more than the others, in percent of those."""
    return 100 * (samples / over - 1)


def best_by_mean(by_value: Mapping[float, Samples]) -> Samples:
    """Of the samples of a sweep those with the highest mean."""
    return max(by_value.values(), key=lambda samples: float(np.nanmean(samples)))


def best_by_trial(by_value: Mapping[float, Samples]) -> Samples:
    """The swept value that is best in each trial, the first of equals; NaN where a trial lacks a value."""
    table = np.stack(list(by_value.values()))
    best = np.argmax(np.nan_to_num(table, nan=-math.inf), axis=0)
    return np.where(np.isnan(table).any(axis=0), math.nan, np.array(list(by_value))[best])


def spread(several: Iterable[Samples]) -> Samples:
    """The samples with the highest mean less those with the lowest."""
    ordered = sorted(several, key=lambda samples: float(np.nanmean(samples)))
    return ordered[-1] - ordered[0]


def interval(samples: Samples) -> tuple[float, float, float]:
    """Mean, low and high of the 95 % interval over the trials that have a value, of which there must be two."""
    values = samples[~np.isnan(samples)]
    quantile = student_quantile(values.size)
    assert quantile is not None
    mean, half = float(values.mean()), quantile * float(values.std(ddof=1)) / values.size**0.5
    return mean, mean - half, mean + half


def _can_be_judged(samples: Samples) -> bool:
    return int((~np.isnan(samples)).sum()) >= 2


def spelled(samples: Samples, unit: str = "") -> str:
    """Mean and half interval for people."""
    mean, _, high = interval(samples)
    digits = 0 if abs(mean) >= 1000 else 2
    return f"{mean:,.{digits}f} ± {high - mean:,.{digits}f}{unit}"


def number(
    published: float, samples_of: Callable[[pl.DataFrame], Samples], unit: str = ""
) -> Callable[[pl.DataFrame], tuple[str, Verdict]]:
    """Judge a published number."""

    def judge(runs: pl.DataFrame) -> tuple[str, Verdict]:
        samples = samples_of(runs)
        if not _can_be_judged(samples):
            return _TOO_FEW
        mean, low, high = interval(samples)
        off = abs(mean - published) / abs(published)
        verdict: Verdict = "not reproduced"
        if (high - low) / 2 > NEAR * abs(published):
            verdict = "not judged"
        elif low <= published <= high or off <= CLOSE:
            verdict = "reproduced"
        elif off <= NEAR:
            verdict = "partly"
        return spelled(samples, unit), verdict

    return judge


def ordering(
    differences_of: Callable[[pl.DataFrame], Sequence[tuple[str, Samples]]], unit: str = " points"
) -> Callable[[pl.DataFrame], tuple[str, Verdict]]:
    """Judge differences that are claimed to be positive, each with its name."""

    def judge(runs: pl.DataFrame) -> tuple[str, Verdict]:
        differences = differences_of(runs)
        if not all(_can_be_judged(samples) for _, samples in differences):
            return _TOO_FEW
        intervals = [interval(samples) for _, samples in differences]
        held, verdict = of_positive([(mean, low) for mean, low, _ in intervals])
        name, smallest = min(differences, key=lambda item: interval(item[1])[0])
        return f"{held}; the smallest difference: {spelled(smallest, unit)} ({name})", verdict

    return judge


def beside(
    figures_of: Callable[[pl.DataFrame], Sequence[Samples]], unit: str = ""
) -> Callable[[pl.DataFrame], tuple[str, Verdict]]:
    """Show our figures beside published ones that hold for the machine of their authors alone."""

    def judge(runs: pl.DataFrame) -> tuple[str, Verdict]:
        figures = figures_of(runs)
        if not all(_can_be_judged(samples) for samples in figures):
            return _TOO_FEW
        return f"{' / '.join(spelled(samples) for samples in figures)}{unit}", "not testable"

    return judge


def untestable(why: str) -> Callable[[pl.DataFrame], tuple[str, Verdict]]:
    """Say why a claim cannot be tested."""
    return lambda _: (why, "not testable")
