"""Bags of tasks online: linear programs solved again at every mapping event, beside heuristics on the same worlds."""

from __future__ import annotations

import polars as pl

from joulewise.study.catalogue.experiment import Experiment
from joulewise.study.catalogue.judging import Claim, Differences, Samples, gain, ordering, per_trial

LOADS = (33_000, 50_000)


def _utility(runs: pl.DataFrame, variant: str, policy: str, load: int = 50_000) -> Samples:
    where = {"variant": variant, "manager.policy": policy, "workload.tasks_per_day": load}
    return per_trial(runs, "utility", where)


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
    "utility-by-setting",
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
        found, other = (per_trial(runs, "hypervolume_percent", {"variant": name}) for name in (ours, rival))
        return [(f"{ours} over {rival}", found - other)]

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
