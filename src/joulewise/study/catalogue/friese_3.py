"""Experiments of Friese chapter 3: an energy budget for the day, with and without a filter."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise, starmap

import numpy as np
import polars as pl

from joulewise.study.catalogue.experiment import Experiment, Reading
from joulewise.study.catalogue.judging import (
    Claim,
    Samples,
    best_apart,
    gain,
    number,
    ordering,
    sampled,
    weakest,
    wider,
)
from joulewise.verdicts import Standing

BUDGET_USED = 99.0
"""Percent of a budget from which on it counts as used up."""

POLICIES = ["min-min-comp", "max-max-util", "max-max-upt", "max-max-upe"]
LENIENCIES = [0.3, 0.45, 0.6, 0.75, 1.0, 1.5, 2.0, 4.0]

DAY = (
    "50,000 tasks a day, three P-states, 1.11 GJ; the second day counts, with runs prorated at its ends; a choice must "
    "fit the energy left with all of its energy; used up means 99 % of the budget"
)
NORMALISED = Reading("", "", DAY)
LITERAL = Reading(
    "-literal",
    ", burst factors as printed",
    f"{DAY}; burst factors as printed, and all rates scaled so that 50,000 tasks arrive; 17 special-purpose task "
    "types as the chapter prints, and for 3.13 and 3.14 also the 13 that chapter 2 has in this reading",
)
ARRIVALS = (NORMALISED, LITERAL)
"""The readings of the rates of special-purpose task types, as in chapter 2."""
_THIRTEEN = " (13 types)"
DECLINING = {"literal": False, "declining": True}
"""The readings of weights: a choice whose weighted value is not above 0 is made anyway, or declined."""


def words_of(reading: str) -> str:
    """What such a reading is."""
    return f"{reading}: a choice of no value is {'never made' if DECLINING[reading] else 'made all the same'}"


def _numbers_of_types(world: Reading) -> Mapping[str, Standing]:
    """What is added to claims and variants: the printed number of special-purpose task types, and the fitted one."""
    return {"": "", _THIRTEEN: "post hoc"} if world is LITERAL else {"": ""}


def samples_of(runs: pl.DataFrame, metric: str = "utility_percent", **where: object) -> Samples:
    """A metric, by default the percent of maximum utility, by trial."""
    return sampled(runs, metric, **where)


def _filtered(runs: pl.DataFrame, policy: str, metric: str = "utility_percent") -> dict[float, Samples]:
    """A metric of a policy by leniency; without filter the leniency is infinite."""
    found = {
        leniency: samples_of(runs, metric, variant="filter", policy=policy, leniency=leniency)
        for leniency in LENIENCIES
    }
    return {**found, math.inf: samples_of(runs, metric, variant="no filter", policy=policy)}


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


Sweep = Mapping[float, Samples]


def _whole_range(other: Sweep, least: Sweep) -> Samples:
    return wider(list(other.values()), list(least.values()))


def _upper_range(other: Sweep, least: Sweep) -> Samples:
    upper = [[samples for leniency, samples in one.items() if 1.0 <= leniency <= 4.0] for one in (other, least)]
    return wider(*upper)


def _drop_unfiltered(other: Sweep, least: Sweep) -> Samples:
    lost = best_apart(other.values()) - other[math.inf]
    return weakest(lost - (samples - least[math.inf]) for samples in least.values())


def _less_sensitive(runs: pl.DataFrame, wider_by: Callable[[Sweep, Sweep], Samples]) -> list[tuple[str, Samples]]:
    least = _filtered(runs, "max-max-upe")
    return [
        (f"{policy} over max-max-upe", wider_by(_filtered(runs, policy), least))
        for policy in POLICIES
        if policy != "max-max-upe"
    ]


_SENSITIVITY = tuple(
    Claim(
        f"3.8{case}",
        says,
        "least",
        ordering(partial(_less_sensitive, wider_by=wider_by)),
        f"read as: {words}",
    )
    for case, says, wider_by, words in (
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
    """Seconds of the counted day after which its budget was used up, without filter; all of it where it never was."""
    where = {"variant": f"no filter{types}", "policy": policy}
    names = ("exhausted_s", "workload.warm_up_s", "workload.day_s", "utility_percent")
    at_s, begin_s, day_s, utility = (samples_of(runs, name, **where) for name in names)
    return np.where(np.isnan(at_s) & ~np.isnan(utility), day_s, at_s - begin_s)


def used_up_min(runs: pl.DataFrame, types: str = "") -> Samples:
    """Minutes after which Max-Max Util without filter had used up the budget."""
    return _used_up_s(runs, "max-max-util", types) / 60


def _lasts_longer_h(runs: pl.DataFrame) -> Samples:
    """Hours that the budget lasts longer with Max-Max UPE than with Max-Max UPT; NaN where it lasts all day."""
    upe_s, upt_s = (_used_up_s(runs, policy) for policy in ("max-max-upe", "max-max-upt"))
    day_s = samples_of(runs, "workload.day_s", variant="no filter", policy="max-max-upe")
    return np.where(np.maximum(upe_s, upt_s) < day_s, (upe_s - upt_s) / 3600, math.nan)


UPE_GAIN_PERCENT = 11.0
"""The published gain of Max-Max UPE over Max-Max UPT without filter."""


def upe_gain(runs: pl.DataFrame) -> Samples:
    """What Max-Max UPE earns more than Max-Max UPT without filter, in percent."""
    upe, upt = (samples_of(runs, variant="no filter", policy=policy) for policy in ("max-max-upe", "max-max-upt"))
    return gain(upe, upt)


def _used_up(types: str, standing: Standing) -> Claim:
    return Claim(
        f"3.13{types}",
        "when Max-Max Util without filter has used up the budget",
        "about 1,000 min",
        number(1000.0, partial(used_up_min, types=types), " min"),
        standing=standing,
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
        number(3.0, _lasts_longer_h, " h"),
        "a trial in which one of them never uses it up has no result",
    ),
)


def _fig_3_8(world: Reading) -> Experiment:
    return Experiment(
        f"fig-3.8{world.suffix}",
        f"Utility of policies without weights under an energy budget, by leniency of the filter{world.words}",
        "Friese 3.6.2 and 3.6.3, fig. 3.4 and 3.8 to 3.11",
        world.reading,
        "utility-by-leniency",
        (*_FIG_3_8, *starmap(_used_up, _numbers_of_types(world).items())),
    )


FIG_3_8, FIG_3_8_LITERAL = (_fig_3_8(world) for world in ARRIVALS)


def _gains_by_budget(runs: pl.DataFrame, rivals: Mapping[str, str], **where: object) -> list[tuple[str, Samples]]:
    """The gain over Max-Max UPT at the tightest budget, and at each less that at the next larger one."""
    budgets = runs["supply.budget_j"].drop_nulls().unique().sort()

    def gains(variant: str, policy: str) -> list[Samples]:
        return [
            gain(
                samples_of(runs, "utility", variant=variant, policy=policy, budget=budget, **where),
                samples_of(runs, "utility", variant="budget", policy="max-max-upt", budget=budget),
            )
            for budget in budgets
        ]

    found = []
    for variant, policy in rivals.items():
        by_budget = gains(variant, policy)
        found.append((f"{policy} ({variant}) gains at {budgets[0] / 1e9:.2f} GJ", by_budget[0]))
        found += [
            (f"{policy} ({variant}) at {tight / 1e9:.2f} over {loose / 1e9:.2f} GJ", at_tight - at_loose)
            for (tight, loose), (at_tight, at_loose) in zip(pairwise(budgets), pairwise(by_budget), strict=True)
        ]
    return found


def budget_gj(runs: pl.DataFrame, types: str = "") -> Samples:
    """The rule of the text for a budget: 70 % of what Max-Max UPT uses without one."""
    return 0.7e-9 * samples_of(runs, "energy_j", variant=f"no budget{types}")


def _seventy_percent(types: str, standing: Standing) -> Claim:
    return Claim(
        f"3.14{types}",
        "70 % of what Max-Max UPT uses without a budget",
        "1.11 GJ",
        number(1.11, partial(budget_gj, types=types), " GJ"),
        standing=standing,
    )


_AT_TIGHTEST = "in percent: there are some at the tightest budget, and less at each that is looser"
_TIGHTER = (
    Claim(
        "3.22",
        "a tighter budget makes the gains over Max-Max UPT larger",
        "larger",
        ordering(partial(_gains_by_budget, rivals={"budget": "max-max-upe", "filter": "max-max-upt"})),
        f"gains of Max-Max UPE and of the filter {_AT_TIGHTEST}",
    ),
    *(
        Claim(
            f"3.22 {reading}",
            "a tighter budget makes the gains over Max-Max UPT larger",
            "larger",
            ordering(partial(_gains_by_budget, rivals={"weighted": "weighted-util"}, declines=declines)),
            f"{words_of(reading)}; gains of weights {_AT_TIGHTEST}",
        )
        for reading, declines in DECLINING.items()
    ),
)


def _budget_3(world: Reading) -> Experiment:
    return Experiment(
        f"budget-3{world.suffix}",
        f"Utility by energy budget, and where the budget comes from{world.words}",
        "Friese 3.5.4 and 3.6.3",
        f"{world.reading}; Weighted Util at 0.5; filter at leniency 0.75",
        "utility-against-energy",
        (*starmap(_seventy_percent, _numbers_of_types(world).items()), *_TIGHTER),
    )


BUDGET_3, BUDGET_3_LITERAL = (_budget_3(world) for world in ARRIVALS)
