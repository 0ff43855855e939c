"""Experiments of our own on what Friese (2015), chapter 9, leaves for later, beside published rivals."""

from __future__ import annotations

import polars as pl

from joulewise.study.catalogue.experiment import Experiment
from joulewise.study.catalogue.judging import Claim, Samples, at_best, best_apart, best_by_mean, gain, ordering, sampled

SOURCE = "Joulewise"
LOADS = (33_000, 50_000)
FIXED, FOLLOWING = (0.5, 1.0, 1.5, 2.0), (8.0, 16.0, 32.0)
RIVALS = ("max-max-upt", "max-max-util")


def _by_threshold(runs: pl.DataFrame, variant: str, policy: str, load: int) -> dict[float, Samples]:
    thresholds = FIXED if variant.startswith("fixed") else FOLLOWING
    return {
        threshold: sampled(runs, "utility", variant=variant, policy=policy, load=load, threshold=threshold)
        for threshold in thresholds
    }


def _chosen_for(runs: pl.DataFrame, variant: str, policy: str, load: int, chosen_at: int) -> Samples:
    """What is earned at a load with the threshold that is best, on average, at another."""
    there = _by_threshold(runs, variant, policy, chosen_at)
    return at_best(there, _by_threshold(runs, variant, policy, load))


def _follows_better(runs: pl.DataFrame, bursts: str = "") -> list[tuple[str, Samples]]:
    return [
        (
            f"{policy}, {load:,} tasks a day",
            gain(
                best_apart(_by_threshold(runs, f"following{bursts}", policy, load).values()),
                best_by_mean(_by_threshold(runs, f"fixed{bursts}", policy, load)),
            ),
        )
        for policy in RIVALS
        for load in LOADS
    ]


def _follows_better_elsewhere(runs: pl.DataFrame, load: int, chosen_at: int) -> list[tuple[str, Samples]]:
    return [
        (
            policy,
            gain(
                _chosen_for(runs, "following", policy, load, chosen_at),
                _chosen_for(runs, "fixed", policy, load, chosen_at),
            ),
        )
        for policy in RIVALS
    ]


LOAD = Experiment(
    "ours-load",
    "A dropping threshold that follows the load beside fixed ones",
    SOURCE,
    "worlds of Friese 2015, chapter 2; the threshold is the key's value times the load, which is 1 when the mean "
    "execution times of all that waits are an hour of all machines; the best of three such values against the best of "
    "four fixed thresholds, each on average over the trials",
    "utility-by-threshold",
    (
        Claim(
            "J40",
            "the best threshold that follows the load earns more than the best fixed one",
            "more",
            ordering(_follows_better, " %"),
        ),
        Claim(
            "J41",
            "so it does with the published factors of bursts",
            "more",
            ordering(lambda runs: _follows_better(runs, ", bursts"), " %"),
        ),
        Claim(
            "J42 fewer",
            "chosen at 50,000 tasks a day, following the load earns more at 33,000 than a fixed threshold",
            "more",
            ordering(lambda runs: _follows_better_elsewhere(runs, 33_000, 50_000), " %"),
        ),
        Claim(
            "J42 more",
            "chosen at 33,000 tasks a day, following the load earns more at 50,000 than a fixed threshold",
            "more",
            ordering(lambda runs: _follows_better_elsewhere(runs, 50_000, 33_000), " %"),
        ),
    ),
    standing="ours",
)


def _over_upt(runs: pl.DataFrame, policy: str) -> list[tuple[str, Samples]]:
    return [
        (
            f"threshold {threshold:g}, {load:,} tasks a day",
            gain(
                sampled(runs, "utility", policy=policy, load=load, threshold=threshold),
                sampled(runs, "utility", policy="max-max-upt", load=load, threshold=threshold),
            ),
        )
        for threshold in (0.5, 1.0)
        for load in LOADS
    ]


SLOPE = Experiment(
    "ours-slope",
    "Heuristics that see what waiting loses beside Max-Max UPT",
    SOURCE,
    "worlds of Friese 2015, chapter 2; waiting is one execution time of the choice; Urgent UPT takes half of what a "
    "task would earn then off its utility, Max-Max Loss all of it",
    "utility-by-policy",
    (
        Claim(
            "J43",
            "Urgent UPT earns more than Max-Max UPT",
            "more",
            ordering(lambda runs: _over_upt(runs, "urgent-upt"), " %"),
        ),
        Claim(
            "J44",
            "Max-Max Loss earns more than Max-Max UPT",
            "more",
            ordering(lambda runs: _over_upt(runs, "max-max-loss"), " %"),
        ),
    ),
    standing="ours",
)

