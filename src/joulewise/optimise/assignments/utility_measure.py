"""What fronts of energy and utility are measured against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from joulewise.model.world import World

REFERENCE_FACTOR = 1.8
"""Hypervolumes reach up to this many times the least energy of all tasks, and down to no utility."""


@dataclass(frozen=True, eq=False)
class UtilityMeasure:
    """The energy of all tasks on their cheapest choices, and what they are worth in all.

    Tasks may be left out where `drop_below` is above 0.
    """

    least_j: float
    most_utility: float
    drop_below: float

    @property
    def from_j(self) -> float:
        """The least energy of any assignment; none at all where tasks may be left out."""
        return 0.0 if self.drop_below > 0 else self.least_j

    @property
    def reference(self) -> tuple[float, float]:
        """The reference point of hypervolumes, as (energy in J, minus utility)."""
        return REFERENCE_FACTOR * self.least_j, 0.0

    @property
    def area(self) -> float:
        """The hypervolume that there would be if all tasks earned all they are worth at the least energy."""
        return self.most_utility * (self.reference[0] - self.from_j)


def measure_of(world: World, drop_below: float) -> UtilityMeasure:
    """What the fronts of a world are measured against."""
    work, system = world.workload, world.system
    cheapest_j = system.eec_j[:, system.counts > 0].min(axis=(1, 2), initial=np.inf)
    least_j = world.supply.pue * float(cheapest_j[work.task_type].sum())
    return UtilityMeasure(least_j, float((work.scale * work.shapes.value(work.shape, 0.0)).sum()), drop_below)
