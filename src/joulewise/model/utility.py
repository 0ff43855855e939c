"""Utility functions as tables: what completing a task is worth, by the time since its arrival.

A *shape* is a non-increasing function of the seconds since the hold ended, made of segments. In the segment
that starts at `start_s` its value is `level + span * exp(-rate * dx) + slope * dx`, dx the seconds since that
start; at a jump the later value holds. A task multiplies its shape by `scale` (its maximum utility) and keeps
the starting value during `hold_s` (Friese, eq. 1 and app. B). Every segment is convex, which bounds rely on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.model.arrays import Counts, Floats, freeze_fields

_ROUNDING = 1e-12


class Segment(NamedTuple):
    """One piece of a shape, from `start_s` to the next segment's start."""

    start_s: float
    level: float
    span: float = 0.0
    rate_per_s: float = 0.0
    slope_per_s: float = 0.0

    def value(self, x_s: float) -> float:
        """The value at x_s seconds after the hold, as if this segment covered it."""
        dx = x_s - self.start_s
        decayed = self.span * float(np.exp(-self.rate_per_s * dx)) if self.span else 0.0
        return self.level + decayed + (self.slope_per_s * dx if self.slope_per_s else 0.0)


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
        Segment(x0, y0, slope_per_s=(y1 - y0) / (x1 - x0))
        for (x0, y0), (x1, y1) in zip(points, points[1:], strict=False)
        if x1 > x0
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
        raise_if_any(problem for s in range(len(self.names)) for problem in _shape_problems(self, s))

    @staticmethod
    def of(shapes: Sequence[Shape]) -> UtilityShapes:
        """The table of these shapes, in their order; InputError names every shape that is not one."""
        segments = [segment for shape in shapes for segment in shape.segments]
        first = np.cumsum([0, *(len(shape.segments) for shape in shapes)])
        columns = np.array(segments, dtype=np.float64).reshape(-1, len(Segment._fields)).T
        return UtilityShapes(tuple(shape.name for shape in shapes), first, *columns)

    def segments(self, shape: int) -> list[Segment]:
        """The segments of one shape."""
        columns = (self.start_s, self.level, self.span, self.rate_per_s, self.slope_per_s)
        return [Segment(*row) for row in np.stack(columns)[:, self.first[shape] : self.first[shape + 1]].T]

    def value(self, shape: ArrayLike, x_s: ArrayLike) -> Floats:
        """Values of the shapes at x_s seconds after the hold (before it ended: the starting value)."""
        shapes, x = np.broadcast_arrays(np.asarray(shape), np.maximum(np.asarray(x_s, dtype=np.float64), 0.0))
        result = np.empty(x.shape)
        for s in np.unique(shapes):
            mask = shapes == s
            lo, hi = self.first[s], self.first[s + 1]
            j = lo + np.searchsorted(self.start_s[lo:hi], x[mask], side="right") - 1
            dx = x[mask] - self.start_s[j]
            decayed = self.span[j] * np.exp(-self.rate_per_s[j] * dx)
            result[mask] = self.level[j] + decayed + self.slope_per_s[j] * dx
        return result


def _shape_problems(table: UtilityShapes, shape: int) -> Iterator[Problem]:
    where = f"utility shape {table.names[shape]!r}"
    segments = table.segments(shape)
    if not np.isfinite(segments).all() or not segments:
        yield Problem(where, f"found {segments}", "needs at least one segment, all numbers finite")
        return
    starts = [segment.start_s for segment in segments]
    if starts[0] != 0 or any(b <= a for a, b in zip(starts, starts[1:], strict=False)):
        yield Problem(where, f"found segments that start at {starts} s", "must start at 0 s and increase")
    if any(s.span < 0 or s.rate_per_s < 0 or s.slope_per_s > 0 for s in segments):
        yield Problem(where, "found a segment that rises", "a utility may only fall with time")
    for before, after in zip(segments, segments[1:], strict=False):
        if after.value(after.start_s) > before.value(after.start_s) + _ROUNDING:
            yield Problem(where, f"found a rise at {after.start_s:g} s", "a utility may only fall with time")
    ends = [*starts[1:], np.inf]
    if any(s.value(end) < -_ROUNDING for s, end in zip(segments, ends, strict=True) if end < np.inf):
        yield Problem(where, "found a value below 0", "a utility must be 0 or more")
    if segments[-1].slope_per_s or segments[-1].level < 0:
        yield Problem(where, "found a last segment that falls below 0", "a utility must be 0 or more for ever")
