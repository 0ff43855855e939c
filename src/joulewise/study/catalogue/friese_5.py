"""Experiments of Friese chapter 5: fronts of energy and utility by the seeds of the first population."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import polars as pl

from joulewise.study.catalogue.experiment import Experiment
from joulewise.study.catalogue.front_measures import PEAK, ends_after
from joulewise.study.catalogue.judging import Claim, Differences, Samples, gain, in_each, ordering, per_trial

SEEDS = "optimise.seeds"
MIN_ENERGY, MIN_MIN, MAX_UTILITY, MAX_PER_ENERGY = (
    f'["{name}"]' for name in ("min-energy", "min-min", "max-utility", "max-utility-per-energy")
)
RANDOM = "[]"
ALL = '["min-energy", "max-utility", "max-utility-per-energy", "min-min"]'
SEEDED = (MIN_ENERGY, MIN_MIN, MAX_UTILITY, MAX_PER_ENERGY)
SHOWN = (*SEEDED, RANDOM)
"""The populations of the published figures, by their seeds."""

TITLES = dict(zip(SHOWN, ("Min Energy", "Min-Min", "Max Utility", "Max Utility-per-Energy", "no seed"), strict=True))

PANELS_1 = (100, 1_000, 10_000, 100_000)
PANELS_2 = PANELS_3 = (1_000, 10_000, 100_000, 1_000_000)
_ALIKE_POINTS = 1.0
_INSIDE_PERCENT, _DIP_PERCENT = 5.0, 10.0

_STAND_IN = (
    "the nine-machine table of the text is not public: a stand-in of the same nine processors and five benchmarks, "
    "built from public figures, takes its place, scaled to a mean execution time of 1.5 min on general-purpose "
    "machines, so numbers may differ, and it is the same in all trials, so that intervals do not tell what another "
    "expansion would give; time-utility functions are those of appendix F; an iteration is a generation; "
    "100 chromosomes and mutation probability 0.5, because the text gives neither; ranks by the number of "
    "dominators, no "
    "archive"
)
_LONG = 'all 1,000,000 iterations, on a GPU (`engine = "gpu"`), or in about {} for each run on a core'
_MEASURED = "fronts are compared by their share of the proven hypervolume, up to 1.8 times the least energy, in points"


def _volume(runs: pl.DataFrame, seeds: str, generation: int) -> Samples:
    return per_trial(runs, f"hypervolume_percent:{generation}", {SEEDS: seeds})


def _spread(runs: pl.DataFrame, populations: Sequence[str], generation: int) -> Samples:
    """How far the best of these populations is ahead of the worst."""
    return np.asarray(np.ptp([_volume(runs, seeds, generation) for seeds in populations], axis=0))


def _narrowing(
    runs: pl.DataFrame, populations: Sequence[str], panels: Sequence[int], share: float = 1.0
) -> list[tuple[str, Samples]]:
    """How much closer together populations are in the last panel than by a share of their distance in the first."""
    first, last = (_spread(runs, populations, panels[at]) for at in (0, -1))
    return [(f"from {panels[0]:,} to {panels[-1]:,}", share * first - last)]


def _alike(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    return [("one point less their spread at the end", _ALIKE_POINTS - _spread(runs, SHOWN, PANELS_1[-1]))]


def _like_min_energy(runs: pl.DataFrame, panels: Sequence[int]) -> list[tuple[str, Samples]]:
    """How much nearer the population with all seeds is to that with Min Energy than to the others, and than a point.

    Distances are means over all panels.
    """

    def apart(seeds: str) -> Samples:
        return np.asarray(np.mean([np.abs(_volume(runs, ALL, n) - _volume(runs, seeds, n)) for n in panels], axis=0))

    others = [seeds for seeds in SHOWN if seeds != MIN_ENERGY]
    return [
        ("one point less the distance", _ALIKE_POINTS - apart(MIN_ENERGY)),
        *((f"nearer than to {TITLES[seeds]}", apart(seeds) - apart(MIN_ENERGY)) for seeds in others),
    ]


def _over_random(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    return [
        (f"{TITLES[seeds]} after {n:,}", _volume(runs, seeds, n) - _volume(runs, RANDOM, n))
        for seeds in SEEDED
        for n in PANELS_3
    ]


def _least_energies(runs: pl.DataFrame, n: int) -> list[tuple[str, Samples]]:
    """By how many percent others use more at the least than Min Energy, after some generations."""
    least = _end(runs, "least_energy_j", MIN_ENERGY, n)
    return [
        (f"{TITLES[seeds]} over Min Energy", gain(_end(runs, "least_energy_j", seeds, n), least))
        for seeds in SHOWN
        if seeds != MIN_ENERGY
    ]


def _most_utilities(runs: pl.DataFrame, n: int) -> list[tuple[str, Samples]]:
    """By how many percent Min-Min earns more at the most than others, after some generations."""
    most = _end(runs, "most_utility", MIN_MIN, n)
    return [
        (f"Min-Min over {TITLES[seeds]}", gain(most, _end(runs, "most_utility", seeds, n)))
        for seeds in SHOWN
        if seeds != MIN_MIN
    ]


_ENDS: dict[str, Differences] = {
    f"{end} after {n:,}": partial(differences_of, n=n)
    for end, differences_of in (("least energy", _least_energies), ("most utility", _most_utilities))
    for n in PANELS_2[:2]
}
"""Both ends of the fronts in each of the top panels of fig. 5.4."""


def _end(runs: pl.DataFrame, metric: str, seeds: str, generation: int) -> Samples:
    return per_trial(runs, f"{metric}:{generation}", {SEEDS: seeds})


def _one_peak(runs: pl.DataFrame, populations: Sequence[str]) -> list[tuple[str, Samples]]:
    found = []
    for seeds in populations:
        at, dip = (per_trial(runs, name, {SEEDS: seeds}) for name in PEAK)
        found += [
            (f"{TITLES[seeds]}: the peak beyond 5 % from the nearer end", np.minimum(at, 100 - at) - _INSIDE_PERCENT),
            (f"{TITLES[seeds]}: 10 % less the deepest dip beside the peak", _DIP_PERCENT - dip),
        ]
    return found


def _all_seeds(data_set: int, panels: Sequence[int]) -> Claim:
    return Claim(
        f"5.4 data set {data_set}",
        "a population with all four seeds performs like that with Min Energy",
        "similarly",
        ordering(lambda runs: _like_min_energy(runs, panels)),
        "read as: it is less than a point from that one, and nearer than to any other of the figure; distances are the "
        "mean over the panels",
    )


def _peak(claim: str, populations: Sequence[str]) -> Claim:
    return Claim(
        claim,
        "utility per energy has one peak along the front, away from its ends",
        "circled",
        ordering(lambda runs: _one_peak(runs, populations), " %"),
        "read as: at least 5 % of the range of energies from either end, and no dip beside it deeper than 10 % of its "
        "height; on the last fronts",
    )


FIG_5_3 = Experiment(
    "fig-5.3",
    "Fronts of energy and utility of 250 tasks on nine machines (data set 1), by seeds and iterations",
    "Friese 5.6",
    f"{_STAND_IN}; {_MEASURED}",
    "fronts-by-seeds",
    (
        Claim(
            "5.1",
            "populations with different seeds, and without any, come to very similar fronts",
            "fig. 5.3, 100 to 100,000 iterations",
            ordering(_alike),
            "read as: the best of the five is less than one point ahead of the worst after 100,000 iterations",
        ),
        _all_seeds(1, PANELS_1),
        _peak("5.7 data set 1", SHOWN),
    ),
    PEAK,
    standing="stand-in",
)

FIG_5_4 = Experiment(
    "fig-5.4",
    "Fronts of energy and utility of 1000 tasks on 30 machines (data set 2), by seeds and iterations",
    "Friese 5.6",
    f"{_STAND_IN}; {_MEASURED}; {_LONG.format('8 min')}",
    "fronts-by-seeds",
    (
        Claim(
            "5.2",
            "all populations converge towards the same front",
            "fig. 5.4",
            ordering(lambda runs: _narrowing(runs, SHOWN, PANELS_2, 0.5)),
            "read as: the best of the five is less than half as far ahead of the worst in the last panel as in the "
            "first",
        ),
        Claim(
            "5.6",
            "after few iterations the population with Min Energy has the least energy, that with Min-Min the most "
            "utility",
            "top panels of fig. 5.4",
            in_each(_ENDS, " %", "most"),
            "read as: at each end of the fronts, and in each of both panels, beyond most of the other populations of "
            "the figure, because the text says typically",
        ),
        _all_seeds(2, PANELS_2),
    ),
    ends_after(PANELS_2[:2]),
    standing="stand-in",
)

FIG_5_5 = Experiment(
    "fig-5.5",
    "Where the front of 1000 tasks on 30 machines earns the most utility per energy",
    "Friese 5.6",
    f"{_STAND_IN}; the population seeded with Max Utility-per-Energy; {_LONG.format('8 min')}",
    "utility-per-energy",
    (_peak("5.7", (MAX_PER_ENERGY,)),),
    PEAK,
    standing="stand-in",
)

FIG_5_6 = Experiment(
    "fig-5.6",
    "Fronts of energy and utility of 4000 tasks on 30 machines (data set 3), by seeds and iterations",
    "Friese 5.6",
    f"{_STAND_IN}; {_MEASURED}; {_LONG.format('half an hour')}",
    "fronts-by-seeds",
    (
        Claim(
            "5.3",
            "populations with seeds start converging",
            "fig. 5.6",
            ordering(lambda runs: _narrowing(runs, SEEDED, PANELS_3)),
            "read as: the best of the four is less far ahead of the worst in the last panel than in the first",
        ),
        Claim(
            "5.5",
            "populations with seeds dominate the one without",
            "in all cases",
            ordering(_over_random),
            "read as: each has more hypervolume in each panel",
        ),
        _peak("5.7 data set 3", SHOWN),
    ),
    PEAK,
    standing="stand-in",
)
