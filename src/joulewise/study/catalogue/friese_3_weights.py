"""Experiments of Friese chapter 3 on weighted policies, by weight, with filters, and over the day."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product

import polars as pl

from joulewise.study.catalogue.experiment import Experiment, Told
from joulewise.study.catalogue.friese_3 import BUDGET_USED, DAY, DECLINING, samples_of, words_of
from joulewise.study.catalogue.judging import (
    PARTED,
    Claim,
    Differences,
    Samples,
    best_apart,
    best_by_mean,
    best_difference,
    gain,
    number,
    ordering,
)
from joulewise.study.spec.column import TRACES
from joulewise.verdicts import Standing

WEIGHTED = ["weighted-util", "weighted-upt", "weighted-upe"]
WEIGHTS = [0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8]
NO_GAIN = 1.0
"""Points of maximum utility up to which a gain counts as none."""


def _weighted(runs: pl.DataFrame, policy: str, declines: bool, metric: str = "utility_percent") -> dict[float, Samples]:
    """A metric of a weighted policy without filter by weight, in one reading."""
    return {
        weight: samples_of(runs, metric, variant="weighted", policy=policy, declines=declines, weight=weight)
        for weight in WEIGHTS
    }


def _best_weight(runs: pl.DataFrame, declines: bool) -> list[tuple[str, Samples]]:
    by_weight = _weighted(runs, "weighted-util", declines)
    return [(f"0.5 over {other:g}", by_weight[0.5] - samples) for other, samples in by_weight.items() if other != 0.5]


def _energy_by_weight(runs: pl.DataFrame, declines: bool) -> list[tuple[str, Samples]]:
    """Above what counts as used up at weights up to 0.4, below it from 0.5 on."""
    used = _weighted(runs, "weighted-util", declines, "budget_percent")
    return [
        (f"used up at {weight:g}", percent - BUDGET_USED)
        if weight <= 0.4
        else (f"left at {weight:g}", BUDGET_USED - percent)
        for weight, percent in used.items()
    ]


def _smaller_weights(runs: pl.DataFrame, declines: bool) -> list[tuple[str, Samples]]:
    util = _weighted(runs, "weighted-util", declines)
    return [
        (f"weighted-util over {other}", best_difference(util, _weighted(runs, other, declines)))
        for other in ("weighted-upt", "weighted-upe")
    ]


def _weighted_over_filtered(runs: pl.DataFrame, declines: bool) -> list[tuple[str, Samples]]:
    filtered = {
        "max-max-upt at 0.75": samples_of(runs, variant="filter at 0.75"),
        "max-max-upe at 1.5": samples_of(runs, variant="filter at 1.5"),
    }
    return [
        (f"{policy} over {other}", best_apart(_weighted(runs, policy, declines).values()) - samples)
        for policy in WEIGHTED
        for other, samples in filtered.items()
    ]


def _weighted_claims(reading: str, declines: bool) -> tuple[Claim, ...]:
    """What is claimed of weighted policies, judged in one reading; that of declining was made to meet two claims."""
    chosen_by: Standing = "calibrated" if declines else ""
    note = words_of(reading)
    return (
        Claim(
            f"3.2 {reading}",
            "gain of Weighted Util at its best weight over Max-Max UPE, without filter",
            "about 28 %",
            number(
                28.0,
                lambda runs: gain(
                    best_apart(_weighted(runs, "weighted-util", declines).values()),
                    samples_of(runs, variant="no filter"),
                ),
                " %",
            ),
            note,
            chosen_by,
        ),
        Claim(
            f"3.3 {reading}",
            "weight 0.5 is the best of the eight for Weighted Util",
            "0.5",
            ordering(lambda runs: _best_weight(runs, declines)),
            note,
            chosen_by,
        ),
        Claim(
            f"3.4 {reading}",
            "Weighted Util uses up the energy at weights up to 0.4 and leaves some from 0.5 on",
            "used up; left",
            ordering(lambda runs: _energy_by_weight(runs, declines), " % of the budget"),
            note,
        ),
        Claim(
            f"3.5 {reading}",
            "the best weight of Weighted Util is larger than those of Weighted UPT and Weighted UPE",
            "larger",
            ordering(lambda runs: _smaller_weights(runs, declines)),
            f"{note}; {PARTED}",
        ),
        Claim(
            f"3.12 {reading}",
            "weighted policies without filter earn more than filtered ones without weights",
            "more",
            ordering(lambda runs: _weighted_over_filtered(runs, declines)),
            f"{note}; each at its best weight, chosen on other trials, the others at the published best leniency",
        ),
    )


FIG_3_5 = Experiment(
    "fig-3.5",
    "Utility of weighted policies under an energy budget, by weight, in two readings",
    "Friese 3.6.2, fig. 3.5 to 3.7",
    DAY,
    "utility-by-weight",
    tuple(claim for reading, declines in DECLINING.items() for claim in _weighted_claims(reading, declines)),
)


def _no_gain(runs: pl.DataFrame, declines: bool) -> list[tuple[str, Samples]]:
    """A point less what each weight with each leniency gains over the best weight without filter."""
    weights, leniencies = (0.2, 0.4, 0.5), (0.5, 0.75, 1.5)
    of = partial(samples_of, runs, declines=declines)
    unfiltered = best_by_mean({weight: of(variant="no filter", weight=weight) for weight in weights})
    return [
        (
            f"{NO_GAIN:g} point less the gain at weight {weight:g} and leniency {leniency:g}",
            NO_GAIN - (of(variant="filter", weight=weight, leniency=leniency) - unfiltered),
        )
        for weight, leniency in product(weights, leniencies)
    ]


FIG_3_12 = Experiment(
    "fig-3.12",
    "Utility of Weighted Util under an energy budget, by weight and leniency",
    "Friese 3.6.3.2, fig. 3.12",
    DAY,
    "utility-by-leniency",
    tuple(
        Claim(
            f"3.11 {reading}",
            "the energy filter gains nothing for Weighted Util at its best weight",
            "nothing",
            ordering(partial(_no_gain, declines=declines)),
            f"{words_of(reading)}; read as: less than {NO_GAIN:g} point over its best weight without filter, at any of "
            "three weights",
        )
        for reading, declines in DECLINING.items()
    ),
)


NEITHER, FILTERING = "neither", "filtering"
WEIGHTING = {"literal": "weighting, all mapped", "declining": "weighting"}
"""The variants of fig. 3.13; weights in both readings of a choice of no value."""
AT_MIN = 900
_LASTED_MIN = "budget_lasted_min"
_LAST_HOUR_MIN = 23 * 60
_STILL_ENERGY = (
    "the text compares until neither has no energy left, at about 1,000 min; with us that is earlier, and at different "
    "times by trial"
)
_MANY_MORE_PERCENT = 10.0


def _day_min(trace: pl.DataFrame) -> pl.Series:
    """Minutes since the start of the counted day."""
    minutes: pl.Series = (trace["at_s"] - trace["at_s"][0]) / 60
    return minutes


def earned_until(*minutes: int) -> dict[str, Callable[[Told], float]]:
    """What was earned of the counted day up to some of its minutes, as columns of runs."""

    def until(minute: int, told: Told) -> float:
        trace = told.tables[TRACES]
        return float(trace.filter(_day_min(trace) <= minute)["utility_cumulative"][-1])

    return {utility_at(minute): partial(until, minute) for minute in minutes}


def utility_at(minute: int) -> str:
    """The name of such a column."""
    return f"utility_at_{minute}_min"


def budget_lasted_min(told: Told) -> float:
    """Minutes of the counted day until its budget was used up, or until its end."""
    trace = told.tables[TRACES]
    is_left = 100 * trace["energy_cumulative_j"] < BUDGET_USED * told.row["budget_j"]
    return float(_day_min(trace).filter(is_left)[-1])


def _more_than(metric: str, variant: str, others: Sequence[str]) -> Differences:
    return lambda runs: [
        (
            f"{variant} over {other}",
            samples_of(runs, metric, variant=variant) - samples_of(runs, metric, variant=other),
        )
        for other in others
    ]


def _many_more_tasks(variant: str) -> Differences:
    """What a variant completes more than neither, in percent, beyond what counts as many."""

    def beyond(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
        mine, other = (samples_of(runs, "tasks_completed", variant=name) for name in (variant, NEITHER))
        return [(f"{variant} over {NEITHER}", gain(mine, other) - _MANY_MORE_PERCENT)]

    return beyond


def _lasts(variant: str) -> Differences:
    """How far into the last hour of the day the budget lasts, and how surely it is used up then."""
    return lambda runs: [
        (f"{variant}: min into the last hour", samples_of(runs, _LASTED_MIN, variant=variant) - _LAST_HOUR_MIN),
        (f"{variant}: % used over 99", samples_of(runs, "budget_percent", variant=variant) - BUDGET_USED),
    ]


def _traced_weights(reading: str, variant: str) -> tuple[Claim, ...]:
    """What fig. 3.13 shows of weights, in one reading."""
    note = words_of(reading)
    return (
        Claim(
            f"3.24 {reading}",
            f"until {AT_MIN:,} min weighting has earned more than neither",
            "more",
            ordering(_more_than(utility_at(AT_MIN), variant, [NEITHER]), " utility"),
            f"{note}; {_STILL_ENERGY}",
        ),
        Claim(
            f"3.25 {reading}",
            "weighting earns more in the day than filtering and than neither",
            "more",
            ordering(_more_than("utility", variant, [FILTERING, NEITHER]), " utility"),
            note,
        ),
        Claim(
            f"3.26 {reading}",
            "weighting completes many more tasks than neither",
            "many more",
            ordering(_many_more_tasks(variant), " %"),
            f"{note}; read as: {_MANY_MORE_PERCENT:g} % more; what is beyond that",
        ),
        Claim(
            f"3.27 {reading}",
            "with weighting the budget is used up, and only at the end of the day",
            "the end of the day",
            ordering(_lasts(variant), ""),
            f"{note}; read as: in its last hour, to 99 % on average",
        ),
    )


FIG_3_13 = Experiment(
    "fig-3.13",
    "Utility and energy of Weighted Util over the day, by filter and weight",
    "Friese 3.6.3.2, fig. 3.13",
    f"{DAY}; a weight of 0 is Max-Max Util, as the text says; the figure shows the first trial",
    "utility-over-time",
    (
        Claim(
            "3.23",
            f"until {AT_MIN:,} min filtering has earned less than neither",
            "less",
            ordering(_more_than(utility_at(AT_MIN), NEITHER, [FILTERING]), " utility"),
            _STILL_ENERGY,
        ),
        Claim(
            "3.25 filtering",
            "filtering earns more in the day than neither",
            "more",
            ordering(_more_than("utility", FILTERING, [NEITHER]), " utility"),
        ),
        Claim(
            "3.27 filtering",
            "with filtering the budget is used up, and only at the end of the day",
            "the end of the day",
            ordering(_lasts(FILTERING), ""),
            "read as: in its last hour, to 99 % on average",
        ),
        *(claim for reading, variant in WEIGHTING.items() for claim in _traced_weights(reading, variant)),
    ),
    {**earned_until(AT_MIN), _LASTED_MIN: budget_lasted_min},
)
