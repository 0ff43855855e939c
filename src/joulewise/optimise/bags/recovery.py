"""Full allocations from splits: rounding and longest tasks first (Tarplee, algorithms 1 and 2), in grouped form."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.kernels.bags.lpt import Lengths, RoundingRoom, assign
from joulewise.model.arrays import Counts, Floats
from joulewise.model.bag import Bag, BagAllocation
from joulewise.model.system import System
from joulewise.optimise.bags.bound import BoundFront
from joulewise.optimise.bags.swept import time_s

_assign: Any = assign
_LONGEST_TICKS = 2.0**58


class Places(NamedTuple):
    """Points of a bound front: this much of the way from a vertex to the next."""

    vertex: Counts
    share: Floats


class Recovery:
    """Everything about a bag that recovering allocations needs, made ready once."""

    def __init__(self, bag: Bag) -> None:
        self.bag = bag
        system, shape = bag.system, (bag.counts.size, bag.system.n_machine_types * bag.system.n_pstates)
        exec_s = np.where((bag.counts > 0)[:, None], time_s(bag).reshape(shape), 0.0)
        ticks_s = np.repeat(_ticks_s(system, exec_s), system.n_pstates)
        ticks = np.maximum(np.rint(exec_s / ticks_s), 1.0).astype(np.int64)
        first_machine = np.concatenate(([0], np.cumsum(system.counts)))
        self.lengths = Lengths(ticks, exec_s, bag.counts, first_machine, system.n_pstates)
        by_machine = [np.empty(system.n_machines, np.int64) for _ in range(3)]
        order = np.empty(shape[0] * system.n_pstates, np.int64)
        self.bench = RoundingRoom(
            np.empty(shape), np.empty(shape, np.int64), order, np.empty(system.n_machines), *by_machine
        )

    def allocation(self, split: Floats) -> BagAllocation:
        """The full allocation of a split."""
        system = self.bag.system
        self.bench.split[:] = split.reshape(self.bench.split.shape)
        counts = np.zeros((system.n_machines, self.bench.order.size), np.int64)
        _assign(self.lengths, self.bench, counts)
        return BagAllocation(self.bag, counts.reshape(system.n_machines, self.bag.counts.size, system.n_pstates))


def recover(bag: Bag, split: Floats) -> BagAllocation:
    """A full allocation near a split of the tasks. Raises InputError where the split is none of this bag's."""
    _check_split(bag, split)
    return Recovery(bag).allocation(split)


def recovered(bag: Bag, front: BoundFront, n_points: int) -> list[BagAllocation]:
    """Full allocations at every vertex that no other beats, and at `n_points` more evenly along the front."""
    front.raise_if_not_of(bag)
    recovery, places = Recovery(bag), places_along(front, n_points, front.pareto.start)
    return [recovery.allocation(front.split(int(k), float(share))) for k, share in zip(*places)]


def places_along(front: BoundFront, n_points: int, first: int = 0) -> Places:
    """Every vertex from `first` on, and `n_points` places at equal distances along the front between them.

    Distances are measured with energy and makespan each scaled to its range.
    """
    vertices = np.arange(first, len(front))
    if vertices.size == 1:
        return Places(vertices, np.zeros(1))
    lengths = [np.diff(values[first:]) / np.ptp(values[first:]) for values in (front.extra_j, front.makespan_s)]
    along = np.concatenate(([0.0], np.cumsum(np.hypot(*lengths))))
    at = np.unique(np.concatenate((along, np.linspace(0.0, along[-1], n_points + 2))))
    vertex = np.searchsorted(along, at, side="right") - 1
    step = np.append(np.diff(along), np.inf)
    return Places(vertex + first, (at - along[vertex]) / step[vertex])


def _ticks_s(system: System, exec_s: Floats) -> Floats:
    """For each machine type the shortest power of two, in seconds, of which its longest task times its machines has
    no more than 2^58: even 2^53 tasks, each off by half a tick, then shift the balance by little of one long task.
    """
    longest_s = exec_s.max(axis=0).reshape(system.n_machine_types, -1).max(axis=1) * np.maximum(system.counts, 1)
    return np.asarray(np.ldexp(1.0, np.frexp(longest_s / _LONGEST_TICKS)[1]))


def _check_split(bag: Bag, split: Floats) -> None:
    """Refuse a split that is not one of this bag's tasks over choices that can be made."""
    if split.shape != bag.exec_s.shape:
        raise InputError(Problem("split", f"found the shape {split.shape}", f"must be {bag.exec_s.shape}"))
    total = split.sum(axis=(1, 2))
    if not (np.abs(total - bag.counts) <= 1e-6 + 1e-9 * bag.counts).all() or not (split >= -1e-6).all():
        allowed = "must be 0 or more each, and for each task type sum to its tasks"
        raise InputError(Problem("split", f"found the sums {total.tolist()}", f"{allowed}, {bag.counts.tolist()}"))
    if (split > 0).any(where=~np.isfinite(bag.exec_s)):
        raise InputError(Problem("split", "found tasks on choices that cannot be made", "must be 0 there"))
