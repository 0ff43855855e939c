"""Arrival rates: periodic patterns, rates kept, stepping against a scalar twin."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.model.arrays import Bools
from joulewise.rng import generator
from joulewise.worlds.rates import DailyLoad, RatePatterns, rate_patterns, step_along, thin

DAY_S = 86_400.0
PUBLISHED = DailyLoad(33_000.0, DAY_S)
SEEDS = st.integers(0, 2**32)


def some_special(n: int, n_special: int) -> Bools:
    return np.arange(n) < n_special


def patterns_of(load: DailyLoad, seed: int, n: int = 12, n_special: int = 5) -> RatePatterns:
    return rate_patterns(load, some_special(n, n_special), generator(seed, "rates"))


def factors(patterns: RatePatterns, task_type: int, at_s: Any) -> Any:
    return patterns.factor(np.full(np.shape(at_s), task_type, dtype=np.int32), np.asarray(at_s))


@given(seed=SEEDS, day_s=st.sampled_from([DAY_S, 10_000.0, 100_000.0]))
def test_patterns_repeat_every_day_and_stay_below_their_peak(seed: int, day_s: float) -> None:
    patterns = patterns_of(PUBLISHED._replace(day_s=day_s), seed)
    at_s = np.linspace(1.0, day_s, 500, endpoint=False)
    for task_type, peak in enumerate(patterns.peak):
        today = factors(patterns, task_type, at_s)
        assert factors(patterns, task_type, at_s + day_s) == pytest.approx(today, abs=1e-6)
        assert (today <= peak * (1 + 1e-12)).all()
        assert (today > 0).all()


@given(seed=SEEDS)
def test_normalised_patterns_average_to_the_mean_rate(seed: int) -> None:
    patterns = patterns_of(PUBLISHED, seed)
    at_s = (np.arange(100_000) + 0.5) * (DAY_S / 100_000)
    for task_type in range(12):
        assert factors(patterns, task_type, at_s).mean() == pytest.approx(1.0, abs=4e-4)


@given(seed=SEEDS)
def test_literal_bursts_are_the_published_ones(seed: int) -> None:
    patterns = patterns_of(PUBLISHED._replace(burst="literal"), seed)
    for task_type in range(5):
        own = patterns.step_task_type == task_type
        starts, factor = patterns.step_start_s[own], patterns.step_factor[own]
        lengths = np.diff(starts)
        assert starts[0] == 0
        assert ((factor[::2] >= 0.5) & (factor[::2] <= 0.75)).all()
        assert ((factor[1::2] >= 1.25) & (factor[1::2] <= 1.5)).all()
        assert ((lengths[::2] >= 3 * 3600 - 1e-6) & (lengths[::2] <= 5 * 3600 + 1e-6)).all()
        assert ((lengths[1::2] >= 1800 - 1e-6) & (lengths[1::2] <= 5400 + 1e-6)).all()
        assert DAY_S - starts[-1] <= 5 * 3600


@given(seed=SEEDS, n_special=st.integers(0, 12))
def test_as_many_tasks_arrive_with_literal_bursts(seed: int, n_special: int) -> None:
    """General-purpose types make up for what the factors of special-purpose ones take away, all by one factor."""
    normalised, literal = (
        patterns_of(PUBLISHED._replace(burst=burst), seed, n_special=n_special) for burst in ("normalised", "literal")
    )
    task_type = np.repeat(np.arange(12, dtype=np.int32), 20_000)
    at_s = np.tile((np.arange(20_000) + 0.5) * (DAY_S / 20_000), 12)
    arriving = literal.mean_per_s * literal.factor(task_type, at_s).reshape(12, 20_000).mean(axis=1)
    assert arriving.sum() == pytest.approx(normalised.mean_per_s.sum(), rel=1e-3)
    ratio = literal.mean_per_s / normalised.mean_per_s
    assert ratio == pytest.approx(np.full(12, ratio[0]))
    assert ratio[0] >= 1 - 1e-12


ODD_DAYS = st.floats(0.01, 1e7) | st.sampled_from([3960.0, 100.1, 0.1, 86_399.9, 1e-3, 7 * 3600.1, 12_600.3])


@given(seed=SEEDS, day_s=ODD_DAYS, n_special=st.sampled_from([0, 17, 100]))
def test_any_length_of_the_day_keeps_every_type_and_its_rate(seed: int, day_s: float, n_special: int) -> None:
    patterns = patterns_of(PUBLISHED._replace(day_s=day_s), seed, n=100, n_special=n_special)
    task_type = np.repeat(np.arange(100, dtype=np.int32), 4000)
    at_s = np.tile((np.arange(4000) + 0.5) * (day_s / 4000), 100)
    factor = patterns.factor(task_type, at_s).reshape(100, 4000)
    assert factor.mean(axis=1) == pytest.approx(np.ones(100), abs=0.02)
    assert (factor <= patterns.peak[:, None] * (1 + 1e-12)).all()
    drawn, _ = thin(patterns, 0.0, day_s, generator(seed, "arrivals"))
    counts = np.bincount(drawn, minlength=100)
    assert counts == pytest.approx(patterns.mean_per_s * day_s, abs=8 * math.sqrt(330))


@given(day_s=ODD_DAYS)
def test_the_ends_of_a_day_belong_to_their_own_type(day_s: float) -> None:
    patterns = patterns_of(PUBLISHED._replace(day_s=day_s), 0, n=100, n_special=50)
    types = np.arange(100, dtype=np.int32)
    first = np.searchsorted(patterns.step_task_type, types)
    last = np.searchsorted(patterns.step_task_type, types, side="right") - 1
    plain = replace(patterns, amplitude=np.zeros(100))
    assert np.array_equal(plain.factor(types, np.zeros(100)), patterns.step_factor[first])
    just_before = np.full(100, np.nextafter(day_s, 0))
    assert np.array_equal(plain.factor(types, just_before), patterns.step_factor[last])


def test_general_types_are_sinusoidal_with_whole_cycles() -> None:
    patterns = patterns_of(PUBLISHED, 0, n=400, n_special=0)
    assert set(patterns.cycles) == set(range(1, 25))
    assert patterns.amplitude.min() >= 0.25
    assert patterns.amplitude.max() <= 0.9
    assert (patterns.step_factor == 1).all()


def test_mean_tasks_of_a_type_have_a_tenth_of_their_mean_as_variance() -> None:
    patterns = patterns_of(PUBLISHED._replace(tasks_per_day=330 * 20_000), 0, n=20_000)
    tasks = patterns.mean_per_s * DAY_S
    assert tasks.mean() == pytest.approx(330, rel=0.001)
    assert tasks.var() == pytest.approx(33, rel=0.05)


@given(seed=SEEDS)
def test_thinning_keeps_the_rates(seed: int) -> None:
    patterns = patterns_of(PUBLISHED._replace(tasks_per_day=200_000.0), seed, n=4, n_special=2)
    task_type, at_s = thin(patterns, 0.0, DAY_S, generator(seed, "arrivals"))
    edges_s = np.linspace(0, DAY_S, 49)
    for own in range(4):
        counts, _ = np.histogram(at_s[task_type == own], edges_s)
        fine_s = (np.arange(48 * 200) + 0.5) * (DAY_S / (48 * 200))
        expected = factors(patterns, own, fine_s).reshape(48, 200).mean(axis=1) * patterns.mean_per_s[own] * 1800
        chi_square = ((counts - expected) ** 2 / expected).sum()
        assert chi_square < 48 + 7 * math.sqrt(2 * 48)


@given(seed=SEEDS, cap_s=st.sampled_from([50.0, 1728.0, 1e9]))
def test_stepping_equals_a_scalar_walk(seed: int, cap_s: float) -> None:
    patterns = patterns_of(PUBLISHED._replace(tasks_per_day=300.0), seed, n=1, n_special=seed % 2)
    task_type, at_s = step_along(patterns, 0.0, DAY_S, cap_s, generator(seed, "arrivals"))
    stream, now_s, expected = generator(seed, "arrivals"), 0.0, []
    while True:
        rate_per_s = patterns.mean_per_s[0] * factors(patterns, 0, [now_s])[0]
        now_s += min(stream.standard_exponential() / rate_per_s, cap_s)
        if now_s >= DAY_S:
            break
        expected.append(now_s)
    assert (task_type == 0).all()
    assert at_s == pytest.approx(expected)


@pytest.mark.parametrize("arrivals", ["thinning", "stepping"])
def test_a_type_without_a_rate_never_arrives(arrivals: str) -> None:
    patterns = replace(patterns_of(PUBLISHED, 0), mean_per_s=np.zeros(12))
    stream = generator(0, "arrivals")
    drawn = (
        thin(patterns, 0.0, DAY_S, stream) if arrivals == "thinning" else step_along(patterns, 0.0, DAY_S, 10.0, stream)
    )
    assert drawn[0].size == 0


def test_the_load_changes_neither_system_nor_patterns() -> None:
    low, high = (patterns_of(PUBLISHED._replace(tasks_per_day=load), 3) for load in (1e3, 1e5))
    for name in ("amplitude", "cycles", "phase", "step_task_type", "step_start_s", "step_factor"):
        assert np.array_equal(getattr(low, name), getattr(high, name))
    assert high.mean_per_s.mean() == pytest.approx(100 * low.mean_per_s.mean(), rel=0.5)
