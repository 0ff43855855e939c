"""A proven bound on the front of energy and utility of tasks known in advance: no assignment is above it.

For each of some prices of energy, prices of machine time prove how much utility less energy at that price there can
be; each is a straight line that the front cannot cross, and the lowest of the lines is the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.model.arrays import Floats, freeze_fields
from joulewise.model.world import World
from joulewise.optimise.assignment_prices import Auction
from joulewise.optimise.assignments import assignment_facts
from joulewise.optimise.front import Front, hypervolume_of_line

REFERENCE_FACTOR = 1.8
"""Hypervolumes reach up to this many times the least energy of all tasks, and down to no utility."""

N_SLOTS = 200
_PRICES = (0.0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6)
_FIRST_EVALUATIONS = 400
_EVALUATIONS = 50


@dataclass(frozen=True, eq=False)
class UtilityBound:
    """Lines that no assignment is above: `utility <= value + per_j * energy`, one for each price of energy.

    `per_s` proves them: prices of machine time by [line, machine type, slot], of slots of `slot_s` seconds from 0 on;
    time is free of charge after the last. Tasks may be left out where `drop_below` is above 0. `least_j` is the
    energy of all tasks on their cheapest choices, `most_utility` what they are worth in all. Raises InputError.
    """

    least_j: float
    most_utility: float
    drop_below: float
    per_j: Floats
    slot_s: float
    per_s: Floats
    value: Floats

    def __post_init__(self) -> None:
        freeze_fields(self, dict.fromkeys(("per_j", "per_s", "value"), np.float64))
        fits = self.per_s.ndim == 3 and self.per_j.shape == self.value.shape == self.per_s.shape[:1]
        if not (fits and self.per_j.size and self.slot_s > 0 and np.isfinite(self.value).all()):
            raise InputError(Problem("bound", "found lines and prices of different numbers", "must be one per price"))
        if not all(((p >= 0) & np.isfinite(p)).all() for p in (self.per_s, self.per_j)):
            raise InputError(Problem("bound", "found prices below 0 or not finite", "must be 0 or more"))

    @property
    def from_j(self) -> float:
        """The least energy of any assignment; none at all where tasks may be left out."""
        return 0.0 if self.drop_below > 0 else self.least_j

    @property
    def reference(self) -> tuple[float, float]:
        """The reference point of hypervolumes, as (energy in J, minus utility)."""
        return REFERENCE_FACTOR * self.least_j, 0.0

    def utility_at(self, energy_j: float) -> float:
        """What no assignment of that energy earns more than."""
        return max(float((self.value + self.per_j * energy_j).min()), 0.0)

    @cached_property
    def points(self) -> Floats:
        """The bound as points (energy in J, minus utility) to be joined by straight lines, up to the reference."""
        at_j = np.sort(np.append(self._crossings_j(), (self.from_j, self.reference[0])))
        at_j = at_j[(at_j >= self.from_j) & (at_j <= self.reference[0])]
        return np.array([(energy_j, -self.utility_at(energy_j)) for energy_j in at_j])

    def _crossings_j(self) -> Floats:
        """Where the lowest line changes, from the steepest to the flattest."""
        found: list[float] = []
        line = int(np.lexsort((self.value, -self.per_j))[0])
        while (flatter := np.flatnonzero(self.per_j < self.per_j[line])).size:
            at_j = (self.value[flatter] - self.value[line]) / (self.per_j[line] - self.per_j[flatter])
            next_ = np.lexsort((self.per_j[flatter], at_j))[0]
            found.append(float(at_j[next_]))
            line = int(flatter[next_])
        return np.array(found)

    @property
    def hypervolume(self) -> float:
        """The area below the bound, in joules times utility: no front has more."""
        return hypervolume_of_line(self.points, self.reference)

    @property
    def area(self) -> float:
        """The hypervolume that there would be if all tasks earned all they are worth at the least energy."""
        return self.most_utility * (self.reference[0] - self.from_j)

    def share(self, front: Front) -> float:
        """The hypervolume of a front as a share of the bound's."""
        return front.share_of(self.points, self.reference)

    def as_json(self) -> dict[str, Any]:
        """The bound as JSON values."""
        columns = {name: getattr(self, name).tolist() for name in ("per_j", "per_s", "value")}
        names = ("least_j", "most_utility", "drop_below", "slot_s")
        return {name: getattr(self, name) for name in names} | columns

    @staticmethod
    def from_json(stored: dict[str, Any]) -> UtilityBound:
        """The bound that JSON values hold. Raises InputError where it is none."""
        return UtilityBound(**stored)


def front_bound(world: World, drop_below: float = 0.0) -> UtilityBound:
    """Search prices for a tight bound on utility at every energy.

    Raises InputError for worlds with what assignments do not know.
    """
    assignment_facts(world, drop_below)
    work, system = world.workload, world.system
    cheapest_j = system.eec_j[:, system.counts > 0].min(axis=(1, 2), initial=np.inf)
    least_j = world.supply.pue * float(cheapest_j[work.task_type].sum())
    most_utility = float((work.scale * work.shapes.value(work.shape, 0.0)).sum())
    auction = Auction(world, drop_below, N_SLOTS)
    prices = np.array(_PRICES) * (most_utility / least_j)
    per_s = [auction.descend(auction.typical, 0.0, _FIRST_EVALUATIONS)]
    for per_j in prices[1:]:
        per_s.append(auction.descend(per_s[-1], float(per_j), _EVALUATIONS))
    value = [auction.proven(*pair) for pair in zip(per_s, prices.tolist(), strict=True)]
    return UtilityBound(least_j, most_utility, drop_below, prices, auction.slot_s, np.stack(per_s), np.array(value))
