"""Utility functions from priority, urgency and utility class (Friese 2.2.1, 2.6.2, app. B-D)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from joulewise.errors import Problem, raise_if_any, unknown_name
from joulewise.model import Segment, Shape, System, Tag, UtilityShapes, Workload
from joulewise.model.arrays import Codes, Floats, Ints
from joulewise.rng import generator
from joulewise.worlds.parameters import broken_rules, explained, is_not_negative, is_positive

PRIORITIES = ("critical", "high", "medium", "low")
URGENCIES = ("extreme", "high", "medium", "low")

_SECONDS_PER_MIN = 60.0


class Interval(NamedTuple):
    """One interval of a utility class: when it starts after the first one, and how the utility falls."""

    start_min: float
    percent: float
    decay_modifier: float


UTILITY_CLASSES: dict[str, tuple[Interval, ...]] = {
    "A": (
        Interval(0, 100, 1.1), Interval(5, 60, 1.15), Interval(10, 30, 1.2),
        Interval(20, 20, 1.1), Interval(30, 10, 1.2), Interval(10_000, 0, 10),
    ),
    "B": (
        Interval(0, 100, 0.9), Interval(7, 50, 0.9), Interval(15, 25, 0.9),
        Interval(22.5, 12, 0.9), Interval(30, 5, 0.9), Interval(10_000, 0, 10),
    ),
    "C": (
        Interval(0, 100, 0.9), Interval(10, 75, 0.85), Interval(20, 50, 0.85),
        Interval(30, 25, 0.8), Interval(40, 12, 0.8), Interval(10_000, 0, 10),
    ),
    "D": (
        Interval(0, 100, 1.2), Interval(12.5, 80, 1.1), Interval(25, 66, 1.1),
        Interval(37, 33, 0.9), Interval(50, 11, 0.9), Interval(10_000, 0, 10),
    ),
}  # fmt: skip
"""The intervals after the first one (table C.1)."""

MOST_VARIATIONS = 30
"""Of each utility class: together they are fewer than 128, as many as a tag has room for."""

_VARIATION = (0.8, 1.25)
"""Between which factors the times, the percentages' logarithms and the decays of a variation are drawn."""


@dataclass(frozen=True)
class UtilityParameters:
    """What the levels mean and how often they occur; the defaults are the published ones.

    Raises InputError with every problem found.
    """

    priority_values: tuple[float, ...] = explained(
        (8.0, 4.0, 2.0, 1.0), "maximum utility of critical, high, medium and low priority"
    )
    decay_per_min: tuple[float, ...] = explained(
        (0.6, 0.2, 0.1, 0.01), "decay rate of extreme, high, medium and low urgency, per minute"
    )
    first_interval: tuple[float, ...] = explained(
        (0.8, 0.9, 1.0, 1.1),
        "how long the utility stays at its maximum, by urgency, in mean execution times of the task type",
    )
    priority_urgency_percent: tuple[tuple[float, ...], ...] = explained(
        ((2.0, 2.0, 0.05, 0.0), (3.45, 5.0, 1.5, 3.0), (0.0, 10.0, 10.0, 10.0), (0.0, 0.0, 20.0, 33.0)),
        "percent of the tasks of each priority (row) and urgency (column)",
    )
    utility_classes: tuple[str, ...] = explained(("A", "B", "C", "D"), "the utility classes that occur, each as often")
    class_variations: int = explained(
        0,
        "number of variations that take the place of each utility class, always the same ones; 5 make 20 classes "
        "of A to D",
    )

    def __post_init__(self) -> None:
        raise_if_any(utility_problems(self))

    @property
    def intervals(self) -> dict[str, tuple[Interval, ...]]:
        """The utility classes that occur, by name, with their variations: those of A are A1, A2, ..."""
        if self.class_variations == 0:
            return {name: UTILITY_CLASSES[name] for name in self.utility_classes}
        numbers = range(1, self.class_variations + 1)
        return {f"{name}{number}": _varied(name, number) for name in self.utility_classes for number in numbers}


class Levels(NamedTuple):
    """Priority, urgency and utility class of each task, as positions in their tables."""

    priority: Codes
    urgency: Codes
    utility_class: Codes


def _varied(name: str, number: int) -> tuple[Interval, ...]:
    """A utility class drawn around a published one; how it falls from 100 % to 0 % over time stays in order."""
    stretch, power, decay = generator(number, "utility class", name).uniform(*_VARIATION, 3).tolist()
    first, *later, last = UTILITY_CLASSES[name]
    return (
        first._replace(decay_modifier=first.decay_modifier * decay),
        *(Interval(i.start_min * stretch, 100 * (i.percent / 100) ** power, i.decay_modifier * decay) for i in later),
        last,
    )


def utility_shapes(parameters: UtilityParameters) -> UtilityShapes:
    """One shape of maximum 1 for each (urgency, utility class), classes varying fastest.

    In an interval the value decays from its own percentage towards that of the next one, and jumps there when
    the next one starts (eq. 1).
    """
    return UtilityShapes.of(
        [
            Shape(f"{urgency}-{name}", _segments(intervals, decay_per_min))
            for urgency, decay_per_min in zip(URGENCIES, parameters.decay_per_min, strict=True)
            for name, intervals in parameters.intervals.items()
        ]
    )


