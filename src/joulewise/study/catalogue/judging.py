"""How a published claim is judged on the runs of a study, by the rule of `joulewise.verdicts`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import permutations
from operator import and_, or_
from typing import TypeAlias, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from joulewise.confidence import student_quantile
from joulewise.verdicts import (
    LEAST_TRIALS,
    SILENT,
    ClaimFinding,
    IntervalEnds,
    Standing,
    Verdict,
    Wanted,
    of_number,
    of_positive,
    weakest_of,
    worst,
)

Samples: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]
Judge: TypeAlias = Callable[[pl.DataFrame], tuple[str, Verdict]]
Value = TypeVar("Value")
Differences: TypeAlias = Callable[[pl.DataFrame], Sequence[tuple[str, Samples]]]
_NOTHING = 1e-4
"""Intervals of no width for people: kept runs have seven digits."""


@dataclass(frozen=True)
class Claim:
    """A published claim and the function that judges it on the runs of its experiment."""

    id: str
    says: str
    published: str
    judge: Judge
    note: str = ""
    standing: Standing = ""

    def finding(self, runs: pl.DataFrame) -> ClaimFinding:
        ours, verdict = self.judge(runs)
        return ClaimFinding(self.id, self.says, self.published, ours, verdict, self.note, self.standing)

    def without(self, lacking: str) -> ClaimFinding:
        """What is said of the claim where it cannot be judged."""
        return ClaimFinding(self.id, self.says, self.published, lacking, "not judged", self.note, self.standing)


def per_trial(runs: pl.DataFrame, metric: str, where: Mapping[str, object]) -> Samples:
    """The metric of each trial, in order, averaged over the runs that match; a list matches any of its values.

    A trial of which a run failed has no value (NaN).
    """
    choices = {column: wanted if isinstance(wanted, list) else [wanted] for column, wanted in where.items()}
    matches = [reduce(or_, [runs[column] == value for value in values]) for column, values in choices.items()]
    chosen = reduce(and_, matches, runs["trial"] >= 0)
    _, group, sizes = np.unique(runs["trial"].filter(chosen).to_numpy(), return_inverse=True, return_counts=True)
    values = runs[metric].filter(chosen).cast(pl.Float64).to_numpy()  # NaN where a run failed
    return np.asarray(np.bincount(group, values, sizes.size) / sizes)


_KEYS = {
    "affinity": "system.affinity",
    "best_types": "manager.best_types",
    "budget": "supply.budget_j",
    "customers": "workload.customers_per_day",
    "declines": "manager.declines",
    "environment": "manager.environment",
    "follows": "manager.follows_tariff",
    "idle": "system.idle_percent",
    "leniency": "manager.leniency",
    "load": "workload.tasks_per_day",
    "method": "optimise.method",
    "permuted": "manager.permuted",
    "policy": "manager.policy",
    "ratio": "optimise.profit_ratio",
    "size": "workload.n_tasks",
    "spread": "workload.time_spread",
    "threshold": "manager.dropping_threshold",
    "values": "workload.values",
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


def best_value(by_value: Mapping[Value, Samples]) -> Value:
    """The swept value with the highest mean over the trials that have all of them, the first of equals."""
    table = np.stack(list(by_value.values()))
    return list(by_value)[int(table[:, _is_complete(table)].sum(axis=1).argmax())]


def at_best(by_value: Mapping[Value, Samples], wanted: Mapping[Value, Samples]) -> Samples:
    """What is wanted at the swept value with the highest mean; NaN where a trial lacks a value of the sweep."""
    complete = _is_complete(np.stack(list(by_value.values())))
    return np.where(complete, wanted[best_value(by_value)], math.nan)


def best_by_mean(by_value: Mapping[Value, Samples]) -> Samples:
    """Of the samples of a sweep those with the highest mean; NaN where a trial lacks a value."""
    return at_best(by_value, by_value)


def _is_complete(table: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which trials have all of some samples."""
    return np.asarray(~np.isnan(table).any(axis=0))


def of_the_worst(samples: Samples) -> Samples:
    """The least of all trials in the place of each: for what must hold always; NaN where one lacks a value."""
    return np.full_like(samples, samples.min())


def weakest(several: Iterable[Samples]) -> Samples:
    """Of differences that must all be positive the one whose interval reaches lowest."""
    return min(several, key=lambda samples: interval(samples)[1].low if n_valued(samples) > 1 else -math.inf)


PARTED = "where the best values differ by more than noise, by the differences that show it"


def best_difference(higher: Mapping[float, Samples], lower: Mapping[float, Samples]) -> Samples:
    """How surely the best value of one sweep is higher than that of another, in the unit of the samples.

    The best values have no interval, but a value between them parts them surely where the best of the one is better
    than all up to there, and the best of the other than all beyond. This is the weakest of these differences; it is
    negative where the best value of the first is not the higher one, and all differences show that.
    """
    complete = _is_complete(np.stack([*higher.values(), *lower.values()]))
    if complete.sum() < 2:
        return np.full(complete.size, math.nan)
    high, low = best_value(higher), best_value(lower)

    def parted(cut: float) -> Samples:
        """The weakest difference where the sweeps are parted at, or just after, a value."""
        is_higher = high > low
        beaten = [at for at in higher if (at <= cut if is_higher else at > cut)]
        beaten_too = [at for at in lower if (at > cut if is_higher else at < cut)]
        return weakest([*(higher[high] - higher[at] for at in beaten), *(lower[low] - lower[at] for at in beaten_too)])

    cuts = [at for at in higher if (low <= at < high if high > low else high <= at <= low)]
    surest = max(map(parted, cuts), key=lambda samples: interval(samples)[1].low)
    found = surest if high > low else -surest
    return np.where(complete, found, math.nan)


