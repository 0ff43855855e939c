"""Fronts of utility and energy, ours: annealing with a proven bound, and what knowing the chances is worth."""

from __future__ import annotations

import numpy as np
import polars as pl

from joulewise.study.catalogue.experiment import Experiment
from joulewise.study.catalogue.front_measures import CHOICE
from joulewise.study.catalogue.judging import Claim, Samples, ordering, per_trial

ANNEALED, QUICK = "annealing", "annealing, an eighth of the moves"
GENETIC, LAST, ISLANDS = "genetic, archive", "genetic, last population", "genetic, four islands"
EXPECTED, COMPLETIONS, MEAN_TIMES = "expected", "mean-completions", "mean-times"
AS_MANY, AS_LONG = "as many generations", "as long"
_CERTIFIED_PERCENT = 95.0


def _of(runs: pl.DataFrame, metric: str, variant: str) -> Samples:
    return per_trial(runs, metric, {"variant": variant})


def _certified(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    return [("annealing over 95 %", _of(runs, "hypervolume_percent", ANNEALED) - _CERTIFIED_PERCENT)]


def _ahead(runs: pl.DataFrame, ours: str, *rivals: str) -> list[tuple[str, Samples]]:
    found = _of(runs, "hypervolume_percent", ours)
    return [(f"{ours} over {rival}", found - _of(runs, "hypervolume_percent", rival)) for rival in rivals]


def _percent(runs: pl.DataFrame, metric: str, objective: str, variant: str = AS_MANY) -> Samples:
    """A worth in percent of what all tasks are worth."""
    where = {"variant": variant, "optimise.objective": objective}
    return 100 * per_trial(runs, metric, where) / per_trial(runs, "utility_ceiling", where)


def _of_chances(runs: pl.DataFrame, variant: str, *rivals: str) -> list[tuple[str, Samples]]:
    """What the choice of a search by expected utility is worth more."""
    found = _percent(runs, "chosen_worth", EXPECTED)
    return [(f"over {rival}, {variant}", found - _percent(runs, "chosen_worth", rival, variant)) for rival in rivals]


def _of_foresight(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    [(_, chances)] = _of_chances(runs, AS_MANY, MEAN_TIMES)
    foresight = _percent(runs, "foreseen_worth", EXPECTED) - _percent(runs, "chosen_worth", EXPECTED)
    return [("value of the chances over that of foresight", chances - np.maximum(foresight, 0.0))]


UTILITY_FRONT = Experiment(
    "ours-utility-front",
    "Annealing beside NSGA-II on 4000 tasks and 30 machines, both against the proven bound",
    "Joulewise, after Friese 5",
    "data set 3 of Friese 2015, chapter 5, on the stand-in table; every task runs; 8 million moves; 100 chromosomes, "
    "all four "
    "seeds, 10,000 generations; islands: four such populations, a quarter of the generations each, the best handed on "
    "every 100; hypervolume in percent of that of the proven bound, up to 1.8 times the least energy",
    "utility-front",
    (
        Claim(
            "J18",
            "annealing reaches at least 95 % of the best possible hypervolume",
            "at least 95 %",
            ordering(_certified),
        ),
        Claim(
            "J19",
            "annealing, even with an eighth of the moves, is ahead of NSGA-II after 10,000 generations",
            "ahead",
            ordering(
                lambda runs: [lead for ours in (ANNEALED, QUICK) for lead in _ahead(runs, ours, GENETIC, LAST, ISLANDS)]
            ),
        ),
        Claim(
            "J20",
            "an archive keeps more than the last population",
            "more",
            ordering(lambda runs: _ahead(runs, GENETIC, LAST)),
        ),
        Claim(
            "J21",
            "four islands come farther than one population with the same work",
            "farther",
            ordering(lambda runs: _ahead(runs, ISLANDS, GENETIC)),
        ),
    ),
    standing="ours",
)

CHANCES = Experiment(
    "ours-chances",
    "What knowing the chances is worth to a search, and what perfect information would be",
    "Joulewise, after Friese 7 and 9",
    "1500 tasks within 1 h of the system of Friese 2015, chapter 7; each search chooses the point that is best by its "
    "own objective when a joule costs the utility of all tasks over 1.8 times the least energy; worth is utility "
    "less that cost, the mean over 1000 fresh samples, in percent of the utility of all tasks; perfect information: "
    "the best point of the same front for each sample, which is less than what a new search for each sample would "
    "find; as long: 75,000 generations, which take a core about as long as 5,000 with samples, and a GPU longer",
    "fuzzy-fronts-compared",
    (
        Claim(
            "J22",
            "the stochastic solution has a value: a search by expected utility chooses better than one by mean times",
            "better",
            ordering(lambda runs: _of_chances(runs, AS_MANY, MEAN_TIMES, COMPLETIONS)),
            "after as many generations; beside mean times and utility at mean completions",
        ),
        Claim(
            "J23",
            "it also chooses better than one by mean times with 15 times as many generations",
            "better",
            ordering(lambda runs: _of_chances(runs, AS_LONG, MEAN_TIMES)),
        ),
        Claim(
            "J24",
            "the chances are worth more than foreseeing each sample and choosing among the points found",
            "more",
            ordering(_of_foresight),
        ),
    ),
    CHOICE,
    standing="ours",
)
