"""How the rule of verdicts behaves: the chance of each verdict by what is true and by the number of trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import polars as pl

from joulewise.confidence import student_quantile
from joulewise.model.arrays import Floats
from joulewise.verdicts import LEAST_TRIALS, SILENT, VERDICTS, IntervalEnds, of_number, of_positive

NUMBER, ORDERING = "a number", "an ordering of ten pairs"
TRIALS = (LEAST_TRIALS, 12, 24, 48)
DEVIATION_PERCENT = 5.0
N_PAIRS = 10
N_DRAWS = 2000
_DISTANCES_PERCENT = tuple(np.arange(0.0, 15.01, 0.5))
_DIFFERENCES = tuple(np.arange(-0.5, 2.01, 0.1))


def characteristics(n_draws: int = N_DRAWS) -> pl.DataFrame:
    """One row per rule, number of trials, true distance and verdict: its chance in percent over draws of normal noise.

    The distance of a number is in percent of the published one, and a trial deviates by 5 % of it; that of an ordering
    is the difference of all its pairs, in standard deviations of a trial.
    """
    rows = [
        (rule, n_trials, distance, verdict, 100 * chances[verdict] / n_draws)
        for n_trials in TRIALS
        for rule, distance, chances in (*_of_numbers(n_trials, n_draws), *_of_orderings(n_trials, n_draws))
        for verdict in VERDICTS
        if verdict not in ("not judged", *SILENT)
    ]
    return pl.DataFrame(rows, ["rule", "trials", "distance", "verdict", "chance_percent"], orient="row")


def _of_numbers(n_trials: int, n_draws: int) -> Iterator[tuple[str, float, Counter[str]]]:
    noise = np.random.default_rng(n_trials).normal(0.0, DEVIATION_PERCENT, (n_draws, n_trials))
    ends = _ends(noise)
    for distance in _DISTANCES_PERCENT:
        shifted = (IntervalEnds(100 + distance + low, 100 + distance + high) for low, high in ends)
        yield NUMBER, float(distance), Counter(of_number(100.0, each) for each in shifted)


def _of_orderings(n_trials: int, n_draws: int) -> Iterator[tuple[str, float, Counter[str]]]:
    ends = _ends(np.random.default_rng(n_trials).normal(0.0, 1.0, (n_draws, N_PAIRS, n_trials)))
    for difference in _DIFFERENCES:
        verdicts = (
            of_positive([IntervalEnds(*pair) for pair in several])[1] for several in (ends + difference).tolist()
        )
        yield ORDERING, float(difference), Counter(verdicts)


def _ends(samples: Floats) -> Floats:
    """Both ends of the 95 % intervals of means along the last axis."""
    n = samples.shape[-1]
    quantile = student_quantile(n)
    assert quantile is not None
    mean, half = samples.mean(axis=-1), quantile * samples.std(axis=-1, ddof=1) / n**0.5
    return np.stack([mean - half, mean + half], axis=-1)
