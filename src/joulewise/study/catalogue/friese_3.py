"""Experiments of Friese chapter 3: an energy budget for the day."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise

import polars as pl

from joulewise.study.catalogue.experiment import Experiment, Reading, Told
from joulewise.study.catalogue.judging import (
    Claim,
    Differences,
    Samples,
    best_by_mean,
    best_by_trial,
    gain,
    number,
    ordering,
    sampled,
    spread,
)
from joulewise.study.column import TRACES

BUDGET_USED = 99.0
"""Percent of a budget from which on it counts as used up."""
ALIKE = 5.0
"""Points of maximum utility within which policies count as alike."""
NO_GAIN = 1.0
"""Points of maximum utility up to which a gain counts as none."""

POLICIES = ["min-min-comp", "max-max-util", "max-max-upt", "max-max-upe"]
LENIENCIES = [0.3, 0.45, 0.6, 0.75, 1.0, 1.5, 2.0, 4.0]
WEIGHTED = ["weighted-util", "weighted-upt", "weighted-upe"]
WEIGHTS = [0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8]
READINGS = {"literal": False, "declining": True}
"""Whether a choice whose weighted value is not above 0 is made anyway, or declined."""

_READING = (
    "50,000 tasks a day, three P-states, 1.11 GJ; the second day counts, with runs prorated at its ends; a choice must "
    "fit the energy left with all of its energy; used up means 99 % of the budget"
)
NORMALISED = Reading("", "", _READING)
LITERAL = Reading(
    "-literal",
    ", burst factors as printed",
    f"{_READING}; burst factors as printed, and all rates scaled so that 50,000 tasks arrive; 17 special-purpose task "
    "types as the chapter prints, and for 3.13 and 3.14 also the 13 that chapter 2 has in this reading",
)
ARRIVALS = (NORMALISED, LITERAL)
"""The readings of the rates of special-purpose task types, as in chapter 2."""
_THIRTEEN = " (13 types)"


def _numbers_of_types(world: Reading) -> tuple[str, ...]:
    """What is added to claims and variants: the printed number of special-purpose task types, and the fitted one."""
    return ("", _THIRTEEN) if world is LITERAL else ("",)


def _samples(runs: pl.DataFrame, metric: str = "utility_percent", **where: object) -> Samples:
    return sampled(runs, metric, **where)


def _filtered(runs: pl.DataFrame, policy: str, metric: str = "utility_percent") -> dict[float, Samples]:
    """A metric of a policy by leniency; without filter the leniency is infinite."""
    found = {
        leniency: _samples(runs, metric, variant="filter", policy=policy, leniency=leniency) for leniency in LENIENCIES
    }
    return {**found, math.inf: _samples(runs, metric, variant="no filter", policy=policy)}


def _best_leniency(runs: pl.DataFrame, policies: Sequence[str], best: float) -> list[tuple[str, Samples]]:
    """One leniency against every other one and no filter."""
    found = []
    for policy in policies:
        by_leniency = _filtered(runs, policy)
        found += [
            (f"{policy} at {best:g} over {other:g}", by_leniency[best] - samples)
            for other, samples in by_leniency.items()
            if other != best
        ]
    return found


def _whole_range(by_leniency: Mapping[float, Samples]) -> Samples:
    return spread(by_leniency.values())


def _upper_range(by_leniency: Mapping[float, Samples]) -> Samples:
    return spread(samples for leniency, samples in by_leniency.items() if 1.0 <= leniency <= 4.0)


def _drop_unfiltered(by_leniency: Mapping[float, Samples]) -> Samples:
    return best_by_mean(by_leniency) - by_leniency[math.inf]


def _less_sensitive(
    runs: pl.DataFrame, sensitivity: Callable[[Mapping[float, Samples]], Samples]
) -> list[tuple[str, Samples]]:
    least = sensitivity(_filtered(runs, "max-max-upe"))
    return [
        (f"{policy} over max-max-upe", sensitivity(_filtered(runs, policy)) - least)
        for policy in POLICIES
        if policy != "max-max-upe"
    ]


_SENSITIVITY = tuple(
    Claim(
        f"3.8{case}",
        says,
        "least",
        ordering(partial(_less_sensitive, sensitivity=sensitivity)),
        f"read as: {words}",
    )
    for case, says, sensitivity, words in (
        (
            "",
            "Max-Max UPE is the least sensitive to the leniency",
            _whole_range,
            "the range of means over the eight leniencies and no filter",
        ),
        (
            " (1.0 to 4.0)",
            "Max-Max UPE is the least sensitive to the leniency from 1.0 to 4.0",
            _upper_range,
            "the range of means over these leniencies",
        ),
        (
            " (no filter)",
            "Max-Max UPE loses least without filter",
            _drop_unfiltered,
            "the best mean over the eight leniencies, or no filter, less that of no filter",
        ),
    )
)


def _energy_left(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """What strict filters leave of the budget, less what counts as nothing left."""
    return [
        (f"{policy} at {leniency:g}", BUDGET_USED - _filtered(runs, policy, "budget_percent")[leniency])
        for policy in POLICIES
        for leniency in (0.3, 0.45, 0.6)
    ]


def _used_up_s(runs: pl.DataFrame, policy: str, types: str = "") -> Samples:
    """Seconds of the counted day after which its budget was used up, without filter."""
    where = {"variant": f"no filter{types}", "policy": policy}
    return _samples(runs, "exhausted_s", **where) - _samples(runs, "workload.warm_up_s", **where)


def used_up_min(runs: pl.DataFrame, types: str = "") -> Samples:
    """Minutes after which Max-Max Util without filter had used up the budget."""
    return _used_up_s(runs, "max-max-util", types) / 60


UPE_GAIN_PERCENT = 11.0
"""The published gain of Max-Max UPE over Max-Max UPT without filter."""


def upe_gain(runs: pl.DataFrame) -> Samples:
    """What Max-Max UPE earns more than Max-Max UPT without filter, in percent."""
    upe, upt = (_samples(runs, variant="no filter", policy=policy) for policy in ("max-max-upe", "max-max-upt"))
    return gain(upe, upt)


def _used_up(types: str) -> Claim:
    return Claim(
        f"3.13{types}",
        "when Max-Max Util without filter has used up the budget",
        "about 1,000 min",
        number(1000.0, partial(used_up_min, types=types), " min"),
    )


_FIG_3_8 = (
    Claim(
        "3.1",
        "gain of Max-Max UPE over Max-Max UPT without filter",
        f"about {UPE_GAIN_PERCENT:g} %",
        number(UPE_GAIN_PERCENT, upe_gain, " %"),
    ),
    Claim(
        "3.6",
        "leniency 0.75 is best for Min-Min Comp, Max-Max Util and Max-Max UPT",
        "0.75",
        ordering(lambda runs: _best_leniency(runs, POLICIES[:3], 0.75)),
    ),
    Claim(
        "3.7",
        "leniency 1.5 is best for Max-Max UPE",
        "1.5",
        ordering(lambda runs: _best_leniency(runs, POLICIES[3:], 1.5)),
    ),
    *_SENSITIVITY,
    Claim(
        "3.9",
        "leniencies from 0.3 to 0.6 leave energy unused",
        "energy left",
        ordering(_energy_left, " % of the budget"),
    ),
    Claim(
        "3.10",
        "how much later Max-Max UPE has used up the budget than Max-Max UPT, without filter",
        "about 3 h",
        number(3.0, lambda runs: (_used_up_s(runs, "max-max-upe") - _used_up_s(runs, "max-max-upt")) / 3600, " h"),
    ),
)


def _fig_3_8(world: Reading) -> Experiment:
    return Experiment(
        f"fig-3.8{world.suffix}",
        f"Utility of policies without weights under an energy budget, by leniency of the filter{world.words}",
        "Friese 3.6.2 and 3.6.3, fig. 3.4 and 3.8 to 3.11",
        world.reading,
        "utility-by-leniency",
        (*_FIG_3_8, *map(_used_up, _numbers_of_types(world))),
    )


FIG_3_8, FIG_3_8_LITERAL = (_fig_3_8(world) for world in ARRIVALS)


def _weighted(runs: pl.DataFrame, policy: str, declines: bool, metric: str = "utility_percent") -> dict[float, Samples]:
    """A metric of a weighted policy without filter by weight, in one reading."""
    return {
        weight: _samples(runs, metric, variant="weighted", policy=policy, declines=declines, weight=weight)
        for weight in WEIGHTS
    }


def _best_weight(runs: pl.DataFrame, declines: bool) -> list[tuple[str, Samples]]:
    by_weight = _weighted(runs, "weighted-util", declines)
    return [(f"0.5 over {other:g}", by_weight[0.5] - samples) for other, samples in by_weight.items() if other != 0.5]


def _energy_by_weight(runs: pl.DataFrame, declines: bool) -> list[tuple[str, Samples]]:
    """Above what counts as used up at weights up to 0.4, below it above 0.5."""
    used = _weighted(runs, "weighted-util", declines, "budget_percent")
    return [
        (f"used up at {weight:g}", percent - BUDGET_USED)
        if weight <= 0.4
        else (f"left at {weight:g}", BUDGET_USED - percent)
        for weight, percent in used.items()
        if weight != 0.5
    ]


def _smaller_weights(runs: pl.DataFrame, declines: bool) -> list[tuple[str, Samples]]:
    util = best_by_trial(_weighted(runs, "weighted-util", declines))
    return [
        (f"weighted-util over {other}", util - best_by_trial(_weighted(runs, other, declines)))
        for other in ("weighted-upt", "weighted-upe")
    ]


def _weighted_over_filtered(runs: pl.DataFrame, declines: bool) -> list[tuple[str, Samples]]:
    filtered = {
        "max-max-upt at 0.75": _samples(runs, variant="filter at 0.75"),
        "max-max-upe at 1.5": _samples(runs, variant="filter at 1.5"),
    }
    return [
        (f"{policy} over {other}", best_by_mean(_weighted(runs, policy, declines)) - samples)
        for policy in WEIGHTED
        for other, samples in filtered.items()
    ]


def _weighted_claims(reading: str, declines: bool) -> tuple[Claim, ...]:
    """What is claimed of weighted policies, judged in one reading."""
    note = f"{reading}: a choice of no value is {'never made' if declines else 'made all the same'}"
    return (
        Claim(
            f"3.2 {reading}",
            "gain of Weighted Util at its best weight over Max-Max UPE, without filter",
            "about 28 %",
            number(
                28.0,
                lambda runs: gain(
                    best_by_mean(_weighted(runs, "weighted-util", declines)), _samples(runs, variant="no filter")
                ),
                " %",
            ),
            note,
        ),
        Claim(
            f"3.3 {reading}",
            "weight 0.5 is the best of the eight for Weighted Util",
            "0.5",
            ordering(lambda runs: _best_weight(runs, declines)),
            note,
        ),
        Claim(
            f"3.4 {reading}",
            "Weighted Util uses up the energy at weights up to 0.4 and leaves some above 0.5",
            "used up; left",
            ordering(lambda runs: _energy_by_weight(runs, declines), " % of the budget"),
            note,
        ),
        Claim(
            f"3.5 {reading}",
            "the best weight of Weighted Util is larger than those of Weighted UPT and Weighted UPE",
            "larger",
            ordering(lambda runs: _smaller_weights(runs, declines), ""),
            f"{note}; best weight of each trial",
        ),
        Claim(
            f"3.12 {reading}",
            "weighted policies without filter earn more than filtered ones without weights",
            "more",
            ordering(lambda runs: _weighted_over_filtered(runs, declines)),
            f"{note}; each at its best weight, the others at the published best leniency",
        ),
    )


FIG_3_5 = Experiment(
    "fig-3.5",
    "Utility of weighted policies under an energy budget, by weight, in two readings",
    "Friese 3.6.2, fig. 3.5 to 3.7",
    _READING,
    "utility-by-weight",
    tuple(claim for reading, declines in READINGS.items() for claim in _weighted_claims(reading, declines)),
)


def _no_gain(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """A point less what each leniency gains over no filter, at the best weight."""
    by_weight = {weight: _samples(runs, variant="no filter", weight=weight) for weight in (0.2, 0.4, 0.5)}
    unfiltered = best_by_mean(by_weight)
    weight = next(weight for weight, samples in by_weight.items() if samples is unfiltered)
    return [
        (
            f"{NO_GAIN:g} point less the gain at weight {weight:g} and leniency {leniency:g}",
            NO_GAIN - (_samples(runs, variant="filter", weight=weight, leniency=leniency) - unfiltered),
        )
        for leniency in (0.5, 0.75, 1.5)
    ]


FIG_3_12 = Experiment(
    "fig-3.12",
    "Utility of Weighted Util under an energy budget, by weight and leniency",
    "Friese 3.6.3.2, fig. 3.12",
    f"{_READING}; a choice of no value is never made",
    "utility-by-leniency",
    (
        Claim(
            "3.11",
            "the energy filter gains nothing for Weighted Util at its best weight",
            "nothing",
            ordering(_no_gain),
            f"read as: less than {NO_GAIN:g} point",
        ),
    ),
)

AFFINITIES = ("low", "as drawn", "high")
_TABLE_3_2 = {"as drawn": (82.0, 91.0), "high": (140.0, 180.0)}
_ROUNDING = 1e15


def _affinity_ranges(runs: pl.DataFrame, affinity: str) -> list[tuple[str, Samples]]:
    """How far the TMA lies inside the published range, in thousandths."""
    tma, (low, high) = 1000 * _samples(runs, "system_tma", affinity=affinity), _TABLE_3_2[affinity]
    return [(f"TMA over {low / 1000:g}", tma - low), (f"{high / 1000:g} over TMA", high - tma)]


def _tuned(runs: pl.DataFrame, affinity: str, policy: str, metric: str = "utility_percent") -> dict[float, Samples]:
    """A metric of a policy by what it is tuned with, its leniency or its weight."""
    if policy == "weighted-util":
        return {
            weight: _samples(runs, metric, affinity=affinity, policy=policy, weight=weight)
            for weight in (0.3, 0.4, 0.5, 0.6, 0.7)
        }
    return {
        leniency: _samples(runs, metric, affinity=affinity, variant="filter", policy=policy, leniency=leniency)
        for leniency in (0.6, 0.75, 1.0, 1.5, 2.0)
    }


FIG_3_14_POLICIES = ("max-max-upt", "max-max-upe", "weighted-util")


def _tuned_higher(runs: pl.DataFrame, policies: Sequence[str], higher: str, lower: str) -> list[tuple[str, Samples]]:
    """The best value to tune with at one affinity less that at another, trial by trial."""
    return [
        (
            f"{policy}, {higher} over {lower}",
            best_by_trial(_tuned(runs, higher, policy)) - best_by_trial(_tuned(runs, lower, policy)),
        )
        for policy in policies
    ]


def _at_best(runs: pl.DataFrame, affinity: str, policy: str, metric: str) -> Samples:
    """A metric of a policy where its mean utility is best, be it without filter."""
    where = {"affinity": affinity, "variant": "no filter", "policy": policy}
    utility, wanted = (_tuned(runs, affinity, policy, name) for name in ("utility", metric))
    if policy != "weighted-util":
        utility[float("inf")] = _samples(runs, "utility", **where)
        wanted[math.inf] = _samples(runs, metric, **where)
    best = best_by_mean(utility)
    return next(wanted[value] for value, samples in utility.items() if samples is best)


def _rises_with_affinity(runs: pl.DataFrame, metric: str) -> list[tuple[str, Samples]]:
    return [
        (
            f"{policy}, {more} over {less}",
            gain(_at_best(runs, more, policy, metric), _at_best(runs, less, policy, metric)),
        )
        for policy in FIG_3_14_POLICIES
        for less, more in pairwise(AFFINITIES)
    ]


def _spread_at(runs: pl.DataFrame, affinity: str) -> Samples:
    return spread(_at_best(runs, affinity, policy, "utility_percent") for policy in FIG_3_14_POLICIES)


def _alike_at_high(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    at_high = _spread_at(runs, "high")
    return [
        (f"{ALIKE:g} points less the spread", ALIKE - at_high),
        ("spread as drawn over that at high affinity", _spread_at(runs, "as drawn") - at_high),
    ]


_BEST_OF_TRIAL = "best value of each trial; no filter left out"

FIG_3_14 = Experiment(
    "fig-3.14",
    "Utility under an energy budget in systems of low, drawn and high task-machine affinity",
    "Friese 3.6.4, fig. 3.14 and table 3.2",
    f"{_READING}; Weighted Util never makes a choice of no value; affinity (TMA) is that of the general-purpose part",
    "utility-by-setting",
    (
        *(
            Claim(
                f"3.15 {affinity}",
                f"task-machine affinity {affinity}",
                f"{low / 1000:g} to {high / 1000:g}",
                ordering(partial(_affinity_ranges, affinity=affinity), " thousandths"),
                "read as: the mean lies inside the range",
            )
            for affinity, (low, high) in _TABLE_3_2.items()
        ),
        Claim(
            "3.15 low",
            "task-machine affinity made low",
            "below 1e-15",
            ordering(
                lambda runs: [("1e-15 over TMA", 1 - _ROUNDING * _samples(runs, "system_tma", affinity="low"))], "e-15"
            ),
            "the generator of low affinity makes all columns proportional",
            "constructed",
        ),
        Claim(
            "3.16",
            "at low affinity a higher leniency is best",
            "higher",
            ordering(lambda runs: _tuned_higher(runs, FIG_3_14_POLICIES[:2], "low", "as drawn"), ""),
            _BEST_OF_TRIAL,
        ),
        Claim(
            "3.17",
            "at low affinity a smaller weight is best",
            "smaller",
            ordering(lambda runs: _tuned_higher(runs, FIG_3_14_POLICIES[2:], "as drawn", "low"), ""),
            _BEST_OF_TRIAL,
        ),
        Claim(
            "3.18",
            "at high affinity a lower leniency is best",
            "lower",
            ordering(lambda runs: _tuned_higher(runs, FIG_3_14_POLICIES[:2], "as drawn", "high"), ""),
            _BEST_OF_TRIAL,
        ),
        Claim(
            "3.19",
            "at high affinity a larger weight is best",
            "larger",
            ordering(lambda runs: _tuned_higher(runs, FIG_3_14_POLICIES[2:], "high", "as drawn"), ""),
            _BEST_OF_TRIAL,
        ),
        *(
            Claim(
                f"3.20 {name}",
                f"{words}: low < drawn < high affinity, each policy at its best",
                "all pairs",
                ordering(partial(_rises_with_affinity, metric=metric), " %"),
            )
            for name, words, metric in (
                ("utility", "utility", "utility"),
                ("tasks", "completed tasks", "tasks_completed"),
            )
        ),
        Claim(
            "3.21",
            "policies at their best earn alike at high affinity",
            "similar",
            ordering(_alike_at_high),
            f"read as: within {ALIKE:g} points, and closer than as drawn",
        ),
    ),
)


def _gains_by_budget(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """The gain over Max-Max UPT at each budget less that at the next larger one."""
    budgets = runs["supply.budget_j"].drop_nulls().unique().sort()

    def gains(variant: str, policy: str) -> list[Samples]:
        return [
            gain(
                _samples(runs, "utility", variant=variant, policy=policy, budget=budget),
                _samples(runs, "utility", variant="budget", policy="max-max-upt", budget=budget),
            )
            for budget in budgets
        ]

    rivals = (("budget", "max-max-upe"), ("filter", "max-max-upt"), ("weighted", "weighted-util"))
    return [
        (f"{policy} ({variant}) at {tight / 1e9:.2f} over {loose / 1e9:.2f} GJ", at_tight - at_loose)
        for variant, policy in rivals
        for (tight, loose), (at_tight, at_loose) in zip(
            pairwise(budgets), pairwise(gains(variant, policy)), strict=True
        )
    ]


def budget_gj(runs: pl.DataFrame, types: str = "") -> Samples:
    """The rule of the text for a budget: 70 % of what Max-Max UPT uses without one."""
    return 0.7e-9 * _samples(runs, "energy_j", variant=f"no budget{types}")


def _seventy_percent(types: str) -> Claim:
    return Claim(
        f"3.14{types}",
        "70 % of what Max-Max UPT uses without a budget",
        "1.11 GJ",
        number(1.11, partial(budget_gj, types=types), " GJ"),
    )


_TIGHTER = Claim(
    "3.22",
    "a tighter budget makes the gains over Max-Max UPT larger",
    "larger",
    ordering(_gains_by_budget),
    "gains of Max-Max UPE, filter and weights in percent, at neighbouring budgets",
)


def _budget_3(world: Reading) -> Experiment:
    return Experiment(
        f"budget-3{world.suffix}",
        f"Utility by energy budget, and where the budget comes from{world.words}",
        "Friese 3.5.4 and 3.6.3",
        f"{world.reading}; Weighted Util at 0.5 never makes a choice of no value; filter at leniency 0.75",
        "utility-against-energy",
        (*map(_seventy_percent, _numbers_of_types(world)), _TIGHTER),
    )


BUDGET_3, BUDGET_3_LITERAL = (_budget_3(world) for world in ARRIVALS)

NEITHER, FILTERING = "neither", "filtering"
WEIGHTING = {"literal": "weighting, all mapped", "declining": "weighting"}
"""The variants of fig. 3.13; weights in both readings of a choice of no value."""
AT_MIN = 1000
_AT_1000_MIN, _LASTED_MIN = "utility_at_1000_min", "budget_lasted_min"
_LAST_HOUR_MIN = 23 * 60


def _day_min(trace: pl.DataFrame) -> pl.Series:
    """Minutes since the start of the counted day."""
    minutes: pl.Series = (trace["at_s"] - trace["at_s"][0]) / 60
    return minutes


def utility_at_1000_min(told: Told) -> float:
    """What was earned of the counted day up to its minute 1,000."""
    trace = told.tables[TRACES]
    return float(trace.filter(_day_min(trace) <= AT_MIN)["utility_cumulative"][-1])


def budget_lasted_min(told: Told) -> float:
    """Minutes of the counted day until its budget was used up, or until its end."""
    trace = told.tables[TRACES]
    is_left = 100 * trace["energy_cumulative_j"] < BUDGET_USED * told.row["budget_j"]
    return float(_day_min(trace).filter(is_left)[-1])


def _more_than(metric: str, variant: str, others: Sequence[str]) -> Differences:
    return lambda runs: [
        (f"{variant} over {other}", _samples(runs, metric, variant=variant) - _samples(runs, metric, variant=other))
        for other in others
    ]


def _lasts(variants: Sequence[str]) -> Differences:
    """How far into the last hour of the day the budget lasts."""
    return lambda runs: [
        (variant, _samples(runs, _LASTED_MIN, variant=variant) - _LAST_HOUR_MIN) for variant in variants
    ]


def _traced_weights(reading: str, variant: str) -> tuple[Claim, ...]:
    """What fig. 3.13 shows of weights, in one reading."""
    note = f"{reading}: a choice of no value is {'never made' if READINGS[reading] else 'made all the same'}"
    return (
        Claim(
            f"3.24 {reading}",
            f"until {AT_MIN:,} min weighting has earned more than neither",
            "more",
            ordering(_more_than(_AT_1000_MIN, variant, [NEITHER]), " utility"),
            note,
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
            ordering(_more_than("tasks_completed", variant, [NEITHER]), " tasks"),
            f"{note}; read as: more",
        ),
        Claim(
            f"3.27 {reading}",
            "with weighting the budget lasts to the end of the day",
            "the end of the day",
            ordering(_lasts([variant]), " min"),
            f"{note}; read as: into its last hour",
        ),
    )


FIG_3_13 = Experiment(
    "fig-3.13",
    "Utility and energy of Weighted Util over the day, by filter and weight",
    "Friese 3.6.3.2, fig. 3.13",
    f"{_READING}; a weight of 0 is Max-Max Util, as the text says; the figure shows the first trial",
    "utility-over-time",
    (
        Claim(
            "3.23",
            f"until {AT_MIN:,} min filtering has earned less than neither",
            "less",
            ordering(_more_than(_AT_1000_MIN, NEITHER, [FILTERING]), " utility"),
        ),
        Claim(
            "3.25 filtering",
            "filtering earns more in the day than neither",
            "more",
            ordering(_more_than("utility", FILTERING, [NEITHER]), " utility"),
        ),
        Claim(
            "3.27 filtering",
            "with filtering the budget lasts to the end of the day",
            "the end of the day",
            ordering(_lasts([FILTERING]), " min"),
            "read as: into its last hour",
        ),
        *(claim for reading, variant in WEIGHTING.items() for claim in _traced_weights(reading, variant)),
    ),
    {_AT_1000_MIN: utility_at_1000_min, _LASTED_MIN: budget_lasted_min},
)
