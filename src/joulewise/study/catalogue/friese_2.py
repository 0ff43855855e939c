"""Experiments of Friese chapter 2."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product

import polars as pl

from joulewise.study.catalogue.experiment import Experiment, Illustrations, Reading
from joulewise.study.catalogue.judging import (
    Claim,
    Samples,
    alike,
    best_by_mean,
    best_value,
    each_number,
    gain,
    number,
    ordering,
    sampled,
    wider,
)
from joulewise.verdicts import Standing

NAIVE = ["random", "round-robin"]
SMART = ["max-util", "max-upt", "met-random", "met-max-util"]
BATCH = ["min-min-comp", "sufferage", "max-max-util", "max-max-upt", "met-max-util-max-upt"]
MET_BASED = ["met-random", "met-max-util", "met-max-util-max-upt"]
NOT_MET_BASED = [policy for policy in (*SMART, *BATCH) if policy not in MET_BASED]
THRESHOLDS = [0.0, 0.05, 0.5, 1.5, 3.0, 5.0]
LOADS = [33_000, 50_000]

NORMALISED = Reading(
    "", "", "17 special-purpose task types; arrivals by thinning at rates that average to each type's mean"
)
LITERAL = Reading(
    "-literal",
    ", burst factors as printed",
    "13 special-purpose task types, a number that the chapter does not print: chosen by 2.4, 2.5, 2.6 and 2.11 on the "
    "seed of special-types; burst factors as printed, and all rates scaled so that as many tasks arrive as the text "
    "says; arrivals by thinning",
    "calibrated",
)
READINGS = (NORMALISED, LITERAL)
"""Of the rates of special-purpose task types: their factors over the day average to 1, or are those of app. F."""


def _day(world: Reading) -> str:
    return f"{world.reading}; completions count in the 24 h after 2 h of warm-up"


def _free(world: Reading) -> str:
    return f"mapping takes no simulated time; {_day(world)}"


DAY, FREE_DAY = _day(NORMALISED), _free(NORMALISED)
"""The reading of most experiments, and that of those in which mapping takes no simulated time."""


def metric_of(runs: pl.DataFrame, metric: str, policies: str | list[str], **where: object) -> Samples:
    return sampled(runs, metric, policy=policies, **where)


ILLUSTRATIONS = Illustrations(
    "illustrations",
    "Utility functions, queues of machines and arrivals: nothing is run, a published world is drawn",
    "Friese fig. 2.1 to 2.4 and F.1 to F.3",
    f"the published day at 33,000 tasks, and four machines for the queues, which the text draws as boxes; {FREE_DAY}",
)


def percent_of(runs: pl.DataFrame, policies: str | list[str], **where: object) -> Samples:
    return metric_of(runs, "utility_percent", policies, **where)


def most_utility(runs: pl.DataFrame, load: int) -> Samples:
    """The maximum utility at a load."""
    return sampled(runs, "maximum_utility", load=load)


def min_min_percent(runs: pl.DataFrame, load: int) -> Samples:
    """What Min-Min Comp earns at a load, nothing dropped."""
    return percent_of(runs, "min-min-comp", load=load, threshold=0.0)


def _maximum(load: int) -> Claim:
    published = {33_000: ("2.1", 65_051.0), 50_000: ("2.2", 98_708.0)}[load]
    return Claim(
        published[0],
        f"mean maximum utility at {load:,} tasks a day",
        f"{published[1]:,.0f}",
        number(published[1], partial(most_utility, load=load)),
        standing="calibrated",
    )


def min_min(claim: str, load: int, published: float, standing: Standing = "") -> Claim:
    return Claim(
        claim,
        f"percent of maximum utility of Min-Min Comp at {load:,} tasks a day, no dropping",
        f"{published} %",
        number(published, partial(min_min_percent, load=load), " %"),
        standing=standing,
    )


def families(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """Every smart policy against every naive one, every batch policy against every smart one, at both loads."""
    pairs = [*product(SMART, NAIVE), *product(BATCH, SMART)]
    return [
        (
            f"{better} over {worse} at {load:,}",
            percent_of(runs, better, load=load, threshold=0.0) - percent_of(runs, worse, load=load, threshold=0.0),
        )
        for load in LOADS
        for better, worse in pairs
    ]


def batch_gain(runs: pl.DataFrame) -> Samples:
    """What batch policies earn more than smart immediate ones at 33,000 tasks a day, in percent."""
    batch, smart = (percent_of(runs, policies, load=33_000, threshold=0.0) for policies in (BATCH, SMART))
    return gain(batch, smart)


def over_smart(standing: Standing = "") -> Claim:
    return Claim(
        "2.4",
        "mean gain of batch over smart immediate policies at 33,000 tasks a day",
        "about 250 %",
        number(250.0, batch_gain, " %"),
        "K-Best Types left out, as published",
        standing,
    )


def _mostly_special(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """The share of utility from special-purpose machines above one half, for both policies at both loads."""
    return [
        (f"{policy} at {load:,}", metric_of(runs, "group_percent:special", policy, load=load) - 50.0)
        for policy, load in product(("max-util", "max-upt"), LOADS)
    ]


_FIG_2_5 = (
    _maximum(33_000),
    _maximum(50_000),
    Claim(
        "2.3",
        "naive immediate < smart immediate < batch, at both loads",
        "all pairs",
        ordering(families),
    ),
    Claim(
        "2.17",
        "tasks that the machines can run in a day",
        "about 26,000",
        number(26_000.0, lambda runs: sampled(runs, "system_tasks_per_day")),
        "read as: of each machine, a day over its mean execution time of the task types that it can run",
    ),
    Claim(
        "2.22",
        "Max Util and Max UPT earn most of their utility on special-purpose machines",
        "most",
        ordering(_mostly_special),
        "read as: more than half of it, without dropping, at both loads",
    ),
)


def _fig_2_5(world: Reading) -> Experiment:
    return Experiment(
        f"fig-2.5{world.suffix}",
        f"Percent of maximum utility by policy, two loads, nothing dropped{world.words}",
        "Friese 2.7.2",
        _free(world),
        "utility-by-policy",
        (
            *_FIG_2_5,
            over_smart(world.fitted),
            min_min("2.5", 33_000, 53.13, world.fitted),
            min_min("2.6", 50_000, 41.26, world.fitted),
        ),
    )


FIG_2_5, FIG_2_5_LITERAL = (_fig_2_5(world) for world in READINGS)


def _best_at(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """Threshold 1.5 against the best other one, for every policy that looks at the machines."""
    found = []
    for policy in (*SMART, *BATCH):
        others = {other: percent_of(runs, policy, threshold=other) for other in THRESHOLDS if other != 1.5}
        best = percent_of(runs, policy, threshold=1.5)
        found.append((f"{policy} at 1.5 over {best_value(others):g}", best - best_by_mean(others)))
    return found


UNDROPPED = ("max-util", "max-upt")
"""The policies that gain most by dropping, as the text says."""


def dropping_gain(runs: pl.DataFrame, policies: Sequence[str] = UNDROPPED) -> Samples:
    """What policies gain from threshold 0 to 1.5 at the higher load, in percent."""
    with_it, without = (percent_of(runs, [*policies], threshold=at, load=50_000) for at in (1.5, 0.0))
    return gain(with_it, without)


def _worse_by_met(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """Every other policy that looks at the machines against every MET-based one, at threshold 1.5."""
    return [
        (f"{other} over {met}", percent_of(runs, other, threshold=1.5) - percent_of(runs, met, threshold=1.5))
        for other, met in product(NOT_MET_BASED, MET_BASED)
    ]


def _alike_above(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """How much closer than five points any two of the policies are, at 1.5 and above."""
    return [
        (f"{words} at {threshold:g}", difference)
        for threshold in (1.5, 3.0, 5.0)
        for words, difference in alike(
            {policy: percent_of(runs, policy, threshold=threshold) for policy in NOT_MET_BASED}, 5.0
        )
    ]


def _more_sensitive(runs: pl.DataFrame, batch: list[str], highest: float) -> list[tuple[str, Samples]]:
    """The range of means of every smart policy over that of every batch policy, over thresholds up to the highest."""

    def swept(policy: str) -> list[Samples]:
        return [percent_of(runs, policy, threshold=value) for value in THRESHOLDS if value <= highest]

    return [
        (f"range of {smart} over {other}", wider(swept(smart), swept(other))) for smart, other in product(SMART, batch)
    ]


NAMED = ["max-max-util", "max-max-upt", "met-max-util-max-upt"]
"""The batch policies that the text calls less sensitive."""
_NAMED_ONES = "each batch policy that the text names"
_SENSITIVITIES: tuple[tuple[str, str, list[str], float, str, Standing], ...] = (
    ("", "batch mode", BATCH, 5.0, "the six thresholds", ""),
    (" (named)", _NAMED_ONES, NAMED, 5.0, "the six thresholds", ""),
    (" (named, to 1.5)", _NAMED_ONES, NAMED, 1.5, "the thresholds up to 1.5", "post hoc"),
)
_SENSITIVITY = tuple(
    Claim(
        f"2.15{case}",
        f"{whom} is less sensitive to the threshold than immediate mode",
        "less",
        ordering(partial(_more_sensitive, batch=batch, highest=highest)),
        f"sensitivity read as the range of means over {over}",
        standing,
    )
    for case, whom, batch, highest, over, standing in _SENSITIVITIES
)


def _dropping(standing: Standing) -> Claim:
    return Claim(
        "2.11",
        "gain of Max Util and Max UPT from threshold 0 to 1.5",
        "about 450 %",
        each_number(450.0, lambda runs: {policy: dropping_gain(runs, [policy]) for policy in UNDROPPED}, " %"),
        standing=standing,
    )


_FIG_2_6 = (
    Claim(
        "2.10",
        "dropping threshold 1.5 is the best of the six for almost all policies",
        "1.5",
        ordering(_best_at, wanted="almost all"),
        "each policy at 1.5 against its best other threshold; Random and Round-Robin are left out",
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
    *_SENSITIVITY,
)


def _fig_2_6(world: Reading) -> Experiment:
    return Experiment(
        f"fig-2.6{world.suffix}",
        f"Percent of maximum utility by policy and dropping threshold at 50,000 tasks a day{world.words}",
        "Friese 2.7.3",
        _free(world),
        "utility-by-threshold",
        (*_FIG_2_6, _dropping(world.fitted)),
    )


FIG_2_6, FIG_2_6_LITERAL = (_fig_2_6(world) for world in READINGS)


def _fewest_types(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """One machine type against every larger number of them."""
    return [
        (
            f"K = 1 over {k}",
            percent_of(runs, "k-best-types", best_types=1) - percent_of(runs, "k-best-types", best_types=k),
        )
        for k in (2, 3, 5, 9)
    ]


K_BEST = Experiment(
    "k-best",
    "Percent of maximum utility of K-Best Types by K at 50,000 tasks a day",
    "Friese 2.7.1",
    f"{FREE_DAY}; dropping threshold 0.5, because the text does not say at which one K was chosen",
    "utility-by-policy",
    (Claim("2.16", "K-Best Types earns most with K = 1", "K = 1", ordering(_fewest_types)),),
)


FIG_G_1 = Experiment(
    "fig-g.1",
    "Percent of maximum utility by policy and dropping threshold at 33,000 tasks a day",
    "Friese app. G",
    f"{FREE_DAY}; the claims of fig. 2.6 that are said to show at this load too",
    "utility-by-threshold",
    _FIG_2_6,
)


def _alike_permuted(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """One point less what permuting gains, and less what it loses."""
    found = []
    for policy, permuted in product(BATCH, (2, 3, 5)):
        gain = percent_of(runs, policy, permuted=permuted) - percent_of(runs, policy, permuted=1)
        found.append((f"1 point less the gain of {policy} from {permuted}", 1.0 - gain))
        found.append((f"1 point less the loss of {policy} from {permuted}", 1.0 + gain))
    return found


APP_A = Experiment(
    "app-a",
    "Percent of maximum utility of batch policies by how many first tasks of each queue are permuted",
    "Friese app. A",
    f"{FREE_DAY}; 50,000 tasks a day, because the text does not say",
    "utility-by-policy",
    (
        Claim(
            "2.19",
            "permuting the first 2, 3 or 5 tasks of each virtual queue makes no difference",
            "no significant difference",
            ordering(_alike_permuted),
            "read as: less than 1 point of the maximum utility, up or down",
        ),
    ),
)

FAR_APART = ["max-util", "min-min-comp", "max-max-util", "max-max-upt"]
FAR_THRESHOLDS = [0.0, 0.005, 0.05, 0.5, 5.0, 50.0, 500.0]


def _critical_share(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """The share of utility from critical tasks above one half, for every policy and threshold."""
    found = []
    for policy, threshold in product(FAR_APART, FAR_THRESHOLDS):
        names = ("priority_percent:critical", "tasks_arrived:critical", "utility")
        percent, arrived, utility = (metric_of(runs, name, policy, threshold=threshold) for name in names)
        share = percent * arrived * 1000.0 / utility
        found.append((f"{policy} at {threshold:g}", share - 50.0))
    return found


def _enough_by_critical(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """What is earned with critical tasks alone, above half of what is earned at the best threshold."""
    found = []
    for policy in FAR_APART:
        percents = {threshold: percent_of(runs, policy, threshold=threshold) for threshold in FAR_THRESHOLDS}
        found.append((policy, percents[FAR_THRESHOLDS[-1]] - best_by_mean(percents) / 2))
    return found


APP_H = Experiment(
    "app-h",
    "Percent of maximum utility by policy and dropping threshold with priorities of 1000, 100, 10 and 1",
    "Friese app. H",
    f"{FREE_DAY}; 50,000 tasks a day, because the text does not say",
    "utility-by-threshold",
    (
        Claim(
            "2.23",
            "utility is decided by critical tasks",
            "to a large extent",
            ordering(_critical_share),
            "read as: they earn more than half of it at every threshold. They are 71 % of what all tasks are worth at "
            "first, and all of it at threshold 500",
            "constructed",
        ),
        Claim(
            "2.23",
            "much is earned even if all but critical tasks are dropped",
            "a significant amount",
            ordering(_enough_by_critical),
            "read as: at threshold 500 more than half of what the best threshold earns",
        ),
    ),
)
