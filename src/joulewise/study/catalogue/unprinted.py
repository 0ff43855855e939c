"""Experiments on what Friese 2015 does not print: published figures by the value that was chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import polars as pl

from joulewise.study.catalogue.experiment import Experiment
from joulewise.study.catalogue.friese_2 import batch_gain, dropping_gain, min_min_percent, most_utility
from joulewise.study.catalogue.friese_3 import UPE_GAIN_PERCENT, budget_gj, upe_gain, used_up_min
from joulewise.study.catalogue.judging import Claim, Judge, Samples, beside

TYPES = range(12, 21)
"""How many special-purpose task types there can be: three to five for each of four machine types."""
TIME_COVS = (0.0, 0.02, 0.05, 0.1, 0.2)
POWER_COVS = (0.05, 0.1)


def _by(column: str, values: Iterable[float], figure: Callable[[pl.DataFrame], Samples], unit: str) -> Judge:
    """A figure by what is not printed, beside the published one."""
    return beside(lambda runs: [figure(runs.filter(pl.col(column) == value)) for value in values], unit, "shown")


_OF_TYPES = (
    ("2.1", "mean maximum utility at 33,000 tasks a day", "65,051", partial(most_utility, load=33_000), ""),
    ("2.4", "mean gain of batch over smart immediate policies at 33,000 tasks a day", "about 250 %", batch_gain, " %"),
    ("2.5", "percent of Min-Min Comp at 33,000 tasks a day", "53.13 %", partial(min_min_percent, load=33_000), " %"),
    ("2.6", "percent of Min-Min Comp at 50,000 tasks a day", "41.26 %", partial(min_min_percent, load=50_000), " %"),
    ("2.11", "gain of Max Util and Max UPT from threshold 0 to 1.5", "about 450 %", dropping_gain, " %"),
    ("3.13", "when Max-Max Util without filter has used up the budget", "about 1,000 min", used_up_min, " min"),
    ("3.14", "70 % of what Max-Max UPT uses without a budget", "1.11 GJ", budget_gj, " GJ"),
)

SPECIAL_TYPES = Experiment(
    "special-types",
    "Figures of chapters 2 and 3 by the number of special-purpose task types, burst factors as printed",
    "Friese 2.6.3, 3.5.3.1 and app. F",
    "burst factors as printed, and all rates scaled so that as many tasks arrive as the text says. Chapter 2 prints no "
    "number of special-purpose task types: the 13 of its readings with the suffix -literal were chosen here, on a seed "
    "that they do not use, by 2.4, 2.5, 2.6 and 2.11 together. 13 is nearest to 2.4 and 2.11, and 12 to 2.5 and 2.6. "
    "Chapter 3 prints 17",
    "utility-by-policy",
    tuple(
        Claim(
            f"{claim} (by types)",
            f"{says}, with {TYPES[0]} / ... / {TYPES[-1]} special-purpose task types",
            published,
            _by("system.special_task_types", TYPES, figure, unit),
        )
        for claim, says, published, figure, unit in _OF_TYPES
    ),
)


def _at_power_cov(runs: pl.DataFrame, power_cov: float) -> Samples:
    return upe_gain(runs.filter(pl.col("system.power_cov") == power_cov))


PSTATE_COV = Experiment(
    "pstate-cov",
    "Gain of Max-Max UPE over Max-Max UPT by the spread of P-state time factors and of powers",
    "Friese 3.5.3.1 and 3.6.2",
    "50,000 tasks a day, three P-states, 1.11 GJ, no filter; the text draws the time factors of P-states from a gamma "
    "distribution whose spread it does not print, and powers by the COV method without their COVs; both are 0.1 in "
    "fig-3.8",
    "gain-by-number",
    tuple(
        Claim(
            f"3.1 (by COV, powers {power_cov:g})",
            "gain of Max-Max UPE over Max-Max UPT without filter, with a COV of time factors of "
            f"{' / '.join(f'{cov:g}' for cov in TIME_COVS)} and of powers of {power_cov:g}",
            f"about {UPE_GAIN_PERCENT:g} %",
            _by("system.time_factor_cov", TIME_COVS, partial(_at_power_cov, power_cov=power_cov), " %"),
        )
        for power_cov in POWER_COVS
    ),
    level=UPE_GAIN_PERCENT,
)
