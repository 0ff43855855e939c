"""Arrival rates and arrivals: periodic patterns, rates kept, stepping against a scalar twin."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.model import System
from joulewise.model.arrays import Bools
from joulewise.rng import generator
from joulewise.worlds.environment import SystemParameters, generate_system
from joulewise.worlds.rates import DailyLoad, RatePatterns, is_special, rate_patterns, step_along, thin
from joulewise.worlds.tasks.day import WorkloadParameters, generate_workload

DAY_S = 86_400.0
PUBLISHED = WorkloadParameters()
SEEDS = st.integers(0, 2**32)
FEW = settings(max_examples=25, deadline=None)


@pytest.fixture(scope="module")
def system() -> System:
    return generate_system(SystemParameters(), 0, 0)


def some_special(n: int, n_special: int) -> Bools:
    return np.arange(n) < n_special


def patterns_of(parameters: WorkloadParameters, seed: int, n: int = 12, n_special: int = 5) -> RatePatterns:
    load = DailyLoad(parameters.tasks_per_day, parameters.day_s, parameters.burst)
    return rate_patterns(load, some_special(n, n_special), generator(seed, "rates"))


def factors(patterns: RatePatterns, task_type: int, at_s: Any) -> Any:
    return patterns.factor(np.full(np.shape(at_s), task_type, dtype=np.int32), np.asarray(at_s))


@FEW
@given(seed=SEEDS, day_s=st.sampled_from([DAY_S, 10_000.0, 100_000.0]))
def test_patterns_repeat_every_day_and_stay_below_their_peak(seed: int, day_s: float) -> None:
    patterns = patterns_of(replace(PUBLISHED, day_s=day_s), seed)
    at_s = np.linspace(1.0, day_s, 500, endpoint=False)
    for task_type, peak in enumerate(patterns.peak):
        today = factors(patterns, task_type, at_s)
        assert factors(patterns, task_type, at_s + day_s) == pytest.approx(today, abs=1e-6)
        assert (today <= peak * (1 + 1e-12)).all()
        assert (today > 0).all()


@FEW
@given(seed=SEEDS)
def test_normalised_patterns_average_to_the_mean_rate(seed: int) -> None:
    patterns = patterns_of(PUBLISHED, seed)
    at_s = (np.arange(100_000) + 0.5) * (DAY_S / 100_000)
    for task_type in range(12):
        assert factors(patterns, task_type, at_s).mean() == pytest.approx(1.0, abs=4e-4)


@FEW
@given(seed=SEEDS)
def test_literal_bursts_are_the_published_ones(seed: int) -> None:
    patterns = patterns_of(replace(PUBLISHED, burst="literal"), seed)
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


ODD_DAYS = st.floats(0.01, 1e7) | st.sampled_from([3960.0, 100.1, 0.1, 86_399.9, 1e-3, 7 * 3600.1, 12_600.3])


@FEW
@given(seed=SEEDS, day_s=ODD_DAYS, n_special=st.sampled_from([0, 17, 100]))
def test_any_length_of_the_day_keeps_every_type_and_its_rate(seed: int, day_s: float, n_special: int) -> None:
    patterns = patterns_of(replace(PUBLISHED, day_s=day_s, warm_up_s=0.0), seed, n=100, n_special=n_special)
    task_type = np.repeat(np.arange(100, dtype=np.int32), 4000)
    at_s = np.tile((np.arange(4000) + 0.5) * (day_s / 4000), 100)
    factor = patterns.factor(task_type, at_s).reshape(100, 4000)
    assert factor.mean(axis=1) == pytest.approx(np.ones(100), abs=0.02)
    assert (factor <= patterns.peak[:, None] * (1 + 1e-12)).all()
    drawn, _ = thin(patterns, 0.0, day_s, generator(seed, "arrivals"))
    counts = np.bincount(drawn, minlength=100)
    assert counts == pytest.approx(patterns.mean_per_s * day_s, abs=8 * math.sqrt(330))


@FEW
@given(day_s=ODD_DAYS)
def test_the_ends_of_a_day_belong_to_their_own_type(day_s: float) -> None:
    patterns = patterns_of(replace(PUBLISHED, day_s=day_s, warm_up_s=0.0), 0, n=100, n_special=50)
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
    patterns = patterns_of(replace(PUBLISHED, tasks_per_day=330 * 20_000), 0, n=20_000)
    tasks = patterns.mean_per_s * DAY_S
    assert tasks.mean() == pytest.approx(330, rel=0.001)
    assert tasks.var() == pytest.approx(33, rel=0.05)


@FEW
@given(seed=SEEDS)
def test_thinning_keeps_the_rates(seed: int) -> None:
    patterns = patterns_of(replace(PUBLISHED, tasks_per_day=200_000.0), seed, n=4, n_special=2)
    task_type, at_s = thin(patterns, 0.0, DAY_S, generator(seed, "arrivals"))
    edges_s = np.linspace(0, DAY_S, 49)
    for own in range(4):
        counts, _ = np.histogram(at_s[task_type == own], edges_s)
        fine_s = (np.arange(48 * 200) + 0.5) * (DAY_S / (48 * 200))
        expected = factors(patterns, own, fine_s).reshape(48, 200).mean(axis=1) * patterns.mean_per_s[own] * 1800
        chi_square = ((counts - expected) ** 2 / expected).sum()
        assert chi_square < 48 + 7 * math.sqrt(2 * 48)


@FEW
@given(seed=SEEDS, cap_s=st.sampled_from([50.0, 1728.0, 1e9]))
def test_stepping_equals_a_scalar_walk(seed: int, cap_s: float) -> None:
    patterns = patterns_of(replace(PUBLISHED, tasks_per_day=300.0), seed, n=1, n_special=seed % 2)
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


def test_stepping_loses_a_little_and_never_waits_beyond_the_cap(system: System) -> None:
    parameters = replace(PUBLISHED, arrivals="stepping", tasks_per_day=50_000.0)
    workloads = [generate_workload(parameters, system, 0, trial) for trial in range(5)]
    n_counted = np.mean([work.in_window(work.arrival_s).sum() for work in workloads])
    assert 0.985 * 50_000 < n_counted < 50_000
    own_s = workloads[0].arrival_s[workloads[0].task_type == 0]
    assert np.diff(own_s).max() <= 1728.0 + 1e-6


@pytest.mark.parametrize("arrivals", ["thinning", "stepping"])
def test_a_type_without_a_rate_never_arrives(arrivals: str) -> None:
    patterns = replace(patterns_of(PUBLISHED, 0), mean_per_s=np.zeros(12))
    stream = generator(0, "arrivals")
    drawn = (
        thin(patterns, 0.0, DAY_S, stream) if arrivals == "thinning" else step_along(patterns, 0.0, DAY_S, 10.0, stream)
    )
    assert drawn[0].size == 0


def test_published_day(system: System) -> None:
    work = generate_workload(PUBLISHED, system, 0, 0)
    assert (work.start_s, work.end_s) == (7200, 93_600)
    assert (np.diff(work.arrival_s) >= 0).all()
    assert work.arrival_s[0] >= 0
    assert work.arrival_s[-1] < 93_600
    assert work.n_tasks == pytest.approx(33_000 * 26 / 24, rel=0.03)
    assert set(work.tags) == {"priority", "urgency", "utility_class"}


def test_special_types_are_those_a_special_machine_can_run(system: System) -> None:
    assert is_special(system).tolist() == [True] * 17 + [False] * 83
    plain = System(system.task_types, system.machine_types, system.counts, system.etc_s)
    assert not is_special(plain).any()


def test_same_seed_same_workload(system: System) -> None:
    one, same, other = (generate_workload(PUBLISHED, system, 5, trial) for trial in (0, 0, 1))
    for name in ("arrival_s", "task_type", "shape", "scale", "hold_s"):
        assert np.array_equal(getattr(one, name), getattr(same, name))
    assert not np.array_equal(one.arrival_s[:100], other.arrival_s[:100])


def test_the_load_changes_neither_system_nor_patterns() -> None:
    low, high = (patterns_of(replace(PUBLISHED, tasks_per_day=load), 3) for load in (1e3, 1e5))
    for name in ("amplitude", "cycles", "phase", "step_task_type", "step_start_s", "step_factor"):
        assert np.array_equal(getattr(low, name), getattr(high, name))
    assert high.mean_per_s.mean() == pytest.approx(100 * low.mean_per_s.mean(), rel=0.5)


@pytest.mark.parametrize(
    ("changes", "wheres"),
    [
        ({"tasks_per_day": 0.0}, ["tasks_per_day"]),
        ({"tasks_per_day": 1e12}, ["tasks_per_day"]),
        ({"tasks_per_day": float("nan")}, ["tasks_per_day", "tasks_per_day"]),
        ({"warm_up_s": -1.0, "day_s": 0.0, "step_cap_s": 0.0}, ["warm_up_s", "day_s", "step_cap_s"]),
        ({"burst": "normalized"}, ["burst"]),
        ({"arrivals": "stepping", "step_cap_s": 1e-9, "warm_up_s": -1.0}, ["warm_up_s", "step_cap"]),
        ({"arrivals": "thining", "decay_per_min": ()}, ["decay_per_min", "arrivals"]),
    ],
)
def test_bad_parameters_are_all_named(changes: dict[str, Any], wheres: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        WorkloadParameters(**changes)
    assert [problem.where for problem in caught.value.problems] == [f"workload.{name}" for name in wheres]


def test_a_cap_that_is_too_short_for_the_task_types_is_refused(system: System) -> None:
    parameters = WorkloadParameters(arrivals="stepping", step_cap_s=0.4)
    with pytest.raises(InputError, match=r"step_cap: found 0.4 s, which makes 23,400,000 tasks or more"):
        generate_workload(parameters, system, 0, 0)


def test_the_cap_does_not_matter_when_thinning(system: System) -> None:
    parameters = WorkloadParameters(tasks_per_day=100.0, step_cap_s=1e-9)
    assert generate_workload(parameters, system, 0, 0).n_tasks > 0


def test_a_typo_gets_the_nearest_choice() -> None:
    with pytest.raises(InputError, match="did you mean 'normalised'"):
        WorkloadParameters(burst="normalized")  # type: ignore[arg-type]


def test_every_parameter_is_explained() -> None:
    assert all(field.metadata["help"] for field in fields(WorkloadParameters))


def test_a_further_day_changes_nothing_of_those_before_it(system: System) -> None:
    parameters = replace(PUBLISHED, tasks_per_day=3000.0)
    one, three = (generate_workload(replace(parameters, days=days), system, 0, 0) for days in (1, 3))
    assert (three.start_s, three.end_s) == (7200.0, 7200.0 + 3 * DAY_S)
    n = one.n_tasks
    for name in ("arrival_s", "task_type", "shape", "scale", "hold_s"):
        assert np.array_equal(getattr(three, name)[:n], getattr(one, name)), name
    assert three.arrival_s[n:].min() >= one.end_s
    by_day = np.histogram(three.arrival_s, three.start_s + DAY_S * np.arange(4))[0]
    assert by_day == pytest.approx(3000, rel=0.1)
    assert three.n_tasks == pytest.approx(replace(parameters, days=3).n_tasks, rel=0.1)


@pytest.mark.parametrize("arrivals", ["thinning", "stepping"])
def test_days_repeat_the_rates_with_fresh_draws(system: System, arrivals: Any) -> None:
    parameters = replace(PUBLISHED, tasks_per_day=3000.0, days=2, warm_up_s=0.0, arrivals=arrivals)
    work = generate_workload(parameters, system, 0, 0)
    first, second = (work.arrival_s[work.arrival_s // DAY_S == day] - day * DAY_S for day in (0, 1))
    assert np.isin(second, first).mean() < 0.5  # the longest steps may coincide


@pytest.mark.parametrize(("days", "words"), [(0, "must be 1 or more"), (100_000, "up to 20,000,000 tasks")])
def test_days_are_counted_and_limited(days: int, words: str) -> None:
    with pytest.raises(InputError, match=words):
        replace(PUBLISHED, days=days)