def best_apart(several: Iterable[Samples]) -> Samples:
    """The samples with the highest mean; NaN where a trial lacks a value.

    Every other trial decides for those between: chosen and measured on the same trials, noise alone would be ahead.
    """
    table = np.stack(list(several))
    complete, is_odd = _is_complete(table), np.arange(table.shape[1]) % 2 == 1
    found = np.full(table.shape[1], math.nan)
    for judged in (is_odd, ~is_odd):
        best = table[:, complete & ~judged].sum(axis=1).argmax()
        found[complete & judged] = table[best, complete & judged]
    return found


def spread(several: Iterable[Samples]) -> Samples:
    """The samples with the highest mean less those with the lowest, both chosen as `best_apart` does."""
    table = np.stack(list(several))
    return best_apart(table) + best_apart(-table)


def wider(one: Sequence[Samples], other: Sequence[Samples]) -> Samples:
    """How much wider the spread of some samples is than that of others: than any two of these are apart."""
    widest = spread(one)
    return weakest(widest - (high - low) for high, low in permutations(other, 2))


def alike(several: Mapping[str, Samples], within: float) -> list[tuple[str, Samples]]:
    """How much closer than so many points any two of some samples are, named: all must be for them to be alike."""
    return [
        (f"{within:g} points less {one} over {other}", within - (several[one] - several[other]))
        for one, other in permutations(several, 2)
    ]


def interval(samples: Samples) -> tuple[float, IntervalEnds]:
    """Mean and ends of the 95 % interval over the trials that have a value, of which there must be two."""
    values = samples[~np.isnan(samples)]
    quantile = student_quantile(values.size)
    assert quantile is not None
    mean, half = float(values.mean()), quantile * float(values.std(ddof=1)) / values.size**0.5
    return mean, IntervalEnds(mean - half, mean + half)


def n_valued(samples: Samples) -> int:
    """How many trials have a value."""
    return int((~np.isnan(samples)).sum())


def spelled(samples: Samples, unit: str = "") -> str:
    """Mean and half interval for people: two digits of the interval, and as many places of the mean."""
    mean, ends = interval(samples)
    half = ends.high - mean
    digits = 2 if half < _NOTHING else max(1 - math.floor(math.log10(half)), 0)
    return f"{mean:,.{digits}f} ± {half:,.{digits}f}{unit}"


def _judged_on(several: Sequence[Samples], judged: Callable[[], tuple[str, Verdict]]) -> tuple[str, Verdict]:
    """What is judged where there are trials enough and none lacks a result; without intervals nothing is even told."""
    fewest, n_trials = min(map(n_valued, several), default=0), max((samples.size for samples in several), default=0)
    if fewest < 2:
        return "fewer than two trials have a result", "not judged"
    ours, verdict = judged()
    lacking = f"; only {fewest} of {n_trials} trials have a result" if fewest < n_trials else ""
    is_judged = verdict in SILENT or (fewest >= LEAST_TRIALS and not lacking)
    return f"{ours}{lacking}", verdict if is_judged else "not judged"


def number(published: float, samples_of: Callable[[pl.DataFrame], Samples], unit: str = "") -> Judge:
    """Judge a published number."""

    return lambda runs: _number_judged(published, samples_of(runs), unit)


def _number_judged(published: float, samples: Samples, unit: str) -> tuple[str, Verdict]:
    return _judged_on([samples], lambda: (spelled(samples, unit), of_number(published, interval(samples)[1])))


def ordering(differences_of: Differences, unit: str = " points", wanted: Wanted = "all") -> Judge:
    """Judge differences that are claimed to be positive, each with its name."""

    def judge(runs: pl.DataFrame) -> tuple[str, Verdict]:
        differences = differences_of(runs)

        def judged() -> tuple[str, Verdict]:
            ends = [interval(samples)[1] for _, samples in differences]
            held, verdict = of_positive(ends, wanted)
            name, least = differences[weakest_of(ends)]
            return f"{held}; the weakest difference: {spelled(least, unit)} ({name})", verdict

        return _judged_on([samples for _, samples in differences], judged)

    return judge


def each_number(published: float, several_of: Callable[[pl.DataFrame], Mapping[str, Samples]], unit: str = "") -> Judge:
    """Judge a published number that is claimed of each of several; the worst verdict counts."""

    def judge(runs: pl.DataFrame) -> tuple[str, Verdict]:
        several = several_of(runs).items()
        return _worst_of({name: _number_judged(published, samples, unit) for name, samples in several})

    return judge


def _worst_of(judged: Mapping[str, tuple[str, Verdict]]) -> tuple[str, Verdict]:
    words = "; ".join(f"{name}: {ours}" for name, (ours, _) in judged.items())
    return words, worst(verdict for _, verdict in judged.values())


def in_each(settings: Mapping[str, Differences], unit: str = " points", wanted: Wanted = "all") -> Judge:
    """Judge differences that are claimed to be positive in each of some settings; the worst verdict counts."""

    def judge(runs: pl.DataFrame) -> tuple[str, Verdict]:
        return _worst_of({name: ordering(differences, unit, wanted)(runs) for name, differences in settings.items()})

    return judge


def beside(
    figures_of: Callable[[pl.DataFrame], Sequence[Samples]], unit: str = "", verdict: Verdict = "not testable"
) -> Judge:
    """Show our figures beside published ones, by default those that hold for the machine of their authors alone."""

    def judge(runs: pl.DataFrame) -> tuple[str, Verdict]:
        figures = figures_of(runs)
        words = "{}" + unit
        return _judged_on(figures, lambda: (words.format(" / ".join(map(spelled, figures))), verdict))

    return judge


def untestable(why: str) -> Judge:
    """Say why a claim cannot be tested."""
    return lambda _: (why, "not testable")
