"""Work as columns: when each task arrives, of which type it is and what completing it is worth."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joulewise.errors import Problem, raise_if_any
from joulewise.model.arrays import Bools, Codes, Floats, Ints, freeze_fields, frozen
from joulewise.model.utility import UtilityShapes
from joulewise.visible import Visible

LATEST_S = 1e12
"""No arrival may be later: beyond it seconds lose the precision that ties rely on."""

_DTYPES = {
    "arrival_s": np.float64,
    "task_type": np.int32,
    "shape": np.int32,
    "scale": np.float64,
    "hold_s": np.float64,
    "stretch": np.float64,
    "rise_s": np.float64,
}


@dataclass(frozen=True, eq=False)
class Tag:
    """A label of each task for records and figures, such as its priority level."""

    names: tuple[str, ...]
    codes: Codes

    def __post_init__(self) -> None:
        freeze_fields(self, {"codes": np.int8})


@dataclass(frozen=True, eq=False)
class Workload(Visible, looks="tasks"):
    """Tasks in order of arrival, with their utility functions and the window in which completions count.

    Task i completed at t is worth `scale[i] * shape(max(0, t - arrival_s[i] - hold_s[i]))`. Completions count
    in the window (start_s, end_s]; what arrives before `start_s` warms the system up. When `is_prorated`, a run
    counts by the share of it that lies in the window instead. A task takes `stretch[i]` times the estimated time
    to compute wherever it runs, which nobody knows before it ends; None stands for 1. In the first `rise_s[i]` seconds
    of its hold the worth of a task rises evenly from nothing; None stands for 0 s, and runs that rise are not prorated.
    Raises InputError with every problem found.
    """

    arrival_s: Floats
    task_type: Ints
    shape: Ints
    scale: Floats
    hold_s: Floats
    shapes: UtilityShapes
    start_s: float = 0.0
    end_s: float = math.inf
    tags: Mapping[str, Tag] = field(default_factory=dict)
    is_prorated: bool = False
    stretch: Floats | None = None
    rise_s: Floats | None = None

    def __post_init__(self) -> None:
        freeze_fields(self, _DTYPES)
        object.__setattr__(self, "tags", MappingProxyType(dict(self.tags)))
        raise_if_any(_length_problems(self))
        raise_if_any(_value_problems(self))

    def __reduce__(self) -> tuple[type[Workload], tuple[object, ...]]:
        columns = (self.arrival_s, self.task_type, self.shape, self.scale, self.hold_s)
        others = (self.start_s, self.end_s, dict(self.tags), self.is_prorated, self.stretch, self.rise_s)
        return (type(self), (*columns, self.shapes, *others))

    @property
    def n_tasks(self) -> int:
        return self.arrival_s.size

    def utility(self, tasks: ArrayLike, completion_at_s: ArrayLike) -> Floats:
        """What these tasks earn when completed at these instants."""
        return np.asarray(self.most_from(tasks, completion_at_s) * self.risen_part(tasks, completion_at_s))

    def most_from(self, tasks: ArrayLike, at_s: ArrayLike) -> Floats:
        """The most that these tasks earn when completed at these instants or later: what they earn once risen."""
        i = np.asarray(tasks)
        after_hold_s = np.asarray(at_s) - self.arrival_s[i] - self.hold_s[i]
        return np.asarray(self.scale[i] * self.shapes.value(self.shape[i], after_hold_s))

    def risen_part(self, tasks: ArrayLike, at_s: ArrayLike) -> Floats:
        """How much of their worth tasks have reached at these instants, from 0 to 1."""
        if self.rise_s is None:
            return np.ones(())
        i = np.asarray(tasks)
        since_s, rise_s = np.asarray(at_s) - self.arrival_s[i], self.rise_s[i]
        is_rising = (since_s < rise_s) & (rise_s > 0)
        return np.where(is_rising, np.maximum(since_s, 0.0), 1.0) / np.where(is_rising, rise_s, 1.0)

    @property
    def peak_at_s(self) -> Floats:
        """When each task has its full worth first."""
        return self.arrival_s if self.rise_s is None else self.arrival_s + self.rise_s

    @cached_property
    def worthless_at_s(self) -> Floats:
        """From when on each task is worth nothing; never, for most whose utility decays."""
        return frozen(self.arrival_s + self.hold_s + self.shapes.worthless_s[self.shape], np.float64)

    @property
    def columns(self) -> dict[str, Floats | Ints]:
        """What there is of each task, by name."""
        return {name: getattr(self, name) for name in _DTYPES if getattr(self, name) is not None}

    def some(self, tasks: ArrayLike, arrival_s: ArrayLike | None = None) -> Workload:
        """The workload of these tasks alone, with other arrivals if there are any."""
        i = np.asarray(tasks)
        columns: dict[str, Any] = {name: column[i] for name, column in self.columns.items()}
        columns |= {} if arrival_s is None else {"arrival_s": arrival_s}
        tags = {name: Tag(tag.names, tag.codes[i]) for name, tag in self.tags.items()}
        return replace(self, **columns, tags=tags)

    def in_window(self, at_s: ArrayLike) -> Bools:
        """Whether something at these instants falls in the counted window."""
        at = np.asarray(at_s)
        return np.asarray((at > self.start_s) & (at <= self.end_s))


def _length_problems(work: Workload) -> Iterator[Problem]:
    n = work.arrival_s.size
    if n == 0:
        yield Problem("workload", "found no tasks", "there must be at least one")
    columns = work.columns | {f"tags.{name}": tag.codes for name, tag in work.tags.items()}
    for name, column in columns.items():
        if column.shape != (n,):
            found = f"found {column.size} values"
            yield Problem(f"workload.{name}", found, f"must be one for each of the {n} tasks")
    if not (0 <= work.start_s < work.end_s):
        found = f"found the counted window ({work.start_s:g} s, {work.end_s:g} s]"
        yield Problem("workload", found, "must start at 0 s or later and end after its start")


def _value_problems(work: Workload) -> Iterator[Problem]:
    times = work.arrival_s
    n_shapes = len(work.shapes.names)
    checks = (
        ("arrival_s", times, ~((times >= 0) & (times <= LATEST_S)), f"must be from 0 s to {LATEST_S:g} s"),
        ("task_type", work.task_type, work.task_type < 0, "must be the number of a task type, from 0"),
        (
            "shape",
            work.shape,
            (work.shape < 0) | (work.shape >= n_shapes),
            f"must be the number of a shape, from 0 to {n_shapes - 1}",
        ),
        (
            "scale",
            work.scale,
            ~((work.scale >= 0) & np.isfinite(work.scale)),
            "must be 0 or more, and finite",
        ),
        (
            "hold_s",
            work.hold_s,
            ~((work.hold_s >= 0) & np.isfinite(work.hold_s)),
            "must be 0 s or more, and finite",
        ),
    )
    for name, values, wrong, allowed in checks:
        yield from _row_problems(f"workload.{name}", values, wrong, allowed)
    if work.stretch is not None:
        wrong = ~((work.stretch > 0) & np.isfinite(work.stretch))
        yield from _row_problems("workload.stretch", work.stretch, wrong, "must be above 0, and finite")
    if work.rise_s is not None:
        wrong = ~((work.rise_s >= 0) & (work.rise_s <= work.hold_s))
        yield from _row_problems("workload.rise_s", work.rise_s, wrong, "must be 0 s or more, and end within hold_s")
        if work.is_prorated:
            found = "found runs counted by their share in the window"
            yield Problem("workload.prorated", found, "must count by completion where utility rises", "leave it out")
    falls = np.concatenate(([False], np.diff(times) < 0))
    yield from _row_problems("workload.arrival_s", times, falls, "must be in order of arrival")


def _row_problems(where: str, values: Floats | Ints, wrong: Bools, allowed: str) -> Iterator[Problem]:
    """One problem that names the first wrong task and counts the others."""
    rows = np.flatnonzero(wrong)
    if rows.size:
        more = f" (and {rows.size - 1} more)" if rows.size > 1 else ""
        yield Problem(f"{where}: task {rows[0]}", f"found {values[rows[0]]}{more}", allowed)
