"""Experiments of Friese chapter 2."""

from __future__ import annotations

from itertools import product

import polars as pl

from joulewise.study.catalogue.experiment import Experiment
from joulewise.study.catalogue.judging import Claim, Samples, number, ordering, per_trial

NAIVE = ["random", "round-robin"]
SMART = ["max-util", "max-upt", "met-random", "met-max-util"]
BATCH = ["min-min-comp", "sufferage", "max-max-util", "max-max-upt", "met-max-util-max-upt"]
MET_BASED = ["met-random", "met-max-util", "met-max-util-max-upt"]
NOT_MET_BASED = [policy for policy in (*SMART, *BATCH) if policy not in MET_BASED]
THRESHOLDS = [0.0, 0.05, 0.5, 1.5, 3.0, 5.0]

_READING = (
    "mapping takes no simulated time; 17 special-purpose task types; arrivals by thinning at rates that average to "
    "each type's mean; completions count in the 24 h after 2 h of warm-up"
)


def _percent(runs: pl.DataFrame, policies: str | list[str], **where: object) -> Samples:
    keys = {
        "load": "workload.tasks_per_day",
        "threshold": "manager.dropping_threshold",
        "best_types": "manager.best_types",
    }
    named = {keys[key]: value for key, value in where.items()}
    return per_trial(runs, "utility_percent", {"manager.policy": policies, **named})


def _maximum(load: int) -> Claim:
    published = {33_000: ("2.1", 65_051.0), 50_000: ("2.2", 98_708.0)}[load]
    return Claim(
        published[0],
        f"mean maximum utility at {load:,} tasks a day",
        f"{published[1]:,.0f}",
        number(
            published[1],
            lambda runs: per_trial(runs, "maximum_utility", {"workload.tasks_per_day": load}),
        ),
    )


def _min_min(claim: str, load: int, published: float) -> Claim:
    return Claim(
        claim,
        f"percent of maximum utility of Min-Min Comp at {load:,} tasks a day, no dropping",
        f"{published} %",
        number(published, lambda runs: _percent(runs, "min-min-comp", load=load), " %"),
    )


def _families(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """Every smart policy against every naive one, every batch policy against every smart one, at both loads."""
    pairs = [*product(SMART, NAIVE), *product(BATCH, SMART)]
    return [
        (
            f"{better} over {worse} at {load:,}",
            _percent(runs, better, load=load) - _percent(runs, worse, load=load),
        )
        for load in (33_000, 50_000)
        for better, worse in pairs
    ]


def _batch_gain(runs: pl.DataFrame) -> Samples:
    smart = _percent(runs, SMART, load=33_000)
    return 100 * (_percent(runs, BATCH, load=33_000) / smart - 1)


FIG_2_5 = Experiment(
    "fig-2.5",
    "Percent of maximum utility by policy, two loads, nothing dropped",
    "Friese 2.7.2",
    _READING,
    "utility-by-policy",
    (
        _maximum(33_000),
        _maximum(50_000),
        Claim(
            "2.3",
            "naive immediate < smart immediate < batch, at both loads",
            "all pairs",
            ordering(_families),
        ),
        Claim(
            "2.4",
            "mean gain of batch over smart immediate policies at 33,000 tasks a day",
            "about 250 %",
            number(250.0, _batch_gain, " %"),
            "K-Best Types left out, as published",
        ),
        _min_min("2.5", 33_000, 53.13),
        _min_min("2.6", 50_000, 41.26),
    ),
)


def _best_at(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """Threshold 1.5 against every other one, for every policy that looks at the machines."""
    return [
        (
            f"{policy} at 1.5 over {other:g}",
            _percent(runs, policy, threshold=1.5) - _percent(runs, policy, threshold=other),
        )
        for policy in (*SMART, *BATCH)
        for other in THRESHOLDS
        if other != 1.5
    ]


def _dropping_gain(runs: pl.DataFrame) -> Samples:
    policies = ["max-util", "max-upt"]
    without = _percent(runs, policies, threshold=0.0)
    return 100 * (_percent(runs, policies, threshold=1.5) / without - 1)


def _worse_by_met(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """Every other policy that looks at the machines against every MET-based one, at threshold 1.5."""
    return [
        (f"{other} over {met}", _percent(runs, other, threshold=1.5) - _percent(runs, met, threshold=1.5))
        for other, met in product(NOT_MET_BASED, MET_BASED)
    ]


def _alike_above(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """Less than five points between the best and the worst of the policies, at 1.5 and above."""
    found = []
    for threshold in (1.5, 3.0, 5.0):
        percents = [_percent(runs, policy, threshold=threshold) for policy in NOT_MET_BASED]
        means = [samples.mean() for samples in percents]
        best, worst = percents[means.index(max(means))], percents[means.index(min(means))]
        found.append((f"5 points less the spread at {threshold:g}", 5.0 - (best - worst)))
    return found


def _sensitivity(runs: pl.DataFrame, policy: str) -> Samples:
    percents = [_percent(runs, policy, threshold=threshold) for threshold in THRESHOLDS]
    means = [samples.mean() for samples in percents]
    return percents[means.index(max(means))] - percents[means.index(min(means))]


def _more_sensitive(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    return [
        (f"range of {smart} over {batch}", _sensitivity(runs, smart) - _sensitivity(runs, batch))
        for smart, batch in product(SMART, BATCH)
    ]


FIG_2_6 = Experiment(
    "fig-2.6",
    "Percent of maximum utility by policy and dropping threshold at 50,000 tasks a day",
    "Friese 2.7.3",
    _READING,
    "utility-by-threshold",
    (
        Claim(
            "2.10",
            "dropping threshold 1.5 is the best of the six for almost all policies",
            "1.5",
            ordering(_best_at),
            "Random and Round-Robin are left out",
        ),
        Claim(
            "2.11",
            "gain of Max Util and Max UPT from threshold 0 to 1.5",
            "about 450 %",
            number(450.0, _dropping_gain, " %"),
        ),
        Claim(
            "2.13",
            "MET-based policies earn less than the others at threshold 1.5",
            "less",
            ordering(_worse_by_met),
            "Random and Round-Robin are left out",
        ),
        Claim(
            "2.14",
            "policies earn alike at thresholds of 1.5 and above",
            "similar",
            ordering(_alike_above),
            "read as: best and worst differ by less than 5 points; Random, Round-Robin and MET-based left out",
        ),
        Claim(
            "2.15",
            "immediate mode is more sensitive to the threshold than batch mode",
            "more",
            ordering(_more_sensitive),
            "sensitivity read as the range of means over the six thresholds",
        ),
    ),
)


def _fewest_types(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """One machine type against every larger number of them."""
    return [
        (
            f"K = 1 over {k}",
            _percent(runs, "k-best-types", best_types=1) - _percent(runs, "k-best-types", best_types=k),
        )
        for k in (2, 3, 5, 9)
    ]


K_BEST = Experiment(
    "k-best",
    "Percent of maximum utility of K-Best Types by K at 50,000 tasks a day",
    "Friese 2.7.1",
    f"{_READING}; dropping threshold 0.5, for the text does not say at which one K was chosen",
    "utility-by-policy",
    (Claim("2.16", "K-Best Types earns most with K = 1", "K = 1", ordering(_fewest_types)),),
)