def _segments(intervals: tuple[Interval, ...], decay_per_min: float) -> tuple[Segment, ...]:
    later_percents = [interval.percent for interval in intervals[1:]] + [0.0]
    return tuple(
        Segment(
            start_s=interval.start_min * _SECONDS_PER_MIN,
            level=later / 100,
            span=(interval.percent - later) / 100,
            rate_per_s=interval.decay_modifier * decay_per_min / _SECONDS_PER_MIN,
        )
        for interval, later in zip(intervals, later_percents, strict=True)
    )


def draw_levels(parameters: UtilityParameters, stream: np.random.Generator, n_tasks: int) -> Levels:
    """Priority and urgency from their joint distribution (table D.1), the utility class uniformly."""
    percent = np.array(parameters.priority_urgency_percent).ravel()
    pair = drawn_by_weight(stream, percent, n_tasks)
    utility_class = stream.integers(len(parameters.intervals), size=n_tasks, dtype=np.int8)
    return Levels(pair // len(URGENCIES), pair % len(URGENCIES), utility_class)


def drawn_by_weight(stream: np.random.Generator, weights: Floats, n: int) -> Codes:
    """Positions drawn in proportion to the weights; one of weight 0 is never drawn."""
    edges = np.cumsum(weights)
    return np.searchsorted(edges / edges[-1], stream.random(n), side="right").astype(np.int8)


def workload_of_levels(
    arrival_s: Floats,
    task_type: Ints,
    levels: Levels,
    system: System,
    parameters: UtilityParameters,
    start_s: float = 0.0,
    end_s: float = math.inf,
) -> Workload:
    """The workload of tasks described by levels, with a tag for each; completions count in (start_s, end_s].

    The first interval is the urgency's multiple of the task type's mean time in P-state 0 (app. B).
    """
    mean_s = system.mean_etc_s[task_type]
    return workload_of_times(arrival_s, task_type, levels, mean_s, parameters, start_s, end_s)


def workload_of_times(
    arrival_s: Floats,
    task_type: Ints,
    levels: Levels,
    mean_s: Floats,
    parameters: UtilityParameters,
    start_s: float = 0.0,
    end_s: float = math.inf,
) -> Workload:
    """The workload of tasks described by levels, where the first interval is a multiple of a time for each task."""
    classes = tuple(parameters.intervals)
    names = {"priority": PRIORITIES, "urgency": URGENCIES, "utility_class": classes}
    return Workload(
        arrival_s=arrival_s,
        task_type=task_type,
        shape=levels.urgency.astype(np.int32) * len(classes) + levels.utility_class,
        scale=np.array(parameters.priority_values)[levels.priority],
        hold_s=np.array(parameters.first_interval)[levels.urgency] * mean_s,
        shapes=utility_shapes(parameters),
        start_s=start_s,
        end_s=end_s,
        tags={name: Tag(names[name], codes) for name, codes in levels._asdict().items()},
    )


def with_rise(workload: Workload, rise_s: Floats) -> Workload:
    """The same tasks, with utilities that rise for so long first; what was their hold follows."""
    return replace(workload, rise_s=rise_s, hold_s=rise_s + workload.hold_s)


def utility_problems(p: UtilityParameters) -> Iterator[Problem]:
    """What is wrong with the levels and their table."""
    n, m = len(PRIORITIES), len(URGENCIES)
    by_priority = f"must be {n} values, for {', '.join(PRIORITIES)}"
    by_urgency = f"must be {m} values, for {', '.join(URGENCIES)}"
    percents = [percent for row in p.priority_urgency_percent for percent in row]
    shape = [len(row) for row in p.priority_urgency_percent]
    sums_to_100 = is_not_negative(*percents) and math.isclose(sum(percents), 100.0, abs_tol=1e-6)
    rules = (
        ("priority_values", len(p.priority_values) == n, by_priority),
        ("priority_values", is_positive(*p.priority_values), "must be above 0"),
        ("decay_per_min", len(p.decay_per_min) == m, by_urgency),
        ("decay_per_min", is_not_negative(*p.decay_per_min), "must be 0 or more per minute"),
        ("first_interval", len(p.first_interval) == m, by_urgency),
        ("first_interval", is_not_negative(*p.first_interval), "must be 0 or more"),
        ("priority_urgency_percent", shape == [m] * n, f"must be {n} rows (priorities) of {m} (urgencies)"),
        ("priority_urgency_percent", sums_to_100, "must be 0 or more each and sum to 100"),
        (
            "utility_classes",
            0 < len(p.utility_classes) == len(set(p.utility_classes)),
            "must be names, each once",
        ),
        (
            "class_variations",
            0 <= p.class_variations <= MOST_VARIATIONS,
            f"must be from 0 (the classes themselves) to {MOST_VARIATIONS}",
        ),
    )
    yield from broken_rules("workload", p, rules)
    for name in p.utility_classes:
        if name not in UTILITY_CLASSES:
            yield unknown_name("workload.utility_classes", name, UTILITY_CLASSES)
