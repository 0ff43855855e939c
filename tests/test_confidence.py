"""Intervals that hold although results are looked at again and again, held against simulated looks."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from joulewise.confidence import CONFIDENCE, error_at_look, looks, share_at_look, student_quantile
from joulewise.study.answers.inference import ALPHA, Spread, paired
from joulewise.study.answers.statistics import Error, at_looks, once

LOOKS = list(islice(looks(), 9))
N_DRAWS = 3_000


def missed(values: NDArray[np.float64], error: Error, n_among: int = 2) -> NDArray[Any]:
    """Whether the interval of some look misses the true mean of zero, along the last axis."""
    found = np.zeros(values.shape[:-1], dtype=bool)
    for n in LOOKS:
        quantile = student_quantile(n, error.chance(n, n_among))
        assert quantile is not None
        seen = values[..., :n]
        found |= np.abs(seen.mean(-1)) > quantile * seen.std(-1, ddof=1) / math.sqrt(n)
    return found


def test_each_look_is_after_half_as_many_trials_more() -> None:
    assert LOOKS == [5, 8, 12, 18, 27, 41, 62, 93, 140]


def test_the_errors_of_all_looks_sum_to_that_of_one_interval() -> None:
    errors = [error_at_look(n) for n in islice(looks(), 40)]
    assert errors == sorted(errors, reverse=True)
    assert 0.97 * (1 - CONFIDENCE) < sum(errors) < 1 - CONFIDENCE
    assert error_at_look(26) == error_at_look(27)  # a look at which a trial failed


@pytest.mark.parametrize("noise", ["normal", "paired"])
def test_plain_intervals_fail_where_they_are_looked_at_again_and_again_and_ours_hold(noise: str) -> None:
    rng = np.random.default_rng(1)
    shape = (N_DRAWS, LOOKS[-1])
    values = rng.normal(size=shape) if noise == "normal" else rng.exponential(size=shape) - rng.exponential(size=shape)
    assert missed(values, once).mean() > 0.15
    assert missed(values, at_looks).mean() < 0.05


def test_noise_that_is_very_skewed_is_beyond_what_intervals_of_few_trials_can_tell() -> None:
    values = np.random.default_rng(1).lognormal(0, 1.5, (N_DRAWS, LOOKS[-1]))
    others = np.random.default_rng(2).lognormal(0, 1.5, values.shape)
    assert missed(values - math.exp(1.5**2 / 2), at_looks).mean() > 0.3  # the limit that the documentation states
    assert missed(values - others, at_looks).mean() < 0.05


def told_apart(values: NDArray[np.float64], error: Error) -> float:
    """How often one of equal settings is told from the one that looks best, at some look."""
    n_settings, found = values.shape[1], np.zeros(values.shape[0], dtype=bool)
    for n in LOOKS:
        seen = values[:, :, :n]
        best = seen.mean(-1).argmax(1)
        behind = seen - np.take_along_axis(seen, best[:, None, None], 1)
        quantile = student_quantile(n, error.chance(n, n_settings))
        assert quantile is not None
        high = behind.mean(-1) + quantile * behind.std(-1, ddof=1) / math.sqrt(n)
        high[np.arange(values.shape[0]), best] = 0.0
        found |= (high < 0).any(1)
    return float(found.mean())


def test_ours_hold_although_the_best_is_chosen_by_what_came_out() -> None:
    values = np.random.default_rng(2).normal(size=(N_DRAWS, 4, LOOKS[-1]))
    assert told_apart(values, once) > 0.4
    assert told_apart(values, Error(lambda n, _n_among: error_at_look(n))) > 0.05  # looks alone are not enough
    assert told_apart(values, at_looks) < 0.05


def test_differences_that_are_compared_hold_although_trials_stopped_when_the_sign_was_known() -> None:
    """The true difference is 0.3 standard deviations, and what is compared are the trials up to where they stopped."""
    values, truth = np.random.default_rng(3).normal(0.3, size=(N_DRAWS, LOOKS[-1])), 0.3
    is_open, n_missed, n_plainly = np.ones(N_DRAWS, bool), 0, 0
    for n in LOOKS:
        seen, look = values[is_open, :n], np.full(is_open.sum(), float(n))
        plain = paired(seen.mean(1), Spread.of_draws(look, seen.std(1, ddof=1)))
        ours = replace(plain, share=share_at_look(n))
        stops = (ours.p() <= ALPHA) | (n == LOOKS[-1])
        off = np.abs(plain.difference - truth)[stops]
        n_missed += int((off > ours.half(CONFIDENCE)[stops]).sum())
        n_plainly += int((off > plain.half(CONFIDENCE)[stops]).sum())
        is_open[np.flatnonzero(is_open)[stops]] = False
    assert not is_open.any()
    assert n_plainly > 0.1 * N_DRAWS
    assert n_missed < 0.05 * N_DRAWS
