"""Bags of tasks beyond the published ones: online, on islands, for long, and sold at prices by backlog."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise, product
from typing import Any

import numpy as np
import polars as pl

from joulewise.study.catalogue.experiment import Experiment
from joulewise.study.catalogue.judging import Claim, Differences, Samples, best_by_mean, gain, ordering, sampled

LOADS = (33_000, 50_000)


def _utility(runs: pl.DataFrame, variant: str, policy: str, load: int = 50_000) -> Samples:
    return sampled(runs, "utility", variant=variant, policy=policy, load=load)


def _gains(runs: pl.DataFrame, policy: str, rival: str) -> list[tuple[str, Samples]]:
    """Gains over a rival without a budget, at both loads, and with one."""
    free = [
        (
            f"{rival}, {load:,} tasks a day",
            gain(_utility(runs, "no budget", policy, load), _utility(runs, "no budget", rival, load)),
        )
        for load in LOADS
    ]
    limited = gain(_utility(runs, "chapter 3", policy), _utility(runs, "chapter 3", rival))
    return [*free, (f"{rival}, chapter 3", limited)]


def _over_published(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    ours = _utility(runs, "chapter 3", "bag-prices")
    return [
        *_gains(runs, "bag-prices", "max-max-upt"),
        ("max-max-upe, chapter 3", gain(ours, _utility(runs, "chapter 3", "max-max-upe"))),
        ("weighted-util, chapter 3", gain(ours, _utility(runs, "chapter 3, weighted", "weighted-util"))),
    ]


BAG_ONLINE = Experiment(
    "ours-bag-online",
    "Linear programs solved again at every mapping event, beside heuristics and our prices",
    "Joulewise, after Tarplee II",
    "same worlds for all; Friese 2015, chapter 3: two days, prorated, 1.11 GJ and three P-states; no budget: the day "
    "after 2 h of "
    "warm-up, by completion, one P-state; dropping threshold 0.5; Weighted Util at 0.5, declining",
    "utility-by-policy",
    (
        Claim(
            "J15",
            "Bag Prices earn more than Max-Max UPT, and with a budget than Max-Max UPE and Weighted Util",
            "more",
            ordering(_over_published, " %"),
        ),
        Claim(
            "J16",
            "Bag Prices earn more than Prices, which find their prices step by step",
            "more",
            ordering(lambda runs: _gains(runs, "bag-prices", "prices"), " %"),
        ),
        Claim(
            "J17",
            "splitting all that waits for the least makespan, as a bag that must be run, earns more than Max-Max UPT",
            "more",
            ordering(lambda runs: _gains(runs, "bag-makespan", "max-max-upt"), " %"),
        ),
    ),
    standing="ours",
)


ONE, ISLANDS, ANNEALED = "one population", "four islands", "annealing"


def _ahead(ours: str, rival: str) -> Differences:
    """How much more of the proven hypervolume one search reaches than another."""

    def gains(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
        mine, other = (sampled(runs, "hypervolume_percent", variant=name) for name in (ours, rival))
        return [(f"{ours} over {rival}", mine - other)]

    return gains


MAKESPAN_ISLANDS = Experiment(
    "ours-makespan-islands",
    "Four islands beside one population with the same work, on energy and makespan of 1000 tasks on 50 machines",
    "Joulewise, after Friese 6 and 9",
    "the system and bag of Friese 2015, chapter 6; 100 chromosomes for 20,000 generations with the published search, "
    "or four such populations for a quarter of them each, the best handed on every 100; hypervolume in percent of the "
    "bound's; annealing beside them",
    "front",
    (
        Claim(
            "J60",
            "four islands come farther than one population with the same work",
            "farther",
            ordering(_ahead(ISLANDS, ONE)),
        ),
        Claim(
            "J61",
            "annealing from the bound comes farther than four islands",
            "farther",
            ordering(_ahead(ANNEALED, ISLANDS)),
        ),
    ),
    standing="ours",
)


LONG, RECOVERED = "a million generations", "recovered LP"
SHORTER = ("hypervolume_percent:10000", "hypervolume_percent:100000", "hypervolume_percent")
"""The share of the proven hypervolume after ten thousand, a hundred thousand and a million generations."""


def _longer(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """What ten times the generations add, twice."""
    reached = [sampled(runs, name, variant=LONG) for name in SHORTER]
    names = ("from 10,000 to 100,000", "from 100,000 to 1,000,000")
    return [(name, later - sooner) for name, (sooner, later) in zip(names, pairwise(reached), strict=True)]


MAKESPAN_GPU = Experiment(
    "ours-makespan-gpu",
    "A million generations, annealing and recovered linear programs, on energy and makespan of 1000 tasks",
    "Joulewise, after Friese 6 and 9",
    "the system and bag of Friese 2015, chapter 6; 100 chromosomes with the published search for a million "
    'generations, ten times the published number, on a GPU (`engine = "gpu"`) or in some minutes for each run on a '
    "core; annealing and the recovered linear program on one core, in seconds; hypervolume in percent of the bound's",
    "front",
    (
        Claim(
            "J64",
            "ten times the generations come farther, from 10,000 to 100,000 and from there to a million",
            "farther",
            ordering(_longer),
        ),
        Claim(
            "J65",
            "annealing from the bound comes farther than a million generations",
            "farther",
            ordering(_ahead(ANNEALED, LONG)),
        ),
        Claim(
            "J66",
            "so does the recovered linear program alone",
            "farther",
            ordering(_ahead(RECOVERED, LONG)),
        ),
    ),
    standing="ours",
)


BY_BACKLOG, ALONE, FIXED = "backlog", "alone", "fixed"
DEMANDS = tuple(product((40, 75, 150), ("uniform", "exponential")))
RATIO = "optimise.profit_ratio"
_LEAST_SHARE = 0.75
_OF_THE_BOUND = "in percent of what no prices exceed on average that do not see worths"


def _earned(runs: pl.DataFrame, method: str, per_day: int, values: str) -> Samples:
    """The profit of a way to ask for prices; of fixed prices, that of the one that earns most on average."""
    if method != FIXED:
        return sampled(runs, "profit", method=method, customers=per_day, values=values)
    ratios = runs[RATIO].drop_nulls().unique().to_list()
    return best_by_mean(
        {ratio: sampled(runs, "profit", ratio=ratio, customers=per_day, values=values) for ratio in ratios}
    )


def _most(runs: pl.DataFrame, per_day: int, values: str) -> Samples:
    """What no prices exceed on average that do not see worths."""
    return sampled(runs, "unseen_bound", method=BY_BACKLOG, customers=per_day, values=values)


def _earns_more(method: str, rival: str) -> Differences:
    """How much more one way to ask earns than another for each demand, in percent of the mean bound.

    Not in percent of the other, which may lose money.
    """

    def more(runs: pl.DataFrame, *demand: Any) -> Samples:
        mine, other = (_earned(runs, way, *demand) for way in (method, rival))
        return 100 * (mine - other) / np.nanmean(_most(runs, *demand))

    return lambda runs: _by_demand(partial(more, runs))


def _beyond_the_bar(runs: pl.DataFrame, per_day: int, values: str) -> Samples:
    """In percent of the mean bound for prices that do not see worths: the profit beyond three quarters of it."""
    profit, most = _earned(runs, BY_BACKLOG, per_day, values), _most(runs, per_day, values)
    return 100 * (profit - _LEAST_SHARE * most) / np.nanmean(most)


def _by_demand(samples_of: Callable[[int, str], Samples]) -> list[tuple[str, Samples]]:
    """Samples for each demand, with its name."""
    return [(f"{values}, {per_day} customers a day", samples_of(per_day, values)) for per_day, values in DEMANDS]


BACKLOG = Experiment(
    "ours-backlog",
    "Prices of bags that follow the backlog and the cost of energy, beside fixed prices",
    "Joulewise, after Tarplee VII",
    "36 machines of the stand-in table, bags of 1000 tasks; customers come at random for two days, are asked for a "
    "price and a time, and buy where the price is not above what is then left of the bag's worth to them; worths are "
    "1.5 times the least cost of energy on average, and 24 h take that much away; energy costs by the hour; what was "
    "sold is done afterwards. By backlog: the price of most expected profit, with what the bag takes of later sales on "
    "average as a cost. The fixed price is the best of seven, judged afterwards",
    "profit-by-price",
    (
        Claim(
            "J58",
            "prices by backlog earn more than the best fixed price",
            "more",
            ordering(_earns_more(BY_BACKLOG, FIXED), " %"),
            _OF_THE_BOUND,
        ),
        Claim(
            "J59",
            "prices by backlog earn more than the best price for each customer alone",
            "more",
            ordering(_earns_more(BY_BACKLOG, ALONE), " %"),
            _OF_THE_BOUND,
        ),
        Claim(
            "J62",
            "the best price for each alone, which follows the cost of energy, earns more than the best fixed price",
            "more",
            ordering(_earns_more(ALONE, FIXED), " %"),
            _OF_THE_BOUND,
        ),
        Claim(
            "J63",
            "prices by backlog earn three quarters of what no prices exceed on average that do not see worths",
            "at least 75 %",
            ordering(lambda runs: _by_demand(partial(_beyond_the_bar, runs)), " %"),
            "what lies beyond 75 %, a bar that we set after a look at four trials of another seed, 1",
        ),
    ),
    standing="ours",
)
