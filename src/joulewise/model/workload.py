"""Work as columns: when each task arrives, of which type it is and what completing it is worth."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from joulewise.errors import Problem, raise_if_any
from joulewise.model.arrays import Bools, Codes, Floats, Ints, freeze_fields
from joulewise.model.utility import UtilityShapes

LATEST_S = 1e12
"""No arrival may be later: beyond it seconds lose the precision that ties rely on."""


@dataclass(frozen=True, eq=False)
class Tag:
    """A label of each task for records and figures, such as its priority level."""

    names: tuple[str, ...]
    codes: Codes

    def __post_init__(self) -> None:
        freeze_fields(self, {"codes": np.int8})


@dataclass(frozen=True, eq=False)
class Workload:
    """Tasks in order of arrival, with their utility functions and the window in which completions count.

    Task i completed at t is worth `scale[i] * shape(max(0, t - arrival_s[i] - hold_s[i]))`. Completions count
    in the window (start_s, end_s]; what arrives before `start_s` warms the system up. When `is_prorated`, a run
    counts by the share of it that lies in the window instead. A task takes `stretch[i]` times the estimated time
    to compute wherever it runs, which nobody knows before it ends; None stands for 1.
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

    def __post_init__(self) -> None:
        dtypes = {
            "arrival_s": np.float64,
            "task_type": np.int32,
            "shape": np.int32,
            "scale": np.float64,
            "hold_s": np.float64,
            "stretch": np.float64,
        }
        freeze_fields(self, dtypes)
        object.__setattr__(self, "tags", MappingProxyType(dict(self.tags)))
        raise_if_any(_length_problems(self))
        raise_if_any(_value_problems(self))

    def __reduce__(self) -> tuple[type[Workload], tuple[object, ...]]:
        columns = (self.arrival_s, self.task_type, self.shape, self.scale, self.hold_s)
        window = (self.start_s, self.end_s)
        return (type(self), (*columns, self.shapes, *window, dict(self.tags), self.is_prorated, self.stretch))

    @property
    def n_tasks(self) -> int:
        return self.arrival_s.size

    def utility(self, tasks: ArrayLike, completion_at_s: ArrayLike) -> Floats:
        """What these tasks earn when completed at these instants."""
        i = np.asarray(tasks)
        after_hold_s = np.asarray(completion_at_s) - self.arrival_s[i] - self.hold_s[i]
        return np.asarray(self.scale[i] * self.shapes.value(self.shape[i], after_hold_s))

    def some(self, tasks: ArrayLike) -> Workload:
        """The workload of these tasks alone."""
        i = np.asarray(tasks)
        columns = {name: getattr(self, name)[i] for name in ("arrival_s", "task_type", "shape", "scale", "hold_s")}
        tags = {name: Tag(tag.names, tag.codes[i]) for name, tag in self.tags.items()}
        return replace(self, **columns, tags=tags, stretch=None if self.stretch is None else self.stretch[i])

    def in_window(self, at_s: ArrayLike) -> Bools:
        """Whether something at these instants falls in the counted window."""
        at = np.asarray(at_s)
        return np.asarray((at > self.start_s) & (at <= self.end_s))


def _length_problems(work: Workload) -> Iterator[Problem]:
    n = work.arrival_s.size
    if n == 0:
        yield Problem("workload", "found no tasks", "there must be at least one")
    columns = {name: getattr(work, name) for name in ("task_type", "shape", "scale", "hold_s")}
    columns |= {f"tags.{name}": tag.codes for name, tag in work.tags.items()}
    if work.stretch is not None:
        columns["stretch"] = work.stretch
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
    falls = np.concatenate(([False], np.diff(times) < 0))
    yield from _row_problems("workload.arrival_s", times, falls, "must be in order of arrival")


def _row_problems(where: str, values: Floats | Ints, wrong: Bools, allowed: str) -> Iterator[Problem]:
    """One problem that names the first wrong task and counts the others."""
    rows = np.flatnonzero(wrong)
    if rows.size:
        more = f" (and {rows.size - 1} more)" if rows.size > 1 else ""
        yield Problem(f"{where}: task {rows[0]}", f"found {values[rows[0]]}{more}", allowed)
