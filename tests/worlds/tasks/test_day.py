"""Workloads of days: counts, seeds, days after each other, and what is refused."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.model import System
from joulewise.worlds.environment import SystemParameters, generate_system
from joulewise.worlds.rates import is_special
from joulewise.worlds.tasks.day import WorkloadParameters, generate_days, generate_workload

DAY_S = 86_400.0
PUBLISHED = WorkloadParameters()
SEEDS = st.integers(0, 2**32)


@pytest.fixture(scope="module")
def system() -> System:
    return generate_system(SystemParameters(), 0, 0)


def test_stepping_loses_a_little_and_never_waits_beyond_the_cap(system: System) -> None:
    parameters = replace(PUBLISHED, arrivals="stepping", tasks_per_day=50_000.0)
    workloads = [generate_workload(parameters, system, 0, trial) for trial in range(5)]
    n_counted = np.mean([work.in_window(work.arrival_s).sum() for work in workloads])
    assert 0.985 * 50_000 < n_counted < 50_000
    own_s = workloads[0].arrival_s[workloads[0].task_type == 0]
    assert np.diff(own_s).max() <= 1728.0 + 1e-6


def test_published_day(system: System) -> None:
    work = generate_workload(PUBLISHED, system, 0, 0)
    assert (work.start_s, work.end_s) == (7200, 93_600)
    assert (np.diff(work.arrival_s) >= 0).all()
    assert work.arrival_s[0] >= 0
    assert work.arrival_s[-1] < 93_600
    assert work.n_tasks == pytest.approx(33_000 * 26 / 24, rel=0.03)
    assert set(work.tags) == {"priority", "urgency", "utility_class"}


def test_tasks_are_worth_more_or_less_by_the_hour_at_which_they_arrive(system: System) -> None:
    """Hours count from the start of the counted day, so that two hours of warm-up are the last two of a day."""
    plain = generate_workload(PUBLISHED, system, 3, 0)
    work = generate_workload(replace(PUBLISHED, utility_by_hour=tuple(range(1, 25))), system, 3, 0)
    hour = np.floor((plain.arrival_s + 22 * 3600) / 3600) % 24
    np.testing.assert_array_equal(work.scale, plain.scale * (1 + hour))
    np.testing.assert_array_equal(work.arrival_s, plain.arrival_s)


def test_a_share_of_tasks_rises_first(system: System) -> None:
    """The rise comes before the first interval, and changes nothing else of the day."""
    plain = generate_workload(PUBLISHED, system, 3, 0)
    work = generate_workload(replace(PUBLISHED, rising_share=0.3, rise=1.5), system, 3, 0)
    assert plain.rise_s is None
    assert work.rise_s is not None
    rises = work.rise_s > 0
    assert rises.mean() == pytest.approx(0.3, abs=0.01)
    np.testing.assert_array_equal(work.rise_s[rises], 1.5 * system.mean_etc_s[work.task_type[rises]])
    np.testing.assert_array_equal(work.hold_s, work.rise_s + plain.hold_s)
    for name in ("arrival_s", "task_type", "shape", "scale"):
        np.testing.assert_array_equal(getattr(work, name), getattr(plain, name))
    days = list(generate_days(replace(PUBLISHED, rising_share=0.3, days=2), system, 3, 0))
    both = generate_workload(replace(PUBLISHED, rising_share=0.3, days=2), system, 3, 0)
    np.testing.assert_array_equal(np.concatenate([day.columns["rise_s"] for day in days]), both.columns["rise_s"])


def test_special_types_are_those_a_special_machine_can_run(system: System) -> None:
    assert is_special(system).tolist() == [True] * 17 + [False] * 83
    plain = System(system.task_types, system.machine_types, system.counts, system.etc_s)
    assert not is_special(plain).any()


def test_same_seed_same_workload(system: System) -> None:
    one, same, other = (generate_workload(PUBLISHED, system, 5, trial) for trial in (0, 0, 1))
    for name in ("arrival_s", "task_type", "shape", "scale", "hold_s"):
        assert np.array_equal(getattr(one, name), getattr(same, name))
    assert not np.array_equal(one.arrival_s[:100], other.arrival_s[:100])


@pytest.mark.parametrize(
    ("changes", "wheres"),
    [
        ({"tasks_per_day": 0.0}, ["tasks_per_day"]),
        ({"tasks_per_day": 1e12}, ["tasks_per_day"]),
        ({"tasks_per_day": float("nan")}, ["tasks_per_day", "tasks_per_day"]),
        ({"warm_up_s": -1.0, "day_s": 0.0, "step_cap_s": 0.0}, ["warm_up_s", "day_s", "step_cap_s"]),
        ({"burst": "normalized"}, ["burst"]),
        ({"rising_share": 1.5, "rise": -1.0}, ["rising_share", "rise"]),
        ({"rising_share": 0.5, "prorated": True}, ["rising_share"]),
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
