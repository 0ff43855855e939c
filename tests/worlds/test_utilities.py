"""Utility classes, urgency, priority: against eq. 1 written out, and their frequencies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.model import System
from joulewise.rng import generator
from joulewise.worlds.utilities import (
    PRIORITIES,
    URGENCIES,
    UTILITY_CLASSES,
    Levels,
    UtilityParameters,
    draw_levels,
    utility_shapes,
    workload_of_levels,
)

PUBLISHED = UtilityParameters()
SHAPES = utility_shapes(PUBLISHED)


def twin(urgency: int, utility_class: str, minutes: float) -> float:
    """Eq. 1 with maximum 1, `minutes` after the first interval, written out."""
    intervals = UTILITY_CLASSES[utility_class]
    k = max(index for index, interval in enumerate(intervals) if interval.start_min <= minutes)
    now = intervals[k].percent / 100
    after = intervals[k + 1].percent / 100 if k + 1 < len(intervals) else 0.0
    decay = intervals[k].decay_modifier * PUBLISHED.decay_per_min[urgency]
    return (now - after) * math.exp(-decay * (minutes - intervals[k].start_min)) + after


@settings(deadline=None)
@given(
    urgency=st.integers(0, 3),
    utility_class=st.sampled_from(sorted(UTILITY_CLASSES)),
    minutes=st.floats(0, 12_000) | st.floats(0, 60),
)
def test_shapes_are_equation_1(urgency: int, utility_class: str, minutes: float) -> None:
    shape = SHAPES.names.index(f"{URGENCIES[urgency]}-{utility_class}")
    assert shape == urgency * 4 + "ABCD".index(utility_class)
    value = SHAPES.value(shape, minutes * 60).item()
    expected = {twin(urgency, utility_class, minutes * (1 + sign * 1e-12)) for sign in (-1, 0, 1)}
    assert any(value == pytest.approx(wanted, abs=1e-9) for wanted in expected)


def test_every_shape_starts_at_1_jumps_at_breakpoints_and_ends_at_0() -> None:
    for shape, name in enumerate(SHAPES.names):
        intervals = UTILITY_CLASSES[name[-1]]
        assert SHAPES.value(shape, 0.0) == pytest.approx(1.0)
        for interval in intervals:
            assert SHAPES.value(shape, interval.start_min * 60) == pytest.approx(interval.percent / 100)
        assert SHAPES.value(shape, 10_000 * 60) == 0.0


def test_published_tables() -> None:
    assert sum(map(sum, PUBLISHED.priority_urgency_percent)) == pytest.approx(100)
    assert [interval.percent for interval in UTILITY_CLASSES["D"]] == [100, 80, 66, 33, 11, 0]
    assert [interval.start_min for interval in UTILITY_CLASSES["B"]] == [0, 7, 15, 22.5, 30, 10_000]


def test_levels_occur_as_often_as_the_table_says() -> None:
    n = 400_000
    levels = draw_levels(PUBLISHED, generator(0, "test"), n)
    for priority, row in enumerate(PUBLISHED.priority_urgency_percent):
        for urgency, percent in enumerate(row):
            count = int(((levels.priority == priority) & (levels.urgency == urgency)).sum())
            share = percent / 100
            assert abs(count - n * share) <= 6 * math.sqrt(n * share * (1 - share))
    assert np.bincount(levels.utility_class) == pytest.approx(n / 4, rel=0.02)


def small_system() -> System:
    etc_s = np.array([[[100.0], [300.0]], [[50.0], [np.inf]]])
    return System(("a", "b"), ("x", "y"), np.array([1, 1]), etc_s)


def test_first_interval_priority_and_tags() -> None:
    codes = np.arange(4, dtype=np.int8)
    levels = Levels(codes, codes, codes)
    workload = workload_of_levels(
        np.zeros(4), np.array([0, 0, 0, 1], dtype=np.int32), levels, small_system(), PUBLISHED
    )
    assert workload.hold_s == pytest.approx([0.8 * 200, 0.9 * 200, 1.0 * 200, 1.1 * 50])
    assert workload.scale.tolist() == [8, 4, 2, 1]
    assert workload.shape.tolist() == [0, 5, 10, 15]
    assert workload.tags["priority"].names == PRIORITIES
    assert workload.utility(0, 160.0) == pytest.approx(8.0)
    assert workload.utility(0, 160.0 + 5 * 60) == pytest.approx(8 * 0.6)


def test_other_priorities_and_fewer_classes() -> None:
    parameters = UtilityParameters(priority_values=(1000, 100, 10, 1), utility_classes=("B", "C"))
    assert len(utility_shapes(parameters).names) == 8
    levels = draw_levels(parameters, generator(0, "test"), 1000)
    task_type = np.zeros(1000, dtype=np.int32)
    workload = workload_of_levels(np.zeros(1000), task_type, levels, small_system(), parameters)
    assert set(workload.scale) <= {1000.0, 100.0, 10.0, 1.0}
    assert workload.tags["utility_class"].names == ("B", "C")
    assert set(workload.tags["utility_class"].codes) == {0, 1}


def test_variations_of_the_classes_are_always_the_same_and_fall_like_them() -> None:
    parameters = UtilityParameters(class_variations=5)
    assert list(parameters.intervals) == [f"{name}{number}" for name in "ABCD" for number in range(1, 6)]
    assert len(set(parameters.intervals.values())) == 20
    assert parameters.intervals == UtilityParameters(class_variations=5).intervals
    fewer = UtilityParameters(class_variations=2, utility_classes=("B",)).intervals
    assert fewer == {name: parameters.intervals[name] for name in ("B1", "B2")}
    for name, intervals in parameters.intervals.items():
        starts, percents = ([interval[k] for interval in intervals] for k in (0, 1))
        assert starts == sorted(set(starts)), name
        assert percents == sorted(set(percents), reverse=True), name
        assert (starts[0], percents[0], starts[-1], percents[-1]) == (0, 100, 10_000, 0)


def test_tasks_are_spread_over_all_variations() -> None:
    parameters = UtilityParameters(class_variations=5)
    levels = draw_levels(parameters, generator(0, "test"), 20_000)
    workload = workload_of_levels(np.zeros(20_000), np.zeros(20_000, np.int32), levels, small_system(), parameters)
    assert np.bincount(levels.utility_class) == pytest.approx([1000] * 20, rel=0.15)
    assert len(workload.shapes.names) == 80
    tag, shape = workload.tags["utility_class"], workload.shape
    names = [workload.shapes.names[code].rpartition("-")[2] for code in shape[:50]]
    assert names == [tag.names[code] for code in tag.codes[:50]]


@pytest.mark.parametrize(
    ("changes", "wheres"),
    [
        ({"priority_values": (1, 2, 3)}, ["priority_values"]),
        ({"priority_values": (8, 4, float("nan"), 1)}, ["priority_values"]),
        ({"decay_per_min": (-1, 0, 0, 0), "first_interval": (1,)}, ["decay_per_min", "first_interval"]),
        ({"priority_urgency_percent": ((100.0,),)}, ["priority_urgency_percent"]),
        ({"priority_urgency_percent": ((25.0,) * 4,) * 4}, ["priority_urgency_percent"]),
        ({"utility_classes": ()}, ["utility_classes"]),
        ({"utility_classes": ("A", "A")}, ["utility_classes"]),
        ({"utility_classes": ("a",)}, ["utility_classes"]),
        ({"class_variations": -1}, ["class_variations"]),
        ({"class_variations": 31}, ["class_variations"]),
    ],
)
def test_bad_parameters_are_all_named(changes: dict[str, Any], wheres: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        UtilityParameters(**changes)
    assert [problem.where for problem in caught.value.problems] == [f"workload.{name}" for name in wheres]
