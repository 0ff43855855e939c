"""Experiments of Friese chapter 3 on how well task types and machine types suit each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import polars as pl

from joulewise.study.catalogue.experiment import Experiment
from joulewise.study.catalogue.friese_3 import DAY, DECLINING, samples_of, words_of
from joulewise.study.catalogue.judging import (
    PARTED,
    Claim,
    Samples,
    alike,
    at_best,
    best_difference,
    gain,
    of_the_worst,
    ordering,
    wider,
)

ALIKE = 5.0
"""Points of maximum utility within which policies count as alike."""
AFFINITIES = ("low", "as drawn", "high")
_TABLE_3_2 = {"as drawn": (0.082, 0.091), "high": (0.14, 0.18)}
"""The least and the most TMA of the 48 published trials."""
_MIDDLE_PERCENT, _APART_PERCENT, _INSIDE_PERCENT = 50.0, 20.0, 75.0


def _tma(runs: pl.DataFrame, affinity: str) -> Samples:
    return samples_of(runs, "system_tma", affinity=affinity)


def _affinity_ranges(runs: pl.DataFrame, affinity: str) -> list[tuple[str, Samples]]:
    """How well trials fill the published range, in percent of half of it: from its middle to each side, and apart."""
    low, high = _TABLE_3_2[affinity]
    place = 100 * (_tma(runs, affinity) - (low + high) / 2) / ((high - low) / 2)
    apart = np.abs(place[:, None] - place).mean(axis=1)
    inside = np.where(np.isnan(place), math.nan, 100.0 * (np.abs(place) <= 100))
    return [
        (f"{_MIDDLE_PERCENT:g} % over the middle less the mean", _MIDDLE_PERCENT - place),
        (f"mean less {_MIDDLE_PERCENT:g} % under the middle", _MIDDLE_PERCENT + place),
        (f"distance of trials from each other less {_APART_PERCENT:g} %", apart - _APART_PERCENT),
        (f"trials inside over {_INSIDE_PERCENT:g} %", inside - _INSIDE_PERCENT),
    ]


WEIGHTS = {reading: f"weighted-util, {reading}" for reading in DECLINING}
"""What the weighted policy is called in each reading of a choice of no value."""


def _tuned(runs: pl.DataFrame, affinity: str, policy: str, metric: str = "utility_percent") -> dict[float, Samples]:
    """A metric of a policy by what it is tuned with, its leniency or its weight."""
    if policy in WEIGHTS.values():
        name, _, reading = policy.partition(", ")
        where = {"affinity": affinity, "policy": name, "declines": DECLINING[reading]}
        return {weight: samples_of(runs, metric, weight=weight, **where) for weight in (0.3, 0.4, 0.5, 0.6, 0.7)}
    return {
        leniency: samples_of(runs, metric, affinity=affinity, variant="filter", policy=policy, leniency=leniency)
        for leniency in (0.6, 0.75, 1.0, 1.5, 2.0)
    }


UNWEIGHTED = ("max-max-upt", "max-max-upe")


def _tuned_higher(runs: pl.DataFrame, policies: Sequence[str], higher: str, lower: str) -> list[tuple[str, Samples]]:
    """The best value to tune with at one affinity less that at another."""
    return [
        (
            f"{policy}, {higher} over {lower}",
            best_difference(_tuned(runs, higher, policy), _tuned(runs, lower, policy)),
        )
        for policy in policies
    ]


def _at_best(runs: pl.DataFrame, affinity: str, policy: str, metric: str) -> Samples:
    """A metric of a policy where its mean utility is best, be it without filter."""
    where = {"affinity": affinity, "variant": "no filter", "policy": policy}
    utility, wanted = (_tuned(runs, affinity, policy, name) for name in ("utility", metric))
    if policy in UNWEIGHTED:
        utility[math.inf] = samples_of(runs, "utility", **where)
        wanted[math.inf] = samples_of(runs, metric, **where)
    return at_best(utility, wanted)


def _rises_with_affinity(runs: pl.DataFrame, metric: str, policies: Sequence[str]) -> list[tuple[str, Samples]]:
    return [
        (
            f"{policy}, {more} over {less}",
            gain(_at_best(runs, more, policy, metric), _at_best(runs, less, policy, metric)),
        )
        for policy in policies
        for less, more in pairwise(AFFINITIES)
    ]


def _alike_at_high(runs: pl.DataFrame, policies: Sequence[str]) -> list[tuple[str, Samples]]:
    high, drawn = (
        {policy: _at_best(runs, affinity, policy, "utility_percent") for policy in policies}
        for affinity in ("high", "as drawn")
    )
    closer = wider(list(drawn.values()), list(high.values()))
    return [*alike(high, ALIKE), ("spread as drawn over that at high affinity", closer)]


_BEST = f"{PARTED}; no filter left out"


def _of_weights(reading: str, weighted: str) -> tuple[Claim, ...]:
    """What is claimed of weights beside other policies, in one reading."""
    policies, note = (*UNWEIGHTED, weighted), words_of(reading)
    return (
        Claim(
            f"3.17 {reading}",
            "at low affinity a smaller weight is best",
            "smaller",
            ordering(lambda runs: _tuned_higher(runs, [weighted], "as drawn", "low")),
            f"{note}; {PARTED}",
        ),
        Claim(
            f"3.19 {reading}",
            "at high affinity a larger weight is best",
            "larger",
            ordering(lambda runs: _tuned_higher(runs, [weighted], "high", "as drawn")),
            f"{note}; {PARTED}",
        ),
        *(
            Claim(
                f"3.20 {name} {reading}",
                f"{words}: low < drawn < high affinity, each policy at its best",
                "all pairs",
                ordering(partial(_rises_with_affinity, metric=metric, policies=policies), " %"),
                note,
            )
            for name, words, metric in (
                ("utility", "utility", "utility"),
                ("tasks", "completed tasks", "tasks_completed"),
            )
        ),
        Claim(
            f"3.21 {reading}",
            "policies at their best earn alike at high affinity",
            "similar",
            ordering(partial(_alike_at_high, policies=policies)),
            f"{note}; read as: within {ALIKE:g} points, and closer than as drawn",
        ),
    )


FIG_3_14 = Experiment(
    "fig-3.14",
    "Utility under an energy budget in systems of low, drawn and high task-machine affinity",
    "Friese 3.6.4, fig. 3.14 and table 3.2",
    f"{DAY}; affinity (TMA) is that of the general-purpose part",
    "utility-by-setting",
    (
        *(
            Claim(
                f"3.15 {affinity}",
                f"task-machine affinity {affinity}",
                f"{low:g} to {high:g}",
                ordering(partial(_affinity_ranges, affinity=affinity), " %"),
                f"read as: {_INSIDE_PERCENT:g} % of trials lie inside (of 48 draws from one normal distribution 96 %), "
                f"their mean no more than {_MIDDLE_PERCENT:g} % of half the range from its middle, and they from each "
                f"other at least {_APART_PERCENT:g} % (51 %). That the printed variances are coefficients of variation "
                "is read from this range",
                "calibrated",
            )
            for affinity, (low, high) in _TABLE_3_2.items()
        ),
        Claim(
            "3.15 low",
            "task-machine affinity made low",
            "below 1e-15",
            ordering(
                lambda runs: [("1e-15 over the most TMA", of_the_worst(1 - 1e15 * _tma(runs, "low")))],
                "e-15",
            ),
            "the generator of low affinity makes all columns proportional",
            "constructed",
        ),
        Claim(
            "3.16",
            "at low affinity a higher leniency is best",
            "higher",
            ordering(lambda runs: _tuned_higher(runs, UNWEIGHTED, "low", "as drawn")),
            _BEST,
        ),
        Claim(
            "3.18",
            "at high affinity a lower leniency is best",
            "lower",
            ordering(lambda runs: _tuned_higher(runs, UNWEIGHTED, "as drawn", "high")),
            _BEST,
        ),
        *(claim for reading, weighted in WEIGHTS.items() for claim in _of_weights(reading, weighted)),
    ),
)