SAME, NIGHT = "same all day", "less at night"
WEIGHTS = (0.2, 0.3, 0.4, 0.45, 0.5, 0.55)


def _lead(runs: pl.DataFrame, variant: str) -> list[tuple[str, Samples]]:
    """The lead of Prices over its rivals in percent of those, Weighted Util at the weight that is best here."""
    prices, upe = (sampled(runs, "utility", variant=variant, policy=policy) for policy in ("prices", "max-max-upe"))
    weighted = best_by_mean({w: sampled(runs, "utility", variant=f"{variant}, weighted", weight=w) for w in WEIGHTS})
    return [("max-max-upe", gain(prices, upe)), ("weighted-util", gain(prices, weighted))]


def _lead_grows(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    before, after = dict(_lead(runs, SAME)), dict(_lead(runs, NIGHT))
    grown = [(f"{rival}, more than before", after[rival] - before[rival]) for rival in after]
    return [*after.items(), *grown]


def _possible(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    before, after = (sampled(runs, "possible_percent", variant=variant, policy="prices") for variant in (SAME, NIGHT))
    return [("prices", after - before)]


HOURS = Experiment(
    "ours-hours",
    "Tasks that are worth less at night: who saves energy for the day",
    SOURCE,
    "50,000 tasks a day, three P-states, 1.11 GJ; the second day counts, with runs prorated at its ends; tasks that "
    "arrive in its first 8 h, or in those of the day before, are worth a quarter; Weighted Util declines, at the best "
    "of six weights, chosen afterwards for each kind of day",
    "utility-by-weight",
    (
        Claim(
            "J45",
            "Prices earn more than Max-Max UPE and Weighted Util where nights are worth less",
            "more",
            ordering(lambda runs: _lead(runs, NIGHT), " %"),
        ),
        Claim("J46", "their lead is greater than with days of one worth", "greater", ordering(_lead_grows)),
        Claim("J47", "Prices earn a greater part of what is possible then", "greater", ordering(_possible)),
    ),
    standing="ours",
)


FIVE, FIVE_BY_LOAD, FIVE_SUITED = "five in turn", "five by least load", "five by suited machines"
DIVIDED = ("two in turn", FIVE, FIVE_BY_LOAD, FIVE_SUITED)


def _over(runs: pl.DataFrame, metric: str, variant: str, rival: str, load: int) -> tuple[str, Samples]:
    mine, other = (sampled(runs, metric, variant=name, load=load) for name in (variant, rival))
    return f"{variant} over {rival}, {load:,} tasks a day", gain(mine, other)


def _costs_little(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """The utility that groups lose, in percent of that of one manager, below 5 %."""
    found = [_over(runs, "utility", variant, "one", load) for variant in DIVIDED for load in LOADS]
    return [(name, 5 + lead) for name, lead in found]


def _maps_faster(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """How much less time all managers take together, in percent of that of one."""
    found = [_over(runs, "mapping_s", variant, "one", load) for variant in DIVIDED for load in LOADS]
    return [(name, -more) for name, more in found]


GROUPS = Experiment(
    "ours-groups",
    "Machines in groups with managers of their own beside one manager for all",
    SOURCE,
    "worlds of Friese 2015, chapter 2; Max-Max UPT at threshold 0.5; machines are dealt to groups type "
    "by type, and of the special-purpose types, with two or three machines each, five groups have none or one; slow: "
    "mapping takes 1 ms for each squared task of a batch on the simulated clock",
    "utility-by-policy",
    (
        Claim(
            "J48",
            "groups earn at most 5 % less than one manager",
            "at most 5 %",
            ordering(_costs_little),
            "gains plus 5 %, a bar that we set",
        ),
        Claim(
            "J49",
            "dealing by least load earns more than dealing in turn",
            "more",
            ordering(lambda runs: [_over(runs, "utility", FIVE_BY_LOAD, FIVE, load) for load in LOADS], " %"),
        ),
        Claim(
            "J67",
            "dealing to the least loaded group that has the fastest machine type earns more than by least load alone",
            "more",
            ordering(lambda runs: [_over(runs, "utility", FIVE_SUITED, FIVE_BY_LOAD, load) for load in LOADS], " %"),
        ),
        Claim("J50", "all managers together map in less time than one", "less", ordering(_maps_faster, " %")),
        Claim(
            "J51",
            "where mapping takes time, five managers earn more than one",
            "more",
            ordering(
                lambda runs: [_over(runs, "utility", f"{FIVE_SUITED}, slow", "one, slow", load) for load in LOADS], " %"
            ),
            "five by suited machines",
        ),
    ),
    standing="ours",
)


PUBLISHED = ("min-min-comp", "max-max-util", "max-max-upt")


def _possible_lost(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """How much less of what is possible the published earn where tasks rise first, in points."""
    return [
        (
            policy,
            sampled(runs, "possible_percent", variant="falling", policy=policy)
            - sampled(runs, "possible_percent", variant="rising", policy=policy),
        )
        for policy in PUBLISHED
    ]


def _gain_over_upt(runs: pl.DataFrame, policy: str, variant: str) -> Samples:
    ours, upt = (sampled(runs, "utility", variant=variant, policy=name) for name in (policy, "max-max-upt"))
    return gain(ours, upt)


def _patience_pays(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    return [("patient-upt over max-max-upt", _gain_over_upt(runs, "patient-upt", "rising"))]


def _prices_lead_grows(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    rising, falling = (_gain_over_upt(runs, "prices", variant) for variant in ("rising", "falling"))
    return [("the lead where utilities rise", rising), ("over that where they fall", rising - falling)]


RISING = Experiment(
    "ours-rising",
    "Utilities that rise before they fall: what that costs, and whether waiting for the peak pays",
    SOURCE,
    "worlds of Friese 2015, chapter 2, at 33,000 tasks a day; dropping threshold 0.5; rising: half of the tasks are "
    "worth nothing on arrival and rise evenly for two mean execution times of their type, after which their first "
    "interval begins; a task is dropped by what it can still earn",
    "utility-by-policy",
    (
        Claim(
            "J52",
            "Min-Min Comp, Max-Max Util and Max-Max UPT earn a smaller part of what is possible where utilities rise",
            "smaller",
            ordering(_possible_lost),
        ),
        Claim(
            "J53",
            "waiting for the peak pays: Patient UPT earns more than Max-Max UPT",
            "more",
            ordering(_patience_pays, " %"),
        ),
        Claim(
            "J54",
            "the lead of Prices over Max-Max UPT is greater than where utilities only fall",
            "greater",
            ordering(_prices_lead_grows),
        ),
    ),
    standing="ours",
)


POLLED = ("max-max-upt", "max-max-util")


def _suspending(runs: pl.DataFrame, variant: str, rival: str) -> list[tuple[str, Samples]]:
    """How much more a variant earns than another, in percent, by policy and load."""
    return [
        (
            f"{policy}, {load:,} tasks a day",
            gain(
                sampled(runs, "utility", variant=variant, policy=policy, load=load),
                sampled(runs, "utility", variant=rival, policy=policy, load=load),
            ),
        )
        for policy in POLLED
        for load in LOADS
    ]


def _keeps_most(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """Free suspending gains, and suspending with checkpoints gains more than half of that, in percent."""
    free, left = dict(_suspending(runs, "free", "never")), dict(_suspending(runs, "30 s", "never"))
    kept = [(f"{name}, more than half of that", left[name] - free[name] / 2) for name in free]
    return [*free.items(), *kept]


PREEMPTION = Experiment(
    "ours-preemption",
    "Tasks that come may suspend running ones beside tasks that run to their end",
    SOURCE,
    "worlds of Friese 2015, chapter 2, polled; a task that comes and gets no machine suspends the running task that is "
    "worth least by the second, on its fastest machine type, where that earns more; the rest of that goes on with a "
    "machine of the same type, in the same P-state",
    "utility-by-setting",
    (
        Claim(
            "J55",
            "where checkpoints cost nothing, suspending earns more than running every task to its end",
            "more",
            ordering(lambda runs: _suspending(runs, "free", "never"), " %"),
        ),
        Claim(
            "J56",
            "so it does with checkpoints of 30 s",
            "more",
            ordering(lambda runs: _suspending(runs, "30 s", "never"), " %"),
        ),
        Claim(
            "J57",
            "with checkpoints of 30 s at least half of what free suspending gains is left",
            "at least half",
            ordering(_keeps_most),
            "gains less half of those of free suspending, a bar that we set",
        ),
    ),
    standing="ours",
)
