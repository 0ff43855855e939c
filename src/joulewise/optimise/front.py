"""Fronts of two objectives: what no other point beats in both, and what lies behind each point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.model.arrays import Counts, Floats, freeze_fields
from joulewise.visible import Visible

REFERENCE_FACTOR = 1.1
Pair: TypeAlias = Sequence[float] | Floats
"""One value of each objective."""


@dataclass(frozen=True)
class FrontObjective:
    """What an axis of a front means. A maximised objective is stored negated, and shown as it is."""

    name: str
    unit: str
    is_maximised: bool = False


MAKESPAN_ENERGY = (FrontObjective("makespan", "s"), FrontObjective("energy", "J"))


@dataclass(frozen=True, eq=False)
class Front(Visible, looks="bags"):
    """Points `[point, objective]` of which none dominates another, sorted by the first objective, both minimised.

    `payload` holds what lies behind each point (such as an allocation), or nothing at all. `front_of` makes a front
    of any points.
    """

    objectives: tuple[FrontObjective, FrontObjective]
    points: Floats
    payload: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        freeze_fields(self, {"points": np.float64})

    def __len__(self) -> int:
        return int(self.points.shape[0])

    def _place(self) -> str:
        """Fronts of bags are of makespan and energy; all others look alike."""
        return "bags" if self.objectives == MAKESPAN_ENERGY else "assignments"

    @property
    def shown(self) -> Floats:
        """The points as people read them: a maximised objective is positive again."""
        sign = [-1.0 if objective.is_maximised else 1.0 for objective in self.objectives]
        return np.asarray(self.points * sign, np.float64)

    def hypervolume(self, reference: Pair) -> float:
        """The area between the front and a reference point, in the product of the objectives' units.

        Points that are not better than the reference in both objectives add nothing.
        """
        first, second = reference
        inside = self.points[(self.points < np.asarray(reference)).all(axis=1)]
        widths = np.diff(inside[:, 0], append=first)
        return float(widths @ (second - inside[:, 1]))

    def share_of(self, bound_points: Floats, reference: Pair) -> float:
        """The hypervolume as a share of that of a bound, whose points are joined by straight lines.

        Where the bound has no area, the share is 1 if the front reaches the bound, else 0.
        """
        area = hypervolume_of_line(bound_points, reference)
        return self.hypervolume(reference) / area if area > 0 else float(self._reaches(bound_points))

    def _reaches(self, bound_points: Floats) -> bool:
        """Whether some point of the front is, but for rounding, nowhere worse than some point of a bound."""
        slack = 1e-9 * np.abs(bound_points)
        return bool((self.points[:, None, :] <= (bound_points + slack)[None, :, :]).all(axis=2).any())

    def knee(self) -> int:
        """The point farthest below the straight line between both ends, each objective scaled to its range.

        A front with no point below that line has its first as its knee.
        """
        reach = np.ptp(self.points, axis=0)
        scaled = (self.points - self.points.min(axis=0)) / np.where(reach > 0, reach, 1.0)
        return int(np.argmin(scaled.sum(axis=1)))

    def dominates(self, point: Pair) -> bool:
        """Whether some point of the front is nowhere worse than this one and somewhere better."""
        other = np.asarray(point)
        return bool(((self.points <= other).all(axis=1) & (self.points < other).any(axis=1)).any())

    def cheapest_within(self, limit: float) -> int:
        """The point with the least second objective among those whose first is within a limit."""
        return self._within(0, limit)[-1]

    def point_for(self, budget: float) -> int:
        """The point with the least first objective among those whose second is within a budget."""
        return self._within(1, budget)[0]

    def _within(self, axis: int, limit: float) -> list[int]:
        inside = np.flatnonzero(self.points[:, axis] <= limit).tolist()
        if not inside:
            objective, least = self.objectives[axis], self.points[:, axis].min()
            raise InputError(
                Problem(f"limit of {objective.name}", f"found {limit:g}", f"must be {least:g} {objective.unit} or more")
            )
        return inside


def front_of(
    points: Floats, payload: Sequence[Any] = (), objectives: tuple[FrontObjective, FrontObjective] = MAKESPAN_ENERGY
) -> Front:
    """The front of any points: what is dominated is left out, and of equal points all but the first."""
    kept = non_dominated(points)
    return Front(objectives, points[kept], tuple(payload[k] for k in kept) if len(payload) else ())


def non_dominated(points: Floats) -> Counts:
    """Which points no other dominates, the first of equal ones, by first objective. Raises InputError on NaN or inf."""
    if not np.isfinite(points).all():
        raise InputError(Problem("points", "found NaN or infinity", "must be finite"))
    order = np.lexsort((points[:, 1], points[:, 0]))
    best_before = np.minimum.accumulate(np.append(np.inf, points[order, 1]))[:-1]
    return np.asarray(order[points[order, 1] < best_before], np.int64)


def nadir_reference(bound_points: Floats) -> Floats:
    """The reference point for hypervolumes: 1.1 times the worst of each objective along a bound."""
    return np.asarray(REFERENCE_FACTOR * bound_points.max(axis=0))


def hypervolume_of_line(bound_points: Floats, reference: Pair) -> float:
    """The area between the straight lines that join a front's points and a reference point, exactly."""
    first, second = reference
    points = bound_points[non_dominated(bound_points)]
    at = np.append(points[:, 0], max(first, points[-1, 0]))
    below = second - np.append(points[:, 1], points[-1, 1])
    return float(sum(map(_cut_trapezoid, at[:-1], at[1:], below[:-1], below[1:], np.full(at.size - 1, first))))


def _cut_trapezoid(begin: float, end: float, low: float, high: float, limit: float) -> float:
    """The part of the area under a rising line from (begin, low) to (end, high) above 0 and before the limit."""
    width, rise = end - begin, high - low
    if limit < end and width > 0:
        end, high = limit, low + rise * (limit - begin) / width
    if low < 0 < high:
        begin, low = begin - low * (end - begin) / (high - low), 0.0
    return 0.5 * (end - begin) * (low + high) if end > begin and high > 0 else 0.0
