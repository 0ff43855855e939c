"""What the machines do at chosen points of a front, and what a front becomes with other machines.

Balance is measured by the coefficient of variation: the standard deviation over all machines in percent of their mean,
0 where all are alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from joulewise.errors import Problem, raise_if_any, unknown_name
from joulewise.model.arrays import Floats
from joulewise.model.bag import Bag, BagAllocation
from joulewise.model.system import System
from joulewise.optimise.bags.bound import BoundFront, bound_front
from joulewise.optimise.bags.recovery import recovered
from joulewise.optimise.front import Front, front_of
from joulewise.visible import Visible

POINTS = ("a", "b", "c", "d", "e")
"""The chosen points of a front: from least energy over the middle to least makespan."""

_N_MAKESPANS = 65
_SAME = 0.05  # percent; smaller changes are told as none


@dataclass(frozen=True, eq=False)
class ChosenPoint:
    """One point of a front under its name, with the allocation behind it."""

    name: str
    index: int
    allocation: BagAllocation

    @cached_property
    def finish_variation_percent(self) -> float:
        """How unevenly the machines finish."""
        return variation_percent(self.allocation.busy_s)

    @cached_property
    def energy_variation_percent(self) -> float:
        """How unevenly the machines use energy."""
        return variation_percent(self.allocation.machine_energy_j)

    @cached_property
    def tasks_by_type(self) -> Floats:
        """How many tasks the machines of each type run."""
        return np.asarray(self.allocation.split.sum(axis=(0, 2)), np.float64)

    @property
    def unused(self) -> tuple[str, ...]:
        """The machine types that have machines and run nothing."""
        return _idle_types(self.allocation.bag.system, self.tasks_by_type)


@dataclass(frozen=True, eq=False)
class MachineAnalysis(Visible, looks="bags"):
    """The chosen points of a front, and the machine types that no point of it uses."""

    points: tuple[ChosenPoint, ...]
    unused: tuple[str, ...]

    @property
    def system(self) -> System:
        return self.points[0].allocation.bag.system

    def sentences(self) -> list[str]:
        """What was found, in words."""
        first, last = self.points[0], self.points[-1]
        balance = (
            f"Finishing times vary by {last.finish_variation_percent:.1f} % between machines at the least makespan and "
            f"by {first.finish_variation_percent:.1f} % at the least energy; their energies by "
            f"{last.energy_variation_percent:.1f} % and {first.energy_variation_percent:.1f} %."
        )
        used = f"No point of the front uses {_listed(self.unused)}." if self.unused else _always_used(self.points)
        return [balance, used]


def analyse(front: Front) -> MachineAnalysis:
    """Machine by machine, what five points of a front of bag allocations do.

    The points are the two ends, the middle and the two between, evenly spaced along the front with both objectives
    scaled to the same length; on a front of fewer points some are chosen twice.
    """
    allocations = sorted(front.payload, key=lambda allocation: (allocation.energy_j, allocation.makespan_s))
    points = np.array([(allocation.energy_j, allocation.makespan_s) for allocation in allocations])
    chosen = [ChosenPoint(name, i, allocations[i]) for name, i in zip(POINTS, chosen_points(points), strict=True)]
    tasks = np.sum([allocation.split.sum(axis=(0, 2)) for allocation in allocations], axis=0)
    return MachineAnalysis(tuple(chosen), _idle_types(allocations[0].bag.system, tasks))


def variation_percent(values: Floats) -> float:
    """The coefficient of variation in percent; 0 where all values are."""
    mean = float(np.mean(values))
    return 100 * float(np.std(values)) / mean if mean > 0 else 0.0


def chosen_points(points: Floats) -> list[int]:
    """Which points of a front, as (energy, makespan) by rising energy, are the five: ends, middle, and between."""
    span = np.ptp(points, axis=0)
    steps = np.diff(points, axis=0) / np.where(span > 0, span, 1.0)
    length = np.concatenate(([0.0], np.cumsum(np.hypot(*steps.T))))
    wanted = np.linspace(0.0, length[-1], len(POINTS))
    inner = [int(np.argmin(np.abs(length - at))) for at in wanted[1:-1]]
    return [0, *inner, len(points) - 1]


def _idle_types(system: System, tasks_by_type: Floats) -> tuple[str, ...]:
    return tuple(
        name
        for name, n_machines, n_tasks in zip(system.machine_types, system.counts, tasks_by_type, strict=True)
        if n_machines > 0 and n_tasks == 0
    )


def _always_used(points: Iterable[ChosenPoint]) -> str:
    idle = {name: None for point in points for name in point.unused}
    if not idle:
        return "Every machine type is used at each of the chosen points."
    return f"At some points, but not on the whole front, {_listed(tuple(idle))} {_verb(idle)} nothing."


def _verb(names: Iterable[str]) -> str:
    return "runs" if len(list(names)) == 1 else "run"


def _listed(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# --- what if --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BagOutcome:
    """The fronts of one bag: the bound of all its vertices, and full allocations recovered from it."""

    bound: BoundFront
    front: Front

    @property
    def bag(self) -> Bag:
        return self.bound.bag


@dataclass(frozen=True, eq=False)
class WhatIf(Visible, looks="bags"):
    """The fronts of a bag before and after this many machines of some types came or went."""

    changes: Mapping[str, int]
    before: BagOutcome
    after: BagOutcome

    @cached_property
    def energy_percent(self) -> Floats:
        """By how much the least energy for a makespan changes, over the makespans that both can keep."""
        least_s = max(outcome.bound.least_makespan_s for outcome in (self.before, self.after))
        most_s = max(_longest_s(outcome.bound) for outcome in (self.before, self.after))
        makespans = np.linspace(least_s, max(least_s, most_s), _N_MAKESPANS)
        before, after = (_least_energy_j(outcome.bound, makespans) for outcome in (self.before, self.after))
        return 100 * (after / before - 1)

    @property
    def makespan_percent(self) -> float:
        """By how much the least makespan changes."""
        return 100 * (self.after.bound.least_makespan_s / self.before.bound.least_makespan_s - 1)

    @property
    def allocation_percent(self) -> tuple[float, float]:
        """By how much the least energy and the least makespan of the full allocations change."""
        before, after = (_ends(outcome.front) for outcome in (self.before, self.after))
        energy, makespan = (100 * (b / a - 1) for a, b in zip(before, after, strict=True))
        return energy, makespan

    def sentence(self) -> str:
        """What was found, in words."""
        low, high = float(self.energy_percent.min()), float(self.energy_percent.max())
        cost = f"the same makespan costs {_change(low, high, 'more energy', 'less energy', 'the same energy')}"
        faster = _change(self.makespan_percent, self.makespan_percent, "longer", "shorter", "the same")
        text = f"{_told_changes(self.before.bag.system, self.changes)}, {cost}; the least makespan is {faster}."
        return text[:1].upper() + text[1:]


def what_if(bag: Bag, changes: Mapping[str, int], n_points: int = 65) -> WhatIf:
    """The fronts of a bag before and after `changes`: by machine type, how many machines come or, below 0, go.

    A machine that is switched off is one that goes: it runs nothing and draws nothing. A machine type of the system
    that has no machines yet may get some. Full allocations are recovered at `n_points` points of each front.
    """
    raise_if_any(_change_problems(bag.system, changes))
    more = np.array([changes.get(name, 0) for name in bag.system.machine_types])
    after = replace(bag, system=replace(bag.system, counts=bag.system.counts + more))
    return WhatIf(dict(changes), _outcome(bag, n_points), _outcome(after, n_points))


def _change_problems(system: System, changes: Mapping[str, int]) -> Iterator[Problem]:
    counts = dict(zip(system.machine_types, system.counts.tolist(), strict=True))
    for name, more in changes.items():
        if name not in counts:
            yield unknown_name("changes", name, counts)
        elif counts[name] + more < 0:
            yield Problem(f"changes.{name}", f"found {more}", f"there are {counts[name]} to be taken away")
    if sum(counts.values()) + sum(more for name, more in changes.items() if name in counts) <= 0:
        yield Problem("changes", "no machine would be left", "must leave at least one")


def _outcome(bag: Bag, n_points: int) -> BagOutcome:
    bound = bound_front(bag)
    allocations = recovered(bag, bound, n_points)
    points = np.array([(allocation.makespan_s, allocation.energy_j) for allocation in allocations])
    return BagOutcome(bound, front_of(points, allocations))


def _longest_s(bound: BoundFront) -> float:
    """The longest makespan that is worth its while."""
    return float(bound.makespan_s[bound.pareto].max())


def _least_energy_j(bound: BoundFront, makespans: Floats) -> Floats:
    return np.array([bound.energy_at(makespan_s) for makespan_s in makespans.tolist()])


def _ends(front: Front) -> tuple[float, float]:
    allocations: tuple[BagAllocation, ...] = tuple(front.payload)
    return min(allocation.energy_j for allocation in allocations), min(
        allocation.makespan_s for allocation in allocations
    )


def _change(low: float, high: float, more: str, less: str, same: str) -> str:
    """A change between two percentages in words: "0.2 % to 3.1 % more energy", "up to 3.1 % more energy"."""
    small, large = sorted((low, high), key=abs)
    if abs(large) < _SAME:
        return same
    if small * large < 0 and abs(small) >= _SAME:
        return f"from {abs(low):.1f} % {less} to {abs(high):.1f} % {more}"
    start = "" if abs(large - small) < _SAME else "up to " if abs(small) < _SAME else f"{abs(small):.1f} % to "
    return f"{start}{abs(large):.1f} % {more if large > 0 else less}"


def _told_changes(system: System, changes: Mapping[str, int]) -> str:
    counts = dict(zip(system.machine_types, system.counts.tolist(), strict=True))
    gone = [f"{'the' if -n == counts[name] else ''} {-n} {name}".strip() for name, n in changes.items() if n < 0]
    come = [f"{n} more {name}" for name, n in changes.items() if n > 0]
    parts = [f"{word} {_listed(tuple(names))}" for word, names in (("without", gone), ("with", come)) if names]
    return " and ".join(parts) if parts else "with the same machines"
