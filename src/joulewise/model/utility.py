"""Utility functions as tables: what completing a task is worth, by the time since its arrival.

A *shape* is a non-increasing function of the seconds since the hold ended, made of segments. In the segment
that starts at `start_s` its value is `level + span * exp(-rate * dx) + slope * dx`, dx the seconds since that
start; at a jump the later value holds. A task multiplies its shape by `scale` (its maximum utility) and keeps
the starting value during `hold_s` (Friese, eq. 1 and app. B). Every segment is convex, which bounds rely on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.model.arrays import Counts, Floats, freeze_fields, frozen

_ROUNDING = 1e-12


class Segment(NamedTuple):
    """One piece of a shape, from `start_s` to the next segment's start."""

    start_s: float
    level: float
    span: float = 0.0
    rate_per_s: float = 0.0
    slope_per_s: float = 0.0


class Shape(NamedTuple):
    """A named utility shape; its maximum is usually 1 and is multiplied by a task's scale."""

    name: str
    segments: tuple[Segment, ...]


def constant() -> Shape:
    """Worth the same whenever it is done."""
    return Shape("constant", (Segment(0.0, 1.0),))


def step(deadline_s: float, name: str = "") -> Shape:
    """Worth everything before `deadline_s` seconds after the hold, and nothing from then on."""
    return piecewise([(0.0, 1.0), (deadline_s, 1.0), (deadline_s, 0.0)], name or f"step {deadline_s:g} s")


def linear(duration_s: float, name: str = "") -> Shape:
    """Falls evenly from 1 to 0 in `duration_s` seconds after the hold."""
    return piecewise([(0.0, 1.0), (duration_s, 0.0)], name or f"linear {duration_s:g} s")


def piecewise(points: Sequence[tuple[float, float]], name: str = "piecewise") -> Shape:
    """Straight lines between (seconds after the hold, value) points, constant after the last one.

    Two points at one instant make a jump, after which the second value holds.
    """
    allowed = "needs points (seconds, value) at increasing or equal seconds, the first at 0"
    starts = [x for x, _ in points]
    if not points or starts[0] != 0 or starts != sorted(starts) or not np.isfinite(points).all():
        raise InputError(Problem(f"utility shape {name!r}", f"found the points {list(points)}", allowed))
    segments = [
        Segment(x0, y0, slope_per_s=(y1 - y0) / (x1 - x0)) for (x0, y0), (x1, y1) in pairwise(points) if x1 > x0
    ]
    return Shape(name, (*segments, Segment(*points[-1])))


@dataclass(frozen=True, eq=False)
class UtilityShapes:
    """Many shapes as columns: the segments of shape s are `first[s]` up to `first[s + 1]`."""

    names: tuple[str, ...]
    first: Counts
    start_s: Floats
    level: Floats
    span: Floats
    rate_per_s: Floats
    slope_per_s: Floats

    def __post_init__(self) -> None:
        columns = dict.fromkeys(Segment._fields, np.float64)
        freeze_fields(self, {"first": np.int64, **columns})
        raise_if_any(_table_problems(self))
        raise_if_any(_shape_problems(self))

    @staticmethod
    def of(shapes: Sequence[Shape]) -> UtilityShapes:
        """The table of these shapes, in their order; InputError names every shape that is not one."""
        segments = [segment for shape in shapes for segment in shape.segments]
        first = np.cumsum([0, *(len(shape.segments) for shape in shapes)])
        columns = np.array(segments, dtype=np.float64).reshape(-1, len(Segment._fields)).T
        return UtilityShapes(tuple(shape.name for shape in shapes), first, *columns)

    def value(self, shape: ArrayLike, x_s: ArrayLike) -> Floats:
        """Values of the shapes at x_s seconds after the hold (before it ended: the starting value)."""
        shapes, x = np.broadcast_arrays(np.asarray(shape), np.maximum(np.asarray(x_s, dtype=np.float64), 0.0))
        j, last = self.first[shapes], self.first[shapes + 1] - 1
        following = np.append(self.start_s[1:], np.inf)
        for _ in range(int(np.diff(self.first).max()) - 1):
            j = j + ((j < last) & (x >= following[j]))
        return np.asarray(np.maximum(self._value_in(j, x), self.floor[j]))

    @cached_property
    def floor(self) -> Floats:
        """What each segment never falls below: the start of the next one, or 0; rounding alone could undercut it."""
        following = np.append((self.level + self.span)[1:], 0.0)
        following[self.first[1:] - 1] = 0.0
        return frozen(following, np.float64)

    @cached_property
    def worthless_s(self) -> Floats:
        """How long after the hold each shape is worth nothing from then on; never, for most that decay."""
        last = self.first[1:] - 1
        is_over = self.level[last] + self.span[last] == 0
        return frozen(np.where(is_over, self.start_s[last], np.inf), np.float64)

    def _value_in(self, j: Counts, x_s: Floats) -> Floats:
        """Values at x_s seconds after the hold in the segments j."""
        dx_s = x_s - self.start_s[j]
        decayed = self.span[j] * np.exp(-self.rate_per_s[j] * dx_s)
        return np.asarray(self.level[j] + decayed + self.slope_per_s[j] * dx_s)


def _table_problems(table: UtilityShapes) -> Iterator[Problem]:
    """What is wrong with the table as a whole; shapes can be looked at only when nothing is."""
    first, n_segments = table.first, table.start_s.size
    if first.size != len(table.names) + 1 or first[0] != 0 or first[-1] != n_segments or (np.diff(first) < 1).any():
        yield Problem("utility shapes", f"found segments at {first.tolist()}", "each shape needs one at least")
    for name in Segment._fields:
        column = getattr(table, name)
        if column.shape != (n_segments,) or not np.isfinite(column).all():
            yield Problem("utility shapes", f"found {name} missing or infinite", "all numbers must be finite")


def _shape_problems(table: UtilityShapes) -> Iterator[Problem]:
    """Which shapes start late, rise, or fall below zero; one problem for each rule and shape."""
    segment = np.arange(table.start_s.size)
    is_first = np.isin(segment, table.first[:-1])
    is_last = np.isin(segment, table.first[1:] - 1)
    inner = segment[~is_last]
    end_value = table._value_in(inner, table.start_s[inner + 1])
    start_value = table.level + table.span
    shape_of = np.repeat(np.arange(len(table.names)), np.diff(table.first))
    rules = (
        (segment[is_first & (table.start_s != 0)], "starts late", "the first segment must start at 0 s"),
        (
            inner[np.diff(table.start_s)[inner] <= 0],
            "has segments out of order",
            "their starts must increase",
        ),
        (
            segment[(table.span < 0) | (table.rate_per_s < 0) | (table.slope_per_s > 0)],
            "has a segment that rises",
            "a utility may only fall with time",
        ),
        (
            inner[start_value[inner + 1] > end_value + _ROUNDING],
            "jumps up",
            "a utility may only fall with time",
        ),
        (inner[end_value < -_ROUNDING], "falls below 0", "a utility must be 0 or more"),
        (
            segment[is_last & ((table.slope_per_s != 0) | (table.level < 0))],
            "falls below 0 in the end",
            "a utility must always be 0 or more",
        ),
    )
    for wrong, found, allowed in rules:
        for shape in np.unique(shape_of[wrong]):
            yield Problem(f"utility shape {table.names[shape]!r}", found, allowed)
