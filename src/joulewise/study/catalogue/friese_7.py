"""Experiments of Friese chapter 7: fronts of energy and utility when times and powers are uncertain."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from joulewise.model.arrays import Floats
from joulewise.study.catalogue.experiment import Experiment
from joulewise.study.catalogue.front_measures import DROPPED, OFF, fresh_utility_at
from joulewise.study.catalogue.judging import Claim, Samples, beside, ordering, per_trial, untestable

VARIANT, OBJECTIVE = "variant", "optimise.objective"
PERCENTILES = {VARIANT: "as many generations", OBJECTIVE: "percentile"}
MEAN_TIMES = {VARIANT: "as many generations", OBJECTIVE: "mean-times"}
AS_LONG = {VARIANT: "as long", OBJECTIVE: "mean-times"}
X = (1, 25, 50, 75, 99)
GRID = tuple(range(1, 101))
"""Percent of the reference energy at which fronts are compared."""

_READING = (
    "about 6000 tasks within 4 h at the rates of appendix F on the 100 machines of Friese 2015, chapter 3, with "
    "three P-states; "
    "times and powers are independent gamma distributions, both with coefficients of variation between 0.1 and 1.5, "
    "searched by 64 equally likely points; tasks that would earn less than 0.5 when their turn comes are dropped; "
    "10,000 iterations of 100 chromosomes, seeded by the four policies, mutation probability 0.5 for the text gives "
    "none; ranks by the number of dominators, no archive"
)
_OVERLAP_PERCENT = 5.0
_FALLS = 0.5
_EXPECTED = "the expected-value objectives are one evaluation with mean times and powers, as 7.4 says"
_FRESH = "clouds are 100 fresh samples by exact gamma draws"


def _of(runs: pl.DataFrame, metric: str, percent: int) -> Samples:
    return per_trial(runs, metric, {VARIANT: f"X = {percent}"})


def _plain(runs: pl.DataFrame, metric: str) -> Samples:
    return per_trial(runs, metric, {})


# --- fig. 7.4 and 7.5 --------------------------------------------------------------------------------------------


def _off_centre(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """In standard deviations of the samples, mean over the points of the front."""
    more, less = _plain(runs, "utility_off_sds"), -_plain(runs, "energy_off_sds")
    return [
        ("samples earn more", more),
        ("samples use less", less),
        ("distance of the mean from the marker, beyond one", np.hypot(more, less) - 1),
    ]


_OFF = (("energy", "energy_off_sds", -1), ("utility", "utility_off_sds", 1))


def _moved(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    """How much farther down and to the right in its cloud a marker is at the next X, and how far at both ends."""
    return [
        (f"{name}, X = {after} over {before}", sign * (_of(runs, metric, after) - _of(runs, metric, before)))
        for before, after in pairwise(X)
        for name, metric, sign in _OFF
    ] + [
        (f"{name} at X = {x}, {side}", sign * towards * _of(runs, metric, x))
        for x, side, towards in ((X[0], "up and to the left", -1), (X[-1], "down and to the right", 1))
        for name, metric, sign in _OFF
    ]


# --- fig. 7.6 ----------------------------------------------------------------------------------------------------


def _ahead(runs: pl.DataFrame, rival: Mapping[str, object]) -> tuple[list[tuple[str, Samples]], Samples]:
    """How much more percentiles earn than a rival at the same energy in fresh samples, in percent of its most.

    Means over the first and the second quarter of the energies from where one has points to where the rival earns its
    most, and how far both are apart over the upper half of them.
    """
    ours, theirs = (
        np.stack([per_trial(runs, f"fresh_utility_at:{percent}", where) for percent in GRID])
        for where in (PERCENTILES, rival)
    )
    most, at = theirs.max(axis=0), np.array(GRID)[:, None]
    first, last = at[np.argmax(np.maximum(ours, theirs) > 0, axis=0), 0], at[np.argmax(theirs >= most, axis=0), 0]
    part = 4 * (at - first) / np.maximum(last - first, 1)
    ahead = 100 * (ours - theirs) / most
    quarters = {"first": (part >= 0) & (part <= 1), "second": (part > 1) & (part <= 2)}
    low = [
        (f"percentiles ahead in the {name} quarter", _mean_where(ahead, chosen)) for name, chosen in quarters.items()
    ]
    return low, _mean_where(np.abs(ahead), (part > 2) & (part <= 4))


def _mean_where(values: Floats, chosen: NDArray[np.bool_]) -> Samples:
    """Means along the first axis of what is chosen; 0 where nothing is."""
    return np.asarray(np.where(chosen, values, 0.0).sum(axis=0) / np.maximum(chosen.sum(axis=0), 1))


def _low_energies(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    low, apart = _ahead(runs, MEAN_TIMES)
    return [*low, (f"{_OVERLAP_PERCENT:g} less the distance at high energies", _OVERLAP_PERCENT - apart)]


def _low_energies_in_time(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    return _ahead(runs, AS_LONG)[0]


def _times(runs: pl.DataFrame) -> list[Samples]:
    return [per_trial(runs, "solve_s", where) for where in (PERCENTILES, MEAN_TIMES, AS_LONG)]


# --- fig. 7.7 ----------------------------------------------------------------------------------------------------


def _steadier(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    return [
        (f"correlation of {name} below {-_FALLS:g}", -_FALLS - _plain(runs, f"{name}_sd_correlation"))
        for name in ("utility", "energy")
    ]


def _utility_varies_more(runs: pl.DataFrame) -> list[tuple[str, Samples]]:
    utility, energy = (_plain(runs, f"{name}_sd_rise_percent") for name in ("utility", "energy"))
    return [("rise of utility's", utility), ("over twice that of energy's", utility - 2 * energy)]


FIG_7_3 = Experiment(
    "fig-7.3",
    "Gamma densities of coefficients of variation 0.1, 1 and 1.5",
    "Friese 7.3.2",
    f"{_READING}; this study stops after 100 iterations, because the figure shows only the distributions",
    "densities",
    (
        Claim(
            "7.2 (shapes)",
            "the distributions reach from near-Gaussian to hyper-exponential",
            "fig. 7.3",
            untestable("follows from the definition of gamma distributions, which the figure draws"),
        ),
    ),
)

FIG_7_4 = Experiment(
    "fig-7.4",
    "Front of energy and utility by mean times and powers, and what becomes of it in 100 samples",
    "Friese 7.4",
    f"{_READING}; {_EXPECTED}; {_FRESH}",
    "fuzzy-front",
    (
        Claim(
            "7.1",
            "by expected values, markers are not in the middle of their samples, which earn more and use less",
            "fig. 7.4",
            ordering(_off_centre, " standard deviations"),
            "read as: in the mean over the front, samples earn more and use less than the marker says, and their mean "
            "is more than one standard deviation away from it",
        ),
    ),
    OFF,
)

FIG_7_5 = Experiment(
    "fig-7.5",
    "Fronts of energy and utility by percentiles of 100 samples, and where fresh samples lie",
    "Friese 7.4",
    f"{_READING}; N = 100, the same samples for all candidates; percentiles of utility and energy each by itself; "
    f"{_FRESH}; all 10,000 iterations, on a GPU or in about a quarter of an hour for each run on a core",
    "fuzzy-front",
    (
        Claim(
            "7.2",
            "X moves markers from the upper left of their samples (X = 1) to the lower right (X = 99)",
            "X = 1, 25, 50, 75, 99",
            ordering(_moved, " standard deviations"),
            "both objectives, from each X to the next, in the mean over the front; percentiles of a sample are "
            "ordered so by definition",
            "constructed",
        ),
    ),
    OFF,
)

FIG_7_6 = Experiment(
    "fig-7.6",
    "Fronts by the 50th percentiles and by mean times in fresh samples, after as many iterations and as much time",
    "Friese 7.4",
    f"{_READING}; {_EXPECTED}; {_FRESH}; a front's curve is the most mean utility of its points up to an energy; as "
    "long: 150,000 iterations, because an iteration with 100 samples takes about 15 times as long on a core (on a GPU, "
    "where samples cost little, this gives mean times far more time)",
    "fuzzy-fronts-compared",
    (
        Claim(
            "7.3",
            "after as many iterations percentiles dominate at low energies, where at high ones both overlap",
            "fig. 7.6",
            ordering(_low_energies, " % of the most utility"),
            "low are the first two quarters of the energies from where one has points to where mean times earn the "
            f"most, each on average; overlap is read as: less than {_OVERLAP_PERCENT:g} % of the most utility apart on "
            "average",
        ),
        Claim(
            "7.3 (15 times the iterations)",
            "percentiles dominate at low energies over mean times that search 15 times as many iterations, too",
            "not published: a fairer comparison, the text says",
            ordering(_low_energies_in_time, " % of the most utility"),
            "which takes a core about as long; how long each took here is shown at 7.4",
            "ours",
        ),
        Claim(
            "7.4",
            "10,000 iterations take over 100 h with percentiles and under 2 h with expected values",
            "100 h / 2 h",
            beside(_times, " s"),
            "a time of the authors' computer; ours is that of this one: percentiles / mean times / mean times, as long",
        ),
    ),
    {f"fresh_utility_at:{percent}": fresh_utility_at(percent) for percent in GRID},
)

FIG_7_7 = Experiment(
    "fig-7.7",
    "How much utility and energy vary along the front by mean times, and the tasks dropped",
    "Friese 7.4",
    f"{_READING}; {_EXPECTED}; {_FRESH}",
    "spread-of-points",
    (
        Claim(
            "7.5",
            "assignments that drop more tasks vary less",
            "fig. 7.7",
            ordering(_steadier, " (rank correlation)"),
            "read as: along the front, both standard deviations fall with the number of tasks dropped, with rank "
            f"correlations below {-_FALLS:g}",
        ),
        Claim(
            "7.6",
            "as fewer tasks are dropped, utility's variation grows much more than energy's",
            "fig. 7.7",
            ordering(_utility_varies_more, " points"),
            "standard deviations in percent of the most utility and of the least energy of the front, as in the "
            "figure; the quarter of the points that drop the fewest against the quarter that drop the most; much "
            "more is read as twice as much",
        ),
    ),
    DROPPED,
)
